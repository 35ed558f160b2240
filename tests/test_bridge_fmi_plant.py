"""A plant as an FMU: its derivatives, the same motion under solvers of the importer's and under its own."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import casadi as ca
import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from numpy.typing import NDArray

from erugin.bridges import fmi
from erugin.bridges.fmi import Instance
from erugin.robots import Frame, Link, Robot, assemble, assemble_velocities, tree_system
from erugin.robots.examples import four_bar
from erugin.robots.tree import WORLD, Body, Floating, Node, Tree
from erugin.scenarios import simulate
from erugin.simulation import Euler
from erugin.symbolic import NO_PARAMETERS, BridgeError
from erugin.symbolic.runge_kutta import rk4_step

from .arms import two_link_arm

Array = NDArray[np.float64]
VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")
BARS = Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7)


class Exchanged:
    """An FMU for model exchange, as a solver sees it."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.said: list[str] = []
        description = fmpy.read_model_description(path)
        fmpy.extract(path, folder)
        self.fmu: Any = fmpy.instantiate_fmu(
            folder,
            description,
            "ModelExchange",
            debug_logging=True,
            logger=lambda *said: self.said.append(said[-1].decode()),
        )
        self.old = description.fmiVersion == "2.0"
        if self.old:
            self.fmu.setupExperiment(startTime=0.0)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(startTime=0.0)
        self.fmu.exitInitializationMode()
        self.fmu.enterContinuousTimeMode()
        self.names = {variable.name: variable.valueReference for variable in description.modelVariables}

    def set_inputs(self, values: dict[str, float]) -> None:
        references = [self.names[name] for name in values]
        (self.fmu.setReal if self.old else self.fmu.setFloat64)(references, list(values.values()))

    def rate(self, t: float, x: Array) -> Array:
        place, found = np.ascontiguousarray(x), np.zeros_like(x)
        pointers = [array.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for array in (place, found)]
        self.fmu.setTime(t)
        self.fmu.setContinuousStates(pointers[0], len(x))
        (self.fmu.getDerivatives if self.old else self.fmu.getContinuousStateDerivatives)(pointers[1], len(x))
        return found


def driven_four_bar() -> tuple[Robot, Array, Array]:
    robot = four_bar(*BARS, ground=(2.0, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    return robot, q, assemble_velocities(robot, q, [3.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def linkage(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    robot, q0, v0 = driven_four_bar()
    folder = tmp_path_factory.mktemp("linkage")
    return {
        version: fmi.export(robot, folder / f"{version[0]}.fmu", version=version, q0=q0, v0=v0).path
        for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_derivatives_are_those_of_the_robot(linkage: dict[str, Path], tmp_path: Path, version: str) -> None:
    assert validate_fmu(str(linkage[version])) == []
    robot, q0, _ = driven_four_bar()
    plant, random = Exchanged(linkage[version], tmp_path), np.random.default_rng(5)
    (name,) = robot.input_names
    for _ in range(30):
        q = assemble(robot, q0 + random.uniform(-0.2, 0.2, 3)).q
        v = assemble_velocities(robot, q, random.uniform(-2.0, 2.0, 3))
        u = random.uniform(-5.0, 5.0)
        plant.set_inputs({f"u.{name}": u})
        expected = np.concatenate([v, robot.evaluate(robot.acceleration, t=0.0, q=q, v=v, u=[u])])
        found = plant.rate(0.0, np.concatenate([q, v]))
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_solver_outside_makes_the_same_motion(linkage: dict[str, Path], tmp_path: Path, version: str) -> None:
    robot, q0, v0 = driven_four_bar()
    expected = simulate(robot, None, q0, v0, 1.0, step=1e-3)
    plant, x = Exchanged(linkage[version], tmp_path), np.concatenate([q0, v0])
    for k in range(1000):
        x = rk4_step(plant.rate, 1e-3 * k, x, 1e-3)
    np.testing.assert_allclose(x, np.concatenate([expected.q[-1], expected.v[-1]]), rtol=0.0, atol=1e-11)
    assert np.abs(x[:3] - q0).max() > 0.5


@pytest.mark.parametrize("version", VERSIONS)
def test_the_solvers_of_fmpy_run_it(linkage: dict[str, Path], version: str) -> None:
    robot, q0, v0 = driven_four_bar()
    path, names = str(linkage[version]), [f"q.{name}" for name in robot.coordinates.names]
    exchanged = functools.partial(fmpy.simulate_fmu, path, stop_time=0.2, output=names, fmi_type="ModelExchange")
    steps = simulate(robot, None, q0, v0, 0.2, step=1e-3, integrator=Euler())
    found = exchanged(solver="Euler", step_size=1e-3, output_interval=1e-3)
    for i, name in enumerate(names):
        np.testing.assert_allclose(found[name], steps.q[:, i], rtol=0.0, atol=1e-12)
    exact = simulate(robot, None, q0, v0, 0.2, step=1e-4)
    adaptive = exchanged(solver="CVode", relative_tolerance=1e-9)
    for i, name in enumerate(names):
        assert abs(adaptive[name][-1] - exact.q[-1, i]) < 1e-5


@pytest.mark.parametrize("version", VERSIONS)
def test_steps_of_its_own_make_the_same_motion(linkage: dict[str, Path], version: str) -> None:
    robot, q0, v0 = driven_four_bar()
    expected = simulate(robot, None, q0, v0, 0.2, step=1e-3)
    names = [f"{kind}.{name}" for kind in "qv" for name in robot.coordinates.names]
    with Instance(linkage[version]) as plant:
        for k in range(200):
            x = np.concatenate([expected.q[k], expected.v[k]])
            np.testing.assert_allclose(plant.get(names), x, rtol=0.0, atol=1e-12 * np.abs(x).max())
            plant.step(1e-3 * k, 1e-3)
        reactions = plant.get([f"reaction.'coupler pin'[{i}]" for i in range(2)])
        assert robot.natural_rows == ("coupler pin[0]", "coupler pin[1]")
        final = {"q": expected.q[-1], "v": expected.v[-1], "u": np.zeros(1)}
        np.testing.assert_allclose(reactions, robot.evaluate(robot.reactions, t=0.2, **final), rtol=1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_position_in_which_rows_depend_is_left_to_the_solver(
    linkage: dict[str, Path], tmp_path: Path, version: str
) -> None:
    """In model exchange a solver may try a smaller step: the status is discard (2), and the row is told."""
    plant = Exchanged(linkage[version], tmp_path)
    flat = np.zeros(6)
    with pytest.raises(Exception, match="discard") as raised:
        plant.rate(0.0, flat)
    assert vars(raised.value)["status"] == 2
    assert "row" in plant.said[-1]
    assert "vanishes or depends on rows before it" in plant.said[-1]
    with pytest.raises(Exception, match="error"):
        plant.rate(0.0, np.full(6, np.nan))
    assert "is nan" in plant.said[-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_categories_are_all_that_are_wanted_in_fmi_2_and_more_that_are_wanted_in_fmi_3(
    linkage: dict[str, Path], tmp_path: Path, version: str
) -> None:
    plant = Exchanged(linkage[version], tmp_path)
    for categories, old, new in ((["logStatusError"], 0, 1), (["logStatusDiscard"], 1, 1), ([], 1, 1)):
        plant.fmu.setDebugLogging(True, categories)
        plant.said.clear()
        with pytest.raises(Exception, match="discard"):
            plant.rate(0.0, np.zeros(6))
        assert len(plant.said) == (old if version == "2.0" else new), categories


def floating_body() -> Robot:
    center, inertia = ca.SX(ca.DM([0.02, 0.0, 0.05])), ca.SX(ca.diag(ca.DM([0.03, 0.02, 0.01])))
    body = Body(name="body", mass=ca.SX(1.5), center=center, inertia=inertia)
    node = Node(name="body", parent=WORLD, placement=Frame.at(), joint=Floating(), bodies=(body,))
    tree = Tree(nodes=(node,), gravity=ca.SX(ca.DM([0.0, 0.0, -9.81])))
    return tree_system(tree, parameters=NO_PARAMETERS, name="body")


def test_quasi_velocities_and_their_neutral_position(tmp_path: Path) -> None:
    body = floating_body()
    fmu = fmi.export(body, tmp_path / "body.fmu", v0=[0.1, 0.2, 0.3, 1.0, -2.0, 3.0])
    start = np.array([state.start for state in fmu.states])
    np.testing.assert_array_equal(start[:7], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    expected = simulate(body, None, start[:7], start[7:], 0.5, step=1e-3)
    with Instance(fmu.path) as instance:
        instance.step(0.0, 0.5)
        found = instance.get([state.name for state in fmu.states])
    np.testing.assert_allclose(found, np.concatenate([expected.q[-1], expected.v[-1]]), rtol=0.0, atol=1e-12)
    assert np.abs(found[:7] - start[:7]).max() > 0.1


def test_a_controller_is_needed_for_a_loop(tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match="cannot become a loop"):
        fmi.export(two_link_arm(), tmp_path / "loop.fmu", kind="loop")
    with pytest.raises(BridgeError, match="with_plant is the Robot that a Controller drives"):
        fmi.export(two_link_arm(), tmp_path / "loop.fmu", with_plant=two_link_arm())
