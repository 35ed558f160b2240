"""Loop of a plant and a controller called from Python, and the choice between it and a symbolic loop.

:func:`close_loop` joins plant and controller as one expression if the controller has a symbolic law; otherwise the
controller is called at every evaluation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from ..symbolic.parameters import NO_PARAMETERS
from .closed_loop import RECORDED, ClosedLoop, SymbolicLoop
from .integrators.integrator import BLOCK, Integrator
from .metrics import Metric, integrands
from .natural_rank import natural_pivots

Array = NDArray[np.float64]


class PythonLoop(ClosedLoop):
    """A loop that calls its controller from Python; only the plant is compiled.

    Attributes:
        controller: the controller that is called.
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller,
        stop: ca.SX | None,
        *,
        monitor_rank: bool = True,
        metrics: ca.SX,
    ) -> None:
        """Compile the plant with its force or input as an argument.

        Args:
            robot: the plant.
            controller: the controller.
            stop: scalar expression that is recorded, or None.
            monitor_rank: True to record the pivots of natural rows.
            metrics: expressions that are recorded, shape (k,).
        """
        self.robot = robot
        self.driver = self.controller = controller
        c = robot.coordinates
        self.nx = c.nq + c.nv
        self._nu = c.nv if controller.applies_force else robot.u.numel()
        u = ca.SX.sym("output", self._nu)
        force = u if controller.applies_force else robot.input_matrix @ u
        a = robot.acceleration_under(force)[0]
        inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": u, "p": robot.p}
        self._rate = Kernel("plant_rate", inputs, {"rate": ca.vertcat(c.N @ c.v, a)})
        self._force = Kernel("plant_force", inputs, {"force": force}, compiled=False)
        energy = robot.kinetic_energy + robot.potential_energy
        recorded = {"energy": energy, "stop": ca.SX(0, 1) if stop is None else stop}
        recorded |= natural_pivots(robot, monitor_rank)
        # A parameter shared by plant and controller takes the plant's value.
        self._extra, extra = controller.parameters.beyond(robot.parameters)
        symbols = {"t": c.t, "x": inputs["x"], "p": robot.p, "c": extra}
        self._observed, self._observe = tuple(recorded), Kernel("plant_observed", symbols, recorded)
        self._metrics: Kernel | None = None
        if metrics.numel():
            inputs_too = symbols if controller.applies_force else {**symbols, "u": robot.u}
            self._metrics = Kernel("metrics", inputs_too, {"metrics": metrics}, compiled=False)
        self.sizes = dict.fromkeys(RECORDED, 0) | {"output": self._nu}
        self.sizes["metrics"] = metrics.numel()
        self.sizes |= {key: expression.numel() for key, expression in recorded.items()}
        by_row = ("deviation", "pivots", "relative_pivots", *(("active",) if controller.switches else ()))
        self.sizes |= dict.fromkeys(by_row, len(controller.rows)) | {"status": 1}
        self._notes: list[tuple[float, str]] = []
        self._memories: deque[object | None] = deque(maxlen=BLOCK + 1)

    @property
    def has_memory(self) -> bool:
        """True if the controller has a memory."""
        return self.controller.memory is not None

    @property
    def memory(self) -> object | None:
        """Memory of the controller before it observed the last sample but one."""
        return self._memories[max(len(self._memories) - 2, 0)] if self._memories else None

    @property
    def notes(self) -> tuple[tuple[float, str], ...]:
        """Times at which the controller's status changed, with its message."""
        return tuple(self._notes)

    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ, calling the controller."""
        plant, act = p[: len(self.robot.parameters)], self._actor(p)
        return lambda t, x: self._rate(t, x, act(t, x), plant)[0]

    @contextmanager
    def replay(self, p: Array, since: int) -> Generator[Callable[[float, Array], Array]]:
        """Yield ẋ that calls the controller with the memory that it had then."""
        memory, remembered = self.controller.memory, len(self._memories) > since
        if remembered:
            self.controller.memory = self._memories[-1 - since]
        try:
            yield self.derivative(p)
        finally:
            if remembered:
                self.controller.memory = memory

    def force(self, p: Array) -> Callable[[float, Array], Array]:
        """B u or R, calling the controller."""
        plant, act = p[: len(self.robot.parameters)], self._actor(p)
        return lambda t, x: np.atleast_1d(self._force(t, x, act(t, x), plant)[0])

    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """Recorded values; the controller observes the sample first."""
        self._notes.clear()
        before = Status.OK
        split = len(self.robot.parameters)
        nq, plant, own, extra = self.robot.coordinates.nq, p[:split], p[split:], p[split:][self._extra]

        def observe(t: float, x: Array) -> dict[str, Array]:
            nonlocal before
            values = {key: np.full(size, np.nan) for key, size in self.sizes.items()}
            values |= zip(self._observed, map(np.atleast_1d, self._observe(t, x, plant, extra)), strict=True)
            if not np.isfinite(x).all():
                return values
            self._memories.append(self.controller.memory)
            self.controller.advance(t, x[:nq], x[nq:], own)
            observed = self.controller.observe(t, x[:nq], x[nq:], own)
            if observed.status is not before:
                before = observed.status
                self._notes.append((t, observed.message or observed.status.sentence))
            values |= {"output": self._checked(observed.output), "active": observed.active}
            values["status"] = np.array([float(observed.status)])
            values |= {"pivots": observed.pivots, "relative_pivots": observed.relative_pivots}
            if self._metrics is not None:
                applied = () if self.controller.applies_force else (values["output"],)
                values["metrics"] = np.atleast_1d(self._metrics(t, x, plant, extra, *applied)[0])
            if self.sizes["deviation"]:
                # Of the plant's acceleration, which may differ from the model's.
                a = self._rate(t, x, values["output"], plant)[0][nq:]
                if np.isfinite(a).all():
                    values["deviation"] = self.controller.deviation_of(observed, t, a)
            for key in ("deviation", "pivots", "relative_pivots", "active"):
                if values[key].shape != (self.sizes[key],):
                    raise ModelError(
                        f"{type(self.controller).__name__}.evaluate must return {key} of shape ({self.sizes[key]},), "
                        f"one value per row, got shape {values[key].shape}"
                    )
            return values

        return observe

    def _checked(self, output: Array) -> Array:
        numbers = np.asarray(output, dtype=np.float64)
        if numbers.shape != (self._nu,):
            raise ModelError(
                f"{type(self.controller).__name__}.evaluate must return an output of shape ({self._nu},), "
                f"got shape {numbers.shape}"
            )
        return numbers

    def _actor(self, p: Array) -> Callable[[float, Array], Array]:
        nq, own = self.robot.coordinates.nq, p[len(self.robot.parameters) :]

        def act(t: float, x: Array) -> Array:
            if not np.isfinite(x).all():
                return np.full(self._nu, np.nan)
            return self._checked(self.controller.control(t, x[:nq], x[nq:], own))

        return act


def close_loop(
    robot: Robot,
    controller: Controller | None,
    stop: ca.SX | None,
    *,
    monitor_rank: bool = True,
    metrics: Mapping[str, Metric] | None = None,
) -> ClosedLoop:
    """Join plant and controller, as one expression if the controller has a symbolic law.

    Args:
        robot: the plant.
        controller: the controller, or None for free motion.
        stop: scalar expression that is recorded, or None.
        monitor_rank: True to record the pivots of natural rows.
        metrics: metrics by name, whose expressions are recorded.

    Raises:
        ModelError: if the controller's model has other sizes than the plant, the plant's mass matrix is singular in
            every position, or an entry of ``metrics`` is not a valid metric.
    """
    robot.require_regular_mass_matrix()
    if controller is not None:
        require_fit(robot, controller)
    expressions = integrands(robot, controller, metrics or {})
    if controller is not None and controller.law is None:
        return PythonLoop(robot, controller, stop, monitor_rank=monitor_rank, metrics=expressions)
    return SymbolicLoop(robot, controller, stop, monitor_rank=monitor_rank, metrics=expressions)


def require_parts(
    robot: Robot, controller: Controller | None, integrator: Integrator | None, stop: ca.SX | None
) -> None:
    """Raise ModelError for arguments from which no loop can be built.

    Args:
        robot: the plant.
        controller: the controller, or None for free motion.
        integrator: the integrator; None for the default.
        stop: stop condition; a scalar expression in time, coordinates, velocities and parameters, or None.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"the plant must be a Robot, got {robot!r}")
    if controller is not None:
        _require_controller(controller)
    if integrator is not None and not isinstance(integrator, Integrator):
        raise ModelError(f"integrator must be an Integrator, such as RK4() or Reduced(), got {integrator!r}")
    if stop is None:
        return
    if not isinstance(stop, ca.SX) or stop.shape != (1, 1):
        given = f"shape {stop.shape}" if isinstance(stop, ca.SX) else repr(stop)
        raise ModelError(f"stop must be a scalar expression, got {given}")
    robot.require_own_symbols("stop", stop, controller.parameters if controller else NO_PARAMETERS)
    if ca.depends_on(stop, ca.vertcat(robot.u, robot.coordinates.a)):
        raise ModelError("stop may use time, coordinates, velocities and parameters, not inputs or accelerations")


def require_fit(robot: Robot, controller: Controller) -> None:
    """Raise ModelError for a controller whose model has other sizes than the plant, or that is not a controller.

    Args:
        robot: the plant.
        controller: the controller.
    """
    _require_controller(controller)
    c, model = robot.coordinates, controller.robot.coordinates
    plant, own = (c.nq, c.nv, robot.u.numel()), (model.nq, model.nv, controller.robot.u.numel())
    if plant != own:
        raise ModelError(
            f"{robot.name} has (nq, nv, nu) = {plant}, but the controller was built for {controller.robot.name} "
            f"with {own}"
        )


def _require_controller(controller: Controller) -> None:
    if not isinstance(controller, Controller):
        raise ModelError(
            f"controller must be a Controller, got {controller!r}; for a program use ProgramController(program)"
        )
