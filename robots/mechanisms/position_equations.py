"""Position equations φ(q, t) = 0 of the holonomic natural constraints, and their numerical solution."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.constraint import row_names
from ...symbolic.errors import ModelError, NotFiniteError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.runge_kutta import rk4_step
from ..least_squares import LeastSquaresResult, descend, gauss_newton
from ..robot import Robot

Array = NDArray[np.float64]

STEP = 0.5
"""Largest change of a coordinate in one step of Newton's method [rad or m], within which sines are nearly linear."""
SUBSTEPS = 8
"""Runge–Kutta steps along q̇ = N(q) δ for one move, if N is not constant."""
TURN = 2.0 * np.pi
SHARPENINGS = 3
"""Number of Newton steps that refine a multiple root from within 1e-8."""
SOFT = 1e-5
"""Relative size of a singular value of φ_q N below which a root counts as multiple."""
NEARBY = 1e-4
"""Step of the finite differences of φ_q N [rad or m]; their error is squared in the root."""
CLOSE = 1e-5
"""Distance above which a multiple root counts as a different one."""
ROUNDING = 1e-15
"""Admissible growth of a root's residual."""


class PositionEquations:
    """φ(q, t) = 0 of all natural constraints of order 0, with first and second derivatives; built once for many uses.

    Derivatives are along moves q̇ = N(q) δ, δ of shape (nv,), so that quaternions keep their norm.

    Attributes:
        robot: robot with the constraints.
        rows: name of each row, m of them.
        owners: name of the constraint that each row belongs to.
        flat: True if q̇ = v, so that a move is q + δ.
    """

    def __init__(self, robot: Robot) -> None:
        """Collect the equations.

        Args:
            robot: robot with or without natural constraints.
        """
        c = robot.coordinates
        forms = [(k.name, ca.densify(k.residual(c))) for k in robot.natural if k.order == 0]
        self.robot = robot
        self.rows = tuple(name for label, e in forms for name in row_names(label, e.numel()))
        self.owners = tuple(label for label, e in forms for _ in range(e.numel()))
        self.residual = ca.vertcat(ca.SX(0, 1), *(e for _, e in forms))
        self.flat = c.are_rates
        self._symbols = {"t": c.t, "q": c.q, "p": robot.p}

    @functools.cached_property
    def first(self) -> Kernel:
        """(t, q, p) → φ and φ_q N."""
        c = self.robot.coordinates
        jacobian = ca.jacobian(self.residual, c.q) @ c.N
        return Kernel("places", self._symbols, {"residual": self.residual, "jacobian": jacobian}, compiled=False)

    @functools.cached_property
    def second(self) -> Kernel:
        """(t, q, p) → φ, and the gradient and Hessian of ½φᵀφ along moves."""
        c = self.robot.coordinates
        d = ca.SX.sym("d", c.nv)
        along = c.N @ d
        # A move to second order: its curvature belongs to the Hessian.
        moved = c.q + along + ca.jtimes(along, c.q, along) / 2
        f = ca.sumsqr(ca.substitute(self.residual, c.q, moved)) / 2
        H, g = ca.hessian(f, d)
        rest = ca.SX.zeros(c.nv)
        outputs = {"residual": self.residual, "g": ca.substitute(g, d, rest), "H": ca.substitute(H, d, rest)}
        return Kernel("curvature", self._symbols, outputs, compiled=False)

    @functools.cached_property
    def mover(self) -> Kernel:
        """(q, δ) → the coordinates reached by q̇ = N(q) δ in unit time."""
        c = self.robot.coordinates
        d = ca.SX.sym("d", c.nv)
        N = ca.Function("N", [c.q], [c.N])
        q = c.q
        for _ in range(SUBSTEPS):
            q = rk4_step(lambda _, x: N.call([x])[0] @ d, 0.0, q, 1.0 / SUBSTEPS)
        return Kernel("move", {"q": c.q, "d": d}, {"q": q}, compiled=False)

    def locked_velocities(self, fixed: Iterable[str]) -> list[int]:
        """Return the indices of the velocities that must vanish to fix coordinates.

        Args:
            fixed: names of the coordinates.

        Raises:
            ModelError: for an unknown name, or if other coordinates that are not named must be fixed too.
        """
        c = self.robot.coordinates
        names = tuple(fixed)
        for name in names:
            if name not in c.names:
                raise ModelError(f"{self.robot.name}: fixed: {unknown_name('coordinate', name, c.names)}")
        indices = {c.names.index(name) for name in names}
        columns = [j for j in range(c.nv) if any(not c.N[i, j].is_zero() for i in indices)]
        others = [c.names[i] for i in range(c.nq) if i not in indices and any(not c.N[i, j].is_zero() for j in columns)]
        if others:
            raise ModelError(
                f"{self.robot.name}: {', '.join(names)} cannot be fixed alone, because the velocities that move them "
                f"also move {', '.join(others)}; fix those too, or none of them"
            )
        return columns

    def at(self, t: float, p: Array, fixed: Iterable[str]) -> PositionProblem:
        """Return the problem at a time, for given parameters, with coordinates fixed.

        Args:
            t: time [s].
            p: parameters, shape (np,).
            fixed: names of the coordinates that keep their values.
        """
        columns = self.locked_velocities(fixed)
        free = [j for j in range(self.robot.coordinates.nv) if j not in columns]
        return PositionProblem(self, t, p, np.array(free, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class PositionProblem:
    """φ(q) = 0 at one time and for given parameters, with some velocities locked.

    Attributes:
        equations: the position equations.
        t: time [s].
        p: parameters, shape (np,).
        free: indices of the velocities that are not locked, shape (f,).
    """

    equations: PositionEquations
    t: float
    p: Array
    free: NDArray[np.int64]

    def evaluate(self, q: Array) -> tuple[Array, Array]:
        """Return φ, shape (m,), and φ_q N, shape (m, nv), at q."""
        r, J = self.equations.first(self.t, q, self.p)
        return np.atleast_1d(r), J.reshape(len(self.equations.rows), self.equations.robot.coordinates.nv)

    def move(self, q: Array, step: Array) -> Array:
        """Return the coordinates that free velocities ``step``, shape (f,), reach from q in unit time."""
        d = np.zeros(self.equations.robot.coordinates.nv)
        d[self.free] = step
        return q + d if self.equations.flat else np.atleast_1d(self.equations.mover(q, d)[0])

    def close(self, start: Array, tolerance: float) -> LeastSquaresResult:
        """Run Newton's method from one start; if it stalls, exact second derivatives lead to the least residual.

        Args:
            start: coordinates, shape (nq,).
            tolerance: largest admissible |φ_i|.

        Raises:
            NotFiniteError: if the equations are not finite at the start.
        """
        r, J = self.evaluate(start)
        broken = ~np.isfinite(r) | ~np.isfinite(J).all(axis=1)
        if broken.any():
            row = self.equations.rows[int(np.argmax(broken))]
            raise NotFiniteError(
                f"{self.equations.robot.name}: {row!r} or its derivative is not finite at "
                f"q = {np.array2string(start, precision=4)}; start from another guess"
            )
        found = gauss_newton(self._slope, start, move=self.move, step_limit=STEP)
        if found.size <= tolerance:
            return self.sharpen(found)
        lower = descend(self._curvature, found.x, move=self.move, step_limit=STEP)
        last = gauss_newton(self._slope, lower.x, move=self.move, step_limit=STEP)
        best = min((found, lower, last), key=lambda f: f.size)
        ended = LeastSquaresResult(best.x, best.residual, found.iterations + lower.iterations + last.iterations)
        return self.sharpen(ended) if ended.size <= tolerance else ended

    def sharpen(self, found: LeastSquaresResult) -> LeastSquaresResult:
        """Refine a root where φ_q N loses rank to rounding error; return any other unchanged.

        Near a multiple root φ is quadratic in the distance, so that φ = 0 alone determines it only to 1e-8. The root
        also satisfies nᵀφ_q N w = 0, for left and right null vectors n and w.

        Args:
            found: solution of φ = 0.
        """
        x = found.x
        for _ in range(SHARPENINGS):
            r, J = self._slope(x)
            U, values, Vt = np.linalg.svd(J)
            rank = int((values > SOFT * max(1.0, float(values.max(initial=0.0)))).sum())
            left, right = U[:, rank:], Vt[rank:].T
            if not left.size or not right.size:
                return found
            turning = np.empty((left.shape[1] * right.shape[1], len(self.free)))
            for j, unit in enumerate(np.eye(len(self.free))):
                ahead, behind = (self._slope(self.move(x, side * NEARBY * unit))[1] for side in (1.0, -1.0))
                turning[:, j] = (left.T @ (ahead - behind) @ right / (2.0 * NEARBY)).reshape(-1)
            missed = np.concatenate([r, (left.T @ J @ right).reshape(-1)])
            step = np.asarray(np.linalg.lstsq(np.vstack([J, turning]), missed, rcond=SOFT)[0], dtype=np.float64)
            if not float(np.abs(step).max(initial=0.0)) <= CLOSE:
                return found
            x = self.move(x, -step)
        residual = self._slope(x)[0]
        sharp = LeastSquaresResult(x, residual, found.iterations + SHARPENINGS)
        return sharp if sharp.size <= found.size + ROUNDING * (1.0 + float(np.abs(x).max(initial=0.0))) else found

    def wrap(self, q: Array, near: Array) -> Array:
        """Return ``q`` with every angle within half a turn of ``near``."""
        turns = np.zeros(len(q))
        turns[self.periodic] = np.round((q - near)[self.periodic] / TURN)
        return q - TURN * turns

    @functools.cached_property
    def periodic(self) -> NDArray[np.int64]:
        """Free coordinates whose full turn changes no equation, tested at a few positions; empty unless q̇ = v."""
        if not self.equations.flat:
            return np.zeros(0, dtype=np.int64)
        n = self.equations.robot.coordinates.nq
        angles: list[int] = []
        for i in self.free:
            same = True
            for sample in low_discrepancy_points(n, 3):
                q = TURN * sample
                r, J = self.evaluate(q)
                turned = self.evaluate(q + TURN * np.eye(n)[i])[0]
                rounding = 1e-12 * (1.0 + np.abs(r).max(initial=0.0) + np.abs(J).max(initial=0.0))
                same = same and bool((np.abs(turned - r) <= rounding).all())
            if same:
                angles.append(int(i))
        return np.array(angles, dtype=np.int64)

    def starts(self, guess: Array, count: int) -> Iterator[Array]:
        """Yield the guess, then a fixed set of points spread evenly over a box around it.

        The box extends half a turn to either side for angles, and for lengths the largest residual over the largest
        derivative.

        Args:
            guess: centre of the box, shape (nq,).
            count: number of starts, including the guess.
        """
        yield guess
        span = np.full(len(self.free), TURN / 2)
        if self.equations.flat:
            lengths = ~np.isin(self.free, self.periodic)
            turning = np.where(lengths, 0.0, span)
            samples = [
                self.evaluate(self.move(guess, turning * (2.0 * s - 1.0)))
                for s in low_discrepancy_points(len(self.free), 8)
            ]
            misfit = max((float(np.abs(r).max(initial=0.0)) for r, _ in samples), default=0.0)
            for k in np.flatnonzero(lengths):
                slope = max(float(np.abs(J[:, self.free[k]]).max(initial=0.0)) for _, J in samples)
                if slope > 0.0:
                    span[k] = misfit / slope
        for sample in low_discrepancy_points(len(self.free), count - 1):
            yield self.move(guess, span * (2.0 * sample - 1.0))

    def _slope(self, q: Array) -> tuple[Array, Array]:
        r, J = self.evaluate(q)
        return r, J[:, self.free]

    def _curvature(self, q: Array) -> tuple[Array, Array, Array]:
        r, g, H = self.equations.second(self.t, q, self.p)
        n = self.equations.robot.coordinates.nv
        return np.atleast_1d(r), np.atleast_1d(g)[self.free], H.reshape(n, n)[np.ix_(self.free, self.free)]


def low_discrepancy_points(dimension: int, count: int) -> Iterator[Array]:
    """Yield points that fill the unit cube evenly: the additive sequence of the root of x^(d+1) = x + 1.

    Args:
        dimension: d.
        count: number of points, each of shape (d,).
    """
    root = 2.0
    for _ in range(60):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    return ((0.5 + k * steps) % 1.0 for k in range(1, count + 1))
