"""Runs from the command line, to their end or not, keep what was computed and draw pictures that are whole."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pytest
from matplotlib.animation import PillowWriter
from rich.progress import Progress, TaskID

from erugin.controllers import Status
from erugin.scenarios import Trajectory
from erugin.scenarios.catalogue import TwoLinkArmMovingObstacle
from erugin.scenarios.plots import moving_obstacle

from .command_line import NAME, files, run
from .command_line import terminal as terminal

# Everything here holds in the virtual machine too.
pytestmark = pytest.mark.filterwarnings("ignore::erugin.symbolic.CompilerWarning")

PICTURES = ("animation.gif", "deviations.png", "field.png", "path.png", "torques.png")
FEW = ("deviations.png", "torques.png")
UNREACHABLE = ("--set", "side=right", "--set", "l2=0.4")


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the pictures that are quickly drawn."""
    pictures = TwoLinkArmMovingObstacle.pictures

    def some(scenario: TwoLinkArmMovingObstacle) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        return {name: draw for name, draw in pictures(scenario).items() if name in FEW}

    monkeypatch.setattr(TwoLinkArmMovingObstacle, "pictures", some)


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


# Runs ----------------------------------------------------------------------------------------------------------------


def test_short_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_obstacle, "FRAMES", 3)
    out = tmp_path / "new" / "folder"
    out.mkdir(parents=True)
    (out / "path.png").write_text("old", encoding="utf-8")
    assert run(out, "--set", "m1=3", "--set", "duration=0.2") == 0
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
    assert "not reached in 5." in output
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
