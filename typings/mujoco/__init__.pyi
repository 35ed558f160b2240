# Types for the part of MuJoCo that Erugin uses; its package comes without any. Sizes and fields are those of MuJoCo 3.2
# and later, where not said otherwise.

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Integers = NDArray[np.int32]

__version__: str

class MjOption:
    timestep: float
    gravity: _Array
    integrator: int
    disableflags: int
    enableflags: int
    disableactuator: int
    density: float
    viscosity: float
    wind: _Array
    magnetic: _Array
    o_solref: _Array
    o_solimp: _Array
    solver: int
    jacobian: int
    iterations: int
    tolerance: float

class MjWarningStat:
    number: _Integers
    lastinfo: _Integers

class MjModel:
    opt: MjOption
    names: bytes
    nq: int
    nv: int
    nu: int
    na: int
    nbody: int
    njnt: int
    ngeom: int
    nsite: int
    neq: int
    ntendon: int
    nmocap: int
    @staticmethod
    def from_xml_string(xml: str, assets: dict[str, bytes] | None = None) -> MjModel: ...
    @staticmethod
    def from_xml_path(filename: str, assets: dict[str, bytes] | None = None) -> MjModel: ...
    @staticmethod
    def from_binary_path(filename: str, assets: dict[str, bytes] | None = None) -> MjModel: ...
    def __getattr__(self, name: str) -> Any: ...

class MjData:
    time: float
    ne: int
    nefc: int
    warning: MjWarningStat
    def __init__(self, model: MjModel) -> None: ...
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class mjtObj:
    mjOBJ_BODY: int
    mjOBJ_JOINT: int
    mjOBJ_GEOM: int
    mjOBJ_SITE: int
    mjOBJ_TENDON: int
    mjOBJ_ACTUATOR: int
    mjOBJ_EQUALITY: int

def mj_step(m: MjModel, d: MjData, nstep: int = 1) -> None: ...
def mj_forward(m: MjModel, d: MjData) -> None: ...
def mj_kinematics(m: MjModel, d: MjData) -> None: ...
def mj_comPos(m: MjModel, d: MjData) -> None: ...
def mj_comVel(m: MjModel, d: MjData) -> None: ...
def mj_id2name(m: MjModel, type: int, id: int) -> str | None: ...
def mj_name2id(m: MjModel, type: int, name: str) -> int: ...
def set_mjcb_control(callback: Callable[[MjModel, MjData], None] | None) -> None: ...
def get_mjcb_control() -> Callable[[MjModel, MjData], None] | None: ...
def __getattr__(name: str) -> Any: ...
