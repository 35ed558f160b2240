"""The cache of compiled libraries on disk: its folder, its contents, and what is removed from it."""

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
"""Contents of a cache folder: subfolders of libraries, folders of running compilers, and a stamp of the last pruning.
"""

_temporary_directories: list[Path] = []
_owner = type("TemporaryOwner", (), {})()


def persistent_directory() -> Path | str:
    """Return the folder of the persistent cache, created if needed; or the reason why it is not used, as a clause.

    It is ERUGIN_CACHE_DIR, else ``erugin`` in XDG_CACHE_HOME or ~/.cache. A library is code that will be run, so nobody
    else may be able to put one there: the folder belongs to this user and is closed to all others (0700), and nobody
    but this user and root can replace it or a folder above it. This is checked at every call, because it can change.
    Where libraries cannot be run (``noexec``) the folder is of no use.
    """
    chosen, home = os.path.expanduser(os.environ.get("ERUGIN_CACHE_DIR", "")), os.environ.get("XDG_CACHE_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.cache")
    named = chosen or os.path.join(home, "erugin")
    if named.startswith("~") or not (chosen or os.path.isabs(home)):
        return f"{named} requires a home directory, which is unknown; set ERUGIN_CACHE_DIR to a folder"
    try:
        folder = Path(os.path.abspath(named))
        # Links in the path are followed once; the folder that they lead to is then checked.
        folder = folder.parent.resolve() / folder.name
        str(folder).encode()  # CasADi accepts no other paths
        return _unsafe_reason(folder) or folder
    except (OSError, RuntimeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        return f"{named} cannot be used: {reason}"


def temporary_directory() -> Path:
    """Return a folder of this process, private to its owner, created if needed and removed when the process ends.

    Raises:
        OSError: if there is no folder where a file can be written and then run.
    """
    if _temporary_directories and _temporary_directories[-1].is_dir():
        return _temporary_directories[-1]
    candidates = [tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/var/tmp", "/dev/shm"]
    for candidate in filter(os.path.isabs, candidates):
        try:
            if not _is_noexec(Path(candidate)) and has_free_space(Path(candidate)):
                _temporary_directories.append(Path(tempfile.mkdtemp(prefix="erugin-", dir=candidate)).resolve())
                weakref.finalize(_owner, remove_directory, _temporary_directories[-1], os.getpid())
                return _temporary_directories[-1]
        except OSError:
            continue
    raise OSError(
        f"no library can be written and run in any of {', '.join(filter(None, candidates))}; set TMPDIR to a folder "
        "where it can"
    )


LIBRARY_SIZE = 4 * 2**20
"""Size of a large library [bytes]."""


def has_free_space(folder: Path) -> bool:
    """True if a library can be written: the disk is not full, nor read-only, nor a quota used up.

    Args:
        folder: folder to try.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(LIBRARY_SIZE))
    except OSError:
        return False
    return True


def _unsafe_reason(folder: Path) -> str | None:
    """Return the reason why this folder is not used, or None; create it if it does not exist."""
    missing: list[Path] = []
    for above in folder.parents:
        try:
            status = above.lstat()
        except FileNotFoundError:
            missing.append(above)
            continue
        if status.st_uid not in {0, os.geteuid(), os.lstat("/").st_uid}:
            return f"{above} belongs to another user"
        if _others_can_rename(status):
            return f"others can write to {above}"
    for path in (*reversed(missing), folder):
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return f"{folder} is a link" if stat.S_ISLNK(status.st_mode) else f"{folder} is not a folder"
    if status.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if status.st_mode & 0o022:
        return f"others can write to {folder}"
    if _is_noexec(folder):
        return f"{folder} is on a disk where files cannot be run (noexec)"
    if status.st_mode & 0o055:
        # Such as a home directory that was named by mistake: closing it would shut out those who need it.
        if not all(map(_is_ours, os.listdir(folder))):
            return f"others can read {folder}, which holds other files; choose a separate folder"
        folder.chmod(0o700)
    return None


def _others_can_rename(status: os.stat_result) -> bool:
    """True if somebody other than root and this user can replace the contents of a folder."""
    if status.st_mode & stat.S_ISVTX:
        return False
    return bool(status.st_mode & 0o002) or bool(status.st_mode & 0o020 and not is_private_group(status.st_gid))


def is_private_group(group: int) -> bool:
    """True for root's group, or for a user's private group: of the user's name and without other members."""
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
    """Remove the folder, except in a fork of the process that created it, which may still use it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


HOUR, DAY = 3600.0, 86400.0
LONGEST_UNUSED = 90 * DAY
"""A library that has not been used for this long is removed [s]."""
DEFAULT_SIZE_LIMIT = 1024.0
"""Size beyond which the least recently used libraries are removed, unless ERUGIN_CACHE_LIMIT overrides it [MiB]."""


class CachedLibrary(NamedTuple):
    """A library in the cache.

    Attributes:
        path: path of the file.
        size: size of the file [bytes].
        used: time of its last use [s since 1970].
    """

    path: Path
    size: int
    used: float


def size_limit() -> float:
    """Largest total size of the libraries [bytes]; infinite if ERUGIN_CACHE_LIMIT is ``none``.

    Raises:
        ModelError: if ERUGIN_CACHE_LIMIT is not a positive number.
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
    """Yield the libraries in a folder, in no particular order.

    Args:
        folder: folder of :func:`~erugin.symbolic.cache.persistent_directory`.
    """
    for shelf in [folder, *(folder / name for name in directory_entries(folder) if SHARD_NAME.fullmatch(name))]:
        for name in filter(LIBRARY_NAME.fullmatch, directory_entries(shelf)):
            with contextlib.suppress(OSError):
                status = (shelf / name).lstat()
                yield CachedLibrary(shelf / name, status.st_size, status.st_mtime)


def delete_libraries(folder: Path) -> list[CachedLibrary]:
    """Delete all libraries in a folder, and nothing else; processes that have loaded one keep it.

    Args:
        folder: folder of :func:`~erugin.symbolic.cache.persistent_directory`.

    Returns:
        The deleted libraries.

    Raises:
        OSError: if one cannot be deleted.
    """
    found = list(cached_libraries(folder))
    for one in found:
        one.path.unlink(missing_ok=True)
    _remove_leftovers(folder)
    return found


def prune_cache(folder: Path, limit: float) -> None:
    """Remove libraries that were not used for long and, beyond the limit, the least recently used; none of this hour.

    Args:
        folder: folder of :func:`~erugin.symbolic.cache.persistent_directory`; skipped if pruned within the last hour.
        limit: largest total size of the libraries [bytes].
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
    """Remove what killed processes left half-built; no compilation takes a day."""
    for name in directory_entries(folder):
        with contextlib.suppress(OSError):
            if name.startswith(BUILD_PREFIX) and time.time() - (folder / name).lstat().st_mtime > DAY:
                shutil.rmtree(folder / name)


def directory_entries(folder: Path) -> list[str]:
    """Names in a folder; empty if it does not exist.

    Args:
        folder: folder to be listed.
    """
    try:
        return os.listdir(folder)
    except OSError:
        return []


def compiled_library(source: str, compiler: Compiler) -> Path:
    """Return the path of a shared library compiled from ``source``, from the cache or compiled now.

    The name holds a hash of source, flags, compiler and processor, and a hash of the library's own bytes, so that a
    path, by which loaders identify a library, never stands for two. A file whose bytes do not match its name, or that
    belongs to another user, is deleted and compiled again, never loaded. The hash detects damage; it is the folder, see
    :func:`~erugin.symbolic.cache.persistent_directory`, that keeps others out, also between here and the loader.

    A library is written in a separate folder and renamed in one step: processes that compile the same kernel at once
    all succeed, and the remains of a killed one are removed after a day. If the cache is refused, read-only or full, a
    temporary folder serves this process. At most once an hour, after compiling, libraries that were not used for 90
    days are removed, then the least recently used beyond ERUGIN_CACHE_LIMIT (1024 MiB), and nothing that is not ours.

    Args:
        source: C text, or a text that identifies it.
        compiler: the compiler.

    Raises:
        ModelError: if ERUGIN_CACHE_LIMIT is not a positive number.
        OSError: if no folder can be written or the compiler cannot be started.
        subprocess.SubprocessError: if the compiler fails.
    """
    key = compiler.key(source)[:32]
    lasting = persistent_directory()
    if isinstance(lasting, Path):
        found = _find(lasting, key)
        if found is not None:
            return found
        if has_free_space(lasting):
            limit = size_limit()
            made = _build(lasting, key, source, compiler)
            prune_cache(lasting, limit)
            return made
    temporary = temporary_directory()
    return _find(temporary, key) or _build(temporary, key, source, compiler)


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


def _build(folder: Path, key: str, source: str, compiler: Compiler) -> Path:
    with tempfile.TemporaryDirectory(prefix=BUILD_PREFIX, dir=folder, ignore_cleanup_errors=True) as workplace:
        built = Path(workplace) / "kernel.so"
        built.touch()
        compiler.compile(source, built)
        built.chmod(0o600)
        digest = _digest(built)
        if digest is None:
            raise PermissionError(f"others can change what is written to {folder}")
        final = folder / key[:2] / f"{key}-{digest}.so"
        final.parent.mkdir(mode=0o700, exist_ok=True)
        built.replace(final)
    return final


def _digest(file: Path) -> str | None:
    """Hash of the bytes of a file; None if it does not exist, or others can write to it."""
    try:
        # Neither waits for ever on a pipe nor follows a link.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as opened:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                return None
            return hashlib.sha256(opened.read()).hexdigest()[:32]
    except OSError:
        return None
