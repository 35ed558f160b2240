"""``erugin study``: sizes, results, and errors in a file reported with their lines."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from erugin.cli.main import main
from erugin.scenarios import Results, Study

from ..support.study_cases import PENDULUM

pytestmark = pytest.mark.usefixtures("terminal")


BEGIN = "from studies_here import pendulum\nfrom erugin.scenarios import Study\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file of a user beside the pendulum's scenario."""
    (tmp_path / "studies_here.py").write_text(PENDULUM.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path / "mine.py"


def test_a_dry_run_prints_size_and_time_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["study", str(PENDULUM), "--dry-run", "--workers", "3"]) == 0
    output = capsys.readouterr().out
    for line in (r"runs +240", r"tasks +80", r"controllers +own, soft", r"seeds +20, varying plant\.m1, q0\.q1"):
        assert re.search(rf"^{line} *$", output, re.M)
    assert "by 3 workers" in output
    assert list(tmp_path.iterdir()) == []


def test_a_study_is_run_into_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["study", str(PENDULUM)]) == 0
    output = capsys.readouterr()
    assert "out/pendulum: 240 runs, 0 of them had to stop" in output.out
    assert "240 runs in 80 tasks" in output.err
    assert "the first task took" in output.err
    assert Results.open(tmp_path / "out" / "pendulum").complete
    assert main(["study", str(PENDULUM)]) == 2
    assert "already contains results of this study" in capsys.readouterr().err
    assert main(["study", str(PENDULUM), "--resume"]) == 0
    assert "80 tasks done before" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nstudy = nothing\n", "mine.py, line 2: NameError: name 'nothing' is not defined\n    study = nothing"),
        ("x = (\n", "mine.py, line 1: SyntaxError"),
        (f"{BEGIN}s = Study(pendulum, {{'m1': 3.0}})\n", "mine.py, line 3: factor 'm1' must be a list of levels"),
        (f"{BEGIN}s = Study(pendulum, {{'m9': [3.0]}})\n", "unknown factor 'm9'"),
        (f"{BEGIN}s = Study(pendulum, {{'m9': []}})\n", "has no runs: 'm9' has no levels"),
        (
            f"{BEGIN}a = Study(pendulum)\nb = Study(pendulum)\n",
            "several studies, a, b: name the one to run study",
        ),
        ("x = 1\n", "has no study: write study = Study(scenario, factors, …)"),
    ],
)
def test_an_error_in_a_file_is_reported(
    text: str, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(text, encoding="utf-8")
    assert main(["study", str(file), "--out", str(file.parent / "out")]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors
    assert not (file.parent / "out").exists()


def test_a_line_that_fails_while_the_model_is_built_is_named(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maker = "def broken(setup):\n    return 1 / 0\n"
    file.write_text(f"{BEGIN}{maker}study = Study(pendulum, {{}}, {{'mine': broken}})\n", encoding="utf-8")
    assert main(["study", str(file), "--out", str(file.parent / "out")]) == 2
    assert "mine.py, line 4: ZeroDivisionError: division by zero\n    return 1 / 0" in capsys.readouterr().err


def test_the_one_called_study_is_run_if_there_are_several(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"{BEGIN}other = Study(pendulum)\nstudy = Study(pendulum, seeds=2, name='mine')\n"
    file.write_text(text, encoding="utf-8")
    assert main(["study", str(file), "--out", str(file.parent / "out")]) == 0
    assert Results.open(file.parent / "out").manifest["name"] == "mine"


def test_too_many_runs_ask_for_yes(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{BEGIN}study = Study(pendulum, seeds=10**9)\n", encoding="utf-8")
    assert main(["study", str(file), "--out", str(file.parent / "out")]) == 2
    errors = capsys.readouterr().err
    assert "1,000,000,000 runs in" in errors
    assert "would take" in errors
    assert "--yes" in errors
    assert not (file.parent / "out").exists()


def test_a_machine_or_a_cluster_but_not_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", str(PENDULUM), "--workers", "2", "--scheduler", "tcp://127.0.0.1:9"]) == 2
    assert "--workers is for this machine" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-1"])
def test_workers_are_at_least_one(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", str(PENDULUM), "--workers", number]) == 2
    assert "workers must be" in capsys.readouterr().err


def test_an_interrupt_at_any_time_names_the_folder_of_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> Results:
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", interrupted)
    assert main(["study", str(PENDULUM), "--out", str(tmp_path / "new")]) == 130
    output = capsys.readouterr().err
    assert "nothing written" not in output
    assert f"completed tasks, if any, are in '{tmp_path / 'new'}': continue with --resume" in output
