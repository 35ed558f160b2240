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
"""Tolerance relative to the largest force, or inertia."""
ROUNDING = 1e-12
"""Relative error of a fitted number."""


@dataclass(frozen=True, eq=False)
class PassiveElement:
    """A spring, damper or rotor on a joint, or on a sum s·q' of relative joint coordinates.

    Attributes:
        value: stiffness k, damping d or inertia a.
        coefficients: s by index in v; 1 for one joint.
        rest: value of s·q' at which a spring exerts no force; zero for dampers and rotors.
    """

    value: float
    coefficients: Mapping[int, float]
    rest: float = 0.0


@dataclass(frozen=True, eq=False)
class PassiveElements:
    """Contributions to h and M that do not come from the bodies.

    Attributes:
        dampers: forces d s (s·v') in h.
        springs: forces k s (s·q' − rest) in h.
        rotors: inertias a s sᵀ in M.
        friction: f of forces f sign(v') in h, shape (nv,) [N or N m].
        forces: names of the velocities whose rows of h contain other forces.
        inertias: names of the velocities whose rows of M contain other inertias.
    """

    dampers: tuple[PassiveElement, ...]
    springs: tuple[PassiveElement, ...]
    rotors: tuple[PassiveElement, ...]
    friction: Array
    forces: tuple[str, ...]
    inertias: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Samples:
    """Coordinates, velocities, residual forces and inertias at several states, one row per state."""

    q: Array
    v: Array
    still: Array
    odd: Array
    even: Array
    inertia: Array


def identify_passive_elements(robot: Robot, tree: BodyTree) -> PassiveElements:
    """Compare M and h with those of the tree at random states, and identify joint elements in the difference.

    Args:
        robot: robot with a tree of bodies.
        tree: the numerical tree of the robot.
    """
    c = robot.coordinates
    samples, force, inertia = _sample_residual_forces(robot, tree)
    names = [c.v[i].name().removeprefix("v_").removesuffix(".rate") for i in range(c.nv)]
    floating = np.zeros(c.nv, dtype=bool)
    for node, places in zip(require_tree(robot).nodes, require_tree(robot).places, strict=True):
        floating[places] = isinstance(node.joint, Floating)

    def exceeds(residual: Array, tolerance: float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(residual).max(axis=0) > tolerance)

    K, constant = _fit_springs(samples.q * ~floating, samples.still, force)
    D, friction = _fit_dampers(samples.v * ~floating, samples.odd, force)
    A = np.where(np.abs(samples.inertia[0]) > inertia, samples.inertia[0], 0.0)
    other = exceeds(samples.still - samples.q * ~floating @ K.T - constant, force) | exceeds(samples.even, force)
    other |= exceeds(samples.odd - samples.v * ~floating @ D.T - friction * np.sign(samples.v), force)
    other |= friction < 0.0
    for matrix in (K, D):
        # Nor can joints be identified that such a row couples.
        other |= _coupled(matrix, other)
        matrix[other], constant[other] = 0.0, 0.0
    springs, dampers = _elements(K, constant, force), _elements(D, np.zeros(c.nv), force)
    rotors = _elements(A, np.zeros(c.nv), inertia)
    if springs is None:
        # Not a sum of springs: the forces have no potential, or one without a minimum.
        other |= K.any(axis=1) | (constant != 0.0)
    if dampers is None:
        other |= D.any(axis=1)
    odd = np.abs(samples.inertia - A).max(axis=(0, 2)) > inertia
    odd |= (A.any(axis=1) & floating) | (A.any(axis=1) & (rotors is None))
    return PassiveElements(
        dampers or (),
        springs or (),
        rotors or (),
        np.array([0.0 if is_other else _rounded(f) for is_other, f in zip(other, friction, strict=True)]),
        tuple(name for name, is_other in zip(names, other, strict=True) if is_other),
        tuple(name for name, is_odd in zip(names, odd, strict=True) if is_odd),
    )


def _coupled(matrix: Array, other: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Rows that a matrix couples with the given rows, which are included."""
    found = other.copy()
    while (more := found | matrix[:, found].any(axis=1)).sum() > found.sum():
        found = more
    return found


def _sample_residual_forces(robot: Robot, tree: BodyTree) -> tuple[_Samples, float, float]:
    """Residual forces and inertias beyond those of the tree, with their tolerances."""
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
    # Relative joint coordinates and their forces: v' = S v, so that h' = S⁻ᵀ h.
    S = tree.relative_angles
    for t, q in zip(rng.uniform(0.0, 3.0, count), random_configurations(robot, rng), strict=False):
        v = rng.uniform(0.3, 1.0, c.nv) * rng.choice([-1.0, 1.0], c.nv)
        # Fast and slow, so that sign(v) and v can be distinguished.
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
    """A symmetric matrix as Σ d_k s_k s_kᵀ with the constant force −Σ d_k s_k rest_k; None if there is no such sum."""
    if np.abs(matrix - matrix.T).max(initial=0.0) > tolerance:
        return None
    rest, remainder = matrix.copy(), constant.copy()
    found: list[PassiveElement] = []
    for k in range(len(matrix)):
        d = float(rest[k, k])
        if d < -tolerance:
            return None
        if d <= tolerance:
            continue
        row = rest[k] / d
        row[np.abs(rest[k]) <= tolerance] = 0.0
        start = -float(remainder[k]) / d
        rest = rest - d * np.outer(row, row)
        remainder = remainder + d * start * row
        found.append(
            PassiveElement(_rounded(d), {int(i): _rounded(row[i]) for i in np.flatnonzero(row)}, _rounded(start))
        )
    limit = 10.0 * tolerance
    exact = np.abs(rest).max(initial=0.0) <= limit and np.abs(remainder).max(initial=0.0) <= limit
    return tuple(found) if exact else None


def random_configurations(robot: Robot, rng: np.random.Generator) -> Iterator[Array]:
    """Yield random coordinates without end: positive lengths, unit quaternions.

    Args:
        robot: the robot.
        rng: random number generator.
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
    """Coordinate whose rate each velocity is, in the order of v; zero for floating bodies."""
    tree, c = require_tree(robot), robot.coordinates
    found = np.zeros(c.nv)
    for node, places in zip(tree.nodes, tree.places, strict=True):
        if not isinstance(node.joint, Floating):
            found[places] = [q[c.names.index(f"{node.name}{suffix}")] for suffix in node.joint.suffixes]
    return found


def _rounded(x: float) -> float:
    """The fitted number rounded to 9 digits, if that is within its rounding error; else the number itself."""
    short = float(f"{x:.9g}")
    return short if abs(short - x) <= ROUNDING * abs(x) else float(x)
