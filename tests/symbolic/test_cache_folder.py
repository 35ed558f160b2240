"""Location of the cache, and deletions when it grows."""

from __future__ import annotations

import grp
import math
import os
import pwd
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from erugin.symbolic import ModelError
from erugin.symbolic import cache as cache_folder
from erugin.symbolic.cache import (
    cached_libraries,
    compiled_library,
    delete_libraries,
    persistent_directory,
    prune_cache,
    size_limit,
)
from erugin.symbolic.compiler import Compiler

from ..support.caches import fill, make_old
from ..support.processes import count_calls

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


@pytest.fixture(autouse=True)
def name_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | Path], None]:
    """Sets ERUGIN_CACHE_DIR; at first nothing is set, and home is empty."""
    monkeypatch.delenv("ERUGIN_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return lambda path: monkeypatch.setenv("ERUGIN_CACHE_DIR", str(path))


def refusal() -> str:
    """Why there is no folder."""
    found = persistent_directory()
    assert isinstance(found, str)
    return found


# Which folder --------------------------------------------------------------------------------------------------------


def test_standard_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert persistent_directory() == tmp_path / "home" / ".cache" / "erugin"
    assert (tmp_path / "home" / ".cache").stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert persistent_directory() == tmp_path / "xdg" / "erugin"
    # The standard says that a path that is not absolute is to be ignored.
    monkeypatch.setenv("XDG_CACHE_HOME", "xdg")
    assert persistent_directory() == tmp_path / "home" / ".cache" / "erugin"


def test_named_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name_folder: Callable[[str | Path], None]
) -> None:
    name_folder("~/kernels")
    assert persistent_directory() == tmp_path / "home" / "kernels"
    monkeypatch.chdir(tmp_path)
    name_folder("here/../there/kernels")
    assert persistent_directory() == tmp_path / "there" / "kernels"
    (tmp_path / "link").symlink_to("there")
    name_folder("link/kernels")
    assert persistent_directory() == tmp_path / "there" / "kernels"
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("home", [None, "somewhere"])
def test_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None) -> None:
    def unknown(_: int) -> pwd.struct_passwd:
        raise KeyError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert refusal().endswith("requires a home directory, which is unknown; set ERUGIN_CACHE_DIR to a folder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a" * 300, "File name too long"),
        ("file/cache", "Not a directory"),
        ("file", "is not a folder"),
        ("\udcff", "surrogates not allowed"),
    ],
)
def test_impossible_places(tmp_path: Path, name_folder: Callable[[str | Path], None], name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    name_folder(tmp_path / name)
    assert reason in refusal()


# Who else could write there ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o757])
def test_folder_above_that_all_can_write_to(
    tmp_path: Path, name_folder: Callable[[str | Path], None], mode: int
) -> None:
    above = tmp_path / "above"
    (above / "between").mkdir(parents=True)
    name_folder(above / "between" / "cache")
    above.chmod(mode)
    assert refusal() == f"others can write to {above}"
    assert list((above / "between").iterdir()) == []
    # In a sticky folder, such as /tmp, only its owner can rename what lies there.
    above.chmod(mode | 0o1000)
    assert persistent_directory() == above / "between" / "cache"


@needs_root
def test_folder_above_that_a_group_can_write_to(tmp_path: Path, name_folder: Callable[[str | Path], None]) -> None:
    name_folder(tmp_path / "above" / "cache")
    (tmp_path / "above").mkdir()
    os.chown(tmp_path / "above", 0, NOBODY)
    (tmp_path / "above").chmod(0o775)
    assert refusal() == f"others can write to {tmp_path / 'above'}"
    os.chown(tmp_path / "above", 0, 0)
    assert persistent_directory() == tmp_path / "above" / "cache"


@pytest.mark.parametrize(
    ("name", "members", "gid", "private"),
    [
        ("ada", [], 1234, True),
        ("ada", ["ada"], 1234, True),
        ("ada", ["ada", "bob"], 1234, False),
        ("staff", [], 1234, False),
        ("ada", [], 1235, False),
    ],
)
def test_private_groups(
    monkeypatch: pytest.MonkeyPatch, name: str, members: list[str], gid: int, private: bool
) -> None:
    user = pwd.struct_passwd(("ada", "x", 1234, 1234, "", "/", "/bin/sh"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    monkeypatch.setattr(grp, "getgrgid", lambda number: grp.struct_group((name, "x", number, members)))
    assert cache_folder.is_private_group(gid) == private


@needs_root
@pytest.mark.parametrize("whose", ["cache", "above"])
def test_folders_of_somebody_else(tmp_path: Path, name_folder: Callable[[str | Path], None], whose: str) -> None:
    cache = tmp_path / "above" / "cache"
    cache.mkdir(mode=0o700, parents=True)
    name_folder(cache)
    assert persistent_directory() == cache
    os.chown({"cache": cache, "above": cache.parent}[whose], NOBODY, 0)
    assert refusal().endswith(f"{whose} belongs to another user")


def test_folder_that_others_can_read_is_closed(tmp_path: Path, name_folder: Callable[[str | Path], None]) -> None:
    cache = tmp_path / "cache"
    (cache / "ab").mkdir(parents=True)
    cache.chmod(0o755)
    name_folder(cache)
    assert persistent_directory() == cache
    assert cache.stat().st_mode & 0o777 == 0o700


def test_folder_of_other_things_is_left_as_it_is(tmp_path: Path, name_folder: Callable[[str | Path], None]) -> None:
    (tmp_path / "home" / "public_html").mkdir(parents=True)
    (tmp_path / "home").chmod(0o755)
    name_folder(tmp_path / "home")
    assert "which holds other files; choose a separate folder" in refusal()
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o755


MEBI = 2**20
HOUR, DAY = 3600.0, 86400.0


def left(paths: list[Path]) -> list[bool]:
    return [path.exists() for path in paths]


def test_stored_lists_size_and_last_use(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 10 * DAY, 0.0)
    found = sorted(cached_libraries(cache), key=lambda one: one.used)
    assert [(one.path, one.size) for one in found] == [(path, 1000) for path in paths]
    assert found[1].used - found[0].used == pytest.approx(10 * DAY, abs=60.0)
    # To ask for one is to use it.
    compiled_library("0 ".ljust(1000), copier)
    assert min(one.used for one in cached_libraries(cache)) > time.time() - 60.0


def test_least_recently_used_goes_beyond_the_limit(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 5 * HOUR, 2 * HOUR, 4 * HOUR, 3 * HOUR)
    (cache / "swept").unlink()
    prune_cache(cache, 2500.0)
    assert left(paths) == [False, True, False, True]


def test_what_was_used_in_this_hour_stays(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 0.9 * HOUR, 2 * HOUR, 0.0)
    (cache / "swept").unlink()
    prune_cache(cache, 10.0)
    assert left(paths) == [True, False, True]


def test_what_is_long_unused_goes(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 91 * DAY, 89 * DAY)
    (cache / "swept").unlink()
    prune_cache(cache, math.inf)
    assert left(paths) == [False, True]


def test_sweeping_is_once_an_hour_and_after_compiling(
    cache: Path, copier: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", "0.0015")
    (path,) = fill(copier, 2 * HOUR)
    compiled_library("another".ljust(1000), copier)
    assert path.exists(), "it was swept when the first was compiled"
    for seconds in (0.9 * HOUR, 1.1 * HOUR):
        assert path.exists()
        make_old(cache / "swept", seconds)
        compiled_library(f"after {seconds}".ljust(1000), copier)
    assert not path.exists()
    assert len(list(cached_libraries(cache))) == 3


def others(cache: Path) -> list[Path]:
    """Files that are not ours, or may be at work."""
    zero = "0" * 32
    names = [f"zz/{zero}-{zero}.so", f"ab/{'G' * 32}-{zero}.so", "ab/readme", "ab/kernel.so", "notes.txt"]
    names += ["building-now/kernel.so", "building-1/x.o", "building-2/y.o"]
    for name in names:
        (cache / name).parent.mkdir(exist_ok=True)
        (cache / name).write_text("mine", encoding="utf-8")
        make_old(cache / name, 1000 * DAY)
    for i in (1, 2):
        make_old(cache / f"building-{i}", 1.1 * DAY)
    return [cache / name for name in names]


@pytest.mark.parametrize("clearing", [False, True])
def test_what_is_not_ours_stays(cache: Path, copier: Compiler, clearing: bool) -> None:
    paths, foreign = fill(copier, 91 * DAY, 0.0), others(cache)
    (cache / "swept").unlink()
    if clearing:
        gone = delete_libraries(cache)
        assert {one.path for one in gone} == set(paths)
        assert sum(one.size for one in gone) == 2000
    else:
        prune_cache(cache, math.inf)
    assert left(paths) == [False, not clearing]
    # Only what was left half-built a day ago.
    assert left(foreign) == [True] * 6 + [False] * 2
    assert list(cache.glob("building-*")) == [cache / "building-now"]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(("text", "size"), [("", 1024 * MEBI), ("2.5", 2.5 * MEBI), (" None ", math.inf)])
def test_limit(monkeypatch: pytest.MonkeyPatch, text: str, size: float) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", text)
    assert size_limit() == size


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", "1 GiB"])
def test_an_invalid_limit_is_refused(
    tmp_path: Path, copier: Compiler, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", text)
    with pytest.raises(ModelError, match=f"above zero, or none, got {text!r}"):
        compiled_library("text", copier)
    assert count_calls(tmp_path / "copier") == 0
