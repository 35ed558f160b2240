"""Impacts of contacts: velocities after the impact, impulses and energy loss."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import row_names
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.validation import finite, vector
from ..robot import Robot
from .contact import Contact, contact_positions, contact_rows, contact_tuple, without_contact_positions
from .impulse_equations import ImpulseEquations, Impulses

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-12
"""Size of an impulse, relative to the motion, below which it is rounding error."""

_BUILT: weakref.WeakKeyDictionary[Robot, tuple[tuple[str, ...], Kernel]] = weakref.WeakKeyDictionary()
"""Kernels by robot, reused over the impacts of a motion and of many motions."""
_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class Impact:
    """Result of an impact: velocities, impulses and energies at the instant in which contacts close.

    Attributes:
        velocity: v⁺, shape (nv,).
        impulses: impulse of each natural row, shape (k,) [N s]; of least norm if the rows depend on each other.
        by_constraint: impulses by name of the natural constraint; a repeated name becomes ``"name 2"``.
        energy_before: T⁻ [J].
        energy_after: T⁺ [J].
        friction: least coefficient of friction for each closing contact, by name; infinite if the ground would have to
            pull.
        rank: rank of the rows; less than k if some depend on others.
    """

    velocity: Array
    impulses: Array
    by_constraint: Mapping[str, Array]
    energy_before: float
    energy_after: float
    friction: Mapping[str, float]
    rank: int

    def __post_init__(self) -> None:
        """Freeze the values."""
        for array in (self.velocity, self.impulses, *self.by_constraint.values()):
            array.setflags(write=False)
        object.__setattr__(self, "by_constraint", MappingProxyType(dict(self.by_constraint)))
        object.__setattr__(self, "friction", MappingProxyType(dict(self.friction)))

    @property
    def energy_loss(self) -> float:
        """T⁻ − T⁺ [J]; without restitution it is the energy of v⁻ − v⁺, by Carnot's theorem."""
        return self.energy_before - self.energy_after

    def required_friction(self, contact: Contact) -> float:
        """Return |Λ_t| / Λ_n, the least coefficient of friction that prevents slip during the impact.

        Zero for a foot without impulse, infinite for one that the ground would have to pull. A standing foot that would
        have to be pulled leaves the ground: compute the impact without it.

        Args:
            contact: a contact that is active after the impact, closed now or before.

        Raises:
            ModelError: if the contact is not active.
        """
        if contact.name not in self.by_constraint:
            raise ModelError(unknown_name("natural constraint", contact.name, self.by_constraint))
        return _friction(self.by_constraint[contact.name], contact)


def impact(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Sequence[Contact],
    *,
    restitution: float = 0.0,
    t: float = 0.0,
    p: Mapping[str, float] | None = None,
) -> Impact:
    """Solve the impulse equations M (v⁺ − v⁻) = Aᵀ Λ for v⁺, in two parts, Λ = Λ° + Λ′.

    Compression brings all natural rows to rest, those of new contacts, standing contacts and all other constraints:
    M (v° − v⁻) = Aᵀ Λ°, A v° + φ_t = 0. Restitution then returns the fraction e of the normal impulse of each closing
    contact, n·Λ′ = e n·Λ°, with all other directions constrained: M (v⁺ − v°) = Aᵀ Λ′, with A v⁺ + φ_t = 0 except along
    these normals. Finite forces, such as springs and weight, have no effect during the impact.

    This e is Poisson's ratio of impulses. It is also Newton's ratio of speeds, n·v⁺ = −e n·v⁻ at the foot, if the foot
    does not slide before the impact, or if a push along the normal does not make it slide. Otherwise Newton's rule can
    increase the energy; Poisson's rule, for sticking feet, never does on ground at rest, [Glocker2014]_.

    Args:
        robot: the robot with all contacts that are active after the impact, including the new ones.
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        contacts: the closing contacts; empty if another natural constraint, such as a lock, causes the impact.
        restitution: e in [0, 1]; 0 for feet that do not bounce.
        t: time [s].
        p: parameters that differ from their nominal values; contact positions are computed from q.

    Raises:
        ModelError: for a contact that is not active, a restitution outside [0, 1], rows that contradict each other or
            do not restrict velocities linearly, or a position without inertia. With restitution also if the ground
            would have to pull, if a foot would penetrate the ground, or if the normal impulses are not determined.
    """
    e = finite("restitution", restitution)
    if not 0.0 <= e <= 1.0:
        raise ModelError(f"restitution must be between 0 and 1, got {restitution!r}")
    closing = contact_tuple(contacts)
    for contact in closing:
        contact_rows(robot, contact)
    before = vector("v", v, robot.coordinates.nv)
    equations, rates = _equations(robot, closing, q, before, t, p)
    size = equations.size(before)
    compression = equations.solve(rates, np.zeros(before.size), size)
    after, values = before + compression.change, compression.values
    if e > 0.0 and closing:
        change, returned = _restitution(robot, equations, compression, closing, e, size)
        after, values = after + change, values + returned
    by_constraint: dict[str, Array] = {}
    for name, rows in _constraint_rows(robot).items():
        if float(np.linalg.norm(values[rows] * compression.mobility[rows])) <= NEGLIGIBLE * size:
            values[rows] = 0.0
        by_constraint[name] = values[rows].copy()
    return Impact(
        velocity=after,
        impulses=values,
        by_constraint=by_constraint,
        energy_before=float(before @ equations.M @ before) / 2,
        energy_after=float(after @ equations.M @ after) / 2,
        friction={contact.name: _friction(by_constraint[contact.name], contact) for contact in closing},
        rank=compression.rank,
    )


def _equations(
    robot: Robot, closing: tuple[Contact, ...], q: ArrayLike, before: Array, t: float, p: Mapping[str, float] | None
) -> tuple[ImpulseEquations, Array]:
    """Build the impulse equations at q, and the rates A v⁻ + φ_t."""
    c = robot.coordinates
    position = vector("q", q, c.nq)
    values = robot.parameters.values(
        without_contact_positions(p, closing) | contact_positions(robot, closing, position, t=t, p=p)
    )
    with _LOCK:
        if robot not in _BUILT:
            _BUILT[robot] = _build(robot)
        names, kernel = _BUILT[robot]
        # Calls of a kernel share its arrays.
        M, rows, rates = kernel(t, position, before, values)
    equations = ImpulseEquations(
        M=M.reshape(c.nv, c.nv),
        A=rows.reshape(len(names), c.nv),
        rows=names,
        velocities=tuple(c.v[i].name() for i in range(c.nv)),
        owner=robot.name,
    )
    return equations, np.atleast_1d(rates)


def _build(robot: Robot) -> tuple[tuple[str, ...], Kernel]:
    """Build the names of the natural rows, and the kernel of M, A and A v⁻ + φ_t."""
    c = robot.coordinates
    names: list[str] = []
    expressions: list[ca.SX] = []
    for constraint in robot.natural:
        residual = constraint.residual(c)
        if constraint.order == 2:
            raise ModelError(f"{robot.name}: {constraint.name!r} is of order 2 and does not determine an impact")
        expressions.append(c.rate(residual) if constraint.order == 0 else residual)
        names.extend(row_names(constraint.name, residual.numel()))
    rate = ca.densify(ca.vertcat(ca.SX(0, 1), *expressions))
    A = ca.densify(ca.jacobian(rate, c.v))
    if ca.depends_on(A, c.v):
        raise ModelError(f"{robot.name}: natural constraints must be linear in v to determine an impact")
    kernel = Kernel(
        "impact",
        {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
        {"M": robot.mass_matrix, "A": A, "rate": rate},
        compiled=False,
    )
    return tuple(names), kernel


def _restitution(
    robot: Robot,
    equations: ImpulseEquations,
    compression: Impulses,
    closing: tuple[Contact, ...],
    e: float,
    size: float,
) -> tuple[Array, Array]:
    """Return the change of velocity, and the impulses, of the restitution.

    Among all impulses with the normal parts of the compression, restitution returns e² times the least energy, while
    compression removed at least that much: the energy never grows.
    """
    count = len(equations.rows)
    normals = np.zeros((len(closing), count))
    # Constrained: all rows except those of closing contacts, and for these the directions across the normal.
    blocks = [np.eye(count)]
    for i, contact in enumerate(closing):
        rows = contact_rows(robot, contact)
        normals[i, rows] = contact.normal
        blocks[0][rows] = 0.0
        across = np.zeros((len(contact.normal) - 1, count))
        across[:, rows] = np.linalg.svd(np.array([contact.normal]))[2][1:]
        blocks.append(across)
    constrained = np.vstack(blocks)
    constrained = constrained[np.any(constrained != 0.0, axis=1)]
    if float(np.abs(normals @ compression.null_space).max(initial=0.0)) > 1e-6:
        raise ModelError(
            f"{robot.name}: the natural rows depend on each other, so the normal impulses are not determined, and "
            "neither is the restitution: remove rows with without_rows(...), or use restitution=0"
        )
    pushed = normals @ compression.values
    mobilities = np.sqrt(normals**2 @ compression.mobility**2)
    for contact, impulse, mobility in zip(closing, pushed, mobilities, strict=True):
        if impulse * mobility < -1e-9 * size:
            raise ModelError(
                f"{robot.name}: the ground would have to pull at {contact.name!r} with {-impulse:g} N s, and "
                "restitution requires a push: use restitution=0, or compute the impact without this foot"
            )
    returned = normals.T @ (e * np.maximum(pushed, 0.0))
    rest = dataclasses.replace(equations, A=constrained @ equations.A, rows=("a constrained row",) * len(constrained))
    expansion = rest.solve(np.zeros(len(constrained)), equations.A.T @ returned, size)
    for contact, speed, mobility in zip(closing, normals @ equations.A @ expansion.change, mobilities, strict=True):
        if speed < -1e-9 * size * mobility:
            raise ModelError(
                f"{robot.name}: {contact.name!r} would penetrate the ground with {-speed:g} m/s, because another foot "
                "strikes harder: compute one impact for each foot in turn, or use restitution=0"
            )
    return expansion.change, returned + constrained.T @ expansion.values


def _friction(impulse: Array, contact: Contact) -> float:
    normal = np.array(contact.normal)
    size, pushing = float(np.linalg.norm(impulse)), float(normal @ impulse)
    if size == 0.0:
        return 0.0
    return float(np.linalg.norm(impulse - normal * pushing)) / pushing if pushing > NEGLIGIBLE * size else np.inf


def _constraint_rows(robot: Robot) -> dict[str, slice]:
    """Return the rows of each natural constraint; a repeated name gets a number."""
    slices: dict[str, slice] = {}
    first = 0
    for constraint, size in zip(robot.natural, robot.natural_sizes, strict=True):
        count = sum(other.name == constraint.name for other in robot.natural[: len(slices)])
        slices[f"{constraint.name} {count + 1}" if count else constraint.name] = slice(first, first + size)
        first += size
    return slices
