"""An FMU as a file: an archive whose bytes depend on nothing but its contents."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ...scenarios.whole_file import write_whole

DATE = (1980, 1, 1, 0, 0, 0)
"""Of all files: the first that an archive can have."""


def token_of(texts: Mapping[str, str]) -> str:
    """A name that two FMUs share only if they are the same, as a GUID.

    Args:
        texts: all that they are made of, by name.
    """
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        for part in (name, text):
            content = part.encode()
            digest.update(len(content).to_bytes(8, "little") + content)
    word = digest.hexdigest()
    return "{" + "-".join((word[:8], word[8:12], word[12:16], word[16:20], word[20:32])) + "}"


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive, whole or not at all.

    Args:
        path: of the archive; a file that is there gives way.
        files: contents by path.

    Raises:
        OSError: if it cannot be written.
    """

    def write(target: Path) -> None:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(files.items()):
                entry = zipfile.ZipInfo(name, DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
                # By which an archive tells where it was made; always the same here.
                entry.create_system = 3
                archive.writestr(entry, content)

    write_whole(path, write)
