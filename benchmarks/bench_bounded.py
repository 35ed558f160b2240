"""One control tick of the seven-joint arm: unbounded, bounded, and a quadratic programme in accelerations and torques.

The hand follows a point (3 rows) or a twist (6 rows), at states along a closed loop; each tick is one ``control()``
from Python, after ``advance()`` with the state before. Bounds are loose, or such that other joints can often take over,
or too tight for the program. The baseline is the problem that TSID and similar libraries solve, least
|Θ a − β|² + 10⁻⁶ |(a, u)|² with M a + h = u and bounds on u, in Pinocchio's terms and by ``quadprog`` or ``proxsuite``
where they are installed.

    python benchmarks/bench_bounded.py [rounds]
"""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.controllers import ControlLimits, Program, ProgramController, Status
from erugin.controllers.bounded import ConicSolver
from erugin.scenarios import simulate
from erugin.symbolic import Kernel

# The cases and files of the tests, which stand beside this folder.
sys.path.insert(0, str(Path(__file__).parent.parent))
cases: Any = importlib.import_module("tests.support.bounded_cases")
urdf: Any = importlib.import_module("tests.support.urdf")

Array = NDArray[np.float64]
States = list[tuple[float, Array, Array]]
SAMPLES = 150
STEP = 2e-3


class Case(Protocol):
    """A program and a state near which it is looked at."""

    program: Program
    q: Array
    v: Array


def states(case: Case, limits: ControlLimits) -> States:
    """Samples of the closed loop."""
    controller = ProgramController(case.program, realization="bounded", limits=limits)
    motion = simulate(case.program.robot, controller, case.q, case.v, SAMPLES * STEP, step=STEP)
    return [(float(t), q, v) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)]


def ticks(controller: ProgramController, along: States) -> tuple[list[float], int]:
    """Times of ``control`` at the samples, and how many of them were limited."""
    controller.reset()
    times: list[float] = []
    limited = 0
    for before, now in itertools.pairwise(along):
        controller.advance(*before)
        began = time.perf_counter()
        controller.control(*now)
        times.append(time.perf_counter() - began)
    for now in along[1::10]:
        limited += controller.solve(*now).status is Status.LIMITED
    return times, limited


def rival(case: Case, limits: ControlLimits) -> dict[str, Callable[[float, Array, Array], Array]]:
    """Quadratic programmes in (a, u) by the solvers that are installed."""
    found: dict[str, Callable[[float, Array, Array], Array]] = {}
    robot, program = case.program.robot, case.program
    pinocchio: Any = importlib.import_module("pinocchio")
    whole = pinocchio.buildModelFromUrdf(str(urdf.real_robots()["panda"]))
    fingers = [whole.getJointId(f"panda_finger_joint{i}") for i in (1, 2)]
    model = pinocchio.buildReducedModel(whole, fingers, np.zeros(whole.nq))
    data = model.createData()
    rows = Kernel(
        "rows",
        {"t": robot.t, "q": robot.q, "v": robot.v, "p": program.parameters.symbols},
        {"theta": ca.densify(program.theta), "beta": ca.densify(program.beta)},
    )
    p, n = program.parameters.values(), 7

    def terms(t: float, q: Array, v: Array) -> tuple[Array, Array, Array, Array]:
        theta, beta = rows(t, q, v, p)
        M = pinocchio.crba(model, data, q)
        h = pinocchio.nonLinearEffects(model, data, q, v)
        H = np.zeros((2 * n, 2 * n))
        H[:n, :n] = theta.T @ theta + 1e-6 * np.eye(n)
        H[n:, n:] = 1e-6 * np.eye(n)
        return H, np.concatenate((theta.T @ beta, np.zeros(n))), np.hstack((M, -np.eye(n))), h

    try:
        quadprog: Any = importlib.import_module("quadprog")
    except ImportError:
        quadprog = None
    if quadprog is not None:
        bounds = np.hstack((np.zeros((n, n)), np.eye(n)))

        def by_quadprog(t: float, q: Array, v: Array) -> Array:
            H, g, equal, h = terms(t, q, v)
            C = np.vstack((equal, bounds, -bounds)).T
            b = np.concatenate((-h, limits.lower, -limits.upper))
            return np.asarray(quadprog.solve_qp(H, g, C, b, n)[0][n:])

        found["(a, u) by quadprog"] = by_quadprog
    try:
        proxsuite: Any = importlib.import_module("proxsuite")
    except ImportError:
        return found
    qp = proxsuite.proxqp.dense.QP(2 * n, n, n)
    C = np.hstack((np.zeros((n, n)), np.eye(n)))
    qp.settings.eps_abs = 1e-8
    qp.init(np.eye(2 * n), np.zeros(2 * n), np.zeros((n, 2 * n)), np.zeros(n), C, limits.lower, limits.upper)

    def by_proxqp(t: float, q: Array, v: Array) -> Array:
        H, g, equal, h = terms(t, q, v)
        qp.update(H=H, g=-g, A=equal, b=-h)
        qp.solve()
        return np.asarray(qp.results.x[n:])

    found["(a, u) by proxsuite"] = by_proxqp
    return found


def main(rounds: int) -> None:
    print(
        f"solver: {ConicSolver().name}; medians of {rounds} interleaved rounds of {SAMPLES} ticks [µs], lower quartile"
    )
    print("| rows | tick | median | quartile | limited |")
    print("|---|---|---|---|---|")
    for name, case, shared, tight in (("3", cases.panda_tip(), 13.0, 8.0), ("6", cases.panda_hand(), 15.0, 10.0)):
        robot = case.program.robot
        wide = cases.effort_only(robot, 1e6)
        along = states(case, cases.effort_only(robot, 60.0))
        controllers = {
            "actuated": ProgramController(case.program, realization="actuated"),
            "bounded, loose": ProgramController(case.program, realization="bounded", limits=wide),
            f"bounded, {shared:g} N m": ProgramController(
                case.program, realization="bounded", limits=cases.effort_only(robot, shared)
            ),
            f"bounded, {tight:g} N m": ProgramController(
                case.program, realization="bounded", limits=cases.effort_only(robot, tight)
            ),
            f"bounded, {tight:g} N m and joints": ProgramController(
                case.program, realization="bounded", limits=ControlLimits.of(robot, effort=tight)
            ),
            "bounded, joints within 0.03 rad": ProgramController(
                case.program,
                realization="bounded",
                limits=ControlLimits.of(robot, joint_lower=case.q - 0.03, joint_upper=case.q + 0.03),
            ),
            "bounded, joints at 0.3 rad/s²": ProgramController(
                case.program, realization="bounded", limits=ControlLimits.of(robot, acceleration=0.3)
            ),
            "bounded, hand at 0.05 m/s²": ProgramController(
                case.program,
                realization="bounded",
                limits=ControlLimits.of(robot, point_acceleration={"panda_hand": 0.05}),
            ),
        }
        rivals = rival(case, cases.effort_only(robot, tight))
        times: dict[str, list[float]] = {key: [] for key in (*controllers, *rivals)}
        limited: dict[str, int] = {}
        for _ in range(rounds):
            for key, controller in controllers.items():
                taken, limited[key] = ticks(controller, along)
                times[key] += taken
            for key, solve in rivals.items():
                for state in along[1:]:
                    began = time.perf_counter()
                    solve(*state)
                    times[key].append(time.perf_counter() - began)
        for key, taken in times.items():
            share = f"{limited[key]} of {len(along[1::10])}" if key in limited else ""
            median, quartile = np.median(taken) * 1e6, np.percentile(taken, 25) * 1e6
            print(f"| {name} | {key} | {median:.0f} | {quartile:.0f} | {share} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
