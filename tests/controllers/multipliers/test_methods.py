"""The table of multiplier methods: each is exact to 1e-10 where it is supported, and rejected elsewhere."""

from __future__ import annotations

import contextlib
import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.constraints import FirstOrder, holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Solution, Status
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    CanonicalMultipliers,
    Capability,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    NullSpaceMultipliers,
    ProximalMultipliers,
    SweepMultipliers,
    UdwadiaPhohomsiriMultipliers,
)
from erugin.controllers.multipliers.sweep import sweep_unsupported_reason
from erugin.robots import Link, TelescopicLink, exoskeleton, lagrangian_system, planar_manipulator
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ...support.arms import disc_program, two_link_arm
from ...support.contracts import METHODS
from ...support.controller_cases.robots import robot_case
from ...support.kernels import use_no_compiler
from ...support.multiplier_cases import HANDLED, PROBLEMS, evaluated, found, numbers, problem
from ...support.project import ROOT
from ...support.systems import T, moving_base
from ...support.urdf import load_quietly, real_robots

every_way = pytest.mark.parametrize("label", HANDLED)


@pytest.fixture(autouse=True)
def in_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)


def test_no_method_is_left_out_and_each_has_the_properties_of_the_table() -> None:
    assert {type(method) for method, _ in HANDLED.values()} == {type(method) for method in METHODS}
    for method, handled in HANDLED.values():
        assert method.supports == handled


def test_the_table_of_the_documents_is_this_one() -> None:
    lines = (ROOT / "docs" / "singular.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| it supports"))
    header = [cell.strip() for cell in lines[first].split("|")[2:-1]]
    assert header == [f"`{label}`" for label in HANDLED if label.endswith("rs()`") or label.count("(") == 1]
    seen: set[Capability] = set()
    for line in lines[first + 2 :]:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if not cells:
            break
        capability = next(c for c in Capability if c.value == cells[0])
        seen.add(capability)
        for label, cell in zip(header, cells[1:], strict=True):
            assert (cell == "yes") is (capability in HANDLED[label.strip("`")][1]), (label, cells[0])
            assert cell in ("yes", "–")
    assert seen == set(Capability)


@every_way
@pytest.mark.parametrize("name", PROBLEMS)
def test_what_is_claimed_works_and_what_is_not_says_so(label: str, name: str) -> None:
    method, handled = HANDLED[label]
    case = problem(name)

    def solved() -> Solution:
        controller = ProgramController(
            case.program,
            realization=case.realization,  # type: ignore[arg-type]
            method=method,
            acceleration_guess=case.guess,
        )
        return controller.solve(T, case.q, case.v)

    if not case.needs <= handled:
        with contextlib.suppress(ModelError):
            assert solved().status is not Status.OK
        return
    solution = solved()
    assert solution.status is Status.OK, solution.message
    actuated = case.realization == "actuated"
    at = None if case.program.is_affine else solution.acceleration
    known = numbers(case.program, T, case.q, case.v, at)
    a, force = known.motion(actuated=actuated)
    size = max(1.0, float(np.abs(a).max()))
    np.testing.assert_allclose(solution.acceleration, a, rtol=0, atol=1e-10 * size)
    given = solution.input if actuated else solution.force
    np.testing.assert_allclose(given, force, rtol=0, atol=1e-10 * max(1.0, float(np.abs(force).max())))
    assert solution.relative_residual < 1e-10
    if name == "nonlinear":
        assert solution.acceleration[0] == pytest.approx(2.0, rel=1e-10)


@every_way
def test_rows_that_contradict_each_other_are_never_solved_in_silence(label: str) -> None:
    method, handled = HANDLED[label]
    robot = two_link_arm()
    rows = [
        holonomic(robot.q[0] - 0.3, name="one"),
        second_order(2 * robot.coordinates.a[0] - 7.0, name="other"),
    ]
    solution = ProgramController(Program(robot, rows), method=method).solve(T, [0.3, 0.8], [0.0, 0.0])
    if Capability.CONTRADICTIONS in handled:
        assert solution.status is Status.CONTRADICTORY
        assert re.search(r"'other' by (7|3\.5)\b", solution.message)
    else:
        assert solution.status is Status.SINGULAR
        assert "'other' depends on 'one'" in solution.message


@every_way
def test_a_stretched_arm_is_reported(label: str) -> None:
    """The position that every arm has: one row of the tip depends on the other and asks for something else."""
    method, _ = HANDLED[label]
    case = problem("regular")
    controller = ProgramController(case.program, method=method)
    assert controller.solve(0.0, [0.4, 0.0], [0.1, 0.2]).status in (Status.SINGULAR, Status.CONTRADICTORY)
    # Along x the row of the tip's x vanishes, although at no angle to that of y.
    assert controller.solve(0.0, [0.0, 0.0], [0.1, 0.2]).status in (Status.SINGULAR, Status.CONTRADICTORY)
    assert controller.solve(0.0, [0.4, 0.1], [0.1, 0.2]).status is Status.OK


@pytest.mark.parametrize("method", [NullSpaceMultipliers(), UdwadiaPhohomsiriMultipliers()], ids=["Larin", "U-P"])
def test_what_has_neither_inertia_nor_rows_is_named(method: MultiplierMethod) -> None:
    """Along (ẋ, ė) = (−2 R c, e) a quaternion body has no energy, and its centre of mass stays."""
    robot = problem("programmed inertia").program.robot
    program = Program(robot, holonomic(robot.points["center"][0], name="centre"))
    with pytest.raises(ModelError, match=r"neither inertia, natural constraints nor the program determine .*de0"):
        ProgramController(program, method=method)


def test_methods_for_ideal_forces_name_those_for_inputs() -> None:
    program = problem("regular").program
    for method in (NullSpaceMultipliers(), UdwadiaPhohomsiriMultipliers()):
        with pytest.raises(ModelError, match=r"supports realization='ideal' only; .*use LdlMultipliers, Sweep"):
            ProgramController(program, realization="actuated", method=method)
        with pytest.raises(ModelError, match="realization='ideal' only"):
            method.solve(program.theta, program.beta)


def test_bad_settings() -> None:
    with pytest.raises(ModelError, match="tolerance must be greater than zero"):
        UdwadiaPhohomsiriMultipliers(tolerance=-1e-10)
    for wrapper in (SweepMultipliers, CanonicalMultipliers):
        for inner in (NullSpaceMultipliers(), SweepMultipliers(), AugmentedMultipliers(), "LdlMultipliers"):
            with pytest.raises(ModelError, match=r"solves K λ = r, .*; got"):
                wrapper(inner)  # type: ignore[arg-type]
    for other in (UdwadiaPhohomsiriMultipliers(), SweepMultipliers(LeastNormMultipliers()), "LeastNormMultipliers"):
        with pytest.raises(ModelError, match=r"AugmentedMultipliers requires a method that only solves K λ = r"):
            AugmentedMultipliers(method=other)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="does not support dependent rows"):
        AugmentedMultipliers(method=LdlMultipliers())


Array = NDArray[np.float64]

ALL_METHODS: tuple[MultiplierMethod, ...] = (
    LdlMultipliers(),
    SweepMultipliers(),
    CanonicalMultipliers(),
    NullSpaceMultipliers(),
    UdwadiaPhohomsiriMultipliers(),
    LeastNormMultipliers(),
    ProximalMultipliers(),
    AugmentedMultipliers(),
)


def five_links() -> Program:
    robot = planar_manipulator([Link(0.3, 1.0 + 0.3 * i, 0.12, 0.01 + 0.002 * i) for i in range(5)])
    goal = ca.vertcat(0.6 + 0.1 * ca.sin(robot.t), 0.4)
    rows = [holonomic(robot.points["tip"] - goal, name="tip"), nonholonomic(ca.sum1(robot.v) - 0.2, name="turn")]
    return Program(robot, rows)


def braking(name: str) -> Program:
    """Velocities on which the inputs do work come to rest."""
    robot = robot_case(name).robot
    return Program(robot, nonholonomic(ca.densify(robot.input_matrix.T @ robot.v - 0.3), perturbation=FirstOrder(2.0)))


def tool() -> Program:
    """The Panda's hand on a vertical line, at a speed along it."""
    robot = robot_case("seven-joint arm").robot
    place = robot.frames["panda_hand"].position
    speed = robot.coordinates.rate(place[2])
    return Program(robot, [holonomic(place[:2] - ca.DM([0.4, 0.1]), name="line"), nonholonomic(speed - 0.1)])


def step() -> Program:
    """An exoskeleton's foot on a line while its trunk leans at a rate."""
    links = [TelescopicLink(3.0 + i, 0.05, 0.5, 2e4, 0.45, damping=150.0) for i in range(3)]
    robot = exoskeleton(links)
    rows = [holonomic(robot.points["tip"][1] - 0.9, name="foot"), nonholonomic(robot.v[0] - 0.1 * ca.cos(robot.t))]
    return Program(robot, rows)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "two links": disc_program,
    "five links": five_links,
    "Panda": tool,
    "four-bar": lambda: braking("four-bar linkage"),
    "two wheels": lambda: braking("two-wheel robot"),
    "two wheels, quasi-velocities": lambda: braking("reduced two-wheel robot"),
    "crane": lambda: braking("crane"),
    "exoskeleton": step,
    "moving base": moving_base,
}


@functools.cache
def program(name: str) -> Program:
    return PROGRAMS[name]()


def serving(what: Program) -> list[MultiplierMethod]:
    """All methods but, for what is no tree of bodies, the sweep."""
    return [m for m in ALL_METHODS if not (isinstance(m, SweepMultipliers) and sweep_unsupported_reason(what.robot))]


def states(what: Program, name: str, count: int = 4) -> list[tuple[Array, Array]]:
    """At random; linkages in the one position that they were assembled in."""
    rng = np.random.default_rng(5)
    c, found = what.robot.coordinates, list[tuple[Array, Array]]()
    for _ in range(count):
        q, v = rng.uniform(0.3, 1.2, c.nq), rng.uniform(-1.0, 1.0, c.nv)
        found.append((robot_case("four-bar linkage").q0 if name == "four-bar" else q, v))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_motion_and_one_force(name: str) -> None:
    what = program(name)
    methods = serving(what)
    assert len(methods) >= 7
    kernels = [evaluated(what, method) for method in methods]
    for q, v in states(what, name):
        known = numbers(what, T, q, v)
        a, R = known.motion()
        S, free = known.units, known.admissible()
        assert np.abs(R).max() > 1e-3
        for method, kernel in zip(methods, kernels, strict=True):
            one = found(kernel, what, T, q, v)
            label = type(method).__name__
            size = max(1.0, float(np.abs(a).max()))
            np.testing.assert_allclose(one.acceleration, a, rtol=0, atol=1e-10 * size, err_msg=label)
            size = max(1.0, float(np.abs(R).max()))
            np.testing.assert_allclose(one.force, R, rtol=0, atol=1e-10 * size, err_msg=label)
            # Rᵀw = 0 for all admissible w; so it is for all that moves the robot beside its own forces.
            work, total = free.T @ (S * one.force), known.M @ one.acceleration + known.h
            assert np.abs(work).max(initial=0.0) <= 1e-12 * np.linalg.norm(S * one.force), label
            made = np.linalg.norm(S * (np.abs(known.M) @ np.abs(one.acceleration) + np.abs(known.h)))
            assert np.abs(free.T @ (S * total)).max(initial=0.0) <= 1e-12 * made, label


def test_reactions_and_multipliers_are_one_too() -> None:
    for name in ("four-bar", "two wheels"):
        what = program(name)
        q, v = states(what, name, 1)[0]
        known = numbers(what, T, q, v)
        a, _ = known.motion()
        rows = np.vstack([known.A, known.theta])
        expected = np.linalg.lstsq(rows.T, known.M @ a + known.h, rcond=1e-12)[0]
        for method in serving(what):
            one = found(evaluated(what, method), what, T, q, v)
            both = np.concatenate([one.reactions, one.multipliers])
            np.testing.assert_allclose(both, expected, rtol=0, atol=1e-10 * float(np.abs(expected).max()))


@pytest.mark.foreign
def test_a_robot_of_a_file_beside_pinocchio() -> None:
    """The flange of a UR5 with no acceleration, as a rigid point contact without correction."""
    pin: Any = importlib.import_module("pinocchio")
    path = real_robots()["ur5_robot"]
    robot = load_quietly(path)
    place = robot.frames["tool0"].position
    c = robot.coordinates
    what = Program(robot, second_order(c.rate(c.rate(place)), name="tool"))
    model: Any = pin.buildModelFromUrdf(str(path))
    model.gravity.linear = np.array([0.0, 0.0, -9.81])
    data: Any = model.createData()
    frame: Any = model.frames[int(model.getFrameId("tool0"))]
    frames: Any = pin.ReferenceFrame
    contact: Any = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, frame.parentJoint, frame.placement, frames.LOCAL
    )
    contacts: Any = pin.StdVec_RigidConstraintModel()
    contacts.append(contact)
    contact_data: Any = pin.StdVec_RigidConstraintData()
    contact_data.append(contact.createData())
    pin.initConstraintDynamics(model, data, contacts, contact_data)
    rng = np.random.default_rng(8)
    kernels = [evaluated(what, method) for method in ALL_METHODS]
    still = np.array([0.0 if name.endswith((".damping", ".friction")) else x for name, x in what.nominal.items()])
    for _ in range(5):
        q, v = rng.uniform(-1.5, 1.5, (2, 6))
        solver: Any = pin.ProximalSettings(1e-14, 1e-12, 10)
        a = np.array(pin.constraintDynamics(model, data, q, v, np.zeros(6), contacts, contact_data, solver))
        for method, kernel in zip(ALL_METHODS, kernels, strict=True):
            label, one = type(method).__name__, kernel(T, q, v, still)[2]
            np.testing.assert_allclose(one, a, rtol=0, atol=1e-10 * np.abs(a).max(), err_msg=label)


entries = st.floats(-1.0, 1.0, allow_nan=False).map(lambda x: round(x, 3))


@pytest.mark.slow
@settings(max_examples=12)
@given(
    n=st.integers(2, 5),
    data=st.data(),
)
def test_random_programs(n: int, data: st.DataObject) -> None:
    """Energies with random inertia and coupling, random rows of every order, units a hundred apart."""
    m = data.draw(st.integers(1, n))
    draw = functools.partial(data.draw, entries)
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    units = [10.0 ** draw() for _ in range(n)]
    G = np.array([[draw() for _ in range(n)] for _ in range(n)])
    M = np.outer(units, units) * (G @ G.T + np.eye(n))
    bent = ca.DM(M) @ v + 0.2 * ca.DM(np.diag(units)) ** 2 @ (v * (1 + ca.cos(q)))
    V = sum((units[i] ** 2 * ca.cos(q[i] * (1 + 0.3 * i)) for i in range(n)), ca.SX(0))
    robot = lagrangian_system(q=ca.vertcat(*ca.vertsplit(q)), v=v, T=ca.dot(v, bent) / 2, V=V)
    rows = np.array([[draw() for _ in range(n)] for _ in range(m)]) + np.eye(m, n)
    what = []
    for i, row in enumerate(rows * units):
        order = data.draw(st.integers(0, 2))
        if order == 0:
            what.append(holonomic(ca.dot(ca.DM(row), robot.q) + 0.1 * ca.sin(robot.q[0]), name=f"row{i}"))
        elif order == 1:
            what.append(nonholonomic(ca.dot(ca.DM(row), robot.v) - ca.cos(robot.t), name=f"row{i}"))
        else:
            what.append(second_order(ca.dot(ca.DM(row), robot.coordinates.a) + robot.v[0], name=f"row{i}"))
    made = Program(robot, what)
    places, speeds = np.array([draw() for _ in range(n)]), np.array([draw() for _ in range(n)])
    known = numbers(made, T, places, speeds)
    left = np.linalg.svd(known.theta * known.units, compute_uv=False)
    if left[-1] < 1e-2 * left[0]:
        return
    a, R = known.motion()
    S = known.units
    for method in serving(made):
        one, label = found(evaluated(made, method), made, T, places, speeds), type(method).__name__
        size = max(1.0, float(np.abs(a / S).max()))
        np.testing.assert_allclose(one.acceleration / S, a / S, rtol=0, atol=1e-10 * size, err_msg=label)
        size = max(1.0, float(np.abs(S * R).max()))
        np.testing.assert_allclose(S * one.force, S * R, rtol=0, atol=1e-10 * size, err_msg=label)


def test_a_run_is_the_same_whatever_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law stays one of expressions; on the way the sign of a reflection turns over, and nothing is seen of it."""
    use_no_compiler(monkeypatch)
    robot = planar_manipulator([Link(0.4, 2.0, 0.2, 0.03), Link(0.35, 1.5, 0.15, 0.02), Link(0.3, 1.0, 0.1, 0.01)])
    turning = ca.cos(2 * robot.t) * robot.v[0] + robot.v[1] + 0.5 * robot.v[2] - 0.3
    what = Program(robot, nonholonomic(turning, name="turning"))
    q0, v0 = np.array([-1.2, -0.3, 0.4]), np.array([0.5, 0.0, 0.0])
    runs = []
    for method in ALL_METHODS:
        controller = ProgramController(what, method=method)
        assert controller.law is not None
        runs.append(simulate(robot, controller, q0, v0, 1.5, step=1e-2))
    assert np.cos(2 * runs[0].t).min() < 0.0 < np.ptp(runs[0].q, axis=0).min() - 0.1
    for method, run in zip(ALL_METHODS, runs, strict=True):
        np.testing.assert_allclose(run.q, runs[0].q, rtol=0, atol=1e-10, err_msg=type(method).__name__)
