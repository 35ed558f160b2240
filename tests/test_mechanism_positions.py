"""Places of linkages: assembled ones against formulas in closed form, on every branch."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Assembler, branches
from erugin.robots.examples import andrews_squeezer

from .mechanisms import (
    CONNECTOR,
    COUPLER,
    CRANK,
    GROUND,
    KNEE,
    OFFSET,
    OUTPUT,
    OUTPUT_GROUND,
    ROCKER,
    ROD,
    crank_rocker,
    engine,
    left,
    parallel_robot,
    stephenson,
    turned,
    unit,
)
from .references import linkage_positions as closed

Array = NDArray[np.float64]


def same(found: list[Array], expected: list[Array], tolerance: float = 1e-10) -> None:
    """Assert that two sets of places are the same, angles up to full turns."""
    assert len(found) == len(expected)
    for q in expected:
        assert min(float(np.abs(turned(q - other)).max()) for other in found) < tolerance


def test_four_bar_on_both_branches_agrees_with_freudenstein() -> None:
    """Random cranks and dimensions; many of the linkages do not close, or only for some cranks."""
    rng = np.random.default_rng(1955)
    assembler = Assembler(crank_rocker())
    closing = 0
    for k in range(40):
        a, b, c, d = (CRANK, COUPLER, ROCKER, GROUND) if k % 2 else rng.uniform(0.3, 1.5, 4)
        p = {"crank.length": a, "coupler.length": b, "rocker.length": c, "rocker.x": d}
        crank = rng.uniform(-np.pi, np.pi)
        expected = [np.array([crank, *pair]) for pair in closed.four_bar(a, b, c, d, crank)]
        if expected:
            closing += 1
            found = assembler.branches([crank, 0.0, 0.0], fixed=["crank"], p=p)
            same([x.q for x in found], expected)
            assert all(x.rank == 2 and x.degrees_of_freedom == 1 and x.remaining == 0 for x in found)
    assert closing > 25


def test_slider_crank_on_both_branches_agrees_with_the_closed_form() -> None:
    rng = np.random.default_rng(3)
    assembler = Assembler(engine())
    for _ in range(20):
        crank = rng.uniform(-np.pi, np.pi)
        pairs = closed.slider_crank(CRANK, ROD, OFFSET, crank)
        found = [x.q for x in assembler.branches([crank, 0.0, 0.0], fixed=["crank"])]
        assert len(found) == len(pairs) == 2
        for rod, slider in pairs:
            nearest = min(found, key=lambda q: abs(q[2] - slider))
            assert abs(turned(nearest[1] - rod)) < 1e-10
            assert abs(nearest[2] - slider) < 1e-10


def test_five_bar_has_two_tips_for_two_cranks() -> None:
    rng = np.random.default_rng(4)
    robot, found = parallel_robot(), 0
    for _ in range(10):
        left_crank, right_crank = rng.uniform(0.3, 2.8, 2)
        first = 0.5 * unit(left_crank)
        second = np.array([0.6, 0.1]) + 0.45 * unit(right_crank)
        expected = [
            np.array([left_crank, closed.direction(first, tip), right_crank, closed.direction(second, tip)])
            for tip in closed.two_circles(first, 0.9, second, 0.95)
        ]
        guess = [left_crank, 1.0, right_crank, 1.5]
        same([x.q for x in branches(robot, guess, fixed=("left_crank", "right_crank"))], expected)
        found += len(expected)
    assert found >= 18


def test_six_bar_has_the_assemblies_of_two_dyads() -> None:
    """Two circles for the four-bar, then two for the dyad on its coupler."""
    counts: list[int] = []
    assembler = Assembler(stephenson())
    for crank in np.linspace(-3.0, 3.0, 7):
        expected: list[Array] = []
        for coupler, rocker in closed.four_bar(CRANK, COUPLER, ROCKER, GROUND, crank):
            e = unit(coupler)
            knee = CRANK * unit(crank) + KNEE[0] * e + KNEE[1] * left(e)
            base = np.array(OUTPUT_GROUND)
            for joint in closed.two_circles(base, OUTPUT, knee, CONNECTOR):
                angles = [crank, coupler, rocker, closed.direction(base, joint), closed.direction(joint, knee)]
                expected.append(np.array(angles))
        found = [x.q for x in assembler.branches([crank, 0.3, 1.0, 0.0, 0.0], fixed=["crank"])]
        same(found, expected)
        counts.append(len(expected))
    assert max(counts) == 4


def test_andrews_squeezer_starts_where_published() -> None:
    """Hairer and Wanner, Solving Ordinary Differential Equations II, section VII.7: Θ(0) = 0 and six angles."""
    beta, gamma, phi, delta = -0.0617138900142764496, 0.455279819163070380, 0.222668390165885885, 0.487364979543842550
    omega, epsilon = -0.222668390165885885, 1.23054744454982119
    half = np.pi / 2
    published = np.array([beta, beta + np.pi, gamma - half, delta, phi + delta - half, epsilon - half, omega + epsilon])
    rough = published + 0.15 * np.cos(np.arange(7.0))
    assembly = Assembler(andrews_squeezer()).assemble(rough, fixed={"K1": beta})
    np.testing.assert_allclose(assembly.q, published, rtol=0.0, atol=1e-14)
    assert assembly.rank == 6
    assert assembly.starts == 1


@pytest.mark.parametrize("angle", [0.4, 2.0])
def test_a_branch_is_followed_through_a_turn(angle: float) -> None:
    """From the last place with the crank a little further: both branches come back to where they began."""
    assembler = Assembler(crank_rocker())
    for start in assembler.branches([angle, 0.0, 0.0], fixed=["crank"]):
        q = start.q
        for crank in angle + np.linspace(0.0, 2 * np.pi, 73)[1:]:
            step = assembler.assemble(q, fixed={"crank": float(crank)})
            assert step.starts == 1
            q = step.q
        np.testing.assert_allclose(turned(q - start.q), 0.0, atol=1e-12)
