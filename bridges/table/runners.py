"""How each bridge runs a closed loop: its motion from the same start, for the same time."""

from __future__ import annotations

import ctypes
import importlib
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...scenarios.simulate import simulate
from ...scenarios.trajectory import Trajectory
from ...symbolic.errors import BridgeError, BridgeWarning
from ...symbolic.extras import require
from ...symbolic.runge_kutta import rk4_step
from ...symbolic.toolchain import find_toolchain
from .cases import Case

Array = NDArray[np.float64]
Motion = tuple[Array, Array]
"""Times, shape (N,) [s], and coordinates, shape (N, nq)."""


@dataclass(frozen=True)
class Runner:
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
    run: Callable[[Case, float], Motion]


def simulated(bridge: str) -> Callable[[Case, float], Motion]:
    """By the bridge's own ``simulate``.

    Args:
        bridge: its name.
    """

    def run(case: Case, step: float) -> Motion:
        setup = case.setup
        module: Any = importlib.import_module(f"...{bridge}", f"{__package__}.runners")
        found: Trajectory = module.simulate(
            *(setup.robot, setup.controller, setup.q0, setup.v0, case.duration), step=step, p=setup.p, law_p=setup.law_p
        )
        return found.t, found.q

    return run


def in_pinocchio(case: Case, step: float) -> Motion:
    """RK4 here on Pinocchio's articulated-body algorithm, with the law in Pinocchio's coordinates."""
    from .. import pinocchio as bridge

    pin: Any = require("pinocchio", "pinocchio")
    setup, law = case.setup, _law(case)
    with warnings.catch_warnings():
        # What the model has no place for is added below.
        warnings.simplefilter("ignore", BridgeWarning)
        exported = bridge.export(setup.robot, p=setup.p)
    if exported.constraints:
        raise BridgeError(f"{case.name} has loops, which the articulated-body algorithm does not close")
    drive = bridge.drive(law, exported, p=setup.law_p or None)
    model, data, nq = exported.model, exported.data, exported.model.nq
    if nq != exported.model.nv:
        raise BridgeError(f"{case.name} floats: its quaternion takes another integrator than RK4 on q and v")

    def rate(t: float, x: Array) -> Array:
        q, v = x[:nq], x[nq:]
        tau = drive(q, v, t) + exported.passive(q, v, t)
        return np.concatenate([v, pin.aba(model, data, q, v, tau)])

    x = np.concatenate(exported.states.there(setup.q0, setup.v0))
    return _marched(
        case,
        step,
        lambda t, state, h: rk4_step(rate, t, state, h),
        x,
        lambda state: exported.states.here(state[:nq], state[nq:])[0],
    )


def as_c(case: Case, step: float) -> Motion:
    """The closed loop as C99, compiled and called step by step."""
    from .. import c as bridge

    setup, law = case.setup, _law(case)
    compiler = find_toolchain()
    if isinstance(compiler, str):
        raise BridgeError(f"the C text cannot be compiled: {compiler}")
    with tempfile.TemporaryDirectory(prefix="erugin-c-") as place:
        written = bridge.export(
            law, Path(place) / "law", with_plant=setup.robot, p=setup.law_p or None, plant_p=setup.p or None
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

        return _marched(case, step, follow, np.concatenate(start), lambda state: state[:nq])


def from_a_file(case: Case, step: float) -> Motion:
    """The law written to a file, read again, and simulated here."""
    from .. import casadi as bridge

    setup, law = case.setup, _law(case)
    with tempfile.TemporaryDirectory(prefix="erugin-law-") as place:
        path = Path(place) / "law.json"
        bridge.export(law, path)
        loaded = bridge.load(path, setup.robot)
    found = simulate(setup.robot, loaded, setup.q0, setup.v0, case.duration, step=step, p=setup.p, law_p=setup.law_p)
    return found.t, found.q


def in_jax(case: Case, step: float) -> Motion:
    """Law and acceleration as functions of JAX, stepped by RK4 in one compiled loop."""
    from .. import jax as bridge

    jax: Any = require("jax", "jax")
    setup, law = case.setup, _law(case)
    c = setup.robot.coordinates
    if not c.are_rates or law.applies_force:
        raise BridgeError(f"{case.name}: this loop is for velocities that are rates, and laws that give inputs")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        control, acceleration = bridge.export(law), bridge.export(setup.robot)
        own, plant = law.parameters.values(setup.law_p), setup.robot.parameters.values(setup.p)
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


def as_environment(case: Case, step: float) -> Motion:
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


RUNNERS: Mapping[str, Runner] = {
    runner.bridge: runner
    for runner in (
        Runner("mujoco", "robot from MJCF, law as callback", "MuJoCo's RK4", simulated("mujoco")),
        Runner("drake", "robot from URDF, law as LeafSystem", "Drake's Runge-Kutta 5, equal steps", simulated("drake")),
        Runner("pybullet", "robot from URDF, law once a step", "Bullet's semi-implicit Euler", simulated("pybullet")),
        Runner("pinocchio", "robot as Model, law in its coordinates", "RK4 here", in_pinocchio),
        Runner("python_control", "robot and law as systems", "SciPy, by python-control", simulated("python_control")),
        Runner("gymnasium", "all, as an environment", "RK4 inside", as_environment),
        Runner("fmi", "all, as an FMU in FMPy", "RK4 inside", simulated("fmi")),
        Runner("c", "all, as C99", "RK4 inside", as_c),
        Runner("casadi", "law from a file", "RK4 here", from_a_file),
        Runner("jax", "all, as functions", "RK4 in lax.scan", in_jax),
    )
}
"""In the order of the table; by the bridge's name."""


def _law(case: Case) -> Controller:
    assert case.setup.controller is not None  # of a case
    return case.setup.controller


def _numbers(count: int) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * max(1, count))()


def _steps(case: Case, step: float) -> tuple[int, float]:
    steps = max(1, round(case.duration / step))
    return steps, case.duration / steps


def _marched(
    case: Case,
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
