"""A closed loop as an FMU, run by FMPy: the same motion, parameters by name, instances side by side, saved states."""

from __future__ import annotations

import re
from pathlib import Path

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from numpy.typing import NDArray

from erugin.bridges import fmi
from erugin.bridges.fmi import Fmu, Instance
from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import iftomm_four_bars
from erugin.scenarios import Setup, simulate
from erugin.scenarios.catalogue import n_four_bar, two_link_arm_moving_obstacle
from erugin.simulation import SimulationError, Trajectory
from erugin.symbolic import BridgeError, BridgeWarning, ParameterError

from ...support.arms import two_link_arm

Array = NDArray[np.float64]
STEP, DURATION = 1e-3, 0.5
VERSIONS = ("2.0", "3.0")


@pytest.fixture(scope="module")
def setup() -> Setup:
    return two_link_arm_moving_obstacle()


@pytest.fixture(scope="module")
def fmus(setup: Setup, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fmu]:
    folder = tmp_path_factory.mktemp("fmus")
    old = fmi.export(setup, folder / "loop2.fmu", version="2.0")
    new = fmi.export(setup, folder / "loop3.fmu", version="3.0", separate=["m1"])
    return {"2.0": old, "3.0": new}


def motion(setup: Setup, p: dict[str, float] | None = None, controller_p: dict[str, float] | None = None) -> Trajectory:
    start = (setup.robot, setup.controller, setup.q0, setup.v0, DURATION)
    return simulate(
        *start, step=STEP, p={**setup.p, **(p or {})}, controller_p={**setup.controller_p, **(controller_p or {})}
    )


def run(fmu: Fmu, values: dict[str, float] | None = None) -> dict[str, Array]:
    result = fmpy.simulate_fmu(str(fmu.path), stop_time=DURATION, output_interval=STEP, start_values=values or {})
    names = result.dtype.names
    assert names is not None
    return {name: np.array(result[name], dtype=np.float64) for name in names}


def require_same(result: dict[str, Array], expected: Trajectory) -> None:
    c = expected.robot.coordinates
    assert len(result["time"]) == len(expected)
    tip = expected.evaluate(expected.robot.points["tip"])
    pairs = [(f"q.{name}", expected.q[:, i]) for i, name in enumerate(c.names)]
    pairs += [(f"v.{name}", expected.v[:, i]) for i, name in enumerate(c.names)]
    pairs += [(f"u.{name}", expected.u[:, i]) for i, name in enumerate(expected.robot.input_names)]
    pairs += [(f"deviation.{row}", expected.deviation[:, i]) for i, row in enumerate(expected.rows)]
    pairs += [("energy", expected.energy), ("point.tip.x", tip[:, 0]), ("point.tip.y", tip[:, 1])]
    for name, values in pairs:
        np.testing.assert_allclose(result[name], values, rtol=0.0, atol=1e-12 * max(1.0, np.abs(values).max()))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_fmu_is_valid_and_moves_as_the_closed_loop_does(setup: Setup, fmus: dict[str, Fmu], version: str) -> None:
    assert validate_fmu(str(fmus[version].path)) == []
    expected = motion(setup)
    assert np.ptp(expected.q) > 0.01
    require_same(run(fmus[version]), expected)


def test_parameters_are_changed_by_name(setup: Setup, fmus: dict[str, Fmu]) -> None:
    changed = {"disc.x": 1.05, "field.speed": 0.2, "m2": 2.1}
    expected = motion(setup, {"disc.x": 1.05, "m2": 2.1}, changed)
    assert np.abs(expected.q - motion(setup).q).max() > 1e-3
    require_same(run(fmus["2.0"], changed), expected)


def test_plant_and_law_may_differ_in_a_parameter_that_is_kept_apart(setup: Setup, fmus: dict[str, Fmu]) -> None:
    names = {parameter.name for parameter in fmus["3.0"].parameters}
    assert {"plant.m1", "law.m1", "m2"} <= names
    expected = motion(setup, {"m1": 3.0})
    assert np.abs(expected.q - motion(setup).q).max() > 1e-3
    require_same(run(fmus["3.0"], {"plant.m1": 3.0}), expected)


@pytest.mark.parametrize("version", VERSIONS)
def test_longer_communication_steps_are_divided_inside(setup: Setup, fmus: dict[str, Fmu], version: str) -> None:
    expected = motion(setup)
    states = [state.name for state in fmus[version].states]
    with Instance(fmus[version].path) as instance:
        for k in range(5):
            instance.step(0.1 * k, 0.1)
        found = instance.get(states)
    np.testing.assert_allclose(found, np.concatenate([expected.q[-1], expected.v[-1]]), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("version", VERSIONS)
def test_instances_of_one_process_do_not_touch_each_other(setup: Setup, fmus: dict[str, Fmu], version: str) -> None:
    fmu, speeds = fmus[version], (0.12, 0.2)
    states = [state.name for state in fmu.states]
    alone: list[Array] = []
    for speed in speeds:
        with Instance(fmu.path, {"field.speed": speed}) as instance:
            for k in range(50):
                instance.step(STEP * k, STEP)
            alone.append(instance.get(states))
    assert np.abs(alone[0] - alone[1]).max() > 1e-4
    with Instance(fmu.path, {"field.speed": speeds[0]}) as one, Instance(fmu.path, {"field.speed": speeds[1]}) as two:
        for k in range(50):
            one.step(STEP * k, STEP)
            two.step(STEP * k, STEP)
        together = [one.get(states), two.get(states)]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_run_continues_from_a_saved_state(fmus: dict[str, Fmu], version: str) -> None:
    fmu = fmus[version]
    names = [*(state.name for state in fmu.states), "u.M1"]
    with Instance(fmu.path, {"disc.x": 1.1}) as instance:
        for k in range(20):
            instance.step(STEP * k, STEP)
        saved = instance.save()
        for k in range(20, 40):
            instance.step(STEP * k, STEP)
        expected = instance.get(names)
    with Instance(fmu.path) as instance:
        instance.restore(saved)
        for k in range(20, 40):
            instance.step(STEP * k, STEP)
        np.testing.assert_array_equal(instance.get(names), expected)
        with pytest.raises(BridgeError, match="bytes are not a state of this FMU"):
            instance.restore(b"no state" + saved[8:])
        with pytest.raises(BridgeError, match="bytes are not a state of this FMU"):
            instance.restore(saved[:-1])
        # In which mode an instance is, and which of its numbers are fresh, stand last.
        with pytest.raises(BridgeError, match="a corrupted state of this FMU"):
            instance.restore(saved[:-8] + b"\xff" * 8)
        np.testing.assert_array_equal(instance.get(names), expected)


def test_only_what_both_have_can_be_kept_apart(setup: Setup, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter common to plant and law 'follow\.rate'"):
        fmi.export(setup, tmp_path / "arm.fmu", separate=["m1", "follow.rate"])
    assert list(tmp_path.iterdir()) == []


def test_what_an_fmu_cannot_represent_is_reported(tmp_path: Path) -> None:
    with pytest.warns(BridgeWarning, match=r"the FMU uses RK4, not the setup's integrator .*Reduced"):
        fmi.export(n_four_bar(cells=1), tmp_path / "bars.fmu", binary=False)


def test_steps_follow_one_another(fmus: dict[str, Fmu]) -> None:
    with Instance(fmus["3.0"].path) as instance:
        instance.step(0.0, STEP)
        with pytest.raises(BridgeError, match=r"must start where the last one ended, at t = 0\.001"):
            instance.step(0.5, STEP)
        with pytest.raises(BridgeError, match="not be negative"):
            instance.step(STEP, -STEP)
        with pytest.raises(BridgeError, match="at most 1e9 are allowed"):
            instance.step(STEP, 1e12)
        with pytest.raises(BridgeError, match=r"q\.q1 is a state"):
            instance.set({"q.q1": 0.0})
        with pytest.raises(BridgeError, match=r"u\.M1 cannot be set: it is calculated"):
            instance.set({"u.M1": 0.0})


def test_parameters_of_plant_and_law_are_distinguished(setup: Setup) -> None:
    p, controller_p = {"m1": 3.0}, {"m1": 2.6, "disc.x": 0.45}
    loop = (setup.robot, setup.controller, setup.q0, setup.v0, 0.1)
    found = fmi.simulate(*loop, step=STEP, p=p, controller_p=controller_p)
    expected = simulate(*loop, step=STEP, p=p, controller_p=controller_p)
    for name in ("q", "v", "u", "energy"):
        values = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), values, rtol=0.0, atol=1e-12 * np.abs(values).max())


def reach(robot: Robot) -> ProgramController:
    """The tip goes outwards, to beyond the arm's reach."""
    tip = robot.points["tip"]
    target = holonomic(tip[0] - 0.9 - 0.4 * robot.t, name="outwards"), holonomic(tip[1], name="level")
    return ProgramController(Program(robot, target))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_singular_position_stops_the_run_with_its_row_and_time(version: fmi.Version) -> None:
    robot = two_link_arm()
    q0 = [-np.arccos((0.36 + 0.81 - 0.25) / (2 * 0.6 * 0.9)), 0.0]
    q0[1] = np.arccos((0.81 - 0.36 - 0.25) / (2 * 0.6 * 0.5))
    with pytest.raises(SimulationError, match=r"t = .*(vanishes|finite)") as stopped:
        fmi.simulate(robot, reach(robot), q0, [0.0, 0.0], 1.0, step=1e-2, version=version)
    assert 20 < len(stopped.value.trajectory) < 80
    with pytest.raises(SimulationError):
        simulate(robot, reach(robot), q0, [0.0, 0.0], 1.0, step=1e-2)


def stopped(path: Path, step: float) -> tuple[int, str]:
    """The step that an FMU does not take, and what it says then."""
    with Instance(path) as instance:
        for k in range(100):
            try:
                instance.step(step * k, step)
            except BridgeError as error:
                return k, str(error)
    return 100, ""


def test_an_fmu_stops_before_a_singular_position_by_itself(tmp_path: Path) -> None:
    """As a simulation here does: at the same sample, give or take one, although a fixed step would jump across."""
    robot = two_link_arm()
    q0 = [-np.arccos((0.36 + 0.81 - 0.25) / (2 * 0.6 * 0.9)), np.arccos((0.81 - 0.36 - 0.25) / (2 * 0.6 * 0.5))]
    with pytest.raises(SimulationError) as ours:
        simulate(robot, reach(robot), q0, [0.0, 0.0], 1.0, step=1e-2)
    fmi.export(reach(robot), tmp_path / "reach.fmu", with_plant=robot, q0=q0, step=1e-2)
    when, message = stopped(tmp_path / "reach.fmu", 1e-2)
    assert re.search("row (outwards|level) vanishes or depends on rows before it: its pivot has fallen to", message)
    assert abs(when - (len(ours.value.trajectory) - 1)) <= 1


def test_a_linkage_stops_before_it_lies_flat(tmp_path: Path) -> None:
    robot = iftomm_four_bars(1)
    q0, v0 = [np.pi / 2, 0.0, np.pi / 2], [-1.0, 0.0, -1.0]
    with pytest.raises(SimulationError, match="pin 1") as ours:
        simulate(robot, None, q0, v0, 3.0, step=1e-3)
    with pytest.raises(SimulationError, match=r"row pin 1\[\d\] vanishes or depends") as theirs:
        fmi.simulate(robot, None, q0, v0, 3.0, step=1e-3)
    assert abs(len(ours.value.trajectory) - len(theirs.value.trajectory)) <= 1
    np.testing.assert_allclose(
        theirs.value.trajectory.q[-5], ours.value.trajectory.q[len(theirs.value.trajectory) - 5], atol=1e-9
    )


def test_a_start_in_a_singular_position_is_refused_with_its_row(tmp_path: Path) -> None:
    robot = two_link_arm()
    fmi.export(reach(robot), tmp_path / "reach.fmu", with_plant=robot, q0=[0.3, 0.0])
    with (
        Instance(tmp_path / "reach.fmu") as instance,
        pytest.raises(BridgeError, match=r"at t = 0 s: row level vanishes or depends on rows before it"),
    ):
        instance.step(0.0, 1e-3)
