"""Libraries are loaded or there is a reason: what the compiler, the loader or the disk has said, in one clause."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.symbolic import Kernel, ModelError, machine_code
from erugin.symbolic.cache import delete_libraries
from erugin.symbolic.compiler import Compiler, find_compiler, vector_width
from erugin.symbolic.machine_code import load_machine_code

from .kernels import both
from .processes import build, environment, libraries, start, write_script

ANSWER = "int answer(void) { return 42; }\n"


@pytest.fixture
def counted(cache: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The compiler that counts its calls, with a cache of its own."""
    monkeypatch.setattr(machine_code, "find_compiler", lambda: Compiler((str(compiler),), "1.0"))
    return compiler.parent / "calls"


def answer(path: Path) -> int:
    return int(ctypes.CDLL(str(path)).answer())


def test_text_is_written_only_if_there_is_no_library(counted: Path) -> None:
    written: list[str] = []

    def write() -> str:
        written.append(ANSWER)
        return ANSWER

    for identity, times in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
        assert load_machine_code(identity, write, answer, OSError) == 42
        assert len(written) == times
    assert len(counted.read_text(encoding="utf-8").splitlines()) == 2


def test_cache_that_is_cleared_before_the_library_is_loaded(cache: Path, counted: Path) -> None:
    asked: list[Path] = []

    def load(path: Path) -> int:
        asked.append(path)
        if len(asked) == 1:
            delete_libraries(cache)
        return answer(path)

    assert load_machine_code("a", lambda: ANSWER, load, OSError) == 42
    assert len(asked) == 2
    assert len(counted.read_text(encoding="utf-8").splitlines()) == 2
    assert len(libraries(cache)) == 1


def test_library_that_cannot_be_loaded_is_made_twice_and_not_kept(cache: Path, counted: Path) -> None:
    reason = load_machine_code("a", lambda: ANSWER, lambda path: ctypes.CDLL(str(path)).other, AttributeError)
    assert isinstance(reason, str)
    assert reason.startswith(f"what {counted.parent / 'counting-cc'} made cannot be loaded: undefined symbol: other")
    assert len(counted.read_text(encoding="utf-8").splitlines()) == 2
    assert libraries(cache) == []


def test_other_errors_are_not_hidden(cache: Path, counted: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        load_machine_code("a", lambda: ANSWER, lambda path: 1 // 0, OSError)


def test_library_that_can_be_neither_loaded_nor_removed(
    cache: Path, counted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "read-only", str(path))

    def load(path: Path) -> int:
        monkeypatch.setattr(Path, "unlink", refuse)
        raise OSError(f"{path}: file too short")

    reason = load_machine_code("a", lambda: ANSWER, load, OSError)
    monkeypatch.undo()
    assert isinstance(reason, str)
    assert reason.endswith("cannot be loaded: file too short")


@pytest.mark.parametrize("flags", ["-fnonsense", "-c", "-march=x86-64 -lnosuchlibrary", "-DT=struct", "'"])
@pytest.mark.compiled
def test_flags_that_cannot_work_are_told(tmp_path: Path, flags: str) -> None:
    compiled, _, (warned,) = build(tmp_path / "cache", ERUGIN_CFLAGS=flags)
    assert compiled == ["False"]
    told = {"-fnonsense": "-fnonsense", "-c": "cannot be loaded: ", "'": 'ERUGIN_CFLAGS is "\'": No closing quotation'}
    assert told.get(flags, "error" if "=struct" in flags else "nosuchlibrary") in warned
    assert len(warned) < 500
    assert libraries(tmp_path / "cache") == []


@pytest.mark.compiled
def test_flags_come_last_and_have_libraries_of_their_own(tmp_path: Path, compiler: Path) -> None:
    plain, values, _ = build(tmp_path / "cache", 2, ERUGIN_CC=compiler)
    flagged, same, _ = build(tmp_path / "cache", 2, ERUGIN_CC=compiler, ERUGIN_CFLAGS="-O1 '-DWORD=two words'")
    assert (plain, flagged, values) == (["True"] * 2, ["True"] * 2, same)
    assert len(libraries(tmp_path / "cache")) == 4
    calls = [line for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines() if "-shared" in line]
    assert [line.find("-O1") > line.find("-O3") >= 0 for line in calls] == [False, False, True, True]
    assert all("-DWORD=two words" in line for line in calls[2:])


def test_words_are_part_of_the_key() -> None:
    plain = Compiler(("cc",), "1.0")
    keys = {
        one.key("text")
        for one in (
            *(plain, Compiler(("cc", "-O1"), "1.0"), Compiler(("cc",), "1.0", ("-O1",))),
            *(Compiler(("cc",), "1.1"), Compiler(("cc",), "1.0", ("-O1", "-g")), Compiler(("gcc",), "1.0")),
        )
    }
    assert len(keys) == 6
    assert plain.writing(lambda: ANSWER).key("text") == plain.key("text") != plain.key("text ")


@pytest.fixture
def lanes() -> Iterator[None]:
    """The width of vectors, asked for anew before and after."""
    vector_width.cache_clear()
    yield
    vector_width.cache_clear()


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("text", ["1", " 2 ", "4", "8"])
def test_number_of_lanes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERUGIN_LANES", text)
    assert vector_width() == int(text)


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("text", ["0", "3", "16", "-1", "2.0", "x", "auto", "0x4", "４"])
def test_number_of_lanes_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERUGIN_LANES", text)
    x = ca.SX.sym("x")
    for _ in range(2):
        with pytest.raises(ModelError, match=f"ERUGIN_LANES must be 1, 2, 4 or 8, got '{text}'"):
            Kernel("wide", {"x": x}, {"y": x + 1})
    assert not Kernel("wide", {"x": x}, {"y": x + 1}, compiled=False).compiled


NAMES = ['a"b', "back\\slash", "??/", "new\nline", "%s", "é", "*/", "", "tab\t1", "{}", "a b", "0"]


@both
def test_names_of_inputs_and_outputs_may_be_anything(compiled: bool) -> None:
    symbols = {name: ca.SX.sym("x") for name in NAMES}
    kernel = Kernel("named", symbols, {name: i * x for i, (name, x) in enumerate(symbols.items())}, compiled=compiled)
    assert (list(kernel.inputs), list(kernel.outputs)) == (NAMES, NAMES)
    assert kernel.function.name_in() == [f"i_{name}" for name in NAMES]
    assert kernel.function.name_out() == [f"o_{name}" for name in NAMES]
    values = kernel(*np.arange(12.0))
    np.testing.assert_array_equal(values, np.arange(12.0) ** 2)


FOREIGN = """
import sys, warnings
import casadi as ca
from erugin.symbolic import Kernel, ModelError
warnings.simplefilter("error")
x, y = ca.SX.sym("x"), ca.SX.sym("elsewhere")
for compiled in (None, True, False):
    for attempt in range(2):
        try:
            Kernel("foreign", {"x": x}, {"z": x * y}, compiled=compiled)
        except ModelError as error:
            print(error)
"""


def test_symbol_from_elsewhere_is_told_as_such_and_not_as_a_missing_compiler(tmp_path: Path) -> None:
    process = start(environment(tmp_path), 1, FOREIGN)
    output, errors = process.communicate(timeout=60.0)
    assert errors == ""
    assert len(output.splitlines()) == 6
    assert set(output.splitlines()) == {"output 'z' of kernel 'foreign' uses elsewhere, not among its inputs ['x']"}


def test_compiler_is_asked_in_any_language(tmp_path: Path) -> None:
    script = write_script(
        tmp_path / "cc",
        'printf "\\377\\376 cc 1.0\\n"; [ "$1" = --version ] || { printf "\\377 error: no\\n" >&2; exit 1; }',
    )
    compiled, _, (warned,) = build(tmp_path / "cache", ERUGIN_CC=script)
    assert compiled == ["False"]
    assert "error: no" in warned


def test_toolchain_here_has_a_version() -> None:
    toolchain = find_compiler()
    assert isinstance(toolchain, str) or (toolchain.version and Path(toolchain.command[0]).is_absolute())
