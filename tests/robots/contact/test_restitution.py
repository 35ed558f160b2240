"""Feet that bounce: a share of the normal impulse comes back, and never more energy than there was."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.robots import Contact, Robot, TelescopicLink, exoskeleton, impact, with_contacts
from erugin.symbolic import ModelError

from ...support.contacts import exoskeleton_of
from ...support.exoskeletons import Case, random_states
from ...support.references import impact_numpy as known
from ...support.references import telescopic_bodies as truth

Array = NDArray[np.float64]

MASS, LENGTH = 3.0, 1.4
ROD = TelescopicLink(MASS, MASS * LENGTH**2 / 12.0, 0.5, 100.0, LENGTH)
UP = (0.0, 1.0)
POLE, TIP = Contact("pole", UP), Contact("end1", UP)
WALKER = Case((0, 1), floating=True, hinges=True)


@functools.cache
def rod() -> Robot:
    """A uniform rod whose end strikes."""
    return with_contacts(exoskeleton([ROD], base="floating", rigid=True), [POLE])


@functools.cache
def walker(feet: tuple[str, ...]) -> Robot:
    """Two links with masses at all joints, the feet on."""
    return with_contacts(exoskeleton_of(WALKER), [Contact(foot, UP) for foot in feet])


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_a_rod_that_lies_flat(e: float) -> None:
    """Across and along do not mix: the end rises with e v, ω = −(3/2)(1 + e) v / L, (1 − e²)/8 m v² is lost."""
    v = 2.0
    found = impact(rod(), [0.0, 0.0, 0.0, LENGTH], [0.0, -v, 0.0, 0.0], [POLE], restitution=e)
    np.testing.assert_allclose(found.velocity, [0.0, e * v, -1.5 * (1.0 + e) * v / LENGTH, 0.0], atol=1e-13)
    assert found.energy_loss == pytest.approx((1.0 - e**2) * MASS * v**2 / 8.0, abs=1e-12)
    assert found.impulses[1:] == pytest.approx([0.0, (1.0 + e) * MASS * v / 4.0], abs=1e-12)


def test_a_foot_that_did_not_slide_rises_with_e_times_its_speed() -> None:
    """Poisson's e is Newton's then, for a rod at any angle."""
    for angle in np.linspace(0.1, 3.0, 9):
        found = impact(rod(), [0.0, 0.0, angle, LENGTH], [0.0, -2.0, 0.5, 0.0], [POLE], restitution=0.6)
        np.testing.assert_allclose(found.velocity[:2], [0.0, 1.2], rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("e", [0.3, 0.8, 1.0])
def test_against_the_equations(e: float) -> None:
    """v⁺ and Λ from one linear system with the normal impulse given, wherever the foot is pushed."""
    robot, s = walker(("pole",)), WALKER.structure
    compared = 0
    for q, v in random_states(WALKER, seed=1, count=40):
        M, A = truth.mass_matrix(s, q), known.foot(s, q, v, 0).jacobian
        if known.struck(M, A, v)[1][1] <= 0.0:
            continue
        after, impulses = known.bounced(M, A, v, np.array([[0.0, 1.0]]), e)
        found = impact(robot, q, v, [POLE], restitution=e)
        np.testing.assert_allclose(found.velocity, after, rtol=0.0, atol=1e-10 * max(1.0, float(np.abs(after).max())))
        np.testing.assert_allclose(found.impulses, impulses, rtol=0.0, atol=1e-10 * float(np.abs(impulses).max()))
        compared += 1
    assert compared > 10


def test_newtons_rule_would_make_energy_and_this_does_not() -> None:
    """A rod that slides as it strikes: with n·v⁺ = −e n·v⁻ and a sticking foot it would have gained a quarter."""
    e, q = 0.9, np.array([0.0, 0.0, 0.706860867806873, LENGTH])
    v = np.array([0.954, -1.679, 2.434 / LENGTH, 0.0])
    jacobian, length = np.eye(2, 4), np.eye(4)[3:]
    n = MASS / 2.0 * LENGTH * np.array([-np.sin(q[2]), np.cos(q[2])])
    # Of x, y, φ; the length is held.
    M = np.diag([MASS, MASS, MASS * LENGTH**2 / 3.0, 1.0])
    M[:2, 2] = M[2, :2] = n
    newton, _ = known.together(M, np.vstack([jacobian, length]), M @ v, np.array([0.0, e * 1.679, 0.0]))
    before = v @ M @ v / 2.0
    assert newton @ M @ newton / 2.0 > 1.2 * before
    found = impact(rod(), q, v, [POLE], restitution=e)
    assert found.energy_before == pytest.approx(before, rel=1e-13)
    assert 0.0 < found.energy_loss < before
    assert found.velocity[1] > 0.0
    assert found.friction["pole"] < 1.0


def finite(size: float) -> st.SearchStrategy[float]:
    return st.floats(-size, size, allow_nan=False)


@pytest.mark.slow
@given(
    angles=st.tuples(finite(3.2), finite(3.2)),
    lengths=st.tuples(st.floats(0.2, 1.5), st.floats(0.2, 1.5)),
    v=st.tuples(*[finite(5.0)] * 6),
    e=st.floats(0.0, 1.0),
    feet=st.sampled_from([("pole",), ("end2",), ("pole", "end2")]),
)
def test_energy_never_grows(
    angles: tuple[float, ...], lengths: tuple[float, ...], v: tuple[float, ...], e: float, feet: tuple[str, ...]
) -> None:
    """For one foot and two, oblique or not, e from 0 to 1; a bounce that makes no sense is refused by name."""
    q = [0.0, 0.0, *angles, *lengths]
    contacts = [Contact(foot, UP) for foot in feet]
    found, error = None, None
    try:
        found = impact(walker(feet), q, v, contacts, restitution=e)
    except ModelError as refusal:
        error = refusal
    if error is not None:
        assert e > 0.0
        assert "restitution=0" in str(error)
        return
    assert found is not None
    assert found.energy_after <= found.energy_before * (1.0 + 1e-10) + 1e-12
    if e > 0.0:
        for foot in feet:
            rise = walker(feet).evaluate(
                walker(feet).coordinates.rate(walker(feet).points[foot]), q=q, v=found.velocity
            )
            size = float(np.abs(found.velocity).max()) + 1.0
            assert rise[1] >= -1e-7 * size
            assert abs(rise[0]) <= 1e-7 * size


def test_what_stood_does_not_bounce() -> None:
    """The pole stands while the end strikes with e = 1: it stays at rest, and all energy is kept if nothing slides."""
    q = np.array([0.0, 0.0, 2.0, 0.9, 0.8, 0.9])
    contacts = [POLE, Contact("end2", UP)]
    robot = walker(("pole", "end2"))
    s = WALKER.structure
    foot = known.foot(s, q, np.zeros(6), 2).jacobian
    # A motion in which the pole is at rest and the end goes straight down.
    v = np.linalg.lstsq(np.vstack([np.eye(2, 6), foot]), np.array([0.0, 0.0, 0.0, -1.0]), rcond=None)[0]
    found = impact(robot, q, v, contacts[1:], restitution=1.0, p={"pole.x": 0.0, "pole.y": 0.0})
    np.testing.assert_allclose(found.velocity[:2], 0.0, atol=1e-13)
    np.testing.assert_allclose(foot @ found.velocity, [0.0, 1.0], atol=1e-12)
    assert found.energy_loss == pytest.approx(0.0, abs=1e-12)


def test_a_foot_that_would_be_pulled_does_not_bounce() -> None:
    """It rises already: without restitution it is held and says so, with it the impact is refused."""
    q, v = [0.0, 0.0, 0.5, LENGTH], [0.0, 1.0, 0.0, 0.0]
    assert impact(rod(), q, v, [POLE]).friction["pole"] == np.inf
    with pytest.raises(ModelError, match=r"would have to pull at 'pole' with [\d.]+ N s.*restitution=0"):
        impact(rod(), q, v, [POLE], restitution=0.5)


def test_feet_that_strike_one_after_the_other() -> None:
    """An impact on one foot rebounds from that foot alone, and drives the other into the ground."""
    q, feet = np.array([0.0, 0.0, 0.31, -0.32, 0.44, 1.06]), (POLE, Contact("end2", UP))
    s = WALKER.structure
    M = truth.mass_matrix(s, q)
    A = np.vstack([known.foot(s, q, np.zeros(6), i).jacobian for i in (0, 2)])
    # The motion that an impulse of 3 N s up at the pole brings to rest.
    v = -np.linalg.solve(M, A.T @ [0.0, 3.0, 0.0, 0.0])
    found = impact(walker(("pole", "end2")), q, v, feet)
    np.testing.assert_allclose(found.velocity, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.impulses, [0.0, 3.0, 0.0, 0.0], atol=1e-11)
    with pytest.raises(ModelError, match=r"'end2' would penetrate the ground with [\d.]+ m/s, because another foot"):
        impact(walker(("pole", "end2")), q, v, feet, restitution=0.9)


def test_normal_impulses_that_are_not_determined() -> None:
    """A rigid rod on both ends, tilted: how hard each is pushed along the rod is anybody's guess."""
    robot = with_contacts(exoskeleton([ROD], base="floating", rigid=True), [POLE, TIP])
    q, v = [0.0, 0.0, 0.3, LENGTH], [0.0, -2.0, 0.0, 0.0]
    assert impact(robot, q, v, [POLE, TIP]).rank == 4
    with pytest.raises(ModelError, match=r"normal impulses are not determined.*without_rows.*restitution=0"):
        impact(robot, q, v, [POLE, TIP], restitution=0.5)
    # Flat, the rod's own forces have no part along the normals, and both ends rise.
    found = impact(robot, [0.0, 0.0, 0.0, LENGTH], v, [POLE, TIP], restitution=0.5)
    np.testing.assert_allclose(found.velocity, [0.0, 1.0, 0.0, 0.0], atol=1e-13)


@pytest.mark.parametrize("e", [-0.1, 1.1, np.nan, np.inf, "half", None])
def test_restitution_out_of_range(e: float) -> None:
    with pytest.raises(ModelError, match="restitution must be"):
        impact(rod(), [0.0, 0.0, 0.5, LENGTH], [0.0, -1.0, 0.0, 0.0], [POLE], restitution=e)
