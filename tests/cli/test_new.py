"""``erugin new`` writes a scenario that runs as it is, and never writes over anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from erugin.cli.commands.new import template, write_new
from erugin.cli.main import main
from erugin.scenarios.lookup import choose_scenario
from erugin.symbolic import ModelError

from ..support.command_line import files

pytestmark = pytest.mark.usefixtures("terminal")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, from which nothing stays importable."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def test_what_is_written_runs_as_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("erugin.views.film.FRAMES", 4)
    assert main(["new", "mine.py"]) == 0
    assert capsys.readouterr().out == "mine.py has been written. Next:\n  erugin run mine.py\n  erugin list mine.py\n"
    assert files(folder) == ["mine.py"]
    assert main(["run", "mine.py"]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    (error,) = [line.split() for line in output.splitlines() if line.startswith("error at the end")]
    assert error[-2:] == ["as", "expected"]
    for name in ("motion.png", "error.png"):
        assert (folder / "out" / name).read_bytes().startswith(b"\x89PNG")
    assert (folder / "out" / "animation.gif").read_bytes().startswith(b"GIF89a")
    assert main(["list", "mine.py"]) == 0
    assert "initial error of the first joint's angle [rad]" in capsys.readouterr().out


def test_its_error_is_that_of_the_docstring(folder: Path) -> None:
    assert main(["new", "mine.py"]) == 0
    setup = choose_scenario("mine.py").scenario(duration=1.0, off=0.01)
    assert setup.error is not None
    motion = setup.run()
    error, t = motion.evaluate(setup.error), motion.t
    # (1 + 8 t) e^(−8 t), for a start at rest against the target.
    half = int(len(t) / 2)
    assert error[half] / error[0] == pytest.approx(5.0 * 2.718281828459045**-4.0, rel=0.05)


def test_the_template_is_short() -> None:
    assert len(template().splitlines()) <= 60
    assert max(map(len, template().splitlines())) <= 120


def test_nothing_is_written_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.py").write_text("mine", encoding="utf-8")
    assert main(["new", "mine.py"]) == 2
    assert capsys.readouterr().err == "error: 'mine.py' already exists and was not changed: choose another name\n"
    assert (folder / "mine.py").read_text(encoding="utf-8") == "mine"
    (folder / "link.py").symlink_to("nowhere.py")
    assert main(["new", "link.py"]) == 2
    assert files(folder) == ["link.py", "mine.py"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine", "the file must end in .py, got 'mine'"),
        ("mine.txt", "the file must end in .py"),
        ("no/folder/mine.py", "cannot write 'no/folder/mine.py': No such file or directory"),
        (".py", "the file must end in .py"),
    ],
)
def test_names_that_do_not_do(folder: Path, capsys: pytest.CaptureFixture[str], name: str, message: str) -> None:
    assert main(["new", name]) == 2
    assert message in capsys.readouterr().err
    assert files(folder) == []


def test_a_file_that_cannot_be_written_whole_is_not_there(folder: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_new(folder / "mine.py", "\ud800")
    assert files(folder) == []
    (folder / "mine").write_text("", encoding="utf-8")
    with pytest.raises(ModelError, match="Not a directory"):
        write_new(folder / "mine" / "mine.py", "text")
