"""What lies in the cache is loaded only if it is whole and ours."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from erugin.symbolic.cache import compiled_library
from erugin.symbolic.compiler import Compiler

from .processes import count_calls

pytestmark = pytest.mark.usefixtures("cache")


def test_name_tells_what_made_it_and_what_is_in_it(cache: Path, copier: Compiler, tmp_path: Path) -> None:
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
    """Who opens it for reading waits for a writer."""
    path.unlink()
    os.mkfifo(path, 0o600)


def give_away(path: Path) -> None:
    """It belongs to somebody else."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to somebody else")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize(
    "spoil",
    [damage, link, pipe, give_away, lambda path: path.chmod(0o602), lambda path: path.chmod(0o620), Path.unlink],
    ids=["damaged", "link", "pipe", "foreign", "of all", "of a group", "gone"],
)
def test_what_is_not_whole_and_ours_is_made_anew(
    copier: Compiler, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    path = compiled_library("text", copier)
    spoil(path)
    assert compiled_library("text", copier) == path
    assert count_calls(tmp_path / "copier") == 2
    status = path.lstat()
    assert (status.st_uid, status.st_mode) == (os.geteuid(), 0o100600)
    assert path.read_bytes() == b"text"


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
