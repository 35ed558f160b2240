"""Output of a law in MuJoCo: its evaluation at one state, and its application by motors or generalized forces."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.buffered_tick import BufferedTick
from ...controllers.controller import Controller
from ...controllers.status import Status, describe_dependent_row
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, BridgeWarning, NotFiniteError, SingularProgramError, caller_stacklevel
from ...symbolic.kernel import Kernel
from ..common.passive_elements import random_configurations
from .compiled_model import actuator_is_enabled, is_disabled
from .versions import (
    ActuatorChannels,
    actuator_count,
    actuator_moments,
    field_entry,
    field_is_set,
    first_forces,
    require_mujoco,
)

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from .joint_map import JointMap


Array = NDArray[np.float64]
FIXED, NONE, JOINT, JOINT_IN_PARENT, TENDON = 0, 0, 0, 1, 3
"""MuJoCo's types: a fixed gain, no bias or dynamics, and transmissions to a joint or a tendon."""

TOLERANCE = 1e-9
CONFIGURATIONS = 3


LawEvaluator = Callable[[float, Array, Array], Array]
"""(t, q, v) → output; the next call may reuse the array."""


def build_evaluator(controller: Controller, p: Array) -> tuple[LawEvaluator, Array]:
    """Build a function that evaluates a law, and the array of its parameters, which may be changed in place.

    Args:
        controller: the law.
        p: its parameters, shape (np,).

    Returns:
        The function, which raises SingularProgramError or NotFiniteError where there is no output; and the parameters.
    """
    return _bound(controller, p) if controller.law is not None else (_called(controller, p), p)


def _bound(controller: Controller, p: Array) -> tuple[LawEvaluator, Array]:
    """Return the tick of a symbolic law on fixed arrays."""
    tick, rows = BufferedTick.of(controller, p), controller.rows
    t_, q_, v_, evaluate, output = tick.t, tick.q, tick.v, tick.evaluate, tick.output

    def act(t: float, q: Array, v: Array) -> Array:
        t_[0], q_[:], v_[:] = t, q, v
        evaluate()
        status = tick.status
        if status is Status.SINGULAR:
            raise SingularProgramError(f"at t = {t:g}: {describe_dependent_row(rows, tick.pivots)} {status.sentence}")
        if status is not Status.OK:
            raise NotFiniteError(f"at t = {t:g}: {status.sentence}")
        return output

    return act, tick.p


def _called(controller: Controller, p: Array) -> LawEvaluator:
    """Return a function that calls the law's ``control``."""
    c = controller.robot.coordinates
    size = c.nv if controller.applies_force else controller.robot.u.numel()

    def act(t: float, q: Array, v: Array) -> Array:
        output = np.asarray(controller.control(float(t), q, v, p), dtype=np.float64)
        if output.shape != (size,) or not np.isfinite(output).all():
            raise NotFiniteError(
                f"{type(controller).__name__}.control must return {size} finite numbers, got {output.tolist()}"
            )
        return output

    return act


@dataclass(frozen=True, eq=False)
class Motors:
    """Actuators whose force is proportional to their control.

    Attributes:
        names: names of the motors.
        controls: index of each motor's control in ``ctrl``.
        matrix: ctrl of these motors = matrix @ generalized force of the robot, shape (motors, nv).
        moments: generalized force of the robot per unit of each control, shape (nv, motors).
        ranges: least and greatest control that MuJoCo does not clip, shape (motors, 2).
    """

    names: tuple[str, ...]
    controls: NDArray[np.int64]
    matrix: Array
    moments: Array
    ranges: Array

    def controls_for(self, force: Array) -> Array:
        """Return the controls for a generalized force.

        Args:
            force: generalized force of the robot, shape (nv,) [N, N m].

        Raises:
            BridgeError: if the motors cannot apply the force.
        """
        controls = self.matrix @ force
        missing = np.abs(self.moments @ controls - force)
        if (missing > TOLERANCE * max(1.0, float(np.abs(force).max(initial=0.0)))).any():
            raise BridgeError(
                f"the motors cannot apply the force {force.tolist()}: {missing.tolist()} of it is missing"
            )
        return controls


@dataclass(frozen=True, eq=False)
class _MomentArms:
    """Generalized force per unit force of each actuator, gears included, in several configurations.

    Attributes:
        q: the first configuration, shape (nq,).
        robot: moment arms in the robot's velocities, shape (configurations, actuators, nv).
        model: moment arms in the model's velocities in the first configuration, shape (actuators, nv').
        acts: True if an actuator acts on the robot, shape (actuators,).
        acts_elsewhere: True if it also acts on joints that are not the robot's, shape (actuators,).
    """

    q: Array
    robot: Array
    model: Array
    acts: NDArray[np.bool_]
    acts_elsewhere: NDArray[np.bool_]

    @classmethod
    def of(cls, joints: JointMap) -> _MomentArms:
        """Compute the moment arms by MuJoCo.

        Args:
            joints: joints of the robot in the model.
        """
        mujoco, model, states = require_mujoco(), joints.model, joints.states
        data, still = mujoco.MjData(model), np.zeros(states.robot.coordinates.nv)
        configurations = list(
            itertools.islice(random_configurations(states.robot, np.random.default_rng(1687)), CONFIGURATIONS)
        )
        in_model: list[Array] = []
        for q in configurations:
            joints.place(data, *states.to_model(q, still))
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mj_tendon(model, data)
            mujoco.mj_transmission(model, data)
            in_model.append(actuator_moments(model, data)[first_forces(model)])
        in_robot = np.array(
            [moment @ states.velocity_jacobian(q) for moment, q in zip(in_model, configurations, strict=True)]
        )
        own = set(model.dof_jntid[joints.own].tolist())
        acts = [bool(in_model[0][k][joints.own].any()) or _joint(model, k) in own for k in range(actuator_count(model))]
        acts_elsewhere = [bool(in_model[0][k][~joints.own].any()) for k in range(actuator_count(model))]
        return cls(
            configurations[0], in_robot, in_model[0], np.array(acts, dtype=bool), np.array(acts_elsewhere, dtype=bool)
        )

    def varies(self, k: int) -> bool:
        """Return True if an actuator's moment arm depends on the configuration.

        Args:
            k: index of the actuator.
        """
        found = self.robot[:, k]
        return bool(np.abs(found - found[0]).max() > TOLERANCE * np.abs(found).max())


def find_motors(joints: JointMap, forces: Array, inputs: Sequence[str]) -> Motors:
    """Return the motors that apply the forces of the law's inputs.

    Args:
        joints: joints of the robot in the model.
        forces: generalized force of the robot per unit of each input, shape (nv, number of inputs).
        inputs: names of the inputs, for messages.

    Raises:
        BridgeError: for an input that no combination of motors can apply, or an actuator that is not a motor.
    """
    model, levers = joints.model, _MomentArms.of(joints)
    _check_no_servos(model, levers)
    found = [k for k in range(actuator_count(model)) if levers.acts[k] and actuator_is_enabled(model, k)]
    problems = [
        f"{_name(model, k)!r} also drives joints that are not the robot's" for k in found if levers.acts_elsewhere[k]
    ]
    problems += [f"the moment arm of {_name(model, k)!r} depends on the position" for k in found if levers.varies(k)]
    if problems:
        raise BridgeError(
            f"motors of the MuJoCo model must have a constant effect on the robot alone: {'; '.join(problems)}. "
            "Disable their group (option actuatorgroupdisable), or pass apply='qfrc_applied'"
        )
    moments = (levers.robot[0, found] * model.actuator_gainprm[found, :1]).T
    sizes = np.linalg.norm(moments, axis=0)
    if not sizes.all():
        weak = ", ".join(_name(model, k) for k, size in zip(found, sizes, strict=True) if not size)
        raise BridgeError(f"motors {weak} have gear or gain zero and cannot apply a force")
    _check_not_shared([_name(model, k) for k in found], moments / sizes)
    matrix = np.asarray(np.linalg.pinv(moments), dtype=np.float64)
    missed = moments @ (matrix @ forces) - forces
    unreachable = np.flatnonzero((np.abs(missed) > TOLERANCE * np.abs(forces).max(initial=1.0)).any(axis=0))
    if unreachable.size:
        missing = np.array([joints.states.force_to_model(levers.q, column) for column in missed.T[unreachable]])
        dofs = np.flatnonzero((np.abs(missing) > TOLERANCE * np.abs(missing).max()).any(axis=0))
        without = dict.fromkeys(str(model.joint(int(model.dof_jntid[v])).name) for v in dofs)
        driven = [f"{_name(model, k)} on {_target(model, k)}" for k in found]
        raise BridgeError(
            f"no motor of the MuJoCo model drives {', '.join(without)}, which the law's "
            f"{', '.join(inputs[int(i)] for i in unreachable)} need; its motors: {', '.join(driven) or 'none'}. Add "
            "<motor joint=…/> for each, or pass apply='qfrc_applied'"
        )
    at = np.array([ActuatorChannels.of(model, k).control for k in found], dtype=np.int64)
    ranges = np.array([_range(model, k, levers.model[k]) for k in found]).reshape(-1, 2)
    return Motors(tuple(_name(model, k) for k in found), at, matrix, moments, ranges)


def check_no_servos(joints: JointMap) -> None:
    """Raise BridgeError for actuators of the robot that are not motors: servos, muscles, filters.

    Args:
        joints: joints of the robot in the model.
    """
    _check_no_servos(joints.model, _MomentArms.of(joints))


def _check_no_servos(model: MjModel, levers: _MomentArms) -> None:
    problems = [
        f"{_name(model, k)!r} {reason}"
        for k in range(actuator_count(model))
        if levers.acts[k] and actuator_is_enabled(model, k) and (reason := _unsupported_reason(model, k))
    ]
    if problems:
        raise BridgeError(
            f"actuators of the MuJoCo model must be motors: {'; '.join(problems)}. A law outputs forces: replace them "
            "by <motor>, or disable their group (option actuatorgroupdisable)"
        )


def _check_not_shared(names: Sequence[str], moments: Array) -> None:
    """Refuse redundant motors; moments of unit length, shape (nv, motors)."""
    _, s, shares = np.linalg.svd(moments)
    rank = int((s > TOLERANCE).sum())
    spare = np.flatnonzero((np.abs(shares[rank:]) > TOLERANCE).any(axis=0))
    if spare.size:
        raise BridgeError(
            f"motors {', '.join(names[int(k)] for k in spare)} are redundant, so the share of each is not determined: "
            "remove one, disable its group, or pass apply='qfrc_applied'"
        )


def _unsupported_reason(model: MjModel, k: int) -> str:
    """Return why an actuator is not a motor; empty if it is one."""
    channels = ActuatorChannels.of(model, k)
    if channels.controls != 1 or channels.forces != 1:
        return "has several controls or forces"
    if int(model.actuator_dyntype[k]) != NONE:
        return "has internal dynamics (a filter, an integrator or a muscle)"
    gain, bias = int(model.actuator_gaintype[k]), int(model.actuator_biastype[k])
    if gain != FIXED or bias != NONE:
        kind = "a position or velocity servo" if bias == 1 else "an actuator whose force depends on its motion"
        return f"is {kind} (gain type {gain}, bias type {bias})"
    return "has a delay" if field_is_set(model, "actuator_delay", k) else ""


def _joint(model: MjModel, k: int) -> int:
    """Return the joint that an actuator acts on; −1 if it is not a single joint."""
    on_joint = int(model.actuator_trntype[k]) in (JOINT, JOINT_IN_PARENT)
    return int(model.actuator_trnid[k, 0]) if on_joint else -1


def _target(model: MjModel, k: int) -> str:
    """Return a description of what a motor acts on."""
    joint, target = _joint(model, k), int(model.actuator_trnid[k, 0])
    if joint >= 0:
        return str(model.joint(joint).name)
    return f"tendon {model.tendon(target).name}" if model.actuator_trntype[k] == TENDON else "a site or a body"


def _name(model: MjModel, k: int) -> str:
    return str(model.actuator(k).name) or f"drive {k}"


def _range(model: MjModel, k: int, moment: Array) -> tuple[float, float]:
    """Return the range of controls that is not clipped by limits of the control, the force, joints or tendons."""
    low, high, at = -np.inf, np.inf, ActuatorChannels.of(model, k).control
    if model.actuator_ctrllimited[at] and not is_disabled(model, "CLAMPCTRL"):
        low, high = map(float, model.actuator_ctrlrange[at])
    gain = float(model.actuator_gainprm[k, 0])
    bounds: list[tuple[float, Array]] = []
    if model.actuator_forcelimited[k]:
        bounds.append((gain, model.actuator_forcerange[k]))
    target = int(model.actuator_trnid[k, 0])
    if int(model.actuator_trntype[k]) == TENDON and field_is_set(model, "tendon_actfrclimited", target):
        gear = float(model.actuator_gear[ActuatorChannels.of(model, k).force, 0])
        bounds.append((gain * gear, field_entry(model, "tendon_actfrcrange", target)))
    for v in np.flatnonzero(moment):
        if model.jnt_actfrclimited[joint := int(model.dof_jntid[v])]:
            bounds.append((gain * float(moment[v]), model.jnt_actfrcrange[joint]))
    for scale, ends in bounds:
        least, greatest = sorted(float(end) / scale for end in ends)
        low, high = max(low, least), min(high, greatest)
    return low, high


Apply = Literal["auto", "ctrl", "qfrc_applied"]
Force = Callable[[float, Array, Array, Array], Array]
MAX_CONTROL = 1e10
"""Controls beyond this are an error for MuJoCo, which sets them to zero."""


@dataclass(eq=False)
class OutputWriter:
    """Writer of a law's outputs to MuJoCo's data.

    Attributes:
        joints: joints of the robot in the model.
        force: (t, q, v, output) → generalized force: of the robot, shape (nv,), with motors; of the model, shape
            (nv',), without.
        motors: motors that apply it; None if it is written as a generalized force.
        gains: controls per unit of each input, shape (motors, nu), if they are constant.
    """

    joints: JointMap
    force: Force
    motors: Motors | None
    gains: Array | None
    _warned: bool = False

    def __post_init__(self) -> None:
        """Determine whether controls can be clipped."""
        self._own = np.flatnonzero(self.joints.own)
        ranges = np.zeros((0, 2)) if self.motors is None else self.motors.ranges
        self._bounded = bool(np.isfinite(ranges).any())

    def write(self, data: MjData, q: Array, v: Array, output: Array) -> None:
        """Write an output.

        Args:
            data: the MjData.
            q: coordinates of the robot, shape (nq,).
            v: velocities of the robot, shape (nv,).
            output: output of the law.
        """
        motors = self.motors
        if motors is None:
            data.qfrc_applied[self._own] = self.force(data.time, q, v, output)[self._own]
            return
        if self.gains is not None:
            controls = self.gains @ output
        else:
            controls = motors.controls_for(self.force(data.time, q, v, output))
        if not np.vdot(controls, controls) < MAX_CONTROL**2:
            raise NotFiniteError(
                f"at t = {data.time:g} the controls are {controls.tolist()}, which MuJoCo treats as an "
                "error and sets to zero: the motion has diverged; try a smaller timestep or smaller gains"
            )
        if self._bounded and not self._warned:
            self._warn(data.time, controls)
        data.ctrl[motors.controls] = controls

    def clear(self, data: MjData) -> None:
        """Set the force to zero.

        Args:
            data: the MjData.
        """
        if self.motors is None:
            data.qfrc_applied[self._own] = 0.0
        else:
            data.ctrl[self.motors.controls] = 0.0

    def _warn(self, t: float, controls: Array) -> None:
        assert self.motors is not None
        ranges = self.motors.ranges
        over = np.flatnonzero((controls < ranges[:, 0]) | (controls > ranges[:, 1]))
        if over.size:
            self._warned = True
            k = int(over[0])
            low, high = ranges[k]
            warnings.warn(
                f"at t = {t:g} s the law sets motor {self.motors.names[k]!r} to {controls[k]:.6g}, but MuJoCo clips "
                f"it to [{low:g}, {high:g}], so the applied force is not the law's. Use a bounded realization with "
                "these limits, or a slower motion. This warning is shown once",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )


def build_output_writer(robot: Robot, joints: JointMap, applies_force: bool, p: Array, apply: Apply) -> OutputWriter:
    """Build the writer of a law's outputs.

    Args:
        robot: robot of the inputs or forces.
        joints: joints of the robot in the model.
        applies_force: True if outputs are generalized forces R, False for inputs u.
        p: the robot's parameters, shape (np,).
        apply: ``"ctrl"`` for motors, ``"qfrc_applied"`` for generalized forces; ``"auto"`` for motors if outputs are
            inputs u, else generalized forces.

    Raises:
        BridgeError: for another word, missing motors, actuators that are not motors, or disabled actuation.
    """
    if apply not in ("auto", "ctrl", "qfrc_applied"):
        raise BridgeError(f"apply must be 'auto', 'ctrl' or 'qfrc_applied', got {apply!r}")
    if is_disabled(joints.model, "ACTUATION"):
        raise BridgeError(
            "the MuJoCo model has actuation disabled (option flag actuation), so its control callback is never called: "
            "enable it"
        )
    c = robot.coordinates
    B = ca.SX(ca.DM.eye(c.nv)) if applies_force else robot.input_matrix
    constant = not ca.depends_on(B, ca.vertcat(c.t, c.q, c.v)) if B.numel() else True
    columns = robot.evaluate(B, p=p).reshape(B.shape) if constant and B.numel() else np.zeros((c.nv, 0))
    force = _constant(columns) if constant else _varying(robot, B, p)
    if apply == "ctrl" or (apply == "auto" and not applies_force):
        names = [c.v[i].name() for i in range(c.nv)] if applies_force else robot.input_names
        motors = find_motors(joints, columns, names)
        return OutputWriter(joints, force, motors, motors.matrix @ columns if constant else None)
    check_no_servos(joints)
    if constant and not joints.floats:
        zero, states = np.zeros(c.nq), joints.states
        columns_in_model = (
            np.array([states.force_to_model(zero, column) for column in columns.T]).reshape(-1, states.nv).T
        )
        return OutputWriter(joints, _constant(columns_in_model), None, None)
    return OutputWriter(
        joints, lambda t, q, v, output: joints.states.force_to_model(q, force(t, q, v, output)), None, None
    )


def _constant(columns: Array) -> Force:
    """Return the force function of a constant input matrix."""
    return lambda t, q, v, output: np.asarray(columns @ output)


def _varying(robot: Robot, B: ca.SX, p: Array) -> Force:
    """Return the force function of an input matrix that depends on the state."""
    c, u = robot.coordinates, ca.SX.sym("output", B.size2())
    kernel = Kernel("applied", {"t": c.t, "q": c.q, "v": c.v, "u": u, "p": robot.p}, {"force": B @ u}, compiled=False)
    return lambda t, q, v, output: np.atleast_1d(kernel(t, q, v, output, p)[0])
