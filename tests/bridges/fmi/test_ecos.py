"""FMUs in Ecos, which is not the tool that they were made with: loops, laws joined to plants by name, and errors."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.bridges import fmi
from erugin.bridges.fmi import Fmu
from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.wrappers import Delay, SampleAndHold
from erugin.robots import Robot
from erugin.robots.examples import iftomm_four_bars
from erugin.scenarios import Setup, simulate
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.simulation import SimulationError, Simulator, Trajectory

from ...support.arms import two_link_arm
from ...support.ecos import EcosRun, run_in_ecos
from ...support.sampled_laws import BASES, ROBOT
from ...support.sampled_laws import STEP as PERIOD

Array = NDArray[np.float64]
VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")
STATES, INPUTS = ("q.q1", "q.q2", "v.q1", "v.q2"), ("u.M1", "u.M2")
STEP = 1e-3


@pytest.fixture(scope="module")
def setup() -> Setup:
    return two_link_arm_moving_obstacle()


@pytest.fixture(scope="module")
def loops(setup: Setup, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fmu]:
    folder = tmp_path_factory.mktemp("loops")
    return {version: fmi.export(setup, folder / f"{version[0]}.fmu", version=version) for version in VERSIONS}


@pytest.fixture(scope="module")
def parts(setup: Setup, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Law and plant, of different versions of FMI."""
    folder = tmp_path_factory.mktemp("parts")
    law, plant = folder / "law.fmu", folder / "plant.fmu"
    fmi.export(setup, law, kind="law", version="2.0")
    fmi.export(setup, plant, kind="plant", version="3.0", step=STEP)
    return {"law": law, "plant": plant}


def motion(setup: Setup, controller: Controller, duration: float, **controller_p: float) -> Trajectory:
    p = {**setup.p, **{name: value for name, value in controller_p.items() if name in setup.robot.parameters.names}}
    start = (setup.robot, controller, setup.q0, setup.v0, duration)
    return simulate(*start, step=STEP, p=p, controller_p={**setup.controller_p, **controller_p})


def law_of(setup: Setup) -> Controller:
    assert setup.controller is not None
    return setup.controller


def require_same(found: Array, expected: ArrayLike) -> None:
    wanted = np.asarray(expected, dtype=np.float64)
    assert np.ptp(wanted) > 0.0
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * max(1.0, np.abs(wanted).max()))


def named(instance: str, names: Sequence[str]) -> list[str]:
    return [f"{instance}::{name}" for name in names]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_closed_loop_moves_as_it_does_here(setup: Setup, loops: dict[str, Fmu], version: str) -> None:
    expected = motion(setup, law_of(setup), 1.0)
    read = named("arm", [*STATES, *INPUTS, "energy", "point.tip.x"])
    run = run_in_ecos({"arm": loops[version].path}, read, step=STEP, steps=1000)
    found = run.values
    assert "Error" not in run.log
    assert np.ptp(expected.q) > 1.0
    require_same(found[:, :4], np.hstack([expected.q, expected.v]))
    require_same(found[:, 4:6], expected.u)
    require_same(found[:, 6], expected.energy)
    require_same(found[:, 7], expected.evaluate(expected.robot.points["tip"])[:, 0])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("base", ["integral", "limits"])
def test_a_law_with_a_memory_samples_as_it_does_here(base: str, version: fmi.Version, tmp_path: Path) -> None:
    law = Delay(SampleAndHold(BASES[base](), 2 * PERIOD), 3 * PERIOD)
    expected = Simulator(ROBOT, law).run([0.3, 0.5], [0.8, 0.1], 80 * PERIOD, step=PERIOD)
    fmu = fmi.export(
        law,
        tmp_path / "arm.fmu",
        version=version,
        with_plant=ROBOT,
        q0=[0.3, 0.5],
        v0=[0.8, 0.1],
        period=PERIOD,
        step=PERIOD,
    )
    names = ROBOT.coordinates.names
    read = named("arm", [*(f"q.{name}" for name in names), *(f"u.{name}" for name in ROBOT.input_names)])
    run = run_in_ecos({"arm": fmu.path}, read, step=PERIOD, steps=80)
    assert "Error" not in run.log
    require_same(run.values[:, :2], expected.q)
    require_same(run.values[:, 2:4], expected.u)


def test_instances_side_by_side_have_their_own_parameters(setup: Setup, loops: dict[str, Fmu]) -> None:
    changed: dict[str, dict[str, float]] = {"one": {}, "two": {"disc.x": 1.05, "field.speed": 0.2, "m2": 2.1}}
    values = {f"{arm}::{name}": value for arm, given in changed.items() for name, value in given.items()}
    models, read = dict.fromkeys(changed, loops["2.0"].path), [*named("one", STATES), *named("two", STATES)]
    found = run_in_ecos(models, read, step=STEP, steps=300, values=values).values
    alone = [motion(setup, law_of(setup), 0.3, **given) for given in changed.values()]
    assert np.abs(alone[0].q - alone[1].q).max() > 1e-3
    require_same(found, np.hstack([np.hstack([each.q, each.v]) for each in alone]))


def test_a_parameter_is_changed_during_the_motion(setup: Setup, loops: dict[str, Fmu]) -> None:
    changes = [(200, "arm::field.speed", 0.25)]
    found = run_in_ecos({"arm": loops["3.0"].path}, named("arm", STATES), step=STEP, steps=400, changes=changes).values
    first = motion(setup, law_of(setup), 0.2)
    start, controller_p = (
        (setup.robot, law_of(setup), first.q[-1], first.v[-1], 0.2),
        {**setup.controller_p, "field.speed": 0.25},
    )
    second = simulate(*start, step=STEP, p=setup.p, controller_p=controller_p, t0=0.2)
    assert np.abs(second.q[-1] - motion(setup, law_of(setup), 0.4).q[-1]).max() > 1e-4
    require_same(found[:201], np.hstack([first.q, first.v]))
    require_same(found[200:], np.hstack([second.q, second.v]))


def joined(parts: dict[str, Path], period: float, duration: float) -> EcosRun:
    """Law and plant, joined by the names of their variables."""
    connections = [(f"plant::{name}", f"law::{name}") for name in STATES]
    connections += [(f"law::{name}", f"plant::{name}") for name in INPUTS]
    read, steps = named("plant", [*STATES, *INPUTS]), round(duration / period)
    return run_in_ecos(parts, read, step=period, steps=steps, connections=connections)


@pytest.mark.parametrize("period", [1e-3, 4e-3])
def test_law_and_plant_joined_by_name_are_a_sampled_law_that_sees_the_last_sample(
    setup: Setup, parts: dict[str, Path], period: float
) -> None:
    """Both go on at once, and then hand over: the law knows the time, but the state of one period before."""
    found, every = joined(parts, period, 0.4).values, round(period / STEP)
    late = motion(setup, SampleAndHold(Delay(law_of(setup), measurement=period), period), 0.4)
    at_once = motion(setup, SampleAndHold(law_of(setup), period), 0.4)
    assert np.abs(found[:, :2] - at_once.q[::every]).max() > 1e-5
    require_same(found[:, :4], np.hstack([late.q, late.v])[::every])
    require_same(found[:, 4:], late.u[::every])


def test_joined_law_and_plant_converge_to_the_closed_loop(setup: Setup, parts: dict[str, Path]) -> None:
    expected, periods = motion(setup, law_of(setup), 0.8).q[-1], np.array([8e-3, 4e-3, 2e-3])
    errors = np.array([np.abs(joined(parts, each, 0.8).values[-1, :2] - expected).max() for each in periods])
    assert errors[0] > 1e-4
    np.testing.assert_allclose(np.diff(np.log2(errors)), -1.0, atol=0.05)


def test_a_system_of_fmus_in_an_ssp_file_is_the_same_system(parts: dict[str, Path], tmp_path: Path) -> None:
    def component(name: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        kinds = [*((each, "input") for each in inputs), *((each, "output") for each in outputs)]
        ends = "".join(
            f'<ssd:Connector name="{each}" kind="{kind}"><ssc:Real/></ssd:Connector>' for each, kind in kinds
        )
        kind = 'type="application/x-fmu-sharedlibrary"'
        return (
            f'<ssd:Component name="{name}" {kind} source="resources/{name}.fmu"><ssd:Connectors>{ends}'
            "</ssd:Connectors></ssd:Component>"
        )

    ways = [*(("plant", "law", name) for name in STATES), *(("law", "plant", name) for name in INPUTS)]
    lines = "".join(
        f'<ssd:Connection startElement="{a}" startConnector="{name}" endElement="{b}" endConnector="{name}"/>'
        for a, b, name in ways
    )
    parts_told = component("law", STATES, INPUTS) + component("plant", INPUTS, STATES)
    space = "http://ssp-standard.org/SSP1/SystemStructure"
    text = (
        f'<?xml version="1.0" encoding="UTF-8"?><ssd:SystemStructureDescription xmlns:ssd="{space}Description" '
        f'xmlns:ssc="{space}Common" name="joined" version="1.0"><ssd:System name="joined"><ssd:Elements>{parts_told}'
        f"</ssd:Elements><ssd:Connections>{lines}</ssd:Connections></ssd:System></ssd:SystemStructureDescription>"
    )
    with zipfile.ZipFile(tmp_path / "joined.ssp", "w") as archive:
        archive.writestr("SystemStructure.ssd", text)
        for name, path in parts.items():
            archive.write(path, f"resources/{name}.fmu")
    found = run_in_ecos(tmp_path / "joined.ssp", named("plant", [*STATES, *INPUTS]), step=STEP, steps=200)
    np.testing.assert_array_equal(found.values, joined(parts, STEP, 0.2).values)


@pytest.mark.slow
def test_an_arm_from_urdf_moves_as_it_does_here(tmp_path: Path) -> None:
    setup = seven_joint_arm_on_a_sphere()
    path = fmi.export(setup, tmp_path / "panda.fmu").path
    read = named("panda", [f"q.{name}" for name in setup.robot.coordinates.names] + ["ball.vy"])
    found = run_in_ecos({"panda": path}, read, step=STEP, steps=200, values={"panda::ball.vy": -0.2}).values
    expected = motion(setup, law_of(setup), 0.2, **{"ball.vy": -0.2})
    assert np.ptp(expected.q, axis=0).max() > 1e-3
    np.testing.assert_array_equal(found[:, -1], -0.2)
    require_same(found[:, :-1], expected.q)


def test_a_linkage_whose_names_are_quoted_moves_as_it_does_here(tmp_path: Path) -> None:
    robot, q0, v0 = iftomm_four_bars(1), [np.pi / 2, 0.0, np.pi / 2], [-1.0, 0.0, -1.0]
    fmu = fmi.export(robot, tmp_path / "linkage.fmu", version="2.0", q0=q0, v0=v0, step=STEP)
    quoted = [output.name for output in fmu.outputs if output.name.startswith("reaction.'pin 1'")]
    assert len(quoted) == robot.reactions.numel()
    read = named("linkage", [*(state.name for state in fmu.states), *quoted])
    found = run_in_ecos({"linkage": fmu.path}, read, step=STEP, steps=300).values
    expected = simulate(robot, None, q0, v0, 0.3, step=STEP)
    require_same(found[:, :6], np.hstack([expected.q, expected.v]))
    np.testing.assert_allclose(found[:, 6:], expected.evaluate(robot.reactions), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_forbidden_value_of_a_parameter_is_reported_and_ignored(loops: dict[str, Fmu], version: str) -> None:
    read = ["arm::disc.radius", "arm::time"]
    found = run_in_ecos({"arm": loops[version].path}, read, step=STEP, steps=3, changes=[(1, "arm::disc.radius", -1.0)])
    assert "disc.radius must be greater than zero, got -1" in found.log
    assert found.values[0, 0] > 0.0
    np.testing.assert_array_equal(found.values[:, 0], found.values[0, 0])
    np.testing.assert_allclose(found.values[:, 1], STEP * np.arange(4))


def reach(robot: Robot) -> ProgramController:
    """The tip goes outwards, to beyond the arm's reach."""
    tip = robot.points["tip"]
    target = holonomic(tip[0] - 0.9 - 0.4 * robot.t, name="outwards"), holonomic(tip[1], name="level")
    return ProgramController(Program(robot, target))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_law_that_becomes_singular_reports_it_and_holds_still(version: fmi.Version, tmp_path: Path) -> None:
    """Ecos continues whatever an FMU returns; the FMU keeps its state."""
    robot, step = two_link_arm(), 1e-2
    q0 = [-np.arccos((0.36 + 0.81 - 0.25) / (2 * 0.6 * 0.9)), np.arccos((0.81 - 0.36 - 0.25) / (2 * 0.6 * 0.5))]
    path = fmi.export(reach(robot), tmp_path / "reach.fmu", with_plant=robot, q0=q0, step=step, version=version).path
    found = run_in_ecos({"arm": path}, named("arm", ["time", "q.q1", "q.q2"]), step=step, steps=100)
    with pytest.raises(SimulationError) as ours:
        simulate(robot, reach(robot), q0, [0.0, 0.0], 1.0, step=step)
    last = int(np.flatnonzero(np.diff(found.values[:, 0]) == 0.0)[0])
    assert abs(last - (len(ours.value.trajectory) - 1)) <= 1
    np.testing.assert_array_equal(found.values[last:], np.tile(found.values[last], (101 - last, 1)))
    assert f"at t = {step * last:g} s, or in the step after it: row " in found.log
    assert "vanishes or depends on rows before it: its pivot has fallen to" in found.log
