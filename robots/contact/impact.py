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

NOTHING = 1e-12
"""Share of the motion's size below which an impulse is rounding, and not there."""

_BUILT: weakref.WeakKeyDictionary[Robot, tuple[tuple[str, ...], Kernel]] = weakref.WeakKeyDictionary()
"""Kernels of robots that were struck: in a motion of many steps, or many motions, they are struck again."""
_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class Impact:
    """What happens in the instant in which contacts are made.

    Attributes:
        velocity: v⁺, shape (nv,).
        impulses: of each natural row, shape (k,) [N s]; the least ones if the rows depend on each other.
        by_constraint: the same by the name of the natural constraint; one whose name occurred before is called
            ``"name 2"``.
        energy_before: T⁻ [J].
        energy_after: T⁺ [J].
        friction: least coefficient of friction for each contact that was made, by name; infinite if it would have to
            pull.
        rank: of the rows; less than k if some depend on others.
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
        """T⁻ − T⁺ [J]; by Carnot's theorem, without restitution, the energy of the lost velocities v⁻ − v⁺."""
        return self.energy_before - self.energy_after

    def required_friction(self, contact: Contact) -> float:
        """|Λ_t| / Λ_n: least coefficient of friction with which a foot does not slip in the instant.

        Zero for a foot that is not struck, infinite for one that the ground would have to pull. A foot that stood
        before and would have to be pulled leaves the ground: let the impact happen without it.

        Args:
            contact: one that is on after the impact, made now or before.

        Raises:
            ModelError: if it is not on.
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
    """v⁺ from the impulse equations M (v⁺ − v⁻) = Aᵀ Λ, in two parts, Λ = Λ° + Λ′.

    Compression brings all natural rows to rest, the new contacts like those that stood before and all others:
    M (v° − v⁻) = Aᵀ Λ°, A v° + φ_t = 0. Then each contact that is made gives back the share e of its normal impulse,
    n·Λ′ = e n·Λ°, while all else is held: M (v⁺ − v°) = Aᵀ Λ′, with A v⁺ + φ_t = 0 but along these normals. Forces of
    finite size, springs and weight among them, do nothing in the instant.

    This e is Poisson's ratio of impulses. It is also Newton's ratio of speeds, n·v⁺ = −e n·v⁻ at the foot, if the foot
    does not slide before the impact, or if a push along the normal does not make it slide. Elsewhere Newton's rule can
    let the energy grow; with Poisson's, of feet that stick, it never does while the ground is at rest, [Glocker2014]_.

    Args:
        robot: with all contacts on that hold after the impact, the new ones among them.
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        contacts: those that are made now; none if it is another natural constraint that strikes, such as a lock.
        restitution: e in [0, 1]; 0 for feet that do not bounce.
        t: time [s].
        p: parameters that differ from their nominal values; the places of the contacts are taken from q.

    Raises:
        ModelError: for a contact that is not on, a restitution outside [0, 1], rows that contradict each other or say
            nothing of an impact, or a position without inertia. With restitution also if the ground would have to
            pull, if a foot would go into the ground, or if the normal impulses are not determined.
    """
    e = finite("restitution", restitution)
    if not 0.0 <= e <= 1.0:
        raise ModelError(f"restitution must be between 0 and 1, got {restitution!r}")
    made = contact_tuple(contacts)
    for contact in made:
        contact_rows(robot, contact)
    before = vector("v", v, robot.coordinates.nv)
    equations, rates = _equations(robot, made, q, before, t, p)
    size = equations.size(before)
    found = equations.solve(rates, np.zeros(before.size), size)
    after, values = before + found.change, found.values
    if e > 0.0 and made:
        change, back = _restitution(robot, equations, found, made, e, size)
        after, values = after + change, values + back
    by_constraint: dict[str, Array] = {}
    for name, rows in _spans(robot).items():
        if float(np.linalg.norm(values[rows] * found.mobility[rows])) <= NOTHING * size:
            values[rows] = 0.0
        by_constraint[name] = values[rows].copy()
    return Impact(
        velocity=after,
        impulses=values,
        by_constraint=by_constraint,
        energy_before=float(before @ equations.M @ before) / 2,
        energy_after=float(after @ equations.M @ after) / 2,
        friction={contact.name: _friction(by_constraint[contact.name], contact) for contact in made},
        rank=found.rank,
    )


def _equations(
    robot: Robot, made: tuple[Contact, ...], q: ArrayLike, before: Array, t: float, p: Mapping[str, float] | None
) -> tuple[ImpulseEquations, Array]:
    """The impulse equations at q, and the rates A v⁻ + φ_t."""
    c = robot.coordinates
    position = vector("q", q, c.nq)
    values = robot.parameters.values(
        without_contact_positions(p, made) | contact_positions(robot, made, position, t=t, p=p)
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
    """Names of the natural rows, and the kernel of M, A and A v⁻ + φ_t."""
    c = robot.coordinates
    names: list[str] = []
    expressions: list[ca.SX] = []
    for constraint in robot.natural:
        residual = constraint.residual(c)
        if constraint.order == 2:
            raise ModelError(f"{robot.name}: {constraint.name!r} is of order 2 and says nothing of an impact")
        expressions.append(c.rate(residual) if constraint.order == 0 else residual)
        names.extend(row_names(constraint.name, residual.numel()))
    rate = ca.densify(ca.vertcat(ca.SX(0, 1), *expressions))
    A = ca.densify(ca.jacobian(rate, c.v))
    if ca.depends_on(A, c.v):
        raise ModelError(f"{robot.name}: a natural constraint that is not linear in v says nothing of an impact")
    kernel = Kernel(
        "impact",
        {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
        {"M": robot.mass_matrix, "A": A, "rate": rate},
        compiled=False,
    )
    return tuple(names), kernel


def _restitution(
    robot: Robot, equations: ImpulseEquations, compression: Impulses, made: tuple[Contact, ...], e: float, size: float
) -> tuple[Array, Array]:
    """Change of velocity, and impulses, of the restitution.

    Of all impulses with the normal parts of the compression's, it gives back e² times the least energy, and the
    compression took that of one of them: the energy never grows.
    """
    count = len(equations.rows)
    normals = np.zeros((len(made), count))
    # What is held: all rows but those of the contacts made, and of these the directions across the normal.
    held = [np.eye(count)]
    for i, contact in enumerate(made):
        rows = contact_rows(robot, contact)
        normals[i, rows] = contact.normal
        held[0][rows] = 0.0
        across = np.zeros((len(contact.normal) - 1, count))
        across[:, rows] = np.linalg.svd(np.array([contact.normal]))[2][1:]
        held.append(across)
    hold = np.vstack(held)
    hold = hold[np.any(hold != 0.0, axis=1)]
    if float(np.abs(normals @ compression.idle).max(initial=0.0)) > 1e-6:
        raise ModelError(
            f"{robot.name}: the natural rows depend on each other, so the normal impulses are not determined, nor what "
            "they give back: leave out rows with without_rows(...), or take restitution=0"
        )
    pushed = normals @ compression.values
    felt = np.sqrt(normals**2 @ compression.mobility**2)
    for contact, impulse, mobility in zip(made, pushed, felt, strict=True):
        if impulse * mobility < -1e-9 * size:
            raise ModelError(
                f"{robot.name}: the ground would have to pull at {contact.name!r} with {-impulse:g} N s, and what "
                "is not pushed is not given back: take restitution=0, or let the impact happen without this foot"
            )
    given = normals.T @ (e * np.maximum(pushed, 0.0))
    tied = dataclasses.replace(equations, A=hold @ equations.A, rows=("a held row",) * len(hold))
    back = tied.solve(np.zeros(len(hold)), equations.A.T @ given, size)
    for contact, speed, mobility in zip(made, normals @ equations.A @ back.change, felt, strict=True):
        if speed < -1e-9 * size * mobility:
            raise ModelError(
                f"{robot.name}: {contact.name!r} would go into the ground with {-speed:g} m/s, because another foot "
                "strikes harder: let the feet strike one after the other, an impact each, or take restitution=0"
            )
    return back.change, given + hold.T @ back.values


def _friction(impulse: Array, contact: Contact) -> float:
    normal = np.array(contact.normal)
    size, pushing = float(np.linalg.norm(impulse)), float(normal @ impulse)
    if size == 0.0:
        return 0.0
    return float(np.linalg.norm(impulse - normal * pushing)) / pushing if pushing > NOTHING * size else np.inf


def _spans(robot: Robot) -> dict[str, slice]:
    """Where the rows of each natural constraint are; a name that occurs again gets a number."""
    found: dict[str, slice] = {}
    first = 0
    for constraint in robot.natural:
        size = constraint.residual(robot.coordinates).numel()
        count = sum(other.name == constraint.name for other in robot.natural[: len(found)])
        found[f"{constraint.name} {count + 1}" if count else constraint.name] = slice(first, first + size)
        first += size
    return found
