"""Rows that are switched on and off: inactive ones require nothing, active ones are as without switching."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, FirstOrder, Schedule, follow, holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, Parameters

from ...support.arms import disc_field, disc_program, two_link_arm
from ...support.called_controller import Called

Array = NDArray[np.float64]
REALIZATIONS: tuple[Literal["ideal", "actuated"], ...] = ("ideal", "actuated")


def slider(mass: float = 100.0) -> Robot:
    q, v, u = ca.SX.sym("x", 1), ca.SX.sym("v", 1), ca.SX.sym("u", 1)
    return lagrangian_system(q=q, v=v, T=mass * v**2 / 2, Q=u, u=u)


@pytest.mark.parametrize("realization", REALIZATIONS)
def test_a_row_that_is_off_requires_nothing(realization: Literal["ideal", "actuated"]) -> None:
    """On or off, beside programs that have the row always or never."""
    arm = two_link_arm()
    tip = arm.points["tip"]
    height = holonomic(tip[1] - 0.2, perturbation=Baumgarte(4.0), name="height")
    turn = nonholonomic(arm.v[0] - 0.1, perturbation=FirstOrder(3.0), name="turn")
    switched = ProgramController(Program(arm, [turn, height.switched(arm.t - 1 + arm.q[0])]), realization=realization)
    both = ProgramController(Program(arm, [turn, height]), realization=realization)
    one = ProgramController(Program(arm, turn), realization=realization)
    rng = np.random.default_rng(8)
    for _ in range(20):
        t, q, v = float(rng.uniform(0, 2)), rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)
        here = switched.solve(t, q, v)
        assert here.status is Status.OK
        whole = both.solve(t, q, v)
        np.testing.assert_array_equal(here.deviation, whole.deviation)
        assert here.program_residual < 1e-10
        assert here.motion_residual < 1e-10
        if t - 1 + q[0] > 0:
            np.testing.assert_allclose(here.force, whole.force, rtol=1e-12)
            np.testing.assert_allclose(here.pivots, whole.pivots, rtol=1e-12)
            assert abs(here.multipliers[1]) > 1e-6
        else:
            alone = one.solve(t, q, v)
            assert here.multipliers[1] == 0.0
            assert here.pivots[1] == 1.0
            np.testing.assert_allclose(here.force, alone.force, rtol=1e-12)
            np.testing.assert_allclose(here.acceleration, alone.acceleration, rtol=1e-12)
        np.testing.assert_allclose(switched.control(t, q, v), here.force if realization == "ideal" else here.input)


@pytest.mark.parametrize("called", [False, True])
def test_a_mass_is_free_until_its_row_switches_on(called: bool) -> None:
    """x = 0.3 + 0.2 t up to t = 1, then y″ + 2α y′ + α² y = 0 from there: y = (y₁ + (v₁ + α y₁) τ) exp(−α τ)."""
    robot, alpha = slider(), 6.0
    row = holonomic(robot.q, perturbation=Baumgarte(alpha), name="rest", when=Schedule(((1.0, math.inf),)))
    controller = ProgramController(Program(robot, row))
    acting = Called(controller) if called else controller
    motion = simulate(robot, acting, [0.3], [0.2], 2.0, step=1e-3)
    later = np.maximum(motion.t - 1.0, 0.0)
    expected = np.where(
        motion.t < 1.0, 0.3 + 0.2 * motion.t, (0.5 + (0.2 + alpha * 0.5) * later) * np.exp(-alpha * later)
    )
    # The last stage of the step that ends at t = 1 already feels the row: an error of one stage, h a / 6.
    np.testing.assert_allclose(motion.q[:, 0], expected, atol=3e-3)
    np.testing.assert_array_equal(motion.u[motion.t < 1.0 - 1e-9], 0.0)
    assert np.abs(motion.u[1000]).max() > 1.0
    assert motion.ok
    if not called:
        np.testing.assert_allclose(motion.deviation[:, 0], motion.q[:, 0])
        np.testing.assert_array_equal(motion.active[:, 0], motion.t >= 1.0 - 1e-12)


def test_a_pivot_that_falls_because_a_row_switches_on_is_not_a_singularity() -> None:
    """Off, the pivot is 1; on, it is 1/m = 0.01, with nothing between: a run must not stop for that."""
    robot = slider(100.0)
    row = nonholonomic(robot.v - 0.1, perturbation=FirstOrder(5.0), when=Schedule(((0.2, 0.4), (0.6, math.inf))))
    motion = simulate(robot, ProgramController(Program(robot, row)), [0.0], [0.0], 1.0, step=1e-2)
    assert motion.ok
    assert motion.t[-1] == pytest.approx(1.0)
    assert motion.v[-1, 0] == pytest.approx(0.1 * (1 - np.exp(-5 * 0.6)), rel=0.05)


def test_a_pivot_does_not_fall_from_where_the_row_was_off() -> None:
    """On with 10 v, K = 100; off; on again with v/2, K = 0.25, beside which the 1 of the sample before is no fall."""
    robot = slider(1.0)
    share = ca.if_else(robot.t < 0.3, 10.0, 0.5)
    row = nonholonomic(share * (robot.v - 0.1), when=Schedule(((0.0, 0.2), (0.6, math.inf))))
    motion = simulate(robot, ProgramController(Program(robot, row)), [0.0], [0.0], 1.0, step=1e-2)
    assert motion.ok
    assert motion.pivots.min() == 1.0
    assert motion.t[-1] == pytest.approx(1.0)


def test_a_singular_row_matters_only_where_it_is_on() -> None:
    program = disc_program()
    arm = program.robot
    whole = program.constraints[0]
    switched = ProgramController(Program(arm, [whole.switched(arm.t - 1.0)]))
    assert switched.solve(0.5, [0.4, 0.0], [0.1, 0.2]).status is Status.OK
    singular = switched.solve(1.5, [0.4, 0.0], [0.1, 0.2])
    assert singular.status is Status.SINGULAR
    assert "'follow[1]' depends on 'follow[0]'" in singular.message


@pytest.mark.parametrize("realization", REALIZATIONS)
def test_a_row_may_be_undefined_where_it_is_off(realization: Literal["ideal", "actuated"]) -> None:
    """√x is no number for x < 0, where the row is off."""
    robot = slider(2.0)
    row = holonomic(ca.sqrt(robot.q) - 1.0, when=robot.q, name="root")
    controller = ProgramController(Program(robot, row), realization=realization)
    off, on = controller.solve(0.0, [-0.5], [0.3]), controller.solve(0.0, [0.5], [0.3])
    assert off.status is Status.OK
    np.testing.assert_array_equal(off.force, [0.0])
    assert np.isnan(off.deviation).all()
    assert on.status is Status.OK
    assert abs(on.force[0]) > 1.0


def test_a_condition_that_is_no_number_is_neither_on_nor_off() -> None:
    robot = slider()
    row = holonomic(robot.q, when=ca.sqrt(robot.v), name="row")
    solution = ProgramController(Program(robot, row)).solve(0.0, [0.5], [-0.3])
    assert solution.status is Status.NOT_FINITE


def test_rows_that_take_turns_may_be_more_than_velocities() -> None:
    robot = slider(2.0)
    rows = [
        holonomic(robot.q - 1.0, name="first", when=Schedule(((0.0, 1.0),))),
        nonholonomic(robot.v - 0.5, name="second", when=Schedule(((1.0, 2.0),))),
        second_order(robot.coordinates.a - 3.0, name="third", when=Schedule(((2.0, 3.0),))),
    ]
    for realization in REALIZATIONS:
        controller = ProgramController(Program(robot, rows), realization=realization)
        expected = {0.5: -2 * 10 * 0.2 - 100 * (0.4 - 1), 1.0: -10 * (0.2 - 0.5), 2.5: 3.0, 3.5: 0.0}
        for t, a in expected.items():
            solution = controller.solve(t, [0.4], [0.2])
            assert solution.acceleration[0] == pytest.approx(a, abs=1e-12)
            assert np.count_nonzero(solution.multipliers) == (t != 3.5)
    both = Program(robot, [rows[0], holonomic(robot.q - 2.0, name="other", when=robot.v)])
    assert ProgramController(both).solve(0.5, [0.4], [0.2]).status is Status.SINGULAR
    assert ProgramController(both).solve(0.5, [0.4], [-0.2]).status is Status.OK
    with pytest.raises(ModelError, match=r"2 rows \(one, two\), more than the 1 velocities"):
        ProgramController(Program(robot, [holonomic(robot.q, name="one"), holonomic(robot.q - 1, name="two"), *rows]))


def test_the_times_of_a_schedule_are_parameters() -> None:
    robot = slider(2.0)
    row = second_order(robot.coordinates.a - 1.0, name="push", when=Schedule(((0.0, 1.0), (2.0, math.inf))))
    program = Program(robot, row)
    assert {"push.on1": 0.0, "push.off1": 1.0, "push.on2": 2.0}.items() <= program.nominal.items()
    assert "push.off2" not in program.nominal
    controller = ProgramController(program)

    def on(t: float, **p: float) -> bool:
        return bool(controller.control(t, [0.0], [0.0], {f"push.{k}": x for k, x in p.items()})[0] == 2.0)

    assert [on(t) for t in (-1e-9, 0.0, 0.999, 1.0, 1.5, 2.0, 1e6)] == [False, True, True, False, False, True, True]
    assert on(1.2, off1=1.5)
    assert not on(0.5, off1=-1.0)
    motion = simulate(robot, controller, [0.0], [0.0], 1.0, step=0.1, controller_p={"push.off1": 0.5})
    # Five steps of 0.1 under a = 1, the last stage of the fifth already without: 0.5 − 0.1/6.
    assert motion.v[-1, 0] == pytest.approx(0.5 - 0.1 / 6, abs=1e-12)


def test_a_condition_may_use_parameters_and_every_maker_takes_one() -> None:
    arm = two_link_arm()
    own = Parameters.declare({"reach": 0.4}, "task")
    low = arm.points["tip"][1] - own["task.reach"]
    makers = [
        holonomic(arm.q[0] - own["task.reach"], parameters=own, when=low),
        nonholonomic(arm.v[0] - own["task.reach"], parameters=own, when=low),
        second_order(arm.coordinates.a[0] - own["task.reach"], parameters=own, when=low),
        follow(disc_field(), arm.points["tip"], when=arm.t - 1),
    ]
    for constraint in makers:
        assert constraint.when is not None
        controller = ProgramController(Program(arm, constraint))
        assert controller.switches
        assert not np.any(controller.control(0.0, [0.0, -0.3], [0.1, 0.2]))
    value = ProgramController(Program(arm, makers[0])).control(0.0, [0.0, -0.3], [0.1, 0.2], {"task.reach": -1.0})
    assert np.any(value)
    assert not ProgramController(disc_program()).switches


def test_a_nonlinear_row_that_switches_on_starts_from_its_guess() -> None:
    """a² = 4, on from t = 1, with the guess on the negative side; before, the mass is free."""
    robot = slider(2.0)
    curved = second_order(robot.coordinates.a**2 - 4.0, name="curved", when=Schedule(((1.0, 2.0),)))
    controller = ProgramController(Program(robot, curved), acceleration_guess=[-1.0])
    found = [float(controller.solve(t, [0.0], [0.0]).acceleration[0]) for t in (0.0, 0.9, 1.1, 1.9, 2.1, 1.5)]
    np.testing.assert_allclose(found, [0.0, 0.0, -2.0, -2.0, 0.0, -2.0], atol=1e-12)
    motion = simulate(robot, controller, [0.0], [0.0], 3.0, step=1e-2)
    assert motion.v[-1, 0] == pytest.approx(-2.0, abs=0.02)
    assert motion.active.sum() == 100
    assert motion.ok


ARM = two_link_arm()
STRANGER = ca.SX.sym("stranger")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: holonomic(ARM.q[0], name="N", when=STRANGER), "condition of constraint 'N' uses stranger"),
        (lambda: holonomic(ARM.q[0], name="N", when=ARM.u[0]), "condition of constraint 'N' must not depend on inputs"),
        (
            lambda: holonomic(ARM.q[0], name="N", when=ARM.coordinates.a[0]),
            "condition of constraint 'N' must not depend on in",
        ),
        (lambda: holonomic(ARM.q[0], name="N", when=ARM.q), "'N': when must be a scalar CasADi SX expression"),
        (lambda: nonholonomic(ARM.v[0], name="N", when=cast(ca.SX, 1.5)), r"'N': when must be .* got 1\.5"),
        (lambda: second_order(ARM.coordinates.a[0], name="N", when=cast(ca.SX, (0, 1))), r"'N': when must be"),
        (lambda: follow(disc_field(), ARM.points["tip"], name="N", when=cast(ca.SX, True)), "when of follow must be"),
        (lambda: Schedule(()), "at least one interval"),
        (lambda: Schedule(((1.0, 1.0),)), r"interval 1 .* must end after it starts, got \(1\.0, 1\.0\)"),
        (lambda: Schedule(((0.0, 2.0), (1.0, 3.0))), "one ends at 2.0, the next starts at 1.0"),
        (lambda: Schedule(((0.0, math.inf), (1.0, 3.0))), "one ends at inf, the next starts at 1.0"),
        (lambda: Schedule(((math.nan, 1.0),)), "start of interval 1 must be finite"),
        (lambda: Schedule(cast(tuple[tuple[float, float]], (1.0, 2.0))), "made of pairs"),
        (
            lambda: lagrangian_system(
                q=ARM.q, v=ARM.v, T=ca.sumsqr(ARM.v), natural=[holonomic(ARM.q[0], name="N", when=ARM.q[1])]
            ),
            "natural constraint 'N' has a condition, but only program constraints can be switched",
        ),
    ],
)
def test_bad_conditions_are_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Program(ARM, [cast("ca.SX", make())])  # type: ignore[list-item]
