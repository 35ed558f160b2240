"""Compiled loops refuse what does not fit, before anything is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.symbolic import ModelError, ShapeError, machine_code
from erugin.symbolic.compiler import vector_width
from erugin.symbolic.runge_kutta import Tableau

from ..support.compiled_rollouts import HEUN, compiled, pendulum, starts

Array = NDArray[np.float64]
Arguments = dict[str, Any]
Row = tuple[float, ...]
Rows = tuple[Row, ...]


def fitting() -> Arguments:
    """Arguments that fit, of four systems and six steps."""
    x, p = starts(4)
    outputs = [np.full((4, 6, size), -7.0) for size in (2, 1, 0, 4)]
    return {"systems": np.arange(4), "first": 0, "t0": 0.0, "h": 0.01, "x": x, "p": p, "outputs": outputs}


def read_only(array: Array) -> Array:
    """A copy that cannot be written."""
    copied = array.copy()
    copied.flags.writeable = False
    return copied


def misaligned(array: Array) -> Array:
    """A copy whose numbers begin in the middle of a word."""
    room = np.zeros(array.nbytes + 4, dtype=np.uint8)
    moved: Array = room[4:].view(np.float64).reshape(array.shape)
    moved[...] = array
    return moved


def last_output(change: Callable[[Array], NDArray[np.floating]]) -> Callable[[Arguments], Arguments]:
    """Arguments whose last output is another."""
    return lambda given: {"outputs": [*given["outputs"][:-1], change(given["outputs"][-1])]}


WRONG: dict[str, tuple[str, Callable[[Arguments], Arguments]]] = {
    "x of another size": (r"\(K, 2\).*\(4, 3\)", lambda given: {"x": np.zeros((4, 3))}),
    "x flat": (r"\(K, 2\)", lambda given: {"x": np.zeros(8)}),
    "x single precision": ("float64.*float32", lambda given: {"x": given["x"].astype(np.float32)}),
    "x column-major": ("row-major", lambda given: {"x": np.asfortranarray(given["x"])}),
    "x read-only": ("writeable", lambda given: {"x": read_only(given["x"])}),
    "x misaligned": ("aligned", lambda given: {"x": misaligned(given["x"])}),
    "p of another size": (r"\(1, 3\).*\(4, 2\)", lambda given: {"p": given["p"][:, :2].copy()}),
    "p of other systems": (r"\(1, 3\).*\(3, 3\)", lambda given: {"p": given["p"][:3]}),
    "p flat": (r"\(1, 3\).*\(3,\)", lambda given: {"p": given["p"][0]}),
    "p whole numbers": ("float64.*int64", lambda given: {"p": given["p"].astype(np.int64)}),
    "p with gaps": ("row-major", lambda given: {"p": np.zeros((4, 6))[:, ::2]}),
    "a row that is not there": (r"0 … 3, got 0 … 4", lambda given: {"systems": np.array([0, 4])}),
    "a row below the first": (r"0 … 3, got -1 … 0", lambda given: {"systems": np.array([0, -1])}),
    "a system named twice": ("twice", lambda given: {"systems": np.array([2, 1, 2])}),
    "systems as truth values": ("bool", lambda given: {"systems": np.array([True, False, True, True])}),
    "systems as real numbers": ("float64", lambda given: {"systems": np.array([0.0, 1.0])}),
    "systems in two columns": (r"\(k,\).*\(2, 2\)", lambda given: {"systems": np.arange(4).reshape(2, 2)}),
    "no outputs": (r"\(2, 1, 0, 4\), got 0", lambda given: {"outputs": []}),
    "one output less": (r"expected 4 outputs.*got 3", lambda given: {"outputs": given["outputs"][:3]}),
    "output of fewer steps": (r"\(4, 6, 4\), got \(4, 5, 4\)", last_output(lambda a: a[:, :5])),
    "output of fewer systems": (r"\(4, 6, 4\), got \(3, 6, 4\)", last_output(lambda a: a[:3])),
    "output of another size": (r"\(4, 6, 4\), got \(4, 6, 3\)", last_output(lambda a: a[..., :3])),
    "output flat": (r"\(4, 6, 4\), got \(96,\)", last_output(lambda a: a.ravel())),
    "output single precision": ("float64.*float32", last_output(lambda a: a.astype(np.float32))),
    "output read-only": ("writeable", last_output(read_only)),
    "output backwards": ("contiguous", last_output(lambda a: a[..., ::-1])),
    "output by columns": ("contiguous", last_output(lambda a: np.zeros((4, 4, 6)).transpose(0, 2, 1))),
    "output misaligned": ("aligned", last_output(misaligned)),
    "states flat": ("of shape", lambda given: {"outputs": [np.zeros(48), *given["outputs"][1:]]}),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused(name: str) -> None:
    message, change = WRONG[name]
    given = fitting()
    changed: dict[str, Any] = {**given, **change(given)}
    before = changed["x"].copy()
    with pytest.raises(ShapeError, match=message):
        compiled(1).run(**changed)
    np.testing.assert_array_equal(changed["x"], before)
    assert all((output == -7.0).all() for output in given["outputs"])


@pytest.mark.compiled
def test_fitting_arguments_are_taken() -> None:
    given = fitting()
    compiled(1).run(**given)
    assert not any((output == -7.0).any() for output in given["outputs"])


@pytest.mark.compiled
@pytest.mark.parametrize("lanes", sorted({1, vector_width()}))
def test_nothing_to_do(lanes: int) -> None:
    given = fitting()
    before = given["x"].copy()
    compiled(lanes).run(**given | dict[str, Any](systems=np.arange(0)))
    compiled(lanes).run(**given | dict[str, Any](outputs=[output[:, :0] for output in given["outputs"]]))
    none: dict[str, Any] = {
        "x": np.zeros((0, 2)),
        "p": np.zeros((0, 3)),
        "outputs": [output[:0] for output in given["outputs"]],
    }
    compiled(lanes).run(**given | dict[str, Any](**none, systems=np.arange(0)))
    np.testing.assert_array_equal(given["x"], before)
    assert all((output == -7.0).all() for output in given["outputs"])


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.int64])
def test_any_whole_numbers_name_systems(kind: type[np.integer[Any]]) -> None:
    given, plain = fitting(), fitting()
    compiled(1).run(**plain)
    compiled(1).run(**given | dict[str, Any](systems=np.arange(4, dtype=kind)))
    np.testing.assert_array_equal(given["x"], plain["x"])


def test_parts_must_fit_together() -> None:
    march, stranger = pendulum(), ca.SX.sym("stranger")
    for change, message in (
        ({"rate": march.x * stranger}, "stranger must be in t, x, p or z"),
        ({"recorded": {"odd": stranger}}, "stranger must be in t, x, p or z"),
        ({"correction": march.x + stranger}, "stranger must be in t, x, p or z"),
        ({"rate": march.x[0]}, r"shape of x, \(2, 1\), got \(1, 1\)"),
        ({"rate": march.x.T}, r"shape of x, \(2, 1\), got \(1, 2\)"),
        ({"correction": ca.vertcat(march.x, 0)}, r"shape of x, \(2, 1\), got \(3, 1\)"),
        ({"recorded": {"march_rate": march.x}}, "march_rate"),
    ):
        with pytest.raises(ModelError, match=message):
            replace(march, **change)


def test_other_numbers_of_lanes_are_refused() -> None:
    with pytest.raises(ModelError, match=r"lanes must be 1 or \d on this machine, got 3"):
        pendulum().compile(3)


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ((), (), ()),
        (((0.0, 0.0), (1.0, 0.0)), (0.5, 0.4), (0.0, 1.0)),
        (((0.0, 0.0), (1.0, 0.0)), (0.5, 0.5), (0.0, 0.5)),
        (((0.0, 0.0), (1.0, 0.5)), (0.5, 0.5), (0.0, 1.5)),
        (((0.0, 1.0), (0.0, 0.0)), (0.5, 0.5), (1.0, 0.0)),
        (((0.0, 0.0),), (0.5, 0.5), (0.0, 1.0)),
        (((0.0,), (1.0, 0.0)), (0.5, 0.5), (0.0, 1.0)),
        (((0.0, 0.0), (1.0, 0.0)), (0.5, 0.5), (0.0,)),
        (((0.0, 0.0), (1.0, 0.0)), (0.5, 0.5), (0.0, float("nan"))),
    ],
)
def test_tableau_must_be_explicit_and_consistent(a: Rows, b: Row, c: Row) -> None:
    with pytest.raises(ModelError, match="explicit method"):
        Tableau(a, b, c)
    assert Tableau(HEUN.a, HEUN.b, HEUN.c) == HEUN


def test_reason_why_there_is_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "find_compiler", lambda: "no compiler is wanted")
    assert pendulum().compile(1) == "no compiler is wanted"


@pytest.mark.compiled
def test_operation_without_text_is_a_reason() -> None:
    march = pendulum()
    reason = replace(march, recorded={"odd": ca.erfinv(march.x)}).compile(1)
    assert isinstance(reason, str)
    assert "OP_ERFINV" in reason
