"""A controller as MuJoCo's control callback, and as a stepper of its model."""

from __future__ import annotations

import dataclasses
import warnings
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.trajectory import SimulationError, SimulationInterrupted, Trajectory
from ...symbolic.errors import BridgeError, BridgeWarning, ModelError
from ...symbolic.parameters import NO_PARAMETERS
from ...symbolic.validation import step_count, vector
from ..common.controller_memory import ControllerMemory, model_parameters, with_memory
from ..common.recorder import Recorder
from .control_output import Apply, LawEvaluator, OutputWriter, build_evaluator, build_output_writer
from .joint_map import JointMap
from .match import match
from .obstacles import Obstacle, ObstacleTracker
from .versions import WRONG_HESSIAN, has_newton_bug, is_data_of, require_mujoco
from .warning_monitor import WarningMonitor, installed_callback

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


Array = NDArray[np.float64]
MAX_SAMPLES = 10_000
"""Largest number of samples in a log."""


@dataclass(frozen=True, eq=False)
class LoggedSample:
    """State and parameters of the law at one time."""

    t: float
    q: Array
    v: Array
    p: Array | None


class SampleLog:
    """Log of samples at whole steps; intermediate stages of an integrator are left out or replaced."""

    def __init__(self, model: MjModel) -> None:
        """Build an empty log.

        Args:
            model: the MjModel; the log restarts when its timestep changes.
        """
        self._model, self._step, self._start = model, float(model.opt.timestep), 0.0
        self._samples: deque[LoggedSample] = deque(maxlen=MAX_SAMPLES)

    def add(self, t: float, q: Array, v: Array, p: Array | None = None) -> None:
        """Add a state, which replaces all later ones.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: the law's parameters, shape (np,), if they change.
        """
        samples, h = self._samples, self._model.opt.timestep
        if h != self._step or (samples and t > samples[-1].t + 1.5 * h):
            self._step = h
            samples.clear()
        while samples and samples[-1].t >= t - 1e-6 * h:
            samples.pop()
        if not samples:
            self._start = t
        steps = (t - self._start) / h
        if abs(steps - round(steps)) < 1e-4:
            samples.append(LoggedSample(t, q.copy(), v.copy(), None if p is None else p.copy()))

    def failure(
        self,
        robot: Robot,
        controller: Controller,
        error: Exception,
        *,
        p: Mapping[str, float] | ArrayLike | None,
        controller_p: Array,
    ) -> SimulationError:
        """Return the error to raise, with the samples so far.

        Args:
            robot: robot of the samples.
            controller: the law.
            error: exception after the last sample.
            p: the robot's parameters.
            controller_p: the law's parameters, shape (np,).
        """
        samples = list(self._samples)
        memory, t0 = controller.memory, samples[0].t if samples else 0.0
        room = max(1, len(samples))
        recorder = Recorder(robot, controller, step=self._step, samples=room, p=p, controller_p=controller_p, t0=t0)
        try:
            for sample in samples:
                if sample.p is not None:
                    recorder.observed(sample.p)
                recorder.tick(sample.q, sample.v)
        except SimulationError as found:
            return found
        except Exception as raised:
            return recorder.fail(raised)
        finally:
            # Recording the samples again must not change the law's memory.
            controller.memory = memory
        return recorder.fail(error)


Values = Mapping[str, float] | ArrayLike | None


class ControlCallback:
    """A law that drives one MuJoCo model.

    ``mujoco.set_mjcb_control(drive)`` makes it MuJoCo's control callback, for a viewer or a custom loop; :meth:`step`
    and :meth:`run` take the steps themselves, which a law with memory requires: its memory advances once per step, not
    in the stages of MuJoCo's Runge–Kutta method.

    Attributes:
        model: the MjModel.
        controller: the law, or None.
        memory: memory of the law for this model; None without a law.
        joints: joints of the robot in the model.
        p: the law's current parameters, shape (np,), including those of obstacles; may be changed.
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None,
        joints: JointMap,
        *,
        p: Values = None,
        controller_p: Values = None,
        obstacles: Mapping[str, str | Obstacle] | None = None,
        apply: Apply = "auto",
    ) -> None:
        """Connect law and model; :func:`~erugin.bridges.mujoco.drive` also compares them.

        Args:
            robot: robot in the model.
            controller: the law, or None.
            joints: joints of the robot in the model.
            p: the robot's parameters: nominal, overridden by name, or the whole vector.
            controller_p: the law's parameters, likewise.
            obstacles: name of an obstacle in the law → name of a body, or an Obstacle.
            apply: how outputs are applied: ``"auto"``, ``"ctrl"`` or ``"qfrc_applied"``.
        """
        self._mujoco: ModuleType = require_mujoco()
        self.model, self.controller, self.joints = joints.model, controller, joints
        self._robot, self._numbers = robot, robot.parameters.values(p)
        parameters = NO_PARAMETERS if controller is None else controller.parameters
        self._p = parameters.values(controller_p)
        self._remembers = controller is not None and controller.has_memory
        self.memory = None if controller is None else ControllerMemory(controller)
        self._evaluate: LawEvaluator | None = None
        self._writer: OutputWriter | None = None
        if controller is not None:
            self._evaluate, self._p = build_evaluator(controller, self.p)
            self._writer = build_output_writer(robot, joints, controller.applies_force, self._numbers, apply)
        self._obstacles = ObstacleTracker(self._mujoco, self.model, parameters, obstacles or {}, self.p)
        self._read, self._warnings, self._log = (
            joints.reader(),
            WarningMonitor(self._mujoco, self.model),
            SampleLog(self.model),
        )
        self._whole = int(self._mujoco.mjtState.mjSTATE_INTEGRATION)
        self._saved = np.zeros(self._mujoco.mj_stateSize(self.model, self._whole))
        self._raised: BaseException | None = None
        self._ready: Array | None = None
        self._data: MjData | None = None
        self._time = 0.0
        self._last_recorded: tuple[object, Array] | None = None

    @property
    def p(self) -> Array:
        """Parameters of the law; changes take effect at once."""
        return self._p

    @p.setter
    def p(self, values: ArrayLike) -> None:
        # The evaluator of the law holds this array: change it in place.
        self._p[:] = vector("p", values, len(self._p))

    def __call__(self, model: MjModel, data: MjData) -> None:
        """Apply the law; MuJoCo calls this between its velocities and its forces.

        Args:
            model: the MjModel of this drive.
            data: the MjData.

        Raises:
            BridgeError: for another model, or a law with memory.
            SimulationError: if the law or MuJoCo's motion fails; the samples so far are attached. It propagates through
                ``mj_step`` to the caller.
        """
        if model is not self.model:
            raise BridgeError("this drive is for another MjModel: build one for each by drive(controller, model)")
        if self.controller is None or self._evaluate is None or self._writer is None:
            return
        if self._remembers:
            raise BridgeError(
                f"{type(self.controller).__name__} has a memory, but MuJoCo's callback does not know which call "
                "starts a step: take the steps by drive.step(data) or drive.run(data, duration)"
            )
        try:
            if data is not self._data:
                self._begin(data)
            self._warnings.check(data)
            if self._obstacles:
                self._obstacles.read_stage(data)
            q, v = self._read(data)
            self._log.add(data.time, q, v, self.p if self._obstacles else None)
            self._writer.write(data, q, v, self._evaluate(data.time, q, v))
        except Exception as error:
            raise self._failure(error) from error

    def place(self, data: MjData, q: ArrayLike, v: ArrayLike) -> None:
        """Put the robot into a state; the rest of the model is unchanged.

        Args:
            data: the MjData.
            q: coordinates of the robot, shape (nq,).
            v: velocities of the robot, shape (nv,).

        Raises:
            ShapeError: for a wrong shape, or numbers that are not finite.
        """
        c = self._robot.coordinates
        self.joints.place(data, *self.joints.states.to_model(vector("q", q, c.nq), vector("v", v, c.nv)))

    def state(self, data: MjData) -> tuple[Array, Array]:
        """Return the coordinates, shape (nq,), and velocities, shape (nv,), of the robot.

        Args:
            data: the MjData.
        """
        return self.joints.states.from_model(data.qpos, data.qvel)

    def step(self, data: MjData) -> None:
        """Take one step of MuJoCo under the law, whose memory advances once and which acts at all stages of the step.

        With other data, or at an earlier time, a new motion starts, and the law's memory is reset.

        Args:
            data: the MjData.

        Raises:
            SimulationError: if the law or MuJoCo's motion fails; the samples so far are attached, and ``data`` and the
                law's memory are restored to their values before the step.
        """
        controller = self.controller
        is_new = data is not self._data or data.time < self._time - 1e-6 * self.model.opt.timestep
        if is_new:
            self._begin(data)
        with installed_callback(self._mujoco, self._stage), with_memory(self.memory):
            if is_new and controller is not None:
                controller.reset()
            memory = None if controller is None else controller.memory
            try:
                q, v = self._sample(data)
                self._log.add(data.time, q, v, self.p if self._obstacles else None)
                if controller is not None and self._remembers and not self._is_known(memory, data.time, q, v):
                    controller.advance(float(data.time), q, v, self.p)
                self._take_step(data)
                self._time, self._last_recorded = float(data.time), None
            except BaseException as error:
                if controller is not None and self._remembers:
                    controller.memory = memory
                raise self._failure(error) from error

    def run(self, data: MjData, duration: float) -> Trajectory:
        """Take steps of MuJoCo under the law, recorded as by :func:`erugin.scenarios.simulate`.

        A new motion starts and the law's memory is reset; afterwards :meth:`step` continues with the memory of the run.

        Args:
            data: the MjData with the initial state and time.
            duration: duration [s]; only whole steps are taken, so the last may end after it.

        Returns:
            The trajectory; ``controller_p`` has the last parameters of obstacles, and ``notes`` report their changes
            since the start.

        Raises:
            SimulationError: if the law or MuJoCo's motion fails; the samples so far are attached.
            SimulationInterrupted: on Ctrl-C, likewise.
        """
        self._begin(data)
        h = float(self.model.opt.timestep)
        steps = step_count(duration, h)
        q, v = self._sample(data)
        started = self.p.copy()
        with installed_callback(self._mujoco, self._stage), with_memory(self.memory):
            recorder = Recorder(
                *(self._robot, self.controller),
                step=h,
                samples=steps + 1,
                p=self._numbers,
                controller_p=started if self.controller is not None else None,
                t0=float(data.time),
            )
            try:
                for k in range(steps + 1):
                    if k:
                        q, v = self._sample(data)
                    try:
                        if self._obstacles:
                            recorder.observed(self.p)
                        output = recorder.tick(q, v)
                        self._ready = None if self._evaluate is None else output
                        if k < steps:
                            self._take_step(data)
                    except SimulationError:
                        raise
                    except Exception as error:
                        raise recorder.fail(error) from error
            except KeyboardInterrupt as interrupt:
                raise SimulationInterrupted(recorder.trajectory("interrupted")) from interrupt
            finally:
                self._ready = None
        self._time, self._last_recorded = float(data.time), (self.memory and self.memory.value, np.concatenate([q, v]))
        motion = recorder.trajectory()
        report = self._obstacles.change_report(started)
        return dataclasses.replace(motion, notes=(*motion.notes, (float(motion.t[-1]), report))) if report else motion

    def _begin(self, data: MjData) -> None:
        """Start a new motion: forget samples and warnings."""
        if not is_data_of(data, self.model):
            raise BridgeError("the MjData is of another MjModel than this drive: use mujoco.MjData(drive.model)")
        self._data, self._log = data, SampleLog(self.model)
        self._time, self._last_recorded = float(data.time), None
        self._warnings.clear()

    def _is_known(self, memory: object, t: float, q: Array, v: Array) -> bool:
        """Return True if the law's memory already includes this sample, as the last one of a run."""
        known, current = self._last_recorded, np.concatenate([q, v])
        return known is not None and known[0] is memory and t == self._time and np.array_equal(known[1], current)

    def _sample(self, data: MjData) -> tuple[Array, Array]:
        if self._obstacles:
            self._obstacles.read_sample(data)
        return self._read(data)

    def _take_step(self, data: MjData) -> None:
        """Take one step; after an exception the data are restored."""
        mujoco, model = self._mujoco, self.model
        mujoco.mj_getState(model, data, self._saved, self._whole)
        self._raised = None
        self._warnings.begin(data)
        try:
            mujoco.mj_step(model, data)
            if self._raised is not None:
                raise self._raised
            self._warnings.check(data)
        except BaseException:
            mujoco.mj_setState(model, data, self._saved, self._whole)
            raise

    def _stage(self, model: MjModel, data: MjData) -> None:
        """Apply the law in :meth:`step` and :meth:`run`; an exception is raised only after MuJoCo's step."""
        if model is not self.model or self._raised is not None or self._evaluate is None or self._writer is None:
            return
        ready, self._ready = self._ready, None
        try:
            if self._obstacles and ready is None:
                self._obstacles.read_stage(data)
            q, v = self._read(data)
            # At a sample the recorded output is applied.
            self._writer.write(data, q, v, self._evaluate(data.time, q, v) if ready is None else ready)
        except BaseException as error:
            self._raised = error
            self._writer.clear(data)

    def _failure(self, error: BaseException) -> BaseException:
        if self.controller is None or isinstance(error, BridgeError) or not isinstance(error, Exception):
            return error
        return self._log.failure(self._robot, self.controller, error, p=self._numbers, controller_p=self.p)


TOLERANCE = 1e-6
"""Relative tolerance of M and h, for files with six digits."""


def drive(
    controller: Controller,
    model: MjModel,
    *,
    names: Mapping[str, str] | None = None,
    p: Mapping[str, float] | ArrayLike | None = None,
    obstacles: Mapping[str, str | Obstacle] | None = None,
    apply: Apply = "auto",
    tolerance: float | None = TOLERANCE,
) -> ControlCallback:
    """Build the control callback of a law for a MuJoCo model of its robot; joints are matched by name.

    Args:
        controller: the law.
        model: the MjModel.
        names: name in the robot → name in the model, for joints whose names differ.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        obstacles: name of an obstacle in the law, such as ``"disc"`` for ``disc.x`` → name of a body, or an
            :class:`Obstacle`: its position and velocity become the law's parameters whenever the law is evaluated.
        apply: ``"ctrl"`` for the model's motors, gears included; ``"qfrc_applied"`` for generalized forces; ``"auto"``
            for motors if the law outputs inputs u, generalized forces if it outputs R.
        tolerance: relative tolerance of M and h in the comparison; None for a model that is intentionally another
            robot.

    Returns:
        The callback for MuJoCo, which can also take steps itself.

    Raises:
        BridgeError: if joints do not match by name and kind, if the model is not the same robot, if motors are missing
            or other actuators act on the robot, or if an obstacle does not exist.
        MissingPackageError: if MuJoCo is not installed.

    Warns:
        BridgeWarning: if MuJoCo 4.0.0 solves the model's constraints wrongly.
    """
    mujoco = require_mujoco()
    if not isinstance(controller, Controller):
        raise ModelError(
            f"controller must be a Controller, got {type(controller).__name__}; of a program pass "
            "ProgramController(program)"
        )
    if not isinstance(model, mujoco.MjModel):
        raise BridgeError(
            f"model must be a mujoco.MjModel, got {type(model).__name__}; use MjModel.from_xml_path(…), or .compile() "
            "of an MjSpec"
        )
    robot, controller_p = controller.robot, controller.parameters.values(p)
    own = model_parameters(controller, controller_p)
    if tolerance is not None:
        match(robot, model, names=names, p=own, tolerance=tolerance).check(tolerance)
    joints = JointMap.of(robot, model, names)
    if has_newton_bug(model):
        warnings.warn(
            f"MuJoCo {WRONG_HESSIAN} solves the constraints of this model wrongly, due to a bug in its sparse Newton "
            "solver that 4.0.1 fixes. Set model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE, or upgrade MuJoCo",
            BridgeWarning,
            stacklevel=2,
        )
    return ControlCallback(
        robot, controller, joints, p=own, controller_p=controller_p, obstacles=obstacles, apply=apply
    )
