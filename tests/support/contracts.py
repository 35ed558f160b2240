"""Tables of everything that the contract tests walk through."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import erugin
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    CanonicalMultipliers,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    NullSpaceMultipliers,
    ProximalMultipliers,
    SweepMultipliers,
    UdwadiaPhohomsiriMultipliers,
)
from erugin.robots.hamiltonian import (
    ChainForm,
    Cholesky,
    ConjugateDirections,
    DenseForm,
    LegendreSolver,
    MinimalResiduals,
    ProductForm,
    QuadraticForm,
    RobotForm,
    StructuredElimination,
)

SOLVERS: list[LegendreSolver] = [
    Cholesky(),
    StructuredElimination(),
    ConjugateDirections(1e-14),
    MinimalResiduals(1e-13, 1.0),
]


FORMS: set[type[QuadraticForm]] = {ChainForm, DenseForm, ProductForm, RobotForm}


METHODS: list[MultiplierMethod] = [
    LdlMultipliers(),
    LeastNormMultipliers(),
    ProximalMultipliers(),
    AugmentedMultipliers(),
    SweepMultipliers(),
    CanonicalMultipliers(),
    NullSpaceMultipliers(),
    UdwadiaPhohomsiriMultipliers(),
]


def require_rows(table: str, found: Iterable[type], known: Iterable[type]) -> None:
    """Check that a table has a row for every class, and rows for these only.

    Args:
        table: the table and its file.
        found: the classes that there are.
        known: the classes of the rows.
    """
    classes, rows = set(found), set(known)
    for cls in sorted(classes - rows, key=lambda cls: cls.__name__):
        pytest.fail(f"{table} lacks a row for {cls.__name__} of {cls.__module__}")
    assert rows <= classes, f"{table} has rows of classes that are not there"


def concrete(base: type[Any]) -> Iterator[type[Any]]:
    """Every concrete subclass of Erugin's own, whether or not a room re-exports it."""
    for module in pkgutil.walk_packages(erugin.__path__, "erugin."):
        importlib.import_module(module.name)
    subclasses: list[type[Any]] = base.__subclasses__()
    for sub in subclasses:
        yield from concrete(sub)
        if not inspect.isabstract(sub) and sub.__module__.startswith("erugin."):
            yield sub
