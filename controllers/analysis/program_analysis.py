"""Analysis of a program at one state: ranks, dependences, uniqueness, and reach of the actuators."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.solvability import (
    CONSISTENCY,
    SINGULAR_VALUE_TOLERANCE,
    ConstrainedMotion,
    Dependence,
    Rank,
    Solvability,
    null_spaces,
    solvability,
)
from ...constraints.solvers.constrained_solver import INACCURATE, SolveOutcome
from ...constraints.solvers.motion_solvers import UdwadiaPhohomsiri
from ...robots.manifold.branch_acceleration import BranchModels
from ...symbolic.errors import ModelError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.validation import positive, vector
from ..multipliers.least_norm import LeastNormMultipliers
from ..program.program import Program
from ..program.program_controller import ProgramController
from ..program.solution import equivalent_reactions
from ..realization import active_rows
from .analysis_report import Analysis, actuation, solvability_conditions

Array = NDArray[np.float64]

ALONG_BRANCH = "In a singular position of the mechanism, or next to one: accelerations are those along its branch."
NEARLY_SINGULAR = 1e-2
"""Share of the largest singular value of A below which the branch of the motion is determined."""
AROUND, FAR, SEED = 4, 0.1, 1952
"""Number, distance and random seed of the nearby states that define the usual length of a row."""


def analyse(
    program: Program,
    *,
    t: float,
    q: ArrayLike,
    v: ArrayLike,
    p: Mapping[str, float] | ArrayLike | None = None,
    a: ArrayLike | None = None,
    tolerance: float = SINGULAR_VALUE_TOLERANCE,
    consistency: float = CONSISTENCY,
) -> Analysis:
    """Analyse which unknowns of M a + h = Aᵀμ + Θᵀλ, A a = b, Θ a = β are determined at one state.

    It works where M is singular, where rows vanish or depend on each other, and for more rows than velocities; rows
    that are off are omitted. At and next to a singular position of a mechanism, results on accelerations, forces and
    inputs refer to the branch that the velocities are on; where they do not determine it, nothing is unique, solvable
    or realizable, and ``branch`` gives the reason. Ranks are decided by singular values in units in which velocities
    and rows can be compared; see :class:`~erugin.constraints.ConstrainedMotion`. ``print`` shows the report.

    A ProgramController compares squares of angles between rows, so that its tolerance of 1e-10 means 1e-5 here.

    Args:
        program: the program; the natural constraints of its robot precede its rows wherever earlier rows are mentioned.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        p: parameters: nominal, overridden by name, or the whole vector.
        a: accelerations at which rows that are not affine in them are linearised, shape (nv,); if not given, those that
            a ProgramController finds or, if it finds none, the last ones of its search. The residuals of such rows are
            reported; all other results refer to the linearised rows.
        tolerance: share of the largest singular value below which a singular value counts as zero.
        consistency: a contradiction counts from this share of the terms that it is the difference of, or of one unit
            of the row.

    Returns:
        The report.

    Raises:
        ShapeError: for a wrong shape or a number that is not finite.
        NotFiniteError: if M, h, B or a row is not finite at this state; the message names it.
        ModelError: if ``program`` is not a Program, a tolerance is not positive, or M is not positive semidefinite.
    """
    if not isinstance(program, Program):
        raise ModelError(f"analyse requires a Program, got {program!r}")
    tolerance, consistency = positive("tolerance", tolerance), positive("consistency", consistency)
    robot, c = program.robot, program.robot.coordinates
    state = _State(program, t, q, v, a, p)
    M, h, B, A, b, theta, beta = state.numbers
    sizes = [constraint.residual(c).numel() for constraint in robot.natural]
    on = state.active
    theta, beta = theta[on], beta[on]
    left, parts = theta @ state.a - beta, np.abs(theta) @ np.abs(state.a) + np.abs(beta)
    curved = ~np.array(program.affine)[on]
    met = bool((np.abs(left) <= INACCURATE * parts + consistency)[curved].all())
    own = [len(list(group)) for _, group in itertools.groupby(program.blocks[i].start for i in on)]
    natural_names, names = _labels(robot.natural_rows, tuple(program.rows[i] for i in on))
    velocities = tuple(c.v[i].name() for i in range(c.nv))

    def equations(
        rows: Array, right: Array, sizes: list[int], names: Sequence[str], usual: ArrayLike
    ) -> ConstrainedMotion:
        return ConstrainedMotion(M, -h, rows, right, sizes, names, velocities, usual)

    scale = equations(np.vstack([A, theta]), np.concatenate([b, beta]), [*sizes, *own], (*natural_names, *names), 0.0)
    usual = state.usual_lengths(scale.velocity_scale, [*sizes, *own])
    both = equations(scale.rows, scale.right, [*sizes, *own], scale.names, usual)
    natural = equations(A, b, sizes, natural_names, usual[: len(sizes)])
    alone = equations(theta, beta, own, names, usual[len(sizes) :])
    known = solvability(both, tolerance=tolerance, consistency=consistency)
    k = len(natural_names)
    ranks = _ranks(both, k, tolerance)
    # Near a singular position of the mechanism accelerations follow from the rows of its branch.
    moving, held, branch, lost = both, k, "", False
    try:
        if (rows := state.branch_rows(natural)) is not None:
            held, branch = len(rows[0]), ALONG_BRANCH
            natural = equations(*rows, [1] * held, [f"branch[{i}]" for i in range(held)], np.ones(held))
            lengths = np.concatenate([np.ones(held), usual[len(sizes) :]])
            moving = equations(
                np.vstack([natural.rows, theta]),
                np.concatenate([natural.right, beta]),
                [*natural.sizes, *own],
                (*natural.names, *names),
                lengths,
            )
            along = solvability(moving, tolerance=tolerance, consistency=consistency)
            known = dataclasses.replace(
                along,
                dependences=(*_drop_loop_openings(known.dependences, natural_names), *along.dependences),
                unique=(*known.unique[:k], *along.unique[held:]),
            )
    except SingularProgramError as error:
        # Natural rows that contradict each other have no branch; the dependences report the contradiction.
        if all(d.consistent for d in known.dependences if d.row in natural_names):
            branch, lost = str(error), True
    moved = UdwadiaPhohomsiri().solve(moving, tolerance=tolerance, consistency=consistency)
    a, multipliers = (np.full_like(x, np.nan) if lost else x for x in (moved.acceleration, moved.multipliers))
    reactions = multipliers[:held] if moving is both else equivalent_reactions(A, natural.rows, multipliers[:held])
    force = theta.T @ multipliers[held:]
    ideal = force if not lost and moved.outcome in (SolveOutcome.SOLVED, SolveOutcome.INACCURATE) else None
    inputs = actuation(natural, alone, B, ideal, tolerance=tolerance, consistency=consistency)
    met = met and not lost
    dependent = [dependence.row for dependence in known.dependences]
    return Analysis(
        robot=robot.name,
        rank=ranks["theta"].value,
        ranks=ranks,
        dependences=known.dependences,
        dependent_rows=tuple(name for name in names if name in dependent),
        dependent_natural_rows=tuple(name for name in natural_names if name in dependent),
        contradictions={d.row: d.contradiction for d in known.dependences if not d.consistent},
        consistent=known.consistent,
        solvable=known.solvable and met,
        # The remainder of a row below the tolerance still influences the motion.
        acceleration_unique=known.acceleration_unique and not lost and moved.outcome is not SolveOutcome.INACCURATE,
        loose=known.loose,
        unique_multipliers=_named_unique(names, known, k),
        unique_reactions=_named_unique(natural_names, known, 0),
        acceleration=a.copy(),
        multipliers=multipliers[held:].copy(),
        reactions=reactions.copy(),
        force=force,
        actuation=inputs,
        realizable=inputs.realizable and known.consistent and met,
        conditions=solvability_conditions(ranks, known, inputs, met, branch, lost),
        branch=branch,
        linearized_at=state.a,
        nonlinear={names[k]: float(left[k]) for k in np.flatnonzero(curved)},
    )


class _State:
    """The matrices of a program at one state and around it."""

    def __init__(
        self,
        program: Program,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike | None,
        p: Mapping[str, float] | ArrayLike | None,
    ) -> None:
        robot, c = program.robot, program.robot.coordinates
        self._program = program
        self._time = float(vector("t", [t], 1)[0])
        self._q, self._v = vector("q", q, c.nq), vector("v", v, c.nv)
        numbers = program.parameters.values(p)
        if a is None:
            self.a = np.zeros(c.nv) if program.is_affine else self._found(program, numbers)
        else:
            self.a = vector("a", a, c.nv)
        self._rest = (self.a, numbers)
        A, b = robot.natural_form
        inputs = {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": program.p}
        switch = Kernel("conditions", inputs, {"active": program.active}, compiled=False)
        on = np.atleast_1d(switch(self._time, self._q, self._v, *self._rest)[0])
        for i in np.flatnonzero(np.isnan(on)):
            raise NotFiniteError(f"the condition of {program.rows[i]!r} is not a number at t = {self._time:g}")
        self.active = np.flatnonzero(on > 0.0)
        outputs = {
            "mass matrix": robot.mass_matrix,
            "bias": robot.bias,
            "input matrix": robot.input_matrix,
            "natural rows A": A,
            "natural right side b": b,
            "program rows theta": active_rows(program, program.theta),
            "program right side beta": active_rows(program, program.beta),
        }
        kernel = Kernel("analysis", inputs, outputs, compiled=False)
        self._rows = Kernel("analysed_rows", inputs, {"rows": ca.vertcat(A, program.theta)}, compiled=False)
        values = kernel(self._time, self._q, self._v, *self._rest)
        self._count = len(program.rows)
        self.numbers: list[Array] = []
        for (name, shape), value in zip(kernel.outputs.items(), values, strict=True):
            if not np.isfinite(value).all():
                raise NotFiniteError(
                    f"the {name} of {robot.name} is not finite at t = {self._time:g}, q = "
                    f"{np.array2string(self._q, precision=4)}: a field, a curve or the robot is undefined there"
                )
            column = name in {"bias", "natural right side b", "program right side beta"}
            self.numbers.append(value.reshape(shape[0] if column else shape, order="F"))

    def _found(self, program: Program, p: Array) -> Array:
        """Return accelerations that satisfy rows nonlinear in them, or the last ones of the search."""
        try:
            controller = ProgramController(program, method=LeastNormMultipliers())
        except ModelError:
            # Without inertia the search has no free motion to start from.
            return np.zeros(program.robot.coordinates.nv)
        a = controller.solve(self._time, self._q, self._v, p).acceleration
        return a if np.isfinite(a).all() else np.zeros(a.shape)

    def branch_rows(self, natural: ConstrainedMotion) -> tuple[Array, Array] | None:
        """Return the rows W and right side of the motion's branch near a singular position; None elsewhere.

        Args:
            natural: natural rows in comparable units.

        Raises:
            SingularProgramError: if the velocities do not determine the branch.
        """
        robot, nv = self._program.robot, self._program.robot.coordinates.nv
        values = np.linalg.svd(natural.scaled_rows, compute_uv=False)
        plain = not len(values) or (len(natural.rows) <= nv and values[-1] > NEARLY_SINGULAR * values[0])
        if plain or any(constraint.order == 2 for constraint in robot.natural):
            return None
        found = BranchModels(robot).at(self._time, self._q, self._v, self._rest[1][: len(robot.parameters)])
        if found is None:
            return None
        numbers = found[1]
        rank = len(numbers) // (nv + 1)
        return numbers[: rank * nv].reshape(rank, nv), numbers[rank * nv :]

    def usual_lengths(self, S: Array, sizes: list[int]) -> Array:
        """Return the length of the longest row of each constraint at a few nearby states, in units S.

        A constraint that vanishes up to rounding at this state does not vanish there.
        """
        rng = np.random.default_rng(SEED)
        ends = np.cumsum([0, *sizes])
        lengths = np.zeros(len(sizes))
        for _ in range(AROUND):
            q = self._q + FAR * rng.uniform(-1.0, 1.0, len(self._q)) * np.maximum(1.0, np.abs(self._q))
            v = self._v + FAR * rng.uniform(-1.0, 1.0, len(self._v)) * np.maximum(1.0, np.abs(self._v))
            rows = self._rows(self._time, q, v, *self._rest)[0].reshape(-1, len(S), order="F") * S
            first = len(rows) - self._count
            rows = np.vstack([rows[:first], rows[first:][self.active]])
            if np.isfinite(rows).all():
                found = [np.linalg.norm(rows[i:j], axis=1).max() for i, j in itertools.pairwise(ends)]
                lengths = np.maximum(lengths, found)
        return lengths


def _ranks(both: ConstrainedMotion, k: int, tolerance: float) -> dict[str, Rank]:
    M, rows = both.scaled_mass, both.scaled_rows
    A, theta = rows[:k], rows[k:]
    parts = {
        "M": M,
        "A": A,
        "theta": theta,
        "M; A": np.vstack([M, A]),
        "M; theta": np.vstack([M, theta]),
        "A; theta": rows,
        "M; A; theta": np.vstack([M, rows]),
    }
    return {key: null_spaces(matrix, tolerance)[0] for key, matrix in parts.items()}


def _drop_loop_openings(dependences: Sequence[Dependence], names: tuple[str, ...]) -> list[Dependence]:
    """Return the dependences of these natural rows, with the errors of an open loop allowed: a branch was found."""
    chosen = (d for d in dependences if d.row in names)
    return [dataclasses.replace(d, allowed=max(d.allowed, abs(d.contradiction))) for d in chosen]


def _named_unique(names: tuple[str, ...], known: Solvability, first: int) -> tuple[str, ...]:
    unique = known.unique[first : first + len(names)]
    return tuple(name for name, one in zip(names, unique, strict=True) if one)


def _labels(natural: tuple[str, ...], rows: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of natural rows and of the program's, with "natural" before a name that both share."""
    return tuple(f"natural {name}" if name in rows else name for name in natural), rows
