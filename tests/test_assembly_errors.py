"""What cannot be assembled: by how much it misses, where, and every other bad input by name."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import (
    Assembler,
    AssemblyError,
    Closure,
    Link,
    assemble,
    assemble_velocities,
    branches,
    lagrangian_system,
    mechanism,
    planar_manipulator,
)
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteError, ParameterError, ShapeError

from .mechanisms import (
    COUPLER,
    CRANK,
    GROUND,
    KNEE,
    OUTPUT_GROUND,
    ROCKER,
    crank_rocker,
    left,
    stephenson,
    unit,
)
from .references import linkage_positions as closed
from .systems import body

ROBOT = crank_rocker()
GUESS = [0.5, 0.5, 1.5]


@pytest.mark.parametrize("coupler", [0.25, 0.1, 2.5, 4.0])
def test_the_miss_is_the_least_distance(coupler: float) -> None:
    """With the crank held, two bars span from |b − c| to b + c, and the pivots are at a known distance."""
    crank = 2.0
    span = np.hypot(GROUND - CRANK * np.cos(crank), CRANK * np.sin(crank))
    expected = max(abs(coupler - ROCKER) - span, span - coupler - ROCKER)
    assert expected > 0.0
    with pytest.raises(AssemblyError, match=r"'coupler pin' misses by .* \(metres between points\)") as caught:
        assemble(ROBOT, GUESS, fixed={"crank": crank}, p={"coupler.length": coupler})
    assert abs(caught.value.misses["coupler pin"] - expected) < 1e-9
    assert f"misses by {expected:.6g}" in str(caught.value)
    # What is handed back is that place: the crank held, bars in line, ends as far apart as said.
    q = caught.value.nearest
    assert q[0] == crank
    assert abs(np.sin(q[1] - q[2])) < 1e-6
    p = {"coupler.length": coupler}
    ends = [ROBOT.evaluate(ROBOT.points[f"{bar}.end"], q=q, p=p) for bar in ("coupler", "rocker")]
    assert abs(np.hypot(*(ends[0] - ends[1])) - expected) < 1e-9
    assert isinstance(caught.value, NotConvergedError)


def test_the_miss_with_everything_free() -> None:
    """One bar longer than the others together."""
    with pytest.raises(AssemblyError) as caught:
        assemble(ROBOT, GUESS, p={"rocker.x": 5.0})
    assert abs(caught.value.misses["coupler pin"] - (5.0 - CRANK - COUPLER - ROCKER)) < 1e-9
    assert branches(ROBOT, GUESS, fixed=["crank"])
    with pytest.raises(AssemblyError, match=r"with crank held: 'coupler pin' misses"):
        branches(ROBOT, GUESS, fixed=["crank"], p={"rocker.x": 5.0})


def test_of_two_loops_the_open_one_is_named() -> None:
    """The output's pivot far away: the four-bar closes, or nearly so, and the dyad cannot."""
    with pytest.raises(AssemblyError, match="'connector pin' misses by") as caught:
        assemble(stephenson(), [0.5, 0.5, 1.5, 1.0, 1.0], p={"output.x": -30.0})
    misses = caught.value.misses
    assert set(misses) == {"coupler pin", "connector pin"}
    assert misses["connector pin"] > 10.0


@pytest.mark.parametrize("guess", [np.zeros(5), np.ones(5), np.array([0.5, 0.5, 1.5, 1.0, 1.0])])
def test_the_miss_is_the_least_from_any_guess(guess: NDArray[np.float64]) -> None:
    """A dyad too short for the coupler: there are two local minima, and the worse one is not what is reported.

    It is less than the distance that is left with the four-bar closed, for opening both loops a little is better.
    """
    p = {"output.length": 0.1, "connector.length": 0.2}
    with pytest.raises(AssemblyError) as caught:
        assemble(stephenson(), guess, p=p)
    total = float(np.linalg.norm(list(caught.value.misses.values())))
    assert abs(total - 0.118372) < 1e-5
    apart: list[float] = []
    for crank in np.linspace(0.0, 2 * np.pi, 721):
        for coupler, _ in closed.four_bar(CRANK, COUPLER, ROCKER, GROUND, float(crank)):
            knee = CRANK * unit(float(crank)) + KNEE[0] * unit(coupler) + KNEE[1] * left(unit(coupler))
            apart.append(float(np.hypot(*(knee - OUTPUT_GROUND))) - 0.3)
    assert 0.5 * min(apart) < total < min(apart)


def test_a_slider_out_of_reach_misses_by_the_difference() -> None:
    arm = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1), Link(0.6, 1.0, 0.3, 0.1)])
    high = mechanism(arm, [Closure("tip", (0.0, 1.75), rows=(1,))])
    with pytest.raises(AssemblyError) as caught:
        assemble(high, [0.1, 0.2])
    assert abs(caught.value.misses["closure tip-ground"] - 0.15) < 1e-9


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: assemble(ROBOT, GUESS, fixed=["crankk"]),
            ModelError,
            "unknown coordinate 'crankk'. Did you mean 'crank'",
        ),
        (lambda: assemble(ROBOT, GUESS, fixed={"crank": np.nan}), ModelError, "fixed crank must be finite"),
        (lambda: assemble(ROBOT, [0.5, 0.5]), ShapeError, r"guess must have shape \(3,\)"),
        (lambda: assemble(ROBOT, [0.5, np.inf, 0.0]), ShapeError, r"guess must be finite, but guess\[1\]"),
        (lambda: assemble(ROBOT, GUESS, t=np.nan), ShapeError, "t must be finite"),
        (lambda: assemble(ROBOT, GUESS, p={"crank": 1.0}), ParameterError, "unknown parameter 'crank'"),
        (lambda: assemble(ROBOT, GUESS, p={"crank.length": -1.0}), ParameterError, "greater than zero"),
        (lambda: assemble(ROBOT, GUESS, tolerance=0.0), ModelError, "tolerance must be greater than zero"),
        (lambda: assemble(ROBOT, GUESS, rank_tolerance=-1.0), ModelError, "rank_tolerance must be greater"),
        (
            lambda: branches(ROBOT, GUESS, fixed=["crank"], starts=0),
            ModelError,
            "starts must be a whole number of at least 1",
        ),
        (lambda: branches(ROBOT, GUESS), ModelError, "keeps 1 degree.* fix as many more of .*crank, coupler, rocker"),
        (lambda: branches(body().robot, [1.0, 0.0, 0.0, 0.0]), ModelError, "not in quasi-velocities"),
        (lambda: assemble(body().robot, [1.0, 0.0, 0.0, 0.0], fixed=["e_0"]), ModelError, "also move e_1, e_2, e_3"),
        (lambda: assemble_velocities(ROBOT, [0.5, 0.5]), ShapeError, r"q must have shape \(3,\)"),
        (lambda: assemble_velocities(ROBOT, GUESS, [1.0]), ShapeError, r"guess must have shape \(3,\)"),
        (lambda: assemble_velocities(ROBOT, GUESS, fixed=["knee"]), ModelError, "unknown coordinate 'knee'"),
        (
            lambda: assemble_velocities(ROBOT, GUESS, fixed={"crank": np.inf}),
            ModelError,
            "rate of crank must be finite",
        ),
        (
            lambda: assemble_velocities(
                body().robot, [1.0, 0.0, 0.0, 0.0], fixed=dict.fromkeys(("e_0", "e_1", "e_2", "e_3"), 0.0)
            ),
            ModelError,
            "use the guess",
        ),
    ],
)
def test_bad_input(call: Any, error: type[Exception], message: str) -> None:  # noqa: ANN401 - a call
    with pytest.raises(error, match=message):
        call()


def test_a_closure_that_is_not_finite_is_named() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, points={"root": ca.vertcat(ca.sqrt(q[0]), q[1])})
    rooted = mechanism(robot, [("root", (2.0, 1.0))])
    with pytest.raises(NotFiniteError, match=r"'closure root-ground\[0\]', or its derivative, is not finite"):
        assemble(rooted, [-1.0, 0.0])
    np.testing.assert_allclose(assemble(rooted, [1.0, 0.0]).q, [4.0, 1.0], atol=1e-12)


def test_all_coordinates_of_a_quaternion_can_be_kept() -> None:
    robot = body().robot
    held = assemble(robot, [1.0, 0.0, 0.0, 0.0], fixed=robot.coordinates.names)
    assert held.remaining == 0
    assert Assembler(robot).assemble([1.0, 0.0, 0.0, 0.0]).remaining == 3
