"""Assembly from rough guesses, consistent velocities, and what cannot be assembled."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import (
    Assembler,
    Assembly,
    AssemblyError,
    Bar,
    Closure,
    Link,
    Robot,
    assemble,
    assemble_velocities,
    branches,
    lagrangian_system,
    mechanism,
    planar_linkage,
    planar_manipulator,
    without_rows,
)
from erugin.robots.examples import iftomm_four_bars, slider_crank
from erugin.symbolic import (
    ModelError,
    NotConvergedError,
    NotFiniteError,
    ParameterError,
    ShapeError,
    SingularProgramError,
)

from ...support.mechanisms import (
    COUPLER,
    CRANK,
    GROUND,
    KNEE,
    OFFSET,
    OUTPUT_GROUND,
    ROCKER,
    ROD,
    bar,
    crank_rocker,
    engine,
    left,
    stephenson,
    unit,
)
from ...support.references import linkage_positions as closed
from ...support.systems import body

Array = NDArray[np.float64]


def assert_closed(robot: Robot, assembly: Assembly) -> None:
    """Assert that all loops are closed, by the points and not by the rows that were solved."""
    for first, second in (("coupler.end", "rocker.end"), ("connector.end", "coupler.point")):
        if first in robot.points and second in robot.points:
            gap = robot.points[first] - robot.points[second]
            np.testing.assert_allclose(robot.evaluate(gap, q=assembly.q), 0.0, atol=1e-12)


def test_random_guesses_are_assembled() -> None:
    rng = np.random.default_rng(12)
    for robot, rank in ((crank_rocker(), 2), (stephenson(), 4)):
        assembler, n = Assembler(robot), robot.coordinates.nq
        for _ in range(30):
            found = assembler.assemble(rng.uniform(-np.pi, np.pi, n))
            assert_closed(robot, found)
            assert (found.rank, found.degrees_of_freedom, found.remaining) == (rank, 1, 1)
            assert found.redundant == ()
            assert not found.singular
            assert len(found.rows) == len(found.residual) == rank
            J = robot.evaluate(robot.natural_form[0], q=found.q, v=np.zeros(n))
            np.testing.assert_allclose(found.singular_values, np.linalg.svd(J, compute_uv=False), rtol=1e-12)


def test_a_good_guess_is_moved_least() -> None:
    """Close to the manifold a step of least norm is the orthogonal projection, to second order."""
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5]).q
    A = robot.evaluate(robot.natural_form[0], q=q, v=np.zeros(3))
    tangent = np.cross(A[0], A[1]) / np.linalg.norm(np.cross(A[0], A[1]))
    away = A.T @ np.array([1e-5, -2e-5])
    found = assemble(robot, q + away)
    assert abs((found.q - q) @ tangent) < 1e-8
    np.testing.assert_allclose(found.q, q, atol=1e-8)


def test_fixed_coordinates_keep_their_guess_or_their_value() -> None:
    robot, guess = crank_rocker(), [0.7, 0.2, 1.3]
    for fixed in (("crank",), "crank", ["crank"], {"crank": 0.7}):
        found = assemble(robot, guess, fixed=fixed)
        assert found.q[0] == 0.7
        assert found.remaining == 0
    assert assemble(robot, guess, fixed={"rocker": 1.9}).q[2] == 1.9
    both = assemble(robot, assemble(robot, guess).q, fixed=("crank", "coupler", "rocker"))
    assert (both.iterations, both.remaining) == (0, 0)


def test_where_all_bars_lie_flat_the_rank_drops() -> None:
    """One window lies flat: a row is lost there, and only there."""
    robot = iftomm_four_bars(1)
    flat = assemble(robot, [0.0, 0.0, 0.0])
    assert (flat.rank, flat.degrees_of_freedom, flat.redundant) == (1, 2, ("pin 1[0]",))
    assert flat.singular
    upright = assemble(robot, [1.5, 0.1, 1.6])
    assert (upright.rank, upright.degrees_of_freedom, upright.redundant) == (2, 1, ())
    assert not upright.singular
    # With N windows, N rows are lost: the benchmark's own words.
    three = assemble(iftomm_four_bars(3), np.zeros(7))
    assert (three.rank, three.degrees_of_freedom, three.singular) == (3, 4, True)


def test_equal_arms_of_a_slider_crank_cross_at_a_singular_place() -> None:
    """Crank and rod of one length, both upright: the slider, on the crank's pivot, may stay there or go on."""
    robot = slider_crank(bar(0.5, 1.0), bar(0.5, 1.0), 1.0, offset=0.0)
    crossing = assemble(robot, [np.pi / 2, -np.pi / 2, 0.0])
    assert (crossing.rank, crossing.degrees_of_freedom, crossing.singular) == (1, 2, True)
    assert crossing.redundant == ("wrist pin[1]",)
    # The same without a coordinate of the slider's own: the guide is one row, and it vanishes.
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.1)] * 2, angles="absolute")
    guided = mechanism(arm, [(arm.points["tip"][1], 0.0)])
    assert assemble(guided, [0.0, 0.0]).rank == 1
    folded = assemble(guided, [np.pi / 2, -np.pi / 2])
    assert (folded.rank, folded.redundant, folded.singular) == (0, ("closure 1",), True)


def parallel_cranks() -> Robot:
    """Three equal cranks under one coupler: one of the four rows is redundant everywhere."""
    crank = Link(1.0, 1.0, 0.5, 1 / 12)
    members = {
        "left": Bar(crank, (0.0, 0.0)),
        "coupler": Bar(Link(2.0, 1.0, 1.0, 0.3), "left.end", points={"middle": (1.0, 0.0)}),
        "right": Bar(crank, (2.0, 0.0)),
        "third": Bar(crank, (1.0, 0.0)),
    }
    return mechanism(planar_linkage(members), [("coupler.end", "right.end"), ("coupler.middle", "third.end")])


def test_a_third_parallel_crank_is_redundant_everywhere() -> None:
    robot = parallel_cranks()
    found = assemble(robot, [1.0, 0.1, 0.9, 1.1])
    assert (found.rank, found.degrees_of_freedom, found.singular) == (3, 1, False)
    assert found.redundant == ("closure coupler.middle-third.end[1]",)
    assert assemble(robot, np.zeros(4)).singular
    regular = without_rows(robot, found.redundant)
    again = assemble(regular, found.q)
    assert (again.rank, again.redundant, again.iterations) == (3, (), 0)
    # The row that is gone holds all the same, and the linkage falls like the pendulum that it is.
    a = regular.evaluate(regular.acceleration, q=found.q, v=[1.0, 0.0, 1.0, 1.0], u=np.zeros(4))
    moment = 3 * 0.5 + 1.0
    expected = -9.81 * np.cos(found.q[0]) * moment / (3 / 3 + 1.0)
    np.testing.assert_allclose(a, expected * np.array([1.0, 0.0, 1.0, 1.0]), atol=1e-9)


@pytest.mark.parametrize("guess", [[0.0, 0.0, 0.0], [np.pi, 0.0, 0.0], [0.0, np.pi, np.pi]])
def test_a_guess_that_newton_cannot_leave_is_left(guess: list[float]) -> None:
    """All bars in line but apart: no step reduces the misfit to first order."""
    found = assemble(crank_rocker(), guess)
    assert_closed(crank_rocker(), found)
    assert found.starts == 1


def test_lengths_are_found_far_away() -> None:
    """A slider 50 m off the guess, and one that starts at nothing."""
    for place in (50.0, 0.0, -3.0):
        found = assemble(engine(), [0.4, 0.1, place], fixed=["crank"])
        assert found.rank == 2
        gap = engine().points["rod.end"] - engine().points["slider.end"]
        np.testing.assert_allclose(engine().evaluate(gap, q=found.q), 0.0, atol=1e-12)


def test_quaternions_stay_quaternions() -> None:
    """A body on a ball joint whose tip is led to a place: q̇ = N(q) v with four coordinates and three velocities."""
    robot = body().robot
    rng, start = np.random.default_rng(13), body().starts
    for _ in range(10):
        goal = start(rng, 0)
        target = robot.evaluate(robot.points["tip"], q=goal)
        found = assemble(mechanism(robot, [("tip", target)]), start(rng, 0))
        np.testing.assert_allclose(robot.evaluate(robot.points["tip"], q=found.q), target, atol=1e-10)
        assert abs(np.linalg.norm(found.q) - 1.0) < 1e-9
        assert (found.rank, found.degrees_of_freedom) == (2, 1)


def test_a_robot_without_loops_is_assembled_anywhere() -> None:
    robot = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 2)
    found = assemble(robot, [0.3, 0.4])
    assert (found.rank, found.degrees_of_freedom, found.remaining, found.iterations) == (0, 2, 2, 0)
    np.testing.assert_array_equal(found.q, [0.3, 0.4])
    assert not found.q.flags.writeable


def test_only_holonomic_constraints_bind_places() -> None:
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    natural = [holonomic(q[0] ** 2 + q[1] ** 2 - 1, name="circle"), nonholonomic(v[0] - q[1] * v[1], name="roll")]
    found = assemble(lagrangian_system(q=q, v=v, T=ca.sumsqr(v) / 2, natural=natural), [2.0, 1.0])
    assert found.rows == ("circle",)
    np.testing.assert_allclose(np.linalg.norm(found.q), 1.0, atol=1e-12)


def test_angles_stay_within_half_a_turn_of_the_guess() -> None:
    found = assemble(crank_rocker(), [0.5 + 6 * np.pi, 0.5, 1.5 - 4 * np.pi])
    near = assemble(crank_rocker(), [0.5, 0.5, 1.5])
    np.testing.assert_allclose(found.q - near.q, [6 * np.pi, 0.0, -4 * np.pi], atol=1e-10)


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
    # The returned position is that one: the crank fixed, bars in line, ends at the reported distance.
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
    with pytest.raises(AssemblyError, match=r"with crank fixed: 'coupler pin' misses"):
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
        (lambda: branches(ROBOT, GUESS), ModelError, "has 1 degree.* fix as many more of .*crank, coupler, rocker"),
        (lambda: branches(body().robot, [1.0, 0.0, 0.0, 0.0]), ModelError, "not quasi-velocities"),
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
            "use guess=",
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
    with pytest.raises(NotFiniteError, match=r"'closure root-ground\[0\]' or its derivative is not finite"):
        assemble(rooted, [-1.0, 0.0])
    np.testing.assert_allclose(assemble(rooted, [1.0, 0.0]).q, [4.0, 1.0], atol=1e-12)


def test_all_coordinates_of_a_quaternion_can_be_kept() -> None:
    robot = body().robot
    held = assemble(robot, [1.0, 0.0, 0.0, 0.0], fixed=robot.coordinates.names)
    assert held.remaining == 0
    assert Assembler(robot).assemble([1.0, 0.0, 0.0, 0.0]).remaining == 3


def test_rates_of_the_four_bar_are_nortons() -> None:
    """Norton, Design of Machinery, eq. (6.18), for a given speed of the crank."""
    robot, rng = crank_rocker(), np.random.default_rng(1)
    assembler = Assembler(robot)
    for _ in range(20):
        q = assembler.assemble(rng.uniform(-np.pi, np.pi, 3)).q
        speed = float(rng.uniform(1.0, 5.0))
        coupler = CRANK * speed * np.sin(q[2] - q[0]) / (COUPLER * np.sin(q[1] - q[2]))
        rocker = CRANK * speed * np.sin(q[0] - q[1]) / (ROCKER * np.sin(q[2] - q[1]))
        expected = [speed, coupler, rocker]
        np.testing.assert_allclose(assembler.velocities(q, fixed={"crank": speed}), expected, rtol=1e-10)
        np.testing.assert_allclose(assembler.velocities(q, [speed, 9.0, 9.0], fixed="crank"), expected, rtol=1e-10)


def test_rates_of_the_slider_crank() -> None:
    for angle in (0.3, 2.0, -1.0):
        q = assemble(engine(), [angle, 0.0, 1.3], fixed=["crank"]).q
        v = assemble_velocities(engine(), q, fixed={"crank": 3.0})
        drop = OFFSET - CRANK * np.sin(angle)
        run = np.sqrt(ROD**2 - drop**2)
        slider = -CRANK * 3.0 * np.sin(angle) + drop * CRANK * 3.0 * np.cos(angle) / run
        np.testing.assert_allclose(v, [3.0, -CRANK * 3.0 * np.cos(angle) / run, slider], rtol=1e-12)


def test_free_velocities_are_nearest_in_kinetic_energy() -> None:
    """The difference does no work on any admissible velocity: Zᵀ M (v − w) = 0, A v = 0, and only so."""
    robot, rng = stephenson(), np.random.default_rng(2)
    assembler, apart = Assembler(robot), 0.0
    for _ in range(10):
        q = assembler.assemble(rng.uniform(-np.pi, np.pi, 5)).q
        w = rng.uniform(-3.0, 3.0, 5)
        v = assembler.velocities(q, w)
        A = robot.evaluate(robot.natural_form[0], q=q, v=v)
        M, Z = robot.evaluate(robot.mass_matrix, q=q), null_space(A)
        np.testing.assert_allclose(A @ v, 0.0, atol=1e-11)
        np.testing.assert_allclose(Z.T @ M @ (v - w), 0.0, atol=1e-11)
        np.testing.assert_allclose(assembler.velocities(q, v), v, atol=1e-11)
        apart = max(apart, float(np.abs(v - Z @ Z.T @ w).max()))
    # Euclid's nearest velocities are others.
    assert apart > 0.1


def test_moving_places_and_rolling_are_obeyed() -> None:
    """φ(q, t) with φ_t, and constraints of order 1 that are not linear in v."""
    q, v, t = ca.SX.sym("q", 3), ca.SX.sym("v", 3), ca.SX.sym("t")
    natural = [
        holonomic(q[0] * q[1] - ca.sin(t), name="led"),
        nonholonomic(v[1] * v[2] + v[2] ** 3 - q[0] - t, name="curved"),
    ]
    T = (v[0] ** 2 + 2 * v[1] ** 2 + 3 * v[2] ** 2 + v[0] * v[1]) / 2
    robot = lagrangian_system(q=q, v=v, t=t, T=T, natural=natural)
    place, time = np.array([0.5, 2 * np.sin(0.4), 0.0]), 0.4
    w = np.array([1.0, 1.0, 1.0])
    x = assemble_velocities(robot, place, w, t=time)
    assert abs(place[1] * x[0] + place[0] * x[1] - np.cos(time)) < 1e-12
    assert abs(x[1] * x[2] + x[2] ** 3 - place[0] - time) < 1e-12
    # Stationary: M (x − w) is a combination of the gradients.
    M = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 3.0]])
    gradients = np.array([[place[1], place[0], 0.0], [0.0, x[2], x[1] + 3 * x[2] ** 2]])
    assert np.abs(null_space(gradients).T @ M @ (x - w)).max() < 1e-9
    assert np.abs(x - w).max() > 0.1


def test_quasi_velocities_of_a_quaternion() -> None:
    """Two coordinates of the tip are held, which leaves a turn about the axis to the tip; all inertias are equal."""
    robot = body().robot
    goal = body().starts(np.random.default_rng(3), 0)
    led = mechanism(robot, [("tip", robot.evaluate(robot.points["tip"], q=goal))])
    axis, w = np.array([0.6, 0.3, -0.4]), np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(assemble_velocities(led, goal, w), axis * (axis @ w) / (axis @ axis), atol=1e-12)
    np.testing.assert_allclose(assemble_velocities(led, goal, fixed=led.coordinates.names), 0.0)


def test_at_a_dead_point_the_output_cannot_be_driven() -> None:
    """Crank and rod in line: whatever the crank does, the slider stands."""
    robot = engine()
    angle = float(np.arcsin(OFFSET / (CRANK + ROD)))
    q = assemble(robot, [angle, angle, CRANK + ROD], fixed=["crank"]).q
    np.testing.assert_allclose(assemble_velocities(robot, q, fixed={"crank": 2.0})[2], 0.0, atol=1e-7)
    with pytest.raises(
        AssemblyError, match=r"no velocities at .* satisfy 'wrist pin': its rate misses.*\(slider\)"
    ) as caught:
        assemble_velocities(robot, q, fixed={"slider": 2.0})
    assert caught.value.misses["wrist pin"] > 0.1


def test_a_row_that_vanishes_binds_no_velocity() -> None:
    """Two equal bars folded upon each other under a guide: its row is zero there, to rounding."""
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.1)] * 2, angles="absolute")
    guided = mechanism(arm, [Closure("tip", (0.0, 0.0), rows=(1,))])
    v = assemble_velocities(guided, [np.pi / 2, -np.pi / 2], [1.0, 2.0])
    np.testing.assert_allclose(v, [1.0, 2.0], atol=1e-12)


def test_singular_masses() -> None:
    """A massless coordinate that a constraint ties is determined; one that is free is not."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    tied = lagrangian_system(q=q, v=v, T=v[0] ** 2 / 2, natural=[holonomic(q[1] - 2 * q[0], name="gear")])
    np.testing.assert_allclose(assemble_velocities(tied, [0.0, 0.0], [1.0, 5.0]), [1.0, 2.0], atol=1e-12)
    with pytest.raises(
        SingularProgramError, match="mass matrix is singular along velocities that the natural constraints"
    ):
        assemble_velocities(lagrangian_system(q=q, v=v, T=v[0] ** 2 / 2), [0.0, 0.0], [1.0, 5.0])


def test_contradicting_rows_are_named() -> None:
    q, v, t = ca.SX.sym("q", 2), ca.SX.sym("v", 2), ca.SX.sym("t")
    natural = [holonomic(q[0], name="still"), holonomic(q[0] - t, name="moving")]
    robot = lagrangian_system(q=q, v=v, t=t, T=ca.sumsqr(v) / 2, natural=natural)
    with pytest.raises(AssemblyError, match="rows contradict each other") as caught:
        assemble_velocities(robot, [0.0, 0.0])
    np.testing.assert_allclose([caught.value.misses[name] for name in ("still", "moving")], 0.5, atol=1e-12)
