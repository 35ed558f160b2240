"""``erugin cache`` shows what is compiled and clears it, and says what is not as it should be."""

from __future__ import annotations

import importlib.metadata
import re
import time
from pathlib import Path
from typing import NoReturn

import pytest

from erugin.cli.commands import cache as cache_command
from erugin.cli.main import main
from erugin.symbolic.cache import compiled_library
from erugin.symbolic.compiler import Compiler, find_compiler

from ..support.caches import fill, make_old
from ..support.python_code import run_python

pytestmark = [pytest.mark.usefixtures("terminal"), pytest.mark.usefixtures("cache")]

DAY = 86400.0


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, str]:
    """The table that ``erugin cache`` prints."""
    assert main(["cache", *words]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    return dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in output.splitlines())


def test_empty_cache(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    rows = shown(capsys)
    assert (rows["folder"], rows["kernels"]) == (str(cache), "0")
    assert rows["size"] == "0 MiB, the limit is 1024 MiB"
    assert rows.keys() <= {"folder", "kernels", "size", "compiler"}


@pytest.mark.parametrize("words", [(), ("show",)])
def test_what_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, copier: Compiler, words: tuple[str, ...]
) -> None:
    fill(copier, 30 * DAY, 10 * DAY, 20 * DAY)
    make_old(compiled_library("x" * 2**20, copier), 15 * DAY)
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", "none")
    rows = shown(capsys, *words)
    assert rows["kernels"] == "4"
    assert rows["size"] == "1.003 MiB, no limit"
    days = [time.strftime("%Y-%m-%d", time.localtime(time.time() - age * DAY)) for age in (10, 30)]
    assert re.fullmatch(rf"{days[0]} \d\d:\d\d, the oldest {days[1]} \d\d:\d\d", rows["last used"])


def test_compiler(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    toolchain = find_compiler()
    if isinstance(toolchain, Compiler):
        assert shown(capsys)["compiler"] == f"{' '.join(toolchain.command)}, {toolchain.version}"
    monkeypatch.setattr(cache_command, "find_compiler", lambda: "no C compiler was found")
    message = shown(capsys)["compiler"]
    assert message == "none: no C compiler was found; kernels run in CasADi's virtual machine"


def test_folder_that_is_refused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "[bold]open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("ERUGIN_CACHE_DIR", str(folder))
    rows = shown(capsys)
    assert rows["folder"] == f"none: others can write to {folder}; each process compiles its kernels again"
    assert rows.keys() == {"folder", "compiler"}
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"there is no cache to clear: others can write to {folder}\n"


def test_no_room(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(cache_command, "has_free_space", lambda folder: folder != cache)
    assert shown(capsys)["room"].startswith("none, the folder is full or read-only")


def test_clearing(capsys: pytest.CaptureFixture[str], cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 1.0, 2.0)
    (cache / "notes.txt").write_text("mine", encoding="utf-8")
    for message in ("2 kernels deleted, 0.001907 MiB", "0 kernels deleted, 0 MiB"):
        assert main(["cache", "clear"]) == 0
        assert capsys.readouterr() == (f"{cache}: {message}\n", "")
        assert not any(path.exists() for path in paths)
    assert (cache / "notes.txt").exists()
    assert shown(capsys)["kernels"] == "0"


def test_what_cannot_be_deleted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, copier: Compiler
) -> None:
    (path,) = fill(copier, 1.0)

    def refuse(file: Path, **_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert main(["cache", "clear"]) == 2
    assert capsys.readouterr().err == f"error: cannot delete {path}: Permission denied\n"


def test_an_invalid_limit_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", "much")
    assert main(["cache"]) == 2
    assert "ERUGIN_CACHE_LIMIT must be a size in MiB above zero, or none, got 'much'" in capsys.readouterr().err


def test_unknown_action(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cache", "clean"])
    assert ended.value.code == 2
    assert "invalid choice: 'clean'" in capsys.readouterr().err


@pytest.mark.slow
def test_no_picture_is_needed() -> None:
    code = "import sys; from erugin.cli.main import main; main(['cache']); print('matplotlib' in sys.modules)"
    assert run_python(code).splitlines()[-1] == "False"
    assert importlib.metadata.version("matplotlib")
