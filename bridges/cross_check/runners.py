"""Closed loops run by every bridge: the cases, and how each bridge runs one."""

from __future__ import annotations

import ctypes
import functools
import importlib
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...scenarios.scenario import Scenario
from ...scenarios.setup import Setup
from ...simulation.simulate import simulate
from ...simulation.trajectory import Trajectory
from ...symbolic.compiler import find_compiler
from ...symbolic.errors import BridgeError, BridgeWarning
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.runge_kutta import rk4_step

Array = NDArray[np.float64]
CASE_NAMES = ("two-link-arm-moving-obstacle", "seven-joint-arm-on-a-sphere")


@dataclass(frozen=True, eq=False)
class CrossCheckCase:
    """A closed loop, and how it moves here.

    Attributes:
        name: of the scenario.
        setup: robot, law and start.
        watched: the point whose places are compared, in the robot's symbols, shape (2,) or (3,) [m].
        label: what that point is called.
    """

    name: str
    setup: Setup
    watched: ca.SX
    label: str

    @functools.cached_property
    def reference(self) -> Trajectory:
        """The motion by RK4 here, with the law at every stage."""
        found = self.setup.run()
        assert isinstance(found, Trajectory)
        return found

    @property
    def duration(self) -> float:
        """Until its end here [s]."""
        return float(self.reference.t[-1] - self.reference.t[0])

    def places(self, q: Array) -> Array:
        """Where the point is, shape (N, 2) or (N, 3) [m].

        Args:
            q: coordinates, shape (N, nq).
        """
        robot, p = self.setup.robot, self.setup.robot.parameters.values(self.setup.p)
        place = ca.Function("place", [robot.q, robot.p], [self.watched])
        found = np.asarray(place.map(len(q))(q.T, np.tile(p, (len(q), 1)).T), dtype=np.float64)
        return found.T


def build_case(scenario: Scenario, duration: float | None = None) -> CrossCheckCase:
    """A scenario with one law, to be run elsewhere too.

    Args:
        scenario: of the catalogue, or a user's.
        duration: longest time of the motion [s]; the scenario's own if not given.

    Raises:
        BridgeError: for a motion in phases, without a law, or of a robot that has no point to be watched.
    """
    setup = scenario() if duration is None else scenario(duration=duration)
    if setup.phases or setup.controller is None:
        raise BridgeError(f"{scenario.name} is not driven by one law, so no other simulator can be given it")
    robot = setup.robot
    frames, points = list(robot.frames), list(robot.points)
    # The tip of an arm; else where a hand's tool is, or what was named last.
    tools = [name for name in frames if name.endswith("tcp")]
    label = next((name for name in ["tip"][: "tip" in points] + tools + points[::-1] + frames[::-1]), "")
    if not label:
        raise BridgeError(f"{scenario.name}: {robot.name} has no point whose places could be compared")
    watched = robot.points[label] if label in robot.points else robot.frames[label].position
    return CrossCheckCase(scenario.name, setup, watched, label)


Motion = tuple[Array, Array]
"""Times, shape (N,) [s], and coordinates, shape (N, nq)."""


@dataclass(frozen=True)
class BridgeRunner:
    """One bridge's way.

    Attributes:
        bridge: name of its package in ``erugin.bridges``.
        there: what of it runs in the other program.
        scheme: how the motion is integrated.
        run: from a case and a step [s] to a motion.
    """

    bridge: str
    there: str
    scheme: str
    run: Callable[[CrossCheckCase, float], Motion]


def run_simulate(bridge: str) -> Callable[[CrossCheckCase, float], Motion]:
    """By the bridge's own ``simulate``.

    Args:
        bridge: its name.
    """

    def run(case: CrossCheckCase, step: float) -> Motion:
        setup = case.setup
        module: Any = importlib.import_module(f"...{bridge}", f"{__package__}.runners")
        found: Trajectory = module.simulate(
            *(setup.robot, setup.controller, setup.q0, setup.v0, case.duration),
            step=step,
            p=setup.p,
            controller_p=setup.controller_p,
        )
        return found.t, found.q

    return run


def run_in_pinocchio(case: CrossCheckCase, step: float) -> Motion:
    """RK4 here on Pinocchio's articulated-body algorithm, with the law in Pinocchio's coordinates."""
    from .. import pinocchio as bridge

    pin: Any = import_optional("pinocchio", "pinocchio")
    setup, law = case.setup, _law(case)
    with warnings.catch_warnings():
        # What the model has no place for is added below.
        warnings.simplefilter("ignore", BridgeWarning)
        exported = bridge.export(setup.robot, p=setup.p)
    if exported.constraints:
        raise BridgeError(f"{case.name} has loops, which the articulated-body algorithm does not close")
    drive = bridge.drive(law, exported, p=setup.controller_p or None)
    model, data, nq = exported.model, exported.data, exported.model.nq
    if nq != exported.model.nv:
        raise BridgeError(f"{case.name} floats: its quaternion takes another integrator than RK4 on q and v")

    def rate(t: float, x: Array) -> Array:
        q, v = x[:nq], x[nq:]
        tau = drive(q, v, t) + exported.passive(q, v, t)
        return np.concatenate([v, pin.aba(model, data, q, v, tau)])

    x = np.concatenate(exported.states.to_model(setup.q0, setup.v0))
    return _run_steps(
        case,
        step,
        lambda t, state, h: rk4_step(rate, t, state, h),
        x,
        lambda state: exported.states.from_model(state[:nq], state[nq:])[0],
    )


def run_as_c(case: CrossCheckCase, step: float) -> Motion:
    """The closed loop as C99, compiled and called step by step."""
    from .. import c as bridge

    setup, law = case.setup, _law(case)
    compiler = find_compiler()
    if isinstance(compiler, str):
        raise BridgeError(f"the C text cannot be compiled: {compiler}")
    with tempfile.TemporaryDirectory(prefix="erugin-c-") as place:
        written = bridge.export(
            law, Path(place) / "law", with_plant=setup.robot, p=setup.controller_p or None, plant_p=setup.p or None
        )
        sources = sorted(written.folder.glob("law*.c"))
        library = Path(place) / "law.so"
        compiler.compile("\n".join(f'#include "{source}"' for source in sources), library)
        loop = ctypes.CDLL(str(library))
        plant, own = (_numbers(len(parameters)) for parameters in (setup.robot.parameters, law.parameters))
        loop.law_plant_parameters_nominal(plant)
        loop.law_parameters_nominal(own)
        number = ctypes.c_double
        nq, nv = setup.robot.coordinates.nq, setup.robot.coordinates.nv
        start = [np.asarray(each, dtype=np.float64) for each in (setup.q0, setup.v0)]
        q, v = (number * nq)(*start[0].tolist()), (number * nv)(*start[1].tolist())

        def follow(t: float, state: Array, h: float) -> Array:
            status = loop.law_plant_closed_step(plant, own, number(t), number(h), q, v)
            if status:
                loop.law_status_text.restype = ctypes.c_char_p
                raise BridgeError(f"at t = {t:g} s: {loop.law_status_text(status).decode()}")
            return np.array([*q, *v])

        return _run_steps(case, step, follow, np.concatenate(start), lambda state: state[:nq])


def run_from_file(case: CrossCheckCase, step: float) -> Motion:
    """The law written to a file, read again, and simulated here."""
    from .. import casadi as bridge

    setup, law = case.setup, _law(case)
    with tempfile.TemporaryDirectory(prefix="erugin-law-") as place:
        path = Path(place) / "law.json"
        bridge.export(law, path)
        loaded = bridge.load(path, setup.robot)
    found = simulate(
        setup.robot, loaded, setup.q0, setup.v0, case.duration, step=step, p=setup.p, controller_p=setup.controller_p
    )
    return found.t, found.q


def run_in_jax(case: CrossCheckCase, step: float) -> Motion:
    """Law and acceleration as functions of JAX, stepped by RK4 in one compiled loop."""
    from .. import jax as bridge

    jax: Any = import_optional("jax", "jax")
    setup, law = case.setup, _law(case)
    c = setup.robot.coordinates
    if not c.are_rates or law.applies_force:
        raise BridgeError(f"{case.name}: this loop is for velocities that are rates, and laws that give inputs")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        control, acceleration = bridge.export(law), bridge.export(setup.robot)
        own, plant = law.parameters.values(setup.controller_p), setup.robot.parameters.values(setup.p)
        steps, h = _steps(case, step)

        def rate(t: Any, x: Any) -> Any:  # noqa: ANN401 - arrays of JAX
            q, v = x[: c.nq], x[c.nq :]
            return jax.numpy.concatenate([v, acceleration(t, q, v, control(t, q, v, own), plant)])

        def follow(x: Any, k: Any) -> Any:  # noqa: ANN401 - likewise
            after = rk4_step(rate, k * h, x, h)
            return after, after

        def march(x: Any) -> Any:  # noqa: ANN401 - likewise
            return jax.lax.scan(follow, x, jax.numpy.arange(steps))[1]

        start = jax.numpy.asarray(np.concatenate([setup.q0, setup.v0]))
        states = jax.jit(march)(start)
        found = np.concatenate([np.asarray(start)[None], np.asarray(states)])
    finally:
        jax.config.update("jax_enable_x64", before)
    return np.asarray(h * np.arange(steps + 1), dtype=np.float64), np.asarray(found[:, : c.nq], dtype=np.float64)


def run_as_environment(case: CrossCheckCase, step: float) -> Motion:
    """Zero actions on top of the law."""
    from .. import gymnasium as bridge

    setup = case.setup
    env = bridge.export(setup, residual=True, step=step, period=step, observation=["q", "time"], varied={}, bounds=1.0)
    try:
        seen, _ = env.reset(seed=0)
        rows = [np.asarray(seen, dtype=np.float64)]
        action, over = np.zeros(env.action_space.shape or ()), False
        while not over and len(rows) <= _steps(case, step)[0]:
            seen, _, ended, cut, _ = env.step(action)
            rows.append(np.asarray(seen, dtype=np.float64))
            over = ended or cut
    finally:
        env.close()
    found, nq = np.array(rows), setup.robot.coordinates.nq
    return found[:, nq], found[:, :nq]


RUNNERS: Mapping[str, BridgeRunner] = {
    runner.bridge: runner
    for runner in (
        BridgeRunner("mujoco", "robot from MJCF, law as callback", "MuJoCo's RK4", run_simulate("mujoco")),
        BridgeRunner(
            "drake", "robot from URDF, law as LeafSystem", "Drake's Runge-Kutta 5, equal steps", run_simulate("drake")
        ),
        BridgeRunner(
            "pybullet", "robot from URDF, law once a step", "Bullet's semi-implicit Euler", run_simulate("pybullet")
        ),
        BridgeRunner("pinocchio", "robot as Model, law in its coordinates", "RK4 here", run_in_pinocchio),
        BridgeRunner(
            "python_control", "robot and law as systems", "SciPy, by python-control", run_simulate("python_control")
        ),
        BridgeRunner("gymnasium", "all, as an environment", "RK4 inside", run_as_environment),
        BridgeRunner("fmi", "all, as an FMU in FMPy", "RK4 inside", run_simulate("fmi")),
        BridgeRunner("c", "all, as C99", "RK4 inside", run_as_c),
        BridgeRunner("casadi", "law from a file", "RK4 here", run_from_file),
        BridgeRunner("jax", "all, as functions", "RK4 in lax.scan", run_in_jax),
    )
}
"""In the order of the table; by the bridge's name."""


def _law(case: CrossCheckCase) -> Controller:
    assert case.setup.controller is not None  # of a case
    return case.setup.controller


def _numbers(count: int) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * max(1, count))()


def _steps(case: CrossCheckCase, step: float) -> tuple[int, float]:
    steps = max(1, round(case.duration / step))
    return steps, case.duration / steps


def _run_steps(
    case: CrossCheckCase,
    step: float,
    follow: Callable[[float, Array, float], Array],
    x: Array,
    coordinates: Callable[[Array], Array],
) -> Motion:
    """Steps in Python."""
    steps, h = _steps(case, step)
    found = [coordinates(x)]
    for k in range(steps):
        x = follow(k * h, x, h)
        found.append(coordinates(x))
    return np.asarray(h * np.arange(steps + 1), dtype=np.float64), np.array(found)
