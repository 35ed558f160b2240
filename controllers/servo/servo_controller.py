"""The servo-controller: control of a program whose rows depend on the inputs only after further derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.validation import positive
from ..controller import Controller, Tick
from ..law import Law
from ..program.program import Program
from ..sample_clock import elapsed
from ..status import Status
from ..traits import Trait
from .dynamic_extension import build_servo_structure
from .internal_dynamics import (
    InternalDynamics,
    check_internal_dynamics_at_rest,
    internal_dynamics_along,
    internal_dynamics_at_rest,
)
from .linearizing_law import Poles, dynamic_law, equation_orders, quasi_static_law, row_gains
from .program_manifold import Feedforward, ProgramManifold
from .relative_degree import natural_rows, report, structure_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IntegratorMemory:
    """Contents of integrators at a sample, and their rates.

    Attributes:
        time: time of the sample [s]; None before the first.
        held: contents, shape (n,).
        rate: rates of the contents at the sample, shape (n,).
        slope: slope of those rates at the sample, by the last three samples, shape (n,).
        curve: half of their second derivative, by the last three samples, shape (n,).
        interval: time since the previous sample [s]; zero at the first.
    """

    time: float | None
    held: Array
    rate: Array
    slope: Array
    curve: Array
    interval: float = 0.0

    def __post_init__(self) -> None:
        """Copy the arrays and make them read-only."""
        for name in ("held", "rate", "slope", "curve"):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def empty(cls, count: int) -> IntegratorMemory:
        """Return the memory before the first sample.

        Args:
            count: number of integrators n.
        """
        nothing = np.zeros(count)
        return cls(None, nothing, nothing, nothing, nothing)

    def at(self, time: float) -> Array:
        """Return the contents at a time after the sample, with extrapolated rates, shape (n,).

        Args:
            time: time [s].
        """
        s = 0.0 if self.time is None else time - self.time
        return np.asarray(self.held + s * self.rate + s**2 / 2 * self.slope + s**3 / 3 * self.curve)

    def advanced(self, time: float, rates: Callable[[Array], Array], start: Array | None) -> IntegratorMemory:
        """Return the memory at the next sample by the Adams–Moulton rule of order 3: a parabola through three rates.

        Args:
            time: time of the sample [s], not before the last one.
            rates: function from contents to their rates at the sample, both of shape (n,).
            start: contents at the first sample, shape (n,); None at others.
        """
        before = self.time
        if before is None or start is not None or time == before:
            held = self.held if start is None else start
            return IntegratorMemory(time, held, rates(held), np.zeros(held.size), np.zeros(held.size))
        h = time - before
        # Predicted by the parabola of the previous intervals, then corrected by the one that ends here.
        foreseen = rates(self.at(time))
        held = self.held + h / 2 * (self.rate + foreseen) - h**3 / 6 * self._bend(foreseen, h)
        rate = rates(held)
        curve = self._bend(rate, h)
        return IntegratorMemory(time, held, rate, (rate - self.rate) / h + h * curve, curve, h)

    def _bend(self, rate: Array, h: float) -> Array:
        """Return the second divided difference of the rates at the last two samples and at one a time h later."""
        if self.interval == 0.0:
            return np.zeros(rate.size)
        last = self.slope - self.interval * self.curve
        return np.asarray(((rate - self.rate) / h - last) / (h + self.interval))


EXTENSIONS = ("quasi-static", "integrators")
LOST = """\
The row loses its relative degree here: no input affects its highest derivative. Keep the motion away from such states \
(see relative_degree with near= and near_velocity=), or try another output or extension='integrators'."""


class ServoController(Controller):
    """Input–output linearization of a program: y^{(n)} + k_{n−1} y^{(n−1)} + … + k₀ y = 0 for every row.

    Each row is differentiated until an input reaches it, y^{(ρ)} = b + A u, and u is solved from the equations of the
    rows [Isidori1995]_. If A has dependent rows there are two extensions. With integrators before some of the inputs
    [DescusseMoog1985]_ the rows are differentiated further; the contents of the integrators are the memory of the law.
    Or some rows are controlled at the order at which they block the others: their equations then give their further
    derivatives, which integrators would hold, as functions of the state [DelaleauRudolph1998]_. That quasi-static law
    is static, symbolic and of lower order, but singular where such a row loses its degree; it prefers rows that do not
    near the given state.

    The perturbation equations of the program's constraints are not used: they are of order 2, and these rows of
    another. The internal dynamics, which no row determines, are not controlled; if they are unstable the controller
    raises an error, because the inputs would grow without bound while every row is satisfied.

    Attributes:
        program: the program that is realised.
        orders: order of the equation of each row.
        relative_degree: relative degree of the program.
        internal: internal dynamics at rest near the given state; None if no rest was found there.
        motion: the closed loop as numerical functions.
    """

    supports = frozenset(Trait)

    def __init__(
        self,
        program: Program,
        *,
        near: ArrayLike,
        near_velocity: ArrayLike | None = None,
        rates: float | Sequence[float] | None = None,
        poles: Poles | None = None,
        extension: Literal["quasi-static", "integrators"] = "quasi-static",
        tolerance: float = 1e-10,
        allow_unstable_internal: bool = False,
    ) -> None:
        """Differentiate the program, check its internal dynamics, and build the law.

        Args:
            program: program with rows of orders 0 and 1, at most as many as inputs.
            near: coordinates near which the law is to work, shape (nq,).
            near_velocity: velocities near which the law is to work, shape (nv,); zero if not given.
            rates: all poles of a row lie at −rate, a parameter; one for all rows or one for each [1/s]; 2 by default.
            poles: poles of each row, in place of rates, as many as the order of its equation [1/s]; its coefficients
                are then the parameters.
            extension: treatment of dependent rows of A; without such rows it makes no difference.
            tolerance: least squared remainder of a row outside earlier ones, relative to its usual size.
            allow_unstable_internal: True to accept internal dynamics that are unstable or cannot be checked.

        Raises:
            ModelError: for a program that cannot be controlled, with the reason; for unstable internal dynamics; for
                poles or rates that do not fit.
            ShapeError: for a wrong shape or a number that is not finite.
        """
        if not isinstance(program, Program):
            raise ModelError(f"ServoController requires a Program, got {type(program).__name__}")
        self.check_supported(program.robot)
        if extension not in EXTENSIONS:
            raise ModelError(f"extension must be one of {', '.join(map(repr, EXTENSIONS))}, got {extension!r}")
        self.program, self.robot = program, program.robot
        self._tolerance = positive("tolerance", tolerance)
        structure = structure_of(program, near, near_velocity)
        self.relative_degree = report(structure)
        if structure.failure:
            raise ModelError(str(self.relative_degree))
        kept = extension == "integrators" and any(structure.integrators)
        whole = build_servo_structure(program, structure.places, "inputs") if kept else structure
        if whole.failure:
            raise ModelError(f"extension='integrators' does not make the rows independent: {whole.failure}")
        self.orders = equation_orders(whole, integrators=kept)
        gains = row_gains(program.rows, self.orders, rates, poles)
        own = Parameters.collect([self.robot.parameters, *(k.parameters for k in program.constraints)])
        self.parameters = Parameters.collect([own, *(gain.parameters for gain in gains)])
        self._linearizations = tuple((row, g.companion) for row, g in zip(program.rows, gains, strict=True))
        static = row_gains(program.rows, equation_orders(structure, integrators=False), None, None) if kept else gains
        plain = quasi_static_law(structure, static)
        self._servo = dynamic_law(whole, gains) if kept else plain
        self._extended = whole.extended if kept else ca.SX(0, 1)
        self._empty = IntegratorMemory.empty(whole.extended.numel()) if kept else None
        self._deviation = program.deviation
        c, places = self.robot.coordinates, structure.places
        self._symbols = {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols}
        # The manifold of the program does not depend on gains, so they become numbers.
        extra = Parameters.collect(gain.parameters for gain in static)
        numbers = ca.SX(ca.DM(extra.values()))
        output, errors = (ca.substitute(e, extra.symbols, numbers) for e in (plain.output, plain.errors))
        self.motion = ProgramManifold(self.robot, own, (places.q, places.v), output, errors, natural_rows(places))
        dimension = self.relative_degree.internal_dimension
        self.internal = check_internal_dynamics_at_rest(self.motion, dimension, allow_unstable_internal)
        self.reset()

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can.

        Args:
            robot: the model.
        """
        return super().unsupported_reason(robot) if robot.u.numel() else "it has no inputs"

    @property
    def law(self) -> Law | None:
        """Output, deviation and pivots as expressions; None with integrators."""
        return self._law if self._empty is None else None

    @functools.cached_property
    def _law(self) -> Law:
        return Law(
            output=self._servo.output,
            deviation=self._deviation,
            pivots=self._servo.pivots,
            relative_pivots=self._servo.relative_pivots,
            rows=self.program.rows,
            tolerance=self._tolerance,
            linearizations=self._linearizations,
        )

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Constraints of the program."""
        return self.program.constraints

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self.program.rows

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return self._tolerance

    @property
    def rank_loss_message(self) -> str:
        """Message that a row has lost its relative degree."""
        return LOST

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Name of each row and the state matrix of its equation."""
        return self._linearizations

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Return the input, with the integrators at their contents at this time.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: contents of the integrators; None without integrators.
        """
        integrators = memory if isinstance(memory, IntegratorMemory) else None
        if integrators is None:
            held = np.zeros(0)
        else:
            held = self._start(t, q, v, p) if integrators.time is None else integrators.at(t)
        output, relative, pivots, _ = map(np.atleast_1d, self._kernel(t, q, v, p, held))
        return Tick(
            output,
            pivots,
            relative,
            deviation=lambda _: np.atleast_1d(self._looked(t, q, v, p)[1]),
            memory=None if integrators is None else lambda: self._after(t, q, v, p, integrators),
        )

    @property
    def initial_memory(self) -> object | None:
        """Integrators that start at the first sample so that the rows obey their equations best; None without any."""
        return self._empty

    def _after(self, t: float, q: Array, v: Array, p: Array, memory: IntegratorMemory) -> IntegratorMemory:
        """Integrate by the rates at this sample and the two before."""
        if memory.time is not None:
            elapsed(type(self).__name__, memory.time, t)

        def rate(held: Array) -> Array:
            return np.atleast_1d(self._kernel(t, q, v, p, held)[3])

        after = memory.advanced(t, rate, self._start(t, q, v, p) if memory.time is None else None)
        if not (np.isfinite(after.held).all() and np.isfinite(after.rate).all()):
            raise NotFiniteError(
                f"at t = {t:g}: the contents of the integrators are not finite. {Status.NOT_FINITE.sentence}"
            )
        return after

    def feedforward(
        self,
        t: float,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> Feedforward:
        """Find the state on the program at a time, and the inputs that keep it there, by Newton's method.

        If the outputs are flat, that is the exact motion of the program: y = ẏ = … = 0 determine the state. Otherwise
        it is a state on the program near the given one, and the internal state is not determined.

        Args:
            t: time [s].
            q: coordinates to start from, shape (nq,); the controller's ``near`` if not given.
            v: velocities to start from, shape (nv,); the controller's ``near_velocity`` if not given.
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
            NotConvergedError: if no such state is found.
        """
        motion = self.motion
        time, q0, v0, numbers = self.arguments(t, motion.q if q is None else q, motion.v if v is None else v, p)
        own = numbers[: len(motion.parameters)]
        x = motion.on_program(time, np.concatenate([q0, v0]), own)
        nq, left = self.robot.coordinates.nq, motion.errors(time, x, own)
        return Feedforward(x[:nq], x[nq:], motion.output(time, x, own), float(np.abs(left).max(initial=0.0)))

    def _start(self, t: float, q: Array, v: Array, p: Array) -> Array:
        return np.atleast_1d(self._looked(t, q, v, p)[0])

    @functools.cached_property
    def _kernel(self) -> Kernel:
        law = self._servo
        outputs = {"u": law.output, "relative": law.relative_pivots, "pivots": law.pivots, "rate": law.rate}
        return Kernel("servo", {**self._symbols, "x": self._extended}, outputs)

    @functools.cached_property
    def _looked(self) -> Kernel:
        return Kernel("servo_told", self._symbols, {"held": self._servo.held, "y": self._deviation}, compiled=False)


def internal_dynamics(
    controller: ServoController,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    t: float = 0.0,
    duration: float | None = None,
    step: float = 1e-3,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> InternalDynamics:
    """Return the internal dynamics of a program, the motion left free by its rows, and their stability.

    At rest: the zeros of the linearization, with time frozen at ``t``. Along a motion of the program, which starts at
    the state on the program nearest to the given one: the mean growth rates of perturbations that satisfy all rows.

    Args:
        controller: servo-controller of the program.
        q: coordinates to start from, shape (nq,); the controller's ``near`` if not given.
        v: velocities to start from, shape (nv,); the controller's ``near_velocity`` if not given.
        t: time [s].
        duration: length of the motion to analyse [s]; at rest if not given.
        step: step of its integration [s].
        p: parameters of the controller: nominal, overridden by name, or the whole vector.

    Raises:
        ModelError: if ``controller`` is not a ServoController, or there is no rest on the program near the given state.
        NotConvergedError: if no state on the program is found.
        NotFiniteError: if the motion diverges.
    """
    if not isinstance(controller, ServoController):
        raise ModelError(f"internal_dynamics requires a ServoController, got {type(controller).__name__}")
    motion = controller.motion
    time, q0, v0, numbers = controller.arguments(t, motion.q if q is None else q, motion.v if v is None else v, p)
    own, start = numbers[: len(motion.parameters)], np.concatenate([q0, v0])
    if controller.relative_degree.is_flat:
        return InternalDynamics.none(motion)
    if duration is not None:
        return internal_dynamics_along(motion, time, motion.on_program(time, start, own), own, duration, step)
    x = motion.rest(time, start, own)
    if x is None:
        raise ModelError(
            f"no state of rest was found on the program at t = {time:g} s near the given one: the program moves there, "
            "or its target is out of reach. Give duration= to analyse its motion, or another q"
        )
    return internal_dynamics_at_rest(motion, time, x, own)
