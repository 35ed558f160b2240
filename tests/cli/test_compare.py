"""``erugin compare``: tables, files, and what it refuses."""

from __future__ import annotations

import csv
import warnings
from pathlib import Path

import pytest

from erugin.cli.commands.compare import write_runs
from erugin.cli.main import main
from erugin.scenarios import compare
from erugin.scenarios.report.page_tables import Cell, Table, numeric

from ..support.comparison_setup import program_control, swing, swinging_arm

OWN = '''
from erugin.scenarios.scenario import scenario
from tests.support.comparison_setup import swing


@scenario("swing")
def swinging(*, duration: float = 0.2):
    """An arm swings.

    Args:
        duration: of the motion [s].
    """
    return swing(duration)
'''


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    file = tmp_path / "mine.py"
    file.write_text(OWN, encoding="utf-8")
    return str(file)


def files(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.slow
def test_it_writes_tables_runs_and_pictures(mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    words = ["--seeds", "12", "--out", str(out), "--robustness", "model_error=0,0.1", "--set", "duration=0.1"]
    assert main(["compare", mine, *words]) == 0
    output = capsys.readouterr().out
    assert "swing: 12 runs of each controller" in output
    assert "computed torque" in output
    pictures = ["distributions.png", "pareto.png", "robustness-model_error.png"]
    assert files(out) == sorted(["comparison.txt", "runs.csv", *pictures])
    with (out / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 12
    assert {row["end_time"] for row in rows} == {"0.1"}
    assert {row["controller"] for row in rows} == {"own", "computed torque", "pd"}
    assert "swing: 12 runs" in (out / "comparison.txt").read_text(encoding="utf-8")


def test_some_controllers_and_metrics(mine: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    chosen = ["--controllers", "own,pd", "--metrics", "effort, energy_final", "--seeds", "6", "--out", str(out)]
    assert main(["compare", mine, *chosen]) == 0
    header = (out / "runs.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert header == ["controller", "seed", "plant.m1", "plant.m2", "q0.q1", "effort", "energy_final",
                      "end_time", "status", "ok", "ending"]  # fmt: skip
    assert files(out) == ["comparison.txt", "distributions.png", "runs.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--controllers", "pid"], "unknown controller 'pid'. Did you mean 'pd'"),
        (["--metrics", "efort"], "unknown metric 'efort'. Did you mean 'effort'"),
        (["--seeds", "0"], "seeds must be their number"),
        (["--confidence", "2"], "confidence must lie between 0 and 1"),
        (["--robustness", "delay"], "--robustness requires key=value, got 'delay'"),
        (["--robustness", "delay=a"], "requires numbers separated by commas, got 'a'"),
        (["--robustness", "lag=1"], "unknown robustness 'lag'"),
        (["--set", "duraton=1"], "unknown setting or parameter of swing 'duraton'. Did you mean 'duration'"),
        (["--set", "duration=1", "--set", "duration=2"], "--set sets duration more than once"),
        (["--threads", "0"], "threads must be"),
    ],
)
def test_bad_words_are_refused(
    words: list[str], message: str, mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["compare", mine, "--out", str(out), *words]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists() or files(out) == []


def test_a_folder_that_cannot_be_written_is_reported_before_anything_runs(
    mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert main(["compare", mine, "--out", str(tmp_path / "file")]) == 2
    assert "cannot write to the folder" in capsys.readouterr().err


def test_ctrl_c_writes_nothing(mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("erugin.scenarios.comparison.trial.Trial.run", interrupted)
    assert main(["compare", mine, "--out", str(tmp_path / "out")]) == 130
    assert files(tmp_path / "out") == []


BROKEN = """
import dataclasses


def broken(setup):
    return setup.robot.missing


@scenario("broken")
def breaking(*, duration: float = 0.2):
    '''An arm with a baseline that cannot be built.

    Args:
        duration: of the motion [s].
    '''
    return dataclasses.replace(swing(duration), baselines={"broken": broken})
"""


def test_a_baseline_of_the_file_that_cannot_be_built_is_reported_with_its_line(
    mine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(mine).write_text(OWN + BROKEN, encoding="utf-8")
    words = ["--scenario", "broken", "--seeds", "2", "--out", str(tmp_path / "out")]
    assert main(["compare", mine, *words]) == 2
    message = capsys.readouterr().err
    assert "mine.py, line 19: AttributeError" in message
    assert "return setup.robot.missing" in message
    assert "Traceback" not in message


HOSTILE = ('=HYPERLINK("http://x","y")', "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\uff1d1", " =2")


def test_no_cell_of_a_table_is_a_formula(tmp_path: Path) -> None:
    laws = {name: program_control(swinging_arm()) for name in HOSTILE}
    found = compare(swing(0.02), laws, seeds=2, metrics=["effort", "energy_final"], ticks=False)
    write_runs(found, tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows[1::2]] == [f"'{name}" for name in HOSTILE]
    # Numbers stay numbers, those below zero too.
    drawn = [float(row[rows[0].index("q0.q1")]) for row in rows[1:]]
    assert drawn == found.columns[HOSTILE[0]]["q0.q1"].tolist() * len(HOSTILE)
    for row in rows:
        assert not [cell for cell in row if cell.lstrip()[:1] in tuple("=+@\uff1d") or cell.startswith("-1+")]


def test_no_cell_of_a_page_is_a_formula() -> None:
    table = Table.of(
        "id", "runs", ["=head", "effort"], [[Cell(name), numeric(-1.5)] for name in (*HOSTILE, "-", "own")]
    )
    assert [head.text for head in table.heads] == ["'=head", "effort"]
    assert [row[0].text for row in table.rows] == [*(f"'{name}" for name in HOSTILE), "-", "own"]
    assert {row[1].text for row in table.rows} == {"-1.5"}
