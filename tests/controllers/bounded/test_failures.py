"""Bounded inputs under failing solvers and sensors, and limits that make no sense."""

from __future__ import annotations

import functools
import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic, second_order
from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.bounded import ConicSolver, QpSolution, QpSolver, QuadraticProgram, optimality_residual
from erugin.robots import with_inputs
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteError, NotFiniteInputError

from ...support.arms import two_link_arm
from ...support.bounded_cases import Case, bounded_case, effort_only, posture_case

Array = NDArray[np.float64]
SOLVERS = [name for name in ("daqp", "qrqp") if ca.has_conic(name)]


class Failing(QpSolver):
    """Solves so many programmes, then hands out nonsense."""

    def __init__(self, good: float, nonsense: float) -> None:
        self.left, self.nonsense = good, nonsense
        self._solver = ConicSolver()

    @property
    def word(self) -> str:
        return "out of luck"

    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        self.left -= 1
        answer = self._solver.solve(program, start)
        if self.left >= 0:
            return answer
        return QpSolution(np.full_like(answer.x, self.nonsense), np.full_like(answer.multipliers, self.nonsense))


def saturating(
    solver: QpSolver | None = None, effort: tuple[float, float] = (28.0, 10.0)
) -> tuple[Case, ProgramController]:
    case = bounded_case("two links")
    limits = ControlLimits.of(case.program.robot, effort=effort)
    return case, ProgramController(case.program, realization="bounded", limits=limits, solver=solver)


@pytest.mark.parametrize("nonsense", [0.0, 7.0, math.nan, math.inf])
def test_a_solver_that_fails_leaves_the_last_safe_input(nonsense: float) -> None:
    case, controller = saturating(Failing(0, nonsense), (40.0, 20.0))
    # On the path the solver is not called.
    controller.advance(0.0, case.q, np.zeros(2))
    safe = controller.control(0.0, case.q, np.zeros(2))
    assert np.abs(safe).max() > 1.0
    q, v = np.array([0.9, -0.6]), np.array([1.0, -1.0])
    for k in range(1, 6):
        controller.advance(k * 1e-3, q, v)
        np.testing.assert_array_equal(controller.control(k * 1e-3, q, v), safe)
    reported = controller.observe(5e-3, q, v)
    assert reported.status is Status.HELD
    assert "out of luck" in reported.message
    assert np.isfinite(reported.output).all()
    assert (np.abs(reported.output) <= [40.0, 20.0]).all()
    solution = controller.solve(5e-3, q, v)
    assert solution.status is Status.HELD
    np.testing.assert_array_equal(solution.input, reported.output)


def test_a_run_continues_after_a_solver_failure_and_reports_it() -> None:
    """The elbow's drive is strong enough on a part of the path only."""
    case = bounded_case("two links")
    robot, limits = case.program.robot, ControlLimits.of(case.program.robot, effort=[14.0, 10.0])
    good = ProgramController(case.program, realization="bounded", limits=limits)
    before = simulate(robot, good, case.q, case.v, 1.4, step=4e-3)
    assert before.status[-1] == Status.OK
    failing = ProgramController(case.program, realization="bounded", limits=limits, solver=Failing(0, math.nan))
    motion = simulate(robot, failing, before.q[-1], before.v[-1], 1.0, step=4e-3, t0=1.4)
    assert motion.t[-1] == pytest.approx(2.4)
    held = motion.status == Status.HELD
    assert held.any()
    assert not held[0]
    first = int(np.argmax(held))
    np.testing.assert_array_equal(motion.u[first], motion.u[first - 1])
    assert np.isfinite(motion.u).all()
    assert any("out of luck" in message for _, message in motion.notes)


def test_bounds_that_push_still_need_no_solver() -> None:
    """The previous result satisfies the conditions of optimality again, whatever happens to the solver."""
    solver = Failing(math.inf, math.nan)
    _, controller = saturating(solver)
    sound = saturating()[1]
    q, v = np.array([-1.6, 0.6]), np.zeros(2)
    controller.advance(0.0, q, v)
    solver.left = 0
    for k in range(1, 6):
        q = q + 1e-3
        reported, expected = controller.observe(k * 1e-3, q, v), sound.control(k * 1e-3, q, v)
        assert reported.status is Status.LIMITED
        np.testing.assert_allclose(reported.output, expected, rtol=1e-9)


def test_without_an_input_to_hold_a_failing_solver_is_an_error() -> None:
    _, controller = saturating(Failing(0, math.nan))
    with pytest.raises(NotConvergedError, match=r"group 1 of the program's rows \(out of luck\)"):
        controller.control(0.0, [-1.6, 0.6], [0.0, 0.0])
    # Where no limit is reached no solver is called.
    case = bounded_case("two links")
    wide = effort_only(case.program.robot, 1e3)
    idle = ProgramController(case.program, realization="bounded", limits=wide, solver=Failing(0, math.nan))
    assert idle.solve(0.0, [-1.6, 0.6], [0.0, 0.0]).status is Status.OK


@pytest.mark.foreign
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bound", [6.0, 14.0, 20.0])
def test_a_warm_start_changes_nothing(solver: str, bound: float) -> None:
    case = posture_case()
    limits = effort_only(case.program.robot, bound)
    controller = ProgramController(
        case.program, realization="bounded", limits=limits, solver=ConicSolver(solver), priorities=["tip"]
    )
    cold = ProgramController(case.program, realization="bounded", limits=limits, priorities=["tip"])
    rng, q, v = np.random.default_rng(5), case.q.copy(), case.v.copy()
    seen: set[Status] = set()
    for k in range(40):
        q, v = q + 0.005 * rng.normal(size=7), v + 0.02 * rng.normal(size=7)
        controller.advance(1e-3 * k, q, v)
        reported = controller.observe(1e-3 * k, q, v)
        seen.add(reported.status)
        expected = cold.control(1e-3 * k, q, v)
        np.testing.assert_allclose(reported.output, expected, rtol=0.0, atol=1e-9 * max(1.0, np.abs(expected).max()))
    assert Status.LIMITED in seen


def test_reset_forgets_the_samples() -> None:
    case = bounded_case("two links")
    limits = ControlLimits.of(case.program.robot, effort=100.0, rate=50.0)
    controller = ProgramController(case.program, realization="bounded", limits=limits)
    free = controller.control(0.2, case.q, case.v)
    controller.advance(0.0, case.q + 0.5, case.v)
    assert np.abs(controller.control(0.2, case.q, case.v) - free).max() > 1.0
    controller.reset()
    np.testing.assert_array_equal(controller.control(0.2, case.q, case.v), free)


def test_a_broken_sensor_is_refused_and_remembered_by_nothing() -> None:
    case, controller = saturating()
    controller.advance(0.0, case.q, case.v)
    memory = controller.memory
    for broken in (math.nan, math.inf):
        for call in (controller.control, controller.advance, controller.observe):
            with pytest.raises(NotFiniteInputError):
                call(1e-3, [broken, 0.0], case.v)
    assert controller.memory is memory


def test_a_model_that_is_not_finite_stops_the_run() -> None:
    arm = two_link_arm()
    rows = ca.vertcat(ca.sqrt(arm.q[0]), arm.q[1])
    program = Program(arm, holonomic(rows - 0.5, perturbation=Baumgarte(20.0), name="root"))
    controller = ProgramController(program, realization="bounded", limits=effort_only(arm, 3.0))
    controller.advance(0.0, [0.2, 0.1], [0.0, 0.0])
    assert controller.observe(0.0, [0.2, 0.1], [0.0, 0.0]).status is Status.LIMITED
    with pytest.raises(NotFiniteError, match=r"at t = 0.001: "):
        controller.control(1e-3, [-0.2, 0.1], [0.0, 0.0])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_of_another_size_is_no_start(solver: str) -> None:
    def made(n: int, k: int) -> QuadraticProgram:
        A, free = np.ones((k, n)), np.full(n, np.inf)
        return QuadraticProgram(np.eye(n), np.ones(n), A, np.full(k, -1.0), np.full(k, np.inf), -free, free)

    conic = ConicSolver(solver)
    start = conic.solve(made(2, 3))
    found = conic.solve(made(4, 1), start)
    # Least ½ |x|² + Σ x with Σ x ≥ −1.
    np.testing.assert_allclose(found.x, -0.25, rtol=1e-9)


def test_conditions_of_optimality_see_every_fault() -> None:
    program = QuadraticProgram(
        H=np.diag([1.0, 2.0]),
        g=np.array([-3.0, 1.0]),
        A=np.array([[1.0, 1.0]]),
        least=np.array([-np.inf]),
        most=np.array([0.5]),
        lower=np.array([-1.0, -1.0]),
        upper=np.array([1.0, np.inf]),
    )
    # By hand: x₁ = 1 at its bound, x₂ = −1/2 free; 2 x₂ + 1 = 0 and x₁ − 3 + λ = 0.
    right = QpSolution(np.array([1.0, -0.5]), np.array([2.0, 0.0, 0.0]))
    assert optimality_residual(program, right) < 1e-15
    for name in SOLVERS:
        found = ConicSolver(name).solve(program)
        np.testing.assert_allclose(found.x, right.x, atol=1e-12)
        assert optimality_residual(program, found) < 1e-10
    for x, multipliers in (
        ([1.0, -0.4], [2.0, 0.0, 0.0]),
        ([1.1, -0.5], [1.9, 0.0, 0.0]),
        ([0.5, -0.5], [2.5, 0.0, 0.0]),
        ([-1.0, -0.5], [4.0, 0.0, 0.0]),
        ([math.nan, -0.5], [2.0, 0.0, 0.0]),
        ([1.0, -0.5], [2.0, math.nan, 0.0]),
    ):
        assert not optimality_residual(program, QpSolution(np.array(x), np.array(multipliers))) < 1e-3


@functools.cache
def pose() -> Program:
    arm = two_link_arm()
    return Program(arm, [holonomic(arm.q[0] - 0.1, name="first"), holonomic(arm.q[1] - 0.2, name="second")])


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"effort": [1.0, 2.0, 3.0]}, r"effort must be one number or have shape \(2,\), got shape \(3,\)"),
        ({"effort": -1.0}, "effort must not be negative"),
        ({"effort": math.nan}, "effort must not be NaN"),
        ({"effort": 1.0, "lower": -2.0}, "but not both"),
        ({"effort": "strong"}, "effort must be numbers"),
        ({"lower": 3.0, "upper": 2.0}, "lower must not be above upper"),
        ({"lower": math.inf, "upper": math.inf}, "lower must not be above upper"),
        ({"rate": 0.0}, "rate must be greater than zero"),
        ({"power": [1.0, -1.0]}, "power must not be negative"),
        ({"total_power": -5.0}, "total_power must not be negative"),
        ({"total_power": math.nan}, "total_power must not be NaN"),
        ({"total_power": [5.0, 5.0]}, r"total_power of ControlLimits.of must be a number, got \[5.0, 5.0\]"),
        ({"joint_lower": 1.0, "joint_upper": -1.0}, "joint_lower must not be above joint_upper"),
        ({"speed": -1.0}, "speed must not be negative"),
        ({"speed": [1.0]}, r"speed must be one number or have shape \(2,\)"),
        ({"approach": 0.0}, "approach must be greater than zero"),
        ({"speed_approach": math.inf}, "speed_approach must be finite"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        ControlLimits.of(two_link_arm(), **limits)


@pytest.mark.foreign
def test_arguments_that_cannot_serve_are_refused() -> None:
    program, arm = pose(), pose().robot
    with pytest.raises(
        ModelError, match=r"unknown constraint of the program in priorities 'frist'. Did you mean 'first"
    ):
        ProgramController(program, realization="bounded", priorities=["frist"])
    with pytest.raises(ModelError, match="'first' is named twice"):
        ProgramController(program, realization="bounded", priorities=["first", ["second", "first"]])
    with pytest.raises(ModelError, match="an empty one"):
        ProgramController(program, realization="bounded", priorities=[[]])
    for wrong in ("first", 3):
        with pytest.raises(ModelError, match="sequence of names"):
            ProgramController(program, realization="bounded", priorities=wrong)  # type: ignore[arg-type]
    for groups in ([3], [["first", 3]], [[["first"]]]):
        with pytest.raises(
            ModelError, match=r"a group must be a name of a constraint or several, got|each a text or a sequence"
        ):
            ProgramController(program, realization="bounded", priorities=groups)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"ControlLimits.of requires a Robot, got Program"):
        ControlLimits.of(program)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="require realization='bounded', got 'actuated'"):
        ProgramController(program, realization="actuated", limits=ControlLimits.of(arm, effort=1.0))
    with pytest.raises(ModelError, match="limits must be ControlLimits"):
        ProgramController(program, realization="bounded", limits=arm.limits)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="solver must be a QpSolver"):
        ProgramController(program, realization="bounded", solver="daqp")  # type: ignore[arg-type]
    other = ControlLimits.of(posture_case().program.robot)
    with pytest.raises(ModelError, match="lower must have 2 values"):
        ProgramController(program, realization="bounded", limits=other)
    a = arm.coordinates.a
    curved = Program(arm, second_order(a[0] ** 2 + a[0] * a[1] - 2.0, name="curved"))
    with pytest.raises(ModelError, match="affine in the accelerations"):
        ProgramController(curved, realization="bounded")
    passive = with_inputs(arm, [])
    idle = Program(passive, holonomic(passive.q[0]))
    with pytest.raises(ModelError, match="has no inputs"):
        ProgramController(idle, realization="bounded")
    with pytest.raises(ModelError, match=r"unknown solver of quadratic programmes 'dapq'. Did you mean 'daqp'"):
        ConicSolver("dapq")
    with pytest.raises(ModelError, match=r"holding\(\) requires realization='bounded'"):
        ProgramController(program, realization="actuated").holding(0.0, [0.0, 0.0])


def test_limits_that_exclude_equilibrium_are_reported() -> None:
    """A stretched arm, held level: the torques are weights times levers."""
    arm = two_link_arm()
    needed = np.array([9.81 * (2.5 * 0.6 + 1.8 * 1.1), 9.81 * 1.8 * 0.5])
    program = Program(arm, holonomic(arm.q, perturbation=Baumgarte(5.0), name="level"))
    weak = ControlLimits.of(arm, effort=[25.0, 9.0])
    controller = ProgramController(program, realization="bounded", limits=weak)
    holding = controller.holding(0.0, [0.0, 0.0])
    assert not holding.possible
    np.testing.assert_allclose(holding.needed, needed, rtol=1e-12)
    unit = arm.input_units[0]
    assert f"{arm.input_names[0]} would need {needed[0]:.6g} {unit}, beyond its bound 25" in holding.message
    assert arm.input_names[1] not in holding.message
    reported = controller.observe(0.0, [0.0, 0.0], [0.0, 0.0])
    assert reported.status is Status.LIMITED
    assert holding.message in reported.message
    assert reported.output[0] == 25.0
    hanging = controller.holding(0.0, [-np.pi / 2, 0.0])
    assert hanging.possible
    np.testing.assert_allclose(hanging.input, 0.0, atol=1e-12)
    # One drive for two joints holds no arm that is not hanging.
    one = with_inputs(arm, [arm.input_names[1]])
    elbow = Program(one, holonomic(one.q[1], perturbation=Baumgarte(5.0), name="elbow"))
    passive = ProgramController(elbow, realization="bounded").holding(0.0, [0.3, 0.2])
    assert not passive.possible
    assert "too few drives" in passive.message


def test_drives_that_share_hold_what_one_alone_could_not() -> None:
    """A four-bar linkage: one drive would have to do more than its bound, all of them together need not."""
    case = bounded_case("four-bar linkage")
    robot = case.program.robot
    assert robot.u.numel() > 1
    strongest = ProgramController(case.program, realization="bounded").holding(0.0, case.q)
    bound = 0.9 * float(np.abs(strongest.needed).max())
    shared = ProgramController(
        case.program, realization="bounded", limits=ControlLimits.of(robot, effort=bound)
    ).holding(0.0, case.q)
    assert shared.possible
    assert (np.abs(shared.input) <= bound).all()
    assert np.abs(shared.acceleration).max() < 1e-8
