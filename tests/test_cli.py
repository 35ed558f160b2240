"""The command line, in this process: exit codes, messages on the right stream, and pictures that are whole."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from matplotlib.animation import PillowWriter
from rich.progress import Progress, TaskID

import erugin
from erugin.controllers import Status
from erugin.scenarios import Trajectory
from erugin.scenarios.catalogue import SCENARIOS, TwoLinkArmMovingObstacle
from erugin.scenarios.cli import main
from erugin.scenarios.plots import moving_obstacle
from erugin.scenarios.scenario import Setup

# Everything here holds in the virtual machine too.
pytestmark = pytest.mark.filterwarnings("ignore::erugin.symbolic.CompilerWarning")

NAME = "two-link-arm-moving-obstacle"
PICTURES = ("animation.gif", "deviations.png", "field.png", "path.png", "torques.png")
FEW = ("deviations.png", "torques.png")
UNREACHABLE = ("--set", "side=right", "--set", "l2=0.4")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wide page, so that no sentence is broken; what ``main`` does to warnings ends with the test."""
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


@pytest.fixture
def never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations fail the test."""

    def run(*_: object) -> NoReturn:
        pytest.fail("the simulation was started")

    monkeypatch.setattr(Setup, "run", run)


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the pictures that are quickly drawn."""
    pictures = TwoLinkArmMovingObstacle.pictures

    def some(scenario: TwoLinkArmMovingObstacle) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        return {name: draw for name, draw in pictures(scenario).items() if name in FEW}

    monkeypatch.setattr(TwoLinkArmMovingObstacle, "pictures", some)


def run(out: Path, *words: str) -> int:
    """Exit code of a run."""
    return main(["run", NAME, "--out", str(out), *words])


def files(folder: Path) -> list[str]:
    """Names of everything in a folder, hidden files too."""
    return sorted(file.name for file in folder.iterdir())


def assert_whole(file: Path) -> None:
    """The picture begins and ends as its format says."""
    data = file.read_bytes()
    assert len(data) > 5000
    if file.suffix == ".png":
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert data[-12:] == b"\x00\x00\x00\x00IEND\xaeB`\x82"
    else:
        assert data.startswith(b"GIF89a")
        assert data.endswith(b";")


# Asking --------------------------------------------------------------------------------------------------------------


def test_list_shows_the_scenarios(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    for scenario in SCENARIOS:
        assert scenario.name in output
        assert scenario.summary in output
    assert NAME in output


def test_list_of_one_shows_its_settings_with_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", NAME]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    scenario = TwoLinkArmMovingObstacle()
    lines = [line.split() for line in output.splitlines()]
    for key, setting in scenario.settings.items():
        (words,) = [words for words in lines if words[:2] == [key, str(setting.value)]]
        assert " ".join(words[2:]).startswith(setting.meaning)
        assert all(word in " ".join(words) for word in setting.words)
    assert "step of the integration and of the samples [s]" in output
    for key, value in scenario.controller.parameters.nominal.items():
        assert [key, f"{value:g}"] in lines


def test_a_narrow_page_breaks_lines_and_loses_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["list", NAME]) == 0
    wide = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["list", NAME]) == 0
    narrow = capsys.readouterr().out
    assert sorted(narrow.split()) == sorted(wide.split())
    assert len(narrow.splitlines()) > len(wide.splitlines())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"erugin {erugin.__version__}\n"


def test_no_words_give_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    output = capsys.readouterr().out
    assert output.startswith("usage: erugin")
    assert all(word in output for word in ("list", "run", "--version"))


def test_the_program_is_installed() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="erugin")
    assert script.load() is main


@pytest.mark.parametrize("words", [["walk"], ["run"], ["run", NAME, "--st", "a=1"], ["list", NAME, "more"], ["--out"]])
def test_words_that_make_no_sense(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: erugin" in capsys.readouterr().err


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["list", "run"])
@pytest.mark.parametrize(
    ("name", "hint"), [("two-link-arm-moving-obstcle", f" Did you mean '{NAME}'?"), ("[bold]zzz", "")]
)
@pytest.mark.usefixtures("never_run")
def test_unknown_scenario(capsys: pytest.CaptureFixture[str], command: str, name: str, hint: str) -> None:
    assert main([command, name]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors == f"error: unknown scenario {name!r}.{hint} Known: {NAME}.\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duraton=3", f"unknown setting or parameter of {NAME} 'duraton'. Did you mean 'duration'"),
        ("disc.radus=0.1", "Did you mean 'disc.radius'"),
        ("m3=1", "Known: I1, I2, c1,"),
        ("duration", "--set takes key=value, got 'duration'"),
        ("duration=", "--set takes key=value, got 'duration='"),
        ("=3", "--set takes key=value, got '=3'"),
        ("", "--set takes key=value, got ''"),
        ("duration=abc", "duration must be a number, got 'abc'"),
        ("duration=1=2", "duration must be a number, got '1=2'"),
        ("m1=heavy", "m1 must be a number, got 'heavy'"),
        ("side=up", "side must be one of auto, left, right, got 'up'"),
        ("realization=[red]", "realization must be one of actuated, ideal, got '[red]'"),
        ("m1=-1", "parameter 'm1' must be greater than zero, got -1.0"),
        ("m1=0", "parameter 'm1' must be greater than zero, got 0.0"),
        ("l1=-0.6", "parameter 'l1' must be greater than zero, got -0.6"),
        ("I1=-1", "parameter 'I1' must be at least zero, got -1.0"),
        ("m1=nan", "parameter 'm1' must be"),
        ("g=inf", "parameter 'g' must be finite, got inf"),
        ("disc.radius=-0.1", "parameter 'disc.radius' must be greater than zero"),
        ("disc.x=nan", "parameter 'disc.x' must be finite, got nan"),
        ("field.speed=0", "parameter 'field.speed' must be greater than zero"),
        ("field.side=0.5", "parameter 'field.side' must be +1 or -1"),
        ("follow.rate=-8", "parameter 'follow.rate' must be greater than zero"),
        ("l2=0.2", "the place may be out of reach"),
    ],
)
@pytest.mark.usefixtures("never_run")
def test_bad_setting(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str) -> None:
    assert run(tmp_path, "--set", text) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("step=-1", "step must be greater than zero, got -1.0"),
        ("step=0", "step must be greater than zero, got 0.0"),
        ("step=nan", "step must be finite, got nan"),
        ("duration=-2", "duration must be greater than zero, got -2.0"),
        ("duration=inf", "duration must be finite, got inf"),
        ("step=1e-12", "step"),
    ],
)
def test_bad_times(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, message: str) -> None:
    assert run(tmp_path, "--set", text) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert message in errors
    assert files(tmp_path) == []


@pytest.mark.parametrize("below", [".", "deeper", "deeper/still"])
@pytest.mark.usefixtures("never_run")
def test_folder_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    out = tmp_path / "file" / below
    assert run(out) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: cannot write to the folder {str(out)!r}: ")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.usefixtures("never_run")
def test_folder_without_permission(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert run(tmp_path) == 2
    finally:
        tmp_path.chmod(0o700)
    assert "Permission denied" in capsys.readouterr().err


# Runs ----------------------------------------------------------------------------------------------------------------


def test_short_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_obstacle, "FRAMES", 3)
    out = tmp_path / "new" / "folder"
    out.mkdir(parents=True)
    (out / "path.png").write_text("old", encoding="utf-8")
    assert run(out, "--set", "duration=5", "--set", "m1=3", "--set", "duration=0.2") == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "not reached in 0.200 s" in output
    scenario = TwoLinkArmMovingObstacle()
    measures = scenario.measure(scenario.prepare({"duration": "0.2", "m1": "3"}).run())
    assert len(measures) > 4
    # All but the last, which tells how long this computer took.
    assert all(measure.name in output and measure.text in output for measure in measures[:-1])
    assert files(out) == sorted(PICTURES)
    for name in PICTURES:
        assert name in output.splitlines()[-1]
        assert_whole(out / name)
        assert (out / name).stat().st_mode & 0o777 == 0o644
    assert (out / "animation.gif").read_bytes().count(b"\x21\xf9\x04") == 3, "one graphic control block per frame"


@pytest.mark.slow
def test_full_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "reached at 9." in output
    assert files(tmp_path) == sorted(PICTURES)
    for name in PICTURES:
        assert_whole(tmp_path / name)


@pytest.mark.usefixtures("few_pictures")
def test_run_that_meets_a_singular_position(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path, *UNREACHABLE) == 1
    output, errors = capsys.readouterr()
    assert errors.startswith("stopped at t = ")
    assert "Row 'follow[1]' depends on 'follow[0]'" in errors
    assert Status.SINGULAR.sentence in errors
    assert "What was computed is kept." in errors
    assert "not reached in 4." in output
    assert files(tmp_path) == sorted(FEW)
    for name in FEW:
        assert_whole(tmp_path / name)


@pytest.mark.usefixtures("few_pictures")
def test_run_that_fails_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path, "--set", "g=1e308") == 1
    output, errors = capsys.readouterr()
    assert "stopped at t = 0 s" in errors
    assert Status.NOT_FINITE.sentence in errors
    assert "there are too few samples for pictures" in errors
    assert "end of the path" not in output
    assert files(tmp_path) == []


# Stopping ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [(), UNREACHABLE])
@pytest.mark.usefixtures("few_pictures")
def test_interrupted_run_keeps_what_it_has(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: tuple[str, ...]
) -> None:
    update = Progress.update
    seen: list[float] = []

    def interrupt(progress: Progress, task: TaskID, *, completed: float) -> None:
        seen.append(completed)
        if len(seen) == 20:
            raise KeyboardInterrupt
        update(progress, task, completed=completed)

    monkeypatch.setattr(Progress, "update", interrupt)
    assert run(tmp_path, *extra) == 130
    output, errors = capsys.readouterr()
    assert seen == sorted(seen)
    assert 0.0 < seen[-1] < 0.5
    assert errors.startswith("interrupted at t = 1.9")
    assert errors.endswith("what was computed is kept\n")
    assert "not reached in 1.9" in output
    assert files(tmp_path) == sorted(FEW)
    for name in FEW:
        assert_whole(tmp_path / name)


def test_interrupted_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(TwoLinkArmMovingObstacle, "build", interrupt)
    assert run(tmp_path) == 130
    assert "interrupted, nothing written" in capsys.readouterr().err
    assert files(tmp_path) == []


@pytest.mark.parametrize("frames", [0, 2], ids=["at the first frame", "at a later frame"])
@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left on device"), 1)])
def test_drawing_that_does_not_end(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    code: int,
    frames: int,
) -> None:
    pictures = TwoLinkArmMovingObstacle.pictures
    writers: Any = PillowWriter
    grab: Callable[[PillowWriter], None] = writers.grab_frame
    left = [grab] * frames

    def two(scenario: TwoLinkArmMovingObstacle) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        return {name: pictures(scenario)[name] for name in ("torques.png", "animation.gif", "path.png")}

    def fail(writer: PillowWriter) -> None:
        if not left:
            raise error
        left.pop()(writer)

    monkeypatch.setattr(TwoLinkArmMovingObstacle, "pictures", two)
    monkeypatch.setattr(PillowWriter, "grab_frame", fail)
    assert run(tmp_path, "--set", "duration=0.1") == code
    output, errors = capsys.readouterr()
    assert output.splitlines()[-1] == f"{tmp_path}: torques.png"
    assert errors == ("interrupted while drawing\n" if code == 130 else f"a picture could not be written: {error}\n")
    assert files(tmp_path) == ["torques.png"]
    assert_whole(tmp_path / "torques.png")


INTERRUPTED = """
import signal
import sys
from erugin.scenarios.catalogue import TwoLinkArmMovingObstacle as Scenario
from erugin.scenarios.cli import main
from erugin.scenarios.scenario import Setup

# A shell that runs the tests in the background lets its children ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
run, pictures = Setup.run, Scenario.pictures

def tell(setup, progress):
    calls = iter(range(10**9))
    def told(share):
        if next(calls) == 10:
            print("running", flush=True)
        progress(share)
    return run(setup, told)

Setup.run = tell
Scenario.pictures = lambda scenario: {"torques.png": pictures(scenario)["torques.png"]}
sys.exit(main(sys.argv[1:]))
"""


def test_interrupt_from_the_keyboard(tmp_path: Path) -> None:
    # At this step the run would take many times as long as the signal.
    words = ["run", NAME, "--out", str(tmp_path), "--set", "step=1e-5"]
    command = [sys.executable, "-P", "-c", INTERRUPTED, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "running" in line:
                process.send_signal(signal.SIGINT)
                break
        output, errors = process.communicate(timeout=120.0)
    assert process.returncode == 130, errors
    # Before it there may be a note that there is no compiler.
    *notes, said = errors.splitlines()
    assert said.startswith("interrupted at t = ")
    assert all(line.startswith("note: ") for line in notes)
    assert "end of the path" in output
    assert files(tmp_path) == ["torques.png"]
    assert_whole(tmp_path / "torques.png")
