"""The search for assemblies of one robot, built once and used for many guesses, times and parameters."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..symbolic.arrays import finite, positive, vector, whole
from ..symbolic.errors import ModelError, NotFiniteError
from .assembled import Assembly, AssemblyError, misses_of
from .least_squares import Found
from .place_equations import PlaceEquations, Places
from .robot import Robot
from .velocities import VelocityEquations

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None
Fixed = str | Iterable[str] | Mapping[str, float]

TOLERANCE = 1e-10
"""Largest |φ_i| of an assembled place, in the unit of the row: metres where points are held together."""
RANK_TOLERANCE = 1e-6
"""A singular value of φ_q N below this share of the largest, here or around, counts as zero.

At a double root Newton's method ends at the square root of the rounding, about 1e-8 from it, so that a smaller
tolerance would not see singular positions."""
STARTS = 48
"""Starts that ``assemble`` tries before it says that there is no assembly."""
BRANCH_STARTS = 64
MOST_STARTS = 100_000
"""Starts that ``branches`` tries unless told otherwise."""
NEAR = 1e-6
"""Two assemblies whose coordinates all differ by less are one."""
AROUND = 5
"""Places at which the size of φ_q N is looked at, to judge what is small."""
NUDGE = 0.05
"""How far the neighbourhood of a singular place is looked at [rad or m]."""


class Assembler:
    """Finds assemblies of one robot; built once for many guesses, times and parameters."""

    def __init__(self, robot: Robot, *, tolerance: float = TOLERANCE, rank_tolerance: float = RANK_TOLERANCE) -> None:
        """Prepare the equations.

        Args:
            robot: with its natural constraints.
            tolerance: largest |φ_i| of an assembled place.
            rank_tolerance: share of the largest singular value below which one counts as zero.

        Raises:
            ModelError: if a tolerance is not positive.
        """
        self.robot = robot
        self.tolerance = positive("tolerance", tolerance)
        self.rank_tolerance = positive("rank_tolerance", rank_tolerance)
        self._equations = PlaceEquations(robot)

    def assemble(self, guess: ArrayLike, *, fixed: Fixed = (), t: float = 0.0, p: Values = None) -> Assembly:
        """The assembly that Newton's method reaches from a guess; see :func:`~erugin.robots.assemble`.

        Args:
            guess: coordinates, shape (nq,).
            fixed: names of coordinates that keep their guess, or their values by name.
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        places, q = self._problem(guess, fixed, t, p)
        closed = places.close(q, self.tolerance)
        if self._holds(closed):
            return self._assembly(places, closed, q)
        others = (self._try(places, start) for start in itertools.islice(places.starts(q, STARTS), 1, None))
        tried = [closed, *(found for found in others if found is not None)]
        good = [found for found in tried if self._holds(found)]
        if not good:
            raise self._failure(places, q, tried)
        nearest = min(good, key=lambda found: float(np.linalg.norm(places.wrapped(found.x, q) - q)))
        return self._assembly(places, nearest, q, tried)

    def branches(
        self,
        guess: ArrayLike,
        *,
        fixed: Fixed = (),
        t: float = 0.0,
        p: Values = None,
        starts: int = BRANCH_STARTS,
    ) -> tuple[Assembly, ...]:
        """All separate assemblies that are found; see :func:`~erugin.robots.branches`.

        Args:
            guess: coordinates, shape (nq,).
            fixed: names of coordinates that keep their guess, or their values by name.
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
            starts: how many starts.
        """
        places, q = self._problem(guess, fixed, t, p)
        if not self._equations.flat:
            raise ModelError(f"{self.robot.name}: branches are looked for where q̇ = v only, not in quasi-velocities")
        starts = whole("starts", starts, most=MOST_STARTS, advice="start from other guesses")
        distinct: list[Assembly] = []
        spread, beside = places.starts(q, starts), list[Array]()
        while (start := beside.pop() if beside else next(spread, None)) is not None:
            found = self._try(places, start)
            if found is None or not self._holds(found):
                continue
            new = places.wrapped(found.x, q)
            if any(np.abs(places.wrapped(new, old.q) - old.q).max(initial=0.0) < NEAR for old in distinct):
                continue
            assembly = self._assembly(places, found, q)
            if assembly.remaining and not self._isolated(places, assembly.q):
                names = ", ".join(n for i, n in enumerate(self.robot.coordinates.names) if i in places.free)
                raise ModelError(
                    f"{self.robot.name} keeps {assembly.remaining} degree(s) of freedom, so its assemblies are not "
                    f"separate places: fix as many more of the coordinates {names}"
                )
            distinct.append(assembly)
            if len(distinct) > starts:
                raise ModelError(
                    f"{self.robot.name}: {starts} starts led to more assemblies than that; if there are so many "
                    "separate ones, ask for more starts"
                )
            # Where two branches are close, the other one lies along the softest direction.
            soft = np.linalg.svd(places.evaluate(found.x)[1][:, places.free])[2][-1:]
            beside += [places.move(found.x, NUDGE * direction) for direction in (*soft, *-soft)]
        if not distinct:
            distinct.append(self.assemble(guess, fixed=fixed, t=t, p=p))
        return tuple(sorted(distinct, key=lambda assembly: float(np.linalg.norm(assembly.q - q))))

    def velocities(
        self, q: ArrayLike, guess: ArrayLike | None = None, *, fixed: Fixed = (), t: float = 0.0, p: Values = None
    ) -> Array:
        """The consistent velocities nearest to a guess; see :func:`~erugin.robots.assemble_velocities`.

        Args:
            q: coordinates of an assembled place, shape (nq,).
            guess: velocities, shape (nv,); zero if not given.
            fixed: names of coordinates whose rates keep their guess, or the rates by name.
            t: time [s].
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        c = self.robot.coordinates
        place = vector("q", q, c.nq)
        places = self._at(fixed, t, p)
        wanted = np.zeros(c.nv) if guess is None else vector("guess", guess, c.nv)
        rates = _values(fixed)
        if rates and not self._equations.flat:
            raise ModelError(f"{self.robot.name}: rates have the names of coordinates only where q̇ = v; use the guess")
        for name, rate in rates.items():
            wanted[c.names.index(name)] = finite(f"rate of {name}", rate)
        around = list(places.starts(place, AROUND))
        v, misses = self._velocity_equations.nearest(places, place, wanted, around, self.rank_tolerance)
        if misses:
            worst = max(misses, key=lambda name: misses[name])
            held = ", ".join(_names(fixed)) or "nothing"
            raise AssemblyError(
                f"{self.robot.name}: no velocities at q = {np.array2string(place, precision=4)} satisfy {worst!r}: its "
                f"rate is missed by {misses[worst]:.3g}. The place is singular for what is fixed ({held}), or rows "
                "contradict one another",
                v,
                misses,
            )
        return v

    @functools.cached_property
    def _velocity_equations(self) -> VelocityEquations:
        return VelocityEquations(self.robot)

    def _problem(self, guess: ArrayLike, fixed: Fixed, t: float, p: Values) -> tuple[Places, Array]:
        q = vector("guess", guess, self.robot.coordinates.nq)
        places = self._at(fixed, t, p)
        for name, value in _values(fixed).items():
            q[self.robot.coordinates.names.index(name)] = finite(f"fixed {name}", value)
        return places, q

    def _at(self, fixed: Fixed, t: float, p: Values) -> Places:
        time, numbers = float(vector("t", [t], 1)[0]), self.robot.parameters.values(p)
        return self._equations.at(time, numbers, _names(fixed))

    def _try(self, places: Places, start: Array) -> Found | None:
        try:
            return places.close(start, self.tolerance)
        except NotFiniteError:
            return None

    def _holds(self, found: Found) -> bool:
        return bool((np.abs(found.residual) <= self.tolerance).all())

    def _assembly(self, places: Places, found: Found, near: Array, tried: Sequence[Found] = ()) -> Assembly:
        q = places.wrapped(found.x, near)
        residual, J = places.evaluate(q)
        values = np.asarray(np.linalg.svd(J, compute_uv=False), dtype=np.float64)
        # One threshold for all, so that the rank never falls when a row is added.
        scale = self._scale(places, q)
        rank = self._rank(J, scale)
        ranks = [self._rank(J[: i + 1], scale) for i in range(len(J))]
        grown = zip(places.equations.rows, [0, *ranks], ranks, strict=False)
        return Assembly(
            q=q,
            residual=residual,
            rows=places.equations.rows,
            singular_values=values,
            rank=rank,
            degrees_of_freedom=J.shape[1] - rank,
            remaining=len(places.free) - self._rank(J[:, places.free], scale),
            redundant=tuple(name for name, before, after in grown if before == after),
            singular=rank < min(J.shape) and self._deeper(places, q, rank, scale),
            starts=max(1, len(tried)),
            iterations=sum(one.iterations for one in tried or (found,)),
        )

    def _scale(self, places: Places, q: Array) -> float:
        """Largest singular value of φ_q N, here or at a few places around: a single row that vanishes is seen too."""
        slopes = (places.evaluate(x)[1] for x in places.starts(q, AROUND))
        return max((float(np.linalg.norm(J, 2)) for J in slopes if J.size and np.isfinite(J).all()), default=0.0)

    def _rank(self, J: Array, scale: float) -> int:
        return int((np.linalg.svd(J, compute_uv=False) > self.rank_tolerance * scale).sum())

    def _neighbours(self, places: Places, q: Array) -> Iterator[Array]:
        """Assembled places nearby, one velocity at a time nudged either way and held.

        Held, because Newton's method would go back to a multiple root: its basin is all around.
        """
        for i in range(len(places.free)):
            others = Places(places.equations, places.t, places.p, np.delete(places.free, i))
            for nudge in (NUDGE, -NUDGE):
                found = self._try(others, places.move(q, nudge * np.eye(len(places.free))[i]))
                if found is not None and self._holds(found) and np.abs(found.x - q).max() < 4 * NUDGE:
                    yield found.x

    def _deeper(self, places: Places, q: Array, rank: int, scale: float) -> bool:
        """Whether the rank is higher nearby, with nothing fixed."""
        loose = Places(places.equations, places.t, places.p, np.arange(self.robot.coordinates.nv))
        return any(self._rank(loose.evaluate(x)[1], scale) > rank for x in self._neighbours(loose, q))

    def _isolated(self, places: Places, q: Array) -> bool:
        """Whether no assembly is near, so that the singular Jacobian means a fold."""
        return next(self._neighbours(places, q), None) is None

    def _failure(self, places: Places, guess: Array, tried: Sequence[Found]) -> AssemblyError:
        best = min(tried, key=lambda found: found.size)
        misses = misses_of(places.equations.owners, best.residual)
        worst = max(misses, key=lambda name: misses[name])
        others = ", ".join(f"{name!r} by {miss:.3g}" for name, miss in misses.items() if name != worst and miss > 1e-9)
        kept = [name for i, name in enumerate(self.robot.coordinates.names) if i not in places.free]
        held_there = f" with {', '.join(kept)} held" if kept else ""
        nearest = places.wrapped(best.x, guess)
        also = f", {others}" if others else ""
        return AssemblyError(
            f"{self.robot.name} cannot be assembled from {np.array2string(guess, precision=4)}{held_there}: {worst!r} "
            f"misses by {misses[worst]:.6g} (metres between points){also} at the nearest of the places reached from "
            f"{len(tried)} starts, q = {np.array2string(nearest, precision=4)}. Change dimensions, or what is fixed",
            nearest,
            misses,
        )


def _names(fixed: Fixed) -> tuple[str, ...]:
    return (fixed,) if isinstance(fixed, str) else tuple(fixed)


def _values(fixed: Fixed) -> Mapping[str, float]:
    return cast("Mapping[str, float]", fixed) if isinstance(fixed, Mapping) else {}
