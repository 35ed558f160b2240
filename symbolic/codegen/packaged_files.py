"""Files of this package as texts, and the hash that distinguishes its releases."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files

PACKAGE = __name__.rpartition(".")[0]


@functools.cache
def generator_hash() -> str:
    """Hash of the code that writes the C text, which distinguishes the text of other releases."""
    own = files(PACKAGE)
    texts = [
        packaged_text(name)
        for name in sorted(entry.name for entry in own.iterdir() if entry.name.endswith((".py", ".h")))
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@functools.cache
def packaged_text(name: str) -> str:
    """Text of a C file that comes with this package.

    Args:
        name: name of the file.
    """
    return files(PACKAGE).joinpath(name).read_text(encoding="utf-8")
