"""Assembly of closed chains: consistent positions and velocities from rough guesses, on one or all branches."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import row_names
from ...symbolic.errors import ModelError, NotConvergedError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, positive, vector, whole
from ..least_squares import LeastSquaresResult
from ..robot import Robot
from .position_equations import PositionEquations, PositionProblem

Array = NDArray[np.float64]


class AssemblyError(NotConvergedError):
    """Natural constraints that could not be satisfied from a guess.

    Attributes:
        nearest: coordinates, shape (nq,), or velocities, shape (nv,), with the smallest residual found.
        misses: Euclidean norm of each constraint's residual there, by its name: metres between points.
    """

    def __init__(self, message: str, nearest: Array, misses: Mapping[str, float]) -> None:
        """Attach the nearest result.

        Args:
            message: constraints that are not satisfied, and their residuals.
            nearest: coordinates or velocities.
            misses: norm of the residual by constraint.
        """
        super().__init__(message)
        self.nearest = nearest
        self.misses = dict(misses)


def residual_norms(owners: Sequence[str], residual: Array) -> dict[str, float]:
    """Return the Euclidean norm of the rows of each constraint.

    Args:
        owners: name of the constraint that each row belongs to.
        residual: one number per row.
    """
    misses: dict[str, float] = {}
    for owner, value in zip(owners, residual, strict=True):
        misses[owner] = float(np.hypot(misses.get(owner, 0.0), value))
    return misses


@dataclass(frozen=True, eq=False)
class Assembly:
    """A position at which the holonomic natural constraints φ(q, t) = 0 hold.

    Attributes:
        q: coordinates, shape (nq,), read-only.
        residual: φ at q, shape (m,), read-only.
        rows: name of each row of φ.
        singular_values: singular values of φ_q N with all velocities free, largest first, shape (min(m, nv),),
            read-only.
        rank: number of singular values above the rank tolerance.
        degrees_of_freedom: nv − rank, number of velocities that φ leaves free. Constraints of order 1 leave fewer, but
            do not restrict positions.
        remaining: degrees of freedom with the fixed coordinates locked. One more than expected means a fold: the fixed
            coordinates are at the end of their range, where two assemblies meet.
        redundant: rows whose gradients depend on those of the rows before them; m − rank of them.
        singular: True if the rank is higher at assembled positions nearby: a bifurcation, from which the mechanism can
            move on along several branches. If False, redundant rows are redundant in a neighbourhood, and can be
            removed with :func:`~erugin.robots.without_rows`.
        starts: 1 if Newton's method converged from the guess itself; more if it failed and the search was repeated from
            other starts, so that this may not be the branch of the guess.
        iterations: steps of Newton's method, over all starts.
    """

    q: Array
    residual: Array = field(repr=False)
    rows: tuple[str, ...] = field(repr=False)
    singular_values: Array = field(repr=False)
    rank: int
    degrees_of_freedom: int
    remaining: int
    redundant: tuple[str, ...]
    singular: bool
    starts: int
    iterations: int

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.q, self.residual, self.singular_values):
            array.setflags(write=False)


VELOCITY_ITERATIONS = 50
VELOCITY_TOLERANCE = 1e-9


class VelocityEquations:
    """e(v) = 0: the rates of the natural constraints of order 0, and those of order 1, at a position q and a time t.

    Attributes:
        robot: robot with the constraints.
        rows: name of each row.
        owners: name of the constraint that each row belongs to.
    """

    def __init__(self, robot: Robot) -> None:
        """Collect the equations.

        Args:
            robot: robot with or without natural constraints.
        """
        c = robot.coordinates
        forms = [(k, ca.densify(k.residual(c))) for k in robot.natural if k.order < 2]
        self.robot = robot
        self.rows = tuple(name for k, e in forms for name in row_names(k.name, e.numel()))
        self.owners = tuple(k.name for k, e in forms for _ in range(e.numel()))
        e = ca.vertcat(ca.SX(0, 1), *(c.rate(e) if k.order == 0 else e for k, e in forms))
        outputs = {"e": e, "A": ca.jacobian(e, c.v), "M": robot.mass_matrix}
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        self._kernel = Kernel("velocities", inputs, outputs, compiled=False)

    def nearest(
        self, problem: PositionProblem, q: Array, guess: Array, around: Sequence[Array], rank_tolerance: float
    ) -> tuple[Array, dict[str, float]]:
        """Return v with e(v) = 0 that minimizes (v − w)ᵀM(v − w), like a plastic impact.

        M is replaced by M + c AᵀA, which does not change the minimizer, because A (v − w) is given, and makes a
        singular M regular if the motion is determined.

        Args:
            problem: time, parameters, and the velocities that may differ from w.
            q: coordinates, shape (nq,).
            guess: w, shape (nv,).
            around: other positions, at which the usual size of A is evaluated.
            rank_tolerance: relative size of a singular value below which it counts as zero.

        Returns:
            v, and the residual norm of each constraint; empty if all are satisfied.

        Raises:
            SingularProgramError: if M and the constraints together leave v undetermined.
        """
        slopes = [self._at(problem, x, guess)[1] for x in (q, *around)]
        scale = max((float(np.linalg.norm(A, 2)) for A in slopes if A.size and np.isfinite(A).all()), default=0.0)
        v, miss, free = guess, np.zeros(0), problem.free
        for _ in range(VELOCITY_ITERATIONS):
            miss, A, M = self._at(problem, q, v)
            slope, mass = A[:, free], M[np.ix_(free, free)]
            lower = self._metric(mass, slope)
            rank = int((np.linalg.svd(slope, compute_uv=False) > rank_tolerance * scale).sum())
            # In y = Lᵀ v the metric is Euclidean.
            U, s, Vt = np.linalg.svd(np.linalg.solve(lower, slope.T).T, full_matrices=False)
            needed = slope @ (v[free] - guess[free]) - miss
            after = guess.copy()
            after[free] += np.linalg.solve(lower.T, Vt[:rank].T @ ((U[:, :rank].T @ needed) / s[:rank]))
            change = float(np.abs(after - v).max(initial=0.0))
            v = after
            if change <= 1e-13 * max(1.0, float(np.abs(v).max(initial=0.0))):
                allowed = VELOCITY_TOLERANCE * max(1.0, float(np.abs(A).max(initial=0.0) * np.abs(v).max(initial=0.0)))
                if (np.abs(miss) <= allowed).all():
                    return v, {}
                break
        return v, residual_norms(self.owners, miss)

    def _at(self, problem: PositionProblem, q: Array, v: Array) -> tuple[Array, Array, Array]:
        n = len(v)
        e, A, M = self._kernel(problem.t, q, v, problem.p)
        return np.atleast_1d(e), A.reshape(len(self.rows), n), M.reshape(n, n)

    def _metric(self, mass: Array, slope: Array) -> Array:
        """Return L of L Lᵀ = M + c AᵀA."""
        reached = float(np.sum(slope**2))
        weight = float(np.trace(mass)) / reached if reached > 0.0 else 0.0
        try:
            return np.asarray(np.linalg.cholesky(mass + weight * slope.T @ slope), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise SingularProgramError(
                f"{self.robot.name}: the mass matrix is singular along velocities that the natural constraints leave "
                "free, so the nearest consistent velocities are not determined; add a mass or a constraint"
            ) from error


Values = Mapping[str, float] | ArrayLike | None
Fixed = str | Iterable[str] | Mapping[str, float]

TOLERANCE = 1e-10
"""Largest |φ_i| of an assembled position, in the unit of the row: metres for closed points."""
RANK_TOLERANCE = 1e-6
"""Singular value of φ_q N, relative to the largest at the position or around it, below which it counts as zero.

At a double root Newton's method ends at the square root of the rounding error, about 1e-8 from it, so that a smaller
tolerance would miss singular positions."""
STARTS = 48
"""Number of starts of ``assemble`` before it reports that there is no assembly."""
BRANCH_STARTS = 64
"""Default number of starts of ``branches``."""
MOST_STARTS = 100_000
"""Largest number of starts of ``branches``."""
NEAR = 1e-6
"""Difference of all coordinates below which two assemblies are the same."""
AROUND = 5
"""Number of positions at which the usual size of φ_q N is evaluated."""
NUDGE = 0.05
"""Distance at which the neighbourhood of a singular position is examined [rad or m]."""


class Assembler:
    """Solver for assemblies of one robot, built once for many guesses, times and parameters."""

    def __init__(self, robot: Robot, *, tolerance: float = TOLERANCE, rank_tolerance: float = RANK_TOLERANCE) -> None:
        """Prepare the equations.

        Args:
            robot: robot with its natural constraints.
            tolerance: largest |φ_i| of an assembled position.
            rank_tolerance: relative size of a singular value below which it counts as zero.

        Raises:
            ModelError: if a tolerance is not positive.
        """
        self.robot = robot
        self.tolerance = positive("tolerance", tolerance)
        self.rank_tolerance = positive("rank_tolerance", rank_tolerance)
        self._equations = PositionEquations(robot)

    def assemble(self, guess: ArrayLike, *, fixed: Fixed = (), t: float = 0.0, p: Values = None) -> Assembly:
        """Find the assembly that Newton's method reaches from a guess; see :func:`~erugin.robots.assemble`.

        Args:
            guess: coordinates, shape (nq,).
            fixed: names of coordinates that keep their guess, or their values by name.
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        problem, q = self._problem(guess, fixed, t, p)
        closed = problem.close(q, self.tolerance)
        if self._holds(closed):
            return self._assembly(problem, closed, q)
        others = (self._try(problem, start) for start in itertools.islice(problem.starts(q, STARTS), 1, None))
        tried = [closed, *(found for found in others if found is not None)]
        good = [found for found in tried if self._holds(found)]
        if not good:
            raise self._failure(problem, q, tried)
        nearest = min(good, key=lambda found: float(np.linalg.norm(problem.wrap(found.x, q) - q)))
        return self._assembly(problem, nearest, q, tried)

    def branches(
        self,
        guess: ArrayLike,
        *,
        fixed: Fixed = (),
        t: float = 0.0,
        p: Values = None,
        starts: int = BRANCH_STARTS,
    ) -> tuple[Assembly, ...]:
        """Find separate assemblies; see :func:`~erugin.robots.branches`.

        Args:
            guess: coordinates, shape (nq,).
            fixed: names of coordinates that keep their guess, or their values by name.
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
            starts: number of starts.
        """
        problem, q = self._problem(guess, fixed, t, p)
        if not self._equations.flat:
            raise ModelError(f"{self.robot.name}: branches() requires velocities v = q̇, not quasi-velocities")
        starts = whole("starts", starts, most=MOST_STARTS, advice="start from other guesses")
        distinct: list[Assembly] = []
        spread, beside = problem.starts(q, starts), list[Array]()
        while (start := beside.pop() if beside else next(spread, None)) is not None:
            found = self._try(problem, start)
            if found is None or not self._holds(found):
                continue
            new = problem.wrap(found.x, q)
            if any(np.abs(problem.wrap(new, old.q) - old.q).max(initial=0.0) < NEAR for old in distinct):
                continue
            assembly = self._assembly(problem, found, q)
            if assembly.remaining and not self._isolated(problem, assembly.q):
                names = ", ".join(n for i, n in enumerate(self.robot.coordinates.names) if i in problem.free)
                raise ModelError(
                    f"{self.robot.name} still has {assembly.remaining} degree(s) of freedom, so its assemblies are not "
                    f"separate: fix as many more of the coordinates {names}"
                )
            distinct.append(assembly)
            if len(distinct) > starts:
                raise ModelError(
                    f"{self.robot.name}: {starts} starts led to more than {starts} assemblies; if there are so many "
                    "separate ones, increase starts="
                )
            # If two branches are close, the other one lies along the softest direction.
            soft = np.linalg.svd(problem.evaluate(found.x)[1][:, problem.free])[2][-1:]
            beside += [problem.move(found.x, NUDGE * direction) for direction in (*soft, *-soft)]
        if not distinct:
            distinct.append(self.assemble(guess, fixed=fixed, t=t, p=p))
        return tuple(sorted(distinct, key=lambda assembly: float(np.linalg.norm(assembly.q - q))))

    def velocities(
        self, q: ArrayLike, guess: ArrayLike | None = None, *, fixed: Fixed = (), t: float = 0.0, p: Values = None
    ) -> Array:
        """Find the consistent velocities nearest to a guess; see :func:`~erugin.robots.assemble_velocities`.

        Args:
            q: coordinates of an assembled position, shape (nq,).
            guess: velocities, shape (nv,); zero if not given.
            fixed: names of coordinates whose rates keep their guess, or the rates by name.
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        c = self.robot.coordinates
        position = vector("q", q, c.nq)
        problem = self._at(fixed, t, p)
        start = np.zeros(c.nv) if guess is None else vector("guess", guess, c.nv)
        rates = _fixed_values(fixed)
        if rates and not self._equations.flat:
            raise ModelError(f"{self.robot.name}: fixed= with values requires v = q̇; use guess= instead")
        for name, rate in rates.items():
            start[c.names.index(name)] = finite(f"rate of {name}", rate)
        around = list(problem.starts(position, AROUND))
        v, misses = self._velocity_equations.nearest(problem, position, start, around, self.rank_tolerance)
        if misses:
            worst = max(misses, key=lambda name: misses[name])
            locked = ", ".join(_fixed_names(fixed)) or "nothing"
            raise AssemblyError(
                f"{self.robot.name}: no velocities at q = {np.array2string(position, precision=4)} satisfy {worst!r}: "
                f"its rate misses by {misses[worst]:.3g}. The position is singular with these coordinates fixed "
                f"({locked}), or rows contradict each other",
                v,
                misses,
            )
        return v

    @functools.cached_property
    def _velocity_equations(self) -> VelocityEquations:
        return VelocityEquations(self.robot)

    def _problem(self, guess: ArrayLike, fixed: Fixed, t: float, p: Values) -> tuple[PositionProblem, Array]:
        q = vector("guess", guess, self.robot.coordinates.nq)
        problem = self._at(fixed, t, p)
        for name, value in _fixed_values(fixed).items():
            q[self.robot.coordinates.names.index(name)] = finite(f"fixed {name}", value)
        return problem, q

    def _at(self, fixed: Fixed, t: float, p: Values) -> PositionProblem:
        time, numbers = float(vector("t", [t], 1)[0]), self.robot.parameters.values(p)
        return self._equations.at(time, numbers, _fixed_names(fixed))

    def _try(self, problem: PositionProblem, start: Array) -> LeastSquaresResult | None:
        try:
            return problem.close(start, self.tolerance)
        except NotFiniteError:
            return None

    def _holds(self, found: LeastSquaresResult) -> bool:
        return bool((np.abs(found.residual) <= self.tolerance).all())

    def _assembly(
        self, problem: PositionProblem, found: LeastSquaresResult, near: Array, tried: Sequence[LeastSquaresResult] = ()
    ) -> Assembly:
        q = problem.wrap(found.x, near)
        residual, J = problem.evaluate(q)
        values = np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64)
        # One threshold for all, so that the rank never decreases when a row is added.
        scale = self._scale(problem, q)
        rank = self._rank(J, scale)
        ranks = [self._rank(J[: i + 1], scale) for i in range(len(J))]
        grown = zip(problem.equations.rows, [0, *ranks], ranks, strict=False)
        return Assembly(
            q=q,
            residual=residual,
            rows=problem.equations.rows,
            singular_values=values,
            rank=rank,
            degrees_of_freedom=J.shape[1] - rank,
            remaining=len(problem.free) - self._rank(J[:, problem.free], scale),
            redundant=tuple(name for name, before, after in grown if before == after),
            singular=rank < min(J.shape) and self._deeper(problem, q, rank, scale),
            starts=max(1, len(tried)),
            iterations=sum(one.iterations for one in tried or (found,)),
        )

    def _scale(self, problem: PositionProblem, q: Array) -> float:
        """Return the largest singular value of φ_q N, at q or around it, so that a single vanishing row is detected."""
        slopes = (problem.evaluate(x)[1] for x in problem.starts(q, AROUND))
        return max((float(np.linalg.norm(J, 2)) for J in slopes if J.size and np.isfinite(J).all()), default=0.0)

    def _rank(self, J: Array, scale: float) -> int:
        return int((np.linalg.svd(J, compute_uv=False) > self.rank_tolerance * scale).sum())

    def _neighbours(self, problem: PositionProblem, q: Array) -> Iterator[Array]:
        """Yield assembled positions nearby, each with one coordinate displaced and fixed.

        It is fixed because Newton's method would otherwise return to a multiple root, which attracts all around it.
        """
        for i in range(len(problem.free)):
            others = PositionProblem(problem.equations, problem.t, problem.p, np.delete(problem.free, i))
            for nudge in (NUDGE, -NUDGE):
                found = self._try(others, problem.move(q, nudge * np.eye(len(problem.free))[i]))
                if found is not None and self._holds(found) and np.abs(found.x - q).max() < 4 * NUDGE:
                    yield found.x

    def _deeper(self, problem: PositionProblem, q: Array, rank: int, scale: float) -> bool:
        """True if the rank is higher nearby, with nothing fixed."""
        loose = PositionProblem(problem.equations, problem.t, problem.p, np.arange(self.robot.coordinates.nv))
        return any(self._rank(loose.evaluate(x)[1], scale) > rank for x in self._neighbours(loose, q))

    def _isolated(self, problem: PositionProblem, q: Array) -> bool:
        """True if no other assembly is nearby, so that the singular Jacobian means a fold."""
        return next(self._neighbours(problem, q), None) is None

    def _failure(self, problem: PositionProblem, guess: Array, tried: Sequence[LeastSquaresResult]) -> AssemblyError:
        best = min(tried, key=lambda found: found.size)
        misses = residual_norms(problem.equations.owners, best.residual)
        worst = max(misses, key=lambda name: misses[name])
        others = ", ".join(f"{name!r} by {miss:.3g}" for name, miss in misses.items() if name != worst and miss > 1e-9)
        locked = [name for i, name in enumerate(self.robot.coordinates.names) if i not in problem.free]
        condition = f" with {', '.join(locked)} fixed" if locked else ""
        nearest = problem.wrap(best.x, guess)
        also = f", {others}" if others else ""
        return AssemblyError(
            f"{self.robot.name} cannot be assembled from {np.array2string(guess, precision=4)}{condition}: {worst!r} "
            f"misses by {misses[worst]:.6g} (metres between points){also} at the best of the positions reached from "
            f"{len(tried)} starts, q = {np.array2string(nearest, precision=4)}. Change the dimensions or fixed=",
            nearest,
            misses,
        )


def _fixed_names(fixed: Fixed) -> tuple[str, ...]:
    return (fixed,) if isinstance(fixed, str) else tuple(fixed)


def _fixed_values(fixed: Fixed) -> Mapping[str, float]:
    return cast("Mapping[str, float]", fixed) if isinstance(fixed, Mapping) else {}


def assemble(
    robot: Robot,
    guess: ArrayLike,
    *,
    fixed: Fixed = (),
    t: float = 0.0,
    p: Values = None,
    tolerance: float = TOLERANCE,
    rank_tolerance: float = RANK_TOLERANCE,
) -> Assembly:
    """Find coordinates at which the holonomic natural constraints φ(q, t) = 0 hold, from a rough guess.

    Newton's method with steps of least norm, δ = −(φ_q N)⁺ φ by singular values, each cut to half a radian (or metre)
    and halved until the residual decreases. If it stalls before φ = 0, exact second derivatives lead to the least
    residual. If that is not zero, the search is repeated from a fixed set of starts spread evenly around the guess, and
    the assembly nearest to the guess is returned; its attribute ``starts`` shows this.

    :class:`Assembler` does the same for many guesses without building the equations again.

    Args:
        robot: robot with closed chains; without natural constraints every position is assembled.
        guess: coordinates, shape (nq,); it selects the branch.
        fixed: names of coordinates that keep their guess, such as a crank's angle; or their values by name.
        t: time [s].
        p: parameters: nominal, overridden by name, or the whole vector.
        tolerance: largest |φ_i| of an assembled position, in the unit of the row.
        rank_tolerance: relative size of a singular value of φ_q N below which it counts as zero.

    Returns:
        The assembly with its rank, redundant rows and degrees of freedom.

    Raises:
        AssemblyError: if the constraints cannot be satisfied; reports the residuals and the nearest q.
        ModelError: for an unknown coordinate in ``fixed``, or one that cannot be fixed without others.
        ShapeError, ParameterError: for numbers of a wrong shape or range.
        NotFiniteError: if a constraint is not finite at the guess.
    """
    assembler = Assembler(robot, tolerance=tolerance, rank_tolerance=rank_tolerance)
    return assembler.assemble(guess, fixed=fixed, t=t, p=p)


def branches(
    robot: Robot,
    guess: ArrayLike,
    *,
    fixed: Fixed = (),
    t: float = 0.0,
    p: Values = None,
    tolerance: float = TOLERANCE,
    rank_tolerance: float = RANK_TOLERANCE,
    starts: int = BRANCH_STARTS,
) -> tuple[Assembly, ...]:
    """Find separate assemblies with enough coordinates fixed, nearest to the guess first.

    A four-bar with its crank fixed has two, open and crossed; at a fold they meet, and there is one. The search starts
    from the guess, from points spread evenly over half a turn to either side (and over the relevant lengths), and
    next to each assembly found, along the softest direction. It does not prove that there are no others: for mechanisms
    with many branches increase ``starts`` until the number of assemblies no longer changes.

    Args:
        robot: robot with closed chains, in velocities v = q̇.
        guess: coordinates, shape (nq,); angles of the results are within half a turn of it.
        fixed: names of coordinates that keep their guess, or their values by name.
        t: time [s].
        p: parameters: nominal, overridden by name, or the whole vector.
        tolerance: largest |φ_i| of an assembled position, in the unit of the row.
        rank_tolerance: relative size of a singular value of φ_q N below which it counts as zero.
        starts: number of starts, at least one.

    Raises:
        AssemblyError: if no assembly is found.
        ModelError: if coordinates remain free to move, so that assemblies are not separate; or as for :func:`assemble`.
        ShapeError, ParameterError, NotFiniteError: as for :func:`assemble`.
    """
    assembler = Assembler(robot, tolerance=tolerance, rank_tolerance=rank_tolerance)
    return assembler.branches(guess, fixed=fixed, t=t, p=p, starts=starts)


def assemble_velocities(
    robot: Robot,
    q: ArrayLike,
    guess: ArrayLike | None = None,
    *,
    fixed: Fixed = (),
    t: float = 0.0,
    p: Values = None,
    rank_tolerance: float = RANK_TOLERANCE,
) -> Array:
    """Find the velocities nearest to a guess that satisfy the natural constraints of order 0 and 1 at q.

    They minimize (v − w)ᵀM(v − w) under φ_q N v + φ_t = 0 and ψ(q, v, t) = 0, as if the rows that w violates were
    switched on by a plastic impact.

    Args:
        robot: robot with closed chains.
        q: coordinates of an assembled position, shape (nq,).
        guess: w, shape (nv,); zero if not given.
        fixed: names of coordinates whose rates keep their guess, such as the crank's; or the rates by name.
        t: time [s].
        p: parameters: nominal, overridden by name, or the whole vector.
        rank_tolerance: relative size of a singular value below which it counts as zero.

    Returns:
        v, shape (nv,).

    Raises:
        AssemblyError: if there are no such velocities, at a dead point for the fixed coordinates or because rows
            contradict each other.
        SingularProgramError: if the mass matrix leaves the nearest velocities undetermined.
        ModelError: for an unknown coordinate in ``fixed``, or one that cannot be fixed without others.
        ShapeError, ParameterError: for numbers of a wrong shape or range.
    """
    return Assembler(robot, rank_tolerance=rank_tolerance).velocities(q, guess, fixed=fixed, t=t, p=p)
