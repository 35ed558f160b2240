"""Steps of a plant in C are those of Python: under inputs that are held, and in the closed loop."""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.c import export
from erugin.controllers import Controller, OpenLoop, Status
from erugin.robots import Robot, assemble
from erugin.scenarios import simulate
from erugin.symbolic import Kernel
from erugin.symbolic.runge_kutta import rk4_step

from .c_folders import compiled, controller_of
from .mechanisms import crank_rocker

Array = NDArray[np.float64]
STEP = 1e-3
STARTS: dict[str, Callable[[Robot], Array]] = {
    "computed torque": lambda _: np.array([0.35, 0.4, -0.5]),
    "four-bar": lambda robot: assemble(robot, [0.0, 0.9, 1.5], fixed=robot.coordinates.names[:1]).q,
    "ideal": lambda _: np.array([-1.3, 1.4]),
}


class Plant:
    """An exported plant with its law, as a library."""

    def __init__(self, controller: Controller, robot: Robot, folder: Path) -> None:
        """Export and compile."""
        written = export(controller, folder / "exported", with_plant=robot)
        sources = [written.folder / name for name in ("law.c", "law_plant.c")]
        compiled(sources, folder / "plant.so", "-O1", "-shared", "-fPIC")
        self.library = ctypes.CDLL(str(folder / "plant.so"))
        self.plant = (ctypes.c_double * max(1, len(robot.parameters)))()
        self.law = (ctypes.c_double * max(1, len(controller.parameters)))()
        self.library.law_plant_parameters_nominal(self.plant)
        self.library.law_parameters_nominal(self.law)

    def closed(self, t: float, h: float, q: Array, v: Array) -> int:
        """A step of the closed loop, in place."""
        call = self.library.law_plant_closed_step
        return int(call(self.plant, self.law, ctypes.c_double(t), ctypes.c_double(h), _at(q), _at(v)))

    def held(self, t: float, h: float, q: Array, v: Array, u: Array) -> int:
        """A step of the plant, in place."""
        call = self.library.law_plant_step
        return int(call(self.plant, ctypes.c_double(t), ctypes.c_double(h), _at(q), _at(v), _at(u)))


def _at(array: Array) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("law", ["computed torque", "four-bar", "ideal"])
def test_a_thousand_steps_of_the_closed_loop_are_those_that_are_simulated(law: str, tmp_path: Path) -> None:
    controller = controller_of(law)
    robot = controller.robot
    plant = Plant(controller, robot, tmp_path)
    q0 = STARTS[law](robot)
    v0 = np.zeros(robot.coordinates.nv)
    run = simulate(robot, controller, q0, v0, 1.0, step=STEP)
    q, v, most = q0.copy(), v0.copy(), 0.0
    for i in range(1000):
        assert plant.closed(i * STEP, STEP, q, v) == Status.OK
        most = max(most, float(np.abs(np.concatenate([q - run.q[i + 1], v - run.v[i + 1]])).max()))
    assert np.abs(run.q[-1] - q0).max() > 0.05
    assert most < 1e-11


@pytest.mark.parametrize("law", ["four-bar", "ideal"])
def test_the_example_runs_a_second_of_the_loop_and_sanitizers_find_nothing(law: str, tmp_path: Path) -> None:
    controller = controller_of(law)
    robot, q0 = controller.robot, STARTS[law](controller.robot)
    written = export(controller, tmp_path / "x", with_plant=robot, q0=q0)
    sources = [written.folder / name for name in written.files if name.endswith(".c")]
    compiled(sources, tmp_path / "main", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    answer = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    assert not answer.returncode, answer.stderr
    assert "after 1000 steps" in answer.stdout
    told = dict(re.findall(r"^(.*) = (\S+) ", answer.stdout, re.MULTILINE))
    run = simulate(robot, controller, q0, np.zeros(robot.coordinates.nv), 1.0, step=STEP)
    found = [float(told[name]) for name in robot.coordinates.names]
    np.testing.assert_allclose(found, run.q[-1], rtol=0.0, atol=1e-11)


def test_a_step_under_held_inputs_is_one_of_runge_and_kutta(tmp_path: Path) -> None:
    robot, controller = controller_of("computed torque").robot, controller_of("computed torque")
    plant, rng = Plant(controller, robot, tmp_path), np.random.default_rng(2)
    c = robot.coordinates
    kernel = Kernel("rate", {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p}, {"a": robot.acceleration})
    p = robot.parameters.values()
    for _ in range(20):
        q, v, u = (rng.uniform(-2.0, 2.0, 3) for _ in range(3))

        def rate(t: float, x: Array, u: Array = u) -> Array:
            return np.concatenate([x[3:], kernel(t, x[:3], x[3:], u, p)[0]])

        expected = rk4_step(rate, 0.2, np.concatenate([q, v]), 0.01)
        assert plant.held(0.2, 0.01, q, v, u) == Status.OK
        np.testing.assert_allclose(np.concatenate([q, v]), expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())


def test_what_cannot_go_on_leaves_the_state_as_it_was(tmp_path: Path) -> None:
    controller = controller_of("ideal")
    plant = Plant(controller, controller.robot, tmp_path)
    stretched, still = np.zeros(2), np.zeros(2)
    assert plant.closed(0.0, STEP, stretched, still) == Status.SINGULAR
    fast = np.array([1e200, -1e200])
    q = np.array([0.4, 0.9])
    assert plant.held(0.0, STEP, q, fast, np.zeros(2)) == Status.NOT_FINITE
    for t, h, bad in ((np.nan, STEP, still), (0.0, np.inf, still), (0.0, STEP, np.array([np.nan, 0.0]))):
        assert plant.closed(t, h, q, bad) == 8
        assert plant.held(t, h, q, bad, np.zeros(2)) == 8
    assert q.tolist() == [0.4, 0.9]
    assert fast.tolist() == [1e200, -1e200]


def test_natural_constraints_that_depend_on_each_other_are_told(tmp_path: Path) -> None:
    robot = crank_rocker()
    plant = Plant(OpenLoop(robot, np.zeros(3)), robot, tmp_path)
    flat = np.zeros(3)
    assert plant.held(0.0, STEP, flat, np.zeros(3), np.zeros(3)) == 9
    assert plant.closed(0.0, STEP, flat, np.zeros(3)) == 9
    assert not flat.any()
