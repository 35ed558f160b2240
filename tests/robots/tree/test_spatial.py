"""Spatial inertias against clouds of point masses, Pinocchio and NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots.spatial import Arm, SpatialInertia, Twist, cross

from ...support.trees import assert_close, constant, number

Array = NDArray[np.float64]

RNG = np.random.default_rng(1952)
MASSES = RNG.uniform(0.2, 1.0, 6)
PLACES = RNG.uniform(-0.5, 0.5, (6, 3))
MASS = float(MASSES.sum())
CENTER = MASSES @ PLACES / MASS
SPREAD = (PLACES - CENTER).T * MASSES @ (PLACES - CENTER)
INERTIA = np.trace(SPREAD) * np.eye(3) - SPREAD
REACH = np.array([0.3, -0.7, 0.4])


def cloud() -> SpatialInertia:
    """The point masses as one body."""
    return SpatialInertia.rigid(ca.SX(MASS), constant(CENTER), constant(INERTIA))


def twist(values: Array) -> Twist:
    """From columns of six numbers, the angular ones first."""
    return Twist(constant(values[:3]), constant(values[3:]))


def values(found: Twist) -> Array:
    return np.vstack([number(found.angular), number(found.linear)])


def matrix(inertia: SpatialInertia) -> Array:
    """6 x 6, angular first."""
    J, H, M = (number(part) for part in (inertia.rotational, inertia.coupling, inertia.mass))
    return np.block([[J, H], [H.T, M]])


def shift(reach: Array, turns: bool) -> Array:
    """P with (ω; v) of the second point = P (ω; v) of the first, built by NumPy's vector product."""
    columns = [np.append(w if turns else 0.0 * w, np.cross(w, reach)) for w in np.eye(3)]
    return np.column_stack([*columns, np.vstack([np.zeros((3, 3)), np.eye(3)])])


def test_a_rigid_body_is_its_points() -> None:
    """½ Σ m |v + ω × r|² is the energy of the twist, and the momentum of the points is what it is mapped to."""
    for column in RNG.normal(size=(5, 6)):
        spin, velocity = column[:3], column[3:]
        speeds = velocity + np.cross(spin, PLACES)
        momentum = np.append(MASSES @ np.cross(PLACES, speeds), MASSES @ speeds)
        assert_close(values(cloud() @ twist(column[:, None]))[:, 0], momentum, 1e-14)
        energy = float(MASSES @ np.sum(speeds**2, axis=1)) / 2.0
        assert_close(number(twist(column[:, None]).dot(cloud() @ twist(column[:, None]))), 2.0 * energy, 1e-14)


@pytest.mark.foreign
def test_a_rigid_body_is_pinocchios() -> None:
    pin: Any = importlib.import_module("pinocchio")
    theirs = np.array(pin.Inertia(MASS, CENTER, INERTIA).matrix())  # linear first
    swapped = np.block([[theirs[3:, 3:], theirs[3:, :3]], [theirs[:3, 3:], theirs[:3, :3]]])
    assert_close(matrix(cloud()), swapped, 1e-14)


def test_bodies_add_up() -> None:
    """Each point by itself, about one origin."""
    none = constant(np.zeros((3, 3)))
    total = SpatialInertia.zero()
    for mass, place in zip(MASSES, PLACES, strict=True):
        total = total + SpatialInertia.rigid(ca.SX(float(mass)), constant(place), none)
    assert_close(matrix(total), matrix(cloud()), 1e-14)


@pytest.mark.parametrize("turns", [True, False])
def test_arms_carry_motion_outward_and_force_inward(turns: bool) -> None:
    """One is the transpose of the other: no work is lost on the way."""
    arm, P = Arm(constant(REACH), turns), shift(REACH, turns)
    columns = RNG.normal(size=(6, 4))
    assert_close(values(arm.outward(twist(columns))), P @ columns, 1e-15)
    assert_close(values(arm.inward(twist(columns))), P.T @ columns, 1e-15)


@pytest.mark.parametrize("turns", [True, False])
def test_inertia_is_felt_at_the_other_end_of_an_arm(turns: bool) -> None:
    """Pᵀ I P, for a body and for what a joint leaves of it, whose mass vanishes in the joint's direction."""
    P, I = shift(REACH, turns), matrix(cloud())
    assert_close(matrix(cloud().inward(Arm(constant(REACH), turns))), P.T @ I @ P, 1e-14)
    S = RNG.normal(size=(6, 2))
    U = I @ S
    left = cloud().without(twist(U), twist(U @ np.linalg.inv(S.T @ U)))
    expected = I - U @ np.linalg.inv(S.T @ U) @ U.T
    assert_close(matrix(left), expected, 1e-13)
    assert np.abs(matrix(left) @ S).max() <= 1e-13
    assert np.linalg.matrix_rank(matrix(left), 1e-10) == 4
    assert_close(matrix(left.inward(Arm(constant(REACH), turns))), P.T @ expected @ P, 1e-13)


def test_inertias_are_symmetric_to_the_last_digit() -> None:
    """Of expressions too: the halves above and below the diagonal are the same."""
    m, c, moments, reach = ca.SX.sym("m"), ca.SX.sym("c", 3), ca.SX.sym("I", 3, 3), ca.SX.sym("r", 3)
    body = SpatialInertia.rigid(m, c, moments)
    for inertia in (body, body.inward(Arm(reach, True)), body.inward(Arm(reach, False))):
        for part in (inertia.rotational, inertia.mass):
            assert all(ca.is_equal(part[i, j], part[j, i], 50) for i in range(3) for j in range(i))


def test_twists_combine() -> None:
    """Columns by coefficients, sums, and the power of each pair."""
    a, b, mixing = RNG.normal(size=(6, 2)), RNG.normal(size=(6, 2)), RNG.normal(size=(2, 3))
    assert_close(values(twist(a) @ constant(mixing)), a @ mixing, 1e-15)
    assert_close(values(twist(a) + twist(b)), a + b, 1e-15)
    assert_close(number(twist(a).dot(twist(b))), a.T @ b, 1e-14)
    assert np.array_equal(values(Twist.zero(4)), np.zeros((6, 4)))
    assert_close(number(cross(constant(REACH), constant(a[:3]))), np.cross(REACH, a[:3].T).T, 1e-15)
