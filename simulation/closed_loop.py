"""Closed loop of plant and controller: ẋ = f(t, x, p) and the quantities recorded along it.

:func:`close_loop` joins plant and controller as one expression if the controller has a symbolic law; otherwise the
controller is called from Python at every evaluation.
"""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.law import Law
from ..controllers.status import Status
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from .natural_rank import NATURAL, natural_pivots
from .sample_window import BLOCK

Array = NDArray[np.float64]
RECORDED = (
    *("output", "deviation", "pivots", "relative_pivots", "active", "status", "energy", "stop"),
    *NATURAL,
    "metrics",
)


@dataclass(frozen=True, eq=False)
class Symbols:
    """Symbols of a closed loop's expressions.

    Attributes:
        t: time [s].
        x: state (q, v), shape (nx,).
        p: parameters of the plant, then of the controller, shape (np,).
        z: memory of the controller, shape (nz,).
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX
    z: ca.SX


class ClosedLoop(ABC):
    """A plant under a controller, as seen by an integrator.

    Attributes:
        robot: the plant.
        driver: the controller; None for a free motion.
        nx: size of the state x = (q, v).
        sizes: number of values recorded under each key of :data:`RECORDED`.
        correction: (t, x, p of the plant) → x, applied after each step; None for no correction.
    """

    robot: Robot
    driver: Controller | None
    nx: int
    sizes: dict[str, int]
    correction: ca.Function | None = None

    @property
    def has_memory(self) -> bool:
        """True if the controller's output changes at samples, so that no step may cross a sample."""
        return False

    @property
    def memory(self) -> object | None:
        """Memory of the controller before it observed the last sample but one."""
        return None

    @property
    def notes(self) -> tuple[tuple[float, str], ...]:
        """Times at which the controller's status changed, with its message, since the observer was made."""
        return ()

    @abstractmethod
    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ as a function of t and x, for parameters p of plant and controller."""

    @contextmanager
    def replay(self, p: Array, since: int, z: Array) -> Generator[Callable[[float, Array], Array]]:
        """Yield ẋ as it was in the step before one of the last samples, to repeat that step.

        Args:
            p: parameters of plant and controller.
            since: number of samples observed after that one.
            z: memory of the controller in that step, if it is recorded; otherwise empty.
        """
        del since, z
        yield self.derivative(p)

    @abstractmethod
    def force(self, p: Array) -> Callable[[float, Array], Array]:
        """Generalized force of the controller, B u or R, shape (nv,), as a function of t and x, for parameters p."""

    @abstractmethod
    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """Function of t and x that returns what is recorded, for parameters p."""

    def symbolic(self) -> SymbolicLoop | None:
        """Return the loop as expressions, or None if it is not symbolic."""
        return None

    def corrected_by(self, correction: ca.Function) -> Self:
        """Return a copy of this loop whose state is corrected after each step.

        Args:
            correction: (t, x, p of the plant) → x.
        """
        loop = copy.copy(self)
        loop.correction = correction
        return loop

    def corrector(self, p: Array) -> Callable[[float, Array], Array]:
        """Corrected state as a function of t and x, for parameters p; x itself without correction."""
        if self.correction is None:
            return lambda _, x: x
        c, own = self.robot.coordinates, self.robot.p
        x = ca.vertcat(c.q, c.v)
        corrected = self.correction.call([c.t, x, own])[0]
        kernel, plant = Kernel("corrected", {"t": c.t, "x": x, "p": own}, {"x": corrected}), p[: own.numel()]
        return lambda t, x: np.atleast_1d(kernel(t, x, plant)[0])


class SymbolicLoop(ClosedLoop):
    """A loop whose controller has a symbolic law, or that has no controller.

    Attributes:
        symbols: the inputs of the expressions below.
        applied_force: generalized force of the controller, B u or R, shape (nv,); zero without a controller.
        outputs: expressions that are recorded, by key.
        shared_parameters: pairs of indices in p of the parameters that plant and controller share by name: the plant's,
            then the controller's.
        law: the law in the plant's symbols; None for free motion.
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None,
        stop: ca.SX | None,
        *,
        monitor_rank: bool = True,
        metrics: ca.SX,
        law: Law | None = None,
    ) -> None:
        """Join the expressions; the symbols of a controller's own model are replaced by the plant's.

        Args:
            robot: the plant.
            controller: the controller, or None for free motion.
            stop: scalar expression that is recorded, or None.
            monitor_rank: True to record the pivots of natural rows.
            metrics: expressions that are recorded, shape (k,).
            law: the controller's law, which may have a memory; that of a controller without memory if not given.

        Raises:
            ModelError: if plant and model have different sizes, or ``stop`` uses foreign symbols.
        """
        self.robot, self.driver = robot, controller
        c = robot.coordinates
        self.nx = c.nq + c.nv
        output = deviation = controller_p = ca.SX(0, 1)
        force = ca.SX.zeros(c.nv)
        if law is None and controller is not None:
            law = controller.law
        if controller is not None and law is not None:
            model = controller.robot.coordinates
            controller_p = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"law_{name}") for name in controller.parameters.names))
            old = ca.vertcat(model.t, model.q, model.v, controller.parameters.symbols)
            law = law.at(old, ca.vertcat(c.t, c.q, c.v, controller_p))
            output, deviation = law.output, law.deviation
            force = output if controller.applies_force else robot.input_matrix @ output
        self.law = law
        if controller is not None and ca.depends_on(deviation, controller.robot.coordinates.a):
            deviation = ca.substitute(deviation, controller.robot.coordinates.a, robot.acceleration_under(force)[0])
        z = ca.SX(0, 1) if law is None else law.z
        self.symbols = Symbols(c.t, ca.vertcat(c.q, c.v), ca.vertcat(robot.p, controller_p), z)
        self._force, self.applied_force = force, ca.densify(force)
        nothing = ca.SX(0, 1)
        if controller is None:
            replaced, by = robot.u, ca.SX.zeros(robot.u.numel())
        else:
            # A parameter shared by plant and controller takes the plant's value.
            places, replaced = controller.parameters.beyond(robot.parameters)
            by = ca.vertcat(nothing, *(controller_p[i] for i in places))
            if law is not None and not controller.applies_force:
                replaced, by = ca.vertcat(replaced, robot.u), ca.vertcat(by, output)
        metrics, stop = (ca.substitute(e, replaced, by) for e in (metrics, nothing if stop is None else stop))
        self.outputs = {
            "output": output,
            "deviation": deviation,
            "pivots": nothing if law is None else law.pivots,
            "relative_pivots": nothing if law is None else law.relative_pivots,
            "active": nothing if law is None else law.active,
            "status": nothing if law is None else law.status,
            "energy": robot.kinetic_energy + robot.potential_energy,
            "stop": stop,
            **natural_pivots(robot, monitor_rank),
            "metrics": metrics,
        }
        if z.numel():
            self.outputs["memory"] = z
        self.sizes = {key: expression.numel() for key, expression in self.outputs.items()}
        own = () if law is None or controller is None else controller.parameters.names
        plant = robot.parameters.names
        shared = [(i, name) for i, name in enumerate(own) if name in plant]
        self.shared_parameters = tuple((plant.index(name), len(plant) + i) for i, name in shared)

    @functools.cached_property
    def rate(self) -> ca.SX:
        """ẋ, shape (nx,)."""
        c = self.robot.coordinates
        return ca.vertcat(c.N @ c.v, self.robot.acceleration_under(self._force)[0])

    @property
    def has_memory(self) -> bool:
        """True if the law has a memory."""
        return self.symbols.z.numel() > 0

    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ from the compiled kernel."""
        kernel = self._rate_kernel
        return lambda t, x: kernel(t, x, p)[0]

    @contextmanager
    def replay(self, p: Array, since: int, z: Array) -> Generator[Callable[[float, Array], Array]]:
        """Yield ẋ from an interpreted kernel: too few steps are repeated for compilation to pay."""
        del since
        kernel = self._plain_rate
        yield lambda t, x: np.atleast_1d(kernel(t, x, p, z)[0])

    def force(self, p: Array) -> Callable[[float, Array], Array]:
        """Force from the law's kernel, or from ``control`` where the controller's model has natural constraints.

        At a singular position a law's expressions do not know the branch of the motion; ``control`` does.
        """
        kernel, controller, plant = self._force_kernel, self.driver, len(self.robot.parameters)
        if controller is None or not controller.robot.natural:
            return lambda t, x: np.atleast_1d(kernel(t, x, p)[0])
        nq, own, act, apply = self.robot.coordinates.nq, p[plant:], controller.control, self._applied_kernel
        return lambda t, x: np.atleast_1d(apply(t, x, act(t, x[:nq], x[nq:], own), p[:plant])[0])

    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """Recorded values from the compiled kernel."""
        kernel = self._observe_kernel
        return lambda t, x: dict(zip(RECORDED, map(np.atleast_1d, kernel(t, x, p)), strict=True))

    def symbolic(self) -> SymbolicLoop:
        """Return the loop itself."""
        return self

    @functools.cached_property
    def _rate_kernel(self) -> Kernel:
        s = self.symbols
        return Kernel("closed_loop_rate", {"t": s.t, "x": s.x, "p": s.p}, {"rate": self.rate})

    @functools.cached_property
    def _plain_rate(self) -> Kernel:
        s = self.symbols
        inputs = {"t": s.t, "x": s.x, "p": s.p, "z": s.z}
        return Kernel("closed_loop_rate", inputs, {"rate": self.rate}, compiled=False)

    @functools.cached_property
    def _force_kernel(self) -> Kernel:
        s = self.symbols
        inputs = {"t": s.t, "x": s.x, "p": s.p}
        return Kernel("closed_loop_force", inputs, {"force": self.applied_force}, compiled=False)

    @functools.cached_property
    def _applied_kernel(self) -> Kernel:
        s, robot = self.symbols, self.robot
        forced = self.driver is not None and self.driver.applies_force
        u = ca.SX.sym("output", robot.coordinates.nv if forced else robot.u.numel())
        inputs = {"t": s.t, "x": s.x, "u": u, "p": robot.p}
        return Kernel("applied", inputs, {"force": u if forced else robot.input_matrix @ u}, compiled=False)

    @functools.cached_property
    def _observe_kernel(self) -> Kernel:
        s = self.symbols
        return Kernel("closed_loop_observed", {"t": s.t, "x": s.x, "p": s.p}, self.outputs)


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
    def replay(self, p: Array, since: int, z: Array) -> Generator[Callable[[float, Array], Array]]:
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
    metrics: ca.SX | None = None,
) -> ClosedLoop:
    """Join plant and controller, as one expression if the controller has a symbolic law.

    Args:
        robot: the plant.
        controller: the controller, or None for free motion.
        stop: scalar expression that is recorded, or None.
        monitor_rank: True to record the pivots of natural rows.
        metrics: expressions that are recorded, shape (k,).

    Raises:
        ModelError: if the controller's model has other sizes than the plant, or the plant's mass matrix is singular in
            every position.
    """
    robot.require_regular_mass_matrix()
    if controller is not None:
        require_fit(robot, controller)
    expressions = ca.SX(0, 1) if metrics is None else metrics
    if controller is not None and controller.law is None:
        return PythonLoop(robot, controller, stop, monitor_rank=monitor_rank, metrics=expressions)
    return SymbolicLoop(robot, controller, stop, monitor_rank=monitor_rank, metrics=expressions)


def require_fit(robot: Robot, controller: Controller) -> None:
    """Raise ModelError for a controller whose model has other sizes than the plant, or that is not a controller.

    Args:
        robot: the plant.
        controller: the controller.
    """
    require_controller(controller)
    c, model = robot.coordinates, controller.robot.coordinates
    plant, own = (c.nq, c.nv, robot.u.numel()), (model.nq, model.nv, controller.robot.u.numel())
    if plant != own:
        raise ModelError(
            f"{robot.name} has (nq, nv, nu) = {plant}, but the controller was built for {controller.robot.name} "
            f"with {own}"
        )


def require_controller(controller: Controller) -> None:
    """Raise ModelError for a controller that is not one.

    Args:
        controller: the controller.
    """
    if not isinstance(controller, Controller):
        raise ModelError(
            f"controller must be a Controller, got {controller!r}; for a program use ProgramController(program)"
        )
