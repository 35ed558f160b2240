"""A cache of its own, and a compiler whose libraries are copies of the source."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from erugin.symbolic.cache import compiled_library
from erugin.symbolic.compiler import Compiler

from .processes import write_script

COPY = """
echo "$@" >> '{calls}'
for word; do [ "$before" = -o ] && target=$word; before=$word; done
cat > "$target"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is not there yet."""
    monkeypatch.setenv("ERUGIN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ERUGIN_CACHE_LIMIT", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def copier(tmp_path: Path) -> Compiler:
    """A compiler that copies, and writes down each of its calls as that of the fixture ``compiler`` does."""
    return Compiler((str(write_script(tmp_path / "copier", COPY.format(calls=tmp_path / "calls"))),), "1.0")


def make_old(path: Path, age: float) -> None:
    """Let it seem as if it was last used so long ago [s]."""
    then = time.time() - age
    os.utime(path, (then, then))


def fill(copier: Compiler, *ages: float) -> list[Path]:
    """Libraries of 1000 bytes that were last used so long ago [s]."""
    paths = [compiled_library(f"{i} ".ljust(1000), copier) for i, _ in enumerate(ages)]
    for path, age in zip(paths, ages, strict=True):
        make_old(path, age)
    return paths
