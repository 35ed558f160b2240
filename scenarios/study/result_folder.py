"""The folder of a study's results: its lock, its manifest, one file per task."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import socket
import zlib
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ...simulation.storage.atomic_file import BLANK, is_sealed, make_folder, seal, write_atomically
from ...symbolic.errors import StudyError

FORMAT = 1
"""Version of what is in the folder; it changes when older results would not be read, or would not be computed again."""
MANIFEST, TASKS, WRITING, TIMINGS, LOCK = "manifest.json", "tasks", "writing", "timings.jsonl", "lock"
ASIDE = "set-aside"
"""Damaged and foreign files that stood in the way of results."""
SHELF = 1000
"""Tasks whose files share a folder."""


class Folder:
    """Where a study's results are."""

    def __init__(self, path: Path | str) -> None:
        """Name it; nothing is read or written yet.

        Args:
            path: of the folder.
        """
        self.path = Path(path)
        self.moved: list[str] = []
        """What was set aside, each a sentence."""

    def file(self, task: int) -> Path:
        """Where the results of a task are, or will be.

        Args:
            task: its number.
        """
        return self.path / TASKS / f"{task // SHELF:06d}" / f"{task:09d}.parquet"

    def has(self, task: int) -> bool:
        """Whether a task is done.

        Args:
            task: its number.
        """
        return self.file(task).exists()

    def write(self, task: int, data: bytes) -> None:
        """Keep the results of a task.

        Args:
            task: its number.
            data: of the file.

        Raises:
            StudyError: if it cannot be written; nothing of it is left behind.
        """
        write_atomically(self.file(task), data, self.path / WRITING)

    def note(self, line: Mapping[str, object]) -> None:
        """Add a line to what is known of times and workers; what is lost of it changes no result.

        Args:
            line: names and values.
        """
        with contextlib.suppress(OSError), (self.path / TIMINGS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, "crc32": _checksum(line)}) + "\n")

    def notes(self) -> Iterator[Mapping[str, Any]]:
        """The lines of :meth:`note`, without those that are cut off or damaged."""
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
        """The file of a task.

        Args:
            task: its number.

        Raises:
            OSError: if it cannot be read.
        """
        return self.file(task).read_bytes()

    def strangers(self, tasks: int) -> Iterator[Path]:
        """Files in the folder of the tasks that belong to none of them.

        Args:
            tasks: how many there are.
        """
        for file in sorted(file for file in (self.path / TASKS).rglob("*") if not file.is_dir()):
            number = int(file.stem) if file.stem.isdecimal() and file.stem.isascii() else tasks
            if number >= tasks or file != self.file(number):
                yield file

    def set_aside(self, file: Path, why: str) -> None:
        """Move a file out of the way, and write down why.

        Args:
            file: of the folder.
            why: the end of a sentence that begins with the file.

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
        self.moved.append(f"{str(file)!r} {why}: it is {str(target)!r} now")
        self.note({"set_aside": str(file.relative_to(self.path)), "to": target.name, "why": why})

    def manifest(self) -> dict[str, Any]:
        """What is written of the study.

        Raises:
            StudyError: if there is none, it cannot be read, it is of another version, or it is damaged.
        """
        file = self.path / MANIFEST
        try:
            data = file.read_bytes()
            found = json.loads(data)
        except FileNotFoundError as error:
            why = "it has no manifest.json" if self.path.is_dir() else "there is no such folder"
            raise StudyError(f"{str(self.path)!r} holds no results of a study: {why}") from error
        except (OSError, ValueError, RecursionError) as error:
            raise StudyError(f"cannot read {str(file)!r}: {error}") from error
        manifest = cast(dict[str, Any], found) if isinstance(found, dict) else {}
        version = manifest.get("format")
        if version != FORMAT:
            raise StudyError(
                f"{str(file)!r} is of format {version!r}, and this version of Erugin reads format {FORMAT}"
            )
        if not is_sealed(data):
            raise StudyError(
                f"{str(file)!r} is damaged, or was edited: its content does not have the digest that was written with "
                "it. Run the study again with resume=True, or --resume: it is written again"
            )
        return manifest

    @contextlib.contextmanager
    def begin(self, manifest: Mapping[str, object], *, resume: bool) -> Generator[dict[str, Any]]:
        """Take the folder for this process, and write the manifest if there is none.

        A manifest that is lost or damaged is written again beside intact results of the same study.

        Args:
            manifest: of the study; what makes up its results is told by ``hash``.
            resume: whether there may be results of the same study.

        Yields:
            The manifest that is in the folder.

        Raises:
            StudyError: if it cannot be written, another process uses it, it holds something else, or results are there
                and ``resume`` was not said.
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
                # Whoever left something there was killed while writing: nobody else writes now.
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
            # Closing lets the lock go; so does the end of the process, whatever ends it.
            os.close(lock)

    def _require_ours(self, identity: str | None) -> bool:
        """Leave alone what is no folder of results; whether it has a manifest that can be read.

        Where the manifest is lost or damaged, an intact file of the study of this hash tells whose folder it is.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise StudyError(f"{str(self.path)!r} is a file: name a folder for the results")
            names = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set[str]()
        except OSError as error:
            raise StudyError(f"cannot read the folder {str(self.path)!r}: {error.strerror or error}") from error
        if MANIFEST in names:
            try:
                self.manifest()
            except StudyError:
                # Others have files of this name too.
                if identity is None or not self._holds(identity):
                    raise
                return False
            return True
        if names - {LOCK, WRITING} and (identity is None or not self._holds(identity)):
            raise StudyError(f"{str(self.path)!r} holds files that are no results of a study: name an empty folder")
        return False

    def _holds(self, identity: str) -> bool:
        """Whether any task's file is intact and of a study."""
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
                f"another process is writing to {str(self.path)!r} ({holder or 'unknown'}): wait for it, or name "
                "another folder"
            ) from error
        except OSError as error:
            raise StudyError(f"cannot lock {str(self.path / LOCK)!r}: {error.strerror or error}") from error
        with contextlib.suppress(OSError):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)

    def _same(self, manifest: Mapping[str, object], resume: bool) -> dict[str, Any]:
        found = self.manifest()
        if found["hash"] != manifest["hash"]:
            differ = [
                key
                for key in ("name", "scenario", "factors", "controllers", "seeds", "varied", "metrics")
                if found.get(key) != json.loads(json.dumps(manifest[key]))
            ]
            what = f"it differs in {', '.join(differ)}" if differ else "the code of its scenario or controllers differs"
            raise StudyError(
                f"{str(self.path)!r} holds results of another study, {found.get('name')!r}: {what}. They are never "
                "overwritten: name another folder"
            )
        if not resume:
            raise StudyError(
                f"{str(self.path)!r} already holds results of this study: go on with them by resume=True, or --resume, "
                "or name another folder"
            )
        return found


def _checksum(line: Mapping[str, object]) -> int:
    return zlib.crc32(json.dumps(line).encode())
