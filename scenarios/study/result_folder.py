"""The folder of a study's results: its lock, its manifest, one file per task.

:func:`write_atomically` is safe even if the power fails; :func:`seal` makes later changes of a file detectable.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import socket
import zlib
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ...symbolic.errors import StudyError

FORMAT = 1
"""Version of the format; it changes when older results cannot be read or reproduced any more."""
MANIFEST, TASKS, WRITING, TIMINGS, LOCK = "manifest.json", "tasks", "writing", "timings.jsonl", "lock"
ASIDE = "set-aside"
"""Folder of damaged and foreign files that were moved out of the folder of tasks."""
SHELF = 1000
"""Number of tasks whose files share a folder."""


_MARK, _DIGITS = b"sha256:", 64
BLANK = f"{_MARK.decode()}{'0' * _DIGITS}"
"""Placeholder for the digest of :func:`seal`: it must follow any other text that starts with the same mark."""


class Folder:
    """The folder of a study's results."""

    def __init__(self, path: Path | str) -> None:
        """Store the path; nothing is read or written yet.

        Args:
            path: path of the folder.
        """
        self.path = Path(path)
        self.moved: list[str] = []
        """Files that were set aside, a sentence for each."""

    def file(self, task: int) -> Path:
        """Return the path of the results of a task.

        Args:
            task: index of the task.
        """
        return self.path / TASKS / f"{task // SHELF:06d}" / f"{task:09d}.parquet"

    def has(self, task: int) -> bool:
        """Return True if the file of a task exists.

        Args:
            task: index of the task.
        """
        return self.file(task).exists()

    def write(self, task: int, data: bytes) -> None:
        """Write the results of a task.

        Args:
            task: index of the task.
            data: content of the file.

        Raises:
            StudyError: if the file cannot be written; no partial file remains.
        """
        write_atomically(self.file(task), data, self.path / WRITING)

    def note(self, line: Mapping[str, object]) -> None:
        """Append a line to the log of times and workers; losing it does not affect results.

        Args:
            line: values, by name.
        """
        with contextlib.suppress(OSError), (self.path / TIMINGS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "crc32": _checksum(line)}) + "\n")

    def notes(self) -> Iterator[Mapping[str, Any]]:
        """Yield the lines of the log, without truncated or damaged ones."""
        try:
            lines = (self.path / TIMINGS).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        for text in lines:
            try:
                line = cast(dict[str, Any], json.loads(text))
                if line.pop("crc32") == _checksum(line):
                    yield line
            except (ValueError, LookupError, TypeError, AttributeError):
                continue

    def read(self, task: int) -> bytes:
        """Read the file of a task.

        Args:
            task: index of the task.

        Raises:
            OSError: if it cannot be read.
        """
        return self.file(task).read_bytes()

    def foreign_files(self, tasks: int) -> Iterator[Path]:
        """Yield files in the folder of tasks that do not belong to any task.

        Args:
            tasks: number of tasks.
        """
        for file in sorted(file for file in (self.path / TASKS).rglob("*") if not file.is_dir()):
            number = int(file.stem) if file.stem.isdecimal() and file.stem.isascii() else tasks
            if number >= tasks or file != self.file(number):
                yield file

    def set_aside(self, file: Path, why: str) -> None:
        """Move a file to the folder of files set aside, and log the reason.

        Args:
            file: a file of the folder.
            why: the reason, as a sentence without its subject, the file.

        Raises:
            StudyError: if it cannot be moved.
        """
        aside, number = self.path / ASIDE, 0
        while (target := aside / (f"{file.name}.{number}" if number else file.name)).exists():
            number += 1
        try:
            make_folder(aside)
            os.replace(file, target)
        except OSError as error:
            raise StudyError(f"cannot move {str(file)!r} to {str(target)!r}: {error.strerror or error}") from error
        self.moved.append(f"{str(file)!r} {why}: moved to {str(target)!r}")
        self.note({"set_aside": str(file.relative_to(self.path)), "to": target.name, "why": why})

    def manifest(self) -> dict[str, Any]:
        """Read the manifest.

        Raises:
            StudyError: if it is missing, unreadable, of another version, or damaged.
        """
        file = self.path / MANIFEST
        try:
            data = file.read_bytes()
            content = json.loads(data)
        except FileNotFoundError as error:
            why = "it has no manifest.json" if self.path.is_dir() else "there is no such folder"
            raise StudyError(f"{str(self.path)!r} does not contain results of a study: {why}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise StudyError(f"cannot read {str(file)!r}: {error}") from error
        manifest = cast(dict[str, Any], content) if isinstance(content, dict) else {}
        version = manifest.get("format")
        if version != FORMAT:
            raise StudyError(f"{str(file)!r} has format {version!r}, but this version of Erugin reads format {FORMAT}")
        if not is_sealed(data):
            raise StudyError(
                f"{str(file)!r} is damaged, or was edited: its content does not match its digest. Run the study with "
                "resume=True, or --resume, which writes it again"
            )
        return manifest

    @contextlib.contextmanager
    def begin(self, manifest: Mapping[str, object], *, resume: bool) -> Generator[dict[str, Any]]:
        """Lock the folder for this process, and write the manifest if there is none.

        A missing or damaged manifest is written again if there are intact results of the same study.

        Args:
            manifest: manifest of the study; ``hash`` identifies its results.
            resume: True if the folder may contain results of the same study.

        Yields:
            The manifest in the folder.

        Raises:
            StudyError: if the folder cannot be written, is used by another process, contains other files, or contains
                results although ``resume`` is False.
        """
        self._require_ours(str(manifest["hash"]) if resume else None)
        try:
            make_folder(self.path)
            lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StudyError(f"cannot write to the folder {str(self.path)!r}: {error.strerror or error}") from error
        try:
            self._lock(lock)
            whole = self._require_ours(str(manifest["hash"]) if resume else None)
            writing = self.path / WRITING
            try:
                # Files in it belong to a process that was killed while writing; the lock excludes all others.
                shutil.rmtree(writing, ignore_errors=True)
                writing.mkdir(exist_ok=True)
            except OSError as error:
                raise StudyError(f"cannot write to the folder {str(self.path)!r}: {error.strerror or error}") from error
            if whole:
                yield self._same(manifest, resume)
            else:
                if (self.path / MANIFEST).exists():
                    self.set_aside(self.path / MANIFEST, "is damaged, and was written again")
                text = json.dumps({**manifest, "digest": BLANK}, indent=2, ensure_ascii=False) + "\n"
                write_atomically(self.path / MANIFEST, seal(text.encode()), writing)
                yield self.manifest()
        finally:
            # Closing releases the lock, as does any end of the process.
            os.close(lock)

    def _require_ours(self, identity: str | None) -> bool:
        """Return True if the manifest is readable; raises StudyError if the folder does not belong to a study.

        If the manifest is missing or damaged, an intact file with this hash of a study identifies the folder.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise StudyError(f"{str(self.path)!r} is a file: give a folder for the results")
            names = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set[str]()
        except OSError as error:
            raise StudyError(f"cannot read the folder {str(self.path)!r}: {error.strerror or error}") from error
        if MANIFEST in names:
            try:
                self.manifest()
            except StudyError:
                # Other programs use this file name, too.
                if identity is None or not self._holds(identity):
                    raise
                return False
            return True
        if names - {LOCK, WRITING} and (identity is None or not self._holds(identity)):
            raise StudyError(f"{str(self.path)!r} contains files that are not results of a study: give an empty folder")
        return False

    def _holds(self, identity: str) -> bool:
        """Return True if the file of any task is intact and belongs to the study with this hash."""
        for file in (self.path / TASKS).glob("*/*.parquet"):
            with contextlib.suppress(OSError):
                data = file.read_bytes()
                if identity.encode() in data and is_sealed(data):
                    return True
        return False

    def _lock(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, 200, 0).decode(errors="replace").strip()
            raise StudyError(
                f"another process is writing to {str(self.path)!r} ({holder or 'unknown'}): wait for it, or give "
                "another folder"
            ) from error
        except OSError as error:
            raise StudyError(f"cannot lock {str(self.path / LOCK)!r}: {error.strerror or error}") from error
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)

    def _same(self, manifest: Mapping[str, object], resume: bool) -> dict[str, Any]:
        stored = self.manifest()
        if stored["hash"] != manifest["hash"]:
            differ = [
                key
                for key in ("name", "scenario", "factors", "controllers", "seeds", "varied", "metrics")
                if stored.get(key) != json.loads(json.dumps(manifest[key]))
            ]
            why = f"it differs in {', '.join(differ)}" if differ else "the code of its scenario or controllers differs"
            raise StudyError(
                f"{str(self.path)!r} contains results of another study, {stored.get('name')!r}: {why}. Results are "
                "never overwritten: give another folder"
            )
        if not resume:
            raise StudyError(
                f"{str(self.path)!r} already contains results of this study: continue with resume=True, or --resume, "
                "or give another folder"
            )
        return stored


def _checksum(line: Mapping[str, object]) -> int:
    return zlib.crc32(json.dumps(line).encode())


def seal(data: bytes) -> bytes:
    """Return a file with its digest written into its :data:`BLANK`.

    Args:
        data: content of the file.

    Raises:
        ValueError: if the last ``sha256:`` of the file is not that of :data:`BLANK`.
    """
    place = data.rfind(_MARK)
    if place != data.rfind(BLANK.encode()):
        raise ValueError("a file without a blank cannot be sealed")
    return data[:place] + _MARK + hashlib.sha256(data).hexdigest().encode() + data[place + len(BLANK) :]


def is_sealed(data: bytes) -> bool:
    """True if a file is exactly what :func:`seal` returned.

    Args:
        data: content of the file.
    """
    place = data.rfind(_MARK)
    end = place + len(BLANK)
    blank = data[:place] + BLANK.encode() + data[end:]
    return place >= 0 and data[place + len(_MARK) : end] == hashlib.sha256(blank).hexdigest().encode()


def write_atomically(target: Path, data: bytes, place: Path) -> None:
    """Write a file so that at any instant it exists completely or not at all.

    Args:
        target: path of the file; its folder is created if missing.
        data: content of the file.
        place: an existing folder of the same file system for the temporary file.

    Raises:
        StudyError: if the disk is full or the folder cannot be written; nothing is left behind.
    """
    temporary: Path | None = None
    try:
        make_folder(target.parent)
        name = place / f"{secrets.token_hex(8)}.part"
        # The user's umask decides who may read it, as for any file.
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        temporary = name
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, target)
        temporary = None
        _sync_folder(target.parent)
    except OSError as error:
        raise StudyError(f"cannot write {str(target)!r}: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def make_folder(path: Path) -> None:
    """Create a folder and its parents, so that they survive a power failure.

    Args:
        path: path of the folder, which may exist.

    Raises:
        OSError: if it cannot be created.
    """
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # Some network file systems cannot sync, and some folders may be written but not read; the file itself is safe.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
