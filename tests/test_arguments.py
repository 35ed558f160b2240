"""Arguments of the wrong type, and names that some format cannot hold, are rejected where they are given."""

from __future__ import annotations

import copy
import fractions
import functools
import importlib
import inspect
import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import c, mujoco, python_control, urdf
from erugin.bridges.gymnasium import register
from erugin.constraints import (
    Baumgarte,
    ConstrainedMotion,
    EruginField,
    Nonlinear,
    Sliding,
    circle,
    holonomic,
    implicit,
    line,
    nonholonomic,
    null_space,
    spline,
    verify,
)
from erugin.constraints.field import barrier_speeds
from erugin.controllers import (
    Program,
    ProgramController,
    ReducedEquations,
    Reference,
    analyse,
    start_on,
    traits,
    transition,
)
from erugin.controllers.baselines import (
    BrysonWeights,
    Lqr,
    NonlinearMPC,
    OperationalSpace,
    attraction_level,
    tune,
)
from erugin.controllers.multipliers import ProximalMultipliers
from erugin.controllers.wrappers import MeasurementNoise
from erugin.robots import (
    Bar,
    Contact,
    Frame,
    Limits,
    Link,
    assemble,
    branches,
    impact,
    lagrangian_system,
    planar_linkage,
    planar_manipulator,
    tree_system,
    with_contacts,
    with_drive,
    with_scene,
)
from erugin.robots.examples import iftomm_four_bars
from erugin.robots.hamiltonian import OperationCount
from erugin.robots.tree import Node, Revolute
from erugin.scenarios import Setup, Study, Uniform, compare, scenario, simulate
from erugin.simulation import (
    DOP853,
    CanonicalEuler,
    Event,
    FieldMotion,
    Integral,
    Mode,
    Phase,
    PhasedTrajectory,
    Rebound,
    Simulator,
    Trajectory,
    move_along,
    simulate_hybrid,
    simulate_phases,
)
from erugin.symbolic import (
    BridgeError,
    Coordinates,
    EruginError,
    ModelError,
    NotFiniteError,
    OutOfMemoryError,
    Parameters,
    ShapeError,
)
from erugin.symbolic.errors import LONGEST_NAME
from erugin.symbolic.runtime_type_checks import check_exports
from erugin.symbolic.validation import require_memory
from erugin.views import (
    FieldView,
    WalkStep,
    animate_field,
    draw,
    draw_field,
    draw_field_in_space,
    draw_growth,
    draw_on_sphere,
    draw_stance,
    draw_swing_ups,
    draw_two_wheel_tracking,
    draw_walk,
)

from .support.comparison_setup import swing
from .support.project import read_pyproject

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
    with pytest.raises(ModelError, match=r"limits of export must be True or False, got .*limits: True to write"):
        mujoco.export(ARM, limits=value)
    assert "<mujoco" in mujoco.export(ARM, limits=flag)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "a", None, ARM], ids=lambda value: f"{value!r:.8}")
def test_energies_and_resistances_are_finite_expressions(value: Any) -> None:  # noqa: ANN401
    assert ARM.tree is not None
    for name in ("V", "resistance"):
        with pytest.raises(EruginError):
            tree_system(ARM.tree, parameters=ARM.parameters, **{name: value})


@pytest.mark.parametrize("value", [3, math.nan, "nonsense", ARM, [3], {3: 3.0}, ca.MX.sym("u", 2), object()])
def test_an_object_of_the_wrong_class_is_named(value: Any) -> None:  # noqa: ANN401
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


def test_bad_numbers_and_sizes_are_reported_by_argument_name() -> None:
    with pytest.raises(EruginError, match=r"is undefined or overflows with alpha = .*out of range"):
        Baumgarte(-1e200)
    with pytest.raises(ModelError, match=r"no room in memory for Limits.none with nq = 1000000000000"):
        Limits.none(10**12, 2, 2)
    with pytest.raises(ShapeError, match=r"Circle.functions cannot combine arguments of the shapes .*x \(3, 1\)"):
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

    def grown(self, by: float, times: int = 1) -> float:
        """A number.

        Args:
            by: how much is added [m].
            times: how often.
        """
        return self.size + by * times


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
    with pytest.raises(ModelError, match=r"by of Planted\.grown must be a number, got 'x' \(by: how much is added"):
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


STRANGERS: list[Callable[[Any], object]] = [
    lambda value: Phase(None, 1.0).plant(value),
    lambda value: DOP853().prepare(value),
    lambda value: Node(name="hinge", parent=-1, placement=Frame.at(), joint=value),
    lambda value: Node(name="hinge", parent=-1, placement=value, joint=Revolute()),
    lambda value: CanonicalEuler(value),
    lambda value: register(value, "erugin/Stranger-v0"),
    lambda value: traits(value),
]


@pytest.mark.parametrize("value", [math, object(), [], dict], ids=["module", "object", "list", "class"])
@pytest.mark.parametrize("call", STRANGERS)
def test_an_object_of_another_kind_is_refused_where_it_is_given(call: Callable[[Any], object], value: object) -> None:
    with pytest.raises(EruginError, match=r"must be an? |is built from a |a Robot"):
        call(value)


@pytest.mark.parametrize("value", [dict, ca.Function("f", [ca.MX.sym("m")], [ca.MX.sym("m")], {"allow_free": True})])
def test_what_cannot_be_called_as_a_function_is_refused_as_such(value: Any) -> None:  # noqa: ANN401
    calls: list[Callable[[], object]] = [
        lambda: implicit(value, 2, length=1.0),
        lambda: Nonlinear(value, {"k": 2.0}, order=1),
        lambda: Simulator(ARM, LAW).run(Q, V, 0.1, step=0.05, progress=value),
        lambda: Setup(ARM, LAW, Q, V, 0.1, 0.05).run(value),
    ]
    for call in calls:
        with pytest.raises(ModelError, match=r"must be a Python function( or None)?, got"):
            call()


@pytest.mark.parametrize("values", [["0.1", "0.2"], [True, False], "2.0", [[1.0], [2.0, 3.0]]], ids=repr)
def test_arrays_of_methods_are_numbers(values: Any) -> None:  # noqa: ANN401
    with pytest.raises(EruginError, match="must be "):
        Integral(ARM.q[0]).begin(values)
    with pytest.raises(EruginError, match="must be "):
        Uniform(0.0, 1.0).quantile(values)


COUNTS: dict[str, Callable[[int], object]] = {
    "substeps": lambda n: NonlinearMPC(Reference.at_rest(ARM, Q), substeps=n),
    "steps": lambda n: NonlinearMPC(Reference.at_rest(ARM, Q), steps=n),
    "iterations": lambda n: NonlinearMPC(Reference.at_rest(ARM, Q), iterations=n),
    "proximal steps": lambda n: ProximalMultipliers(1e-8, n),
    "smoothness": lambda n: transition(ca.SX.sym("t"), 1.0, smoothness=n),
    "windows": iftomm_four_bars,
    "refinements": lambda n: tune(lambda _: LAW, lambda _: 1.0, [1.0, 2.0, 3.0], refinements=n),
    "starts": lambda n: branches(iftomm_four_bars(1), np.full(3, math.pi / 2), fixed=["crank0"], starts=n),
}


@pytest.mark.parametrize("count", [10**12, 10**400], ids=["1e12", "1e400"])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_have_a_limit_and_a_remedy(name: str, count: int) -> None:
    with pytest.raises(ModelError, match=r"must be a whole number of at most [0-9,]+, got 10*…?: ."):
        COUNTS[name](count)


def test_symbols_that_are_no_inputs_are_named() -> None:
    x, gain = ca.SX.sym("x"), ca.SX.sym("gain")
    with pytest.raises(ModelError, match=r"of_expression cannot make a function .* not inputs: gain"):
        OperationCount.of_expression({"x": x}, gain * x)
    with pytest.raises(ModelError, match=r"of_expression cannot make a function"):
        OperationCount.of_expression({"x": x, "again": x}, x)
    with pytest.raises(ModelError, match=r"q must consist of symbols"):
        Coordinates.of(ca.SX(1.0), ca.SX.sym("v"))


def test_what_has_no_room_is_one_error_which_python_knows_too() -> None:
    with pytest.raises(OutOfMemoryError, match="no room"):
        Limits.none(10**12, 2, 2)
    with pytest.raises(OutOfMemoryError, match="no room for numbers"), require_memory(1e30, "numbers", "take fewer"):
        pass
    with pytest.raises(MemoryError):
        MeasurementNoise(LAW, q=0.01, terms=10**12)


def test_an_error_of_casadi_is_one_of_sizes_only_if_its_text_is() -> None:
    def failing(values: list[float]) -> None:
        """Do nothing.

        Args:
            values: some.
        """
        raise RuntimeError(f".../casadi/core/mx_node.cpp:481: 'to_double' not defined for {len(values)}")

    failing.__module__ = __name__
    package: dict[str, Any] = {"failing": failing, "__all__": ["failing"]}
    check_exports(package)
    with pytest.raises(RuntimeError, match="to_double"):
        package["failing"]([1.0, 2.0])


@pytest.mark.foreign
@pytest.mark.parametrize("tolerance", [math.nan, math.inf, -1e-9])
def test_a_tolerance_of_pivots_is_a_number_of_at_least_zero(tolerance: float) -> None:
    from erugin.bridges.jax import JaxFunction

    with pytest.raises(ModelError, match="tolerance must"):
        JaxFunction({"q": ARM.q}, ARM.parameters, ARM.potential_energy, ARM.q, tolerance)


BALL = circle((1.5, 0.0, 0.0), 0.1, name="ball")


@functools.cache
def seen() -> tuple[Trajectory, PhasedTrajectory, FieldView, FieldMotion, FieldView, FieldMotion]:
    """A motion of the arm, one in two phases, and points that move with fields in the plane and in space."""
    run = Simulator(with_scene(ARM, BALL.parameters)).run(Q, V, 0.1, step=0.05)
    phases = simulate_phases(ARM, [Phase(None, until=0.1), Phase(None)], Q, V, 0.2, step=0.05)
    plane, space = (
        EruginField(line(np.zeros(n), np.eye(n)[0]), [circle(0.5 * np.ones(n), 0.1)], speed=0.5, margin=0.01)
        for n in (2, 3)
    )
    parts = [(FieldView.of(one, -np.ones(n), np.ones(n)), move_along(one, np.zeros(n), 0.1, step=0.05))
             for one, n in ((plane, 2), (space, 3))]  # fmt: skip
    return run, phases, *parts[0], *parts[1]


def pictures(folder: Path, change: str, value: Any = None) -> None:  # noqa: ANN401
    """A picture of each kind, one of its arguments changed."""
    run, phases, plane, moved, space, flown = seen()
    target, way = folder / "a.png", np.eye(3)

    def given(name: str, usual: Any) -> Any:  # noqa: ANN401
        return value if name == change else usual

    def step() -> WalkStep:
        return WalkStep(
            ARM.points["tip"], ARM.q, ARM.q[0], given("walk rock", (0.0, 0.0, 0.1)), given("walk margin", 0.1)
        )

    kind = change.split(" ")[0]
    if kind == "on":
        x, y = plane.grid(given("on across", 8))
        plane.on(given("on x", x), given("on y", y), given("on time", 0.0))
    elif kind == "field":
        times, columns = given("field times", [0.0]), given("field columns", 2)
        draw_field(plane, times, given("field target", target), columns=columns, title=given("field title", ""))
    elif kind == "film":
        film = given("film target", folder / "a.gif")
        few, width = given("film frames", 2), given("film width", 3.0)
        animate_field(plane, given("film motion", moved), film, frames=few, width=width)
    elif kind == "space":
        path, eye, times = given("space path", way), given("space eye", 20.0), given("space times", [0.0])
        moving = given("space motion", flown)
        draw_field_in_space(space, moving, times, target, path=path, elevation=eye, azimuth=eye)
    elif kind == "stance":
        draw_stance(
            run, given("stance names", ["a", "b"]), ARM.q, ARM.q, ARM.q[0], balance=given("stance balance", 0.0)
        )
    elif kind == "walk":
        steps = given("walk steps", [step(), step()])
        draw_walk(given("walk motion", phases), steps, {"arm": ("tip",)}, every=given("walk every", 0.05))
    elif kind == "swing":
        draw_swing_ups(given("swing runs", {"a": run}), flash=given("swing flash", 0.05))
    elif kind == "growth":
        draw_growth(run, {"one": ARM.q[0]}, first_year=given("growth year", 2020.0))
    elif kind == "sphere":
        pen, center = ca.vertcat(ARM.points["tip"], 0.0), given("sphere center", np.zeros(3))
        radius = given("sphere radius", 1.0)
        draw_on_sphere(run, target, pen=pen, off=ARM.q[0], ball=BALL, center=center, radius=radius)
    else:
        draw(run, given("still target", target))


NOWHERE = np.full((5, 8), math.nan)
UNSEEN: dict[str, Any] = {
    "on across": [1, 2.5, math.nan],
    "on x": [NOWHERE, np.zeros(3), np.zeros((2, 2)), 1.0],
    "on y": [NOWHERE, np.zeros(3), np.zeros((1, 1))],
    "on time": [math.nan, math.inf],
    "field times": [[math.nan], [], [0.0, math.inf]],
    "field columns": [0, -1, 1.5],
    "field title": ["half a character \ud800"],
    "field target": [Path("a.nonsense"), Path("a")],
    "film target": [Path("a.png"), Path("a")],
    "film frames": [0, 2.5],
    "film width": [1e-300, 1e200, 10**12],
    "space path": [np.zeros(3), np.zeros((0, 3)), np.zeros((2, 2)), [[math.nan] * 3], 1.0],
    "space times": [[math.nan]],
    "space eye": [math.nan, math.inf],
    "stance balance": [math.nan],
    "stance names": [["a"], ["a", "b", "c"], []],
    "walk every": [0.0, -1.0, math.nan, 1e-300, 1e-5],
    "walk steps": [[]],
    "walk motion": [PhasedTrajectory((), (), (), "nothing ran")],
    "walk rock": [(0.0, 0.0), (0.0, math.nan, 1.0), (0.0, 0.0, -1.0)],
    "walk margin": [-0.1, math.nan],
    "swing flash": [1e-300, 1e-5, math.nan],
    "swing runs": [{}],
    "growth year": [math.nan],
    "sphere center": [np.zeros(2), np.full(3, math.nan)],
    "sphere radius": [0.0, math.nan],
    "still target": ["a", "a.nonsense"],
}


@pytest.mark.parametrize("change", UNSEEN)
def test_what_cannot_be_drawn_is_refused_and_leaves_no_file(change: str, tmp_path: Path) -> None:
    pictures(tmp_path, change.split(" ")[0])
    made = set(tmp_path.iterdir())
    for value in UNSEEN[change]:
        given = tmp_path / value if change.endswith("target") else value
        with pytest.raises(EruginError):
            pictures(tmp_path, change, given)
        assert set(tmp_path.iterdir()) == made


def test_motions_without_samples_are_not_drawn(tmp_path: Path) -> None:
    for change, motion in (("film motion", seen()[3].until(-1.0)), ("space motion", seen()[5].until(-1.0))):
        with pytest.raises(ModelError, match="no sample"):
            pictures(tmp_path, change, motion)
    with pytest.raises(ModelError, match="at least one motion"):
        draw_two_wheel_tracking(ANY, {})


def test_a_field_of_which_barriers_cover_all_is_drawn(tmp_path: Path) -> None:
    field = EruginField(line((0.0, 0.0), (1.0, 0.0), name="way"), [circle((0.5, 0.0), 9.0)], speed=0.5, margin=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw_field(FieldView.of(field, (-1.0, -1.0), (1.0, 1.0)), [0.0], tmp_path / "covered.png")
    assert (tmp_path / "covered.png").stat().st_size > 1000


def test_nothing_that_was_given_is_left_out_of_a_picture() -> None:
    """More lines than there are styles of lines, one contact alone, and motions without inputs or with forces."""
    run = seen()[0]
    many = {f"line {i}": ARM.q[0] + i for i in range(7)}
    growth = draw_growth(run, many, first_year=0.0)
    assert [line.get_label() for line in growth.axes[0].lines] == list(many)
    names, forces = list(many), ca.vertcat(*many.values())
    stance = draw_stance(run, names, forces, forces, ARM.q[0], balance=0.0)
    assert [line.get_label() for line in stance.axes[0].lines] == names
    alone = draw_stance(run, ["foot"], ARM.q[0], ARM.q[1], ARM.q[0], balance=0.0)
    np.testing.assert_array_equal(np.asarray(alone.axes[1].lines[0].get_ydata()), run.q[:, 1])
    walk = draw_walk(seen()[1], [WalkStep(ARM.points["tip"], ARM.q, ARM.q[0])] * 2, dict.fromkeys(many, ("tip",)))
    assert {text.get_text() for legend in [walk.axes[0].get_legend()] if legend for text in legend.get_texts()} > set(
        many
    )
    for law, count in ((None, 0), (LAW, 2)):
        motion = simulate(ARM, law, Q, V, 0.1, step=0.05)
        inputs = draw_swing_ups({"a run": motion}).axes[2].lines
        assert len(inputs) == count
        for column, drawn in enumerate(inputs):
            assert drawn.get_label() == motion.labels.inputs.names[column]


def test_an_entry_that_is_no_symbol_is_no_coordinate_or_input() -> None:
    """An entry that is structurally zero, which CasADi takes for an input."""
    q, v, none = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX(1, 1)
    energy = v**2 / 2
    given: list[tuple[Callable[[], object], str]] = [
        (lambda: Coordinates.of(none, v), "q must consist of symbols"),
        (lambda: Coordinates.of(q, none), "v must consist of symbols"),
        (lambda: lagrangian_system(q=none, v=v, T=energy), "q must be a column of symbols"),
        (lambda: lagrangian_system(q=q, v=none, T=energy), "v must be a column of symbols"),
        (lambda: lagrangian_system(q=q, v=v, T=energy, u=none), "u must consist of symbols"),
        (lambda: lagrangian_system(q=q, v=v, T=energy, p=none), "p must consist of symbols"),
    ]
    for call, message in given:
        with pytest.raises(ModelError, match=message):
            call()
    tree = ARM.tree
    assert tree is not None
    with pytest.raises(ModelError, match="u must be a column of symbols"):
        tree_system(tree, parameters=ARM.parameters, u=ca.SX(2, 1), B=ca.SX.eye(2))


@pytest.mark.parametrize("values", [np.array([True, False]), np.array(["1", "2"]), np.array([1j, 1.0])], ids=repr)
def test_an_array_that_holds_no_numbers_is_no_expression(values: Any) -> None:  # noqa: ANN401
    tree = ARM.tree
    assert tree is not None
    with pytest.raises(EruginError, match="resistance of tree_system must be"):
        tree_system(tree, parameters=ARM.parameters, resistance=values)


@pytest.mark.parametrize("truth", [True, np.True_])
def test_a_truth_value_is_no_number_where_a_mapping_would_do(truth: Any) -> None:  # noqa: ANN401
    with pytest.raises(ModelError, match="side of EruginField must be"):
        EruginField(line((0.0, 0.0), (1.0, 0.0)), [BALL], speed=0.1, margin=0.1, side=truth)
    with pytest.raises(EruginError, match="offsets"):
        verify(EruginField(line((0.0, 0.0), (1.0, 0.0)), speed=0.1), offsets=truth)


def test_what_nothing_depends_on_is_a_number_too() -> None:
    """Arguments that a call happens not to use: without rows, without barriers, of a recomputed position."""
    field = EruginField(line((0.0, 0.0), (1.0, 0.0)), speed=0.1)
    foot = Contact("tip", normal=(0.0, 1.0))
    standing, values = with_contacts(ARM, [foot]), field.parameters.values(None)
    broken: Any = np.zeros(1)
    nothing: Any = np.zeros(0)
    names: Any = np.array(["a", "b"])
    calls: list[Callable[[], object]] = [
        lambda: start_on(PROGRAM, Q, t=math.nan),
        lambda: ConstrainedMotion(np.eye(2), np.zeros(2), np.zeros((0, 2)), np.zeros(0), lengths=math.nan),
        lambda: barrier_speeds(field, values, 0.0, 1.0, np.array([math.nan, 0.0])),
        lambda: barrier_speeds(field, values, 0.0, 1.0, np.zeros(3)),
        lambda: impact(standing, Q, V, [foot], p={foot.position_names[0]: math.nan}),
        lambda: Setup(ARM, LAW, Q, V, 0.1, 0.05, p={MASS: math.nan}),
        lambda: Setup(ARM, LAW, Q, V, 0.1, 0.05, controller_p={MASS: math.inf}),
        lambda: Setup(ARM, None, Q, V, 0.1, 0.05, phases=broken),
        lambda: python_control.drive(LAW, tolerance=math.nan),
    ]
    for call in calls:
        with pytest.raises(EruginError):
            call()
    assert Setup(ARM, LAW, Q, V, 0.1, 0.05, phases=nothing).phases == ()
    asked: Any = np.array(1e-3)
    report = verify(field, offsets=asked, samples=20)
    assert {approach.offset for row in report.rows for approach in row.approaches} == {1e-3, -1e-3}
    assert Parameters(names, ca.SX.sym("s", 2), {}).names == ("a", "b")


def test_a_seed_is_a_whole_number_from_zero_on() -> None:
    regulator = Lqr(ARM, [math.pi / 2, 0.0], weights=BrysonWeights(effort=1.0))
    seeds: list[Any] = [-1, 0.5, math.nan]
    for seed in seeds:
        with pytest.raises(ModelError, match="seed"):
            attraction_level(regulator, samples=1, seed=seed)


def test_a_deviation_that_overflows_is_no_result() -> None:
    law = OperationalSpace(ARM, ARM.points["tip"], [0.5, 0.5])
    assert np.isfinite(law.deviation(0.0, Q, V, [0.0, 0.0])).all()
    with pytest.raises(NotFiniteError, match="the deviation is not finite"):
        law.deviation(0.0, Q, V, [0.0, 0.0], dict.fromkeys(("l1", "l2"), 1.7e308))


@pytest.mark.slow
def test_events_that_come_together_have_an_end() -> None:
    """A ball whose bounces would never end if the times between them need not be distinguishable."""
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    ball = lagrangian_system(q=q, v=v, T=v**2 / 2, V=9.81 * q)
    modes = {"flight": Mode(events=(Event(q, "flight", "falling", Rebound(q, 0.6), "bounce"),))}
    cases: list[dict[str, Any]] = [
        {"tolerance": 1e-300},
        {"shortest": 1e-300},
        {"tolerance": 1e-8, "shortest": 1e-9},
    ]
    for given in cases:
        with pytest.raises(ModelError, match=rf"{list(given)[-1]} must be at least"):
            simulate_hybrid(ball, modes, [0.1], [0.0], 2.0, start="flight", step=0.01, **given)
    motion = simulate_hybrid(ball, modes, [0.1], [0.0], 2.0, start="flight", step=0.01, shortest=1e-10)
    assert motion.accumulation is not None


PLACE, SPEED, NAMED_MASS = (ca.SX.sym(name) for name in ("x", "v", "m"))


def setup() -> Setup:
    return swing(0.1)


def coordinates(name: str) -> object:
    return Coordinates(ca.SX.sym("t"), PLACE, SPEED, ca.SX.sym("a"), ca.SX.eye(1), (name,), ("m",))


def robot(name: str = "system", *, mass: str = "m") -> object:
    # CasADi ends a symbol's name at NUL, and takes no lone surrogate.
    m, x = ca.SX.sym(mass.encode(errors="replace").decode()), ca.SX.sym("x")
    return lagrangian_system(q=x, v=SPEED, p=m, nominal={mass: 1.0}, T=m * SPEED**2 / 2, name=name)


def scene(name: str) -> object:
    @scenario(name)
    def made() -> Setup:
        """It is not run."""
        return setup()

    return made


def own(setup: Setup) -> ProgramController:
    path = holonomic(setup.robot.q[0])
    return ProgramController(Program(setup.robot, path), realization="ideal")


@scenario("plain")
def plain() -> Setup:
    """An arm swings."""
    return setup()


BIRTHS: dict[str, Callable[[str], object]] = {
    "robot": lambda name: robot(name),
    "parameter of a robot": lambda name: robot(mass=name),
    "coordinates": coordinates,
    "parameter": lambda name: Parameters.declare({name: 1.0}),
    "prefix": lambda name: circle((0.0, 0.0), 1.0, name=name),
    "order 0": lambda name: holonomic(PLACE, name=name),
    "order 1": lambda name: nonholonomic(SPEED, name=name),
    "scenario": scene,
    "controller": lambda name: compare(setup(), {name: own}, seeds=1),
    "controller of a study": lambda name: Study(plain, {}, {name: own}),
    "factor": lambda name: Study(plain, {name: [1.0]}),
    "rival": lambda name: Setup(setup().robot, None, [0.0, 0.0], [0.0, 0.0], 1.0, 0.1, baselines={name: own}),
    "phase": lambda name: Phase(None, 1.0, name=name),
    "event": lambda name: Event(PLACE, None, name=name),
}


@pytest.mark.parametrize("birth", BIRTHS)
@pytest.mark.parametrize("name", ["a\0b", "\0", "x" * 3000, "車" * (LONGEST_NAME + 1), "\ud800"])
def test_what_cannot_be_a_name_is_refused_where_it_is_given(birth: str, name: str) -> None:
    with pytest.raises(EruginError, match=f"must be text, got .*: 1 to {LONGEST_NAME} characters") as refused:
        BIRTHS[birth](name)
    assert len(str(refused.value)) < 600
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("birth", [birth for birth in BIRTHS if birth not in ("controller", "factor")])
@pytest.mark.parametrize("name", ["θ̇ of the 2nd link", "two\nlines", "x" * (LONGEST_NAME - 10), "=1+1", "<b>", "車輪"])
def test_names_in_any_language_are_taken(birth: str, name: str) -> None:
    assert BIRTHS[birth](name) is not None


@pytest.mark.parametrize("name", [float("nan"), None, 7, ""])
def test_a_name_is_text(name: object) -> None:
    given: Any = name
    for birth in ("order 0", "robot", "parameter", "controller", "factor", "event"):
        with pytest.raises(EruginError, match="must be text, got"):
            BIRTHS[birth](given)


def test_names_of_bodies_and_members_are_names_too() -> None:
    for name in ("a\0b", "x" * 3000):
        with pytest.raises(EruginError, match="1 to 200 characters, without NUL"):
            planar_linkage({name: Bar(Link(1.0, 1.0, 0.5, 0.1), (0.0, 0.0))})


def test_the_name_of_a_study_has_an_end_too() -> None:
    with pytest.raises(EruginError, match="the name of a study must be text, got 3,000 characters"):
        Study(plain, name="x" * 3000)


@pytest.mark.parametrize("name", ["a\x01b", "a\x1b[31m", "a\ufffeb"])
@pytest.mark.parametrize("export", [mujoco.export, urdf.export])
def test_what_xml_cannot_hold_is_refused_by_what_writes_xml(export: Callable[..., str], name: str) -> None:
    robot = planar_linkage({name: Bar(Link(1.0, 1.0, 0.5, 0.1), (0.0, 0.0))})
    with pytest.raises(BridgeError, match="which XML cannot represent: rename it"):
        export(robot)


@pytest.mark.parametrize("name", ["a\0b", "x" * 3000])
def test_names_that_are_given_to_exports_are_names_too(name: str, tmp_path: Path) -> None:
    robot = planar_linkage({"bar": Bar(Link(1.0, 1.0, 0.5, 0.1), (0.0, 0.0))})
    law = ProgramController(Program(robot, holonomic(robot.q)), realization="actuated")
    exports: list[Callable[[], object]] = [
        lambda: mujoco.export(robot, name=name),
        lambda: urdf.export(robot, name=name),
        lambda: c.export(law, tmp_path / "c", name=name),
    ]
    for write in exports:
        with pytest.raises(EruginError, match="1 to 200 characters, without NUL"):
            write()
