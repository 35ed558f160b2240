from collections.abc import Sequence

DIRECT: int
VELOCITY_CONTROL: int
TORQUE_CONTROL: int
WORLD_FRAME: int
URDF_USE_INERTIA_FROM_FILE: int
JOINT_REVOLUTE: int
JOINT_PRISMATIC: int
JOINT_FIXED: int

Vector = Sequence[float]
JointState = tuple[float, float, tuple[float, ...], float]
JointInfo = tuple[
    int,
    bytes,
    int,
    int,
    int,
    int,
    float,
    float,
    float,
    float,
    float,
    float,
    bytes,
    tuple[float, ...],
    tuple[float, ...],
    tuple[float, ...],
    int,
]
DynamicsInfo = tuple[
    float, float, tuple[float, ...], tuple[float, ...], tuple[float, ...], float, float, float, float, float, int, float
]

class error(Exception): ...  # noqa: N818

def connect(method: int) -> int: ...
def disconnect(physicsClientId: int = ...) -> None: ...
def isConnected(physicsClientId: int = ...) -> int: ...
def loadURDF(
    fileName: str,
    basePosition: Vector = ...,
    baseOrientation: Vector = ...,
    useFixedBase: int = ...,
    flags: int = ...,
    physicsClientId: int = ...,
) -> int: ...
def setGravity(gravX: float, gravY: float, gravZ: float, physicsClientId: int = ...) -> None: ...
def setTimeStep(timeStep: float, physicsClientId: int = ...) -> None: ...
def getPhysicsEngineParameters(physicsClientId: int = ...) -> dict[str, float]: ...
def stepSimulation(physicsClientId: int = ...) -> None: ...
def getNumBodies(physicsClientId: int = ...) -> int: ...
def getBodyUniqueId(serialIndex: int, physicsClientId: int = ...) -> int: ...
def getBodyInfo(bodyUniqueId: int, physicsClientId: int = ...) -> tuple[bytes, bytes]: ...
def getNumJoints(bodyUniqueId: int, physicsClientId: int = ...) -> int: ...
def getJointInfo(bodyUniqueId: int, jointIndex: int, physicsClientId: int = ...) -> JointInfo: ...
def getDynamicsInfo(bodyUniqueId: int, linkIndex: int, physicsClientId: int = ...) -> DynamicsInfo: ...
def changeDynamics(
    bodyUniqueId: int,
    linkIndex: int,
    linearDamping: float = ...,
    angularDamping: float = ...,
    maxJointVelocity: float = ...,
    mass: float = ...,
    physicsClientId: int = ...,
) -> None: ...
def getJointStates(
    bodyUniqueId: int, jointIndices: Sequence[int], physicsClientId: int = ...
) -> tuple[JointState, ...]: ...
def resetJointState(
    bodyUniqueId: int,
    jointIndex: int,
    targetValue: float,
    targetVelocity: float = ...,
    physicsClientId: int = ...,
) -> None: ...
def getBasePositionAndOrientation(
    bodyUniqueId: int, physicsClientId: int = ...
) -> tuple[tuple[float, ...], tuple[float, ...]]: ...
def resetBasePositionAndOrientation(
    bodyUniqueId: int, posObj: Vector, ornObj: Vector, physicsClientId: int = ...
) -> None: ...
def getBaseVelocity(bodyUniqueId: int, physicsClientId: int = ...) -> tuple[tuple[float, ...], tuple[float, ...]]: ...
def resetBaseVelocity(
    objectUniqueId: int, linearVelocity: Vector, angularVelocity: Vector, physicsClientId: int = ...
) -> None: ...
def setJointMotorControl2(
    bodyUniqueId: int,
    jointIndex: int,
    controlMode: int,
    force: float = ...,
    physicsClientId: int = ...,
) -> None: ...
def setJointMotorControlArray(
    bodyUniqueId: int,
    jointIndices: Sequence[int],
    controlMode: int,
    forces: Sequence[float] = ...,
    physicsClientId: int = ...,
) -> None: ...
def applyExternalForce(
    objectUniqueId: int, linkIndex: int, forceObj: Vector, posObj: Vector, flags: int, physicsClientId: int = ...
) -> None: ...
def applyExternalTorque(
    objectUniqueId: int, linkIndex: int, torqueObj: Vector, flags: int, physicsClientId: int = ...
) -> None: ...
def calculateMassMatrix(
    bodyUniqueId: int, objPositions: Sequence[float], physicsClientId: int = ...
) -> tuple[tuple[float, ...], ...]: ...
def calculateInverseDynamics(
    bodyUniqueId: int,
    objPositions: Sequence[float],
    objVelocities: Sequence[float],
    objAccelerations: Sequence[float],
    physicsClientId: int = ...,
) -> tuple[float, ...]: ...
