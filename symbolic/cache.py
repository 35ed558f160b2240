"""The cache of compiled libraries on disk: where it lies, what it holds, and what is removed from it."""

from __future__ import annotations

import contextlib
import grp
import hashlib
import os
import pwd
import re
import shutil
import stat
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .compiler import Compiler
from .errors import ModelError

SHARD_NAME = re.compile(r"[0-9a-f]{2}")
LIBRARY_NAME = re.compile(r"[0-9a-f]{32}-[0-9a-f]{32}\.so")
BUILD_PREFIX = "building-"
PRUNE_STAMP = "swept"
"""What a folder of kernels holds: shelves of libraries, folders of compilers at work, and when it was last swept."""

_temporary_directories: list[Path] = []
_owner = type("TemporaryOwner", (), {})()


def persistent_directory() -> Path | str:
    """The folder that serves from run to run, made if need be; or why there is none, as a clause.

    It is ERUGIN_CACHE_DIR, else ``erugin`` in XDG_CACHE_HOME or ~/.cache. A library is code that will be run, so nobody
    else may be able to put one there: the folder belongs to this user and is closed to all others (0700), and nobody
    but this user and root can exchange it or a folder that it lies in. It is looked at each time, because what was so
    once need not stay so. Where libraries cannot be run (``noexec``) there is no use in keeping any.
    """
    chosen, home = os.path.expanduser(os.environ.get("ERUGIN_CACHE_DIR", "")), os.environ.get("XDG_CACHE_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.cache")
    named = chosen or os.path.join(home, "erugin")
    if named.startswith("~") or not (chosen or os.path.isabs(home)):
        return f"{named} needs a home directory that is not known; name a folder by ERUGIN_CACHE_DIR"
    try:
        folder = Path(os.path.abspath(named))
        # Links on the way are followed once; what is there is then checked, whatever way has led to it.
        folder = folder.parent.resolve() / folder.name
        str(folder).encode()  # CasADi takes no other paths
        return _unsafe_reason(folder) or folder
    except (OSError, RuntimeError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        return f"{named} cannot be used: {said}"


def temporary_directory() -> Path:
    """A folder of this process, for its owner alone, made if need be and removed when the process ends.

    Raises:
        OSError: if nowhere a file can be written and then be run.
    """
    if _temporary_directories and _temporary_directories[-1].is_dir():
        return _temporary_directories[-1]
    places = [tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/var/tmp", "/dev/shm"]
    for place in filter(os.path.isabs, places):
        try:
            if not _is_noexec(Path(place)) and has_free_space(Path(place)):
                _temporary_directories.append(Path(tempfile.mkdtemp(prefix="erugin-", dir=place)).resolve())
                weakref.finalize(_owner, remove_directory, _temporary_directories[-1], os.getpid())
                return _temporary_directories[-1]
        except OSError:
            continue
    raise OSError(f"in none of {', '.join(filter(None, places))} can a library be written and run; set TMPDIR")


def has_free_space(folder: Path, size: int = 4 * 2**20) -> bool:
    """Whether a file of this size can be written: the disk is not full, nor read-only, nor a quota used up.

    Args:
        folder: where to try.
        size: of the file [bytes].
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(size))
    except OSError:
        return False
    return True


def _unsafe_reason(folder: Path) -> str | None:
    """Why this folder is not used; makes it if it is not there."""
    missing: list[Path] = []
    for above in folder.parents:
        try:
            status = above.lstat()
        except FileNotFoundError:
            missing.append(above)
            continue
        if status.st_uid not in {0, os.geteuid(), os.lstat("/").st_uid}:
            return f"{above} belongs to somebody else"
        if _others_can_rename(status):
            return f"others can write to {above}"
    for path in (*reversed(missing), folder):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is a link" if stat.S_ISLNK(status.st_mode) else f"{folder} is not a folder"
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to somebody else"
    if status.st_mode & 0o022:
        return f"others can write to {folder}"
    if _is_noexec(folder):
        return f"{folder} lies where files cannot be run (noexec)"
    if status.st_mode & 0o055:
        # Such as a home that was named by mistake: closing it would shut out who has business there.
        if not all(map(_is_ours, os.listdir(folder))):
            return f"others can read {folder}, which holds other files; name a folder of its own"
        folder.chmod(0o700)
    return None


def _others_can_rename(status: os.stat_result) -> bool:
    """Whether somebody but root and this user can exchange what lies in a folder."""
    if status.st_mode & stat.S_ISVTX:
        return False
    return bool(status.st_mode & 0o002) or bool(status.st_mode & 0o020 and not is_private_group(status.st_gid))


def is_private_group(group: int) -> bool:
    """Whether it is root's, or one that many systems give each user: of his name and without other members."""
    if group == 0:
        return True
    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return (user.pw_gid, user.pw_name) == (group, entry.gr_name) and set(entry.gr_mem) <= {user.pw_name}


def _is_ours(name: str) -> bool:
    return (
        name == PRUNE_STAMP
        or name.startswith(BUILD_PREFIX)
        or bool(SHARD_NAME.fullmatch(name) or LIBRARY_NAME.fullmatch(name))
    )


def _is_noexec(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0))


def remove_directory(folder: Path, process: int) -> None:
    """Remove the folder, but not from a fork of the process that made it and may still use it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


HOUR, DAY = 3600.0, 86400.0
LONGEST_UNUSED = 90 * DAY
"""A library goes that has not been used for so long [s]."""
DEFAULT_SIZE_LIMIT = 1024.0
"""Least recently used libraries go beyond so much, unless ERUGIN_CACHE_LIMIT says otherwise [MiB]."""


class CachedLibrary(NamedTuple):
    """A library in the cache.

    Attributes:
        path: of the file.
        size: of the file [bytes].
        used: when it was last asked for [s since 1970].
    """

    path: Path
    size: int
    used: float


def size_limit() -> float:
    """Greatest size of all libraries together [bytes]; infinite if ERUGIN_CACHE_LIMIT is ``none``.

    Raises:
        ModelError: if ERUGIN_CACHE_LIMIT is no positive number.
    """
    text = os.environ.get("ERUGIN_CACHE_LIMIT", "").strip()
    try:
        limit = float(text or DEFAULT_SIZE_LIMIT) if text.lower() != "none" else float("inf")
    except ValueError:
        limit = 0.0
    if not limit > 0.0:
        raise ModelError(f"ERUGIN_CACHE_LIMIT must be a size in MiB above zero, or none, got {text!r}")
    return limit * 2**20


def cached_libraries(folder: Path) -> Iterator[CachedLibrary]:
    """The libraries in a folder, in no order.

    Args:
        folder: of :func:`~erugin.symbolic.cache.persistent_directory`.
    """
    for shelf in [folder, *(folder / name for name in directory_entries(folder) if SHARD_NAME.fullmatch(name))]:
        for name in filter(LIBRARY_NAME.fullmatch, directory_entries(shelf)):
            with contextlib.suppress(OSError):
                status = (shelf / name).lstat()
                yield CachedLibrary(shelf / name, status.st_size, status.st_mtime)


def delete_libraries(folder: Path) -> list[CachedLibrary]:
    """Delete all libraries in a folder, and nothing else; processes that have loaded one keep it.

    Args:
        folder: of :func:`~erugin.symbolic.cache.persistent_directory`.

    Returns:
        What has been deleted.

    Raises:
        OSError: if one cannot be deleted.
    """
    found = list(cached_libraries(folder))
    for one in found:
        one.path.unlink(missing_ok=True)
    _remove_leftovers(folder)
    return found


def prune_cache(folder: Path, limit: float) -> None:
    """Remove what was not used for long, and beyond the limit what was used least recently, but not in this hour.

    Args:
        folder: of :func:`~erugin.symbolic.cache.persistent_directory`; one that was swept in this hour is left alone.
        limit: of all libraries together [bytes].
    """
    stamp, now = folder / PRUNE_STAMP, time.time()
    with contextlib.suppress(OSError):
        if stamp.exists() and abs(now - stamp.stat().st_mtime) < HOUR:
            return
        stamp.touch()
        _remove_leftovers(folder)
        total = 0
        for one in sorted(cached_libraries(folder), key=lambda one: one.used, reverse=True):
            total += one.size
            if now - one.used > LONGEST_UNUSED or (total > limit and now - one.used > HOUR):
                one.path.unlink(missing_ok=True)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left half-built; nothing takes a day to compile."""
    for name in directory_entries(folder):
        with contextlib.suppress(OSError):
            if name.startswith(BUILD_PREFIX) and time.time() - (folder / name).lstat().st_mtime > DAY:
                shutil.rmtree(folder / name)


def directory_entries(folder: Path) -> list[str]:
    """What a folder holds; nothing if it is not there.

    Args:
        folder: to be listed.
    """
    try:
        return os.listdir(folder)
    except OSError:
        return []


def compiled_library(source: str, toolchain: Compiler) -> Path:
    """Path of a shared library compiled from ``source``, from the cache or made now.

    The name holds a hash of source, flags, compiler and processor, and a hash of the library's own bytes, so that a
    path, by which loaders know a library again, never stands for two. A file whose bytes do not match its name, or that
    belongs to somebody else, is deleted and made anew, never loaded. The hash finds damage; it is the folder, see
    :func:`~erugin.symbolic.cache.persistent_directory`, that keeps others out, also between here and the loader.

    A library is written in a folder of its own and renamed in one step: processes that compile the same kernel at once
    all succeed, and what one leaves that is killed is removed after a day. Where the cache is refused, read-only or
    full, a temporary folder serves this process. Once an hour at most, after compiling, what has not been used for 90
    days is removed, then the least recently used beyond ERUGIN_CACHE_LIMIT (1024 MiB), and nothing that is not ours.

    Args:
        source: what is compiled, or tells it from anything else.
        toolchain: the compiler.

    Raises:
        ModelError: if ERUGIN_CACHE_LIMIT is no positive number.
        OSError: if no folder can be written or the compiler not started.
        subprocess.SubprocessError: if the compiler fails.
    """
    key = toolchain.key(source)[:32]
    lasting = persistent_directory()
    if isinstance(lasting, Path):
        found = _find(lasting, key)
        if found is not None:
            return found
        if has_free_space(lasting):
            limit = size_limit()
            made = _build(lasting, key, source, toolchain)
            prune_cache(lasting, limit)
            return made
    temporary = temporary_directory()
    return _find(temporary, key) or _build(temporary, key, source, toolchain)


def _find(folder: Path, key: str) -> Path | None:
    shelf = folder / key[:2]
    for name in directory_entries(shelf):
        if not name.startswith(f"{key}-") or not LIBRARY_NAME.fullmatch(name):
            continue
        file = shelf / name
        if _digest(file) == file.stem.partition("-")[2]:
            with contextlib.suppress(OSError):
                os.utime(file)
            return file
        with contextlib.suppress(OSError):
            file.unlink()
    return None


def _build(folder: Path, key: str, source: str, toolchain: Compiler) -> Path:
    with tempfile.TemporaryDirectory(prefix=BUILD_PREFIX, dir=folder, ignore_cleanup_errors=True) as place:
        built = Path(place) / "kernel.so"
        built.touch()
        toolchain.compile(source, built)
        built.chmod(0o600)
        digest = _digest(built)
        if digest is None:
            raise PermissionError(f"others can change what is written to {folder}")
        final = folder / key[:2] / f"{key}-{digest}.so"
        final.parent.mkdir(mode=0o700, exist_ok=True)
        built.replace(final)
    return final


def _digest(file: Path) -> str | None:
    """Hash of the bytes of a file; None if it is none, or not ours alone to write."""
    try:
        # Not to wait for ever on a pipe, nor to follow a link.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return None
            return hashlib.sha256(opened.read()).hexdigest()[:32]
    except OSError:
        return None
