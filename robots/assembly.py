"""Consistent places and velocities of robots with closed chains: from rough guesses, on one branch or on all."""

from __future__ import annotations

from numpy.typing import ArrayLike

from .assembled import Assembly
from .assembler import BRANCH_STARTS, RANK_TOLERANCE, TOLERANCE, Array, Assembler, Fixed, Values
from .robot import Robot


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
    """Coordinates at which the holonomic natural constraints φ(q, t) = 0 hold, from a rough guess.

    Newton's method with steps of least norm, δ = −(φ_q N)⁺ φ by singular values, each cut to half a radian (or metre)
    and halved until the misfit falls. Where that stalls short of φ = 0, exact second derivatives lead on to the least
    misfit. If the misfit is not zero there, the search starts anew from places spread evenly around the guess, always
    the same ones, and the assembly nearest to the guess is taken; ``starts`` of the result tells.

    :class:`Assembler` does the same for many guesses without building the equations again.

    Args:
        robot: with closed chains; one without natural constraints is assembled anywhere.
        guess: coordinates, shape (nq,); it chooses the branch.
        fixed: names of coordinates that keep their guess, such as a crank's angle; or their values by name.
        t: time [s].
        p: parameters: nominal, overridden by name, or the whole vector.
        tolerance: largest |φ_i| of an assembled place, in the unit of the row.
        rank_tolerance: share of the largest singular value of φ_q N below which one counts as zero.

    Returns:
        The assembly with its rank, redundant rows and degrees of freedom.

    Raises:
        AssemblyError: if the constraints cannot be met; it says which one misses by how much and holds the nearest q.
        ModelError: for an unknown coordinate in ``fixed``, or one that cannot be kept alone.
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
    """All separate assemblies that are found with enough coordinates fixed, nearest to the guess first.

    A four-bar with its crank fixed has two, open and crossed; at a fold they meet, and there is one. The search starts
    from the guess, from places spread evenly over half a turn to either side (and over the lengths that matter), and
    from beside what it has found, along the softest direction. It proves nothing about what it has not found: for
    mechanisms with many branches ask for more ``starts`` until their number stays.

    Args:
        robot: with closed chains, in velocities v = q̇.
        guess: coordinates, shape (nq,); angles of the results are within half a turn of it.
        fixed: names of coordinates that keep their guess, or their values by name.
        t: time [s].
        p: parameters: nominal, overridden by name, or the whole vector.
        tolerance: largest |φ_i| of an assembled place, in the unit of the row.
        rank_tolerance: share of the largest singular value of φ_q N below which one counts as zero.
        starts: how many starts, at least one.

    Raises:
        AssemblyError: if there is none.
        ModelError: if coordinates are left free to move, so that assemblies are not separate; or as for
            :func:`assemble`.
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
    """Velocities that the natural constraints of order 0 and 1 admit at q, nearest to a guess.

    They make (v − w)ᵀM(v − w) least under φ_q N v + φ_t = 0 and ψ(q, v, t) = 0, as if rows that w violates were
    switched on by a plastic impact.

    Args:
        robot: with closed chains.
        q: coordinates of an assembled place, shape (nq,).
        guess: w, shape (nv,); zero if not given.
        fixed: names of coordinates whose rates keep their guess, such as the crank's; or the rates by name.
        t: time [s].
        p: parameters: nominal, overridden by name, or the whole vector.
        rank_tolerance: share of the largest singular value below which one counts as zero.

    Returns:
        v, shape (nv,).

    Raises:
        AssemblyError: if there are no such velocities: at a dead point for what is fixed, or for contradicting rows.
        SingularProgramError: if the mass matrix leaves the nearest velocities undetermined.
        ModelError: for an unknown coordinate in ``fixed``, or one that cannot be kept alone.
        ShapeError, ParameterError: for numbers of a wrong shape or range.
    """
    return Assembler(robot, rank_tolerance=rank_tolerance).velocities(q, guess, fixed=fixed, t=t, p=p)
