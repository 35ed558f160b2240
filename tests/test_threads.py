"""Objects that several threads share answer as they answer one thread, to the last bit, or refuse."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, EruginField, circle, holonomic, line, preview, second_order
from erugin.constraints.field.probe import FieldProbe
from erugin.controllers import BufferedTick, ControlLimits, Program, ProgramController, analyse, start_on
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.controllers.wrappers import Fallback, RateLimit
from erugin.robots import Link, Robot, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import Simulator
from erugin.symbolic import EruginError, Kernel

Array = NDArray[np.float64]
Call = Callable[[int], bytes]

THREADS = 8


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def to_bytes(*arrays: object) -> bytes:
    return b"".join(np.asarray(array, dtype=np.float64).tobytes() for array in arrays)


def arm() -> Robot:
    links = [Link(0.7, 1.3, 0.3, 0.05), Link(0.5, 0.9, 0.2, 0.03), Link(0.4, 0.6, 0.25, 0.02)]
    return planar_manipulator(links)


def program(robot: Robot) -> Program:
    x, y = robot.points["tip"][0], robot.points["tip"][1]
    rule = Baumgarte(4.0, 4.0)
    return Program(robot, [holonomic(x - 0.9 - 0.1 * ca.sin(robot.t), perturbation=rule),
                           holonomic(y - 0.4, perturbation=rule)])  # fmt: skip


def state(i: int) -> tuple[float, Array, Array]:
    draw = np.random.default_rng(1000 + i)
    return 0.01 * i, np.array([0.4, 0.7, 0.9]) + 0.3 * draw.standard_normal(3), draw.standard_normal(3)


def law(realization: str, effort: float = 6.0, solver: ConicSolver | None = None) -> ProgramController:
    robot = arm()
    if realization != "bounded":
        return ProgramController(program(robot), realization=realization)  # type: ignore[arg-type]
    limits = ControlLimits.of(robot, effort=effort)
    return ProgramController(program(robot), realization="bounded", limits=limits, solver=solver)


def control(realization: str, solver: ConicSolver | None = None) -> Call:
    shared = law(realization, solver=solver)
    return lambda i: to_bytes(shared.control(*state(i)))


def solution(realization: str) -> Call:
    shared = law(realization)

    def call(i: int) -> bytes:
        found = shared.solve(*state(i))
        return to_bytes(found.multipliers, found.force, found.input, found.acceleration, found.status.value)

    return call


def curved() -> Call:
    """Rows nonlinear in the accelerations: each thread follows its branch from the first state on."""
    robot = arm()
    a = robot.coordinates.a
    row = second_order(a[0] + 0.05 * a[0] ** 3 - ca.sin(robot.t))
    shared = ProgramController(Program(robot, [row]), realization="ideal")

    def call(i: int) -> bytes:
        shared.reset()
        return to_bytes(*(shared.control(0.02 * k, *state(i)[1:]) for k in range(3)))

    return call


def rate_limited() -> Call:
    shared = RateLimit(law("actuated"), 50.0)
    shared.advance(0.0, *state(0)[1:])
    return lambda i: to_bytes(shared.control(*state(i)))


def supervised() -> Call:
    first = law("actuated")
    shared = Fallback(first, ProgramController(first.program, realization="actuated", method=LeastNormMultipliers()))
    shared.advance(0.0, *state(0)[1:])
    return lambda i: to_bytes(shared.control(*state(i)))


def evaluated() -> Call:
    """More expressions than a robot keeps kernels of, so that some are always dropped and built again."""
    robot = arm()
    expressions = [ca.sin(robot.q) * (k + 1) + robot.v for k in range(40)]

    def call(i: int) -> bytes:
        _, q, v = state(i)
        return to_bytes(robot.evaluate(expressions[i % 40], q=q, v=v), robot.evaluate(robot.mass_matrix, q=q))

    return call


def field() -> EruginField:
    path = line((0.0, 0.0), (4.0, 0.0), name="path")
    return EruginField(path, [circle((2.0, 0.1), 0.3, name="disc")], speed=0.5, margin=0.1)


def previewed() -> Call:
    shared = field()

    def call(i: int) -> bytes:
        found = preview(shared, (0.0, 0.02 * i - 0.06), 6.0, step=0.01)
        return to_bytes(found.clearance, found.progress, found.fastest)

    return call


def probed() -> Call:
    shared = FieldProbe.of(field(), field().parameters.values())

    def call(i: int) -> bytes:
        draw = np.random.default_rng(i)
        found = shared.motion.at(draw.uniform(-1.0, 4.0, (7, 2)), np.zeros(7))
        return to_bytes(*found.values())

    return call


def analysed() -> Call:
    shared = program(arm())

    def call(i: int) -> bytes:
        t, q, v = state(i)
        found = analyse(shared, t=t, q=q, v=v)
        return to_bytes(found.rank, found.multipliers, found.acceleration, found.force)

    return call


def started() -> Call:
    shared = program(arm())

    def call(i: int) -> bytes:
        found = start_on(shared, state(i % 5)[1])
        return to_bytes(*found)

    return call


def simulated(realization: str) -> Call:
    shared = law(realization)
    simulator = Simulator(shared.robot, shared)

    def call(i: int) -> bytes:
        run = simulator.run(state(i)[1], np.zeros(3), 0.05, step=0.01)
        return to_bytes(run.t, run.q, run.v, run.u)

    return call


def simulated_apart(realization: str) -> Call:
    """One law, and a simulator for each run."""
    shared = law(realization, 40.0) if realization != "limited" else RateLimit(law("bounded", 40.0), 50.0)

    def call(i: int) -> bytes:
        run = simulate(shared.robot, shared, state(i)[1], np.zeros(3), 0.03, step=0.01)
        return to_bytes(run.t, run.q, run.v, run.u)

    return call


def kernel(compiled: bool) -> Call:
    x, A = ca.SX.sym("x", 3), ca.SX.sym("A", 2, 3)
    shared = Kernel("shared", {"x": x, "A": A}, {"y": ca.sin(A @ x), "z": ca.exp(-A.T)}, compiled=compiled)

    def call(i: int) -> bytes:
        draw = np.random.default_rng(i)
        return to_bytes(*shared(draw.standard_normal(3), draw.standard_normal((2, 3))))

    return call


CASES: dict[str, tuple[int, Callable[[], Call]]] = {
    "kernel, compiled": (3000, lambda: kernel(True)),
    "kernel, interpreted": (3000, lambda: kernel(False)),
    "control, ideal": (2000, lambda: control("ideal")),
    "control, actuated": (2000, lambda: control("actuated")),
    "control, bounded": (2000, lambda: control("bounded")),
    "control, bounded by a solver": (120, lambda: control("bounded", ConicSolver())),
    "control, nonlinear rows": (20, curved),
    "control, rate-limited": (200, rate_limited),
    "control, supervised": (200, supervised),
    "solve, ideal": (200, lambda: solution("ideal")),
    "solve, bounded": (60, lambda: solution("bounded")),
    "evaluate": (200, evaluated),
    "preview": (14, previewed),
    "probe of a field": (60, probed),
    "analyse": (60, analysed),
    "start_on": (10, started),
    "simulator, compiled loop": (12, lambda: simulated("actuated")),
    "simulator, called law": (6, lambda: simulated("bounded")),
    "one law in simulations": (4, lambda: simulated_apart("bounded")),
    "one wrapped law in simulations": (4, lambda: simulated_apart("limited")),
}
"""How many different calls, and what makes the shared object and a call of it."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.compiled) if name == "kernel, compiled" else name for name in CASES]
)
def test_shared_objects_answer_each_thread_as_one(name: str) -> None:
    count, build = CASES[name]
    call = build()
    expected = [call(i) for i in range(count)]
    assert len(set(expected)) > 1
    begin = threading.Barrier(THREADS)

    def wrong(thread: int) -> list[int]:
        begin.wait()
        places = [(i + thread * count // THREADS) % count for i in range(count)]
        return [i for i in places if call(i) != expected[i]]

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(wrong, range(THREADS))) == [[]] * THREADS


def test_a_bound_tick_belongs_to_the_thread_that_calls_it_first() -> None:
    shared = law("actuated")
    tick = BufferedTick.of(shared)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(tick).result()
        with pytest.raises(EruginError, match=r"BufferedTick\.of"):
            tick()
        with pytest.raises(EruginError, match=r"another thread"):
            tick()
        pool.submit(tick).result()

    def own(i: int) -> bytes:
        mine = BufferedTick.of(shared)
        mine.t[0], mine.q[:], mine.v[:] = state(i)
        mine()
        return to_bytes(mine.output)

    with ThreadPoolExecutor(THREADS) as pool:
        assert list(pool.map(own, range(40))) == [to_bytes(shared.control(*state(i))) for i in range(40)]
