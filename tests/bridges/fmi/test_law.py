"""A control law as an FMU: outputs follow the inputs, parameters have bounds, and bad input is reported by name."""

from __future__ import annotations

import gc
import math
import threading
import time
import weakref
from collections.abc import Callable
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
from erugin.constraints import holonomic
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Robot
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere
from erugin.symbolic import BridgeError, ContradictoryProgramError, EruginError, ParameterError

from ...support.arms import disc_program, two_link_arm

Array = NDArray[np.float64]
VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")


def inputs(robot: Robot, q: Array, v: Array) -> dict[str, float]:
    names = robot.coordinates.names
    return {f"q.{name}": q[i] for i, name in enumerate(names)} | {f"v.{name}": v[i] for i, name in enumerate(names)}


def require_same(
    path: Path, controller: Controller, starts: list[tuple[Array, Array]], p: dict[str, float] | None = None
) -> None:
    """The FMU gives what ``control`` does, at several times and states."""
    robot = controller.robot
    names = [f"u.{name}" for name in robot.input_names]
    values = {} if p is None else p
    with Instance(path, values) as instance:
        for k, (q, v) in enumerate(starts):
            instance.set(inputs(robot, q, v))
            expected = controller.control(0.1 * k, q, v, p)
            np.testing.assert_allclose(
                instance.get(names), expected, rtol=0.0, atol=1e-12 * max(1.0, np.abs(expected).max())
            )
            instance.step(0.1 * k, 0.1)


def bent(count: int, seed: int) -> list[tuple[Array, Array]]:
    random = np.random.default_rng(seed)
    return [(random.uniform((-1.5, 0.5), (0.5, 2.0)), random.uniform(-1.0, 1.0, 2)) for _ in range(count)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_law_gives_what_control_gives(tmp_path: Path, version: fmi.Version) -> None:
    controller = ProgramController(disc_program(), realization="actuated")
    fmu = fmi.export(controller, tmp_path / "law.fmu", version=version, q0=[-0.5, 1.0])
    assert validate_fmu(str(fmu.path)) == []
    require_same(fmu.path, controller, bent(50, 1))
    require_same(fmu.path, controller, bent(20, 2), {"disc.x": 1.1, "m1": 3.0, "follow.rate": 4.0, "field.side": -1.0})
    with pytest.raises(BridgeError, match=r"field\.side must be \+1, -1 or 0, got 0\.5"):
        Instance(fmu.path, {"field.side": 0.5})


def test_an_ideal_law_gives_forces(tmp_path: Path) -> None:
    controller = ProgramController(disc_program(), realization="ideal")
    fmu = fmi.export(controller, tmp_path / "ideal.fmu")
    assert [output.name for output in fmu.outputs][:2] == ["R.q1", "R.q2"]
    with Instance(fmu.path) as instance:
        for q, v in bent(10, 3):
            instance.set(inputs(controller.robot, q, v))
            np.testing.assert_allclose(instance.get(["R.q1", "R.q2"]), controller.control(0.0, q, v), atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_law_of_a_seven_joint_arm(tmp_path: Path, version: fmi.Version) -> None:
    setup = seven_joint_arm_on_a_sphere()
    controller = setup.controller
    assert controller is not None
    fmu = fmi.export(setup, tmp_path / "panda.fmu", kind="law", version=version)
    assert validate_fmu(str(fmu.path)) == []
    random = np.random.default_rng(4)
    near = [(np.asarray(setup.q0) + random.uniform(-0.1, 0.1, 7), random.uniform(-0.2, 0.2, 7)) for _ in range(20)]
    with Instance(fmu.path) as instance:
        for q, v in near:
            instance.set(inputs(controller.robot, q, v))
            expected = controller.control(0.0, q, v, setup.controller_p)
            found = instance.get([f"u.{name}" for name in controller.robot.input_names])
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


@pytest.fixture(scope="module")
def law(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    robot = two_link_arm()
    program = Program(robot, holonomic(robot.points["tip"] - ca.DM([0.7, 0.1]), name="tip"))
    folder = tmp_path_factory.mktemp("law")
    controller = ProgramController(program, realization="actuated")
    return {
        version: fmi.export(controller, folder / f"{version[0]}.fmu", version=version, q0=[-0.5, 1.0]).path
        for version in VERSIONS
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_values_that_a_parameter_must_not_have_are_refused_by_name(law: dict[str, Path], version: str) -> None:
    with Instance(law[version]) as instance:
        before = instance.get(["u.M1"])
        for name, value, bound in (
            *(("m1", value, "greater than zero") for value in (0.0, -2.5)),
            *(("I1", value, "at least zero") for value in (-1e-300, -1.0)),
            *(("tip.alpha", value, "") for value in (np.nan, np.inf, -np.inf)),
        ):
            with pytest.raises(BridgeError, match=f"{name} must be .*{bound}.*, got {value:g}"):
                instance.set({name: value})
        # Nothing has changed, and what is allowed is taken.
        np.testing.assert_array_equal(instance.get(["u.M1"]), before)
        instance.set({"m1": 1e-3, "I1": 0.0})


@pytest.mark.parametrize("version", VERSIONS)
def test_messages_are_logged_in_the_enabled_categories(law: dict[str, Path], version: str, tmp_path: Path) -> None:
    """Errors at first, as FMI 2.0 (2.1.3), the text for 3.0.3 (2.2.4) and the Reference FMUs have it; then as set."""
    description, message = fmpy.read_model_description(law[version]), list[str]()
    fmpy.extract(law[version], tmp_path)
    fmu: Any = fmpy.instantiate_fmu(
        tmp_path, description, "CoSimulation", logger=lambda *reported: message.append(reported[-1].decode())
    )
    write = fmu.setReal if version == "2.0" else fmu.setFloat64
    names = [f"logStatus{word}" for word in ("Error", "Discard")]
    assert [category.name for category in description.logCategories] == names
    settings: list[tuple[bool, list[str], int]] = [(True, names[:1], 1), (True, names[1:], 1), (False, names[:1], 0)]
    settings += [(True, [], 1), (False, [], 0), (True, names[1:], 0)]
    for setting in (None, *settings):
        if setting is not None:
            fmu.setDebugLogging(*setting[:2])
        message.clear()
        with pytest.raises(Exception, match="error"):
            write([0], [1.0])
        assert len(message) == (1 if setting is None else setting[2]), setting
    with pytest.raises(Exception, match="error"):
        fmu.setDebugLogging(True, ["logEvents"])
    fmu.freeInstance()


@pytest.mark.parametrize("version", VERSIONS)
def test_inputs_that_are_no_numbers_are_refused_by_name(law: dict[str, Path], version: str) -> None:
    with Instance(law[version]) as instance:
        for value in (np.nan, np.inf):
            with pytest.raises(BridgeError, match=rf"v\.q2 must be finite, got {value:g}"):
                instance.set({"v.q2": value})
        assert np.isfinite(instance.get(["u.M1", "u.M2"])).all()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_singular_position_is_reported_and_left_again(law: dict[str, Path], version: str) -> None:
    with Instance(law[version]) as instance:
        good = instance.get(["u.M1", "u.M2"])
        instance.set({"q.q2": 0.0})
        with pytest.raises(BridgeError, match=r"at t = 0 s: row tip\[1\] vanishes or depends on rows before it"):
            instance.get(["u.M1"])
        instance.set({"q.q2": 1.0})
        np.testing.assert_array_equal(instance.get(["u.M1", "u.M2"]), good)


@pytest.mark.parametrize("away", [0.0, 0.2])
def test_dependent_rows_are_accepted_and_contradictory_ones_are_reported(tmp_path: Path, away: float) -> None:
    robot = two_link_arm()
    tip, q, v = robot.points["tip"], np.array([-0.5, 1.0]), np.array([0.1, 0.2])
    rows = [holonomic(tip[0] - 0.7, name="one"), holonomic(tip[0] - 0.7 - away, name="another")]
    controller = ProgramController(Program(robot, rows), method=LeastNormMultipliers())
    fmi.export(controller, tmp_path / "law.fmu", q0=q, v0=v)
    with Instance(tmp_path / "law.fmu") as instance:
        if away == 0.0:
            np.testing.assert_allclose(instance.get(["R.q1", "R.q2"]), controller.control(0.0, q, v), rtol=1e-11)
            return
        with pytest.raises(ContradictoryProgramError):
            controller.control(0.0, q, v)
        with pytest.raises(BridgeError, match="row another contradicts rows before it"):
            instance.get(["R.q1"])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_description_lists_the_dependencies_of_outputs(law: dict[str, Path], version: str) -> None:
    description = fmpy.read_model_description(law[version])
    on = {
        unknown.variable.name: {known.name for known in unknown.dependencies or ()} for unknown in description.outputs
    }
    # To FMI 3.0 parameters are known too: what is not listed has the derivative zero. To FMI 2.0 they are not.
    reported = {unknown.variable.name: unknown for unknown in description.outputs}
    parameters = {variable.name for variable in description.modelVariables if variable.causality == "parameter"}
    assert on["u.M1"] - parameters == {"q.q1", "q.q2", "v.q1", "v.q2"}
    assert on["deviation.tip[0]"] - parameters == {"q.q1", "q.q2"}
    assert {"m1", "l1", "g"} <= parameters
    assert on["u.M1"] & {"m1", "l1", "g"} == ({"m1", "l1", "g"} if version == "3.0" else set())
    assert on["deviation.tip[0]"] & {"m1", "l1", "g"} == ({"l1"} if version == "3.0" else set())
    references = [[known.valueReference for known in reported[name].dependencies or ()] for name in reported]
    assert all(numbers == sorted(set(numbers)) for numbers in references)
    assert description.coSimulation is not None
    assert description.modelExchange is None


def test_what_has_no_expressions_is_refused(tmp_path: Path) -> None:
    inner = ProgramController(disc_program())
    bounded = ProgramController(disc_program(), realization="bounded")
    python = ProgramController(disc_program(), realization="bounded", solver=ConicSolver())
    solved = "its programme of limits is solved in Python"
    for controller, why in (
        (SampleAndHold(inner, 0.01), "it has a memory.*use the ProgramController inside it"),
        (bounded, "it has a memory from sample to sample, which requires period="),
        (python, solved),
        (SampleAndHold(python, 0.1), solved),
    ):
        with pytest.raises(BridgeError, match=f"{type(controller).__name__} cannot become an FMU.*{why}"):
            fmi.export(controller, tmp_path / "law.fmu")
    assert list(tmp_path.iterdir()) == []


def test_bad_arguments_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    controller = ProgramController(disc_program(), realization="actuated")
    path = tmp_path / "law.fmu"
    with pytest.raises(BridgeError, match=r"version must be '2\.0' or '3\.0', got '1\.0'"):
        fmi.export(controller, path, version="1.0")  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match="cannot become a plant"):
        fmi.export(controller, path, kind="plant")
    with pytest.raises(BridgeError, match="plant_p= are parameters of the plant of a closed loop"):
        fmi.export(controller, path, plant_p={"m1": 1.0})
    with pytest.raises(BridgeError, match="needs a name with letters or digits"):
        fmi.export(controller, path, name="é")
    with pytest.raises(ParameterError, match="'m1' must be greater than zero"):
        fmi.export(controller, path, p={"m1": -1.0})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_closed_instance_refuses_every_call(law: dict[str, Path], version: str) -> None:
    """FMPy itself would write into memory that is freed, and end the process."""
    with Instance(law[version]) as instance:
        saved = instance.save()
    calls: dict[str, Callable[[], object]] = {
        "set": lambda: instance.set({"q.q1": 0.1}),
        "set of nothing": lambda: instance.set({}),
        "get": lambda: instance.get(["u.M1"]),
        "unit": lambda: instance.unit("q.q1"),
        "step": lambda: instance.step(0.0, 0.1),
        "save": instance.save,
        "restore": lambda: instance.restore(saved),
        "enter": instance.__enter__,
    }
    public = {name for name in vars(Instance) if not name.startswith("_")} - {"close"}
    assert public <= {*calls}
    for call in calls.values():
        with pytest.raises(
            BridgeError, match=rf"{law[version].name} is closed, and its memory is freed: use it inside"
        ):
            call()
    instance.close()
    assert "q.q1" in instance.variables


@pytest.mark.parametrize("version", VERSIONS)
def test_an_instance_that_nobody_closes_is_freed_when_it_is_collected(law: dict[str, Path], version: str) -> None:
    instance, freed = Instance(law[version]), list[str]()
    monitored: Any = instance
    free = monitored._fmu.dll.fmi2FreeInstance if version == "2.0" else monitored._fmu.dll.fmi3FreeInstance
    name = "fmi2FreeInstance" if version == "2.0" else "fmi3FreeInstance"

    def freeing(*arguments: object) -> object:
        freed.append(name)
        return free(*arguments)

    setattr(monitored._fmu, name, freeing)
    gone = weakref.ref(instance)
    del instance, monitored
    gc.collect()
    assert gone() is None
    assert freed == [name]


@pytest.mark.parametrize("version", VERSIONS)
def test_threads_that_share_an_instance_take_turns(law: dict[str, Path], version: str) -> None:
    """Values that one thread saves, restores and reads are never mixed with those of another."""
    with Instance(law[version]) as instance:
        names = ["q.q1", "v.q2", "u.M1", "u.M2"]
        states, expected = [instance.save()], [instance.get(names).tolist()]
        instance.set({"q.q1": 0.3, "v.q2": 0.4})
        states.append(instance.save())
        expected.append(instance.get(names).tolist())
        read: list[list[float]] = []
        message: list[str] = []

        def work(k: int) -> None:
            for _ in range(200):
                try:
                    instance.restore(states[k])
                    read.append(instance.get(names).tolist())
                except BridgeError as error:
                    message.append(str(error))
                    return

        threads = [threading.Thread(target=work, args=(k % 2,)) for k in range(4)]
        for thread in threads:
            thread.start()
        while len(read) < 40 and not message:
            time.sleep(1e-3)
        instance.close()
        for thread in threads:
            thread.join()
    assert expected[0] != expected[1]
    assert all(values in expected for values in read)
    assert all("is closed" in each for each in message)


def test_what_is_no_number_is_refused_by_name(law: dict[str, Path]) -> None:
    with Instance(law["3.0"]) as instance, pytest.raises(BridgeError, match=r"q\.q1 must be a number, got 'much'"):
        instance.set({"q.q1": "much"})  # type: ignore[dict-item]


@pytest.mark.parametrize("wrong", [True, "2.0", math.nan, None, [1.0], 1j])
def test_an_instance_takes_finite_numbers(law: dict[str, Path], wrong: Any) -> None:  # noqa: ANN401
    calls: list[Callable[[Instance], object]] = [
        lambda instance: instance.set({"q.q1": wrong}),
        lambda instance: instance.step(wrong, 0.1),
        lambda instance: instance.step(0.0, wrong),
        lambda instance: Instance(instance.path, t0=wrong),
    ]
    with Instance(law["3.0"]) as instance:
        for call in calls:
            with pytest.raises(EruginError, match="must be "):
                call(instance)
