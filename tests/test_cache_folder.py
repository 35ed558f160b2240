"""The cache is only where nobody else can put a library."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from erugin.symbolic import cache as cache_folder
from erugin.symbolic.cache import persistent_directory

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
    assert refusal().endswith("needs a home directory that is not known; name a folder by ERUGIN_CACHE_DIR")
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
    assert refusal().endswith(f"{whose} belongs to somebody else")


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
    assert "which holds other files; name a folder of its own" in refusal()
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o755
