"""The command line prints answers and refuses bad input on the right stream, with the right exit code."""

from __future__ import annotations

import importlib.metadata
import io
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import pytest

import erugin
from erugin.cli.main import main
from erugin.cli.main import main as bridges_main
from erugin.cli.motion_output import expected_text
from erugin.scenarios import Setup
from erugin.scenarios.catalogue import SCENARIOS, two_link_arm_moving_obstacle

from ..support.command_line import NAME, files, run

# Everything here holds in the virtual machine too.
pytestmark = pytest.mark.usefixtures("terminal")


@pytest.fixture
def never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations fail the test."""

    def run(*_: object) -> NoReturn:
        pytest.fail("the simulation was started")

    monkeypatch.setattr(Setup, "run", run)


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
    scenario = two_link_arm_moving_obstacle
    message, *_ = output.partition("\nsetting ")
    assert message.split() == scenario.description.replace("``", "").split()
    # Each paragraph fills the width of the page, not only that of a line of the source.
    assert max(map(len, message.splitlines())) > 200
    lines = [line.split() for line in output.splitlines()]
    for key, setting in scenario.settings.items():
        (words,) = [words for words in lines if words[:2] == [key, str(setting.value)]]
        assert " ".join(words[2:]).startswith(setting.meaning)
        assert all(word in " ".join(words) for word in setting.choices)
    assert "step of the integration and of the samples [s]" in output
    setup = scenario()
    assert len(setup.nominal) == len(setup.parameters) > 15
    for key, value in setup.nominal.items():
        assert [key, f"{value:g}"] in lines
    for key, measure in setup.measures.items():
        assert measure.expected is not None
        assert [*key.split(), *measure.unit.split(), *expected_text(measure.expected).split()] in lines


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (None, ""),
        ((0.0, 1e-9), "≤ 1e-9"),
        ((-math.inf, 2.0), "≤ 2"),
        ((1.0, math.inf), "≥ 1"),
        ((0.0, math.inf), "≥ 0"),
        ((4, 4), "= 4"),
        ((430.9999, 431.0001), "430.9999 … 431.0001"),
        ((-0.252, -0.25), "-0.252 … -0.25"),
    ],
)
def test_expected_values_are_printed_with_their_digits(expected: tuple[float, float] | None, text: str) -> None:
    assert expected_text(expected) == text


@pytest.mark.slow
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
    assert script.load() is bridges_main


@pytest.mark.parametrize("words", [["walk"], ["run"], ["run", NAME, "--st", "a=1"], ["list", NAME, "more"], ["--out"]])
def test_words_that_make_no_sense(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: erugin" in capsys.readouterr().err


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["list", "run"])
@pytest.mark.parametrize(
    ("name", "hint"), [("two-link-arm-moving-obstcle", f" Did you mean '{NAME}'"), ("[bold]zzz", "")]
)
@pytest.mark.usefixtures("never_run")
def test_unknown_scenario(capsys: pytest.CaptureFixture[str], command: str, name: str, hint: str) -> None:
    assert main([command, name]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    known = ", ".join(sorted(scenario.name for scenario in SCENARIOS))
    assert errors.startswith(f"error: unknown scenario {name!r}.{hint}")
    assert errors.endswith(f" Known: {known}.\n")
    assert len(errors.splitlines()) == 1


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("duraton=3", f"unknown setting or parameter of {NAME} 'duraton'. Did you mean 'duration'"),
        ("disc.radus=0.1", "Did you mean 'disc.radius'"),
        ("m3=1", "Known: I1, I2, c1,"),
        ("duration", "--set requires key=value, got 'duration'"),
        ("duration=", "--set requires key=value, got 'duration='"),
        ("=3", "--set requires key=value, got '=3'"),
        ("", "--set requires key=value, got ''"),
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
        ("field.side=0.5", "parameter 'field.side' must be +1, -1 or 0"),
        ("follow.rate=-8", "parameter 'follow.rate' must be greater than zero"),
        ("l2=0.2", "it may be out of reach"),
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


@pytest.mark.sampled
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


@pytest.mark.sampled
@pytest.mark.parametrize("below", [".", "deeper", "deeper/still"])
@pytest.mark.usefixtures("never_run")
def test_folder_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    out = tmp_path / "file" / below
    assert run(out) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: cannot write to the folder {str(out)!r}: ")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


@pytest.mark.usefixtures("never_run")
def test_folder_without_permission(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Root may write anywhere: what the system would answer anybody else is put in its mouth.
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    assert run(tmp_path) == 2
    assert "Permission denied" in capsys.readouterr().err


def test_a_setting_given_twice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(tmp_path / "out", "--set", "m2=3", "--set", "m2=4") == 2
    assert "--set sets m2 more than once" in capsys.readouterr().err


# The terminal --------------------------------------------------------------------------------------------------------


def test_ctrl_c_before_anything_was_done(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str, package: str) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("importlib.import_module", interrupt)
    assert main(["list"]) == 130
    assert capsys.readouterr().err == "interrupted, nothing written\n"


def test_a_terminal_that_takes_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("erugin.cli.commands.list.Table.add_row", full)
    assert main(["list"]) == 1
    assert capsys.readouterr().err == "error: OSError: [Errno 28] No space left on device\n"


# Printing ------------------------------------------------------------------------------------------------------------

WORDS = {
    "derive": ["derive", "--links", "2", "--up-to", "3", "--equations"],
    "help": ["run", "--help"],
    "list": ["list"],
    "list one": ["list", NAME],
    "list a file": ["list", "{file}"],
    "run": ["run", NAME, "--set", "duration=0.05", "--no-pictures"],
    "run a file": ["run", "{file}", "--no-pictures"],
    "compare": ["compare", "{file}", "--seeds", "6"],
    "study": ["study", "{file}", "--out", "{out}/study"],
    "dry run": ["study", "{file}", "--dry-run"],
    "report": ["report", "{out}/study"],
    "replay": ["replay", "{out}/study", "--task", "0"],
    "bridges": ["bridges"],
    "export": ["export", NAME, "--to", "c", "--out", "{out}/c"],
    "cache": ["cache"],
    "new": ["new", "{out}/φ.py"],
    "error": ["run", "φ"],
}
GREEK = """
import casadi as ca

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import lagrangian_system
from erugin.scenarios import Shifted, Uniform
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import Measure, Setup
from erugin.scenarios import Study


def law(setup):
    path = holonomic(setup.robot.q - 0.1, perturbation=Baumgarte(5.0), name="Δφ")
    return ProgramController(Program(setup.robot, path), realization="actuated")


@scenario("Pendel, große Ausschläge φ₀ ≥ ½π")
def swing(*, duration: float = 0.1):
    '''Колебания: φ̈ = (g/l) sin φ.

    Args:
        duration: Dauer [µs⁻¹].
    '''
    q, v, g, u = (ca.SX.sym(name) for name in ("φ", "ω", "Γ", "τ"))
    robot = lagrangian_system(q=q, v=v, u=u, Q=u, p=g, nominal={"Γ": 9.81}, T=v**2 / 2, V=-g * ca.cos(q), name="振り子")
    measures = {"φ⁺": Measure(lambda motion: motion.q[-1, 0], "°", (-9.0, 9.0))}
    noise = {"q0.φ": Shifted(Uniform(-0.1, 0.1))}
    plan = Setup(robot, None, [0.1], [0.0], duration, 1e-2, error=ca.fabs(q - 0.1), randomization=noise,
                 measures=measures)
    return Setup(robot, law(plan), [0.1], [0.0], duration, 1e-2, error=ca.fabs(q - 0.1), randomization=noise,
                 measures=measures, baselines={"größer": law})


study = Study(swing, {}, {"größer": law}, seeds=4, name="étude")
"""


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "chosen"), [("ascii", WORDS), ("latin-1", ("derive", "list a file", "error"))])
def test_every_command_prints_in_any_encoding(encoding: str, chosen: Iterable[str], tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(GREEK, encoding="utf-8")
    program = [sys.executable, "-P", "-c", "import sys; from erugin.cli.main import main; sys.exit(main())"]
    for name in chosen:
        command = [*program, *(word.format(file=file, out=tmp_path) for word in WORDS[name])]
        done = subprocess.run(
            command, capture_output=True, cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False
        )
        output, errors = done.stdout.decode(encoding), done.stderr.decode(encoding)
        assert "Error" not in errors, (name, errors)
        assert done.returncode == (2 if name == "error" else 0), (name, output, errors)
        assert output or name == "error", name


def test_what_an_encoding_lacks_is_printed_in_plain_letters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sink = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    monkeypatch.setattr(sys, "stdout", sink)
    (tmp_path / "mine.py").write_text(GREEK, encoding="utf-8")
    assert main(["list", str(tmp_path / "mine.py")]) == 0
    sink.flush()
    assert isinstance(sink.buffer, io.BytesIO)
    message = sink.buffer.getvalue().decode("ascii")
    assert "Dauer [us\\u207b\\xb9]" in message
    assert "-9 ... 9" in message
    # The stream is left as it was.
    assert sink.errors == "strict"
