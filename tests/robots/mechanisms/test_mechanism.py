"""Closed loops: construction, bad closures, and positions against closed forms on every branch."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, FirstOrder
from erugin.robots import (
    Assembler,
    Closure,
    Link,
    Robot,
    assemble,
    branches,
    lagrangian_system,
    mechanism,
    planar_manipulator,
    with_inputs,
    without_rows,
)
from erugin.robots.examples import andrews_squeezer, iftomm_four_bars
from erugin.robots.mechanisms.mechanism import ClosurePoint
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, Parameters, StartWarning

from ...support.mechanisms import (
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
from ...support.references import linkage_positions as closed

Array = NDArray[np.float64]


def arm(n: int = 3) -> Robot:
    return planar_manipulator([Link(1.0 - 0.1 * i, 1.0 + i, 0.4, 0.1) for i in range(n)], angles="absolute")


def test_a_closure_is_a_natural_constraint_and_all_else_is_kept() -> None:
    robot = arm()
    closed = mechanism(robot, [("tip", (1.2, 0.3))])
    assert [c.name for c in closed.natural] == ["closure tip-ground"]
    assert closed.natural[0].order == 0
    assert closed.nominal == {**robot.nominal, "closure tip-ground.x": 1.2, "closure tip-ground.y": 0.3}
    for name in ("mass_matrix", "bias", "input_matrix", "kinetic_energy", "potential_energy", "q", "v", "u"):
        assert ca.is_equal(getattr(closed, name), getattr(robot, name), 3)
    assert dict(closed.points) == dict(robot.points)
    assert (closed.chain, closed.input_names, closed.coordinates) == (robot.chain, robot.input_names, robot.coordinates)
    assert closed.name == f"{robot.name} with 1 closed loop"
    assert mechanism(robot, [("tip", (1.2, 0.3))], name="four-bar").name == "four-bar"


def test_closures_by_name_by_expression_and_by_numbers_are_the_same() -> None:
    robot, q = arm(), np.array([0.3, -0.4, 1.9])
    tip, elbow = robot.points["tip"], robot.points["joint2"]
    pairs: list[tuple[ClosurePoint, ClosurePoint]] = [("tip", "joint2"), (tip, elbow), (tip, "joint2"), ("tip", elbow)]
    for pair in pairs:
        closed = mechanism(robot, [pair])
        assert closed.natural[0].name == "closure tip-joint2"
        value = closed.evaluate(closed.natural[0].residual(closed.coordinates), q=q)
        np.testing.assert_allclose(value, robot.evaluate(tip - elbow, q=q), atol=1e-15)
    for numbers in ((0.5, -0.2), [0.5, -0.2], np.array([0.5, -0.2])):
        closed = mechanism(robot, [(numbers, "tip")])
        value = closed.evaluate(closed.natural[0].residual(closed.coordinates), q=q)
        np.testing.assert_allclose(value, np.array([0.5, -0.2]) - robot.evaluate(tip, q=q), atol=1e-15)


def test_rows_choose_what_is_held() -> None:
    """A tip on a line: as one row of two, and as a pair of scalars."""
    robot, q = arm(2), np.array([0.7, -0.2])
    by_row = mechanism(robot, [Closure("tip", (0.0, 0.25), rows=(1,))])
    by_scalar = mechanism(robot, [(robot.points["tip"][1], 0.25)])
    assert by_row.nominal["closure tip-ground.y"] == 0.25
    assert "closure tip-ground.x" not in by_row.nominal
    assert by_scalar.natural[0].name == "closure 1"
    assert by_scalar.nominal["closure 1.value"] == 0.25
    for one in (by_row, by_scalar):
        value = one.evaluate(one.natural[0].residual(one.coordinates), q=q)
        assert value == robot.evaluate(robot.points["tip"], q=q)[1] - 0.25


def test_several_loops_at_once_or_one_after_another() -> None:
    robot = arm(4)
    both = mechanism(robot, [("joint3", (1.0, 0.5)), ("tip", (0.5, 0.5))])
    after = mechanism(mechanism(robot, [("joint3", (1.0, 0.5))]), [("tip", (0.5, 0.5))])
    assert [c.name for c in both.natural] == ["closure joint3-ground", "closure tip-ground"]
    assert [c.name for c in after.natural] == [c.name for c in both.natural]
    assert both.nominal == after.nominal
    q, v = np.array([0.3, 0.2, 1.9, 2.5]), np.array([1.0, -1.0, 0.5, 0.2])
    for expressions in zip(both.natural_form, after.natural_form, strict=True):
        one, other = (r.evaluate(e, q=q, v=v) for r, e in zip((both, after), expressions, strict=True))
        np.testing.assert_array_equal(one, other)
    # Two closures of the same points have different names.
    twice = mechanism(robot, [Closure("tip", (0.5, 0.0), rows=(0,)), Closure("tip", (0.0, 0.5), rows=(1,))])
    assert [c.name for c in twice.natural] == ["closure tip-ground", "closure tip-ground 2"]
    named = mechanism(robot, [Closure("tip", (0.5, 0.0), name="left foot")])
    assert named.natural[0].name == "left foot"
    assert named.nominal["left foot.x"] == 0.5


def test_a_fixed_place_moves_with_its_parameters() -> None:
    robot = crank_rocker()
    near, far = (assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"], p={"rocker.x": x}).q for x in (1.0, 1.2))
    for q, x in ((near, 1.0), (far, 1.2)):
        gap = robot.points["coupler.end"] - robot.points["rocker.end"]
        np.testing.assert_allclose(robot.evaluate(gap, q=q, p={"rocker.x": x}), 0.0, atol=1e-12)
    assert np.abs(near - far).max() > 0.05


def test_gains_of_a_closure_pull_it_together() -> None:
    """A pendulum of two bars on a line that it starts off: the deviation falls as its equation says."""
    gain = 7.0
    robot = mechanism(arm(2), [Closure("tip", (0.0, -0.4), rows=(1,))], perturbation=Baumgarte(gain))
    assert robot.natural[0].perturbation == Baumgarte(gain)
    with pytest.warns(StartWarning, match="the residual is .* instead of 0 and will decay"):
        motion = simulate(robot, None, [-0.3, -0.1], [0.0, 0.0], 1.0, step=0.05, integrator=DOP853(1e-12, 1e-12))
    deviation = motion.evaluate(robot.natural[0].residual(robot.coordinates))
    assert abs(deviation[0]) > 0.01
    expected = deviation[0] * (1 + gain * motion.t) * np.exp(-gain * motion.t)
    np.testing.assert_allclose(deviation, expected, atol=1e-9)


def test_a_place_may_move_in_time() -> None:
    """A tip led round a circle: the velocities of the loop follow from it."""
    robot = arm(2)
    target = ca.vertcat(0.9 + 0.1 * ca.cos(robot.t), 0.2 + 0.1 * ca.sin(robot.t))
    led = mechanism(robot, [("tip", target)])
    q = assemble(led, [0.9, -0.6], t=0.7).q
    np.testing.assert_allclose(
        robot.evaluate(robot.points["tip"], q=q), [0.9 + 0.1 * np.cos(0.7), 0.2 + 0.1 * np.sin(0.7)], atol=1e-12
    )


def test_points_in_space_are_held_together() -> None:
    """A crank about z, a ball joint, a rod of two angles, a rocker about x: the closed form of the RSSR linkage."""
    q, v = ca.vertcat(*map(ca.SX.sym, "abcd")), ca.vertcat(*map(ca.SX.sym, "efgh"))
    p = Parameters.declare({"crank": 0.3, "rod": 1.0, "rocker": 0.7})
    crank = p["crank"] * ca.vertcat(ca.cos(q[0]), ca.sin(q[0]), 0)
    rod = p["rod"] * ca.vertcat(ca.cos(q[1]) * ca.cos(q[2]), ca.sin(q[1]) * ca.cos(q[2]), ca.sin(q[2]))
    rocker = ca.vertcat(0.6, 0.5, 0) + p["rocker"] * ca.vertcat(0, ca.cos(q[3]), ca.sin(q[3]))
    middle = ca.jtimes(crank + rod / 2, q, v)
    T = ca.sumsqr(middle) / 2 + ca.sumsqr(ca.jtimes(rocker, q, v)) / 2 + ca.sumsqr(v) / 10
    space = lagrangian_system(q=q, v=v, p=p, T=T, points={"rod": crank + rod, "rocker": rocker})
    linkage = mechanism(space, [("rod", "rocker")])
    for angle in (0.2, 1.5, 3.0):
        found = assemble(linkage, [angle, 0.5, 0.5, 1.0], fixed=["a"])
        assert (found.rank, found.degrees_of_freedom) == (3, 1)
        # |rocker − crank|² = rod², with the rocker's pivot at w from the crank's end.
        w = np.array([0.6 - 0.3 * np.cos(angle), 0.5 - 0.3 * np.sin(angle)])
        assert abs(np.cos(found.q[3]) - (1.0 - 0.7**2 - w @ w) / (2 * 0.7 * w[1])) < 1e-11


def test_inputs_that_go_are_zero() -> None:
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5]).q
    v = np.zeros(3)
    for names in (("rocker", "crank"), ("coupler",), ()):
        fewer = with_inputs(robot, names)
        u = np.arange(1.0, 1.0 + len(names))
        whole = np.array([dict(zip(names, u, strict=True)).get(name, 0.0) for name in robot.input_names])
        assert fewer.input_names == names
        np.testing.assert_allclose(
            fewer.evaluate(fewer.acceleration, q=q, v=v, u=u),
            robot.evaluate(robot.acceleration, q=q, v=v, u=whole),
            rtol=1e-13,
        )
    assert with_inputs(robot, "crank").input_names == ("crank",)
    assert with_inputs(robot, ("crank",)).limits.effort.shape == (1,)


def test_rows_that_go_leave_the_others() -> None:
    robot = mechanism(arm(4), [("joint3", (1.0, 0.5)), ("tip", (0.5, 0.5))])
    fewer = without_rows(robot, ["closure joint3-ground[0]", "closure tip-ground[0]", "closure tip-ground[1]"])
    assert [c.name for c in fewer.natural] == ["closure joint3-ground"]
    q = np.array([0.3, 0.2, 1.9, 2.5])
    value = fewer.evaluate(fewer.natural[0].residual(fewer.coordinates), q=q)
    assert value == robot.evaluate(robot.points["joint3"], q=q)[1] - 0.5
    assert without_rows(robot, ()).natural == robot.natural


ROBOT = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 2)
TIP, OTHER = ROBOT.points["tip"], ca.SX.sym("other")


@pytest.mark.parametrize(
    ("closures", "message"),
    [
        ([], "at least one closure, got none"),
        ([("tip", "hand")], r"unknown point 'hand'.*joint1, joint2, tip"),
        ([("tip", "joint1"), ("tipp", "joint1")], "closure tipp-joint1: unknown point 'tipp'. Did you mean 'tip'"),
        ([(TIP, (1.0, 2.0, 3.0))], r"closure tip-ground: .* got shapes \(2, 1\) and \(3, 1\)"),
        ([(TIP.T, (1.0, 2.0))], r"columns of equal length, got shapes \(1, 2\)"),
        ([(ROBOT.mass_matrix, ROBOT.mass_matrix)], r"closure 1: .* got shapes \(2, 2\)"),
        ([((0.0, 0.0), (1.0, 1.0))], "closure ground-ground: at least one of the two points must move"),
        ([("joint1", (0.0, 0.0))], "closure joint1-ground: no coordinate moves .* along x, y"),
        ([("tip", "tip")], "closure tip-tip: no coordinate moves .* along x, y"),
        ([(ca.vertcat(TIP[0], 1.0), (0.5, 0.5))], "closure 1: no coordinate moves .* along y"),
        ([(OTHER, TIP[0])], "closure 1 uses other, which planar manipulator with 2 links does not have"),
        ([(TIP + ROBOT.v, (0.0, 0.0))], "closure 1 depends on velocities"),
        ([(TIP + ROBOT.u, (0.0, 0.0))], "closure 1 depends on inputs"),
        ([(TIP + ROBOT.coordinates.a, (0.0, 0.0))], "closure 1 depends on accelerations"),
        ([("tip", (0.0, np.nan))], "closure tip-ground: .*must be finite, got nan"),
        ([("tip", ("a", "b"))], "closure tip-ground: .*must be a number, got 'a'"),
        ([("tip", None)], "a point must be an expression, .* got None"),
        ([("tip", ())], r"got shapes \(2, 1\) and \(0, 1\)"),
        ([("tip",)], "closure 1 must be a pair"),
        (["tip"], "closure 1 must be a pair"),
        ([5.0], "closure 1 must be a pair"),
        ("tip", "a list of pairs"),
        (Closure("tip", (0.0, 1.0)), "a list of pairs"),
        ([Closure("tip", (0.0, 1.0), rows=(2,))], r"rows must be different numbers from 0 to 1, got \(2,\)"),
        ([Closure("tip", (0.0, 1.0), rows=(0, 0))], "rows must be different"),
        ([Closure("tip", (0.0, 1.0), rows=())], "rows must be different"),
        ([Closure("tip", (0.0, 1.0), "foot"), Closure("tip", (0.0, 1.0), "foot")], r"already has .*'foot'"),
    ],
)
def test_bad_closures(closures: Any, message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        mechanism(ROBOT, closures)


def test_symbols_of_another_robot_are_foreign_although_they_look_alike() -> None:
    twin = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)] * 2)
    with pytest.raises(ModelError, match="closure 1 uses l1, l2, q1, q2"):
        mechanism(ROBOT, [("tip", twin.points["tip"])])


def test_a_perturbation_equation_must_fit_places() -> None:
    with pytest.raises(ModelError, match="'closure tip-ground' has order 0"):
        mechanism(ROBOT, [("tip", (1.0, 0.5))], perturbation=FirstOrder())


def test_unknown_inputs_and_rows() -> None:
    with pytest.raises(ModelError, match=r"unknown input 'M3'.*Known: M1, M2"):
        with_inputs(ROBOT, ["M3"])
    with pytest.raises(ModelError, match="names must differ"):
        with_inputs(ROBOT, ["M1", "M1"])
    closed = mechanism(ROBOT, [("tip", (1.0, 0.5))])
    with pytest.raises(ModelError, match=r"unknown row of a natural constraint 'closure tip-ground'.*\[0\]"):
        without_rows(closed, ["closure tip-ground"])


@pytest.mark.parametrize("windows", [0, -1, 1.5])
def test_number_of_windows(windows: Any) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=f"windows must be a whole number of at least 1, got {windows}"):
        iftomm_four_bars(windows)


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
