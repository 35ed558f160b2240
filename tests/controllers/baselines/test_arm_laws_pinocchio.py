"""Laws for a seven-joint arm against the same laws written with Pinocchio's terms."""

from __future__ import annotations

import importlib
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, Reference
from erugin.controllers.baselines import ComputedTorque, OperationalSpace, PDGravity
from erugin.controllers.robust import DisturbanceObserver
from erugin.scenarios import simulate

from ...support.urdf import real_robots, seven_joint_arm, without_dissipation

Array = NDArray[np.float64]
HOME = np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7])
OMEGA = 6.0
TOOL = "panda_hand_tcp"


class Panda:
    """Pinocchio's model with the fingers held."""

    def __init__(self) -> None:
        self.pin: Any = importlib.import_module("pinocchio")  # has no type information
        whole: Any = self.pin.buildModelFromUrdf(str(real_robots()["panda"]))
        fingers = [whole.getJointId(f"panda_finger_joint{i}") for i in (1, 2)]
        self.model: Any = self.pin.buildReducedModel(whole, fingers, np.zeros(whole.nq))
        self.model.gravity.linear = np.array([0.0, 0.0, -9.81])
        self.data: Any = self.model.createData()
        self.tool = int(self.model.getFrameId(TOOL))

    def rnea(self, q: Array, v: Array, a: Array) -> Array:
        return np.array(self.pin.rnea(self.model, self.data, q, v, a))

    def mass(self, q: Array) -> Array:
        M = np.triu(np.array(self.pin.crba(self.model, self.data, q)))
        return np.asarray(M + np.triu(M, 1).T)

    def tool_terms(self, q: Array, v: Array) -> tuple[Array, Array, Array]:
        """x, J and J̇ v of the tool's origin."""
        world = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = np.array(self.pin.computeFrameJacobian(self.model, self.data, q, self.tool, world))[:3]
        self.pin.forwardKinematics(self.model, self.data, q, v, np.zeros(7))
        bend = self.pin.getFrameClassicalAcceleration(self.model, self.data, self.tool, world)
        self.pin.updateFramePlacements(self.model, self.data)
        return np.array(self.data.oMf[self.tool].translation), J, np.array(bend.linear)


@pytest.fixture(scope="module")
def panda() -> Panda:
    return Panda()


def states(count: int = 4) -> list[tuple[float, Array, Array]]:
    rng = np.random.default_rng(12)
    return [(float(rng.uniform(0, 2)), HOME + rng.uniform(-0.6, 0.6, 7), rng.uniform(-1, 1, 7)) for _ in range(count)]


def moving_reference() -> Reference:
    robot = seven_joint_arm()
    return Reference.of(robot, ca.SX(ca.DM(HOME)) + 0.3 * ca.sin(np.arange(1.0, 8.0) / 3.0 * robot.t))


def test_computed_torque_is_recursive_newton_euler_of_the_desired_acceleration(panda: Panda) -> None:
    robot, reference = seven_joint_arm(), moving_reference()
    law = ComputedTorque(robot, reference, rate=OMEGA)
    frictionless = without_dissipation(robot)
    for t, q, v in states():
        wanted, rate, bend = (x[0] for x in reference.values([t]))
        expected = panda.rnea(q, v, bend + 2 * OMEGA * (rate - v) + OMEGA**2 * (wanted - q))
        given = law.control(t, q, v, frictionless)
        np.testing.assert_allclose(given, expected, atol=1e-10 * np.abs(expected).max())


def test_pd_with_gravity_is_pinocchio_s_gravity_and_the_rule_s_gains(panda: Panda) -> None:
    robot = seven_joint_arm()
    law = PDGravity(robot, Reference.at_rest(robot, HOME), rate=OMEGA)
    inertia = np.diag(panda.mass(HOME))
    for _, q, v in states():
        gravity = panda.rnea(q, np.zeros(7), np.zeros(7))
        expected = gravity - inertia * (OMEGA**2 * (q - HOME) + 2 * OMEGA * v)
        np.testing.assert_allclose(law.control(0.0, q, v), expected, atol=1e-10 * np.abs(expected).max())


def test_operational_space_is_khatib_s_law_in_pinocchio_s_terms(panda: Panda) -> None:
    """Γ = Jᵀ (Λ (ẍ* − J̇ v) + J̄ᵀ h) + (1 − Jᵀ J̄ᵀ) (h + M a*)."""
    robot = seven_joint_arm()
    target = np.array([0.4, 0.1, 0.5])
    law = OperationalSpace(robot, robot.points[TOOL], target, rate=OMEGA, posture=HOME, posture_rate=3.0)
    frictionless = without_dissipation(robot)
    for _, q, v in states():
        M, h = panda.mass(q), panda.rnea(q, v, np.zeros(7))
        x, J, bend = panda.tool_terms(q, v)
        inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T))
        bar = np.linalg.solve(M, J.T) @ inertia
        wanted = OMEGA**2 * (target - x) - 2 * OMEGA * J @ v
        rest = h + M @ (9.0 * (HOME - q) - 6.0 * v)
        expected = J.T @ (inertia @ (wanted - bend) + bar.T @ h) + rest - J.T @ bar.T @ rest
        given = law.control(0.0, q, v, frictionless)
        np.testing.assert_allclose(given, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least", "most"), [("pd", 1e-3, 1e-1), ("pd, feedforward", 0.0, 1e-5), ("computed torque", 0.0, 1e-7)]
)
def test_the_panda_follows_a_motion_of_all_its_joints(name: str, least: float, most: float) -> None:
    """Largest error of a joint in the last of four seconds [rad], from a start 0.1 rad off, at the rate 10/s."""
    robot, reference = seven_joint_arm(), moving_reference()
    computed = name == "computed torque"
    law: Controller = (
        ComputedTorque(robot, reference) if computed else PDGravity(robot, reference, feedforward="feedforward" in name)
    )
    q, v = reference.start
    motion = simulate(robot, law, q + 0.1, v, 4.0, step=1e-3)
    error = np.abs(motion.deviation[motion.t > 3.0]).max()
    assert least <= error < most
    assert np.abs(motion.u).max() < 87.0


@pytest.mark.slow
def test_the_panda_s_tool_obeys_its_linear_equation() -> None:
    robot = seven_joint_arm()
    tool = robot.points[TOOL]
    start = robot.evaluate(tool, q=HOME)
    offset = np.array([0.1, -0.15, 0.05])
    law = OperationalSpace(robot, tool, start - offset, rate=OMEGA, posture=HOME)
    motion = simulate(robot, law, HOME, np.zeros(7), 2.0, step=1e-3)
    t = motion.t
    expected = np.outer((1 + OMEGA * t) * np.exp(-OMEGA * t), offset)
    np.testing.assert_allclose(motion.deviation, expected, atol=1e-8)
    assert np.abs(motion.q - HOME).max() < 1.0


def test_the_observer_is_that_of_the_momentum_with_the_matrix_of_coriolis(panda: Panda) -> None:
    """The textbook's ż = Cᵀ v − g + u + r by the trapezoidal rule, at samples of any motion."""
    robot, reference, L, step = seven_joint_arm(), moving_reference(), 5.0, 2e-2
    law = DisturbanceObserver(ComputedTorque(robot, reference, rate=OMEGA), L)
    numbers = law.parameters.values(without_dissipation(robot))
    pin, model, data = panda.pin, panda.model, panda.data
    r = before = momentum = np.zeros(7)
    for i in range(5):
        t, angles = i * step, np.arange(1.0, 8.0)
        q, v = HOME + 0.3 * np.sin(angles * t), 0.3 * angles * np.cos(angles * t) + 0.2 * t
        wanted, rate, bend = (x[0] for x in reference.values([t]))
        torque = panda.rnea(q, v, bend + 2 * OMEGA * (rate - v) + OMEGA**2 * (wanted - q))
        C = np.array(pin.computeCoriolisMatrix(model, data, q, v))
        turning = C.T @ v - np.array(pin.computeGeneralizedGravity(model, data, q))
        moved = panda.mass(q) @ v - momentum

        # ż contains u + r = torque, whatever r is.
        if i:
            r = r + L * (moved - step * (before + turning + torque) / 2.0)
        before, momentum = turning + torque, panda.mass(q) @ v
        law.advance(t, q, v, numbers)
        np.testing.assert_allclose(list(law.estimates.values()), r, atol=1e-9)
        np.testing.assert_allclose(law.control(t, q, v, numbers), torque - r, atol=1e-9)
    assert np.abs(r).max() > 1.0
