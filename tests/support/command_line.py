"""The command line in this process, on a wide page."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from erugin.cli.main import main

NAME = "two-link-arm-moving-obstacle"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wide page, so that no sentence is broken; what ``main`` does to warnings ends with the test."""
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


def run(out: Path, *words: str) -> int:
    """Exit code of a run."""
    return main(["run", NAME, "--out", str(out), *words])


def files(folder: Path) -> list[str]:
    """Names of everything in a folder, hidden files too."""
    return sorted(file.name for file in folder.iterdir())
