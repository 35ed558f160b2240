"""Closed loop of plant and controller: ẋ = f(t, x, p) and the quantities recorded along it."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..symbolic.kernel import Kernel
from .natural_rank import NATURAL, natural_pivots

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
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX


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
    def replay(self, p: Array, since: int) -> Generator[Callable[[float, Array], Array]]:
        """Yield ẋ as it was in the step before one of the last samples, to repeat that step.

        Args:
            p: parameters of plant and controller.
            since: number of samples observed after that one.
        """
        del since
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
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None,
        stop: ca.SX | None,
        *,
        monitor_rank: bool = True,
        metrics: ca.SX,
    ) -> None:
        """Join the expressions; the symbols of a controller's own model are replaced by the plant's.

        Args:
            robot: the plant.
            controller: the controller, or None for free motion.
            stop: scalar expression that is recorded, or None.
            monitor_rank: True to record the pivots of natural rows.
            metrics: expressions that are recorded, shape (k,).

        Raises:
            ModelError: if plant and model have different sizes, or ``stop`` uses foreign symbols.
        """
        self.robot, self.driver = robot, controller
        c = robot.coordinates
        self.nx = c.nq + c.nv
        output = deviation = pivots = relative = active = controller_p = ca.SX(0, 1)
        force = ca.SX.zeros(c.nv)
        law = None if controller is None else controller.law
        if controller is not None and law is not None:
            model = controller.robot.coordinates
            controller_p = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"law_{name}") for name in controller.parameters.names))
            old = ca.vertcat(model.t, model.q, model.v, controller.parameters.symbols)
            new = ca.vertcat(c.t, c.q, c.v, controller_p)
            output, pivots, relative, active = (
                ca.substitute(e, old, new) for e in (law.output, law.pivots, law.relative_pivots, law.active)
            )
            force = output if controller.applies_force else robot.input_matrix @ output
            deviation = ca.substitute(law.deviation, old, new)
        if controller is not None and ca.depends_on(deviation, controller.robot.coordinates.a):
            deviation = ca.substitute(deviation, controller.robot.coordinates.a, robot.acceleration_under(force)[0])
        self.symbols = Symbols(c.t, ca.vertcat(c.q, c.v), ca.vertcat(robot.p, controller_p))
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
            "pivots": pivots,
            "relative_pivots": relative,
            "active": active,
            "status": ca.SX(0, 1),
            "energy": robot.kinetic_energy + robot.potential_energy,
            "stop": stop,
            **natural_pivots(robot, monitor_rank),
            "metrics": metrics,
        }
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

    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ from the compiled kernel."""
        kernel = self._rate_kernel
        return lambda t, x: kernel(t, x, p)[0]

    @contextmanager
    def replay(self, p: Array, since: int) -> Generator[Callable[[float, Array], Array]]:
        """Yield ẋ from an interpreted kernel: too few steps are repeated for compilation to pay."""
        del since
        kernel = self._plain_rate
        yield lambda t, x: np.atleast_1d(kernel(t, x, p)[0])

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
        return Kernel("closed_loop_rate", {"t": s.t, "x": s.x, "p": s.p}, {"rate": self.rate}, compiled=False)

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
