"""Plants as FMUs, and laws that drive a plant from an FMU."""

from __future__ import annotations

import ctypes
import functools
import zipfile
from collections.abc import Iterable
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
from erugin.controllers import ProgramController
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Frame, Link, Robot, assemble, assemble_velocities, planar_manipulator, tree_system
from erugin.robots.examples import four_bar
from erugin.robots.tree import WORLD, Body, Floating, Node, Tree
from erugin.scenarios import simulate
from erugin.simulation import Euler, SimulationError
from erugin.symbolic import NO_PARAMETERS, BridgeError, BridgeWarning
from erugin.symbolic.runge_kutta import rk4_step

from ...support.arms import ELBOW, disc_program, two_link_arm

VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")
START = {"q.q1": ELBOW[0], "q.q2": ELBOW[1]}
STEP = 2e-3


def law() -> ProgramController:
    return ProgramController(disc_program(), realization="actuated")


@pytest.fixture(scope="module")
def plants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("plants")
    return {
        version: fmi.export(two_link_arm(), folder / f"{version[0]}.fmu", version=version, step=STEP).path
        for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_plant_in_an_fmu_moves_under_a_law_that_is_held(plants: dict[str, Path], version: str) -> None:
    found = fmi.drive(law(), plants[version], 0.4, step=STEP, values=START)
    held = SampleAndHold(law(), STEP)
    expected = simulate(two_link_arm(), held, ELBOW, (0.0, 0.0), 0.4, step=STEP)
    for name in ("t", "q", "v", "u", "energy"):
        values = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), values, rtol=0.0, atol=1e-12 * np.abs(values).max())
    assert np.abs(found.q[-1] - found.q[0]).max() > 0.02
    # A law that is computed in Python and remembers drives it as well.
    again = fmi.drive(held, plants[version], 0.4, step=STEP, values=START)
    np.testing.assert_allclose(again.q, expected.q, rtol=0.0, atol=1e-12)


def test_parameters_are_the_laws(plants: dict[str, Path]) -> None:
    p = {"m2": 2.5, "disc.x": 0.4}
    found = fmi.drive(law(), plants["3.0"], 0.1, step=STEP, p=p, values=START)
    expected = simulate(two_link_arm(), SampleAndHold(law(), STEP), ELBOW, (0.0, 0.0), 0.1, step=STEP, controller_p=p)
    for ours, theirs in ((found.q, expected.q), (found.v, expected.v), (found.u, expected.u)):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-12 * np.abs(theirs).max())
    np.testing.assert_array_equal(found.controller_p, expected.controller_p)


def test_names_that_differ_are_listed_on_both_sides(plants: dict[str, Path]) -> None:
    longer = planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8), Link.point_mass(0.3, 1.0)])
    with pytest.raises(BridgeError, match=r"q\.q3"):
        fmi.drive(ProgramController(disc_program(longer), realization="actuated"), plants["3.0"], 0.1, step=STEP)
    with pytest.raises(BridgeError, match=r"shoulder"):
        fmi.drive(law(), plants["3.0"], 0.1, step=STEP, names={"q.q1": "shoulder"})


def described(plant: Path, path: Path, changes: Iterable[tuple[str, str]]) -> Path:
    """The same FMU with another description."""
    with zipfile.ZipFile(plant) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "modelDescription.xml":
                for before, after in changes:
                    assert content.count(before.encode()) == 1
                    content = content.replace(before.encode(), after.encode())
            new.writestr(name, content)
    return path


RADIAN, DEGREE = '<BaseUnit rad="1" />', '<BaseUnit rad="1" factor="0.017453292519943295" />'
SCALED = r"q\.q1 is in rad, but q\.q1 of the FMU in {}: their units must be the same, and 1 in the FMU is 0\.01745"


def test_units_that_disagree_are_refused(plants: dict[str, Path], tmp_path: Path) -> None:
    """The same FMU, but for a description that says that its angles are degrees."""
    path = described(plants["3.0"], tmp_path / "degrees.fmu", [(RADIAN, DEGREE)])
    with pytest.raises(BridgeError, match=SCALED.format("rad")):
        fmi.drive(law(), path, 0.1, step=STEP, values=START)


def with_unit(reported: str, definition: str) -> list[tuple[str, str]]:
    """Edits that give the first angle another unit, in a description of FMI 2.0."""
    head, own = (
        'links" causality="output" variability="continuous" initial="exact">\n      <Real',
        ' unit="rad" start="0.0"',
    )
    first = f"coordinate q1 of planar manipulator with 2 {head}"
    return [(first + own, f'{first}{reported} start="0.0"'), ("</UnitDefinitions>", f"</UnitDefinitions>{definition}")]


def test_a_unit_of_a_type_is_a_unit_of_its_variables(plants: dict[str, Path], tmp_path: Path) -> None:
    kind = '<TypeDefinitions><SimpleType name="Turn"><Real unit="{}" /></SimpleType></TypeDefinitions>'
    reported = with_unit(' declaredType="Turn"', kind.format("degree"))
    defined = ("<UnitDefinitions>", f'<UnitDefinitions><Unit name="degree">{DEGREE}</Unit>')
    path = described(plants["2.0"], tmp_path / "typed.fmu", [*reported, defined])
    with pytest.raises(BridgeError, match=SCALED.format("degree")):
        fmi.drive(law(), path, 0.1, step=STEP, values=START)
    same = with_unit(' declaredType="Turn"', kind.format("rad"))
    fmi.drive(law(), described(plants["2.0"], tmp_path / "same.fmu", same), 0.01, step=STEP, values=START)


@pytest.mark.parametrize(
    ("unit", "message"),
    [("", "without a unit in the FMU"), (' unit="turns"', "in the unknown unit 'turns' in the FMU")],
)
def test_units_that_are_not_declared_are_reported(
    plants: dict[str, Path], tmp_path: Path, unit: str, message: str
) -> None:
    changes = [*with_unit(unit, ""), ("<UnitDefinitions>", '<UnitDefinitions><Unit name="turns" />')]
    path = described(plants["2.0"], tmp_path / "untold.fmu", changes)
    with pytest.warns(
        BridgeWarning, match=f"compared: q\\.q1 is in rad in the robot, q\\.q1 is {message}\\. Values"
    ) as reported:
        found = fmi.drive(law(), path, 0.1, step=STEP, values=START)
    assert len(reported) == 1
    np.testing.assert_array_equal(found.q, fmi.drive(law(), plants["2.0"], 0.1, step=STEP, values=START).q)


def test_a_motion_that_has_to_stop_keeps_what_was_recorded(plants: dict[str, Path]) -> None:
    with pytest.raises(SimulationError, match=r"t = .*The last state") as stopped:
        fmi.drive(law(), plants["2.0"], 0.1, step=STEP, values={"q.q1": 0.3, "q.q2": 0.0})
    assert len(stopped.value.trajectory) >= 1


def test_what_is_no_fmu_or_no_input_is_refused(plants: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(BridgeError, match="is a generalized force, but an FMU has inputs u"):
        fmi.drive(ProgramController(disc_program()), plants["2.0"], 0.1, step=STEP)
    nothing = tmp_path / "nothing.fmu"
    nothing.write_text("not an archive", encoding="utf-8")
    with pytest.raises(BridgeError, match=r"nothing\.fmu cannot be loaded by FMPy"):
        fmi.drive(law(), nothing, 0.1, step=STEP)


Array = NDArray[np.float64]
BARS = Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7)


class Exchanged:
    """An FMU for model exchange, as a solver sees it."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.messages: list[str] = []
        description = fmpy.read_model_description(path)
        fmpy.extract(path, folder)
        self.fmu: Any = fmpy.instantiate_fmu(
            folder,
            description,
            "ModelExchange",
            debug_logging=True,
            logger=lambda *message: self.messages.append(message[-1].decode()),
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
def test_its_own_steps_produce_the_same_motion(linkage: dict[str, Path], version: str) -> None:
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
    """In model exchange a solver may try a smaller step: the status is discard (2), and the row is named."""
    plant = Exchanged(linkage[version], tmp_path)
    flat = np.zeros(6)
    with pytest.raises(Exception, match="discard") as raised:
        plant.rate(0.0, flat)
    assert vars(raised.value)["status"] == 2
    assert "row" in plant.messages[-1]
    assert "vanishes or depends on rows before it" in plant.messages[-1]
    with pytest.raises(Exception, match="error"):
        plant.rate(0.0, np.full(6, np.nan))
    assert "is nan" in plant.messages[-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_debug_categories_select_the_logged_messages(linkage: dict[str, Path], tmp_path: Path, version: str) -> None:
    plant = Exchanged(linkage[version], tmp_path)
    for categories, old, new in ((["logStatusError"], 0, 1), (["logStatusDiscard"], 1, 1), ([], 1, 1)):
        plant.fmu.setDebugLogging(True, categories)
        plant.messages.clear()
        with pytest.raises(Exception, match="discard"):
            plant.rate(0.0, np.zeros(6))
        assert len(plant.messages) == (old if version == "2.0" else new), categories


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
    with pytest.raises(BridgeError, match="with_plant= must be the Robot that a Controller drives"):
        fmi.export(two_link_arm(), tmp_path / "loop.fmu", with_plant=two_link_arm())
