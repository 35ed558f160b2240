"""What of the body's machine must be said, what may be, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import Robot
from erugin.robots.examples import body_model, body_posture
from erugin.robots.examples.body_model import LINKS
from erugin.symbolic import ModelError

GIVEN: dict[str, object] = {"body_mass": 70.0, "height": 1.75, "sex": "female", "stiffness": 4e4, "damping": None}


def built(**change: object) -> Robot:
    """A body with some arguments changed."""
    return body_model(**GIVEN | change)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["body_mass", "height", "sex", "stiffness", "damping"])
def test_nothing_has_a_silent_default(name: str) -> None:
    arguments = {key: value for key, value in GIVEN.items() if key != name}
    with pytest.raises(TypeError, match=name):
        body_model(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_numbers_for_each_link() -> None:
    springs = {name: 1e4 * (i + 1) for i, name in enumerate(LINKS)}
    robot = built(
        stiffness=springs, damping={"trunk": 50.0}, hinge_mass={"support shin": 1.2}, added={"swing shin": 0.5}
    )
    plain = built()
    p = robot.nominal
    assert [p[f"k{i}"] for i in range(1, 12)] == [1e4 * i for i in range(1, 12)]
    assert {name for name in p if name[0] in "dh"} == {"d3", "h1"}
    assert (p["d3"], p["h1"]) == (50.0, 1.2)
    assert p["m10"] == pytest.approx(1.5 * plain.nominal["m10"], rel=1e-15)
    assert p["I10"] == pytest.approx(1.5 * plain.nominal["I10"], rel=1e-15)
    assert p["n10"] == plain.nominal["n10"]
    assert p["m1"] == plain.nominal["m1"]


def test_one_number_for_all_links() -> None:
    p = built(damping=20.0, hinge_mass=0.5, added=0.1).nominal
    plain = built().nominal
    for i in range(1, 12):
        assert (p[f"k{i}"], p[f"d{i}"], p[f"h{i}"]) == (4e4, 20.0, 0.5)
        assert p[f"m{i}"] == pytest.approx(1.1 * plain[f"m{i}"], rel=1e-15)


def test_the_rest_goes_on_to_the_exoskeleton() -> None:
    robot = built(gravity=1.62, axial_drives=True, rigid=["trunk", "head"], inertia_law="stretched")
    assert robot.nominal["g"] == 1.62
    assert robot.input_names[11:] == tuple(f"F{i}" for i in range(1, 12))
    assert [constraint.name for constraint in robot.natural] == ["rigid link 3", "rigid link 4"]
    assert len(built(rigid=True).natural) == 11
    q = np.concatenate([np.full(11, 0.3), np.full(11, 0.6)])
    other = built(gravity=1.62)
    assert np.ptp(robot.evaluate(robot.mass_matrix, q=q) - other.evaluate(other.mass_matrix, q=q)) > 1e-3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"stiffness": {"trunk": 1e4}},
            r"stiffness \[N/m\] must be given for every link; it is missing for support shin",
        ),
        ({"stiffness": {"trunck": 1e4}}, r"stiffness \[N/m\]: unknown link 'trunck'. Did you mean 'trunk'\?"),
        ({"stiffness": -1.0}, r"stiffness \[N/m\] must not be negative, got -1.0"),
        ({"stiffness": None}, r"stiffness \[N/m\] must be given for every link"),
        ({"damping": {"head": -1.0}}, r"damping \[N s/m\] of the head must not be negative, got -1.0"),
        ({"damping": "much"}, r"damping \[N s/m\] must be a number, got 'much'"),
        ({"hinge_mass": {"foot": 1.0}}, r"hinge_mass \[kg\]: unknown link 'foot'. Did you mean 'swing foot'"),
        ({"added": -0.2}, "added mass, a share must not be negative, got -0.2"),
        ({"rigid": ["tail"]}, "rigid: unknown link 'tail'"),
        ({"sex": "both"}, "sex must be 'female' or 'male'"),
        ({"body_mass": -70.0}, r"body_mass \[kg\] must be greater than zero"),
        ({"height": 0.0}, r"height \[m\] must be greater than zero"),
        ({"base": "air"}, "base must be one of 'pinned', 'floating', got 'air'"),
        ({"inertia_law": "none"}, "inertia_law must be one of"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        built(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"angles": {"tail": 1.0}}, r"angle \[rad\]: unknown link 'tail'"),
        ({"angles": {"head": np.nan}}, r"angle \[rad\] of the head must be finite, got nan"),
        ({"pole": (np.inf, 0.0)}, r"pole x \[m\] must be finite"),
        ({"sex": "x"}, "sex must be 'female' or 'male'"),
    ],
)
def test_bad_postures(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"height": 1.7, "sex": "male"} | change
    with pytest.raises(ModelError, match=message):
        body_posture(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
