"""Plant and controller joined: ẋ = f(t, x, p) and what is recorded of it."""

from __future__ import annotations

import copy
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..robots.augmentation import require_regular
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from ..symbolic.kernel import Kernel
from .natural_rank import NATURAL, natural_pivots

Array = NDArray[np.float64]
RECORDED = ("output", "deviation", "pivots", "relative_pivots", "active", "energy", "stop", *NATURAL)


@dataclass(frozen=True, eq=False)
class Symbols:
    """Inputs of a closed loop's expressions.

    Attributes:
        t: time [s].
        x: state (q, v), shape (nx,).
        p: parameters of the plant, then of the controller.
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX


class ClosedLoop(ABC):
    """A plant under a controller, as seen by an integrator.

    Attributes:
        robot: the plant.
        nx: size of the state x = (q, v).
        sizes: how many numbers are recorded under each of :data:`RECORDED`.
        correction: (t, x, p of the plant) → x, applied after each step; None for no correction.
    """

    robot: Robot
    nx: int
    sizes: dict[str, int]
    correction: ca.Function | None = None

    @abstractmethod
    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ as a function of t and x, for parameters p of plant and controller."""

    @abstractmethod
    def force(self, p: Array) -> Callable[[float, Array], Array]:
        """Generalized force of the controller, B u or R, shape (nv,), as a function of t and x, for parameters p."""

    @abstractmethod
    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """What is recorded at t and x, for parameters p."""

    def symbolic(self) -> SymbolicLoop | None:
        """The loop as expressions, if it is one."""
        return None

    def corrected_by(self, correction: ca.Function) -> Self:
        """The same loop with a correction of its state after each step.

        Args:
            correction: (t, x, p of the plant) → x.
        """
        loop = copy.copy(self)
        loop.correction = correction
        return loop

    def corrector(self, p: Array) -> Callable[[float, Array], Array]:
        """The corrected state at t and x, for parameters p of plant and controller; x itself without correction."""
        if self.correction is None:
            return lambda _, x: x
        c, own = self.robot.coordinates, self.robot.p
        x = ca.vertcat(c.q, c.v)
        corrected = self.correction.call([c.t, x, own])[0]
        kernel, plant = Kernel("corrected", {"t": c.t, "x": x, "p": own}, {"x": corrected}), p[: own.numel()]
        return lambda t, x: np.atleast_1d(kernel(t, x, plant)[0])


class SymbolicLoop(ClosedLoop):
    """A loop whose controller offers a symbolic law, or that has no controller.

    Attributes:
        symbols: the inputs of the expressions below.
        applied: generalized force of the controller, B u or R, shape (nv,); zero without one.
        rate: ẋ, shape (nx,).
        recorded: the expressions that are recorded.
    """

    def __init__(self, robot: Robot, controller: Controller | None, stop: ca.SX | None, *, judged: bool = True) -> None:
        """Join the expressions; a controller's model that is another robot gives its symbols up to the plant's.

        Raises:
            ModelError: if plant and model do not fit, or ``stop`` uses foreign symbols.
        """
        self.robot = robot
        c = robot.coordinates
        self.nx = c.nq + c.nv
        output = deviation = pivots = relative = active = law_p = ca.SX(0, 1)
        force = ca.SX.zeros(c.nv)
        law = None if controller is None else controller.law
        if controller is not None and law is not None:
            model = controller.robot.coordinates
            law_p = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"law_{name}") for name in controller.parameters.names))
            old = ca.vertcat(model.t, model.q, model.v, controller.parameters.symbols)
            new = ca.vertcat(c.t, c.q, c.v, law_p)
            output, pivots, relative, active = (
                ca.substitute(e, old, new) for e in (law.output, law.pivots, law.relative_pivots, law.active)
            )
            force = output if controller.applies_force else robot.input_matrix @ output
            deviation = ca.substitute(law.deviation, old, new)
        a = robot.drift[0] + robot.mobility(force)[0]
        if controller is not None:
            deviation = ca.substitute(deviation, controller.robot.coordinates.a, a)
        self.symbols = Symbols(c.t, ca.vertcat(c.q, c.v), ca.vertcat(robot.p, law_p))
        self.applied = ca.densify(force)
        self.rate = ca.vertcat(c.N @ c.v, a)
        if stop is not None and controller is not None:
            # Parameters that the plant shares with the controller's model stay the plant's.
            places, extra = controller.parameters.beyond(robot.parameters)
            if places:
                stop = ca.substitute(stop, extra, law_p[places])
        self.recorded = {
            "output": output,
            "deviation": deviation,
            "pivots": pivots,
            "relative_pivots": relative,
            "active": active,
            "energy": robot.kinetic_energy + robot.potential_energy,
            "stop": ca.SX(0, 1) if stop is None else stop,
            **natural_pivots(robot, judged),
        }
        self.sizes = {key: expression.numel() for key, expression in self.recorded.items()}

    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ from the compiled kernel."""
        kernel = self._rate_kernel
        return lambda t, x: kernel(t, x, p)[0]

    def force(self, p: Array) -> Callable[[float, Array], Array]:
        """The controller's force from its kernel."""
        kernel = self._force_kernel
        return lambda t, x: np.atleast_1d(kernel(t, x, p)[0])

    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """What is recorded, from the compiled kernel."""
        kernel = self._observe_kernel
        return lambda t, x: dict(zip(RECORDED, map(np.atleast_1d, kernel(t, x, p)), strict=True))

    def symbolic(self) -> SymbolicLoop:
        """Itself."""
        return self

    @functools.cached_property
    def _rate_kernel(self) -> Kernel:
        s = self.symbols
        return Kernel("closed_loop_rate", {"t": s.t, "x": s.x, "p": s.p}, {"rate": self.rate})

    @functools.cached_property
    def _force_kernel(self) -> Kernel:
        s = self.symbols
        inputs = {"t": s.t, "x": s.x, "p": s.p}
        return Kernel("closed_loop_force", inputs, {"force": self.applied}, compiled=False)

    @functools.cached_property
    def _observe_kernel(self) -> Kernel:
        s = self.symbols
        return Kernel("closed_loop_observed", {"t": s.t, "x": s.x, "p": s.p}, self.recorded)


class NumericLoop(ClosedLoop):
    """A loop whose controller is any Python object: the plant is compiled, the controller is called.

    Attributes:
        controller: what is called.
    """

    def __init__(self, robot: Robot, controller: Controller, stop: ca.SX | None, *, judged: bool = True) -> None:
        """Compile the plant with a free force or input."""
        self.robot, self.controller = robot, controller
        c = robot.coordinates
        self.nx = c.nq + c.nv
        self._nu = c.nv if controller.applies_force else robot.u.numel()
        u = ca.SX.sym("output", self._nu)
        force = u if controller.applies_force else robot.input_matrix @ u
        a = robot.drift[0] + robot.mobility(force)[0]
        inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "u": u, "p": robot.p}
        self._rate = Kernel("plant_rate", inputs, {"rate": ca.vertcat(c.N @ c.v, a)})
        self._force = Kernel("plant_force", inputs, {"force": force}, compiled=False)
        energy = robot.kinetic_energy + robot.potential_energy
        recorded = {"energy": energy, "stop": ca.SX(0, 1) if stop is None else stop, **natural_pivots(robot, judged)}
        # Parameters that the plant shares with the controller's model stay the plant's.
        self._extra, extra = controller.parameters.beyond(robot.parameters)
        symbols = {"t": c.t, "x": inputs["x"], "p": robot.p, "c": extra}
        self._observed, self._observe = tuple(recorded), Kernel("plant_observed", symbols, recorded)
        self.sizes = dict.fromkeys(RECORDED, 0) | {"output": self._nu}
        self.sizes |= {key: expression.numel() for key, expression in recorded.items()}
        told = ("deviation", "pivots", "relative_pivots", *(("active",) if controller.switches else ()))
        self.sizes |= dict.fromkeys(told, len(controller.rows))

    def derivative(self, p: Array) -> Callable[[float, Array], Array]:
        """ẋ, calling the controller."""
        plant, act = p[: len(self.robot.parameters)], self._actor(p)
        return lambda t, x: self._rate(t, x, act(t, x), plant)[0]

    def force(self, p: Array) -> Callable[[float, Array], Array]:
        """B u or R, calling the controller."""
        plant, act = p[: len(self.robot.parameters)], self._actor(p)
        return lambda t, x: np.atleast_1d(self._force(t, x, act(t, x), plant)[0])

    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """What is recorded, calling the controller."""
        split = len(self.robot.parameters)
        nq, plant, own, extra = self.robot.coordinates.nq, p[:split], p[split:], p[split:][self._extra]

        def observe(t: float, x: Array) -> dict[str, Array]:
            values = {key: np.full(size, np.nan) for key, size in self.sizes.items()}
            values |= zip(self._observed, map(np.atleast_1d, self._observe(t, x, plant, extra)), strict=True)
            if not np.isfinite(x).all():
                return values
            told = self.controller.observe(t, x[:nq], x[nq:], own)
            values |= {"output": self._checked(told.output), "active": told.active}
            values |= {"pivots": told.pivots, "relative_pivots": told.relative_pivots}
            if self.sizes["deviation"]:
                # The plant's own acceleration, which its model's need not be.
                a = self._rate(t, x, values["output"], plant)[0][nq:]
                if np.isfinite(a).all():
                    values["deviation"] = self.controller.deviation(t, x[:nq], x[nq:], a, own)
            for key in ("deviation", "pivots", "relative_pivots", "active"):
                if values[key].shape != (self.sizes[key],):
                    raise ModelError(
                        f"{type(self.controller).__name__} must tell {key} of shape ({self.sizes[key]},), as many as "
                        f"its rows, got {values[key].shape}"
                    )
            return values

        return observe

    def _checked(self, output: Array) -> Array:
        numbers = np.asarray(output, dtype=np.float64)
        if numbers.shape != (self._nu,):
            raise ModelError(
                f"{type(self.controller).__name__}.control must return shape ({self._nu},), got {numbers.shape}"
            )
        return numbers

    def _actor(self, p: Array) -> Callable[[float, Array], Array]:
        nq, own = self.robot.coordinates.nq, p[len(self.robot.parameters) :]

        def act(t: float, x: Array) -> Array:
            if not np.isfinite(x).all():
                return np.full(self._nu, np.nan)
            return self._checked(self.controller.control(t, x[:nq], x[nq:], own))

        return act


def close_loop(robot: Robot, controller: Controller | None, stop: ca.SX | None, *, judged: bool = True) -> ClosedLoop:
    """Join plant and controller, as one expression if the controller has a symbolic law.

    Args:
        robot: the plant.
        controller: what drives it, or None.
        stop: scalar expression that is recorded; none if None.
        judged: whether the pivots of natural rows are recorded.

    Raises:
        ModelError: if the controller's model has other sizes than the plant, or the plant's mass matrix is singular in
            every position.
    """
    require_regular(robot)
    if controller is not None:
        if not isinstance(controller, Controller):
            raise ModelError(
                f"a Controller is needed, got {controller!r}; for a program that is ProgramController(program)"
            )
        c, model = robot.coordinates, controller.robot.coordinates
        plant, own = (c.nq, c.nv, robot.u.numel()), (model.nq, model.nv, controller.robot.u.numel())
        if plant != own:
            raise ModelError(
                f"{robot.name} has (nq, nv, nu) = {plant}, but the controller is made for {controller.robot.name} "
                f"with {own}"
            )
        if controller.law is None:
            return NumericLoop(robot, controller, stop, judged=judged)
    return SymbolicLoop(robot, controller, stop, judged=judged)
