"""Where the cache is of no use, a temporary folder does its work and goes with the process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from erugin.symbolic import cache as cache_folder
from erugin.symbolic.cache import has_free_space, persistent_directory, temporary_directory

from .processes import PROGRAM, build, environment, finish, libraries, start, write_script


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
    assert refusal.endswith("lies where files cannot be run (noexec)")


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
    with pytest.raises(OSError, match="can a library be written and run; set TMPDIR"):
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
    compiled, _, said = finish(start(variables, 1, FORKED))
    assert (compiled, said) == (["True"], ["1 True"])
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
