"""Folders that are written whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ...symbolic.errors import BridgeError


def write_folder(folder: Path, files: Mapping[str, str], *, overwrite: bool) -> None:
    """Write files into a new folder beside ``folder``, and rename that.

    Args:
        folder: to be made; its parent must be there.
        files: text by name.
        overwrite: whether a folder that holds files of these names and nothing else gives way.

    Raises:
        BridgeError: if there is a folder that does not give way, or a file of that name, or no parent.
        OSError: if it cannot be written; then nothing has changed.
    """
    target = folder.resolve()
    if not target.parent.is_dir():
        raise BridgeError(f"there is no folder {str(target.parent)!r} to write {target.name!r} into: make it first")
    held = _held(target)
    foreign = [name for name in held if name not in files]
    if foreign:
        raise BridgeError(
            f"{str(folder)!r} holds {', '.join(map(repr, foreign[:3]))}{', …' * (len(foreign) > 3)}, which is none of "
            "the files to be written, so it is not replaced: give a folder of its own"
        )
    if held and not overwrite:
        raise BridgeError(f"{str(folder)!r} is not empty: give another folder, or replace it by overwrite=True")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
        room = Path(name)
        new, old = room / "new", room / "old"
        new.mkdir(mode=0o755)
        for file, text in files.items():
            (new / file).write_text(text, encoding="utf-8", newline="\n")
        if held:
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if held:
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _held(target: Path) -> list[str]:
    if target.exists() and not target.is_dir():
        raise BridgeError(f"{str(target)!r} is a file: give a folder")
    return sorted(entry.name for entry in target.iterdir()) if target.is_dir() else []
