"""The lists in pyproject.toml, the folders and the version agree with one another."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import re
from pathlib import Path

import erugin

from .project import ROOMS, ROOT, read_pyproject


def find_packages(root: Path) -> dict[str, str]:
    """Package name → folder, for every folder of the rooms that holds a source file."""
    folders = {file.parent for room in ROOMS for file in (root / room).rglob("*.py")}
    parts = {folder: folder.relative_to(root).parts for folder in folders}
    return {
        ".".join(["erugin", *(names[1:] if names[0] == "package" else names)]): "/".join(names)
        for names in parts.values()
    }


def test_lists_of_packages_match_the_folders() -> None:
    folders = find_packages(ROOT)
    setuptools = read_pyproject()["tool"]["setuptools"]
    assert len(folders) > 10
    assert sorted(setuptools["packages"]) == sorted(folders)
    assert setuptools["package-dir"] == folders
    for folder in folders.values():
        assert (ROOT / folder / "__init__.py").is_file(), f"{folder} is not a package"


def test_folder_that_is_missing_from_the_list_is_seen(tmp_path: Path) -> None:
    for path in ("package/__init__.py", "robots/legs/hip.py", "robots/__pycache__/robot.pyc", "docs/conf.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert find_packages(tmp_path) == {"erugin": "package", "erugin.robots.legs": "robots/legs"}


def test_every_package_is_installed() -> None:
    for name in read_pyproject()["tool"]["setuptools"]["packages"]:
        assert importlib.import_module(name).__name__ == name


def test_types_are_shipped() -> None:
    assert importlib.resources.files("erugin").joinpath("py.typed").is_file()
    assert "Typing :: Typed" in read_pyproject()["project"]["classifiers"]


def test_there_is_one_version() -> None:
    version = read_pyproject()["project"]["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?(dev|a|b|rc)\d+)?", version)
    assert erugin.__version__ == importlib.metadata.version("erugin") == version
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [version]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version in re.findall(r"^## \[(.*?)\]", changelog, re.MULTILINE)
