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
from ..common.controller_memory import ControllerMemory, has_memory, model_parameters, with_memory
from ..common.recorder import Recorder
from .control_output import Apply, OutputWriter, build_output_writer
from .evaluate_law import LawEvaluator, build_evaluator
from .joint_map import JointMap
from .match import match
from .obstacles import Obstacle, ObstacleTracker
from .versions import WRONG_HESSIAN, has_newton_bug, is_data_of, require_mujoco
from .warning_monitor import WarningMonitor, installed_callback

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


Array = NDArray[np.float64]
MAX_SAMPLES = 10_000
"""Samples at most."""


@dataclass(frozen=True, eq=False)
class LoggedSample:
    """The state at one time, and the parameters of the law then."""

    t: float
    q: Array
    v: Array
    p: Array | None


class SampleLog:
    """Samples at whole steps; those that an integrator only tries in between are left out or replaced."""

    def __init__(self, model: MjModel) -> None:
        """Nothing yet.

        Args:
            model: MuJoCo's, whose timestep may be changed: the samples begin anew then.
        """
        self._model, self._step, self._start = model, float(model.opt.timestep), 0.0
        self._samples: deque[LoggedSample] = deque(maxlen=MAX_SAMPLES)

    def add(self, t: float, q: Array, v: Array, p: Array | None = None) -> None:
        """Take in a state, which replaces all that were later.

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
        """The error to be raised, with the samples so far.

        Args:
            robot: whose coordinates these are.
            controller: what drives it.
            error: what was raised after the last sample.
            p: the robot's parameters.
            controller_p: the law's, shape (np,).
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
            # To tell of the samples they were gone through once more, which is not to change what it remembers.
            controller.memory = memory
        return recorder.fail(error)


Values = Mapping[str, float] | ArrayLike | None


class ControlCallback:
    """A law at the drives of one MuJoCo model.

    ``mujoco.set_mjcb_control(drive)`` makes it MuJoCo's control callback, for a viewer or a loop of one's own;
    :meth:`step` and :meth:`run` take the steps themselves, which a law with memory needs: it takes in one sample per
    step, and the stages that MuJoCo's Runge–Kutta method tries in between change nothing.

    Attributes:
        model: MuJoCo's.
        controller: the law; None where nothing acts.
        memory: what it remembers here, apart from all else that it drives; None without a law.
        joints: where the robot's coordinates are.
        p: the law's parameters at present, shape (np,), those of obstacles among them; may be written.
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
        """Join them; :func:`~erugin.bridges.mujoco.drive` looks at the model first.

        Args:
            robot: in the model.
            controller: what drives it, or None.
            joints: of the robot in the model.
            p: the robot's parameters: nominal, overridden by name, or the whole vector.
            controller_p: the law's parameters, likewise.
            obstacles: name of an obstacle in the law → body, or an Obstacle.
            apply: where outputs go.
        """
        self._mujoco: ModuleType = require_mujoco()
        self.model, self.controller, self.joints = joints.model, controller, joints
        self._robot, self._numbers = robot, robot.parameters.values(p)
        parameters = NO_PARAMETERS if controller is None else controller.parameters
        self._p = parameters.values(controller_p)
        self._remembers = controller is not None and has_memory(controller, self._p)
        self.memory = None if controller is None else ControllerMemory(controller)
        self._act: LawEvaluator | None = None
        self._outlet: OutputWriter | None = None
        if controller is not None:
            self._act, self._p = build_evaluator(controller, self.p)
            self._outlet = build_output_writer(robot, joints, controller.applies_force, self._numbers, apply)
        self._eyes = ObstacleTracker(self._mujoco, self.model, parameters, obstacles or {}, self.p)
        self._read, self._watch, self._log = (
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
        self._known: tuple[object, Array] | None = None

    @property
    def p(self) -> Array:
        """Parameters; what is written into them acts from then on."""
        return self._p

    @p.setter
    def p(self, values: ArrayLike) -> None:
        # What asks the law holds this array.
        self._p[:] = vector("p", values, len(self._p))

    def __call__(self, model: MjModel, data: MjData) -> None:
        """What MuJoCo calls between its velocities and its forces.

        Args:
            model: that of this drive.
            data: MuJoCo's.

        Raises:
            BridgeError: for another model, or a law with memory.
            SimulationError: if the law or MuJoCo's motion has to stop; the samples so far are attached. It passes
                through ``mj_step`` to whoever called that.
        """
        if model is not self.model:
            raise BridgeError("this drive was made for another MjModel: make one for each by drive(controller, model)")
        if self.controller is None or self._act is None or self._outlet is None:
            return
        if self._remembers:
            raise BridgeError(
                f"{type(self.controller).__name__} has a memory, and MuJoCo does not tell its callback which call "
                "begins a step: take the steps by drive.step(data) or drive.run(data, duration)"
            )
        try:
            if data is not self._data:
                self._begin(data)
            self._watch.check(data)
            if self._eyes:
                self._eyes.look(data)
            q, v = self._read(data)
            self._log.add(data.time, q, v, self.p if self._eyes else None)
            self._outlet.write(data, q, v, self._act(data.time, q, v))
        except Exception as error:
            raise self._failure(error) from error

    def place(self, data: MjData, q: ArrayLike, v: ArrayLike) -> None:
        """Put the robot into a state; what else is in the model stays where it is.

        Args:
            data: MuJoCo's.
            q: our coordinates, shape (nq,).
            v: our velocities, shape (nv,).

        Raises:
            ShapeError: for a wrong shape, or numbers that are not finite.
        """
        c = self._robot.coordinates
        self.joints.place(data, *self.joints.states.to_model(vector("q", q, c.nq), vector("v", v, c.nv)))

    def state(self, data: MjData) -> tuple[Array, Array]:
        """Our coordinates, shape (nq,), and velocities, shape (nv,), of the robot.

        Args:
            data: MuJoCo's.
        """
        return self.joints.states.from_model(data.qpos, data.qvel)

    def step(self, data: MjData) -> None:
        """One step of MuJoCo under the law: the law takes in the state, and acts at all stages of the step.

        With other data, or at an earlier time, another motion begins, and the law forgets what it remembers.

        Args:
            data: MuJoCo's.

        Raises:
            SimulationError: if the law or MuJoCo's motion has to stop; the samples so far are attached, and ``data``
                and the law's memory are what they were before the step.
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
                self._log.add(data.time, q, v, self.p if self._eyes else None)
                if controller is not None and self._remembers and not self._is_known(memory, data.time, q, v):
                    controller.advance(float(data.time), q, v, self.p)
                self._take(data)
                self._time, self._known = float(data.time), None
            except BaseException as error:
                if controller is not None and self._remembers:
                    controller.memory = memory
                raise self._failure(error) from error

    def run(self, data: MjData, duration: float) -> Trajectory:
        """Steps of MuJoCo under the law, recorded as :func:`erugin.scenarios.simulate` does.

        Another motion begins: the law forgets what it remembers, and remembers all samples at the end, from which
        :meth:`step` goes on.

        Args:
            data: MuJoCo's, with the state at the start and its time.
            duration: [s]; whole steps are taken, so that the last may end behind it.

        Returns:
            The samples; ``controller_p`` holds what the law saw last, and ``notes`` say so if it saw otherwise at the
            start.

        Raises:
            SimulationError: if the law or MuJoCo's motion has to stop; the samples so far are attached.
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
                        if self._eyes:
                            recorder.observed(self.p)
                        output = recorder.tick(q, v)
                        self._ready = None if self._act is None else output
                        if k < steps:
                            self._take(data)
                    except SimulationError:
                        raise
                    except Exception as error:
                        raise recorder.fail(error) from error
            except KeyboardInterrupt as interrupt:
                raise SimulationInterrupted(recorder.trajectory("interrupted")) from interrupt
            finally:
                self._ready = None
        self._time, self._known = float(data.time), (self.memory and self.memory.value, np.concatenate([q, v]))
        motion = recorder.trajectory()
        said = self._eyes.saw(started)
        return dataclasses.replace(motion, notes=(*motion.notes, (float(motion.t[-1]), said))) if said else motion

    def _begin(self, data: MjData) -> None:
        """Another motion: what was seen and counted belongs to the one before."""
        if not is_data_of(data, self.model):
            raise BridgeError("the MjData is of another MjModel than this drive: make it by mujoco.MjData(drive.model)")
        self._data, self._log = data, SampleLog(self.model)
        self._time, self._known = float(data.time), None
        self._watch.forget()

    def _is_known(self, memory: object, t: float, q: Array, v: Array) -> bool:
        """Whether the law has taken in this sample already, as the last one of a run."""
        known, here = self._known, np.concatenate([q, v])
        return known is not None and known[0] is memory and t == self._time and np.array_equal(known[1], here)

    def _sample(self, data: MjData) -> tuple[Array, Array]:
        if self._eyes:
            self._eyes.read_sample(data)
        return self._read(data)

    def _take(self, data: MjData) -> None:
        """One step; what is raised in it leaves the data as it was before."""
        mujoco, model = self._mujoco, self.model
        mujoco.mj_getState(model, data, self._saved, self._whole)
        self._raised = None
        self._watch.begin(data)
        try:
            mujoco.mj_step(model, data)
            if self._raised is not None:
                raise self._raised
            self._watch.check(data)
        except BaseException:
            mujoco.mj_setState(model, data, self._saved, self._whole)
            raise

    def _stage(self, model: MjModel, data: MjData) -> None:
        """The callback inside :meth:`step` and :meth:`run`: what is raised waits until MuJoCo is through its step."""
        if model is not self.model or self._raised is not None or self._act is None or self._outlet is None:
            return
        ready, self._ready = self._ready, None
        try:
            if self._eyes and ready is None:
                self._eyes.look(data)
            q, v = self._read(data)
            # What was recorded at the sample is what acts there.
            self._outlet.write(data, q, v, self._act(data.time, q, v) if ready is None else ready)
        except BaseException as error:
            self._raised = error
            self._outlet.clear(data)

    def _failure(self, error: BaseException) -> BaseException:
        if self.controller is None or isinstance(error, BridgeError) or not isinstance(error, Exception):
            return error
        return self._log.failure(self._robot, self.controller, error, p=self._numbers, controller_p=self.p)


TOLERANCE = 1e-6
"""Relative difference of M and h that files with six digits may have."""


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
    """A law in a MuJoCo model of its robot, joints matched by name.

    Args:
        controller: the law.
        model: MuJoCo's.
        names: name here → name there, for joints whose names differ.
        p: the law's parameters, its robot's among them: nominal, overridden by name, or the whole vector.
        obstacles: name of an obstacle in the law, such as ``"disc"`` for ``disc.x`` → name of a body, or an
            :class:`Obstacle`: its place and velocity become the law's parameters whenever the law is asked.
        apply: ``"ctrl"``: through the model's motors, gears taken into account; ``"qfrc_applied"``: as generalized
            forces; ``"auto"``: inputs through motors, ideal forces R as they are.
        tolerance: relative difference of M and h that is let pass; None to drive a model that is not the law's on
            purpose.

    Returns:
        What MuJoCo can call, and what takes steps.

    Raises:
        BridgeError: if joints do not match by name and kind, the model is not the same robot, motors are missing or
            are no motors, or an obstacle is not there.
        MissingPackageError: without MuJoCo.

    Warns:
        BridgeWarning: of a model whose constraints MuJoCo 4.0.0 solves wrongly.
    """
    mujoco = require_mujoco()
    if not isinstance(controller, Controller):
        raise ModelError(
            f"a Controller is needed, got {type(controller).__name__}; for a program that is ProgramController(program)"
        )
    if not isinstance(model, mujoco.MjModel):
        raise BridgeError(
            f"a mujoco.MjModel is needed, got {type(model).__name__}; MjModel.from_xml_path(…) makes one, or the "
            "compile() of an MjSpec"
        )
    robot, controller_p = controller.robot, controller.parameters.values(p)
    own = model_parameters(controller, controller_p)
    if tolerance is not None:
        match(robot, model, names=names, p=own, tolerance=tolerance).check(tolerance)
    joints = JointMap.of(robot, model, names)
    if has_newton_bug(model):
        warnings.warn(
            f"MuJoCo {WRONG_HESSIAN} solves the constraints of this model wrongly: its sparse Newton solver has wrong "
            "factors, which 4.0.1 mends. Set model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE, or upgrade MuJoCo",
            BridgeWarning,
            stacklevel=2,
        )
    return ControlCallback(
        robot, controller, joints, p=own, controller_p=controller_p, obstacles=obstacles, apply=apply
    )
