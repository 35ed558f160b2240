"""The folders of the project and its settings."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    "package",
    "symbolic",
    "constraints",
    "robots",
    "controllers",
    "simulation",
    "views",
    "scenarios",
    "bridges",
    "cli",
)


@functools.cache
def read_pyproject() -> dict[str, Any]:
    """The settings of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
