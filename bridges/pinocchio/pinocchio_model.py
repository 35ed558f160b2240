"""A robot as a Pinocchio model: its dynamics, and the passive forces that the model cannot represent."""

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
        robot: the exported robot.
        p: its parameters, shape (np,).
        model: the ``pinocchio.Model``.
        data: data of the model.
        constraints: the natural constraints of coinciding points, with the gains of their Baumgarte equations.
        states: conversion of states and forces between robot and model.
        unsupported: descriptions of the forces that the model cannot represent; :meth:`passive` returns their sum.
    """

    robot: Robot
    p: Array
    model: pinocchio.Model
    data: pinocchio.Data
    constraints: tuple[pinocchio.RigidConstraintModel, ...]
    states: PinocchioStateConversion
    unsupported: tuple[str, ...] = ()

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Return M' by the composite-rigid-body algorithm, both triangles, shape (nv', nv').

        Args:
            q: Pinocchio's coordinates, shape (nq',).
        """
        return mass_matrix(self.model, self.data, vector("q", q, self.states.nq))

    def bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the model's part of h', by recursive Newton-Euler, shape (nv',).

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
        """Return f', the forces of springs, dampers and the like that the model cannot represent, to be added to τ'.

        Args:
            q: Pinocchio's coordinates, shape (nq',).
            v: Pinocchio's velocities, shape (nv',).
            t: time [s].
        """
        t, q, v_model = finite_time("t", t), vector("q", q, self.states.nq), vector("v", v, self.states.nv)
        if not self.unsupported:
            return np.zeros(self.states.nv)
        own_q, own_v = self.states.from_model(q, v_model)
        M, h = self._own(t, own_q, own_v, self.p)
        drift = self.states.velocity_bias(own_q, v_model)
        full = self.states.force_to_model(own_q, np.atleast_1d(h) + (np.atleast_2d(M) @ drift if drift.any() else 0.0))
        return np.asarray(self.bias(q, v) - full)

    def acceleration(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, Array]:
        """Return a', shape (nv',), and λ, the forces of the constraints one after the other, by Pinocchio.

        Where rows depend on each other, such as the one out of the plane of a planar loop, a' and Jᵀ λ are unique and
        λ is one possible choice. Pinocchio's own constrained dynamics does not support mimic joints; with them, its
        matrices are solved in this method.

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
        # The proximal method copes with dependent rows; its steps are repeated until they converge.
        settings = pin.ProximalSettings(1e-14, 1e-14, 1e-8, 60)
        a = pin.constraintDynamics(self.model, self.data, q, v, force, models, datas, settings)
        return np.array(a, dtype=np.float64), np.array(self.data.lambda_c, dtype=np.float64)

    def jacobian(self, q: ArrayLike) -> Array:
        """Return J of the constraints, three rows for each in world axes, shape (k, nv').

        Args:
            q: Pinocchio's coordinates, shape (nq',).
        """
        return self._rows(vector("q", q, self.states.nq), np.zeros(self.states.nv))[0]

    @property
    def mimics(self) -> bool:
        """True if the model has mimic joints."""
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
        """Return J and b of J a' = b, in world axes."""
        pin: Any = import_optional("pinocchio", "pinocchio")
        model, data = self.model, self.data
        pin.forwardKinematics(model, data, q, v, np.zeros(self.states.nv))
        pin.computeJointJacobians(model, data, q)
        J, b = np.zeros((3 * len(self.constraints), self.states.nv)), np.zeros(3 * len(self.constraints))
        for k, constraint in enumerate(self.constraints):
            rows = slice(3 * k, 3 * k + 3)
            gap, rate, drift = np.zeros(3), np.zeros(3), np.zeros(3)
            for sign, joint, place in (
                (1.0, constraint.joint1_id, constraint.joint1_placement),
                (-1.0, constraint.joint2_id, constraint.joint2_placement),
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
            gains = constraint.m_baumgarte_parameters
            b[rows] = -drift - gains.Kd * rate - gains.Kp * gap
        return J, b

    @functools.cached_property
    def _contacts(self) -> tuple[Any, Any]:
        pin: Any = import_optional("pinocchio", "pinocchio")
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            models.append(constraint)
            datas.append(constraint.createData())
        return models, datas

    @functools.cached_property
    def _own(self) -> Kernel:
        return own_dynamics(self.robot)


def own_dynamics(robot: Robot) -> Kernel:
    """Build the kernel of the robot's M and h, from t, q, v and p.

    Args:
        robot: the robot.
    """
    c = robot.coordinates
    inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
    outputs = {"M": ca.densify(robot.mass_matrix), "h": ca.densify(robot.bias)}
    return Kernel("own_dynamics", inputs, outputs, compiled=False)


def mass_matrix(model: Any, data: Any, q: Array) -> Array:  # noqa: ANN401 - has no type information
    """Return M' of a model, both triangles, shape (nv', nv').

    Args:
        model: the Pinocchio model.
        data: data of the model.
        q: Pinocchio's coordinates, shape (nq',).
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    # With mimic joints crba adds to entries of the last call (as of 4.1), so each call needs new data.
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
    """Set armature, damping and friction of a model; return descriptions of the forces that its algorithms lack.

    Args:
        robot: the robot.
        p: its parameters, shape (np,).
        model: the Pinocchio model of the bodies alone.
        states: conversion of states between both.

    Raises:
        BridgeError: if the mass matrix is not that of the bodies plus constant armature.
    """
    pin: Any = import_optional("pinocchio", "pinocchio")
    own, data = own_dynamics(robot), model.createData()
    rng, c = np.random.default_rng(1), robot.coordinates
    labels = [velocity_label(states, i) for i in range(states.nv)]

    def parts(q_model: Array, v_model: Array) -> tuple[Array, Array, float]:
        q, v = states.from_model(q_model, v_model)
        M, h = (np.atleast_1d(x) for x in own(0.0, q, v, p))
        M, T = M.reshape(c.nv, c.nv), states.inverse_velocity_jacobian(q)
        M_model = mass_matrix(model, data, q_model)
        h_model = np.array(pin.nonLinearEffects(model, data, q_model, v_model), dtype=np.float64)
        full = T.T @ (h + M @ states.velocity_bias(q, v_model))
        return T.T @ M @ T - M_model, full - h_model, float(np.abs(M).max() + np.abs(h).max())

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
                f"differs by {extra[i, j]:.4g}, but Pinocchio supports only constant armature on the diagonal"
            )
        found.append((q, v, force))
    if armature is not None:
        model.armature = armature
    largest = np.max([np.abs(force) for *_, force in found], axis=0)
    resisting = np.flatnonzero(~(largest < TOLERANCE * scale))
    if not len(resisting):
        return ()
    where = ", ".join(labels[i] for i in resisting)
    damping, friction = _fit_resistance(lambda v: parts(found[0][0], v)[1], states.nv, TOLERANCE * scale)
    is_resistance = all(
        np.abs(force - damping * v - friction * np.sign(v)).max() < TOLERANCE * scale for _, v, force in found
    )
    if not is_resistance or (damping < 0.0).any() or (friction < 0.0).any():
        return (f"springs, dampers, friction or the like at {where}",)
    model.damping = damping
    model.upperDryFrictionLimit, model.lowerDryFrictionLimit = friction, -friction
    what = " and ".join(word for word, x in (("damping", damping), ("friction", friction)) if x.any())
    return (f"{what} of {where} (in the model's own fields, which its algorithms leave out)",)


def _fit_resistance(force: Callable[[Array], Array], nv: int, least: float) -> tuple[Array, Array]:
    """Return d and f of the part odd in the velocities, if it is d v + f sign(v) joint by joint."""
    once, twice = ((force(s * np.ones(nv)) - force(-s * np.ones(nv))) / 2.0 for s in (1.0, 2.0))
    damping, friction = twice - once, 2.0 * once - twice
    damping[np.abs(damping) < least] = 0.0
    friction[np.abs(friction) < least] = 0.0
    return damping, friction


def random_state(states: PinocchioStateConversion, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return random q' and v', with mimic joints where they follow their leaders.

    Args:
        states: conversion of states to the model.
        rng: random number generator.
    """
    q = states.with_mimic_joints(next(random_configurations(states.robot, rng)))
    return states.to_model(q, rng.uniform(-1.0, 1.0, states.robot.coordinates.nv))


def velocity_label(states: PinocchioStateConversion, i: int) -> str:
    """Return the name of a velocity of the model.

    Args:
        states: conversion of states to the model.
        i: index in v'.
    """
    for piece in states.pieces:
        if piece.kind != "follower" and piece.v <= i < piece.v + piece.joint.nv:
            return piece.name if piece.joint.nv == 1 else f"{piece.name}[{i - piece.v}]"
    return str(i)
