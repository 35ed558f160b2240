"""The supporting leg: the paper's two links with a human's numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from erugin.robots.examples import leg, leg_posture
from erugin.robots.examples.leg import leg_segments
from erugin.symbolic import ModelError

from ...support.references import chigarev_borisov as paper

G = 9.81


def test_numbers_of_the_mean_man() -> None:
    robot = leg(body_mass=73.0, height=1.741, sex="male", stiffness=5e4, damping=None, hip_load=50.0)
    expected = {
        "m1": 73.0 * 0.0433,
        "I1": 73.0 * 0.0433 * (0.246 * 0.4403) ** 2,
        "n1": 1.0 - 0.4395,
        "k1": 5e4,
        "L1": 0.4403,
        "m2": 73.0 * 0.1416,
        "I2": 73.0 * 0.1416 * (0.329 * 0.4222) ** 2,
        "n2": 1.0 - 0.4095,
        "k2": 5e4,
        "L2": 0.4222,
        "h2": 50.0,
        "g": G,
    }
    assert set(robot.nominal) == set(expected)
    for name, value in expected.items():
        assert robot.nominal[name] == pytest.approx(value, rel=1e-12)
    assert robot.coordinates.names == ("phi1", "phi2", "l1", "l2")
    assert tuple(leg_segments(body_mass=73.0, height=1.741, sex="male")) == ("shin", "thigh")


def test_without_a_load_it_is_the_paper_s() -> None:
    """(3) to (6) with the leg's numbers, upright and bent."""
    robot = leg(
        body_mass=61.9, height=1.7, sex="female", stiffness={"shin": 3e4, "thigh": 4e4}, damping=None, hip_load=None
    )
    p = robot.nominal
    values = {name: p[name] for name in ("m1", "m2", "n1", "n2", "I1", "I2", "k1", "k2", "g")}
    values |= {"l10": p["L1"], "l20": p["L2"], "M1": 12.0, "M2": -5.0}
    for q in (leg_posture(height=1.7, sex="female"), leg_posture(height=1.7, sex="female", shin=1.2, thigh=1.9)):
        v = np.array([0.5, -0.7, 0.1, -0.2])
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=[12.0, -5.0])
        terms = np.abs(robot.evaluate(robot.mass_matrix, q=q)) @ np.abs(a)
        assert np.max(np.abs(paper.left_side(q, v, a, values))) <= 1e-12 * np.max(terms)


def test_it_stands_where_its_springs_carry_the_weight() -> None:
    """Upright without torques it rests at k₁ (l₁₀ − l₁) = g (m₁n₁ + h₁ + m₂ + h₂), k₂ (l₂₀ − l₂) = g (m₂n₂ + h₂)."""
    robot = leg(
        body_mass=80.0, height=1.8, sex="male", stiffness=4e4, damping=500.0, hip_load=60.0, hinge_mass={"shin": 0.8}
    )
    p = robot.nominal
    q = leg_posture(height=1.8, sex="male")
    q[2] -= G * (p["m1"] * p["n1"] + 0.8 + p["m2"] + 60.0) / 4e4
    q[3] -= G * (p["m2"] * p["n2"] + 60.0) / 4e4
    a = robot.evaluate(robot.acceleration, q=q, v=np.zeros(4), u=[0.0, 0.0])
    assert np.max(np.abs(a)) <= 1e-10
    assert np.max(np.abs(robot.evaluate(robot.acceleration, q=q, v=[0.0, 0.0, 0.1, 0.0], u=[0.0, 0.0]))) > 0.1


def test_load_and_hinge_mass_add_up() -> None:
    both = leg(body_mass=80.0, height=1.8, sex="male", stiffness=4e4, damping=None, hip_load=60.0, hinge_mass=0.5)
    assert (both.nominal["h1"], both.nominal["h2"]) == (0.5, 60.5)


def test_options() -> None:
    robot = leg(
        body_mass=80.0,
        height=1.8,
        sex="male",
        stiffness=4e4,
        damping={"thigh": 10.0},
        hip_load=None,
        added={"shin": 1.0},
        gravity=1.62,
        axial_drives=True,
        rigid=True,
        inertia_law="stretched",
    )
    assert robot.input_names == ("M1", "M2", "F1", "F2")
    assert len(robot.natural) == 2
    assert (robot.nominal["g"], robot.nominal["d2"]) == (1.62, 10.0)
    assert robot.nominal["m1"] == pytest.approx(2.0 * 80.0 * 0.0433)
    assert "d1" not in robot.nominal


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hip_load": 0.0}, r"hip_load \[kg\] must be greater than zero, got 0.0"),
        ({"stiffness": {"shank": 1.0}}, r"stiffness \[N/m\]: unknown link 'shank'"),
        ({"stiffness": {"shin": 1.0}}, r"stiffness \[N/m\] must be given for every link; it is missing for thigh"),
        ({"height": math.nan}, r"height \[m\] must be finite"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "body_mass": 70.0, "height": 1.75, "sex": "female", "stiffness": 4e4, "damping": None, "hip_load": None
    }  # fmt: skip
    with pytest.raises(ModelError, match=message):
        leg(**given | change)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
