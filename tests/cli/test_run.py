"""`erugin run`, for one scenario and for all: results, pictures, failures."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import casadi as ca
import numpy as np
import pytest
from matplotlib.artist import Artist
from rich.progress import Progress, TaskID

from erugin.cli.commands import run as run_command
from erugin.cli.main import main
from erugin.controllers import Status
from erugin.robots import lagrangian_system
from erugin.scenarios import Measure, Scenario, Setup, catalogue, scenario
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.scenarios.setup import Draw, Motion
from erugin.simulation import Phase, Trajectory
from erugin.symbolic import ModelError
from erugin.views import moving_obstacle
from erugin.views.film import GifFrames

from ..support.command_line import NAME, files, run

pytestmark = pytest.mark.usefixtures("terminal")


def fall(*, phases: bool = False, high: float = 1.0, broken: bool = False) -> Setup:
    """A mass falls."""
    x, v, g = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("g")
    robot = lagrangian_system(q=x, v=v, p=g, nominal={"g": 9.81}, T=v**2 / 2, V=g * x)
    if broken:
        robot = lagrangian_system(q=x, v=v, p=g, nominal={"g": 9.81}, T=v**2 / 2, V=g * ca.sqrt(x - 0.9))
    parts = (Phase(None, until=0.1, name="first"), Phase(None, name="second")) if phases else ()
    height = Measure(lambda motion: motion.q[-1, 0], "m", (0.79, high))
    return Setup(robot, None, [1.0], [0.0], 0.2, 1e-2, phases=parts, measures={"height": height})


@scenario("as-expected")
def as_expected() -> Setup:
    """A mass falls."""
    return fall()


@scenario("in-phases")
def in_phases() -> Setup:
    """A mass falls in phases."""
    return fall(phases=True)


@scenario("too-high")
def too_high() -> Setup:
    """A mass is expected to stay up."""
    return fall(high=0.795)


@scenario("not-there")
def not_there() -> Setup:
    """Needs what is not installed."""
    raise ModelError("it needs a package: pip install it")


@scenario("stops")
def stops() -> Setup:
    """A motion without end."""
    return fall(broken=True)


def text_only(setup: Setup, motion: Motion) -> dict[str, Draw]:
    """A picture that is quickly drawn."""

    def draw(_: Motion, path: Path) -> None:
        path.write_text(f"{len(motion)}", encoding="utf-8")

    return {"text.png": draw}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures cost nothing."""
    monkeypatch.setattr(run_command, "pictures_of", text_only)


def all_of(monkeypatch: pytest.MonkeyPatch, out: Path, *scenarios: Scenario) -> int:
    """Exit code of all these."""
    monkeypatch.setattr(catalogue, "SCENARIOS", scenarios)
    return main(["run", "--all", "--out", str(out)])


@pytest.mark.usefixtures("quick")
def test_all_scenarios_are_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all_of(monkeypatch, tmp_path, as_expected, in_phases) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert output.count("height") == output.count("as expected\n") - 1 == 2
    assert output.endswith("2 of 2 scenarios ran as expected\n")
    assert files(tmp_path) == ["as-expected", "in-phases"]
    # Two samples at the switch.
    assert [(tmp_path / name / "text.png").read_text() for name in files(tmp_path)] == ["21", "22"]


@pytest.mark.parametrize(
    ("bad", "code", "message"),
    [
        (too_high, 1, ""),
        (not_there, 2, "error: it needs a package: pip install it\n"),
        (stops, 1, "stopped at t = "),
    ],
    ids=lambda value: value.name if isinstance(value, Scenario) else "",
)
@pytest.mark.usefixtures("quick")
def test_what_is_not_as_expected_is_named_and_the_rest_is_run(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bad: Scenario,
    code: int,
    message: str,
) -> None:
    assert all_of(monkeypatch, tmp_path, bad, as_expected) == code
    output, errors = capsys.readouterr()
    assert errors.startswith(message)
    assert errors.endswith(f"not as expected: {bad.name}\n")
    assert ("NOT AS EXPECTED" in output) == (bad is too_high)
    assert output.endswith("1 of 2 scenarios ran as expected\n")
    assert (tmp_path / "as-expected" / "text.png").exists()


def test_ctrl_c_ends_all(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(setup: Setup, motion: Motion) -> dict[str, Draw]:
        def draw(_: Motion, path: Path) -> None:
            raise KeyboardInterrupt

        return {"text.png": draw}

    monkeypatch.setattr(run_command, "pictures_of", interrupt)
    assert all_of(monkeypatch, tmp_path, as_expected, in_phases) == 130
    assert files(tmp_path) == ["as-expected"]
    assert capsys.readouterr().err == "interrupted while drawing\n"


@pytest.mark.parametrize("words", [[NAME], ["--set", "a=1"], ["--scenario", "a"]])
def test_all_takes_nothing_else(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "--all", *words])
    assert ended.value.code == 2
    assert "--all runs every scenario with its default settings" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_motion_is_saved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["run", NAME, "--set", "duration=0.1", "--set", "side=left", "--save", "--out", str(tmp_path)]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"{tmp_path}: motion.npz, text.png"
    setup = two_link_arm_moving_obstacle(duration=0.1, side="left")
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    loaded = Trajectory.load(tmp_path / "motion.npz", robot=setup.robot, controller=setup.controller)
    np.testing.assert_array_equal(loaded.q, motion.q)
    np.testing.assert_array_equal(loaded.u, motion.u)


@pytest.mark.usefixtures("quick")
def test_a_narrow_page_cuts_no_number(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "34")
    assert all_of(monkeypatch, tmp_path, as_expected) == 0
    words = capsys.readouterr().out.split()
    assert "…" in words, "the range's own"
    assert not any(word.endswith("…") and word != "…" for word in words)
    assert {"0.8038", "0.79", "expected"} <= set(words)


# Everything here holds in the virtual machine too.

PICTURES = ("animation.gif", "deviations.png", "field.png", "path.png", "torques.png")
FEW = ("deviations.png", "torques.png")
UNREACHABLE = ("--set", "side=right", "--set", "l2=0.4", "--set", "disc.x=0.9", "--set", "disc.vx=0")


def draw_only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Only some of the pictures, in this order."""
    pictures = run_command.pictures_of

    def some(setup: Setup, motion: Motion) -> Mapping[str, Draw]:
        every = pictures(setup, motion)
        return {name: every[name] for name in names}

    monkeypatch.setattr(run_command, "pictures_of", some)


@pytest.fixture
def few_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the pictures that are quickly drawn."""
    draw_only(monkeypatch, *FEW)


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


@pytest.mark.slow
def test_short_run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_obstacle, "FRAMES", 3)
    monkeypatch.setattr(moving_obstacle, "FINE", 41)
    out = tmp_path / "new" / "folder"
    out.mkdir(parents=True)
    (out / "path.png").write_text("old", encoding="utf-8")
    assert run(out, "--set", "m1=3", "--set", "duration=0.2") == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    setup = two_link_arm_moving_obstacle.prepare({"duration": "0.2", "m1": "3"})
    measured = setup.measure(setup.run())
    assert len(measured) > 4
    lines = [line.split() for line in output.splitlines()]
    for one in measured:
        assert [*one.name.split(), f"{one.value:.5g}", *one.unit.split()] in lines
    assert ["time", "at", "the", "end", "of", "the", "path", "nan", "s"] in lines
    assert "0.200 s simulated in " in output
    assert "expected" not in output, "other settings than the scenario's own"
    assert files(out) == sorted(PICTURES)
    for name in PICTURES:
        assert name in output.splitlines()[-1]
        assert_whole(out / name)
        assert (out / name).stat().st_mode & 0o777 == 0o644
    assert (out / "animation.gif").read_bytes().count(b"\x21\xf9\x04") == 3, "one graphic control block per frame"


@pytest.mark.slow
def test_a_run_without_pictures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path / "none", "--set", "duration=0.1", "--no-pictures") == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert "largest torque" in output
    assert files(tmp_path) == []
    assert run(tmp_path / "none", "--set", "duration=0.1", "--no-pictures", "--save") == 0
    assert files(tmp_path / "none") == ["motion.npz"]


@pytest.mark.slow
def test_full_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert re.search(r"time at the end of the path +8\.\d+ +s +8\.9 … 9 +as expected\n", output)
    assert output.count("as expected") == len(two_link_arm_moving_obstacle().measures)
    assert "the stop condition holds at t = 8." in output
    assert files(tmp_path) == sorted(PICTURES)
    for name in PICTURES:
        assert_whole(tmp_path / name)


@pytest.mark.slow
@pytest.mark.usefixtures("few_pictures")
def test_run_that_meets_a_singular_position(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path, *UNREACHABLE) == 1
    output, errors = capsys.readouterr()
    assert errors.startswith("stopped at t = ")
    assert "Row 'follow[0]' vanishes within the next step" in errors
    assert Status.SINGULAR.sentence in errors
    assert "The motion so far is kept." in errors
    assert re.search(r"time at the end of the path +nan", output)
    assert re.search(r"\n4\.\d\d\d s simulated in", output)
    assert files(tmp_path) == sorted(FEW)
    for name in FEW:
        assert_whole(tmp_path / name)


@pytest.mark.slow
@pytest.mark.usefixtures("few_pictures")
def test_run_that_fails_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path, "--set", "g=1e308") == 1
    output, errors = capsys.readouterr()
    assert "stopped at t = 0 s" in errors
    assert Status.NOT_FINITE.sentence in errors
    assert "the motion has too few samples for pictures" in errors
    assert "end of the path" not in output
    assert files(tmp_path) == []


# Stopping ------------------------------------------------------------------------------------------------------------


@pytest.mark.sampled
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
    assert errors.endswith("the motion so far is kept\n")
    assert re.search(r"\n1\.9\d\d s simulated in", output)
    assert files(tmp_path) == sorted(FEW)
    for name in FEW:
        assert_whole(tmp_path / name)


def test_interrupted_before_the_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(two_link_arm_moving_obstacle), "prepare", interrupt)
    assert run(tmp_path) == 130
    assert "interrupted, nothing written" in capsys.readouterr().err
    assert files(tmp_path) == []


@pytest.mark.sampled
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
    left = [GifFrames.add] * frames

    def fail(film: GifFrames, moving: Sequence[Artist]) -> None:
        if not left:
            raise error
        left.pop()(film, moving)

    draw_only(monkeypatch, "torques.png", "animation.gif", "path.png")
    monkeypatch.setattr(GifFrames, "add", fail)
    assert run(tmp_path, "--set", "duration=0.1") == code
    output, errors = capsys.readouterr()
    assert output.splitlines()[-1] == f"{tmp_path}: torques.png"
    assert errors == ("interrupted while drawing\n" if code == 130 else f"a picture could not be written: {error}\n")
    assert files(tmp_path) == ["torques.png"]
    assert_whole(tmp_path / "torques.png")


INTERRUPTED = """
import signal
import sys
from erugin.cli.main import main
from erugin.cli.commands import run as run_command
from erugin.scenarios.setup import Setup

# A shell that runs the tests in the background lets its children ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
run, pictures = Setup.run, run_command.pictures_of

def tell(setup, progress):
    calls = iter(range(10**9))
    def report(share):
        if next(calls) == 10:
            print("running", flush=True)
        progress(share)
    return run(setup, report)

Setup.run = tell
run_command.pictures_of = lambda setup, motion: {"torques.png": pictures(setup, motion)["torques.png"]}
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
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
    *notes, message = errors.splitlines()
    assert message.startswith("interrupted at t = ")
    assert all(line.startswith("note: ") for line in notes)
    assert "end of the path" in output
    assert files(tmp_path) == ["torques.png"]
    assert_whole(tmp_path / "torques.png")
