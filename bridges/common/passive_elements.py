"""Passive joint elements of a robot, identified from M and h: springs, dampers, dry friction and rotor inertias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.formulations import Articulated
from ...robots.robot import Robot
from ...robots.tree import Floating
from ...symbolic.kernel import Kernel
from .body_tree import BodyTree, require_tree

Array = NDArray[np.float64]

TOLERANCE = 1e-9
"""Relative to the largest force, or inertia, of all."""
ROUNDING = 1e-12
"""Relative error of a number that is fitted."""


@dataclass(frozen=True, eq=False)
class PassiveElement:
    """A spring, damper or rotor on a joint, or on a sum s·q' of coordinates between bodies.

    Attributes:
        value: stiffness k, damping d or inertia a.
        shares: s by place in v; 1 for one joint.
        rest: sum at which a spring is at rest; zero for others.
    """

    value: float
    shares: Mapping[int, float]
    rest: float = 0.0


@dataclass(frozen=True, eq=False)
class PassiveElements:
    """What is in h and M besides the bodies.

    Attributes:
        dampers: forces d s (s·v') in h.
        springs: forces k s (s·q' − rest) in h.
        rotors: inertias a s sᵀ in M.
        friction: f of forces f sign(v') in h, shape (nv,) [N or N m].
        forces: names of the velocities in whose rows of h is something else.
        inertias: names of the velocities in whose rows of M is something else.
    """

    dampers: tuple[PassiveElement, ...]
    springs: tuple[PassiveElement, ...]
    rotors: tuple[PassiveElement, ...]
    friction: Array
    forces: tuple[str, ...]
    inertias: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Samples:
    """Coordinates, velocities and the forces of both, and inertias, at several states; one row for each."""

    q: Array
    v: Array
    still: Array
    odd: Array
    even: Array
    inertia: Array


def identify_passive_elements(robot: Robot, tree: BodyTree) -> PassiveElements:
    """Compare M and h with those of the tree at states at random, and find in the rest what joints can have.

    Args:
        robot: made of a tree.
        tree: its bodies with numbers.
    """
    c = robot.coordinates
    samples, force, inertia = _sample_residual_forces(robot, tree)
    names = [c.v[i].name().removeprefix("v_").removesuffix(".rate") for i in range(c.nv)]
    floating = np.zeros(c.nv, dtype=bool)
    for node, places in zip(require_tree(robot).nodes, require_tree(robot).velocity_indices, strict=True):
        floating[places] = isinstance(node.joint, Floating)

    def strange(missed: Array, tolerance: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(missed).max(axis=0) > tolerance)

    K, constant = _fit_springs(samples.q * ~floating, samples.still, force)
    D, friction = _fit_dampers(samples.v * ~floating, samples.odd, force)
    A = np.where(np.abs(samples.inertia[0]) > inertia, samples.inertia[0], 0.0)
    other = strange(samples.still - samples.q * ~floating @ K.T - constant, force) | strange(samples.even, force)
    other |= strange(samples.odd - samples.v * ~floating @ D.T - friction * np.sign(samples.v), force)
    other |= friction < 0.0
    for matrix in (K, D):
        # What such a row couples cannot be told apart from the rest either.
        other |= _coupled(matrix, other)
        matrix[other], constant[other] = 0.0, 0.0
    springs, dampers = _elements(K, constant, force), _elements(D, np.zeros(c.nv), force)
    rotors = _elements(A, np.zeros(c.nv), inertia)
    if springs is None:
        # No sum of springs: forces that come from no potential, or from none that has a least value.
        other |= K.any(axis=1) | (constant != 0.0)
    if dampers is None:
        other |= D.any(axis=1)
    odd = np.abs(samples.inertia - A).max(axis=(0, 2)) > inertia
    odd |= (A.any(axis=1) & floating) | (A.any(axis=1) & (rotors is None))
    return PassiveElements(
        dampers or (),
        springs or (),
        rotors or (),
        np.array([0.0 if lost else _rounded(f) for lost, f in zip(other, friction, strict=True)]),
        tuple(name for name, missed in zip(names, other, strict=True) if missed),
        tuple(name for name, missed in zip(names, odd, strict=True) if missed),
    )


def _coupled(matrix: Array, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows that a matrix connects with given ones, those included."""
    found = other.copy()
    while (more := found | matrix[:, found].any(axis=1)).sum() > found.sum():
        found = more
    return found


def _sample_residual_forces(robot: Robot, tree: BodyTree) -> tuple[_Samples, float, float]:
    """What the tree does not tell, and how large a force and an inertia have to be to count."""
    own, c = require_tree(robot), robot.coordinates
    method = Articulated()
    kernel = Kernel(
        "passive",
        {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
        {
            "M": robot.mass_matrix,
            "h": robot.bias,
            "M_tree": ca.densify(method.mass_matrix(own)),
            "h_tree": ca.densify(method.bias(own)),
        },
        compiled=False,
    )
    rng = np.random.default_rng(1952)
    count = 2 * c.nv + 8
    size = inertia = 0.0
    rows: list[tuple[Array, ...]] = []
    # Forces and coordinates of joints between bodies: v' = S v, so that h' = S⁻ᵀ h.
    S = tree.between
    for t, q in zip(rng.uniform(0.0, 3.0, count), random_configurations(robot, rng), strict=False):
        v = rng.uniform(0.3, 1.0, c.nv) * rng.choice([-1.0, 1.0], c.nv)
        # The quick and the slow, so that sign(v) and v can be told apart.
        v = np.linalg.solve(S, v * rng.choice([0.1, 1.0, 3.0], c.nv))
        found: list[Array] = []
        for rate in (np.zeros(c.nv), v, -v):
            M, h, M_tree, h_tree = (np.atleast_1d(x) for x in kernel(t, q, rate, tree.p))
            found.append(np.linalg.solve(S.T, h - h_tree).astype(np.float64))
            size = max(size, float(np.abs(h_tree).max()), float(np.abs(h).max()))
            inertia = max(inertia, float(np.abs(M_tree).max()))
        half = np.linalg.solve(S.T, (M - M_tree).reshape(c.nv, c.nv))
        rotor = np.linalg.solve(S.T, half.T).astype(np.float64)
        still, forth, back = found
        rows.append(
            (S @ _joint_coordinates(robot, q), S @ v, still, (forth - back) / 2, (forth + back) / 2 - still, rotor)
        )
    samples = _Samples(*(np.array(column) for column in zip(*rows, strict=True)))
    return samples, TOLERANCE * max(size, inertia), TOLERANCE * inertia


def _fit_springs(q: Array, still: Array, tolerance: float) -> tuple[Array, Array]:
    """K and c of K q + c."""
    found = np.linalg.lstsq(np.column_stack([q, np.ones(len(q))]), still, rcond=1e-12)[0].T.astype(np.float64)
    found[np.abs(found) <= tolerance] = 0.0
    return found[:, :-1], found[:, -1]


def _fit_dampers(v: Array, odd: Array, tolerance: float) -> tuple[Array, Array]:
    """D and f of D v + f sign(v)."""
    nv = v.shape[1]
    D, friction = np.zeros((nv, nv)), np.zeros(nv)
    for i in range(nv):
        own = np.linalg.lstsq(np.column_stack([v, np.sign(v[:, i])]), odd[:, i], rcond=1e-12)[0]
        own = np.where(np.abs(own) > tolerance, own, 0.0)
        D[i], friction[i] = own[:-1], own[-1]
    return D, friction


def _elements(matrix: Array, constant: Array, tolerance: float) -> tuple[PassiveElement, ...] | None:
    """A symmetric matrix as Σ d_k s_k s_kᵀ, with −Σ d_k s_k rest_k the constant force; None if there is no such sum."""
    if np.abs(matrix - matrix.T).max(initial=0.0) > tolerance:
        return None
    rest, left = matrix.copy(), constant.copy()
    found: list[PassiveElement] = []
    for k in range(len(matrix)):
        d = float(rest[k, k])
        if d < -tolerance:
            return None
        if d <= tolerance:
            continue
        row = rest[k] / d
        row[np.abs(rest[k]) <= tolerance] = 0.0
        start = -float(left[k]) / d
        rest = rest - d * np.outer(row, row)
        left = left + d * start * row
        found.append(
            PassiveElement(_rounded(d), {int(i): _rounded(row[i]) for i in np.flatnonzero(row)}, _rounded(start))
        )
    exact = np.abs(rest).max(initial=0.0) <= 10.0 * tolerance and np.abs(left).max(initial=0.0) <= 10.0 * tolerance
    return tuple(found) if exact else None


def random_configurations(robot: Robot, rng: np.random.Generator) -> Iterator[Array]:
    """Coordinates at random, without end: lengths that are positive, quaternions of length one.

    Args:
        robot: any.
        rng: where the numbers come from.
    """
    c = robot.coordinates
    while True:
        q = np.array([rng.uniform(0.3, 1.0) if unit == "m" else rng.uniform(-2.0, 2.0) for unit in c.units])
        for node in () if robot.tree is None else robot.tree.nodes:
            if isinstance(node.joint, Floating):
                at = c.names.index(f"{node.name}.qx")
                q[at : at + 4] = _unit_vector(rng.normal(size=4))
        yield q


def _unit_vector(x: Array) -> Array:
    return np.asarray(x / np.linalg.norm(x))


def _joint_coordinates(robot: Robot, q: Array) -> Array:
    """The coordinate whose rate each velocity is, in the places of v; zero for bodies that float."""
    tree, c = require_tree(robot), robot.coordinates
    found = np.zeros(c.nv)
    for node, places in zip(tree.nodes, tree.velocity_indices, strict=True):
        if not isinstance(node.joint, Floating):
            found[places] = [q[c.names.index(f"{node.name}{suffix}")] for suffix in node.joint.suffixes]
    return found


def _rounded(x: float) -> float:
    """The number of few digits that a fitted one stands for, if there is one within its rounding."""
    short = float(f"{x:.9g}")
    return short if abs(short - x) <= ROUNDING * abs(x) else float(x)
