"""Compiled kernels on disk: libraries named by what made them and by what is in them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from .cache_contents import names, size_limit, sweep
from .cache_folder import BUILDING, LIBRARY, has_room, lasting_folder, temporary_folder
from .toolchain import Toolchain


def library(source: str, toolchain: Toolchain) -> Path:
    """Path of a shared library compiled from ``source``, from the cache or made now.

    The name holds a hash of source, flags, compiler and processor, and a hash of the library's own bytes, so that a
    path, by which loaders know a library again, never stands for two. A file whose bytes do not match its name, or that
    belongs to somebody else, is deleted and made anew, never loaded. The hash finds damage; it is the folder, see
    :func:`~erugin.symbolic.cache_folder.lasting_folder`, that keeps others out, also between here and the loader.

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
    lasting = lasting_folder()
    if isinstance(lasting, Path):
        found = _find(lasting, key)
        if found is not None:
            return found
        if has_room(lasting):
            limit = size_limit()
            made = _build(lasting, key, source, toolchain)
            sweep(lasting, limit)
            return made
    temporary = temporary_folder()
    return _find(temporary, key) or _build(temporary, key, source, toolchain)


def _find(folder: Path, key: str) -> Path | None:
    shelf = folder / key[:2]
    for name in names(shelf):
        if not name.startswith(f"{key}-") or not LIBRARY.fullmatch(name):
            continue
        file = shelf / name
        if _digest(file) == file.stem.partition("-")[2]:
            with contextlib.suppress(OSError):
                os.utime(file)
            return file
        with contextlib.suppress(OSError):
            file.unlink()
    return None


def _build(folder: Path, key: str, source: str, toolchain: Toolchain) -> Path:
    with tempfile.TemporaryDirectory(prefix=BUILDING, dir=folder, ignore_cleanup_errors=True) as place:
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
