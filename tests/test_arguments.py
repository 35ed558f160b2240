"""What is no number, no truth value, no name or another object than what is asked for is refused where it is given."""

from __future__ import annotations

import copy
import fractions
import importlib
import inspect
import math
import pickle
import warnings
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import mujoco
from erugin.constraints import Baumgarte, Sliding, circle, holonomic, null_space, spline
from erugin.controllers import Program, ProgramController, ReducedEquations, analyse, start_on
from erugin.robots import (
    Limits,
    Link,
    assemble,
    lagrangian_system,
    planar_manipulator,
    tree_system,
    with_drive,
)
from erugin.scenarios import Phase, simulate, simulate_phases
from erugin.symbolic import EruginError, ModelError, Parameters, ShapeError
from erugin.symbolic.arguments import check_exports

from .project import read_pyproject

ARM = planar_manipulator([Link(0.7, 1.3, 0.3, 0.05), Link(0.6, 0.8, 0.25, 0.04)], gravity=3.7)
PROGRAM = Program(ARM, [holonomic(ARM.points["tip"][1] - 0.4, name="height")])
LAW = ProgramController(PROGRAM)
Q, V = [0.3, 0.8], [0.1, -0.2]
MASS = ARM.parameters.names[1]
ANY: Any = None
"""Stands where type checkers would refuse what is given."""


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "2.0", b"2", None, 1j, [1.0], np.array([1.0, 2.0]), math.nan, ca.SX.sym("x"), ca.DM([1, 2]), ARM],
    ids=lambda value: f"{type(value).__name__} {value!r:.12}",
)
def test_a_parameter_that_is_no_number_is_refused(value: Any) -> None:  # noqa: ANN401
    lanes = isinstance(value, list | np.ndarray | ca.DM)
    for call in (
        lambda: ARM.evaluate(ARM.mass_matrix, q=Q, p={MASS: value}),
        lambda: LAW.control(0.0, Q, V, {MASS: value}),
        lambda: LAW.solve(0.0, Q, V, {MASS: value}),
        lambda: simulate(ARM, LAW, Q, V, 0.1, step=0.05, p={MASS: [value] if lanes else value}),
        lambda: Parameters.declare({"mass": value}),
        lambda: Link(value, 1.0, 0.5, 0.1),
        lambda: circle((0.0, value), 1.0),
        lambda: Baumgarte(value),
    ):
        with pytest.raises(EruginError):
            call()


@pytest.mark.parametrize("value", [np.float32(2.0), 2, np.int64(2), ca.DM(2.0), np.array(2.0), fractions.Fraction(2)])
def test_numbers_of_other_types_are_taken(value: Any) -> None:  # noqa: ANN401
    expected = LAW.control(0.0, Q, V, {MASS: 2.0})
    np.testing.assert_array_equal(LAW.control(0.0, Q, V, {MASS: value}), expected)
    assert planar_manipulator([Link(value, 1.0, 0.5, 0.1)]).nominal["l1"] == 2.0
    assert simulate(ARM, LAW, Q, V, value, step=0.125).t[-1] == 2.0


@pytest.mark.parametrize(
    "value",
    [
        ["0.1", "0.2"],
        np.array(["0.1", "0.2"]),
        [True, 0.2],
        np.array([True, False]),
        [None, 0.2],
        [0.1 + 0j, 0.2],
        np.array([object(), None]),
        np.ma.array([0.1, 0.2], mask=[True, False]),
        [[0.1], [0.2, 0.3]],
        ca.SX.sym("q", 2),
        ca.MX.sym("q", 2),
        {0.1, 0.2},
        "ab",
        [10**400, 0.0],
        1e200,
    ],
    ids=lambda value: f"{type(value).__name__} {value!r:.16}",
)
def test_a_state_that_is_no_numbers_is_refused(value: Any) -> None:  # noqa: ANN401
    for call in (
        lambda: LAW.control(0.0, value, V),
        lambda: LAW.solve(0.0, Q, value),
        lambda: LAW.observe(0.0, Q, value),
        lambda: analyse(PROGRAM, t=0.0, q=value, v=V),
        lambda: ARM.evaluate(ARM.mass_matrix, q=value),
        lambda: start_on(PROGRAM, value),
        lambda: null_space(value),
    ):
        with pytest.raises(ShapeError):
            call()
    with pytest.raises(EruginError):
        simulate(ARM, LAW, value, V, 0.1, step=0.05)


def test_a_masked_array_without_masked_entries_is_an_array() -> None:
    whole: Any = np.ma.array(Q, mask=[False, False])
    np.testing.assert_array_equal(LAW.control(0.0, whole, V), LAW.control(0.0, Q, V))


@pytest.mark.parametrize("value", [math.nan, 2.5, True, ["a"], b"a", "a\0b", "a\ud800b"], ids=ascii)
def test_a_name_is_a_text_that_can_be_written(value: Any) -> None:  # noqa: ANN401
    for call in (
        lambda: holonomic(ARM.q[0], name=value),
        lambda: circle((0.0, 0.0), 1.0, name=value),
        lambda: lagrangian_system(q=ARM.q, v=ARM.v, p=ARM.parameters, T=ARM.kinetic_energy, name=value),
        lambda: with_drive(ARM, value, along=ARM.q[0]),
    ):
        with pytest.raises(ModelError):
            call()


@pytest.mark.parametrize("value", ["no", 0, 1, math.nan, [], "False"], ids=repr)
def test_a_choice_of_two_is_true_or_false(value: Any) -> None:  # noqa: ANN401
    flag: Any = np.False_
    with pytest.raises(ModelError, match=r"limits of export must be True or False, got .*limits: whether bounds"):
        mujoco.export(ARM, limits=value)
    assert "<mujoco" in mujoco.export(ARM, limits=flag)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "a", None, ARM], ids=lambda value: f"{value!r:.8}")
def test_energies_and_resistances_are_finite_expressions(value: Any) -> None:  # noqa: ANN401
    assert ARM.tree is not None
    for name in ("V", "resistance"):
        with pytest.raises(EruginError):
            tree_system(ARM.tree, parameters=ARM.parameters, **{name: value})


@pytest.mark.parametrize("value", [3, math.nan, "nonsense", ARM, [3], {3: 3.0}, ca.MX.sym("u", 2), object()])
def test_another_object_than_what_is_asked_for_is_named(value: Any) -> None:  # noqa: ANN401
    for call in (
        lambda: Program(value, PROGRAM.constraints) if value is not ARM else Program(ANY, ANY),
        lambda: Program(ARM, value),
        lambda: with_drive(value, "motor", along=ARM.q[0]) if value is not ARM else with_drive(ARM, "motor", along=ANY),
        lambda: simulate_phases(ARM, value, Q, V, 0.1, step=0.01),
        lambda: simulate_phases(ARM, [Phase(LAW, 0.1), value], Q, V, 0.1, step=0.01),
        lambda: assemble(ARM, Q, fixed=value) if value is not ARM else assemble(ARM, ANY),
        lambda: lagrangian_system(q=ARM.q, v=ARM.v, p=ARM.parameters, T=ARM.kinetic_energy, u=value),
        lambda: start_on(PROGRAM, Q, at=value),
        lambda: start_on(PROGRAM, Q, at=[(value, 0.1)]),
        lambda: mujoco.match(ARM, value),
        lambda: ReducedEquations(PROGRAM, value, 1e-9),
    ):
        with pytest.raises(EruginError):
            call()


@pytest.mark.parametrize(
    "points", [[(0, 0), (1e200, 1), (2, 0)], [(0, 0), (1e-200, 0), (1, 1)], [(0, 0), (1, 0), (1, "a")]]
)
def test_a_spline_between_points_beyond_numbers_is_refused(points: Any) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match="'way'"):
        spline(points, name="way")


@pytest.mark.parametrize("p", [math.nan, {MASS: math.nan}, {None: 1.0}, {"mass": 1.0}, "m1", [1.0]], ids=repr)
def test_parameters_of_holding_are_checked(p: Any) -> None:  # noqa: ANN401
    with pytest.raises(EruginError):
        ProgramController(PROGRAM, realization="bounded").holding(0.0, Q, p)


def test_what_numbers_and_sizes_break_is_told_in_the_words_of_the_call() -> None:
    with pytest.raises(EruginError, match=r"leaves the range of numbers with alpha = .*out of range"):
        Baumgarte(-1e200)
    with pytest.raises(ModelError, match=r"no room for what it is asked for with nq = 1000000000000"):
        Limits.none(10**12, 2, 2)
    with pytest.raises(ShapeError, match=r"Circle.functions cannot join what it is given, of shapes .*x \(3, 1\)"):
        circle((0.0, 0.0), 1.0).functions(ca.SX.sym("x", 3), ca.SX.sym("t"))


def planted(number: float, flag: bool = False, *rest: int, name: str = "a", items: tuple[int, ...] = ()) -> Any:  # noqa: ANN401
    """Do nothing.

    Args:
        number: a length [m].
        flag: whether.
        *rest: whole numbers.
        name: shown.
        items: some.
    """
    if number < 0.0:
        raise OSError("of another kind")
    return items.missing if number > 1e3 else (number, flag, rest, name, items)  # type: ignore[attr-defined]


class Planted:
    """A class whose constructor and methods are checked."""

    def __init__(self, size: int) -> None:
        self.size = size

    @classmethod
    def of(cls, size: int) -> Planted:
        """One."""
        return cls(size)

    def grown(self, by: float) -> float:
        """A number."""
        return self.size + by


def test_the_check_of_a_package_serves_functions_classes_and_nothing_else() -> None:
    package: dict[str, Any] = {"planted": planted, "Planted": Planted, "__all__": ["planted", "Planted"]}
    check_exports(package)
    check_exports(package)
    call = package["planted"]
    assert call(1.0, True, 2, 3, name="b", items=iter([4])) == (1.0, True, (2, 3), "b", (4,))
    for wrong in ({"number": True}, {"number": "1.0"}, {"number": 1.0, "flag": 1}, {"number": 1.0, "name": math.nan}):
        with pytest.raises(ModelError, match=r"of planted must be .*, got .*"):
            call(**wrong)
    with pytest.raises(ModelError, match=r"items of planted must be a sequence, each a whole number, got 3"):
        call(2e3, items=3)
    # Where all arguments fit, an error is the body's own, and a call that does not fit the signature is Python's.
    with pytest.raises(AttributeError):
        call(2e3)
    with pytest.raises(OSError, match="of another kind"):
        call(-1.0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        call(1.0, nam="b")
    with pytest.raises(ModelError, match=r"size of Planted must be a whole number, got True"):
        Planted(True)
    with pytest.raises(ModelError, match=r"by of Planted\.grown must be a number, got 'x'"):
        Planted.of(2).grown("x")  # type: ignore[arg-type]


def test_every_package_has_its_exports_checked() -> None:
    packages = [importlib.import_module(name) for name in read_pyproject()["tool"]["setuptools"]["packages"]]
    exported = {name: getattr(package, name) for package in packages for name in getattr(package, "__all__", ())}
    functions = {name: value for name, value in exported.items() if inspect.isfunction(value)}
    assert len(functions) > 150
    assert [name for name, value in functions.items() if not hasattr(value, "__checked__")] == []
    assert hasattr(exported["Robot"], "__checked__")


def test_checked_functions_can_be_pickled_and_copied() -> None:
    assert pickle.loads(pickle.dumps(planar_manipulator)) is planar_manipulator
    assert copy.deepcopy(Sliding) is Sliding
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert planar_manipulator([Link(1.0, 1.0, 0.5, 0.1)]).coordinates.nq == 1
