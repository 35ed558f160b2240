"""Compiled kernels on disk: a private folder, libraries named by what made them and by what is in them."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path

from .toolchain import Toolchain

DAY = 86400.0

_temporary_owner = type("TemporaryOwner", (), {})()


def library(source: str, toolchain: Toolchain) -> Path:
    """Path of a shared library compiled from ``source``, from the cache or made now.

    The name holds a hash of source, flags, compiler and processor, and a hash of the library's own bytes. A file whose
    bytes do not match its name (truncated, or put there by somebody else) is deleted and made anew, never loaded.
    A library is written beside its final name and renamed in one step: two processes that compile the same kernel at
    once both succeed, and the loader never sees a path whose contents change.

    Raises:
        OSError: if the folder cannot be written or the compiler not started.
        subprocess.SubprocessError: if the compiler fails.
    """
    folder = cache_folder()
    key = toolchain.key(source)[:32]
    for found in folder.glob(f"{key}-*.so"):
        try:
            if found.stem.partition("-")[2] == _digest(found):
                return found
        except FileNotFoundError:
            # Another process found it damaged too, and was faster.
            continue
        found.unlink(missing_ok=True)
    _sweep(folder)
    handle, name = tempfile.mkstemp(prefix="building-", suffix=".so", dir=folder)
    os.close(handle)
    built = Path(name)
    try:
        toolchain.compile(source, built)
        final = folder / f"{key}-{_digest(built)}.so"
        built.replace(final)
    finally:
        built.unlink(missing_ok=True)
    return final


@functools.cache
def cache_folder() -> Path:
    """The folder for compiled kernels, readable by its owner alone.

    It is ERUGIN_CACHE_DIR, else ``erugin`` in XDG_CACHE_HOME or ~/.cache. If that cannot be made, or belongs to or can
    be written by somebody else, a temporary folder serves this process and is removed at its end.
    """
    chosen = os.environ.get("ERUGIN_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(chosen) if chosen else Path(home) / "erugin"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
        if ours and os.access(folder, os.W_OK | os.X_OK):
            folder.chmod(0o700)
            return folder.resolve()
    except OSError:
        pass
    temporary = Path(tempfile.mkdtemp(prefix="erugin-"))
    weakref.finalize(_temporary_owner, shutil.rmtree, temporary, ignore_errors=True)
    return temporary


def _sweep(folder: Path) -> None:
    """Remove what killed processes left half-built; nothing takes a day to compile."""
    for left in folder.glob("building-*.so"):
        try:
            if time.time() - left.stat().st_mtime > DAY:
                left.unlink(missing_ok=True)
        except FileNotFoundError:
            continue


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:32]
