"""The cache of compiled kernels: private, repaired when damaged, replaced by a temporary folder where unusable."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from erugin.symbolic import cache as cache_folder
from erugin.symbolic.cache import compiled_library, has_free_space, persistent_directory, temporary_directory
from erugin.symbolic.compiler import Compiler, find_compiler

from ..support.caches import make_old
from ..support.processes import PROGRAM, build, count_calls, environment, finish, libraries, start, write_script

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
def test_a_truncated_library_is_compiled_again(tmp_path: Path, compiler: Path, length: int) -> None:
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


def test_the_name_contains_hashes_of_source_and_content(cache: Path, copier: Compiler, tmp_path: Path) -> None:
    path = compiled_library("text", copier)
    key, digest = copier.key("text")[:32], hashlib.sha256(b"text").hexdigest()[:32]
    assert path == cache / key[:2] / f"{key}-{digest}.so"
    assert compiled_library("text", copier) == path
    assert count_calls(tmp_path / "copier") == 1


def damage(path: Path) -> None:
    """One bit is another."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def link(path: Path) -> None:
    """A link to a file that holds what it should."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path: Path) -> None:
    """A reader that opens it waits for a writer."""
    path.unlink()
    os.mkfifo(path, 0o600)


def give_away(path: Path) -> None:
    """It belongs to somebody else."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to somebody else")
    os.chown(path, 65534, 65534)


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    "spoil",
    [damage, link, pipe, give_away, lambda path: path.chmod(0o602), lambda path: path.chmod(0o620), Path.unlink],
    ids=["damaged", "link", "pipe", "foreign", "of all", "of a group", "gone"],
)
def test_a_library_that_is_damaged_or_not_ours_is_compiled_again(
    copier: Compiler, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    path = compiled_library("text", copier)
    spoil(path)
    assert compiled_library("text", copier) == path
    assert count_calls(tmp_path / "copier") == 2
    status = path.lstat()
    assert (status.st_uid, status.st_mode) == (os.geteuid(), 0o100600)
    assert path.read_bytes() == b"text"


@pytest.mark.usefixtures("cache")
def test_changed_library_has_another_path(copier: Compiler, tmp_path: Path) -> None:
    with (tmp_path / "copier").open("a", encoding="utf-8") as script:
        script.write(f"grep -c . '{tmp_path}/calls' >> \"$target\"\n")
    first = compiled_library("text", copier)
    damage(first)
    second = compiled_library("text", copier)
    assert second != first
    assert not first.exists()
    assert second.read_bytes() == b"text2\n"


def test_folder_may_go_at_any_time(cache: Path, copier: Compiler, tmp_path: Path) -> None:
    path = compiled_library("text", copier)
    path.unlink()
    path.parent.rmdir()
    (cache / "swept").unlink()
    cache.rmdir()
    assert compiled_library("text", copier) == path
    assert cache.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No temporary folder has been made, and one that is made goes."""
    made: list[Path] = []
    monkeypatch.setattr(cache_folder, "_temporary_directories", made)
    yield
    for path in made:
        cache_folder.remove_directory(path, os.getpid())


def no_programs(monkeypatch: pytest.MonkeyPatch, *places: Path) -> None:
    """Makes the system say that nothing can be run below these places."""

    def refuse(folder: Path) -> bool:
        return any(folder.is_relative_to(place) for place in places)

    monkeypatch.setattr(cache_folder, "_is_noexec", refuse)


def test_folder_without_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_programs(monkeypatch, tmp_path)
    monkeypatch.setenv("ERUGIN_CACHE_DIR", str(tmp_path / "cache"))
    refusal = persistent_directory()
    assert isinstance(refusal, str)
    assert refusal.endswith("is on a disk where files cannot be run (noexec)")


@pytest.mark.usefixtures("fresh")
def test_temporary_folder_is_private_and_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "first"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "second"))
    no_programs(monkeypatch, tmp_path / "first")
    made = temporary_directory()
    assert made.parent == tmp_path / "second"
    assert made.stat().st_mode & 0o777 == 0o700
    assert temporary_directory() == made
    # Something that tidies up may take it away.
    made.rmdir()
    again = temporary_directory()
    assert again != made
    assert again.is_dir()


@pytest.mark.usefixtures("fresh")
def test_no_temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    no_programs(monkeypatch, Path("/"))
    with pytest.raises(OSError, match="no library can be written and run in any of"):
        temporary_directory()


def test_room(tmp_path: Path) -> None:
    assert has_free_space(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not has_free_space(tmp_path / "nowhere")


FORKED = (
    PROGRAM.replace("import casadi as ca", "import os\nimport casadi as ca")
    + """
before = os.listdir(os.environ["TMPDIR"])
sys.stdout.flush()
if os.fork():
    os.wait()
    print(len(before), os.listdir(os.environ["TMPDIR"]) == before)
"""
)


def test_fork_leaves_the_temporary_folder_alone(tmp_path: Path, compiler: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    variables = environment(tmp_path / "file" / "cache", ERUGIN_CC=compiler, TMPDIR=tmp_path / "tmp")
    compiled, _, message = finish(start(variables, 1, FORKED))
    assert (compiled, message) == (["True"], ["1 True"])
    assert list((tmp_path / "tmp").iterdir()) == []


MOUNTED = """
mount -t tmpfs -o '{options}' tmpfs '{cache}' || exit 77
'{python}' "$@"
code=$?
find '{cache}' -mindepth 1 >&2
exit $code
"""


@pytest.mark.parametrize("options", ["noexec,mode=700", "ro,mode=700", "size=300k,mode=700"])
def test_disk_that_is_of_no_use(tmp_path: Path, compiler: Path, options: str) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "tmp"
    cache.mkdir()
    temporary.mkdir()
    variables = environment(cache, ERUGIN_CC=compiler, TMPDIR=temporary)
    script = write_script(tmp_path / "mounted", MOUNTED.format(options=options, cache=cache, python=sys.executable))
    whole = finish(start(variables))
    words = ["unshare", "--mount", "--map-root-user", str(script), "-P", "-c", PROGRAM, "1"]
    try:
        done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False, timeout=120.0)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if done.returncode in {1, 77} and "Traceback" not in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    compiled, values, *warned = done.stdout.splitlines()
    assert (compiled.split(), values.split(), warned) == whole
    assert done.stderr == "", "nothing is written there"
    assert list(temporary.iterdir()) == []
    assert len(libraries(cache)) == 1, "what was mounted is gone"
    assert build(cache, ERUGIN_CC=compiler) == whole
