"""The lexicographic programme as C: independent solutions, degenerate and contradictory limits, strict compilers."""

from __future__ import annotations

import functools
import pickle
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import ControlLimits, ProgramController, Status
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.bounded.bounded_inputs import BoundedInputs, BoundedOutcome
from erugin.controllers.bounded.lexicographic import LexicographicSolver
from erugin.controllers.bounded.problem import face_normals
from erugin.controllers.multipliers.method_selection import default_method
from erugin.controllers.wrappers import Fallback
from erugin.scenarios import simulate
from erugin.simulation import Simulator
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteError
from erugin.symbolic.codegen.lexicographic import LexicographicSizes, Sphere, lexicographic_block
from erugin.symbolic.compiler import find_compiler

from ...support.bounded_cases import Case, bounded_case, effort_only, panda_tip, posture_case, two_links
from ...support.c_folders import COMPILERS
from ...support.lexicographic import (
    KINDS,
    CompiledLexicographic,
    by_enumeration,
    conditions_missed,
    numbers_of,
    random_problem,
    relaxed_levels,
)

Array = NDArray[np.float64]

pytestmark = pytest.mark.compiled

SIZES = {
    "one input": LexicographicSizes(1, (0, 1), ((0,),)),
    "two inputs": LexicographicSizes(2, (0, 2), ((0, 1),)),
    "two inputs, two levels": LexicographicSizes(2, (0, 1, 1), ((0, 1),)),
    "more rows than inputs": LexicographicSizes(3, (1, 3), ((2, 0), (1, 3))),
    "seven inputs": LexicographicSizes(7, (1, 7), ((0, 1, 2), (3, 4, 5))),
    "seven inputs, two levels": LexicographicSizes(7, (1, 7, 23), ((0, 1, 2), (3, 4, 5))),
    "four levels": LexicographicSizes(6, (1, 2, 5, 2, 4), ((0, 1), (2, 3))),
    "twelve inputs": LexicographicSizes(12, (1, 13), ((0, 1, 2), (3, 4, 5, 6))),
    "three groups": LexicographicSizes(5, (0, 3), ((4,), (0, 1), (2, 3))),
    "no rows of limits": LexicographicSizes(4, (0,), ((0, 1), (2,))),
}
COUNT = 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lexicographic")


@functools.cache
def programme(name: str, folder: Path) -> CompiledLexicographic:
    own = folder / name.replace(" ", "_")
    own.mkdir()
    return CompiledLexicographic(SIZES[name], own, "-O2", compiler=COMPILERS[0])


def kinds(name: str) -> tuple[str, ...]:
    """The kinds of problems that a size can have."""
    return KINDS if SIZES[name].limits else tuple(kind for kind in KINDS if kind not in ("duplicate", "parallel"))


@pytest.mark.parametrize("name", SIZES)
def test_every_level_is_optimal_whatever_the_limits(name: str, folder: Path) -> None:
    """Thousands of problems, by the conditions of optimality, recomputed by nonnegative least squares."""
    sizes = SIZES[name]
    contradictory, several = 0, 0
    for kind in kinds(name):
        rng = np.random.default_rng(5)
        problems = [random_problem(rng, sizes, kind) for _ in range(COUNT)]
        for problem, answer in zip(problems, programme(name, folder)(list(map(numbers_of, problems))), strict=True):
            info = answer.info
            assert info.status in (Status.OK, Status.LIMITED)
            assert info.failed == -1
            assert info.residual < 1e-7
            assert 0 < info.steps <= sizes.steps
            assert (problem.low <= answer.u).all()
            assert (answer.u <= problem.high).all()
            assert conditions_missed(problem, sizes, answer.u) < 1e-7
            contradictory += bool(answer.relaxed.any())
            several += sum(bool(answer.relaxed[level.rows].any()) for level in relaxed_levels(sizes)) > 1
            assert (info.status == Status.OK) == (not answer.missed.any() and not answer.beyond.any())
    assert contradictory > 100 or not sizes.limits
    assert several > 100 or len(sizes.levels) < 3


@pytest.mark.parametrize("name", [name for name in SIZES if name != "one input"])
def test_another_solver_finds_the_same(name: str, folder: Path) -> None:
    """Level by level by CasADi's solver, as without a compiler."""
    sizes, compared = SIZES[name], 0
    groups = tuple(np.array(group) for group in sizes.groups)
    other = LexicographicSolver(ConicSolver(), groups, relaxed_levels(sizes))
    for kind in ("general", "integer", "infinite", "fixed"):
        rng = np.random.default_rng(6)
        problems = [random_problem(rng, sizes, kind) for _ in range(40)]
        for problem, answer in zip(problems, programme(name, folder)(list(map(numbers_of, problems))), strict=True):
            expected = other.solve(problem)
            if expected.x is None or expected.failed:
                continue
            compared += 1
            # The other one is optimal to 1e-8 only where its limits are degenerate.
            np.testing.assert_allclose(answer.u, expected.x, rtol=0.0, atol=1e-5)
            if kind == "general":
                np.testing.assert_allclose(answer.u, expected.x, rtol=0.0, atol=1e-9 * (1.0 + np.abs(answer.u).max()))
                np.testing.assert_array_equal(answer.relaxed, expected.given_up)
                np.testing.assert_array_equal(answer.pressing, expected.pressing)
    assert compared > 140


@pytest.mark.parametrize("kind", ["general", "integer", "duplicate", "fixed", "dependent"])
def test_no_other_set_of_active_limits_is_better(kind: str, folder: Path) -> None:
    sizes = SIZES["two inputs"]
    rng = np.random.default_rng(8)
    problems = [random_problem(rng, sizes, kind) for _ in range(30)]
    for problem, answer in zip(problems, programme("two inputs", folder)(list(map(numbers_of, problems))), strict=True):
        np.testing.assert_allclose(answer.u, by_enumeration(problem, sizes), rtol=0.0, atol=1e-6)


def test_what_is_reported_is_what_the_input_does(folder: Path) -> None:
    sizes = SIZES["seven inputs"]
    rng = np.random.default_rng(9)
    problems = [random_problem(rng, sizes, "general") for _ in range(50)]
    answers = programme("seven inputs", folder)(list(map(numbers_of, problems)))
    for problem, answer in zip(problems, answers, strict=True):
        rest, value = problem.gain @ answer.u - problem.right, problem.rows @ answer.u
        np.testing.assert_allclose(answer.missed, np.where(np.abs(rest) > 1e-6, rest, 0.0), rtol=1e-9, atol=1e-12)
        excess = np.maximum(np.maximum(value - problem.most, problem.least - value), 0.0)
        np.testing.assert_allclose(answer.beyond, np.where(excess > 1e-6, excess, 0.0), rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(answer.relaxed > 0, value > problem.most + 1e-6)
        np.testing.assert_array_equal(answer.relaxed < 0, value < problem.least - 1e-6)
    assert any(answer.beyond.any() for answer in answers)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_excess_over_a_sphere_is_that_of_the_vector(dimension: int, tmp_path: Path) -> None:
    """Not that of the polyhedron inside it; beside other rows, and another sphere."""
    spheres, first = [], 3
    for radius, size in ((1.5, dimension), (0.5, 2)):
        spheres.append(Sphere(first, face_normals(size)[0], radius))
        first += len(spheres[-1].normals)
    sizes, unit, rng = LexicographicSizes(4, (0, 2, first - 2), ((0, 1),)), 1.0 / 3.0, np.random.default_rng(13)
    law = CompiledLexicographic(sizes, tmp_path, "-O2", compiler=COMPILERS[0], spheres=spheres)
    seen = {"outside": 0, "between": 0, "inside": 0}
    for _ in range(300):
        problem, points = random_problem(rng, sizes, "general"), []
        for row, normals, radius in spheres:
            rows, size = slice(row, row + len(normals)), normals.shape[1]
            J, drift, inner = 0.1 * rng.normal(size=(size, 4)), rng.normal(size=(size,)), face_normals(size)[1] * radius
            drift *= rng.uniform(0.8, 1.2) * radius / np.linalg.norm(drift)
            problem.rows[rows], problem.row_scale[rows] = normals @ J / unit, 1.0 / unit
            problem.least[rows], problem.most[rows] = ((side * inner - normals @ drift) / unit for side in (-1.0, 1.0))
            points.append((rows, normals, J, drift, radius, inner))
        (answer,) = law([numbers_of(problem)])
        assert answer.relaxed.any() or not answer.beyond.any()
        for rows, normals, J, drift, radius, inner in points:
            vector, found = J @ answer.u + drift, answer.beyond[rows]
            length, along = float(np.linalg.norm(vector)), np.abs(normals @ vector)
            if length > radius * (1.0 + 1e-6):
                seen["outside"] += 1
                assert np.flatnonzero(found).tolist() == [np.argmax(along)]
                assert found.sum() == pytest.approx(length - radius, rel=1e-6, abs=1e-12)
            else:
                seen["between" if along.max() > inner * (1.0 + 1e-6) else "inside"] += 1
                assert not found.any()
        value = problem.rows[:3] @ answer.u
        excess = np.maximum(np.maximum(value - problem.most[:3], problem.least[:3] - value), 0.0)
        np.testing.assert_allclose(answer.beyond[:3], np.where(excess > 1e-6, excess, 0.0), rtol=1e-9, atol=1e-12)
    assert min(seen.values()) > 20


def test_the_input_without_limits_is_taken_as_it_is(folder: Path) -> None:
    problem = random_problem(np.random.default_rng(1), SIZES["two inputs"], "general")
    object.__setattr__(problem, "input", np.array([0.1, -0.2]))
    object.__setattr__(problem, "fit", np.array([-0.1, -np.inf, 1e-12, 0.0]))
    (answer,) = programme("two inputs", folder)([numbers_of(problem)])
    assert answer.u.tolist() == [0.1, -0.2]
    assert answer.info == (Status.OK, 0.0, 0.0, -1.0, 0.0)


@pytest.mark.parametrize("name", ["seven inputs", "seven inputs, two levels"])
def test_an_active_set_that_still_changes_holds_the_input(name: str, folder: Path, tmp_path: Path) -> None:
    """As if a level had five steps."""
    sizes = SIZES[name]
    hasty = CompiledLexicographic(sizes, tmp_path, "-O1", "-DLEXICOGRAPHIC_STEPS=5", compiler=COMPILERS[0])
    rng = np.random.default_rng(3)
    problems = [random_problem(rng, sizes, "general") for _ in range(60)]
    hold = np.full(7, 0.7)
    answers, without = hasty([numbers_of(p, hold) for p in problems]), hasty([numbers_of(p) for p in problems])
    seen = set()
    for problem, answer, nothing in zip(problems, answers, without, strict=True):
        seen.add(answer.info.status)
        assert answer.info.steps <= 5 * (len(sizes.levels) + len(sizes.groups) + 1)
        if answer.info.failed >= 0:
            assert answer.info.residual == np.inf
        if answer.info.status == Status.HELD:
            assert answer.info.failed <= len(sizes.levels)
            np.testing.assert_array_equal(answer.u, np.clip(hold, problem.low, problem.high))
            assert answer.missed.any()
            assert nothing.info.status == Status.NOT_CONVERGED
        elif answer.info.failed > len(sizes.levels):
            # The first group was found; what comes after it was not.
            assert answer.info.status == nothing.info.status == Status.LIMITED
            np.testing.assert_array_equal(answer.u, nothing.u)
            first = sizes.groups[0]
            (right,) = programme(name, folder)([numbers_of(problem)])
            rows, x = problem.gain[list(first)], problem.right[list(first)]
            assert np.linalg.norm(rows @ answer.u - x) == pytest.approx(np.linalg.norm(rows @ right.u - x), abs=1e-9)
    assert seen >= {Status.HELD, Status.LIMITED}


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("field", ["effort", "gain", "right", "rows", "low"])
def test_numbers_that_are_not_finite_are_never_an_answer(field: str, bad: float, folder: Path) -> None:
    sizes = SIZES["seven inputs"]
    problem = random_problem(np.random.default_rng(2), sizes, "general")
    getattr(problem, field).flat[2] = bad
    (answer,) = programme("seven inputs", folder)([numbers_of(problem, np.full(7, 0.1))])
    assert answer.info.status == Status.NOT_FINITE


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ["one input", "seven inputs, two levels", "no rows of limits"])
def test_the_text_is_plain_c_that_allocates_nothing(name: str, compiler: str, tmp_path: Path) -> None:
    for level in ("-O0", "-O1", "-O2", "-O3", "-Os"):
        code = CompiledLexicographic(SIZES[name], tmp_path, compiler=compiler)
        code.compile("object.o", level, "-c", *(["-fstack-usage"] if compiler == "gcc" else []))
        text = subprocess.run(["nm", "-u", tmp_path / "object.o"], capture_output=True, text=True, check=True).stdout
        # The driver reads and writes.
        driver = {"fread", "fwrite", "stdin", "stdout", "_GLOBAL_OFFSET_TABLE_", "memset", "memcpy"}
        assert {line.split()[-1] for line in text.splitlines()} <= {"sqrt", "__stack_chk_fail"} | driver
    if compiler == "gcc":
        rows = [line.split("\t") for line in (tmp_path / "object.su").read_text(encoding="utf-8").splitlines()]
        assert {row[2] for row in rows} <= {"static", "dynamic,bounded"}
        assert sum(int(row[1]) for row in rows) < 64 * 1024


@pytest.mark.parametrize("name", SIZES)
def test_sanitizers_find_nothing_and_change_no_bit(name: str, folder: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    problems = [numbers_of(random_problem(rng, SIZES[name], kind)) for kind in kinds(name) for _ in range(40)]
    for problem in problems[::7]:
        problem[rng.integers(problem.size)] = rng.choice([np.nan, np.inf, 0.0, 1e300])
    flags = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    code = CompiledLexicographic(SIZES[name], tmp_path, *flags, compiler=COMPILERS[0])
    given = np.concatenate(problems).tobytes()
    answer = subprocess.run([code.compile("sanitized")], input=given, capture_output=True, check=False)
    assert not answer.returncode, answer.stderr.decode()
    found = code.answers(np.frombuffer(answer.stdout))
    for one, other in zip(found, programme(name, folder)(problems), strict=True):
        np.testing.assert_array_equal(one.u, other.u)
        np.testing.assert_array_equal(one.info, other.info)


def test_a_level_is_named_by_its_number() -> None:
    names = [SIZES["seven inputs, two levels"].level(number) for number in range(6)]
    groups = [f"group {number} of the program's rows" for number in (1, 2)]
    assert names == ["the limits", "the limits", "the limits of priority 2", *groups, "the least effort"]


def test_sizes_that_are_no_programme_are_refused() -> None:
    for sizes in (
        LexicographicSizes(0, (0,), ((0,),)),
        LexicographicSizes(2, (2, -1), ((0,),)),
        LexicographicSizes(2, (), ((0,),)),
        LexicographicSizes(2, (0, 1), ()),
        LexicographicSizes(2, (0, 1), ((0, 2),)),
        LexicographicSizes(2, (0, 1), ((0,), (0,))),
    ):
        with pytest.raises(ModelError, match="groups that contain each row once"):
            lexicographic_block(sizes)


def controllers(limits: ControlLimits) -> tuple[ProgramController, ProgramController]:
    """The compiled programme, and levels solved one by one."""
    program = panda_tip().program
    return (
        ProgramController(program, realization="bounded", limits=limits),
        ProgramController(program, realization="bounded", limits=limits, solver=ConicSolver()),
    )


@pytest.mark.foreign
@pytest.mark.parametrize(
    "given",
    [
        {"effort": 8.0},
        {"effort": 8.0, "speed": 0.3},
        {"effort": 12.0, "rate": 100.0, "power": 1.0, "total_power": 2.0, "speed": 0.3},
        {"effort": 13.0},
        {"effort": 20.0, "speed": 0.3, "acceleration": 3.7, "point_acceleration": {"panda_hand": 1.0}},
    ],
    ids=["effort", "speed", "power", "mild", "acceleration"],
)
def test_a_run_is_the_same_as_level_by_level(given: dict[str, Any]) -> None:
    """The same inputs, statuses and messages at every sample."""
    case = panda_tip()
    one, other = controllers(ControlLimits.of(case.program.robot, **given))
    motion = simulate(case.program.robot, one, case.q, case.v, 0.1, step=2e-3)
    limited = 0
    one.reset()
    for t, q, v in zip(motion.t, motion.q, motion.v, strict=True):
        found, expected = (law.observe(float(t), q, v) for law in (one, other))
        np.testing.assert_allclose(found.output, expected.output, rtol=0.0, atol=1e-9 * given["effort"])
        assert found.status is expected.status
        assert found.message == expected.message
        limited += found.status is Status.LIMITED
        for law in (one, other):
            law.advance(float(t), q, v)
    assert limited > 5


def outcomes_agree(
    case: Case, limits: ControlLimits, priorities: list[str] | None, states: Iterable[tuple[Array, Array]]
) -> list[BoundedOutcome]:
    """The same inputs, statuses, missed rows, excesses and messages as level by level."""
    program, p, seen = case.program, case.program.parameters.values(), []
    own, other = (
        BoundedInputs(program, default_method(program), limits, priorities, solver) for solver in (None, ConicSolver())
    )
    for q, v in states:
        found, expected = (law.decide(None, 0.0, q, v, p) for law in (own, other))
        near = 1e-9 * (1.0 + float(np.abs(expected.input).max()))
        np.testing.assert_allclose(found.input, expected.input, rtol=0.0, atol=near)
        assert found.status is expected.status
        assert expected.pressing is not None or expected.status is Status.OK
        for key in ("missed", "beyond", "short"):
            one, another = getattr(found, key), getattr(expected, key)
            np.testing.assert_array_equal(one != 0.0, another != 0.0)
            np.testing.assert_allclose(one, another, rtol=1e-7, atol=1e-9 * (1.0 + np.abs(another).max(initial=0.0)))
        np.testing.assert_array_equal(found.pressing, expected.pressing)
        # A row that is satisfied is not reported because others are missed.
        assert (np.abs(found.missed[found.missed != 0.0]) > 1e-9).all()
        assert own.message(found, 0.0, q, v, p) == other.message(expected, 0.0, q, v, p)
        seen.append(found)
    return seen


@pytest.mark.foreign
@pytest.mark.parametrize("priorities", [None, ["tip"]])
@pytest.mark.parametrize("effort", [12.0, 40.0, 1e4])
def test_bounds_of_accelerations_give_way_as_level_by_level(effort: float, priorities: list[str] | None) -> None:
    """Seven joints near their limits of position and speed, and a point in space."""
    case, rng = posture_case(), np.random.default_rng(21)
    limits = ControlLimits.of(
        case.program.robot,
        effort=effort,
        joint_lower=case.q - 0.2,
        joint_upper=case.q + 0.2,
        speed=0.8,
        acceleration=20.0,
        point_acceleration={"panda_hand": 3.0},
    )
    states = [(case.q + rng.uniform(-0.25, 0.25, 7), 0.6 * rng.normal(size=7)) for _ in range(40)]
    seen = outcomes_agree(case, limits, priorities, states)
    assert any(outcome.beyond[:7].any() for outcome in seen) == (effort == 12.0)
    assert sum(bool(outcome.beyond[7:14].any()) for outcome in seen) > 3
    assert sum(bool(outcome.beyond[14:].any()) for outcome in seen) > 3


@pytest.mark.parametrize("given", [{}, {"joint_upper": 0.5, "speed": 1.0}, {"acceleration": 6.0, "total_power": 5.0}])
def test_two_points_in_a_plane_give_way_as_level_by_level(given: dict[str, float]) -> None:
    case, rng = two_links(), np.random.default_rng(22)
    arm = case.program.robot
    cup = arm.points["tip"] + 0.1 * ca.vertcat(ca.cos(arm.q[0]), arm.t)
    limits = ControlLimits.of(arm, effort=[15.0, 5.0], point_acceleration={"tip": 8.0, "cup": (cup, 5.0)}, **given)
    states = [(case.q + rng.normal(size=2), 3.0 * rng.normal(size=2)) for _ in range(60)]
    seen = outcomes_agree(case, limits, None, states)
    for own in (slice(-16, -8), slice(-8, None)):
        assert sum(bool(outcome.beyond[own].any()) for outcome in seen) > 10
        assert max(np.count_nonzero(outcome.beyond[own]) for outcome in seen) == 1


def test_no_input_depends_on_what_was_solved_before() -> None:
    case = two_links()
    limits = ControlLimits.of(case.program.robot, effort=[14.0, 6.0])
    law = ProgramController(case.program, realization="bounded", limits=limits)
    rng = np.random.default_rng(0)
    states = [(case.q + rng.normal(size=2), 3.0 * rng.normal(size=2)) for _ in range(30)]
    first = [law.control(1.0, *state) for state in states]
    assert any(law.observe(1.0, *state).status is Status.LIMITED for state in states)
    law.advance(0.0, *states[-1])
    for state, expected in zip(states, first, strict=True):
        np.testing.assert_array_equal(law.control(1.0, *state), expected)


def test_a_failure_holds_the_last_input_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code whose levels end after one step."""
    monkeypatch.setenv("ERUGIN_CFLAGS", "-DLEXICOGRAPHIC_STEPS=1")
    find_compiler.cache_clear()
    try:
        case = two_links()
        limits = ControlLimits.of(case.program.robot, effort=[40.0, 20.0])
        law = ProgramController(case.program, realization="bounded", limits=limits)
        words = r"group 1 of the program's rows \(the active set still changed after the last step\)"
        with pytest.raises(NotConvergedError, match=f"no input was found for {words}"):
            law.control(0.0, [0.9, -0.6], [1.0, -1.0])
        law.advance(0.0, case.q, np.zeros(2))
        last = law.control(0.0, case.q, np.zeros(2))
        reported = law.observe(1e-3, [0.9, -0.6], [1.0, -1.0])
    finally:
        monkeypatch.undo()
        find_compiler.cache_clear()
    assert reported.status is Status.HELD
    np.testing.assert_array_equal(reported.output, last)
    assert re.search(f"The solver failed on {words}: the last input is held, within its bounds", reported.message)
    assert "Rows of the program are missed: 'tip[" in reported.message


def test_a_law_read_from_a_pickle_decides_with_and_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    case = bounded_case("two links")
    law = ProgramController(case.program, realization="bounded", limits=effort_only(case.program.robot, 8.0))
    state = (0.0, np.array([-1.6, 0.6]), np.zeros(2))
    expected = law.observe(*state)
    assert expected.status is Status.LIMITED
    text = pickle.dumps(law)
    np.testing.assert_array_equal(pickle.loads(text).control(*state), expected.output)
    monkeypatch.setenv("ERUGIN_CC", "none")
    find_compiler.cache_clear()
    try:
        with pytest.warns(match="virtual machine"):
            found = pickle.loads(text).observe(*state)
    finally:
        monkeypatch.undo()
        find_compiler.cache_clear()
    np.testing.assert_allclose(found.output, expected.output, rtol=1e-9)
    assert found.message == expected.message


def test_a_model_that_is_not_finite_is_an_error_of_the_compiled_tick_too() -> None:
    case = bounded_case("two links")
    law = ProgramController(case.program, realization="bounded", limits=effort_only(case.program.robot, 8.0))
    with pytest.raises(NotFiniteError):
        law.control(0.0, np.array([1e300, 0.6]), np.array([1e200, 0.0]))


@pytest.mark.parametrize("expressed", [True, False])
def test_where_it_fails_at_every_sample_a_fallback_holds(expressed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code whose levels end after one step, in a compiled loop and called from Python."""
    monkeypatch.setenv("ERUGIN_CFLAGS", "-DLEXICOGRAPHIC_STEPS=1")
    find_compiler.cache_clear()
    try:
        case = two_links()
        limits = ControlLimits.of(case.program.robot, effort=[41.0, 21.0])
        law = Fallback(ProgramController(case.program, realization="bounded", limits=limits), "zero")
        if not expressed:
            monkeypatch.setattr(Fallback, "sampled_law", lambda self, period: None)
        simulator = Simulator(case.program.robot, law)
        assert simulator.is_vectorized(2e-3) == expressed
        motion = simulator.run([0.9, -0.6], [1.0, -1.0], 0.02, step=2e-3)
    finally:
        monkeypatch.undo()
        find_compiler.cache_clear()
    assert set(motion.status) == {Status.HELD}
    np.testing.assert_array_equal(motion.u, 0.0)
    assert "no input was found for group 1 of the program's rows" in motion.notes[0][1]
