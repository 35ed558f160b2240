"""Laws in loops around Pinocchio, and what does not fit it."""

from __future__ import annotations

import dataclasses
import sys

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges import pinocchio as bridge
from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Controller, Program, ProgramController, Tick
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot, mechanism, planar_manipulator, spatial_exoskeleton, two_wheel_robot
from erugin.scenarios import simulate
from erugin.symbolic import BridgeError, MissingPackageError, NotFiniteInputError, ShapeError

from ...support.arms import two_link_arm
from ...support.pinocchio_models import BAR, TELESCOPE, pin, robot_of
from ...support.simulator_cases import START, tracking_controller
from ...support.urdf import real_robots, seven_joint_arm, without_dissipation

Array = NDArray[np.float64]


class Counted(Controller):
    """No torques; it remembers how many samples it has taken in."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.reset()

    @property
    def initial_memory(self) -> int:
        """No sample."""
        return 0

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Nothing."""
        assert isinstance(memory, int)
        return Tick(np.zeros(self.robot.u.numel()), memory=memory + 1)


def chain(angles: str) -> tuple[Robot, Controller]:
    robot = planar_manipulator([BAR] * 3, angles="absolute" if angles == "absolute" else "relative")
    target = ca.vertcat(0.3 + 0.2 * ca.sin(2 * robot.t), 0.5, -0.4)
    return robot, ProgramController(Program(robot, holonomic(robot.q - target, name="track")), realization="actuated")


@pytest.mark.parametrize("angles", ["relative", "absolute"])
def test_a_loop_around_pinocchio_moves_as_a_simulation(angles: str) -> None:
    """The user's own RK4 with ``pinocchio.aba``, law and all, at the same step: equal to rounding."""
    robot, law = chain(angles)
    model = bridge.export(robot)
    torque, n, step = bridge.drive(law, model), 3, 0.01

    def rate(t: float, x: Array) -> Array:
        tau = torque(x[:n], x[n:], t)
        return np.concatenate([x[n:], pin.aba(model.model, model.data, x[:n], x[n:], tau)])

    q0, v0 = np.array([0.1, 0.7, -0.3]), np.array([0.2, -0.1, 0.3])
    x = np.concatenate(model.states.to_model(q0, v0))
    for k in range(30):
        t = k * step
        k1 = rate(t, x)
        k2 = rate(t + step / 2, x + step / 2 * k1)
        k3 = rate(t + step / 2, x + step / 2 * k2)
        k4 = rate(t + step, x + step * k3)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    motion = simulate(robot, law, q0, v0, 0.3, step=step)
    q, v = model.states.from_model(x[:n], x[n:])
    np.testing.assert_allclose(np.concatenate([q, v]), [*motion.q[-1], *motion.v[-1]], rtol=0, atol=1e-11)
    assert np.abs(motion.q[-1] - q0).max() > 0.05


def test_a_panda_in_a_model_that_pinocchio_read() -> None:
    """A law for seven joints, read from the same file; names tell which torque is whose."""
    robot = seven_joint_arm()
    still = without_dissipation(robot)
    held = holonomic(robot.q - ca.DM(np.linspace(0.1, 0.7, 7)), name="hold")
    law = ProgramController(Program(robot, held), realization="actuated")
    whole = pin.buildModelFromUrdf(str(real_robots()["panda"]))
    fingers = [whole.getJointId(f"panda_finger_joint{k}") for k in (1, 2)]
    model = pin.buildReducedModel(whole, fingers, pin.neutral(whole))
    torque = bridge.drive(law, model, p=still)
    q, v = np.linspace(0.2, 0.5, 7), np.linspace(-0.1, 0.3, 7)
    found = pin.aba(model, model.createData(), q, v, torque(q, v, 0.0))
    gains = [law.program.nominal[f"hold.{name}"] for name in ("alpha", "beta")]
    expected = -2 * gains[0] * v - gains[1] ** 2 * (q - np.linspace(0.1, 0.7, 7))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(BridgeError, match=r"are not the same robot: .*dissipation=True"):
        bridge.drive(law, model)
    with pytest.raises(BridgeError, match=r"joints of the robot .* do not match"):
        bridge.drive(law, whole, p=still)


def test_forces_of_an_ideal_law_and_the_memory_of_another() -> None:
    robot, law = tracking_controller("ideal")
    model = bridge.export(robot)
    np.testing.assert_allclose(
        bridge.drive(law, model)(START[:2], START[2:], 0.1), law.control(0.1, START[:2], START[2:]), rtol=1e-12
    )
    late = bridge.drive(Delay(tracking_controller()[1], 0.02), model)
    first = late(START[:2], START[2:], 0.0)
    np.testing.assert_array_equal(late(START[:2], START[2:], 0.0), first)
    outputs = [late(START[:2] + 0.1 * k, START[2:], 0.01 * k) for k in range(1, 4)]
    now = [tracking_controller()[1].control(0.01 * k, START[:2] + 0.1 * k, START[2:]) for k in range(4)]
    np.testing.assert_allclose(outputs[1], now[0], rtol=1e-12)
    np.testing.assert_allclose(outputs[2], now[1], rtol=1e-12)
    with pytest.raises(BridgeError, match=r"t = 0\.01 s comes before the last sample, t = 0\.03 s"):
        late(START[:2], START[2:], 0.01)
    late.reset()
    np.testing.assert_array_equal(late(START[:2], START[2:], 0.0), first)


def test_models_that_do_not_fit_a_law_are_refused() -> None:
    robot, law = tracking_controller()
    heavier = bridge.export(robot, p={"m2": 2.0}).model
    with pytest.raises(
        BridgeError,
        match=r"not the same robot: the bodies on joint 'q2' .* have .* kg in the robot and 2 kg in the model",
    ):
        bridge.drive(law, heavier)
    bridge.drive(law, heavier, p={"m2": 2.0})
    nearly = bridge.export(robot, p={"m2": robot.nominal["m2"] * (1.0 + 1e-4)}).model
    with pytest.raises(BridgeError, match="not the same robot"):
        bridge.drive(law, nearly)
    bridge.drive(law, nearly, tolerance=1e-3)
    bridge.drive(law, heavier, tolerance=None)
    other = bridge.export(planar_manipulator([BAR] * 3)).model
    with pytest.raises(BridgeError, match="q1, q2, q3"):
        bridge.drive(law, other)
    named = pin.buildSampleModelManipulator()
    with pytest.raises(BridgeError, match=r"missing: q1, q2\. .*shoulder1_joint, shoulder2_joint"):
        bridge.match(robot, named)
    with pytest.raises(BridgeError, match="names= renames 'elbow', which the robot does not have; its joints: q1, q2"):
        bridge.match(robot, named, names={"elbow": "elbow_joint"})
    with pytest.raises(BridgeError, match="controller must be a Controller, got"):
        bridge.drive(robot, heavier)  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match=r"model must be a pinocchio\.Model, got 'arm'"):
        bridge.drive(law, "arm", tolerance=None)  # type: ignore[arg-type]
    with pytest.raises(BridgeError, match=r"model must be a pinocchio\.Model, got 'arm'"):
        bridge.match(robot, "arm")  # type: ignore[arg-type]
    torque = bridge.drive(law, bridge.export(robot))
    with pytest.raises(BridgeError, match=r"q of shape \(2,\) and v of shape \(2,\), got \(3,\) and \(2,\)"):
        torque(np.zeros(3), np.zeros(2))
    with pytest.raises(NotFiniteInputError):
        torque(np.array([np.nan, 0.0]), np.zeros(2))


def test_without_pinocchio_the_error_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, law = tracking_controller()
    model = bridge.export(robot)
    monkeypatch.setitem(sys.modules, "pinocchio", None)
    for call in (
        lambda: bridge.export(robot),
        lambda: bridge.load(model),
        lambda: bridge.match(robot, model),
        lambda: bridge.drive(law, model),
    ):
        with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[pinocchio\]'"):
            call()


def test_renamed_joints_are_the_same_robot() -> None:
    robot, law = tracking_controller()
    model = bridge.export(robot).model
    model.names[1], model.names[2] = "shoulder", "elbow"
    found = bridge.match(robot, model, names={"q1": "shoulder", "q2": "elbow"})
    assert found.same
    assert found.names == {"q1": "shoulder", "q2": "elbow"}
    assert bridge.drive(law, model, names=found.names)(START[:2], START[2:]).shape == (2,)


def test_what_pinocchio_has_no_place_for_is_refused_by_name() -> None:
    arm = two_link_arm()
    wheeled = two_wheel_robot(
        wheel_radius=0.05,
        half_track=0.1,
        com_offset=0.02,
        platform_mass=5.0,
        platform_inertia=0.1,
        wheel_mass=0.3,
        wheel_inertia_axle=1e-3,
        wheel_inertia_diameter=5e-4,
    )
    with pytest.raises(BridgeError, match="has no tree of bodies"):
        bridge.export(wheeled)
    guided = mechanism(arm, [(arm.points["tip"][1], 0.3)])
    with pytest.raises(
        BridgeError, match=f"no constraint for {guided.natural[0].name!r}, as it neither joins a point of one body to"
    ):
        bridge.export(guided)
    rolling = dataclasses.replace(arm, natural=(nonholonomic(arm.v[0] - arm.v[1], name="skate"),))
    with pytest.raises(BridgeError, match="no constraint for 'skate', as it constrains velocities"):
        bridge.export(rolling)
    moving = dataclasses.replace(arm, natural=(holonomic(arm.points["tip"] - ca.vertcat(arm.t, 0.1), name="belt"),))
    with pytest.raises(BridgeError, match="'belt', as it depends on time"):
        bridge.export(moving)
    with pytest.raises(BridgeError, match="is measured from the world's axes while its parent turns about another"):
        bridge.export(spatial_exoskeleton([TELESCOPE] * 2))
    with pytest.raises(BridgeError, match=r"only a Robot can be exported to Pinocchio, got 'arm'"):
        bridge.export("arm")  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="q must have shape"):
        bridge.export(robot_of("Bricard"), q=[0.0, 0.0])
    # A motor whose rotor is felt in two joints at once is no armature.
    dynamics = type(arm.dynamics).given(
        arm.mass_matrix + 0.1 * ca.DM([[1.0, 1.0], [1.0, 1.0]]), arm.bias, arm.kinetic_energy, arm.potential_energy
    )
    with pytest.raises(
        BridgeError, match=r"its mass matrix is not that of its bodies: the entry of q1 and q2 differs by 0\.1"
    ):
        bridge.export(dataclasses.replace(arm, dynamics=dynamics))


def test_a_joint_that_follows_has_to_be_where_it_is_there() -> None:
    model = pin.buildSampleModelManipulator(True)
    robot = bridge.load(model)
    states = bridge.PinocchioStateConversion(robot, model)
    with pytest.raises(
        BridgeError, match=r"'wrist1_mimic_joint' follows another joint .* must be at 1\.5, got 0: start on"
    ):
        states.to_model(np.array([0.0, 0, 0, 0, 0.3, 0.0]), np.zeros(6))
    q = states.with_mimic_joints(np.array([0.0, 0, 0, 0, 0.3, 0.0]))
    assert q[5] == pytest.approx(2.5 * 0.3 + 0.75)


def test_a_law_without_memory_may_be_called_at_any_time_and_one_with_memory_up_to_rounding() -> None:
    """A user's RK4 asks at k h + h and then at (k + 1) h, which is the same time, be it before or after by rounding."""
    robot, law = tracking_controller()
    model, step = bridge.export(robot), 0.1
    torque = bridge.drive(law, model)
    later = torque(START[:2], START[2:], 0.3)
    torque(START[:2], START[2:], 0.1)
    np.testing.assert_array_equal(torque(START[:2], START[2:], 0.3), later)
    samples = Counted(robot)
    torque = bridge.drive(samples, model)
    before = after = 0
    for k in range(1, 100):
        times = k * step, k * step + step, (k + 1) * step
        before, after = before + (times[2] < times[1]), after + (times[2] > times[1])
        for t in times:
            torque(START[:2], START[2:], t)
    assert before > 3
    assert after > 3
    assert torque.memory.value == 100
    assert samples.memory == 0
    with pytest.raises(BridgeError, match=r"t = 9\.99 s comes before the last sample, t = 10 s"):
        torque(START[:2], START[2:], 9.99)
