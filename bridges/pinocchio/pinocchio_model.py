"""A robot as a Pinocchio model: its dynamics, and the passive forces for which that model has no place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.kernel import Kernel
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import finite_time, vector
from ..common.passive_elements import random_configurations
from .coordinate_conversion import PinocchioStateConversion

if TYPE_CHECKING:
    import pinocchio


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PinocchioModel:
    """M' a' + h' = τ' + f' + Jᵀ λ in Pinocchio's coordinates.

    Attributes:
        robot: that was exported.
        p: its parameters, shape (np,).
        model: ``pinocchio.Model``.
        data: of the model.
        constraints: the natural constraints that hold points together, with the gains of their Baumgarte equations.
        states: turns states and forces from here to there and back.
        lost: what the model has no place for; :meth:`passive` has it.
    """

    robot: Robot
    p: Array
    model: pinocchio.Model
    data: pinocchio.Data
    constraints: tuple[pinocchio.RigidConstraintModel, ...]
    states: PinocchioStateConversion
    lost: tuple[str, ...] = ()

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M' by the composite-rigid-body algorithm, both halves, shape (nv', nv').

        Args:
            q: Pinocchio's coordinates, shape (nq',).
        """
        return mass_matrix(self.model, self.data, vector("q", q, self.states.nq))

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """What the model has of h', by recursive Newton-Euler, shape (nv',).

        Args:
            q: Pinocchio's coordinates, shape (nq',).
            v: Pinocchio's velocities, shape (nv',).
        """
        pin: Any = import_optional("pinocchio", "pinocchio")
        found = pin.nonLinearEffects(
            self.model, self.data, vector("q", q, self.states.nq), vector("v", v, self.states.nv)
        )
        return np.array(found, dtype=np.float64)

    def passive(self, q: ArrayLike, v: ArrayLike, t: float = 0.0) -> Array:
        """f', the forces of springs, dampers and the like that the model has no place for: to be added to τ'.

        Args:
            q: Pinocchio's coordinates, shape (nq',).
            v: Pinocchio's velocities, shape (nv',).
            t: time [s].
        """
        t, q, there = finite_time("t", t), vector("q", q, self.states.nq), vector("v", v, self.states.nv)
        if not self.lost:
            return np.zeros(self.states.nv)
        own_q, own_v = self.states.from_model(q, there)
        M, h = self._own(t, own_q, own_v, self.p)
        drift = self.states.velocity_bias(own_q, there)
        full = self.states.force_to_model(own_q, np.atleast_1d(h) + (np.atleast_2d(M) @ drift if drift.any() else 0.0))
        return np.asarray(self.bias(q, v) - full)

    def acceleration(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        """a', shape (nv',), and λ, the forces of the constraints one after the other, by Pinocchio.

        Where rows depend on each other, such as the one out of the plane of a planar loop, a' and Jᵀ λ are unique and
        λ is one of those that give them. Pinocchio's own constrained dynamics knows no joints that mimic others; with
        some of them the matrices that it gives are solved here.

        Args:
            q: Pinocchio's coordinates, shape (nq',).
            v: Pinocchio's velocities, shape (nv',).
            tau: generalized forces τ', shape (nv',); :meth:`passive` is added.
        """
        pin: Any = import_optional("pinocchio", "pinocchio")
        q, v = vector("q", q, self.states.nq), vector("v", v, self.states.nv)
        force = vector("tau", tau, self.states.nv) + self.passive(q, v)
        if self.mimics:
            return self._solved(q, v, force)
        if not self.constraints:
            return np.array(pin.aba(self.model, self.data, q, v, force), dtype=np.float64), np.zeros(0)
        models, datas = self._contacts
        pin.initConstraintDynamics(self.model, self.data, models, datas)
        # Steps of the proximal method, which goes around dependent rows, are repeated until nothing changes.
        settings = pin.ProximalSettings(1e-14, 1e-14, 1e-8, 60)
        a = pin.constraintDynamics(self.model, self.data, q, v, force, models, datas, settings)
        return np.array(a, dtype=np.float64), np.array(self.data.lambda_c, dtype=np.float64)

    def jacobian(self, q: ArrayLike) -> Array:
        """J of the constraints, three rows for each in world axes, shape (k, nv').

        Args:
            q: Pinocchio's coordinates, shape (nq',).
        """
        return self._rows(vector("q", q, self.states.nq), np.zeros(self.states.nv))[0]

    @property
    def mimics(self) -> bool:
        """Whether joints of the model follow others."""
        return len(self.model.mimicking_joints) > 0

    def _solved(self, q: Array, v: Array, force: Array) -> tuple[Array, Array]:
        M, h = self.mass_matrix(q), self.bias(q, v)
        J, right = self._rows(q, v)
        halves = np.linalg.solve(M, np.column_stack([J.T, force - h]))
        free = halves[:, -1]
        reactions = np.linalg.lstsq(J @ halves[:, :-1], right - J @ free, rcond=1e-11)[0]
        return (
            np.asarray(free + halves[:, :-1] @ reactions, dtype=np.float64),
            np.asarray(reactions, dtype=np.float64),
        )

    def _rows(self, q: Array, v: Array) -> tuple[Array, Array]:
        """J and b of J a' = b, in world axes."""
        pin: Any = import_optional("pinocchio", "pinocchio")
        model, data = self.model, self.data
        pin.forwardKinematics(model, data, q, v, np.zeros(self.states.nv))
        pin.computeJointJacobians(model, data, q)
        J, b = np.zeros((3 * len(self.constraints), self.states.nv)), np.zeros(3 * len(self.constraints))
        for k, held in enumerate(self.constraints):
            rows = slice(3 * k, 3 * k + 3)
            gap, rate, drift = np.zeros(3), np.zeros(3), np.zeros(3)
            for sign, joint, place in (
                (1.0, held.joint1_id, held.joint1_placement),
                (-1.0, held.joint2_id, held.joint2_placement),
            ):
                pose = data.oMi[joint]
                arm = np.array(pose.rotation @ place.translation, dtype=np.float64)
                gap += sign * (np.array(pose.translation) + arm)
                if joint == 0:
                    continue
                world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
                whole = np.array(pin.getJointJacobian(model, data, joint, world), dtype=np.float64)
                J[rows] += sign * (whole[:3] - np.cross(arm, whole[3:], axisb=0, axisc=0))
                V, A = pin.getVelocity(model, data, joint, world), pin.getAcceleration(model, data, joint, world)
                C = pin.getClassicalAcceleration(model, data, joint, world)
                omega = np.array(V.angular)
                rate += sign * (np.array(V.linear) + np.cross(omega, arm))
                drift += sign * (
                    np.array(C.linear) + np.cross(np.array(A.angular), arm) + np.cross(omega, np.cross(omega, arm))
                )
            gains = held.m_baumgarte_parameters
            b[rows] = -drift - gains.Kd * rate - gains.Kp * gap
        return J, b

    @functools.cached_property
    def _contacts(self) -> tuple[Any, Any]:
        pin: Any = import_optional("pinocchio", "pinocchio")
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for held in self.constraints:
            models.append(held)
            datas.append(held.createData())
        return models, datas

    @functools.cached_property
    def _own(self) -> Kernel:
        return own_dynamics(self.robot)


def own_dynamics(robot: Robot) -> Kernel:
    """M and h of a robot here, from t, q, v and p.

    Args:
        robot: any.
    """
    c = robot.coordinates
    inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
    outputs = {"M": ca.densify(robot.mass_matrix), "h": ca.densify(robot.bias)}
    return Kernel("own_dynamics", inputs, outputs, compiled=False)


def mass_matrix(model: Any, data: Any, q: Array) -> Array:  # noqa: ANN401 - has no type information
    """M' of a model, both halves, shape (nv', nv').

    Args:
        model: of Pinocchio.
        data: of the model.
        q: Pinocchio's coordinates, shape (nq',).
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    # With joints that mimic others it adds to entries of the last call (as of 4.1), so that each needs data of its own.
    own = model.createData() if len(model.mimicking_joints) else data
    upper = np.triu(np.array(pin.crba(model, own, q), dtype=np.float64))
    return np.asarray(upper + np.triu(upper, 1).T)


TOLERANCE = 1e-9


def set_passive_parameters(
    robot: Robot,
    p: Array,
    model: Any,  # noqa: ANN401 - has no type information
    states: PinocchioStateConversion,
) -> tuple[str, ...]:
    """Set the armature, damping and friction of a model, and tell which forces it has no place for in its algorithms.

    Args:
        robot: here.
        p: its parameters, shape (np,).
        model: there, of the bodies alone.
        states: relates both.

    Raises:
        BridgeError: for a mass matrix that is not that of the bodies and constant armature.
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    own, data = own_dynamics(robot), model.createData()
    rng, c = np.random.default_rng(1), robot.coordinates
    labels = [velocity_label(states, i) for i in range(states.nv)]

    def parts(q_there: Array, v_there: Array) -> tuple[Array, Array, float]:
        q, v = states.from_model(q_there, v_there)
        M, h = (np.atleast_1d(x) for x in own(0.0, q, v, p))
        M, T = M.reshape(c.nv, c.nv), states.inverse_velocity_jacobian(q)
        M_there = mass_matrix(model, data, q_there)
        h_there = np.array(pin.nonLinearEffects(model, data, q_there, v_there), dtype=np.float64)
        full = T.T @ (h + M @ states.velocity_bias(q, v_there))
        return T.T @ M @ T - M_there, full - h_there, float(np.abs(M).max() + np.abs(h).max())

    found: list[tuple[Array, Array, Array]] = []
    armature: Array | None = None
    scale = 0.0
    for k in range(6):
        q, v = random_state(states, rng)
        v = v * (k > 1)
        extra, force, size = parts(q, v)
        scale = max(scale, size)
        if armature is None:
            armature = np.diag(extra).copy()
            armature[np.abs(armature) < TOLERANCE * size] = 0.0
        off = np.abs(extra - np.diag(armature))
        if not off.max() < TOLERANCE * size or (armature < 0.0).any():
            i, j = np.unravel_index(int(np.argmax(off)), off.shape)
            raise BridgeError(
                f"{robot.name}: its mass matrix is not that of its bodies: the entry of {labels[i]} and {labels[j]} "
                f"differs by {extra[i, j]:.4g}, and Pinocchio has room for constant armature on the diagonal only"
            )
        found.append((q, v, force))
    if armature is not None:
        model.armature = armature
    largest = np.max([np.abs(force) for *_, force in found], axis=0)
    left = np.flatnonzero(~(largest < TOLERANCE * scale))
    if not len(left):
        return ()
    where = ", ".join(labels[i] for i in left)
    damping, friction = _fit_resistance(lambda v: parts(found[0][0], v)[1], states.nv, TOLERANCE * scale)
    told = all(np.abs(force - damping * v - friction * np.sign(v)).max() < TOLERANCE * scale for _, v, force in found)
    if not told or (damping < 0.0).any() or (friction < 0.0).any():
        return (f"springs, dampers, friction or the like at {where}",)
    model.damping = damping
    model.upperDryFrictionLimit, model.lowerDryFrictionLimit = friction, -friction
    what = " and ".join(word for word, x in (("damping", damping), ("friction", friction)) if x.any())
    return (f"{what} of {where} (in the model's own fields, which its algorithms leave out)",)


def _fit_resistance(force: Callable[[Array], Array], nv: int, least: float) -> tuple[Array, Array]:
    """d and f of what is odd in the velocities, if it is d v + f sign(v) joint by joint."""
    once, twice = ((force(s * np.ones(nv)) - force(-s * np.ones(nv))) / 2.0 for s in (1.0, 2.0))
    damping, friction = twice - once, 2.0 * once - twice
    damping[np.abs(damping) < least] = 0.0
    friction[np.abs(friction) < least] = 0.0
    return damping, friction


def random_state(states: PinocchioStateConversion, rng: np.random.Generator) -> tuple[Array, Array]:
    """q' and v' at random; joints that follow others are where they belong.

    Args:
        states: of a model.
        rng: draws.
    """
    q = states.with_mimic_joints(next(random_configurations(states.robot, rng)))
    return states.to_model(q, rng.uniform(-1.0, 1.0, states.robot.coordinates.nv))


def velocity_label(states: PinocchioStateConversion, i: int) -> str:
    """Name of a velocity of the model.

    Args:
        states: of the model.
        i: place in v'.
    """
    for piece in states.pieces:
        if piece.kind != "follower" and piece.v <= i < piece.v + piece.joint.nv:
            return piece.name if piece.joint.nv == 1 else f"{piece.name}[{i - piece.v}]"
    return str(i)
