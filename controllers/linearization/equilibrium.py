"""Equilibria: positions at which inputs and reactions balance the forces, h = B u + Aᵀμ at v = 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.manifold.manifold import Manifold
from ...robots.mechanisms.position_equations import PositionEquations
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotConvergedError, NotFiniteError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, vector
from .tangent_space import accessible_directions

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None

ITERATIONS = 100
TOLERANCE = 1e-11
"""Residual of the forces, as a share of those that act, and of the position constraints, in their units."""
STEP = 0.3
"""Largest change of a coordinate in one step [rad or m]."""
RANK = 1e-10
"""A singular value counts as zero below this share of the largest."""


class NoEquilibriumError(NotConvergedError):
    """Raised for a position that the inputs cannot hold.

    Attributes:
        nearest: coordinates with the least residual, shape (nq,).
        missing: residual generalized force there, by the name of its velocity [N or N m].
    """

    def __init__(self, message: str, nearest: Array, missing: Mapping[str, float]) -> None:
        """Store the message and the nearest position.

        Args:
            message: text of the error.
            nearest: coordinates with the least residual, shape (nq,).
            missing: residual generalized force, by the name of its velocity [N or N m].
        """
        super().__init__(message)
        self.nearest = nearest
        self.missing = dict(missing)


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An equilibrium position with its inputs and reactions.

    Attributes:
        q: coordinates, shape (nq,).
        u: inputs, shape (nu,).
        reactions: μ of the natural rows, shape (k,); of least norm where rows depend on each other.
        residual: largest residual generalized force [N or N m].
    """

    q: Array
    u: Array
    reactions: Array
    residual: float

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.q, self.u, self.reactions):
            array.setflags(write=False)


def equilibrium(
    robot: Robot,
    q: ArrayLike,
    u: ArrayLike | None = None,
    *,
    fixed: Iterable[str] = (),
    t: float = 0.0,
    p: Values = None,
) -> Equilibrium:
    """Find an equilibrium next to a guess, with inputs of least norm.

    Gauss–Newton steps of least norm on h(q) = B u + Aᵀμ and φ(q) = 0 in q, u and μ. Of the many positions that inputs
    can hold, one near the guess is found: the guess itself if it is an equilibrium.

    Args:
        robot: the model, with or without natural constraints.
        q: guess of the coordinates, shape (nq,).
        u: fixed inputs, shape (nu,), such as zeros for a position without inputs; solved for if not given.
        fixed: names of coordinates that keep their guess; all of them to find the inputs for exactly this position.
        t: time [s], for constraints that depend on it; they must be at rest.
        p: parameters: nominal, overridden by name, or the whole vector.

    Raises:
        NoEquilibriumError: if the inputs cannot hold any such position; the message gives the missing forces.
        ModelError: for an unknown coordinate, or natural constraints that do not admit rest.
        ShapeError, ParameterError: for bad numbers.
        NotFiniteError: if a force is not finite during the search.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"equilibrium requires a Robot, got {robot!r}")
    c, nu = robot.coordinates, robot.u.numel()
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in c.names:
            raise ModelError(f"{robot.name}: {unknown_name('coordinate', name, c.names)}")
    place, numbers = vector("q", q, c.nq), robot.parameters.values(p)
    held = None if u is None else vector("u", u, nu)
    balance = _Balance(robot, finite("t", t), numbers)
    moves = np.array([name not in names for name in c.names])
    x = np.concatenate([place, np.zeros(nu) if held is None else held, np.zeros(len(robot.natural_rows))])
    others = np.concatenate([np.full(nu, held is None), np.ones(len(robot.natural_rows), dtype=np.bool_)])
    # Solve for inputs and reactions first: a position that can be held is not changed.
    left, slope = balance(x)
    x = x + _least(slope, left, np.zeros((c.nq, 0)), others)
    left, slope = balance(x)
    for _ in range(ITERATIONS):
        if np.linalg.norm(left) <= TOLERANCE * balance.size(x):
            break
        move = _least(slope, left, balance.directions(x, moves), others)
        largest = float(np.abs(move[: c.nq]).max(initial=0.0))
        move *= min(1.0, STEP / largest) if largest > 0.0 else 1.0
        share, size = 1.0, float(np.linalg.norm(left))
        while share > 1e-9 and not np.linalg.norm(balance(balance.moved(x, share * move, moves))[0]) < size:
            share /= 2
        if share <= 1e-9:
            break
        x = balance.moved(x, share * move, moves)
        left, slope = balance(x)
    forces, misses = left[: c.nv], left[c.nv :]
    if np.abs(left).max(initial=0.0) <= 1e3 * TOLERANCE * balance.size(x):
        return Equilibrium(x[: c.nq], x[c.nq : c.nq + nu], x[c.nq + nu :], float(np.abs(forces).max(initial=0.0)))
    if np.abs(misses).max(initial=0.0) > np.abs(forces).max(initial=0.0):
        raise ModelError(
            f"{robot.name}: the natural constraints are missed by {np.abs(misses).max():.3g} next to this position: "
            "start from an assembled one"
        )
    lacking = {c.v[i].name(): float(f) for i, f in enumerate(forces) if abs(f) > 1e-6 * balance.size(x)}
    listed = ", ".join(f"{name} lacks {-force:.4g}" for name, force in lacking.items())
    raise NoEquilibriumError(
        f"the {'inputs' if held is None else 'given inputs'} of {robot.name} cannot hold "
        f"{'this position' if not moves.any() else 'any position that was found from this guess'}: {listed} [N or N m]"
        ". Release coordinates, choose another guess, or add a drive",
        x[: c.nq],
        lacking,
    )


class _Balance:
    """Residual forces at rest and position errors, with their derivatives by q, u and μ."""

    def __init__(self, robot: Robot, t: float, p: Array) -> None:
        c = robot.coordinates
        A, mu = robot.natural_form[0], ca.SX.sym("mu", len(robot.natural_rows))
        manifold = Manifold.of(robot)
        rest = ca.SX.zeros(c.nv)
        acting = ca.horzcat(robot.bias, -robot.input_matrix @ robot.u, -A.T @ mu)
        forces = ca.substitute(ca.sum2(acting), c.v, rest)
        left = ca.densify(ca.vertcat(forces, manifold.position_residual))
        x = ca.vertcat(c.q, robot.u, mu)
        slope = ca.jacobian(left, x)
        moving = ca.substitute(manifold.velocity_residual, c.v, rest)
        inputs = {"t": c.t, "x": x, "p": robot.p}
        outputs = {
            "left": left,
            "slope": ca.vec(slope),
            "acting": ca.vec(ca.substitute(acting, c.v, rest)),
            "moving": moving,
            "N": ca.vec(c.N),
            "reached": ca.vec(accessible_directions(c.N, c.q)),
        }
        self._kernel = Kernel("balance", inputs, outputs, compiled=False)
        self._t, self._p, self._shape, self._robot = t, p, slope.shape, robot
        self._places = PositionEquations(robot)

    def __call__(self, x: Array) -> tuple[Array, Array]:
        left, slope, _, moving, *_ = map(np.atleast_1d, self._kernel(self._t, x, self._p))
        if not (np.isfinite(left).all() and np.isfinite(slope).all()):
            raise NotFiniteError(f"{self._robot.name}: a force, or its derivative, is not finite at rest")
        if np.abs(moving).max(initial=0.0) > 1e-9:
            raise ModelError(f"{self._robot.name}: its natural constraints do not admit rest at t = {self._t:g}")
        return left, slope.reshape(self._shape, order="F")

    def directions(self, x: Array, moves: NDArray[np.bool_]) -> Array:
        """Return orthonormal columns along which coordinates can move, shape (nq, k), with fixed ones constant."""
        nq = len(moves)
        if self._places.flat:
            return np.eye(nq)[:, moves]
        columns = np.atleast_1d(self._kernel(self._t, x, self._p)[5]).reshape(nq, -1, order="F")
        # The remaining span is orthogonal to unreachable directions and to the fixed coordinates.
        U, values, _ = np.linalg.svd(columns)
        barred = np.hstack([U[:, np.count_nonzero(values > RANK * values[0]) :], np.eye(nq)[:, ~moves]])
        U, values, _ = np.linalg.svd(barred)
        return np.asarray(U[:, np.count_nonzero(values > RANK) :], dtype=np.float64)

    def moved(self, x: Array, move: Array, moves: NDArray[np.bool_]) -> Array:
        """Return x + move, with coordinates moved along q̇ = N v, so that a quaternion keeps its length."""
        nq, after = len(moves), x + move
        if not self._places.flat:
            N = np.atleast_1d(self._kernel(self._t, x, self._p)[4]).reshape(nq, -1, order="F")
            v = np.linalg.lstsq(N, move[:nq], rcond=RANK)[0]
            after[:nq] = np.atleast_1d(self._places.mover(x[:nq], v)[0]) + move[:nq] - N @ v
            after[:nq][~moves] = x[:nq][~moves]
        return after

    def size(self, x: Array) -> float:
        """Return the size of the forces that act, at least 1."""
        return max(1.0, float(np.linalg.norm(np.atleast_1d(self._kernel(self._t, x, self._p)[2]))))


def _least(slope: Array, left: Array, directions: Array, others: NDArray[np.bool_]) -> Array:
    """Return the step of least norm, of q along directions and of free u and μ, with the least residual."""
    nq, k = directions.shape
    step, columns = np.zeros(slope.shape[1]), np.hstack([slope[:, :nq] @ directions, slope[:, nq:][:, others]])
    if columns.size:
        found = -np.linalg.lstsq(columns, left, rcond=RANK)[0]
        step[:nq] = directions @ found[:k]
        step[nq:][others] = found[k:]
    return step
