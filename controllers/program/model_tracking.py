"""Model tracking: outputs of a robot follow those of a reference model that moves under a program only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.perturbations.perturbation import Perturbation
from ...constraints.relations.expression import holonomic, nonholonomic
from ...symbolic.errors import ModelError, NotFiniteError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.validation import vector
from ..controller import Controller, Observation
from ..multipliers.method_selection import default_method
from ..realization import IdealRealization
from ..status import Status
from ..traits import Trait
from .diagnostics import ERRORS, ProgramDiagnostics
from .program import Program
from .program_controller import ProgramController

Array = NDArray[np.float64]

TOLERANCE = 1e-10
"""A row counts as dependent when its relative pivot is not above this, as for a ProgramController."""


class ReferenceModel:
    """M a + h = Aᵀμ + Θᵀλ with A a = b and Θ a = β, integrated online: natural and program constraints, no inputs.

    It is the planner: for a program of any order, on positions, speeds or curvatures, its solution q_p(t) is the motion
    that a control model is to track [Jarzebowska2007]_, [Deressa2014]_. A step is one step of the classical Runge–Kutta
    method.

    Attributes:
        program: the program; natural constraints come from its robot.
        start: initial q and v, each read-only.
        acceleration: a under the program's ideal force, shape (nv,), in the symbols of the program.
    """

    def __init__(self, program: Program, q0: ArrayLike, v0: ArrayLike) -> None:
        """Build the model.

        Args:
            program: the program that the motion satisfies.
            q0: initial coordinates, shape (nq,).
            v0: initial velocities, shape (nv,); :func:`~erugin.controllers.start_on` finds a consistent start.

        Raises:
            ModelError: for rows nonlinear in the accelerations, or a program that no force can realise.
            ShapeError: for a start of the wrong shape.
        """
        if not isinstance(program, Program):
            raise ModelError(f"ReferenceModel requires a Program, got {type(program).__name__}")
        if not program.is_affine:
            raise ModelError(
                "ReferenceModel requires rows that are affine in the accelerations: simulate a program with other rows "
                "beforehand, and follow a spline through that motion"
            )
        self.program, c = program, program.robot.coordinates
        self.start = vector("q0", q0, c.nq), vector("v0", v0, c.nv)
        for array in self.start:
            array.setflags(write=False)
        # The robot's mobility does not exist where only the program constrains coordinates without inertia.
        method = default_method(program)
        realized = IdealRealization().build(program, method)
        self._diagnostics = ProgramDiagnostics(program, method, TOLERANCE)
        self.acceleration = realized.acceleration
        rate = ca.densify(ca.vertcat(c.N @ c.v, realized.acceleration))
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": program.parameters.symbols}
        outputs = {"rate": rate, "pivots": realized.relative_pivots, "misses": realized.misses}
        self._rate = Kernel("reference_rate", symbols, outputs)

    def rate(self, t: float, x: Array, p: Array) -> Array:
        """Return ẋ of x = (q, v).

        Args:
            t: time [s].
            x: state, shape (nq + nv,).
            p: the program's parameters, shape (n,).

        Raises:
            SingularProgramError: if rows depend on each other in this state; ContradictoryProgramError if they
                contradict each other in a program that compensates a singular mass matrix.
            NotFiniteError: if the rate is not finite.
        """
        rate, pivots, misses = map(np.atleast_1d, self._rate(t, x, p))
        status = self._diagnostics.status(bool(np.isfinite(rate).all()), pivots, "")
        if status is not Status.OK:
            message = self._diagnostics.message(status, pivots, "", misses)
            raise ERRORS[status](f"reference model at t = {t:g}: {message}")
        return rate

    def after(self, t: float, x: Array, span: float, p: Array) -> Array:
        """Return the state after one step.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).
            span: length of the step [s].
            p: the program's parameters, shape (n,).

        Raises:
            SingularProgramError, ContradictoryProgramError, NotFiniteError: as for :meth:`rate`.
        """
        first = self.rate(t, x, p)
        second = self.rate(t + span / 2, x + span / 2 * first, p)
        third = self.rate(t + span / 2, x + span / 2 * second, p)
        last = self.rate(t + span, x + span * third, p)
        return np.asarray(x + span / 6 * (first + 2 * second + 2 * third + last))


@dataclass(frozen=True, eq=False)
class PlannedState:
    """The state of the reference model at the last sample.

    Attributes:
        t: time of that sample [s]; NaN before the first.
        x: (q_p, v_p) at that time, shape (nq + nv,), read-only.
    """

    t: float
    x: Array


class ModelTracking(Controller):
    """Outputs y(q) follow y(q_p(t)) of a :class:`ReferenceModel` through the inputs [Jarzebowska2007]_.

    There are two models of one robot: the reference model obeys natural and program constraints and has no inputs; it
    plans q_p independently of the robot's state. The control model obeys the natural constraints and has inputs, which
    make e = y(q) − y(q_p) obey a perturbation equation. So even a program of second order, which does not contain the
    position of the robot, is tracked in position.

    The reference model is integrated from sample to sample, and in between to the requested time.

    Attributes:
        reference: the reference model, which plans the motion.
        tracking: the program controller that tracks, with the planned outputs among its parameters.
    """

    supports = frozenset(Trait)

    def __init__(
        self,
        reference: ReferenceModel,
        outputs: ca.SX,
        *,
        perturbation: Perturbation | None = None,
    ) -> None:
        """Build the law.

        Args:
            reference: reference model of the robot that is driven.
            outputs: y, in q, or in q and v, at most as many as inputs, shape (m,).
            perturbation: perturbation equation of e; ``Baumgarte()`` for outputs in q, ``FirstOrder()`` for outputs in
                v, if not given.

        Raises:
            ModelError: for outputs in other symbols than q and v, or outputs whose highest derivatives do not depend on
                the inputs.
        """
        if not isinstance(reference, ReferenceModel):
            raise ModelError(f"ModelTracking follows a ReferenceModel, got {type(reference).__name__}")
        robot = reference.program.robot
        self.check_supported(robot)
        self.robot, self.reference = robot, reference
        c = robot.coordinates
        if not isinstance(outputs, ca.SX) or outputs.size2() != 1 or not outputs.numel():
            raise ModelError(f"outputs must be a column of SX expressions in the robot's q and v, got {outputs!r}")
        robot.require_own_symbols("the outputs", outputs)
        if ca.depends_on(outputs, ca.vertcat(c.t, c.a, robot.u)):
            raise ModelError("outputs must be expressions in q and v, not in time, accelerations or inputs")
        m, of_place = outputs.numel(), not ca.depends_on(outputs, c.v)
        names = ["t", *(f"{kind}_{i}" for kind in ("place", "rate", "second_rate") for i in range(m))]
        planned = Parameters.declare(dict.fromkeys(names, 0.0), "planned")
        tau, place = c.t - planned.symbols[0], planned.symbols[1 : m + 1]
        target = place + tau * planned.symbols[m + 1 : 2 * m + 1] + tau**2 / 2 * planned.symbols[2 * m + 1 :]
        constraint = (holonomic if of_place else nonholonomic)(
            outputs - target, perturbation=perturbation, parameters=planned, name="tracking"
        )
        self.tracking = ProgramController(Program(robot, constraint), realization="actuated")
        inner = self.tracking.parameters
        kept = [(name, symbol) for name, symbol in inner if name not in planned.names]
        own = Parameters(
            tuple(name for name, _ in kept),
            ca.vertcat(ca.SX(0, 1), *(symbol for _, symbol in kept)),
            {name: value for name, value in inner.nominal.items() if name not in planned.names},
            {name: limit for name, limit in inner.ranges.items() if name not in planned.names},
        )
        program = reference.program.parameters
        self.parameters = Parameters.collect([program, own])
        places = {name: i for i, name in enumerate(self.parameters.names)}
        self._of_program = [places[name] for name in program.names]
        self._inner = [i for i, name in enumerate(inner.names) if name in places]
        self._outer = [places[inner.names[i]] for i in self._inner]
        self._planned_indices = [inner.names.index(name) for name in planned.names]
        self._count = len(inner)
        rate = c.rate(outputs)
        second = c.rate(rate) if of_place else ca.SX.zeros(m)
        flow = ca.substitute(ca.vertcat(outputs, rate, second), c.a, reference.acceleration)
        symbols = {"t": c.t, "x": ca.vertcat(c.q, c.v), "p": program.symbols}
        self._found: tuple[tuple[PlannedState, float, bytes], Array] | None = None
        self._plan = Kernel("planned_outputs", symbols, {"outputs": ca.densify(flow)})
        self.reset()

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the outputs' rows."""
        return self.tracking.rows

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return self.tracking.tolerance

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """State matrix of the perturbation equation of e, by name of the constraint."""
        return self.tracking.linearizations

    @property
    def planned(self) -> tuple[Array, Array]:
        """q_p and v_p at the last sample, or at the start before the first."""
        nq = self.robot.coordinates.nq
        return self._planned_state().x[:nq], self._planned_state().x[nq:]

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        """Return the inputs at one tick.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape, or its subclass NotFiniteInputError for a number that is not finite.
            SingularProgramError: if rows of the reference model or of the outputs depend on each other.
            NotFiniteError: if an output is not finite.
        """
        arguments = self.arguments(t, q, v, p)
        return self.tracking.control(*arguments[:3], self._numbers(arguments))

    def observe(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> Observation:
        """Return the inputs and the pivots of the outputs' rows."""
        arguments = self.arguments(t, q, v, p)
        return self.tracking.observe(*arguments[:3], self._numbers(arguments))

    def deviation(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> Array:
        """Return e, shape (m,)."""
        arguments = self.arguments(t, q, v, p)
        return self.tracking.deviation(*arguments[:3], a, self._numbers(arguments))

    def advance(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> None:
        """Integrate the reference model over the interval that ends with this sample."""
        arguments = self.arguments(t, q, v, p)
        x = self._now(arguments).copy()
        x.setflags(write=False)
        self.memory = PlannedState(arguments[0], x)

    def reset(self) -> None:
        """Reset the reference model to its start."""
        x = np.concatenate(self.reference.start)
        x.setflags(write=False)
        self.memory = PlannedState(math.nan, x)

    def _planned_state(self) -> PlannedState:
        assert isinstance(self.memory, PlannedState)
        return self.memory

    def _now(self, arguments: tuple[float, Array, Array, Array]) -> Array:
        """Return the state of the reference model at a time, stored because stages of a step request it twice."""
        memory, t, p = self._planned_state(), arguments[0], arguments[3][self._of_program]
        if math.isnan(memory.t) or t == memory.t:
            return memory.x
        key = (memory, t, p.tobytes())
        found = self._found
        if found is None or found[0] != key:
            found = self._found = key, self.reference.after(memory.t, memory.x, t - memory.t, p)
        return found[1]

    def _numbers(self, arguments: tuple[float, Array, Array, Array]) -> Array:
        """Return the parameters of the tracking program: those given, and the planned outputs at this time."""
        t, p = arguments[0], arguments[3]
        numbers = np.zeros(self._count)
        numbers[self._inner] = p[self._outer]
        x, own = self._now(arguments), p[self._of_program]
        planned = np.atleast_1d(self._plan(t, x, own)[0])
        if not np.isfinite(planned).all():
            self.reference.rate(t, x, own)  # raises with the reason
            raise NotFiniteError(f"at t = {t:g}: a planned output is not finite")
        numbers[self._planned_indices] = np.concatenate([[t], planned])
        return numbers
