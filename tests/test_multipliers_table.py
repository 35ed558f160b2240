"""One table of what each method deals with drives these tests: it works to 1e-10, or it is refused or has a status."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest

from erugin.constraints import holonomic, second_order
from erugin.controllers import Program, ProgramController, Solution, Status
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    CanonicalMultipliers,
    Capability,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    NullSpaceMultipliers,
    SweepMultipliers,
    UdwadiaPhohomsiriMultipliers,
)
from erugin.symbolic import ModelError

from .arms import two_link_arm
from .kernels import use_no_compiler
from .multiplier_cases import HANDLED, PROBLEMS, numbers, problem
from .test_contracts import METHODS

T = 0.3
every_way = pytest.mark.parametrize("label", HANDLED)


@pytest.fixture(autouse=True)
def in_the_virtual_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)


def test_no_method_is_left_out_and_each_claims_what_the_table_says() -> None:
    assert {type(method) for method, _ in HANDLED.values()} == {type(method) for method in METHODS}
    for method, handled in HANDLED.values():
        assert method.handles == handled


def test_the_table_of_the_documents_is_this_one() -> None:
    lines = (Path(__file__).parents[1] / "docs" / "singular.md").read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| it deals with"))
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
def test_a_stretched_arm_is_told(label: str) -> None:
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
        with pytest.raises(ModelError, match=r"serves realization='ideal' only; .*take LdlMultipliers, Sweep"):
            ProgramController(program, realization="actuated", method=method)
        with pytest.raises(ModelError, match="realization='ideal' only"):
            method.solve(program.theta, program.beta)


def test_bad_settings() -> None:
    with pytest.raises(ModelError, match="tolerance must be greater than zero"):
        UdwadiaPhohomsiriMultipliers(tolerance=-1e-10)
    for wrapper in (SweepMultipliers, CanonicalMultipliers):
        for inner in (NullSpaceMultipliers(), SweepMultipliers(), AugmentedMultipliers(), "LdlMultipliers"):
            with pytest.raises(ModelError, match=r"solves K λ = r and nothing else, .*; got"):
                wrapper(inner)  # type: ignore[arg-type]
    for other in (UdwadiaPhohomsiriMultipliers(), SweepMultipliers(LeastNormMultipliers()), "LeastNormMultipliers"):
        with pytest.raises(ModelError, match=r"AugmentedMultipliers needs a method that solves K λ = r and nothing"):
            AugmentedMultipliers(method=other)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="does not handle dependent rows"):
        AugmentedMultipliers(method=LdlMultipliers())
