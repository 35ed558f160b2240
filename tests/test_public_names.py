"""Public names exist, and their docstrings say what they take."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

from .support.project import ROOMS, read_pyproject


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
    """Parameters that the docstring lacks, and those that it describes but the function lacks."""
    text = doc or function.__doc__
    if not (text or "").strip():
        yield f"{name} has no docstring"
        return
    have, message = parameter_names(function), listed(text, "Args")
    # A short docstring may name its few parameters in a sentence; Args, where they are, must be complete.
    missing = [key for key in have if not (key in message if message else re.search(rf"\b{key}\b", text))]
    if missing:
        yield f"{name} does not document {', '.join(missing)}"
    if strange := [key for key in message if key not in have]:
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
        message = listed(constructor.__doc__ or "", "Args") + listed(text, "Args") + attributes
        if missing := [key for key in have if key not in message]:
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


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_documented(room: str) -> None:
    top = "erugin" if room == "package" else f"erugin.{room}"
    names = [
        (package, name) for package, name in list_public_names() if package == top or package.startswith(f"{top}.")
    ]
    faults = [fault for package, name in names for fault in faults_of_name(importlib.import_module(package), name)]
    assert faults == []


def test_packages_are_documented() -> None:
    packages = read_pyproject()["tool"]["setuptools"]["packages"]
    assert [name for name in packages if not (importlib.import_module(name).__doc__ or "").strip()] == []


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
