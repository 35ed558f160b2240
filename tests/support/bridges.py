"""Every bridge with what the tests need of it: one table for all tests that walk through the bridges.

Other programs are imported where they are called, for the quick tier has none of them.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import c, casadi, drake, fmi, gymnasium, jax, mujoco, pinocchio, pybullet, python_control, urdf
from erugin.bridges.common.bridge import discover_bridges
from erugin.bridges.pybullet.client import quiet, world
from erugin.controllers import Controller, ProgramController
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle
from erugin.symbolic import BridgeError

Array = NDArray[np.float64]
Driven = Callable[[int, Array, Array], Array]
"""The output at the k-th sample, which is that of a state q, v."""
Into = Callable[[ProgramController, str, float, Path], None]
DT = 0.01
"""Time between samples [s]."""
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O0", "-c")


@dataclass(frozen=True)
class Row:
    """A bridge in the tests; a text in place of a function is the reason why there is none.

    Attributes:
        memory: a law driven in the program, asked at samples DT apart; of every bridge with ``drive``.
        units: drives a law in the model of a URDF text with a gravity along z [m/s²]; of every bridge with ``drive``.
        robots: write a robot to a file, which is read again; of every bridge with a format of plants.
        laws: write a law to a file, which is read again; of every bridge with a format of laws.
        apart: least and largest distance from Erugin's motion of the two-link arm at 1 kHz [rad].
        calls: calls, with an arm and its law, of public names that no page of the documents calls; returns what must
            not be closed.
    """

    memory: Callable[[Controller], AbstractContextManager[Driven]] | str = ""
    units: Into | str = ""
    robots: Mapping[str, Callable[[Robot, Path], object]] = field(default_factory=dict[str, Any])
    laws: Mapping[str, Callable[[ProgramController, Path], object]] = field(default_factory=dict[str, Any])
    apart: tuple[float, float] = (0.0, 1e-11)
    calls: Callable[[Robot, ProgramController], list[object]] | None = None


@contextmanager
def in_drake(law: Controller) -> Generator[Driven]:
    analysis: Any = importlib.import_module("pydrake.systems.analysis")
    system: Any = drake.drive(law, period=DT)
    simulator = analysis.Simulator(system)
    context = simulator.get_mutable_context()

    def ask(k: int, q: Array, v: Array) -> Array:
        system.GetInputPort("state").FixValue(context, np.concatenate([q, v]))
        # The sample of this instant is taken in by the step that begins at it.
        simulator.AdvanceTo(DT * k + 1e-9)
        context.SetTime(DT * k)
        output = np.asarray(system.GetOutputPort("output").Eval(context), dtype=np.float64)
        context.SetTime(DT * k + 1e-9)
        return output

    yield ask


@contextmanager
def in_mujoco(law: Controller) -> Generator[Driven]:
    library: Any = importlib.import_module("mujoco")
    model = library.MjModel.from_xml_string(mujoco.export(law.robot, timestep=DT, integrator="Euler"))
    drive, data = mujoco.drive(law, model), library.MjData(model)

    def ask(k: int, q: Array, v: Array) -> Array:
        data.time = DT * k
        drive.place(data, q, v)
        drive.step(data)
        return np.array(data.qfrc_actuator)

    yield ask


@contextmanager
def in_pinocchio(law: Controller) -> Generator[Driven]:
    torque = pinocchio.drive(law, pinocchio.export(law.robot))
    yield lambda k, q, v: torque(q, v, DT * k)


@contextmanager
def in_pybullet(law: Controller) -> Generator[Driven]:
    with world() as client:
        driven = pybullet.drive(law, pybullet.spawn(law.robot, client=client), client=client)

        def ask(k: int, q: Array, v: Array) -> Array:
            driven.body.write(q, v)
            driven.t = DT * k
            return driven.tick()

        yield ask


@contextmanager
def in_python_control(law: Controller) -> Generator[Driven]:
    system: Any = python_control.drive(law, dt=DT)

    def ask(k: int, q: Array, v: Array) -> Array:
        count, x = np.array([float(k)]), np.concatenate([q, v])
        np.testing.assert_array_equal(system.dynamics(DT * k, count, x), count + 1.0)
        return np.asarray(system.output(DT * k, count, x), dtype=np.float64)

    yield ask


def into_drake(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a plant that Drake reads."""
    parsing: Any = importlib.import_module("pydrake.multibody.parsing")
    plants: Any = importlib.import_module("pydrake.multibody.plant")
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModelsFromString(text, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, gravity])
    plant.Finalize()
    drake.drive(law, plant)


def into_mujoco(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a model that MuJoCo reads."""
    library: Any = importlib.import_module("mujoco")
    model = library.MjModel.from_xml_string(text)
    model.opt.gravity[:] = 0.0, 0.0, gravity
    mujoco.drive(law, model, apply="qfrc_applied")


def into_pinocchio(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a model that Pinocchio reads."""
    library: Any = importlib.import_module("pinocchio")
    model = library.buildModelFromXML(text)
    model.gravity.linear = np.array([0.0, 0.0, gravity])
    pinocchio.drive(law, model)


def into_pybullet(law: ProgramController, text: str, gravity: float, folder: Path) -> None:
    """The law to a body that PyBullet reads."""
    library: Any = importlib.import_module("pybullet")
    file = folder / "arm.urdf"
    file.write_text(text, encoding="utf-8")
    with world() as client:
        with quiet():
            body = library.loadURDF(
                str(file), useFixedBase=True, flags=library.URDF_USE_INERTIA_FROM_FILE, physicsClientId=client
            )
        library.setGravity(0.0, 0.0, gravity, client)
        pybullet.drive(law, body, client=client)


def through_mjcf(arm: Robot, folder: Path) -> None:
    path = folder / "arm.xml"
    mujoco.export(arm, path)
    ET.parse(path)
    again = mujoco.load(path)
    assert again.coordinates.names == arm.coordinates.names
    assert again.input_names == arm.input_names


def through_urdf(arm: Robot, folder: Path) -> None:
    path = folder / "arm.urdf"
    urdf.export(arm, path)
    ET.parse(path)
    assert urdf.load(path).coordinates.names == arm.coordinates.names


def through_fmu(robot: Robot, folder: Path) -> None:
    fmi.export(robot, folder / "plant.fmu")
    require_valid(folder / "plant.fmu")


def through_c(law: ProgramController, folder: Path) -> None:
    c.export(law, folder / "c")
    compiler = shutil.which("gcc") or "cc"
    files = [str(file) for file in (folder / "c").glob("*.c")]
    done = subprocess.run([compiler, *STRICT, *files], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:500]


def through_file(law: ProgramController, folder: Path) -> None:
    casadi.export(law, folder / "law.json")
    loaded = casadi.load(folder / "law.json", law.robot)
    assert loaded.parameters.names == law.parameters.names


def through_law_fmu(version: fmi.Version) -> Callable[[ProgramController, Path], None]:
    def write(law: ProgramController, folder: Path) -> None:
        path = folder / f"{version}.fmu"
        fmu = fmi.export(law, path, with_plant=law.robot, version=version)
        require_valid(path)
        with fmi.Instance(path) as instance:
            instance.step(0.0, 1e-3)
            with pytest.raises(BridgeError, match="must be finite"):
                instance.set({fmu.parameters[0].name: np.nan})

    return write


def require_valid(path: Path) -> None:
    """Check an FMU with FMPy."""
    validation: Any = importlib.import_module("fmpy.validation")
    assert validation.validate_fmu(str(path)) == []


Q, V = (0.3, 0.9), (0.1, -0.1)
"""State of the calls."""


def call_drake(arm: Robot, law: ProgramController) -> list[object]:
    drake.load(drake.export(arm))
    drake.simulate(arm, law, Q, V, 0.02, step=0.01)
    return []


def call_fmi(arm: Robot, law: ProgramController) -> list[object]:
    fmi.export(law, "law.fmu")
    instance = fmi.Instance("law.fmu", t0=0.0)
    instance.unit(next(iter(instance.variables)))
    instance.set({name: instance.get([name])[0] for name in arm.parameters.names[:1]})
    instance.step(0.0, 0.1)
    instance.restore(instance.save())
    fmi.simulate(arm, None, Q, V, 0.02, step=0.01)
    return [instance]


def call_gymnasium(arm: Robot, law: ProgramController) -> list[object]:
    gymnasium.Reward()
    gymnasium.register(two_link_arm_moving_obstacle, "erugin/Fuzz-v0")
    seen, no = {"q": np.zeros((1, 2))}, np.zeros(1, bool)
    gymnasium.Transition(seen, seen, np.zeros((1, 2)), no, no, no, 0.1)
    return []


def call_jax(arm: Robot, law: ProgramController) -> list[object]:
    library: Any = importlib.import_module("jax")
    exported = jax.export(law)
    jax.JaxFunction({"t": arm.t, "q": arm.q, "v": arm.v}, arm.parameters, arm.bias)
    delayed = Delay(law, 2.0 * DT)
    expressed = delayed.sampled_law(DT)
    assert expressed is not None
    sampled = jax.JaxSampledLaw(delayed, expressed)
    with library.enable_x64(True):
        exported(0.0, np.array(Q), np.array(V))
        sampled.scan(np.arange(3) * DT, np.tile(Q, (3, 1)), np.tile(V, (3, 1)))
    return []


def call_mujoco(arm: Robot, law: ProgramController) -> list[object]:
    mujoco.Obstacle("disc")
    mujoco.simulate(arm, law, Q, V, 0.02, step=0.01)
    mujoco.export(arm, "arm.xml")
    mujoco.load("arm.xml")
    return []


def call_pinocchio(arm: Robot, law: ProgramController) -> list[object]:
    pinocchio.load(pinocchio.export(arm))
    return []


def call_pybullet(arm: Robot, law: ProgramController) -> list[object]:
    library: Any = importlib.import_module("pybullet")
    Path("arm.urdf").write_text(pybullet.export(arm, limits=False), encoding="utf-8")
    pybullet.load("arm.urdf")
    # Kept open, so that their methods can be called again.
    client = library.connect(library.DIRECT)
    flags = library.URDF_USE_INERTIA_FROM_FILE
    loaded = library.loadURDF("arm.urdf", useFixedBase=True, flags=flags, physicsClientId=client)
    library.setGravity(0.0, -9.81, 0.0, physicsClientId=client)
    driven = pybullet.drive(law, loaded, client=client)
    for joint, angle in zip(driven.body.joints, Q, strict=True):
        library.resetJointState(loaded, joint, angle, physicsClientId=client)
    driven.step(1)
    return [driven]


def call_python_control(arm: Robot, law: ProgramController) -> list[object]:
    python_control.match(arm, python_control.export(arm))
    return []


OWN_MEMORY = "its drive runs a whole motion with the law's own memory"

ROWS: Mapping[str, Row] = {
    "c": Row(laws={"c": through_c}),
    "casadi": Row(laws={"json": through_file}),
    "drake": Row(
        memory=in_drake,
        units=into_drake,
        robots={"drake": lambda arm, _: drake.match(arm, drake.export(arm)).check()},
        apart=(0.0, 1e-9),  # its steps are of another method
        calls=call_drake,
    ),
    "fmi": Row(
        memory=OWN_MEMORY,
        units="FMUs contain their units",
        robots={"fmi 3, plant": through_fmu},
        laws={"fmi 2": through_law_fmu("2.0"), "fmi 3": through_law_fmu("3.0")},
        calls=call_fmi,
    ),
    "gymnasium": Row(calls=call_gymnasium),
    "jax": Row(calls=call_jax),
    "mujoco": Row(
        memory=in_mujoco,
        units=into_mujoco,
        robots={"mjcf": through_mjcf},
        calls=call_mujoco,
    ),
    "pinocchio": Row(
        memory=in_pinocchio,
        units=into_pinocchio,
        robots={"pinocchio": lambda arm, _: pinocchio.export(arm)},
        calls=call_pinocchio,
    ),
    "pybullet": Row(
        memory=in_pybullet,
        units=into_pybullet,
        robots={"pybullet": lambda arm, folder: pybullet.export(arm, folder / "bullet.urdf")},
        apart=(1e-6, 1e-3),  # its step is Euler's, with the law held over it
        calls=call_pybullet,
    ),
    "python_control": Row(
        memory=in_python_control,
        units="it has no file of a model",
        apart=(0.0, 1e-6),  # it chooses its own steps
        calls=call_python_control,
    ),
    "urdf": Row(robots={"urdf": through_urdf}),
}
"""The bridges by name."""


def parameters(*names: str) -> list[Any]:
    """Parameters of a test, one for each bridge; skipped where the bridge's package is not installed."""
    known = discover_bridges()
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                bool(known[name].package) and known[name].version is None, reason=f"{known[name].package} is absent"
            ),
        )
        for name in names
    ]
