"""The controller that realises a program: R = Θᵀλ at every tick, with a status."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...robots.manifold.branch_acceleration import BranchModels
from ...symbolic.errors import EruginError, ModelError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import all_finite, positive, read_only_copy, whole
from ..bounded.bounded_inputs import BoundedInputs, BoundedMemory
from ..bounded.control_limits import ControlLimits
from ..bounded.problem import BoundedRealization
from ..bounded.quadratic_program import QpSolver
from ..bounded.static_holding import StaticHolding
from ..controller import ERRORS, Controller, RegularTick, Tick
from ..law import Law, LawMemory, select
from ..multipliers.method import MultiplierMethod
from ..multipliers.method_selection import default_method
from ..realization import ActuatedRealization, IdealRealization, Realization, RealizedMotion
from ..status import Status
from ..traits import Trait
from .diagnostics import NEARLY_DEPENDENT, ProgramDiagnostics
from .kernels import ProgramKernels
from .newton_continuation import NewtonContinuation, NewtonSteps
from .program import Program
from .solution import Solution, equivalent_reactions

if TYPE_CHECKING:
    from ..robust.adaptive import AdaptiveProgramController
    from ..robust.compensation import Compensation
    from ..robust.tube import Motion, Tube, Uncertainty

Array = NDArray[np.float64]

MOST_STEPS = 60
"""Greatest number of Newton steps: each is written out, and roots that take more are not near the last one."""
Robust = Literal["observer", "integral", "adaptive"]
REALIZATIONS: tuple[Realization, ...] = (IdealRealization(), ActuatedRealization(), BoundedRealization())


class ProgramController(Controller):
    """Control by program constraints.

    Attributes:
        program: the program that is realised.
        realization: realisation of R: ideal, actuated or bounded.
        method: method that solves for the multipliers; as given, or as chosen for the structure of the problem.
    """

    supports = frozenset(Trait)

    def __init__(
        self,
        program: Program,
        *,
        realization: Literal["ideal", "actuated", "bounded"] = "ideal",
        method: MultiplierMethod | None = None,
        tolerance: float = 1e-10,
        acceleration_guess: ArrayLike | ca.SX | None = None,
        newton_steps: int | None = None,
        limits: ControlLimits | None = None,
        priorities: Iterable[str | Iterable[str]] | None = None,
        solver: QpSolver | None = None,
        robust: Robust | None = None,
        rate: float | None = None,
    ) -> None:
        """Build the law.

        Args:
            program: constraints of a robot.
            realization: ``"ideal"``, the force R itself is applied; ``"actuated"``, it comes from the inputs;
                ``"bounded"``, from inputs within limits, with the rows satisfied as far as the limits allow.
            method: method that solves for the multipliers; if not given, one that fits the structure of the problem,
                see :func:`~erugin.controllers.multipliers.default_method`. The attribute ``method`` shows the choice.
            tolerance: a row counts as dependent when the square of its remainder outside earlier rows, relative to the
                largest row of its constraint, is not above this.
            acceleration_guess: for rows nonlinear in the accelerations, the start of the search for the first root,
                which selects the branch: numbers or an expression in t, q, v and p, shape (nv,); the acceleration
                without control if not given.
            newton_steps: for rows nonlinear in the accelerations, the most Newton steps, 1 to 60, from the acceleration
                at the last sample; the law then is expressions, which run compiled and can be exported, and fails where
                the steps do not reach a root. If not given, the branch is followed in Python, however many it takes.
            limits: limits of inputs, power and joints, when bounded; those of the robot if not given.
            priorities: names of constraints, or groups of names, in the order in which they are satisfied when limits
                do not allow all; those not named come last. All are equal if not given.
            solver: solver of the quadratic programmes, when bounded.
            robust: how the law compensates for a model that is not exact: ``"observer"``, by the generalized force that
                the model lacks, estimated from the momentum; ``"integral"``, by the accelerations that the rows lack;
                ``"adaptive"``, by masses of bodies, estimated between half and twice those of the model by an
                :class:`~erugin.controllers.robust.AdaptiveProgramController`, when actuated; or not at all. Estimates
                change at samples, see :meth:`advance`.
            rate: L, with which an estimate converges [1/s], the parameter ``observer.rate`` or ``integral.rate``; half
                the least decay rate of the perturbation equations if not given.

        Raises:
            ModelError: if ``program`` is not a Program or ``method`` not a MultiplierMethod, for an unknown
                realisation, one that does not support this program, or a guess that is not used.
        """
        if not isinstance(program, Program):
            raise ModelError(f"ProgramController requires a Program, got {type(program).__name__}")
        if method is not None and not isinstance(method, MultiplierMethod):
            raise ModelError(f"method must be a MultiplierMethod such as LdlMultipliers(), got {method!r}")
        self.program = program
        self.robot = program.robot
        self.parameters, self._linearizations = program.parameters, program.linearizations
        chosen = [r for r in REALIZATIONS if r.name == realization]
        if not chosen:
            names = ", ".join(repr(r.name) for r in REALIZATIONS)
            raise ModelError(f"realization must be one of {names}, got {realization!r}")
        self.realization = chosen[0]
        self.applies_force = self.realization.applies_force
        self._tolerance = positive("tolerance", tolerance)
        self.method = default_method(program) if method is None else method
        self._bounded: BoundedInputs | None = None
        self._branch: NewtonContinuation | None = None
        self._newton: NewtonSteps | None = None
        self._compensation: Compensation[ProgramController] | None = None
        self._adaptive: AdaptiveProgramController | None = None
        if robust is not None or rate is not None:
            options = {"method": method, "acceleration_guess": acceleration_guess, "newton_steps": newton_steps}
            bounds = {"limits": limits, "priorities": priorities, "solver": solver}
            build = functools.partial(ProgramController, realization=realization, tolerance=tolerance)
            self._compensate(robust, rate, functools.partial(build, **options, **bounds))
            return
        self._diagnostics = ProgramDiagnostics(program, self.method, self._tolerance)
        self._realized = self.realization.build(program, self.method)
        if isinstance(self.realization, BoundedRealization):
            self._bounded = BoundedInputs(program, self.method, limits, priorities, solver)
        elif not (limits is None and priorities is None and solver is None):
            raise ModelError(f"limits, priorities and solver require realization='bounded', got {realization!r}")
        output = self._realized.force if self.applies_force else self._realized.input
        if program.is_affine and acceleration_guess is not None:
            raise ModelError("acceleration_guess requires a row that is nonlinear in the accelerations; all are affine")
        if program.is_affine and newton_steps is not None:
            raise ModelError("newton_steps requires a row that is nonlinear in the accelerations; all are affine")
        if newton_steps is not None:
            count = whole("newton_steps", newton_steps, most=MOST_STEPS)
            self._newton = NewtonSteps(program, self._realize, acceleration_guess, count)
        elif not program.is_affine:
            self._branch = NewtonContinuation(program, self._realize, acceleration_guess)
        self._law = Law(
            output=output,
            deviation=program.deviation,
            pivots=self._realized.pivots,
            relative_pivots=self._realized.relative_pivots,
            rows=program.rows,
            tolerance=self._tolerance,
            linearizations=program.linearizations,
            active=program.active if any(program.switched) else ca.SX(0, 1),
        )
        self._kernels = ProgramKernels(program, self._realized, self._law)
        self._given = limits, priorities, solver
        self._natural_rank = len(self.robot.natural_rows) if self.robot.redundant == "refused" else None
        self._branch_laws: dict[int, ProgramController] = {}
        self.reset()

    def _compensate(
        self,
        robust: Robust | None,
        rate: float | None,
        build: Callable[[Program], ProgramController],
    ) -> None:
        """Build the law inside, whose model contains an estimate, and the estimator."""
        # Robust laws are built on this class.
        from ..robust.compensated_program import adaptive_law, compensate

        if robust not in ("observer", "integral", "adaptive"):
            given = "rate requires robust='observer' or 'integral'" if robust is None else f"got {robust!r}"
            raise ModelError(f"robust must be 'observer', 'integral', 'adaptive' or None: {given}")
        if robust == "adaptive":
            if self.realization.name != "actuated" or rate is not None:
                raise ModelError(
                    f"robust='adaptive' requires realization='actuated', got {self.realization.name!r}, and has no "
                    "rate=: use robust='observer', or an AdaptiveProgramController for other gains"
                )
            self._adaptive = adaptive_law(self.program, self._tolerance)
            self.parameters, self._linearizations = self._adaptive.parameters, self._adaptive.linearizations
            self.reset()
            return
        self._compensation, self.parameters, self._linearizations = compensate(self.program, robust, rate, build)
        inner = self._compensation.inner
        self.method, self._bounded = inner.method, inner._bounded
        self._branch, self._newton = inner._branch, inner._newton
        self.reset()

    @property
    def law(self) -> Law | None:
        """Output, deviation and pivots as expressions; None with a memory, and where Python solves equations."""
        if self._compensation is not None or self._adaptive is not None or self._bounded is not None:
            return None
        return self._law if self.program.is_affine else None

    @property
    def estimates(self) -> Mapping[str, float]:
        """Estimates at the last sample, by name: missing forces or accelerations, or masses; empty without any."""
        if self._adaptive is not None:
            self._adaptive.remember(self.memory)
            return self._adaptive.estimates
        return {} if self._compensation is None else self._compensation.estimates(self.memory)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Constraints of the program."""
        return self.program.constraints

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self.program.rows

    @property
    def switches(self) -> bool:
        """True if some rows are on only at times."""
        return any(self.program.switched)

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return self._tolerance

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """State matrices of the perturbation equations, by name of the constraint."""
        return self._linearizations

    @property
    def initial_memory(self) -> object | None:
        """No samples yet, for bounded inputs, a number of Newton steps and estimates; None for other laws."""
        if (robust := self._compensation or self._adaptive) is not None:
            return robust.initial_memory
        if self._newton is not None:
            return read_only_copy(np.zeros(self._newton.memory.numel()))
        return None if self._bounded is None else BoundedMemory()

    def sampled_law(self, period: float) -> Law | None:
        """Return the law as expressions, which serve any period; None where Python solves equations or a programme.

        Bounded inputs remember those of the last two samples, a number of Newton steps the last acceleration.

        Args:
            period: time between samples [s].
        """
        if self._compensation is not None:
            law = self._compensation.sampled_law(self._compensation.inner.sampled_law(period))
            return None if law is None else dataclasses.replace(law, linearizations=self.linearizations)
        if self._adaptive is not None:
            return self._adaptive.sampled_law(period)
        law, newton, a = super().sampled_law(period), self._newton, self.robot.coordinates.a
        if self._bounded is not None:
            return self._bounded.sampled_law(self._law)
        if newton is None:
            return law
        law = dataclasses.replace(
            self._law.at(a, newton.acceleration, deviation=False),
            status=ca.if_else(newton.found, int(Status.OK), int(Status.NOT_CONVERGED)),
            memory=LawMemory(newton.memory, np.zeros(newton.memory.numel()), newton.updated),
        )
        return law.where_safe().renewed()

    def reset(self) -> None:
        """Reset the branch of accelerations, for rows nonlinear in them, and the last samples when bounded."""
        if self._branch is not None:
            self._branch.reset()
        super().reset()

    def holding(self, t: float, q: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> StaticHolding:
        """Check if the limits of a bounded realisation allow rest at q, and which inputs are too weak.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if the realisation is not bounded.
        """
        if self._bounded is None:
            raise ModelError(f"holding() requires realization='bounded', got {self.realization.name!r}")
        time, place, _, numbers = self.arguments(t, q, np.zeros(self.robot.coordinates.nv), p)
        if self._compensation is not None:
            numbers = self._compensation.whole(time, place, np.zeros(self.robot.coordinates.nv), numbers, self.memory)
        return self._bounded.holding(time, place, numbers)

    def certificate(
        self,
        uncertainty: Uncertainty,
        motion: Motion | Iterable[Motion],
        *,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> Tube:
        """Return bounds of the deviation ψ of plants that differ from the model, and of what that costs along a field.

        ψ′ = −ωψ + δ, where δ = Θ a − β is the acceleration that the rows of a plant lack. It is computed along motions
        for the corners of the box of parameters and for random plants inside. With an estimate of rate L,
        |ψ| ≤ |δ̇|∞/(ωL) once the start has decayed, |δ|∞/ω without one, and for arbitrary forces; in place of ω and L
        stands the linear equation of each plant along the motion, which contains that δ depends on ψ
        (``robust.tube.certify``). A field turns the bound of |ψ| into that of the margin and of the distance to the
        path (:meth:`~erugin.constraints.EruginField.tube`). :meth:`within` reports the runs that leave it.

        Args:
            uncertainty: what is not known.
            motion: one or more motions with this law, such as trajectories or a batch, sampled at 0.5/ω or less. That
                of the model is enough for bounds of first order; those of plants at the bounds of their parameters add
                states that only these meet.
            p: parameters of the law: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: for rows of an order other than 1, rows that are switched or nonlinear in the accelerations, or
                an adaptive law.
            ShapeError: for samples that are too far apart, or arrays of another shape.
            NotFiniteError: if a plant has no acceleration at a sample.
        """
        from ..robust.tube import certify

        if self._adaptive is not None:
            raise ModelError("certificate requires robust='observer', 'integral' or None: adapted masses have no rate")
        return certify(self, self._compensation, uncertainty, motion, p)

    def within(self, tube: Tube) -> ProgramController:
        """Return the same law, whose runs note where they leave a tube.

        Args:
            tube: bounds of :meth:`certificate`.

        Raises:
            ModelError: for a tube of other rows.
        """
        if tuple(tube.rows) != tuple(self.rows):
            raise ModelError(f"the tube is that of {', '.join(tube.rows)}, and the rows are {', '.join(self.rows)}")
        law = copy.copy(self)
        law.tube = tube
        law.reset()
        return law

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law; a solver of bounded inputs and a search for accelerations are called if there are any.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: the last samples, for bounded inputs and a number of Newton steps.

        Raises:
            SingularProgramError: at a singular position of the mechanism where velocities do not determine the branch
                of its motion.
            NotConvergedError: if rows nonlinear in the accelerations have no root here, or none on the branch so far.
        """
        known = t, q, v, p
        if (robust := self._compensation or self._adaptive) is not None:
            return robust.evaluate(*known, memory)
        if self._bounded is not None:
            return self._bounded_tick(self._bounded, known, memory)
        arguments, failure = self._with_acceleration(known, memory)
        output, relative, pivots, active, *counts = map(np.atleast_1d, self._kernels.observed(*arguments))
        if counts and (branch := self._on_branch(known, counts[0][0])) is not None:
            tick = branch[0].evaluate(*branch[1], memory)
            return dataclasses.replace(tick, deviation=functools.partial(self._deviation_at, known))
        doubtful = (
            min(relative.tolist(), default=1.0) < NEARLY_DEPENDENT
            or (counts and counts[0][1] > 0.0)
            # Pivots of an iteration only show that its last step was small.
            or self.method.iterates
        )

        def check() -> EruginError | None:
            status, message = self._diagnostics.status(all_finite(output), relative, failure), ""
            if status is not Status.OK:
                message = self._diagnostics.message(status, relative, failure, self._misses(arguments))
            elif doubtful:
                found = self.solution(*known, memory)
                status, message = found.status, found.message
            return None if status is Status.OK else ERRORS[status](f"at t = {t:g}: {message}")

        lost = self._diagnostics.status(True, relative, failure) is Status.NOT_CONVERGED
        return Tick(
            output,
            pivots,
            relative,
            active,
            deviation=functools.partial(self._deviation_at, known),
            memory=None if self._newton is None else lambda: read_only_copy(self._newton_steps(known, memory)[1]),
            error=check() if lost else None,
            check=check,
        )

    def _bounded_tick(
        self, bounded: BoundedInputs, known: tuple[float, Array, Array, Array], memory: object | None
    ) -> Tick:
        """Return the tick of bounded inputs, near a singular position those of the branch."""
        deviation = functools.partial(self._deviation_at, known)
        try:
            bounded, at = self._bounded_at(bounded, known)
            outcome = bounded.decide(memory, *at)
        except EruginError as failed:
            return Tick(
                np.full(self.robot.u.numel(), np.nan),
                deviation=deviation,
                memory=functools.partial(_raise, failed),
                error=failed,
            )
        relative, pivots, active = self._constant_rows or map(
            np.atleast_1d, self._kernels.observed(*known, outcome.input)[1:4]
        )
        return Tick(
            outcome.input.copy(),
            pivots,
            relative,
            active,
            outcome.status,
            functools.partial(bounded.message, outcome, *at),
            deviation,
            functools.partial(bounded.advanced, memory, *at),
            check=_nothing_wrong,
        )

    @functools.cached_property
    def _constant_rows(self) -> tuple[Array, Array, Array] | None:
        """Relative and absolute pivots and which rows are on, for bounded inputs; None if they depend on the state."""
        law = self._law
        rows = [ca.densify(e) for e in (law.relative_pivots, law.pivots, law.active)]
        if ca.symvar(ca.veccat(*rows)):
            return None
        relative, pivots, active = (
            read_only_copy(x.full()[:, 0]) for x in ca.Function("constant_rows", [], rows).call([])
        )
        return relative, pivots, active

    def _deviation_at(self, known: tuple[float, Array, Array, Array], a: Array) -> Array:
        return np.atleast_1d(self._kernels.deviation(*known, a)[0])

    def solve(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Solution:
        """Solve for all unknowns at one state; a singular state has a status here and does not raise.

        A constraint of a single row has nothing to be compared with: it is singular where the row is exactly zero, and
        near such a state the multipliers grow without bound under the status OK.

        At and next to a singular position of a mechanism, the solution is that of the branch of the motion: there
        natural rows no longer determine accelerations, and ``natural_residual`` is that of the rows of the branch. The
        reactions grow without bound towards the position; where they cannot be computed they are NaN. If velocities do
        not determine the branch, the status is SINGULAR.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError: for a wrong shape or a number that is not finite.
        """
        return self.solution(*self.arguments(t, q, v, p), self.memory)

    def solution(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Solution:
        """Solve for all unknowns at one state, with a given memory; otherwise as :meth:`solve`.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: the last samples, for bounded inputs.
        """
        known = self.arguments(t, q, v, p)
        if self._adaptive is not None:
            raise ModelError("robust='adaptive' computes inputs without multipliers: use control(), not solve()")
        if self._compensation is not None:
            inside = self._compensation.whole(*known, memory)
            return self._compensation.inner.solution(*known[:3], inside, self._compensation.parts(memory).inner)
        if self.robot.natural:
            try:
                branch = self._on_branch(known, float(self._kernels.natural_counts(*known)[0][0]))
            except SingularProgramError as error:
                return self._undetermined(known, str(error))
            if branch is not None:
                return self._solve_on_branch(known, memory, *branch)
        outcome = None if self._bounded is None else self._bounded.decide(memory, *known)
        arguments, failure = (
            self._with_acceleration(known, memory) if outcome is None else ((*known, outcome.input), "")
        )
        # Kernels return vectors of one entry as scalars.
        lam, force, u, a, mu, pivots, misses, left = map(np.atleast_1d, self._kernels.whole(*arguments))
        data = self._kernels.data.at(*known, a)
        diagnostics = self._diagnostics
        status = diagnostics.status(bool(np.isfinite(np.concatenate([lam, force, u, a, mu])).all()), pivots, failure)
        message = diagnostics.message(status, pivots, failure, misses, left)
        if outcome is not None:
            assert self._bounded is not None
            status, message = outcome.status, self._bounded.message(outcome, *known)
        elif status is Status.NOT_FINITE and (reason := diagnostics.of_natural_rows(data)):
            status, message = Status.SINGULAR, reason
        elif status is Status.OK:
            status, reason = diagnostics.of_residuals(data, a)
            message = message if status is Status.OK else reason
        unique = data.unique(not self.applies_force, diagnostics.relations)
        if left.size:
            unique &= left != 0.0
        return Solution.of(
            data,
            known[2],
            multipliers=lam,
            force=force,
            input=u,
            acceleration=a,
            reactions=mu,
            pivots=pivots,
            ideal=self.applies_force,
            unique=unique,
            status=status,
            message=message + diagnostics.of_reactions(data),
        )

    def diagnose(
        self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None
    ) -> tuple[Status, str]:
        """Return status and message of :meth:`solve`; OK and "" for bounded inputs and adaptive laws."""
        if self._bounded is not None or self._adaptive is not None:
            return Status.OK, ""
        found = self.solve(t, q, v, p)
        return found.status, "" if found.status is Status.OK else found.message

    @functools.cached_property
    def _regular(self) -> RegularTick | None:
        """The output where nothing is near a singular state; None for a law that must be checked at every state."""
        # Pivots of an iteration only show that its last step was small.
        if self.law is None or self.method.iterates or self.robot.redundant != "refused":
            return None
        return self._kernels.regular(max(self._tolerance, NEARLY_DEPENDENT))

    @functools.cached_property
    def _branch_models(self) -> BranchModels | None:
        """Models of the robot's branches; None if natural constraints of order 2 exclude them."""
        return None if any(k.order == 2 for k in self.robot.natural) else BranchModels(self.robot)

    def _on_branch(
        self, known: tuple[float, Array, Array, Array], well_determined: float
    ) -> tuple[ProgramController, tuple[float, Array, Array, Array]] | None:
        """Return the law on the branch of a state near a singular position, and its arguments.

        Args:
            known: t, q, v and p of the program.
            well_determined: number of natural rows that determine accelerations well.

        Returns:
            The law and its arguments; None where the natural constraints determine the accelerations.

        Raises:
            SingularProgramError: if velocities do not determine the branch.
        """
        if well_determined == self._natural_rank or self._branch_models is None:
            return None
        (t, q, v, p), n = known, len(self.robot.parameters)
        try:
            if self._natural_rank is None:
                self._natural_rank = self._branch_models.rank(t, q, v, p[:n])
                if self._natural_rank is None or well_determined == self._natural_rank:
                    return None
            found = self._branch_models.at(t, q, v, p[:n])
        except NotFiniteError:
            return None  # the results are not finite either, and are reported as such
        except SingularProgramError as error:
            raise SingularProgramError(f"at t = {t:g}: {error}") from error
        if found is None:
            return None
        if not self.program.is_affine:
            names = ", ".join(repr(row) for row, ok in zip(self.rows, self.program.affine, strict=True) if not ok)
            raise SingularProgramError(
                f"at t = {t:g}: {self.robot.name} is in a singular position, or next to one, where accelerations are "
                f"known along its branch only, and {names} is nonlinear in them: keep away from the position, or "
                "write the row with its accelerations linear"
            )
        model, numbers = found
        rank = len(numbers) // (self.robot.coordinates.nv + 1)
        if rank not in self._branch_laws:
            limits, priorities, solver = self._given
            law = ProgramController(
                self.program.on(model),
                realization=self.realization.name,
                method=self.method,
                tolerance=self._tolerance,
                limits=limits,
                priorities=priorities,
                solver=solver,
            )
            law._kernels = ProgramKernels(law.program, law._realized, law._law, compiled=False)
            self._branch_laws[rank] = law
        return self._branch_laws[rank], (t, q, v, np.concatenate([p[:n], numbers, p[n:]]))

    def _bounded_at(
        self, bounded: BoundedInputs, known: tuple[float, Array, Array, Array]
    ) -> tuple[BoundedInputs, tuple[float, Array, Array, Array]]:
        """Return the solver of bounded inputs, of the branch near a singular position, and its arguments."""
        if self.robot.natural:
            branch = self._on_branch(known, float(self._kernels.natural_counts(*known)[0][0]))
            if branch is not None and branch[0]._bounded is not None:
                return branch[0]._bounded, branch[1]
        return bounded, known

    def _solve_on_branch(
        self,
        known: tuple[float, Array, Array, Array],
        memory: object | None,
        law: ProgramController,
        arguments: tuple[float, Array, Array, Array],
    ) -> Solution:
        """Return the solution of a law on the branch, with the reactions of the robot's natural rows."""
        found = law.solution(*arguments, memory)
        held = law._kernels.data.at(*arguments, found.acceleration)
        own = self._kernels.data.at(*known, found.acceleration)
        mu = equivalent_reactions(own.natural, held.natural, found.reactions)
        mu.setflags(write=False)
        where = "The mechanism is at or next to a singular position: this is the motion along its branch."
        return dataclasses.replace(found, reactions=mu, message=f"{found.message} {where}")

    def _undetermined(self, known: tuple[float, Array, Array, Array], message: str) -> Solution:
        """Return the solution of a state that does not determine the motion."""
        m, c, k = len(self.rows), self.robot.coordinates, len(self.robot.natural_rows)
        nothing = functools.partial(np.full, fill_value=np.nan)
        return Solution.of(
            self._kernels.data.at(*known, nothing(c.nv)),
            known[2],
            multipliers=nothing(m),
            force=nothing(c.nv),
            input=nothing(0 if self.applies_force else self.robot.u.numel()),
            acceleration=nothing(c.nv),
            reactions=nothing(k),
            pivots=np.zeros(m),
            ideal=self.applies_force,
            status=Status.SINGULAR,
            message=message,
            unique=np.zeros(m, dtype=np.bool_),
        )

    def _misses(self, arguments: tuple[ArrayLike, ...]) -> Array:
        return np.atleast_1d(self._kernels.whole(*arguments)[-2])

    def _realize(self, program: Program) -> RealizedMotion:
        return self.realization.build(program, self.method)

    def _newton_steps(self, arguments: tuple[ArrayLike, ...], memory: object | None) -> tuple[Array, ...]:
        """Acceleration and memory after a number of Newton steps, the flag of a root, and the residuals of the rows."""
        return tuple(map(np.atleast_1d, self._newton_kernel(*arguments, np.asarray(memory, dtype=np.float64))))

    @functools.cached_property
    def _newton_kernel(self) -> Kernel:
        newton, program, robot = self._newton, self.program, self.robot
        assert newton is not None
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": program.parameters.symbols, "z": newton.memory}
        a = robot.coordinates.a
        missed = ca.substitute(program.theta @ a - program.beta, a, newton.acceleration)
        missed = select(program.active == 1, missed, ca.SX.zeros(missed.numel()))
        outputs = {"acceleration": newton.acceleration, "memory": newton.updated, "found": newton.found}
        return Kernel("newton_steps", symbols, {**outputs, "missed": missed})

    def _with_acceleration(
        self, arguments: tuple[ArrayLike, ...], memory: object | None
    ) -> tuple[tuple[ArrayLike, ...], str]:
        """Return the arguments, with the acceleration if rows are nonlinear in it, and why it was not found, if so."""
        if self._newton is not None:
            place, _, at_root, missed = self._newton_steps(arguments, memory)
            return (*arguments, place), "" if at_root[0] else self._newton.failure(missed, self.program)
        if self._branch is None:
            return arguments, ""
        t, q, v, p = arguments
        found = self._branch.follow(float(np.asarray(t)), np.asarray(q), np.asarray(v), np.asarray(p))
        return (*arguments, found.acceleration), found.failure


def _raise(error: EruginError) -> None:
    """A law remembers nothing of a state in which it has no output."""
    raise error


def _nothing_wrong() -> None:
    """Bounded inputs report what limits prevent by their status."""
