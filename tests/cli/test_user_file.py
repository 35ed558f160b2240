"""A user's own file runs like a scenario of the catalogue; an error in it is reported with its line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from erugin.cli.main import main

from ..support.command_line import files

pytestmark = pytest.mark.usefixtures("terminal")

PENDULUM = '''
import casadi as ca
import numpy as np

from erugin.robots import lagrangian_system
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import Measure, Setup


def setup(duration, **more):
    q, v, g = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("g")
    robot = lagrangian_system(q=q, v=v, p=g, nominal={"g": 9.81}, T=v**2 / 2, V=-g * ca.cos(q))
    return Setup(robot, None, [0.1], [0.0], duration, 1e-2, **more)


def last(motion):
    return motion.q[-1, 0]


@scenario("swing")
def swing(*, duration: float = 0.5):
    """A pendulum swings.

    Args:
        duration: of the motion [s].
    """
    return setup(duration, measures={"angle": Measure(last, "rad", (-0.2, 0.2))}, pictures={"text.png": write})


def write(motion, path):
    path.write_text("drawn")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, from which nothing stays importable."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def wrong(folder: Path, capsys: pytest.CaptureFixture[str], source: str, *words: str) -> str:
    """Error message for a file."""
    (folder / "mine.py").write_text(source, encoding="utf-8")
    assert main(["run", "mine.py", *words]) == 2
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.startswith("error: ")
    assert "Traceback" not in errors
    return errors.removeprefix("error: ").removesuffix("\n")


def line_of(source: str, text: str) -> int:
    """Number of the first line that has a text."""
    return next(i for i, line in enumerate(source.splitlines(), 1) if text in line)


# Running -------------------------------------------------------------------------------------------------------------


def test_a_file_is_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(PENDULUM, encoding="utf-8")
    before = set(sys.modules)
    assert main(["run", "mine.py"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    angle = 0.1 * np.cos(np.sqrt(9.81) * 0.5)
    (row,) = [line.split() for line in output.splitlines() if line.startswith("angle")]
    assert float(row[1]) == pytest.approx(angle, abs=1e-3)
    assert row[2:] == ["rad", "-0.2", "…", "0.2", "as", "expected"]
    assert (folder / "out" / "text.png").read_text(encoding="utf-8") == "drawn"
    assert "mine" not in sys.modules
    assert [name for name in set(sys.modules) - before if name.startswith("erugin_user_mine_")] != []


def test_settings_and_parameters_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(PENDULUM, encoding="utf-8")
    assert main(["run", "mine.py", "--set", "duration=1", "--set", "g=1.62", "--out", "moon"]) == 0
    output = capsys.readouterr().out
    (row,) = [line.split() for line in output.splitlines() if line.startswith("angle")]
    assert float(row[1]) == pytest.approx(0.1 * np.cos(np.sqrt(1.62)), abs=1e-3)
    assert "expected" not in output
    assert files(folder / "moon") == ["text.png"]
    assert main(["run", "mine.py", "--set", "G=1"]) == 2
    assert capsys.readouterr().err == ("error: unknown setting or parameter of swing 'G'. Known: duration, g.\n")


def test_list_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(PENDULUM, encoding="utf-8")
    assert main(["list", "mine.py"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("A pendulum swings.\n")
    assert "duration  0.5      of the motion [s]." in output
    assert [line.split() for line in output.splitlines() if line.startswith("g ")] == [["g", "9.81"]]


def test_a_measure_that_is_not_as_expected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(PENDULUM.replace("(-0.2, 0.2)", "(1.0, 2.0)"), encoding="utf-8")
    assert main(["run", "mine.py"]) == 1
    assert "1 … 2     NOT AS EXPECTED" in capsys.readouterr().out


def test_the_guard_of_scripts_is_not_run_and_names_stand_in_no_ones_way(folder: Path) -> None:
    source = PENDULUM + "\nif __name__ == '__main__':\n    raise RuntimeError\n"
    for name in ("json.py", "numpy.py", "erugin.py"):
        (folder / name).write_text(source, encoding="utf-8")
        before = {key: sys.modules.get(key) for key in ("json", "numpy", "erugin")}
        assert main(["run", name]) == 0
        assert {key: sys.modules.get(key) for key in before} == before


def test_modules_beside_a_file_and_dataclasses_in_it(folder: Path) -> None:
    (folder / "a_helper_beside.py").write_text("START = 0.3\n", encoding="utf-8")
    more = (
        "from dataclasses import dataclass\nfrom a_helper_beside import START\n\n\n"
        "@dataclass\nclass Thing:\n    value: float\n\n\nassert Thing(START).value == 0.3\n"
    )
    (folder / "mine.py").write_text(f"from __future__ import annotations\n{more}{PENDULUM}", encoding="utf-8")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    assert main(["run", str(folder / "mine.py"), "--out", str(elsewhere)]) == 0
    sys.modules.pop("a_helper_beside")


def test_a_byte_order_mark_is_no_mistake(folder: Path) -> None:
    (folder / "mine.py").write_text(PENDULUM, encoding="utf-8-sig")
    assert main(["run", "mine.py"]) == 0


# Several, none, twice ------------------------------------------------------------------------------------------------

SECOND = PENDULUM + '\n\n@scenario("still")\ndef still():\n    return setup(0.1)\n'


def test_one_of_several_is_chosen(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = wrong(folder, capsys, SECOND)
    assert message == "mine.py has several scenarios: choose one with --scenario: still, swing"
    assert main(["run", "mine.py", "--scenario", "swing"]) == 0
    capsys.readouterr()
    assert wrong(folder, capsys, SECOND, "--scenario", "stil") == (
        "mine.py: unknown scenario 'stil'. Did you mean 'still'? Known: still, swing."
    )


def test_missing_and_duplicate_scenarios_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "mine.py has no scenario: put @scenario(" in wrong(folder, capsys, "")
    # One that is imported is not the file's own.
    imported = "from erugin.scenarios.catalogue import two_link_arm_moving_obstacle\n"
    assert "mine.py has no scenario" in wrong(folder, capsys, imported)
    assert "two scenarios are called 'swing'" in wrong(folder, capsys, SECOND.replace('"still"', '"swing"'))
    assert main(["run", "bricard", "--scenario", "swing"]) == 2
    assert "--scenario chooses a scenario of a file" in capsys.readouterr().err


# Mistakes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message", "shown"),
    [
        ("return Setup(robot", "return Setup(robot, ,", "SyntaxError: invalid syntax", "return Setup(robot, ,"),
        ("    return motion.q", "return motion.q", "IndentationError: ", "return motion.q[-1, 0]"),
        ("def last", "1 / 0\ndef last", "ZeroDivisionError: division by zero", "1 / 0"),
        ("import casadi", "import cassadi", "ModuleNotFoundError: No module named 'cassadi'", "import cassadi as ca"),
        ("import Measure,", "import Mesure,", "ImportError: cannot import name 'Mesure'", "import Mesure, Setup"),
        ("def last", "raise ValueError\ndef last", "ValueError", "raise ValueError"),
        ("def last", "import sys\nsys.exit(3)\ndef last", "the file calls sys.exit when it is loaded", "sys.exit(3)"),
        ("q=q, v=v", "q=q, v=2 * v", "v must be a column of symbols", "robot = lagrangian_system("),
        ("[0.0], duration", "[0.0], length", "NameError: name 'length' is not defined", "[0.0], length"),
        ("motion.q[-1, 0]", "motion.q[-1, 7]", "IndexError: index 7 is out of bounds", "motion.q[-1, 7]"),
        ('write_text("drawn")', "wite()", "AttributeError: ", "path.wite()"),
        ("= 0.5", "= None", "must have a default: a number", '@scenario("swing")'),
        ("duration: of the", "time: of the", "argument 'duration' of scenario 'swing' is not described", "@scenario"),
        ('@scenario("swing")', "@scenario", "a scenario needs a name: write @scenario(", "@scenario"),
        ("duration: float", "duration: Seconds", "must be defined before its function: name 'Seconds'", "@scenario"),
    ],
)
def test_a_mistake_is_reported_with_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, message: str, shown: str
) -> None:
    assert old in PENDULUM
    source = PENDULUM.replace(old, new, 1)
    if "Seconds" in new:
        source = "from __future__ import annotations\n" + source
    (folder / "mine.py").write_text(source, encoding="utf-8")
    assert main(["run", "mine.py"]) == 2
    errors = capsys.readouterr().err
    assert "Traceback" not in errors
    first, second = errors.splitlines()
    assert first.startswith(f"error: mine.py, line {line_of(source, shown)}: ")
    assert message in first
    assert second.startswith("    ")
    assert shown in second


def test_a_mistake_in_a_module_beside(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a_broken_helper.py").write_text("def half():\n    return 1 / 0\n", encoding="utf-8")
    message = wrong(folder, capsys, "import a_broken_helper\na_broken_helper.half()\n")
    assert message == "a_broken_helper.py, line 2: ZeroDivisionError: division by zero\n    return 1 / 0"
    sys.modules.pop("a_broken_helper")


def test_a_function_that_returns_no_setup(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = wrong(
        folder, capsys, PENDULUM.replace("    return setup(duration, measures", "    setup(duration, measures")
    )
    assert message == "scenario 'swing' (mine.py, line 20) must return a Setup, got None"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = 1\ny = '\xe9'\n", "mine.py, line 2: byte 0xe9 is not valid UTF-8: save the file as UTF-8"),
        (b"x = 1\n\n\0\n", "mine.py, line 3: the file contains a null byte, so it is not a text file"),
    ],
)
def test_a_file_that_is_no_text(folder: Path, capsys: pytest.CaptureFixture[str], data: bytes, message: str) -> None:
    (folder / "mine.py").write_bytes(data)
    assert main(["run", "mine.py"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")


def test_a_path_that_is_not_a_scenario_file_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "mine.py"]) == 2
    assert capsys.readouterr().err == "error: cannot read 'mine.py': No such file or directory\n"
    (folder / "mine.py").mkdir()
    assert main(["run", "mine.py"]) == 2
    assert capsys.readouterr().err == "error: cannot read 'mine.py': Is a directory\n"
    assert main(["list", "./elsewhere/mine"]) == 2
    assert capsys.readouterr().err == "error: cannot read 'elsewhere/mine': No such file or directory\n"


# What the law says ---------------------------------------------------------------------------------------------------

SLED = '''
import dataclasses

import casadi as ca
import numpy as np

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController
from erugin.controllers.wrappers import Saturation
from erugin.robots import lagrangian_system
from erugin.simulation import Phase
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import Measure, Setup


@scenario("sled")
def sled(*, effort: float = 2.0, cut: bool = False, phases: bool = False):
    """A sled is to follow a sine, and its drive is weak.

    Args:
        effort: limit of the drive [N].
        cut: whether the law knows nothing of the limit.
        phases: whether there are two.
    """
    x, v, u, m = (ca.SX.sym(name) for name in ("x", "v", "u", "m"))
    robot = lagrangian_system(q=x, v=v, u=u, Q=u, p=m, nominal={"m": 1.0}, T=m * v**2 / 2)
    robot = dataclasses.replace(robot, limits=dataclasses.replace(robot.limits, effort=np.array([effort])))
    path = holonomic(x - ca.sin(2 * robot.t), perturbation=Baumgarte(5.0), name="path")
    law = ProgramController(Program(robot, [path]), realization="actuated" if cut else "bounded")
    law = Saturation(law) if cut else law
    parts = (Phase(None, until=0.2), Phase(law)) if phases else ()
    error = Measure(lambda motion: float(np.abs(motion.q[-1, 0] - np.sin(2 * motion.t[-1]))), "m", (0.0, 0.05))
    return Setup(robot, None if phases else law, [0.0], [2.0], 2.0, 1e-2, measures={"error": error}, phases=parts)
'''


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], r"first at t = 0\.\d+: Rows of the program are missed: 'path' by .*At their bound: u \(-2\)"),
        (["--set", "effort=2.5"], r"first at t = 0\.\d+: Rows of the program are missed: 'path' by .*u \(-2\.5\)"),
        (["--set", "cut=yes"], r"first at t = 0\.\d+: input 'u' would be -2\.\d+, beyond its limit -2 by 0\.\d+"),
        (["--set", "phases=yes"], r"first at t = 0\.\d+: Rows of the program are missed"),
    ],
)
def test_a_law_that_relaxed_rows_reports_when_and_by_how_much_and_fails(
    folder: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.py").write_text(SLED, encoding="utf-8")
    assert main(["run", "mine.py", "--no-pictures", *words]) == 1
    output = capsys.readouterr().out
    shares = re.search(r"status: OK ([\d.]+) %, LIMITED ([\d.]+) % of 20[12] samples", output)
    assert shares is not None, output
    assert float(shares[1]) + float(shares[2]) == pytest.approx(100.0, abs=0.1)
    assert re.search(message, output), output
    row = re.search(r"largest deviations while not OK: 'path' ([\d.]+) at t = ([\d.]+)", output)
    assert row is not None, output
    assert float(row[1]) > 0.05
    assert "NOT AS EXPECTED" in output


def test_a_law_without_failures_is_reported_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text(SLED, encoding="utf-8")
    assert main(["run", "mine.py", "--no-pictures", "--set", "effort=20"]) == 0
    output = capsys.readouterr().out
    assert "status: OK at all 201 samples" in output
    assert "first at" not in output
    assert "expected" not in output
