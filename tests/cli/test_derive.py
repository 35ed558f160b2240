"""The comparison of ways to derive equations: its counts are right, and the command prints and draws them."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import pytest

from erugin.cli.derivation_costs import FAMILIES, PAPER_SECONDS, Cost, derivation_costs
from erugin.cli.derivation_report import derivation_claims
from erugin.cli.main import main
from erugin.robots.formulations import FORMULATIONS
from erugin.robots.hamiltonian import OperationCount
from erugin.symbolic import ModelError

from ..support.command_line import files

pytestmark = pytest.mark.usefixtures("terminal")

PNG = b"\x89PNG"


def test_operations_are_counted_by_kind() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    function = ca.Function("f", [x, y], [x * y + y, x**2 - y, ca.sin(x) / y, -x])
    assert OperationCount.of_function(function) == OperationCount(3, 2, 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_formulation_is_measured_for_every_number_of_links(family: str) -> None:
    costs = derivation_costs(family, [1, 2], rounds=1)
    assert [(cost.links, cost.formulation) for cost in costs] == [(n, f.name) for n in (1, 2) for f in FORMULATIONS]
    assert all(cost.seconds > 0.0 and cost.motion > 0 for cost in costs)


@pytest.mark.slow
def test_the_articulated_recursion_grows_linearly_and_the_others_do_not() -> None:
    costs = {(c.formulation, c.links): c.motion for c in derivation_costs("exoskeleton", [5, 10], rounds=1)}
    for formulation in FORMULATIONS:
        ratio = costs[formulation.name, 10] / costs[formulation.name, 5]
        if formulation.name == "articulated recursion":
            # a + b n with a constant that is saved at the root.
            assert 2.0 <= ratio < 2.3
        else:
            assert ratio > 4.0


def test_progress_ends_at_one() -> None:
    seen: list[float] = []
    derivation_costs("manipulator", [1, 2], rounds=2, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1.0)


def test_claims_follow_the_numbers() -> None:
    seconds = {name: 1.0 + i for i, name in enumerate(PAPER_SECONDS)}

    def claims(times: dict[str, float]) -> str:
        costs = [Cost(name, 3, s, OperationCount(10, 10, 1), 50) for name, s in times.items()]
        growth = [Cost(name, n, s, OperationCount(10 * n**2, 10), 50 * n) for name, s in times.items() for n in (8, 30)]
        return " ".join(derivation_claims(costs, growth))

    assert "At 3 links this does not hold here" in claims(seconds)
    assert "At 3 links this holds here" in claims(seconds | {"recurrent method": 0.5})
    assert "At 3 links this is within the noise here" in claims(seconds | {"recurrent method": 1.1})
    assert "At 3 links this is within the noise here" in claims(seconds | {"recurrent method": 0.9})
    assert "n^2.0" in claims(seconds)


@pytest.mark.slow
def test_the_command_prints_the_tables_and_draws_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["derive", "--links", "3", "--up-to", "3", "--out", str(tmp_path)]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    for formulation in FORMULATIONS:
        assert output.count(formulation.name) >= 4
    for seconds in PAPER_SECONDS.values():
        assert f"{seconds:g}" in output
    assert "Cholesky" in output
    assert "minimal residuals beat conjugate directions" in output
    assert files(tmp_path) == ["derivation.png"]
    assert (tmp_path / "derivation.png").read_bytes().startswith(PNG)


def test_the_command_writes_out_the_equations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--robot", "manipulator", "--links", "1", "--up-to", "1", "--equations", "--out", str(tmp_path)]
    assert main(["derive", *words]) == 0
    output = capsys.readouterr().out
    assert "q̈₁" in output
    assert "cos(q₁)" in output or "cos q₁" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--robot", "exoskelton"], "Did you mean 'exoskeleton'"),
        (["--links", "0"], "at least 1, got 0"),
        (["--up-to", "-2"], "at least 1, got -2"),
    ],
)
def test_bad_words_are_refused(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["derive", *words, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert files(tmp_path) == []


def test_a_family_that_does_not_exist_is_named() -> None:
    with pytest.raises(ModelError, match="unknown robot 'x'"):
        derivation_costs("x", [1])
