"""Pickled and copied objects compute the same numbers to the last bit, in another process too."""

from __future__ import annotations

import copy
import io
import multiprocessing
import pickle
import weakref
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Constraint, EruginField, Perturbation, circle, holonomic, implicit
from erugin.constraints.curves import Curve
from erugin.controllers import Controller, Program, ProgramController, Tick
from erugin.robots import Link, Robot, planar_manipulator
from erugin.robots.examples import franka_panda
from erugin.scenarios import Scenario, Setup
from erugin.scenarios.catalogue import SCENARIOS
from erugin.simulation import Simulator, Trajectory
from erugin.symbolic import EruginError, Kernel, ModelError
from erugin.symbolic import pickling as pickles

from .support import curves, fields, shapes
from .support.arms import disc_program, two_link_arm
from .support.constraint_forms import FORMS
from .support.controller_cases import BUILDERS
from .support.controller_cases.robots import CASES, RobotCase, robot_case
from .support.integrators import ROWS, Row, name_of
from .support.perturbations import EXAMPLES, right_side
from .support.relations import RELATIONS

Array = NDArray[np.float64]
T = TypeVar("T")


@pytest.fixture(
    params=["another process", *(pytest.param(way, marks=pytest.mark.slow) for way in ("same process", "copy"))]
)
def passed_on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[T], T]:
    """An object through a pickle in the process that wrote it, in one that knows none of its symbols, or copied."""

    def away(given: T) -> T:
        written = pickle.dumps(given)
        with monkeypatch.context() as patch:
            patch.setattr(pickles, "_SYMBOLS", weakref.WeakValueDictionary())
            patch.setattr(pickles, "_BY_HASH", weakref.WeakValueDictionary())
            return pickle.loads(written)  # type: ignore[no-any-return]

    ways = {"same process": lambda given: pickle.loads(pickle.dumps(given)), "copy": copy.deepcopy}
    return ways.get(request.param, away)


def draw(sizes: Mapping[str, tuple[int, int]]) -> list[Array]:
    random = np.random.default_rng(7)
    return [random.uniform(0.2, 0.8, (r, c) if c > 1 else r) for r, c in sizes.values()]


def numbers(inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> bytes:
    """Outputs at one place."""
    kernel = Kernel("probed", inputs, {key: ca.densify(e) for key, e in outputs.items()}, compiled=False)
    return b"".join(value.tobytes() for value in kernel(*draw(kernel.inputs)))


def graph(inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> str:
    """Every operation, in the order of the graph, and the pattern of every output."""
    return ca.Function("graph", list(inputs.values()), list(outputs.values())).serialize()


def of_robot(robot: Robot) -> tuple[bytes, str]:
    c = robot.coordinates
    inputs = {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "u": robot.u, "p": robot.p}
    outputs = {"M": robot.mass_matrix, "h": robot.bias, "B": robot.input_matrix, "N": c.N, "A": robot.natural_form[0]}
    outputs |= {"a": robot.acceleration, "T": robot.kinetic_energy, "V": robot.potential_energy, **robot.points}
    outputs |= {f"rate of {name}": c.compact_rate(c.rate(point)) for name, point in robot.points.items()}
    names = {f"o{i}": e for i, e in enumerate(outputs.values())}
    return numbers(inputs, names), graph(inputs, names)


def of_program(program: Program) -> tuple[bytes, str]:
    c = program.robot.coordinates
    inputs = {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": program.p}
    outputs = {"theta": program.theta, "beta": program.beta, "y": program.deviation, "active": program.active}
    return numbers(inputs, outputs), graph(inputs, outputs)


def of_curve(curve: Curve) -> tuple[bytes, str]:
    x, t = ca.SX.sym("x", curve.dimension), ca.SX.sym("t")
    inputs, outputs = {"x": x, "t": t, "p": curve.parameters.symbols}, {"f": curve.functions(x, t)}
    return numbers(inputs, outputs), repr(curve.parameters.values())


def of_field(field: EruginField) -> tuple[bytes, str]:
    x, t = ca.SX.sym("x", field.dimension), ca.SX.sym("t")
    inputs, outputs = {"x": x, "t": t, "p": field.parameters.symbols}, {"w": field.velocity(x, t)}
    return numbers(inputs, outputs), repr(field.parameters.values())


@pytest.mark.parametrize("name", CASES)
def test_robots(name: str, passed_on: Callable[[Robot], Robot]) -> None:
    robot = robot_case(name).robot
    again = passed_on(robot)
    assert of_robot(again) == of_robot(robot)
    assert dict(again.nominal) == dict(robot.nominal)
    assert again.coordinates.names == robot.coordinates.names


@pytest.mark.parametrize("name", [*FORMS, *RELATIONS])
def test_programs(name: str, passed_on: Callable[[Program], Program]) -> None:
    robot = two_link_arm()
    make: Callable[[Robot], Constraint] = {**FORMS, **RELATIONS}[name][1]
    program = Program(robot, [make(robot)])
    again = passed_on(program)
    assert of_program(again) == of_program(program)
    assert again.rows == program.rows


@pytest.mark.parametrize("equation", EXAMPLES, ids=lambda e: type(e).__name__)
def test_perturbation_equations(equation: Perturbation, passed_on: Callable[[Perturbation], Perturbation]) -> None:
    y = np.array([0.4, -0.3])[: equation.required_rows or 2]
    again = passed_on(equation)
    assert right_side(again, y, 0.7 * y, time=0.2).tobytes() == right_side(equation, y, 0.7 * y, time=0.2).tobytes()
    assert again.gains == equation.gains


CURVES: dict[str, Curve] = {
    **{f"curve {case.label}": case.curve for case in curves.CASES},
    **{f"shape {solid.label}": solid.curve for solid in shapes.SOLIDS},
}

OF_LAMBDAS = {"shape swinging-5", "shape breathing-ellipse", "curve drifting-parabola"} | {
    f"curve {label}" for label in ("parametric-2", "parametric-3", "ellipse", "ring-in-space", "ellipsoid")
}


@pytest.mark.parametrize("name", [name for name in CURVES if name not in OF_LAMBDAS])
def test_curves_and_shapes(name: str, passed_on: Callable[[Curve], Curve]) -> None:
    assert of_curve(passed_on(CURVES[name])) == of_curve(CURVES[name])


@pytest.mark.parametrize("name", sorted(OF_LAMBDAS))
def test_curves_of_unnamed_functions_are_refused(name: str) -> None:
    message = r" of \w+ cannot be pickled: '.*<lambda>', line \d+ of .*tests.* define it there with def"
    with pytest.raises(ModelError, match=message):
        pickle.dumps(CURVES[name])
    assert of_curve(copy.deepcopy(CURVES[name])) == of_curve(CURVES[name])


@pytest.mark.parametrize("scene", [s for s in fields.ALL if "implicit" not in s.label], ids=lambda s: s.label)
def test_fields(scene: fields.Scene, passed_on: Callable[[EruginField], EruginField]) -> None:
    assert of_field(passed_on(scene.field)) == of_field(scene.field)


def outputs(law: Controller, case: RobotCase) -> bytes:
    """Of a law from the start on, with all that it remembers on the way."""
    law.reset()
    recorded: list[Array] = []
    for k in range(3):
        t, q = k * case.step, case.q0 + k * case.step * 0.1
        law.advance(t, q, case.v0)
        recorded += [law.control(t, q, case.v0), law.observe(t, q, case.v0).pivots]
    return b"".join(each.tobytes() for each in recorded)


@pytest.mark.parametrize("kind", BUILDERS, ids=lambda kind: kind.__name__)
def test_laws(kind: type[Controller], passed_on: Callable[[Controller], Controller]) -> None:
    case = next(case for case in map(robot_case, CASES) if not kind.unsupported_reason(case.robot))
    # With kernels built here: those of a law that tests share may be of an earlier test without a compiler.
    law = pickle.loads(pickle.dumps(BUILDERS[kind](case)))
    again = passed_on(law)
    assert again is not law
    expected = outputs(law, case)
    before = law.control(2 * case.step, case.q0, case.v0)
    assert outputs(again, case) == expected
    again.reset()
    assert law.control(2 * case.step, case.q0, case.v0).tobytes() == before.tobytes()
    # A law that has been called goes with what it remembers.
    later = passed_on(law)
    t, q = 3 * case.step, case.q0 + 3e-1 * case.step
    for each in (law, later):
        each.advance(t, q, case.v0)
    assert later.control(t, q, case.v0).tobytes() == law.control(t, q, case.v0).tobytes()


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_simulators_and_trajectories(row: Row, passed_on: Callable[[object], object]) -> None:
    program = disc_program()
    law = ProgramController(program, realization="actuated")
    simulator = Simulator(program.robot, law, integrator=row.method)
    again = cast(Simulator, passed_on(simulator))
    start = [0.3, 0.8], [0.2, -0.1], 0.02
    run = simulator.run(*start, step=5e-3)
    other = again.run(*start, step=5e-3)
    kept = cast(Trajectory, passed_on(run))
    for found in (other, kept):
        for key in ("t", "q", "v", "u", "deviation", "energy"):
            assert getattr(found, key).tobytes() == getattr(run, key).tobytes()
    assert kept.q is not run.q
    robot = again.robot
    assert other.evaluate(robot.points["tip"]).tobytes() == run.evaluate(program.robot.points["tip"]).tobytes()


def test_another_process() -> None:
    """A law, a simulator and a trajectory in a new process, and back."""
    program = disc_program()
    law = ProgramController(program, realization="actuated")
    simulator = Simulator(program.robot, law)
    start = [0.3, 0.8], [0.2, -0.1]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        u = pool.apply(law.control, (0.0, *start))
        motion = pool.apply(simulator.run, (*start, 0.05), {"step": 1e-2})
        robot = pool.apply(copy.deepcopy, (program.robot,))
        tip = pool.apply(motion.evaluate, (program.robot.points["tip"],))
    assert u.tobytes() == law.control(0.0, *start).tobytes()
    here = simulator.run(*start, 0.05, step=1e-2)
    assert motion.q.tobytes() == here.q.tobytes()
    assert tip.tobytes() == here.evaluate(program.robot.points["tip"]).tobytes()
    # What comes back is in the symbols of the robot that went away.
    assert ca.is_equal(robot.q, program.robot.q)
    expression = program.robot.points["tip"] * 2
    assert motion.evaluate(expression).tobytes() == here.evaluate(expression).tobytes()
    assert Program(program.robot, [holonomic(robot.points["tip"][0] - 0.5)]).theta.shape == (1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_setups_of_the_catalogue(scenario: Scenario, passed_on: Callable[[Setup], Setup]) -> None:
    setup = scenario()
    again = passed_on(setup)
    assert of_robot(again.robot)[0] == of_robot(setup.robot)[0]
    assert set(again.pictures) == set(setup.pictures)


def test_separate_pickles_share_their_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = two_link_arm()
    written = pickle.dumps(robot), pickle.dumps(robot.points["tip"] ** 2)
    monkeypatch.setattr(pickles, "_SYMBOLS", weakref.WeakValueDictionary())
    monkeypatch.setattr(pickles, "_BY_HASH", weakref.WeakValueDictionary())
    again, square = (pickle.loads(each) for each in written)
    np.testing.assert_array_equal(
        again.evaluate(square, q=[0.1, 0.2]), robot.evaluate(robot.points["tip"] ** 2, q=[0.1, 0.2])
    )
    with pytest.raises(EruginError):
        robot.evaluate(square, q=[0.1, 0.2])


def evaluated(x: ca.SX, e: ca.SX | ca.DM, place: ca.DM) -> bytes:
    return ca.Function("f", [x], [ca.SX(e)]).call([place])[0].full().tobytes()


def test_expressions_come_back_as_they_were() -> None:
    x = ca.SX.sym("x", 3)
    sparse = ca.SX(4, 4)
    sparse[1, 2], sparse[3, 0] = ca.sin(x[0]), 0.0
    given: list[ca.SX | ca.DM] = [
        sparse, ca.SX(2, 3), ca.SX(0, 1), ca.SX(0.1), ca.SX([np.inf, -np.inf, np.nan, 5e-324, 1 / 3]), x.T,
        ca.if_else(x[0] > 0, ca.atan2(x[1], x[2]), ca.fmod(x[0], 0.3)), ca.DM([[0.1, np.nan]]), ca.SX.eye(3) * x,
    ]  # fmt: skip
    for one, other in zip(given, pickle.loads(pickle.dumps(given)), strict=True):
        assert type(other) is type(one)
        assert other.sparsity() == one.sparsity()
        place = ca.DM([0.3, 0.2, 0.1])
        found = [evaluated(x, e, place) for e in (one, other)]
        assert found[0] == found[1]
        assert str(one) == str(other)
    again = pickle.loads(pickle.dumps(x[1]))
    assert ca.is_equal(again, x[1])
    called = ca.Function("never", [x], [ca.sin(x)], {"never_inline": True})(x)
    with pytest.raises(EruginError, match="never_inline"):
        pickle.dumps(called)


@pytest.mark.slow
def test_shared_operations_are_written_once() -> None:
    """Length grows with the graph, not with the number of expressions over it, and nothing descends by recursion."""
    x = ca.SX.sym("x")
    y, kept = x, list[ca.SX]()
    for k in range(60_000):
        y = ca.sin(y) + 0.001 * k
        if k % 200 == 0:
            kept.append(y)
    kept.append(y)
    again = pickle.loads(pickle.dumps([x, *kept]))
    assert len(pickle.dumps([x, *kept])) < 2 * len(pickle.dumps([x, y]))
    values = [ca.Function("f", [s], [ca.vertcat(*e)]).call([ca.DM(0.3)])[0].full() for s, *e in ([x, *kept], again)]
    assert values[0].tobytes() == values[1].tobytes()
    whole = ca.Function("f", [again[0]], [ca.vertcat(*again[1:])])
    assert whole.n_instructions() == ca.Function("f", [x], [ca.vertcat(*kept)]).n_instructions()
    # Another pickle of the same expressions, while what the first has written is still kept.
    with io.BytesIO() as file:
        first = pickle.Pickler(file)
        first.dump(kept)
        assert len(pickle.loads(pickle.dumps(kept[-1:]))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: planar_manipulator([Link(0.4, 2.0, 0.2, 0.03)] * 30), franka_panda])
def test_long_chains(make: Callable[[], Robot], passed_on: Callable[[Robot], Robot]) -> None:
    robot = make()
    assert of_robot(passed_on(robot))[0] == of_robot(robot)[0]


def moving(x: ca.SX, t: ca.SX) -> ca.SX:
    return x[0] - 0.1 * ca.sin(t) - 0.2 * x[1]


def test_functions_of_users() -> None:
    """Those with a name at the top level go by it; others are refused with the place and the remedy."""
    curve = implicit(moving, 2, length=1.0)
    assert of_curve(pickle.loads(pickle.dumps(curve))) == of_curve(curve)
    unnamed = implicit(lambda x, t: x[0] - 0.2 * x[1], 2, length=1.0)
    field = EruginField(unnamed, [circle((0.5, 0.1), 0.2)], speed=0.3, margin=0.05)
    with pytest.raises(ModelError, match=r"equation of Implicit .*test_pickles\.py.* define it there with def"):
        pickle.dumps(field)
    assert of_field(copy.deepcopy(field)) == of_field(field)

    class Local(Controller):
        def __init__(self, robot: Robot) -> None:
            self.robot = robot

        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(np.zeros(2))

    with pytest.raises(ModelError, match=r"'test_functions_of_users.<locals>.Local' .* move it to the top level"):
        pickle.dumps(Local(two_link_arm()))
    assert type(copy.deepcopy(Local(two_link_arm()))) is Local
