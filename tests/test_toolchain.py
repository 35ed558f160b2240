"""With and without a C compiler, whatever it does, kernels work and at most one warning is given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from .processes import PROGRAM, build, environment, libraries, start, values_here, write_script


@pytest.mark.parametrize("word", ["none", " None "])
def test_without_a_compiler_there_is_one_warning(tmp_path: Path, word: str) -> None:
    compiled, values, warned = build(tmp_path / "cache", 5, ERUGIN_CC=word)
    assert compiled == ["False"] * 5
    assert values == values_here(5)
    assert len(warned) == 1
    assert warned[0].startswith("True kernels run in CasADi's virtual machine")
    assert "compiler" in warned[0]
    assert not (tmp_path / "cache").exists()


@pytest.mark.compiled
def test_with_a_compiler_there_is_no_warning(tmp_path: Path) -> None:
    compiled, values, warned = build(tmp_path / "cache", 3)
    assert compiled == ["True"] * 3
    np.testing.assert_allclose([*map(float.fromhex, values)], [*map(float.fromhex, values_here(3))], rtol=1e-15)
    assert warned == []
    assert len(libraries(tmp_path / "cache")) == 3


def test_compiler_that_does_not_exist(tmp_path: Path) -> None:
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC="/nonexistent/cc")
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert "/nonexistent/cc" in warned[0]


@pytest.mark.parametrize("text", ["exit 1", "echo 'out of order' >&2; exit 1"])
def test_compiler_that_always_fails(tmp_path: Path, text: str) -> None:
    script = write_script(tmp_path / "broken-cc", text)
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC=script)
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert str(script) in warned[0]


def test_compiler_that_cannot_compile(tmp_path: Path) -> None:
    text = 'if [ "$1" = --version ]; then echo 1.0; exit 0; fi\ncat > /dev/null; echo "disk on fire" >&2; exit 1'
    script = write_script(tmp_path / "broken-cc", text)
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC=script)
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert f"{script} failed: disk on fire" in warned[0]
    assert libraries(tmp_path / "cache") == []


def test_compiler_that_makes_rubbish(tmp_path: Path) -> None:
    script = write_script(tmp_path / "rubbish-cc", "cat > /dev/null; echo 1.0; exit 0")
    compiled, values, warned = build(tmp_path / "cache", 1, ERUGIN_CC=script)
    assert (compiled, values) == (["False"], values_here(1))
    assert len(warned) == 1
    assert str(script) in warned[0]
    assert len(warned[0]) < 500, "the reason is a sentence, not a page"


def test_words_for_a_compiler_that_cannot_be_split(tmp_path: Path) -> None:
    compiled, _, warned = build(tmp_path / "cache", 1, ERUGIN_CC="cc '")
    assert compiled == ["False"]
    assert len(warned) == 1


@pytest.mark.compiled
def test_compiler_may_have_words(tmp_path: Path, compiler: Path) -> None:
    compiled, _, warned = build(tmp_path / "cache", 1, ERUGIN_CC=f"'{compiler}' -DWORDS=1")
    assert (compiled, warned) == (["True"], [])
    assert "-DWORDS=1" in (tmp_path / "calls").read_text(encoding="utf-8")


INSISTENT = PROGRAM.replace("x[1]})", "x[1]}, compiled=True)")


def test_insisting_on_machine_code_without_a_compiler(tmp_path: Path) -> None:
    assert INSISTENT != PROGRAM
    process = start(environment(tmp_path / "cache", ERUGIN_CC="none"), 1, INSISTENT)
    _, errors = process.communicate(timeout=120.0)
    assert process.returncode == 1
    assert "ModelError: kernel 'k0' cannot be compiled: no C compiler" in errors.splitlines()[-1]
