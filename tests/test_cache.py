"""The cache of compiled kernels saves compiling, is private, and heals."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from erugin.symbolic.compiler import find_compiler

from .caches import make_old
from .processes import build, count_calls, environment, finish, libraries, start, write_script

HOUR, DAY = 3600.0, 86400.0


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
    toolchain = find_compiler()
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


@pytest.mark.parametrize("number", [2, 8])
def test_processes_compile_one_kernel_at_once(tmp_path: Path, compiler: Path, number: int) -> None:
    # Each waits, while it compiles, until all others do too.
    (tmp_path / "met").mkdir()
    wait = f"""
        case " $* " in *-shared*)
            touch '{tmp_path}/met/'$$
            for i in $(seq 600); do [ "$(ls '{tmp_path}/met' | wc -l)" -ge {number} ] && break; sleep 0.1; done;;
        esac
        exec '{compiler}' "$@"
    """
    meeting = write_script(tmp_path / "meeting-cc", wait)
    processes = [start(environment(tmp_path / "cache", ERUGIN_CC=meeting)) for _ in range(number)]
    one, *others = [finish(process) for process in processes]
    assert others == [one] * (number - 1)
    assert (one[0], one[2]) == (["True"], [])
    assert count_calls(compiler) == len(list((tmp_path / "met").iterdir())) == number
    assert 1 <= len(libraries(tmp_path / "cache")) <= number
    assert build(tmp_path / "cache", 1, ERUGIN_CC=meeting) == one
    assert count_calls(compiler) == number


def test_process_killed_while_it_compiles(tmp_path: Path, compiler: Path) -> None:
    whole = build(tmp_path / "other", 1, ERUGIN_CC=compiler)
    # At first it writes half a library and then waits, until it is killed with who started it.
    half = f"""
        case " $* " in *-shared*)
            for word; do [ "$before" = -o ] && target=$word; before=$word; done
            if [ ! -e '{tmp_path}/half' ]; then
                head -c 1000 '{libraries(tmp_path / "other")[0]}' > "$target"
                touch '{tmp_path}/half'
                sleep 600
            fi;;
        esac
        exec '{compiler}' "$@"
    """
    variables = environment(tmp_path / "cache", ERUGIN_CC=write_script(tmp_path / "half-cc", half))
    process = start(variables, session=True)
    for _ in range(1200):
        if (tmp_path / "half").exists():
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    (left,) = (tmp_path / "cache").glob("building-*")
    assert (left / "kernel.so").stat().st_size == 1000
    assert finish(start(variables)) == whole
    # It stays, as if somebody were still at it, and goes when a kernel is compiled after a day.
    assert left.exists()
    make_old(left, 1.1 * DAY)
    make_old(tmp_path / "cache" / "swept", 1.1 * HOUR)
    finish(start(variables, 2))
    assert len(libraries(tmp_path / "cache")) == 2
