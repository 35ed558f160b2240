"""The lists in pyproject.toml, the folders, the public names and their documents agree with one another."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import importlib.metadata
import importlib.resources
import inspect
import itertools
import re
import subprocess
import textwrap
import tomllib
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import erugin

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("package", "symbolic", "constraints", "robots", "controllers", "scenarios", "bridges")
LONGEST = 300
MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(home|root|srv|opt|work|mnt)/[a-z]", re.MULTILINE)


# The lists ----------------------------------------------------------------------------------------------------------


@functools.cache
def read_pyproject() -> dict[str, Any]:
    """The settings of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


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


# Public names and what is said of them -------------------------------------------------------------------------------


def listed(doc: str, section: str) -> list[str]:
    """Names of a docstring's section ``Args:`` or ``Attributes:``: those at its least indentation."""
    found = re.search(rf"^{section}:\n((?:[ ]+.*\n|\n)*)", inspect.cleandoc(doc) + "\n", re.MULTILINE)
    return re.findall(r"^ {4}\*{0,2}(\w+):", found[1], re.MULTILINE) if found else []


def described(cls: type[Any]) -> list[str]:
    """Names of a class's attributes that have a docstring of their own, below them."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return [
        one.target.id
        for one, two in itertools.pairwise(body)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(two, ast.Expr)
        and isinstance(two.value, ast.Constant)
        and isinstance(two.value.value, str)
    ]


def parameter_names(function: Any) -> list[str]:  # noqa: ANN401 - anything that can be called
    """Names of what a function takes, without ``self`` and ``cls``."""
    return [name for name in inspect.signature(function).parameters if name not in {"self", "cls"}]


def faults_of_function(name: str, function: Any, doc: str | None = None) -> Iterator[str]:  # noqa: ANN401
    """What the docstring leaves out, or says of parameters that are not there."""
    text = doc or function.__doc__
    if not (text or "").strip():
        yield f"{name} has no docstring"
        return
    have, said = parameter_names(function), listed(text, "Args")
    # A short docstring may name its few parameters in a sentence; Args, where they are, must be complete.
    missing = [key for key in have if not (key in said if said else re.search(rf"\b{key}\b", text))]
    if missing:
        yield f"{name} does not document {', '.join(missing)}"
    if strange := [key for key in said if key not in have]:
        yield f"{name} documents {', '.join(strange)}, which it does not take"


def faults_of_class(name: str, cls: type[Any]) -> Iterator[str]:
    """The same for a class: its own docstring, its attributes or constructor, its public methods and properties."""
    text = cls.__doc__ or ""
    if not text.strip() or text.startswith(f"{cls.__name__}("):
        yield f"{name} has no docstring"
        return
    bases: list[type[Any]] = [base for base in cls.__mro__ if base.__module__.startswith(cls.__module__.split(".")[0])]
    attributes = [key for base in bases for key in (*listed(base.__doc__ or "", "Attributes"), *described(base))]
    if dataclasses.is_dataclass(cls):
        fields = [field.name for field in dataclasses.fields(cls)]
        if missing := [field for field in fields if not field.startswith("_") and field not in attributes]:
            yield f"{name} does not document {', '.join(missing)}"
    elif "__init__" in vars(cls) and not issubclass(cls, Enum):
        constructor = vars(cls)["__init__"]
        have = parameter_names(constructor)
        said = listed(constructor.__doc__ or "", "Args") + listed(text, "Args") + attributes
        if missing := [key for key in have if key not in said]:
            yield f"{name}.__init__ does not document {', '.join(missing)}"
        if strange := [key for key in listed(constructor.__doc__ or "", "Args") if key not in have]:
            yield f"{name}.__init__ documents {', '.join(strange)}, which it does not take"
    for key, member in vars(cls).items():
        if key.startswith("_") or isinstance(member, type):
            continue
        if isinstance(member, property | functools.cached_property):
            if not (member.__doc__ or "").strip():
                yield f"{name}.{key} has no docstring"
        elif isinstance(member, classmethod | staticmethod):
            yield from faults_of_function(f"{name}.{key}", getattr(cls, key))
        elif inspect.isfunction(member):
            # An override says what it does differently; the arguments stand where the method is declared.
            above = any(key in vars(base) for base in bases[1:])
            if not above or not (member.__doc__ or "").strip():
                yield from faults_of_function(f"{name}.{key}", member)


def faults_of_name(module: Any, name: str) -> list[str]:  # noqa: ANN401 - any module or namespace
    """Every fault of one public name."""
    if not hasattr(module, name):
        return [f"{name} does not exist"]
    value = getattr(module, name)
    if isinstance(value, type):
        return list(faults_of_class(name, value))
    if inspect.isroutine(value):
        return list(faults_of_function(name, value))
    return []


def list_public_names() -> list[tuple[str, str]]:
    """Pairs of package and public name."""
    packages = read_pyproject()["tool"]["setuptools"]["packages"]
    modules = [importlib.import_module(name) for name in packages]
    return [(module.__name__, name) for module in modules for name in getattr(module, "__all__", [])]


def test_public_names_are_found() -> None:
    names = list_public_names()
    assert len(names) > 50
    assert ("erugin.robots", "planar_manipulator") in names
    for package in ("erugin.symbolic", "erugin.constraints", "erugin.controllers", "erugin.scenarios"):
        own = [name for room, name in names if room == package]
        assert len(own) > 5
        assert len(set(own)) == len(own)


@pytest.mark.parametrize(("package", "name"), list_public_names(), ids=lambda text: text.removeprefix("erugin."))
def test_public_name_is_documented(package: str, name: str) -> None:
    assert faults_of_name(importlib.import_module(package), name) == []


@pytest.mark.parametrize("package", read_pyproject()["tool"]["setuptools"]["packages"])
def test_package_is_documented(package: str) -> None:
    assert (importlib.import_module(package).__doc__ or "").strip()


class Faulty:
    """Every method has a fault.

    Args:
        one: is named.
    """

    def __init__(self, one: int, two: int) -> None:
        self.sum = one + two

    @property
    def bare(self) -> int:
        return self.sum

    @functools.cached_property
    def kept(self) -> int:
        return self.sum

    @classmethod
    def make(cls, value: int) -> Faulty:
        """Say nothing of what is given."""
        return cls(value, value)

    def named(self, left: int, right: int) -> int:
        """Add.

        Args:
            left: a number. Not
                right: because this line goes on.
            middle: another one.
        """
        return left + right


@dataclasses.dataclass
class Undescribed:
    """A value.

    Attributes:
        x: described.
    """

    x: int
    y: int
    z: int
    """Described below."""


@dataclasses.dataclass
class Automatic:
    x: int


class Good(Faulty):
    """Nothing to complain of."""

    def named(self, left: int, right: int) -> int:
        """Subtract."""
        return left - right


def good(x: int, **more: int) -> int:
    """Add.

    Args:
        x: a number.
        **more: others.
    """
    return x + sum(more.values())


def short(x: int) -> int:
    """Twice ``x``."""
    return 2 * x


class Examples:
    """A stand-in for a module."""

    Faulty, Undescribed, Automatic, Good = Faulty, Undescribed, Automatic, Good
    good, short = staticmethod(good), staticmethod(short)
    silent = staticmethod(lambda: None)


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        (
            "Faulty",
            [
                "Faulty.__init__ does not document two",
                "Faulty.bare has no docstring",
                "Faulty.kept has no docstring",
                "Faulty.make does not document value",
                "Faulty.named does not document right",
                "Faulty.named documents middle, which it does not take",
            ],
        ),
        ("Undescribed", ["Undescribed does not document y"]),
        ("Automatic", ["Automatic has no docstring"]),
        ("Good", []),
        ("good", []),
        ("short", []),
        ("silent", ["silent has no docstring"]),
        ("missing", ["missing does not exist"]),
    ],
)
def test_documentation_check_works(name: str, faults: list[str]) -> None:
    assert faults_of_name(Examples, name) == faults


# Files ---------------------------------------------------------------------------------------------------------------


def too_long(root: Path, longest: int = LONGEST) -> list[str]:
    """Source files of the rooms with more lines than allowed."""
    files = sorted(file for room in ROOMS for file in (root / room).rglob("*.py"))
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    return [f"{file.relative_to(root)}: {lines} lines" for file, lines in lengths.items() if lines > longest]


def test_files_are_short() -> None:
    assert too_long(ROOT) == []
    # The check does read the files.
    assert any("robots/robot.py" in line for line in too_long(ROOT, 100))


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
