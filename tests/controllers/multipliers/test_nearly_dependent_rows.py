"""Rows that nearly depend on others: whatever has the status OK is right, and whatever has not names the row.

The reference is the whole system of the equations, solved with sixty digits.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import ConstrainedMotion, Constraint, holonomic, nonholonomic, second_order
from erugin.constraints.solvers import (
    Augmented,
    ConstrainedSolver,
    LeastNorm,
    Proximal,
    SaddlePoint,
    SchurComplement,
    SolveOutcome,
    UdwadiaPhohomsiri,
)
from erugin.controllers import BufferedTick, Program, ProgramController, Status, analyse
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    CanonicalMultipliers,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    Multipliers,
    NullSpaceMultipliers,
    ProximalMultipliers,
    SweepMultipliers,
    UdwadiaPhohomsiriMultipliers,
)
from erugin.robots import (
    Closure,
    Link,
    Robot,
    TelescopicLink,
    exoskeleton,
    lagrangian_system,
    mechanism,
    planar_manipulator,
    two_wheel_robot,
)
from erugin.scenarios import simulate
from erugin.simulation import Simulator
from erugin.symbolic import (
    ContradictoryProgramError,
    ModelError,
    NotConvergedError,
    NotFiniteError,
    SingularProgramError,
)

from ...support.controller_cases.robots import robot_case
from ...support.flat_linkages import flat, parallelogram
from ...support.kernels import use_no_compiler
from ...support.many_digits import mp
from ...support.multiplier_cases import Numbers, numbers

Array = NDArray[np.float64]

METHODS: dict[str, MultiplierMethod] = {
    "LDL": LdlMultipliers(),
    "sweep": SweepMultipliers(),
    "canonical": CanonicalMultipliers(),
    "null space": NullSpaceMultipliers(),
    "least norm": LeastNormMultipliers(),
    "proximal": ProximalMultipliers(),
    "augmented": AugmentedMultipliers(),
    "Udwadia-Phohomsiri": UdwadiaPhohomsiriMultipliers(),
    "sweep, least norm": SweepMultipliers(LeastNormMultipliers()),
    "canonical, least norm": CanonicalMultipliers(LeastNormMultipliers()),
    "augmented, proximal": AugmentedMultipliers(method=ProximalMultipliers()),
}
NEVER_SQUARED = ("least norm", "augmented", "Udwadia-Phohomsiri", "sweep, least norm", "canonical, least norm")
"""Those that tell rows apart in the metric itself: at every angle of these tests they find the motion."""
ACCURATE = 3e-6
"""A status OK promises 1e-6 of what a row is made of; of the motion in the units of velocities three times that."""
T = 0.1


def _precise(known: Numbers, *, actuated: bool) -> tuple[Array, Array]:
    """a and R with sixty digits; through inputs B u is nearest to Θᵀλ, so that Bᵀ M̂ (B u − Θᵀλ) = 0."""
    mp.mp.dps = 60
    n, k, m, nu = len(known.h), len(known.A), len(known.theta), known.B.shape[1]
    A, theta, B = known.A, known.theta, known.B
    if actuated:
        # a, μ, u, λ, and w = M̂ (B u − Θᵀλ) with its reactions.
        blocks = [
            [known.M, -A.T, -B, np.zeros((n, m)), np.zeros((n, n)), np.zeros((n, k))],
            [A, *(np.zeros((k, size)) for size in (k, nu, m, n, k))],
            [theta, *(np.zeros((m, size)) for size in (k, nu, m, n, k))],
            [np.zeros((n, n)), np.zeros((n, k)), -B, theta.T, known.M, -A.T],
            [*(np.zeros((k, size)) for size in (n, k, nu, m)), A, np.zeros((k, k))],
            [*(np.zeros((nu, size)) for size in (n, k, nu, m)), B.T, np.zeros((nu, k))],
        ]
        right = np.concatenate([-known.h, known.b, known.beta, np.zeros(n + k + nu)])
    else:
        blocks = [
            [known.M, -A.T, -theta.T],
            [A, np.zeros((k, k)), np.zeros((k, m))],
            [theta, np.zeros((m, k)), np.zeros((m, m))],
        ]
        right = np.concatenate([-known.h, known.b, known.beta])
    found = mp.lu_solve(mp.matrix(np.block(blocks).tolist()), mp.matrix(right.tolist()))
    forces = B if actuated else theta.T
    push = mp.matrix(forces.tolist()) * found[n + k : n + k + forces.shape[1]]
    return np.array([float(x) for x in found[:n]]), np.array([float(x) for x in push])


class Case(NamedTuple):
    """A program and a state."""

    program: Program
    q: Array
    v: Array


def _along(robot: Robot, q: Array, v: Array) -> Array:
    """The part of a velocity that natural rows admit."""
    A = robot.evaluate(robot.natural_form[0], q=q, v=v).reshape(-1, len(v), order="F")
    return np.asarray(v - np.linalg.pinv(A) @ (A @ v))


def _links(rng: np.random.Generator, count: int) -> list[Link]:
    return [
        Link(rng.uniform(0.2, 0.6), rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.2), rng.uniform(0.005, 0.05))
        for _ in range(count)
    ]


def _robot(kind: str, rng: np.random.Generator) -> tuple[Robot, Array, Array]:
    n = int(rng.integers(4, 6))
    q, v = rng.uniform(-1.2, 1.2, n), rng.uniform(-1.0, 1.0, n)
    if kind == "relative angles":
        return planar_manipulator(_links(rng, n)), q, v
    if kind == "absolute angles":
        return planar_manipulator(_links(rng, n), angles="absolute", zero="down"), q, v
    if kind == "exoskeleton":
        robot = exoskeleton([TelescopicLink(3.0 + i, 0.05, 0.5, 2e4, 0.45, damping=150.0) for i in range(2)])
        return robot, np.concatenate([rng.uniform(0.3, 1.2, 2), rng.uniform(0.4, 0.5, 2)]), rng.uniform(-1.0, 1.0, 4)
    if kind == "mechanism":
        arm = planar_manipulator(_links(rng, n))
        x, y = arm.evaluate(arm.points["tip"], q=q).tolist()
        robot = mechanism(arm, [Closure("tip", (x, y), "pin")])
        return robot, q, _along(robot, q, v)
    if kind == "two wheels":
        robot = two_wheel_robot(
            wheel_radius=0.1,
            half_track=0.2,
            com_offset=0.05,
            platform_mass=5.0,
            platform_inertia=0.3,
            wheel_mass=0.5,
            wheel_inertia_axle=0.0025,
            wheel_inertia_diameter=0.002,
        )
        q = rng.uniform(-1.0, 1.0, 5)
        return robot, q, _along(robot, q, rng.uniform(-1.0, 1.0, 5))
    robot = robot_case("seven-joint arm").robot
    return robot, rng.uniform(-1.2, 1.2, 7), rng.uniform(-1.0, 1.0, 7)


KINDS = ("relative angles", "absolute angles", "exoskeleton", "mechanism", "two wheels")


def _rows(
    robot: Robot, rng: np.random.Generator, angle: float, delta: float, units: Sequence[float], *, natural: bool
) -> list[Constraint]:
    """Rows of one order at random; the last one a combination of the others but for a share of a row of its own.

    With ``natural`` what the robot's natural constraints say is part of the combination.
    """
    c, n = robot.coordinates, robot.coordinates.nv
    order, free = int(rng.integers(0, 3)), n - robot.natural_form[0].size1()

    def relation() -> ca.SX:
        bent = 0.3 * ca.sin(robot.q[int(rng.integers(n))] + robot.q[0])
        return ca.dot(ca.DM(rng.normal(size=n)), robot.q) + bent - 0.3 * float(rng.normal())

    relations = [relation() for _ in range(1 if natural else int(rng.integers(1, max(2, min(3, free)))))]
    last = sum((float(rng.normal()) * one for one in relations), angle * relation() + delta)
    if natural:
        known, own = robot.natural[0], relation()
        order = known.order
        relations = [one if order == 0 else c.rate(one) for one in relations]
        last = known.residual(c)[0] + angle * (own if order == 0 else c.rate(own))
    rows: list[Constraint] = []
    for i, one in enumerate([*relations, last]):
        y, name = units[i % len(units)] * one, f"row{i}"
        if order == 0:
            rows.append(holonomic(y, name=name))
        elif order == 1:
            rows.append(nonholonomic(y if natural else c.rate(y), name=name))
        else:
            rows.append(second_order(c.rate(c.rate(y)) + 0.5 * y, name=name))
    return rows


def random_case(seed: int, kind: str, *, natural: bool = False) -> Case:
    """A random program: angles from 1e-2 to 1e-8, contradictory by nothing or a little, rows of any units."""
    rng = np.random.default_rng(seed)
    robot, q, v = _robot(kind, rng)
    angle = float(10.0 ** -rng.uniform(2.0, 8.0))
    delta = 0.0 if rng.random() < 0.7 else float(10.0 ** -rng.integers(3, 9))
    units = ((1.0, 1.0), (1e-6, 1e6), (1e6, 1e-3), (1e-6, 1e-6))[int(rng.integers(4))]
    return Case(Program(robot, _rows(robot, rng, angle, delta, units, natural=natural)), q, v)


def check(case: Case, *, realizations: Sequence[str] = ("ideal", "actuated")) -> int:
    """Hold every method against the reference; how many times the status was OK."""
    program, q, v = case
    known, fine = numbers(program, T, q, v), 0
    weights = 1.0 / known.units
    for realization in realizations:
        if realization == "actuated" and not len(known.theta) <= known.B.shape[1] <= len(known.h) - len(known.A):
            # Too few inputs for the rows, or more than freedoms, so that u is not unique.
            continue
        a, R = _precise(known, actuated=realization == "actuated")
        size = max(1.0, float(np.abs(weights * a).max()), float(np.abs(R / weights).max()))
        for label, method in METHODS.items():
            try:
                controller = ProgramController(program, method=method, realization=realization)  # type: ignore[arg-type]
            except ModelError:
                continue
            found, expected_message = controller.solve(T, q, v), f"{label}, {realization}"
            if found.status is Status.OK:
                fine += 1
                off = max(np.abs(weights * (found.acceleration - a)).max(), np.abs((found.force - R) / weights).max())
                assert off <= ACCURATE * size, f"{expected_message}: {off / size:.2g}"
                output = found.force if realization == "ideal" else found.input
                np.testing.assert_array_equal(controller.control(T, q, v), output)
            else:
                assert any(repr(row) in found.message for row in program.rows), f"{expected_message}: {found.message}"
                assert found.status in (Status.SINGULAR, Status.NOT_CONVERGED), f"{expected_message}: {found.message}"
                assert label not in NEVER_SQUARED or float(found.pivots.min()) <= 0.0, expected_message
                with pytest.raises((SingularProgramError, NotConvergedError)):
                    controller.control(T, q, v)
    return fine


@pytest.mark.sampled
@pytest.mark.parametrize("kind", KINDS)
def test_random_programs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    assert sum(check(random_case(seed, kind)) for seed in range(3)) > 10


@pytest.mark.parametrize("kind", ["mechanism", "two wheels"])
def test_a_row_near_a_natural_one(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    assert sum(check(random_case(seed, kind, natural=True), realizations=["ideal"]) for seed in range(3)) > 8


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "Panda"])
def test_many_random_programs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    count = 4 if kind == "Panda" else 15
    assert sum(check(random_case(seed, kind)) for seed in range(100, 100 + count)) > 5 * count


def arm() -> Robot:
    return planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 3)


def lines(angle: float, robot: Robot | None = None) -> Case:
    """The tip on two lines that meet at an angle."""
    what = arm() if robot is None else robot
    x, y = what.points["tip"][0] - 0.5, what.points["tip"][1] - 0.2
    program = Program(what, [holonomic(x, name="one"), holonomic(x + angle * y, name="other")])
    return Case(program, np.array([0.3, 0.8, -0.4]), np.array([0.2, -0.1, 0.4]))


ANGLES = [1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]


@pytest.mark.parametrize("angle", ANGLES)
def test_two_lines_at_an_angle(angle: float, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    check(lines(angle))
    program, q, v = lines(angle)
    a, _ = _precise(numbers(program, T, q, v), actuated=False)
    for label in NEVER_SQUARED:
        found = ProgramController(program, method=METHODS[label]).solve(T, q, v)
        assert found.status is Status.OK, found.message
        error = float(np.abs(found.acceleration - a).max()) / float(np.abs(a).max())
        # Rounding over the angle.
        assert error <= 2e-14 / angle, label
    report = analyse(program, t=T, q=q, v=v)
    if report.rank == 2:
        np.testing.assert_allclose(report.acceleration, a, rtol=0, atol=1e-14 / angle * float(np.abs(a).max()))
    else:
        assert "'other' = +1·'one' except for" in str(report)
        assert not (report.solvable and report.acceleration_unique)


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.parametrize("angle", [1e-4, 1e-6, 1e-8])
def test_compiled_kernels_return_the_same(angle: float) -> None:
    check(lines(angle))


@pytest.mark.parametrize("third", [(0.0, 1.0), (-0.7, 1.3)])
@pytest.mark.parametrize("angle", ANGLES)
def test_what_small_pivots_make_of_rounding_is_no_row(
    angle: float, third: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A third row for the two freedoms of a tip: what is left of it in K is rounding over the square of the angle."""
    use_no_compiler(monkeypatch)
    robot = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 4)
    x, y = robot.points["tip"][0] - 0.5, robot.points["tip"][1] - 0.2
    rows = [holonomic(x, name="one"), holonomic(x + angle * y, name="other"), holonomic(third[0] * x + third[1] * y)]
    q, v = np.array([0.3, 0.8, -0.4, 0.6]), np.array([0.2, -0.1, 0.4, 0.1])
    case = Case(Program(robot, rows), q, v)
    a = numbers(Program(robot, holonomic(robot.points["tip"] - ca.DM([0.5, 0.2]))), T, q, v).motion()[0]
    for label, method in METHODS.items():
        found = ProgramController(case.program, method=method).solve(T, q, v)
        if found.status is Status.OK:
            error = np.abs(found.acceleration - a).max() / np.abs(a).max()
            assert error <= max(1e-8, 1e-13 / angle), label
            assert not found.unique.any()
        else:
            assert any(repr(row) in found.message for row in case.program.rows), label


def test_a_run_reports_where_rows_are_too_close_for_its_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pivots are above the tolerance, and what they leave of the accelerations is not to be trusted."""
    use_no_compiler(monkeypatch)
    program, q, v = random_case(29, "absolute angles")
    controller = ProgramController(program)
    assert controller.observe(T, q, v).relative_pivots.min() > controller.tolerance
    with pytest.raises(SingularProgramError, match="'row1' depends on 'row0'"):
        controller.control(T, q, v)
    motion = simulate(program.robot, controller, q, v, 0.002, step=1e-3, t0=T)
    assert (motion.status == Status.SINGULAR).all()
    assert not motion.ok
    ((time, message),) = motion.notes
    assert time == T
    assert "'row1' depends on 'row0'" in message
    calm = ProgramController(program, method=LeastNormMultipliers())
    assert simulate(program.robot, calm, q, v, 0.002, step=1e-3, t0=T).ok


@pytest.mark.parametrize("redundant", ["refused", "least-norm"])
@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2])
def test_an_output_from_redundant_rows_that_disagree_is_refused(redundant: str, off: float) -> None:
    """A parallelogram with a third crank, whose loops are open by a little."""
    robot = parallelogram(redundant)
    program = Program(robot, [second_order(robot.coordinates.a[0] - 0.5)])
    controller = ProgramController(program)
    q, v = flat(1.1, 1.0)
    q = q + off * np.array([0.0, 1.0, -0.3, 0.0])
    found, tick = controller.solve(0.0, q, v), BufferedTick.of(controller)
    tick.q[:], tick.v[:] = q, v
    tick()
    if redundant == "least-norm" and off < 1e-5:
        assert found.status is tick.status is Status.OK
        np.testing.assert_allclose(controller.control(0.0, q, v), found.force, rtol=1e-12)
        np.testing.assert_allclose(found.force, [7.56326528, 0, 0, 0], rtol=1e-5, atol=1e-9)
        return
    assert found.status in (Status.SINGULAR, Status.CONTRADICTORY)
    assert tick.status is not Status.OK
    with pytest.raises((SingularProgramError, ContradictoryProgramError, NotFiniteError)):
        controller.control(0.0, q, v)


@pytest.mark.parametrize("label", ["least norm", "augmented", "Udwadia-Phohomsiri", "proximal"])
def test_a_row_that_is_passed_over_is_named_and_its_multiplier_is_not_unique(
    label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_no_compiler(monkeypatch)
    robot = arm()
    x = robot.points["tip"][0] - 0.5
    rows = [holonomic(x, name="one"), holonomic(1e-6 * x, name="same"), holonomic(robot.q[2], name="last")]
    found = ProgramController(Program(robot, rows), method=METHODS[label]).solve(T, [0.3, 0.8, -0.4], [0.2, -0.1, 0.4])
    assert found.status is Status.OK
    assert "Rows that depend on those before them, or vanish: 'same'." in found.message
    np.testing.assert_array_equal(found.unique, [False, False, True])


@pytest.mark.parametrize("method", [LeastNormMultipliers(1e-8), UdwadiaPhohomsiriMultipliers(1e-8)])
def test_a_row_that_is_passed_over_by_choice_must_be_met(
    method: MultiplierMethod, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_no_compiler(monkeypatch)
    program, q, v = lines(1e-5)
    controller = ProgramController(program, method=method)
    found = controller.solve(T, q, v)
    assert found.status is Status.SINGULAR
    assert re.search(r"'other' by .* its remainder outside them is \d\.\d+e-06", found.message)
    assert not found.unique.any()
    with pytest.raises(SingularProgramError, match="'other'"):
        controller.control(T, q, v)


def test_a_small_row_is_no_dependent_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one constraint, a million times smaller than the other, where a square would be 1e-12."""
    use_no_compiler(monkeypatch)
    robot = arm()
    tip = robot.points["tip"] - ca.DM([0.5, 0.2])
    program = Program(robot, holonomic(ca.vertcat(tip[0], 1e-6 * tip[1]), name="tip"))
    case = Case(program, np.array([0.3, 0.8, -0.4]), np.array([0.2, -0.1, 0.4]))
    check(case)
    for label in NEVER_SQUARED:
        found = ProgramController(program, method=METHODS[label]).solve(T, case.q, case.v)
        assert found.status is Status.OK
        assert found.unique.all()


@pytest.mark.parametrize("angle", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("realization", ["ideal", "actuated"])
def test_proximal_steps_that_have_not_converged_are_reported(
    angle: float, realization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_no_compiler(monkeypatch)
    program, q, v = lines(angle)
    for method in (ProximalMultipliers(), SweepMultipliers(ProximalMultipliers())):
        controller = ProgramController(program, method=method, realization=realization)  # type: ignore[arg-type]
        found = controller.solve(T, q, v)
        assert found.status is Status.NOT_CONVERGED
        assert re.search(r"Rows are missed by more than the tolerance: .*'other' by -?\d", found.message)
        assert "use more steps, a smaller epsilon, or LeastNormMultipliers()" in found.message
        with pytest.raises(NotConvergedError, match="'other'"):
            controller.control(T, q, v)
    patient = ProgramController(program, method=ProximalMultipliers(1e-8, 200), realization=realization)  # type: ignore[arg-type]
    assert (patient.solve(T, q, v).status is Status.OK) is (angle == 1e-4)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=[pytest.mark.compiled, pytest.mark.slow])])
def test_lanes_of_a_batch_end_where_steps_do_not_converge(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The angle is a parameter of each lane: 0.3 and 1e-6; the kernel itself tells them apart."""
    if not compiled:
        use_no_compiler(monkeypatch)
    robot = arm()
    angle = robot.q[2] - 0.6
    a = robot.coordinates.a
    rows = [second_order(a[0], name="one"), second_order(a[0] + angle * (a[1] - 1.0), name="other")]
    for method, lost in ((ProximalMultipliers(), True), (LeastNormMultipliers(), False)):
        law = ProgramController(Program(robot, rows), method=method)
        q0 = np.array([[0.3, 0.8, 0.9], [0.3, 0.8, 0.6 + 1e-6]])
        runs = Simulator(robot, law).run_batch(q0, np.zeros(3), 0.01, step=1e-3)
        assert runs[0].ok
        assert runs[1].ok is not lost
        if lost:
            assert runs[1].status[-1] == Status.NOT_CONVERGED
            assert re.search(r"Rows are missed by more than the tolerance: .*'other' by \d", runs[1].ending)
            assert "LeastNormMultipliers()" in runs[1].ending


@pytest.mark.parametrize("angle", ANGLES)
def test_bounded_inputs_meet_them_or_report_what_is_missed(angle: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any bound in the way."""
    use_no_compiler(monkeypatch)
    program, q, v = lines(angle)
    a, _ = _precise(numbers(program, T, q, v), actuated=True)
    for method in (LdlMultipliers(), LeastNormMultipliers(), ProximalMultipliers()):
        controller = ProgramController(program, realization="bounded", method=method)
        found = controller.solve(T, q, v)
        if found.status is Status.OK:
            assert np.abs(found.acceleration - a).max() <= ACCURATE * np.abs(a).max()
        else:
            assert found.status is Status.LIMITED
            assert "missed: 'other' by" in found.message
            assert "At their bound" not in found.message
        assert found.status is Status.OK or not isinstance(method, LeastNormMultipliers)


@pytest.mark.parametrize("label", ["least norm", "proximal", "augmented", "Udwadia-Phohomsiri"])
@pytest.mark.parametrize("by", [1e-6, 1e-3, 1.0])
def test_rows_that_contradict_each_other_by_a_little(label: str, by: float, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    robot = arm()
    a = robot.coordinates.a
    rows = [second_order(a[0] + 0.5 * a[1] - 0.3, name="one"), second_order(2 * a[0] + a[1] - 0.6 - by, name="other")]
    controller = ProgramController(Program(robot, rows), method=METHODS[label])
    found = controller.solve(T, [0.3, 0.8, -0.4], [0.2, -0.1, 0.4])
    assert found.status is Status.CONTRADICTORY
    assert "'other' by " in found.message
    with pytest.raises(ContradictoryProgramError, match="'other'"):
        controller.control(T, [0.3, 0.8, -0.4], [0.2, -0.1, 0.4])


def test_a_large_residual_is_never_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a method says of itself: its multipliers are off by 1e-4 of them."""
    use_no_compiler(monkeypatch)

    class Careless(LdlMultipliers):
        """Has four digits."""

        def solve(self, matrix: ca.SX, right: ca.SX, scale: ca.SX | None = None) -> Multipliers:
            found = super().solve(matrix, right, scale)
            return Multipliers(found.values * (1 + 1e-4), found.pivots)

    robot = arm()
    program = Program(robot, holonomic(robot.points["tip"] - ca.DM([0.5, 0.2]), name="tip"))
    found = ProgramController(program, method=Careless()).solve(T, [0.3, 0.8, -0.4], [0.2, -0.1, 0.4])
    assert found.status is Status.NOT_CONVERGED
    assert "'tip[0]' by" in found.message


WAYS: dict[ConstrainedSolver, int] = {
    SchurComplement(): 20,
    SaddlePoint(): 20,
    LeastNorm(): 36,
    Proximal(): 8,
    Augmented(): 36,
    UdwadiaPhohomsiri(): 36,
}
"""How many of forty motions each finds at least."""


@functools.cache
def _motion(seed: int) -> tuple[ConstrainedMotion, float, Array]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    m = min(n, int(rng.integers(2, 4)))
    G, D = rng.normal(size=(n, n)), 10.0 ** rng.uniform(-1.0, 1.0, n)
    M = D[:, None] * (G @ G.T + 0.1 * np.eye(n)) * D
    theta, angle = rng.normal(size=(m, n)) * D, float(10.0 ** -rng.uniform(2.0, 8.0))
    theta[-1] = rng.normal(size=m - 1) @ theta[:-1] + angle * theta[-1]
    if rng.random() < 0.5:
        theta = theta * 10.0 ** rng.uniform(-6.0, 6.0, (m, 1))
    equations = ConstrainedMotion(M, 10.0 * rng.normal(size=n) * D, theta, theta @ (rng.normal(size=n) / D))
    empty = np.zeros((0, n))
    known = Numbers(M, -equations.force, np.zeros((n, 0)), empty, np.zeros(0), theta, equations.right)
    return equations, angle, _precise(known, actuated=False)[0]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: type(way).__name__)
def test_ways_in_numbers(way: ConstrainedSolver) -> None:
    solved = 0
    for seed in range(40):
        equations, _, a = _motion(seed)
        found, S = way.solve(equations), equations.velocity_scale
        if found.outcome is SolveOutcome.SOLVED:
            solved += 1
            error = float(np.abs((found.acceleration - a) / S).max())
            assert error <= ACCURATE * max(1.0, float(np.abs(a / S).max())), seed
        else:
            assert found.outcome in (SolveOutcome.INACCURATE, SolveOutcome.NOT_HANDLED)
            assert re.search(r"'row \d'|rows that depend on others|factorization failed", found.message)
    assert solved >= WAYS[way]


@pytest.mark.parametrize("angle", ANGLES)
def test_natural_rows_that_are_near_each_other(angle: float, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    q, v = (ca.vertcat(*(ca.SX.sym(f"{s}{i}") for i in range(4))) for s in ("q", "v"))
    rng = np.random.default_rng(3)
    G, one, two = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=4)
    bent = 0.2 * ca.sin(q[0])
    natural = [
        holonomic(ca.dot(ca.DM(one), q) + bent, name="first"),
        holonomic(ca.dot(ca.DM(one + angle * two), q) + bent, name="second"),
    ]
    T_ = ca.dot(v, ca.DM(G @ G.T + np.eye(4)) @ v) / 2
    robot = lagrangian_system(q=q, v=v, T=T_, V=3 * ca.sin(q[0]) + q[2], natural=natural)
    program, place = Program(robot, holonomic(robot.q[3] - 0.4, name="row")), np.array([0.1, 0.2, 0.3, 0.4])
    speed = _along(robot, place, np.ones(4))
    a, _ = _precise(numbers(program, T, place, speed), actuated=False)
    for label, method in METHODS.items():
        if label.startswith("sweep"):
            continue
        found = ProgramController(program, method=method).solve(T, place, speed)
        if found.status is Status.OK:
            assert np.abs(found.acceleration - a).max() <= ACCURATE * np.abs(a).max(), label
        else:
            assert found.status is Status.SINGULAR
            assert "'second'" in found.message or "'row'" in found.message
        assert found.status is Status.OK or label not in ("null space", "Udwadia-Phohomsiri")
