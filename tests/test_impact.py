"""Impacts of exoskeletons against the impulse equations, written out whole in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Contact, Impact, Robot, impact, with_contacts

from .contacts import exoskeleton_of
from .exoskeletons import BODY, Case, label, random_states
from .references import impact_numpy as known
from .references import telescopic_bodies as truth

Array = NDArray[np.float64]

CASES = (
    Case((0, 1), floating=True, hinges=True),
    Case((0, 1, 2), hinges=True, stretched=True),
    Case((0, 1, 1), floating=True, hinges=True, damped=True, stretched=True),
    Case(BODY, floating=True, hinges=True),
)
STATES = 20


def struck(case: Case, rigid: tuple[int, ...], feet: tuple[int, ...]) -> tuple[Robot, list[Contact]]:
    """The robot with contacts at ends of links, 0 being the pole, in all directions, one of them up."""
    contacts = [Contact(f"end{i}" if i else "pole", (0.0, 1.0)) for i in feet]
    return with_contacts(exoskeleton_of(case, rigid), contacts), contacts


def rows(case: Case, q: Array, rigid: tuple[int, ...], feet: tuple[int, ...]) -> Array:
    """A by hand."""
    s = case.structure
    none = np.zeros(s.nv)
    return np.vstack([known.lengths(s, rigid), *(known.foot(s, q, none, i).jacobian for i in feet)])


def close(actual: Array, expected: Array, tolerance: float = 1e-10) -> bool:
    return bool(np.max(np.abs(actual - expected)) <= tolerance * max(1.0, float(np.max(np.abs(expected)))))


TABLE = [
    pytest.param(CASES[0], (), (0,), id="first foot"),
    pytest.param(CASES[0], (1, 2), (0,), id="first foot, rigid links"),
    pytest.param(CASES[0], (1, 2), (2,), id="second foot, rigid links"),
    pytest.param(CASES[0], (), (0, 2), id="both feet"),
    pytest.param(CASES[1], (2,), (3,), id="pinned, tip"),
    pytest.param(CASES[2], (1,), (2, 3), id="two branches"),
    pytest.param(CASES[3], tuple(range(1, 12)), (0, 11), id="body on both feet"),
]


@pytest.mark.parametrize(("case", "rigid", "feet"), TABLE)
def test_velocities_and_impulses(case: Case, rigid: tuple[int, ...], feet: tuple[int, ...]) -> None:
    """v⁺ and Λ to 1e-10, energies, and Carnot's theorem: T⁻ − T⁺ = ½ (v⁻ − v⁺)ᵀ M (v⁻ − v⁺)."""
    robot, contacts = struck(case, rigid, feet)
    s = case.structure
    largest = 0.0
    for q, v in random_states(case, seed=1, count=STATES):
        found = impact(robot, q, v, contacts)
        M, A = truth.mass_matrix(s, q), rows(case, q, rigid, feet)
        after, impulses = known.struck(M, A, v)
        assert close(found.velocity, after)
        assert close(found.impulses, impulses, 1e-9)
        assert found.rank == len(A)
        lost = v - after
        assert found.energy_before == pytest.approx(v @ M @ v / 2, rel=1e-12)
        assert found.energy_after == pytest.approx(after @ M @ after / 2, rel=1e-9)
        assert found.energy_loss == pytest.approx(lost @ M @ lost / 2, rel=1e-9)
        largest = max(largest, float(np.abs(impulses).max()))
    assert largest > 1.0


@pytest.mark.parametrize("case", CASES[:3], ids=label)
def test_impulses_are_those_of_the_momenta(case: Case) -> None:
    """Newton and Euler for all bodies at once: Σ Λ = change of momentum, Σ r × Λ = change of the moment of momentum."""
    s = case.structure
    feet = (2, 3) if len(s.rods) == 3 else (0, 2)
    robot, contacts = struck(case, (), feet)
    none = np.zeros(s.nv)
    for q, v in random_states(case, seed=2, count=STATES):
        found = impact(robot, q, v, contacts)
        before, after = (truth.momenta(s, q, x, none) for x in (v, found.velocity))
        forces = [found.by_constraint[contact.name] for contact in contacts]
        places = [known.foot(s, q, v, i).place for i in feet]
        change = after.momentum - before.momentum
        scale = max(1.0, float(np.abs(forces).max()))
        if s.floating:
            assert np.max(np.abs(change - np.sum(forces, axis=0))) <= 1e-11 * scale
        # About the pole, so that what a hinge on the ground adds has no moment.
        pole = q[:2] if s.floating else np.zeros(2)
        arms = [(place - pole, force) for place, force in zip(places, forces, strict=True)]
        moment = sum(float(r[0] * f[1] - r[1] * f[0]) for r, f in arms)
        r = before.center - pole
        spin = after.spin - before.spin + float(r[0] * change[1] - r[1] * change[0])
        assert abs(spin - moment) <= 1e-10 * scale


def test_what_stood_stays() -> None:
    """The pole has stood before; the tip strikes; both are at rest afterwards, and both have impulses."""
    case = CASES[0]
    robot, (first, second) = struck(case, (), (0, 2))
    s = case.structure
    for q, v in random_states(case, seed=3, count=STATES):
        v[:2] = 0.0
        found = impact(robot, q, v, [second], p={"pole.x": q[0], "pole.y": q[1]})
        after, impulses = known.struck(truth.mass_matrix(s, q), rows(case, q, (), (0, 2)), v)
        assert close(found.velocity, after)
        np.testing.assert_allclose(found.velocity[:2], 0.0, atol=1e-12)
        assert list(found.friction) == ["end2"]
        assert found.required_friction(first) == pytest.approx(ratio(impulses[:2]), rel=1e-7)


def test_friction_of_the_impulse() -> None:
    """|Λ_t| / Λ_n of each foot, infinite where the ground would have to pull."""
    case = CASES[0]
    robot, contacts = struck(case, (), (0, 2))
    pulled = 0
    for q, v in random_states(case, seed=4, count=STATES):
        found = impact(robot, q, v, contacts)
        for contact, span in zip(contacts, (slice(0, 2), slice(2, 4)), strict=True):
            expected = ratio(found.impulses[span])
            assert (
                found.friction[contact.name] == found.required_friction(contact) == pytest.approx(expected, rel=1e-12)
            )
            pulled += expected == np.inf
    assert 0 < pulled < 2 * STATES


def ratio(impulse: Array) -> float:
    return abs(impulse[0]) / impulse[1] if impulse[1] > 0.0 else np.inf


@pytest.mark.parametrize("slope", [0.4, -1.2, 3.0])
def test_a_tilted_ground(slope: float) -> None:
    """The ground's direction changes nothing but what counts as friction."""
    case = CASES[0]
    level, feet = struck(case, (), (0, 2))
    normal, along = np.array([-np.sin(slope), np.cos(slope)]), np.array([np.cos(slope), np.sin(slope)])
    tilted = [Contact(foot.point, (2.0 * normal[0], 2.0 * normal[1])) for foot in feet]
    robot = with_contacts(exoskeleton_of(case), tilted)
    for q, v in random_states(case, seed=7, count=STATES):
        found, expected = impact(robot, q, v, tilted), impact(level, q, v, feet)
        assert close(found.velocity, expected.velocity, 1e-13)
        for contact in tilted:
            impulse = expected.by_constraint[contact.name]
            pushing = normal @ impulse
            needed = abs(along @ impulse) / pushing if pushing > 0.0 else np.inf
            assert found.friction[contact.name] == pytest.approx(needed, rel=1e-9)


def test_nothing_strikes() -> None:
    """A foot that is at rest already feels no impulse and needs no friction."""
    case = CASES[0]
    robot, contacts = struck(case, (), (0,))
    q, v = next(random_states(case, seed=5, count=1))
    v[:2] = 0.0
    found: Impact = impact(robot, q, v, contacts)
    np.testing.assert_array_equal(found.impulses, 0.0)
    np.testing.assert_allclose(found.velocity, v, rtol=0.0, atol=1e-14)
    assert found.friction == {"pole": 0.0}
    assert found.energy_loss == pytest.approx(0.0, abs=1e-12)


def test_what_is_only_rounding_needs_no_friction() -> None:
    """A foot that is at rest but for the last digit is not struck: no ratio of two rounding errors."""
    case = CASES[0]
    robot, (contact,) = struck(case, (), (2,))
    for q, v in random_states(case, seed=8, count=STATES):
        J = known.foot(case.structure, q, v, 2).jacobian
        v -= np.linalg.lstsq(J, J @ v, rcond=None)[0]
        found = impact(robot, q, v, [contact])
        np.testing.assert_array_equal(found.impulses, 0.0)
        assert found.friction["end2"] == found.required_friction(contact) == 0.0


def test_values_cannot_be_changed() -> None:
    case = CASES[0]
    robot, contacts = struck(case, (), (0,))
    q, v = next(random_states(case, seed=6, count=1))
    found = impact(robot, q, v, contacts)
    for array in (found.velocity, found.impulses, found.by_constraint["pole"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
