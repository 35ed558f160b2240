"""``erugin run --all`` runs every scenario, goes on after one that fails, and says which; ``--save`` keeps motions."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.cli.commands import run as run_command
from erugin.cli.main import main
from erugin.robots import lagrangian_system
from erugin.scenarios import Measure, Scenario, Setup, catalogue, scenario
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.scenarios.setup import Draw, Motion
from erugin.simulation import Phase, Trajectory
from erugin.symbolic import ModelError

from .command_line import NAME, files

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
    assert output.endswith("2 of 2 scenarios ran, and are as expected\n")
    assert files(tmp_path) == ["as-expected", "in-phases"]
    # Two samples at the switch.
    assert [(tmp_path / name / "text.png").read_text() for name in files(tmp_path)] == ["21", "22"]


@pytest.mark.parametrize(
    ("bad", "code", "said"),
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
    said: str,
) -> None:
    assert all_of(monkeypatch, tmp_path, bad, as_expected) == code
    output, errors = capsys.readouterr()
    assert errors.startswith(said)
    assert errors.endswith(f"not so: {bad.name}\n")
    assert ("NOT AS EXPECTED" in output) == (bad is too_high)
    assert output.endswith("1 of 2 scenarios ran, and are as expected\n")
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
    assert "--all runs every scenario with its own settings" in capsys.readouterr().err


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
