"""The cache of compiled kernels saves compiling, is private, and heals."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from erugin.symbolic.toolchain import find_toolchain

from .processes import build, count_calls, environment, finish, libraries, start, write_script
from .processes import compiler as compiler


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_cache_is_private(tmp_path: Path, compiler: Path, mask: int) -> None:
    cache = tmp_path / "some" / "where"
    before = os.umask(mask)
    try:
        build(cache, 1, ERUGIN_CC=compiler)
    finally:
        os.umask(before)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert len(libraries(cache)) == 1
    assert libraries(cache)[0].stat().st_mode & 0o022 == 0


def test_cache_saves_compiling(tmp_path: Path, compiler: Path) -> None:
    first = build(tmp_path / "cache", 2, ERUGIN_CC=compiler)
    assert count_calls(compiler) == 2
    second = build(tmp_path / "cache", 2, ERUGIN_CC=compiler)
    assert count_calls(compiler) == 2
    assert first == second
    assert first[0] == ["True", "True"]
    # A kernel that is not the same is compiled.
    build(tmp_path / "cache", 3, ERUGIN_CC=compiler)
    assert count_calls(compiler) == 3
    assert len(libraries(tmp_path / "cache")) == 3


def test_cache_serves_one_compiler_only(tmp_path: Path, compiler: Path) -> None:
    build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    build(tmp_path / "cache", 1, ERUGIN_CC=f"{compiler} -DOTHER=1")
    assert count_calls(compiler) == 2
    assert len(libraries(tmp_path / "cache")) == 2


@pytest.mark.parametrize("length", [0, 1000])
def test_truncated_library_is_made_anew(tmp_path: Path, compiler: Path, length: int) -> None:
    whole = build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    (library,) = libraries(tmp_path / "cache")
    good = library.read_bytes()
    assert len(good) > length
    library.write_bytes(good[:length])
    assert build(tmp_path / "cache", 1, ERUGIN_CC=compiler) == whole
    assert count_calls(compiler) == 2
    for again in libraries(tmp_path / "cache"):
        assert again.stat().st_size > length


def test_foreign_library_is_removed(tmp_path: Path, compiler: Path) -> None:
    whole = build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    (library,) = libraries(tmp_path / "cache")
    key, _, digest = library.stem.partition("-")
    # It is a library that could be loaded, of another function; its name claims the right key.
    foreign = library.with_name(f"{key}-{'0' * len(digest)}.so")
    library.unlink()
    source = (
        "int k0(const double** a, double** r, long long* i, double* w, int m) { r[0][0] = r[0][1] = 42; return 0; }"
    )
    toolchain = find_toolchain()
    assert not isinstance(toolchain, str)
    toolchain.compile(source, foreign)
    assert build(tmp_path / "cache", 1, ERUGIN_CC=compiler) == whole
    assert not foreign.exists()
    assert libraries(tmp_path / "cache") == [library]


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_cache_that_others_can_write_to_is_not_used(tmp_path: Path, compiler: Path, mode: int) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "tmp"
    cache.mkdir()
    temporary.mkdir()
    cache.chmod(mode)
    for calls in (1, 2):
        compiled, _, warned = build(cache, 1, ERUGIN_CC=compiler, TMPDIR=temporary)
        assert (compiled, warned) == (["True"], [])
        assert count_calls(compiler) == calls
        assert list(cache.iterdir()) == []
        assert list(temporary.iterdir()) == []


def test_cache_that_cannot_be_made_is_not_used(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    compiled, _, warned = build(tmp_path / "file" / "cache", 1, ERUGIN_CC=compiler, TMPDIR=tmp_path / "tmp")
    assert (compiled, warned) == (["True"], [])
    assert list((tmp_path / "tmp").iterdir()) == []


def test_cache_that_is_a_link_is_not_used(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "cache").symlink_to(tmp_path / "elsewhere")
    compiled, _, _ = build(tmp_path / "cache", 1, ERUGIN_CC=compiler)
    assert compiled == ["True"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_two_processes_compile_one_kernel_at_once(tmp_path: Path, compiler: Path) -> None:
    # Each waits, while it compiles, until the other does too.
    (tmp_path / "met").mkdir()
    wait = f"""
        case " $* " in *-shared*)
            touch '{tmp_path}/met/'$$
            for i in $(seq 600); do [ "$(ls '{tmp_path}/met' | wc -l)" -ge 2 ] && break; sleep 0.1; done;;
        esac
        exec '{compiler}' "$@"
    """
    meeting = write_script(tmp_path / "meeting-cc", wait)
    processes = [start(environment(tmp_path / "cache", ERUGIN_CC=meeting)) for _ in range(2)]
    one, two = [finish(process) for process in processes]
    assert one == two
    assert (one[0], one[2]) == (["True"], [])
    assert count_calls(compiler) == len(list((tmp_path / "met").iterdir())) == 2
    assert 1 <= len(libraries(tmp_path / "cache")) <= 2
    assert build(tmp_path / "cache", 1, ERUGIN_CC=meeting) == one
    assert count_calls(compiler) == 2
