"""Tools of the benchmarks, and every benchmark script with its smallest sizes."""

from __future__ import annotations

import csv
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest
from harness import reach, rounds, table
from harness.machine import LANES, features, lanes, machine, versions
from harness.operations import operations
from harness.plots import Line, Panel, draw
from harness.reach import Reach
from harness.rounds import Timing, number, side_by_side
from harness.script import Options, options
from harness.table import Column, Table
from models.sizes import GROUND, LINKAGE

from erugin.robots import Link, assemble, assemble_velocities
from erugin.robots.examples import four_bar

from ..support.project import ROOT

PAGE = "# A\n<!-- table: one -->\nold\n<!-- end -->\ntext\n<!-- table: reach -->\n<!-- end -->\n"
ONE = Table("one", (Column("n"), Column("x", "{:.1f}".format)), ((2, 0.25), ("a|b", "–")), "Caption.")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "benchmarks.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_a_table_replaces_its_section_and_nothing_else(page: Path) -> None:
    ONE.write(page, page.parent / "measured")
    text = page.read_text(encoding="utf-8")
    assert text == PAGE.replace("old\n", "Caption.\n\n| n | x |\n| --- | --- |\n| 2 | 0.2 |\n| a\\|b | – |\n")
    with (page.parent / "measured" / "one.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [["n", "x"], ["2", "0.25"], ["a|b", "–"]]
    ONE.write(page, page.parent / "measured")
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text",
    [
        "no marks",
        "<!-- table: one -->\n",
        "<!-- table: one -->\n<!-- table: two -->\n<!-- end -->\n",
        "<!-- table: one -->\n<!-- end -->\n" * 2,
    ],
)
def test_a_page_without_its_marks_is_left_alone(page: Path, text: str) -> None:
    page.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="mark"):
        ONE.write(page, page.parent / "measured")
    assert page.read_text(encoding="utf-8") == text
    assert not (page.parent / "measured").exists()


def test_a_table_that_cannot_be_written_leaves_the_page_whole(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def half(path: Path, text: str) -> None:
        path.write_text(text[: len(text) // 2], encoding="utf-8")
        if "# A" in text:
            raise OSError("the disc is full")

    monkeypatch.setattr(table, "write_text", half)
    with pytest.raises(OSError, match="full"):
        ONE.write(page, page.parent / "measured")
    assert page.read_text(encoding="utf-8") == PAGE
    assert sorted(path.name for path in page.parent.iterdir()) == ["benchmarks.md", "measured"]


def test_a_table_with_a_ragged_row_or_an_odd_name_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells"):
        Table("one", ONE.columns, ((1,),))
    with pytest.raises(ValueError, match="small letters"):
        Table("../one", ONE.columns, ())


def test_rows_of_targets_are_kept_until_they_are_measured_again(page: Path) -> None:
    measured = page.parent / "measured"
    slow, fast = (Timing(np.array([x, 2 * x, 4 * x])) for x in (3e-6, 1e-6))
    first = [Reach.of("tick", "rival", fast, slow, 5.0), Reach("import", "", "0.3 s", "", 0.3, 0.4, True, "s")]
    reach.write(first, page, measured)
    reach.write([Reach.of("tick", "rival", fast, slow, 2.0), Reach.of("new", "rival", slow, fast, 2.0)], page, measured)
    lines = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| ")][2:]
    assert [line.split(" | ")[0] for line in lines] == ["| tick", "| import", "| new"]
    assert "| 2.00 µs | 6.00 µs | 3.00× | ≥ 2× | yes |" in lines[0]
    assert "| 0.300 s | ≤ 0.4 s | yes |" in lines[1]
    assert "| 0.333× | ≥ 2× | **no** |" in lines[2]
    assert not first[0].reached
    assert machine() in (measured / "reach.csv").read_text(encoding="utf-8")
    assert machine() not in page.read_text(encoding="utf-8")


def test_a_ratio_is_that_of_rounds_and_not_of_medians() -> None:
    ours, theirs = Timing(np.array([1.0, 10.0, 2.0])), Timing(np.array([2.0, 20.0, 1.0]))
    assert theirs.over(ours) == 2.0
    assert theirs.median / ours.median == 1.0
    assert ours.quartiles == (1.5, 6.0)
    assert ours.per(2.0).median == 1.0
    assert ours.show(1.0) == "2.00 (1.50–6.00)"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.012345, "0.0123"), (1.2345, "1.23"), (12.345, "12.3"), (1234.5, "1234"), (3e-7, "3.00e-07"), (np.nan, "–")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_every_side_is_called_in_every_round(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(rounds, "undisturbed", lambda call, count: call() or 1.0)
    found = side_by_side({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3, least=1e-9)
    assert order[-6:] == ["a", "b", "b", "a", "a", "b"]
    assert {name: len(timing.seconds) for name, timing in found.items()} == {"a": 3, "b": 3}


def test_operations_are_counted_by_kind() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    f = ca.Function("f", [x, y], [ca.sin(x) * y + y / x, ca.sqrt(x) - ca.fabs(y), ca.sin(x)], {"cse": True})
    assert operations(f) == {"±": 2, "×": 1, "÷": 1, "√": 1, "sin, cos": 1, "other": 1}


def test_the_machine_is_described() -> None:
    width, name = lanes()
    assert f"{width} doubles a vector ({name})" in machine()
    assert all(flag not in features() for flag, count, _ in LANES if count > width)
    assert f"CasADi {ca.__version__}" in versions()


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    line = Line([1.0, 10.0], [Timing(np.array([1e-6, 2e-6])), Timing(np.array([1e-5, 2e-5]))])
    draw([Panel({"a": line, "b": Line([1.0], [3.0], dashed=True)}, "n", "t [µs]")], tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_gap_and_energy_of_the_four_bar_are_those_of_the_robot() -> None:
    script: Any = importlib.import_module("bench_four_bar")
    robot = four_bar(*(Link(*sizes) for sizes in LINKAGE), ground=(GROUND, 0.0))
    rng, states = np.random.default_rng(5), []
    for _ in range(4):
        q = assemble(robot, rng.uniform(0.2, 1.0, 3)).q
        states.append(np.concatenate([q, assemble_velocities(robot, q, rng.uniform(-3.0, 3.0, 3))]))
    x = np.array(states)
    x[2, 1] += 0.01
    kinetic, potential, gap = (
        np.array([robot.evaluate(expression, q=one[:3], v=one[3:]) for one in x])
        for expression in (
            robot.kinetic_energy,
            robot.potential_energy,
            ca.norm_2(robot.points["coupler.end"] - robot.points["rocker.end"]),
        )
    )
    energy = kinetic + potential
    assert script.opening(x) == pytest.approx(gap.max(), rel=1e-12)
    assert gap.max() > 0.01
    assert script.energy_error(x) == pytest.approx(np.abs(energy - energy[0]).max() / kinetic.max(), rel=1e-12)
    np.testing.assert_allclose(script.from_tree(np.hstack([*map(script.in_tree, x[0].reshape(2, 3))])[None])[0], x[0])


def test_figures_of_small_sizes_are_kept_off_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("", ["--small", "--write"])
    assert "another folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        options("", ["--rounds", "0"])
    given = options("", ["--write", "there"], rounds=7)
    assert given == Options(7, small=False, folder=Path("there"))


def test_a_measurement_is_taken_again_while_others_have_the_core(monkeypatch: pytest.MonkeyPatch) -> None:
    def reported(*clocks: tuple[float, float]) -> float:
        left = iter(clocks)
        monkeypatch.setattr(rounds, "_both_clocks", lambda call, count: next(left))
        return rounds.undisturbed(lambda: None, 1)

    assert reported((1.0, 0.5), (0.8, 0.79)) == 0.8
    assert reported((0.8, 0.79), (0.5, 0.5)) == 0.8
    assert reported(*[(1.0 - 0.1 * k, 0.5 - 0.06 * k) for k in range(rounds.TRIES)]) == 1.0
    assert reported((3.0, 1.0), (1.0, 1.0)) == 3.0


SCRIPTS = {
    "bench_compile": ("compile", "reach"),
    "bench_count": ("count",),
    "bench_derivation": ("derivation", "forward-dynamics"),
    "bench_environments": ("environments", "reach"),
    "bench_export_c": ("export-c",),
    "bench_four_bar": ("four-bar", "reach"),
    "bench_import": ("import", "import-parts", "reach"),
    "bench_memory": ("memory", "reach"),
    "bench_rollout": ("rollout", "rollout-threads", "reach"),
    "bench_study": ("study", "reach"),
    "bench_tick": ("tick-chain", "tick-rows", "tick-robots", "reach"),
}


def test_every_script_that_writes_is_run_here() -> None:
    writing = {path.stem for path in (ROOT / "benchmarks").glob("bench_*.py") if "conclude(given" in path.read_text()}
    assert writing == set(SCRIPTS)


def test_every_table_has_its_place_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    marks = re.findall(r"<!-- table: (.*?) -->\n(?:.*\n)*?<!-- end -->", page)
    assert sorted(marks) == sorted({"machine", *(name for names in SCRIPTS.values() for name in names)})


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_and_writes_its_tables(script: str, tmp_path: Path) -> None:
    names = ("machine", *SCRIPTS[script])
    page = tmp_path / "benchmarks.md"
    page.write_text("".join(f"<!-- table: {name} -->\n<!-- end -->\n" for name in names), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / f"{script}.py"), "--small", "--rounds", "1"]
    path = os.pathsep.join(filter(None, [str(ROOT / "benchmarks"), *sys.path]))
    run = subprocess.run(
        [*command, "--write", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    text = page.read_text(encoding="utf-8")
    assert "doubles a vector" in text
    for name in SCRIPTS[script]:
        rows = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
        assert rows is not None
        assert len(re.findall(r"^\|.*\|$", rows[1], re.MULTILINE)) >= 3
        assert (tmp_path / "measured" / f"{name}.csv").stat().st_size > 20
    for picture in re.findall(r"\]\((pictures/.*?)\)", text):
        assert (tmp_path / picture).stat().st_size > 10_000
