"""No file holds a path of somebody's machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from .project import ROOT

MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(home|root|srv|opt|work|mnt)/[a-z]", re.MULTILINE)


def list_files(root: Path) -> list[Path]:
    """Files under version control; without Git, as in a source distribution, all but hidden and built ones."""
    if (root / ".git").exists():
        try:
            command = ["git", "-C", str(root), "ls-files", "-z"]
            names = subprocess.run(command, capture_output=True, check=True, timeout=60.0).stdout.decode().split("\0")
            return [root / name for name in names if name and (root / name).is_file()]
        except (OSError, subprocess.SubprocessError):
            pass
    built = re.compile(r"\..*|build|dist|out|__pycache__|.*\.egg-info|PKG-INFO")
    return [
        file
        for file in sorted(root.rglob("*"))
        if file.is_file() and not any(built.fullmatch(part) for part in file.relative_to(root).parts)
    ]


def machine_paths(files: list[Path]) -> list[str]:
    """Places in text files that hold a path of somebody's machine."""
    found: list[str] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for match in MACHINE_PATH.finditer(text):
            found.append(f"{file}:{text.count(chr(10), 0, match.start(2)) + 1}")
    return found


def test_no_paths_of_a_machine() -> None:
    files = list_files(ROOT)
    assert {ROOT / "pyproject.toml", ROOT / "robots" / "robot.py"} <= set(files)
    assert machine_paths(files) == []


def test_paths_of_a_machine_are_caught(tmp_path: Path) -> None:
    roots = ("home", "root", "srv", "opt", "work", "mnt")
    (tmp_path / "bad.txt").write_text("".join(f"\nsee '/{name}/somebody'" for name in roots), encoding="utf-8")
    (tmp_path / "first.txt").write_text("/" + "home/somebody", encoding="utf-8")
    (tmp_path / "good.txt").write_text("https://x.org/" + "home/a, ../" + "work/b, /usr/lib, /home/", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff/" + b"home/somebody")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.txt").write_text("/" + "home/somebody", encoding="utf-8")
    found = [place.removeprefix(f"{tmp_path}/") for place in machine_paths(list_files(tmp_path))]
    assert found == [*(f"bad.txt:{line}" for line in range(2, 8)), "first.txt:1"]
