"""Programs on several robots, and what limits leave of them in NumPy, for the tests of bounded inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import ControlLimits, Program
from erugin.robots import Link, Robot, assemble
from erugin.robots.examples import four_bar, fukao_robot

from .arms import two_link_arm
from .urdf import seven_joint_arm

Array = NDArray[np.float64]

ELBOWED = np.array([0.1, -0.6, 0.2, -2.1, 0.1, 1.6, 0.7])


class Case(NamedTuple):
    """A program and a state near which it is looked at."""

    program: Program
    q: Array
    v: Array


def loose(robot: Robot) -> ControlLimits:
    """Limits that nothing comes near to."""
    c = robot.coordinates
    infinite = np.full(c.nq, np.inf)
    return ControlLimits.of(
        robot, effort=1e9, rate=np.inf, joint_lower=-infinite, joint_upper=infinite, speed=np.full(c.nv, np.inf)
    )


def effort_only(robot: Robot, effort: float) -> ControlLimits:
    """A bound on each input and none on joints."""
    c = robot.coordinates
    infinite = np.full(c.nq, np.inf)
    return ControlLimits.of(
        robot, effort=effort, joint_lower=-infinite, joint_upper=infinite, speed=np.full(c.nv, np.inf)
    )


def two_links() -> Case:
    """The tip on a moving point: as many rows as inputs."""
    arm = two_link_arm()
    path = ca.vertcat(0.6 + 0.1 * ca.cos(2 * arm.t), -0.2 + 0.1 * ca.sin(2 * arm.t))
    program = Program(arm, holonomic(arm.points["tip"] - path, perturbation=Baumgarte(8.0), name="tip"))
    return Case(program, np.array([-1.1, 1.7]), np.array([0.2, -0.1]))


def panda_tip(more: bool = False) -> Case:
    """The hand of the seven-joint arm on a moving point; ``more`` asks for a posture too."""
    arm = seven_joint_arm()
    hand = arm.frames["panda_hand"].position
    start = ca.DM(arm.evaluate(hand, q=ELBOWED))
    path = start + 0.1 * ca.vertcat(ca.sin(arm.t), 0, ca.cos(arm.t) - 1)
    rows = [holonomic(hand - path, perturbation=Baumgarte(20.0), name="tip")]
    if more:
        posture = ca.vertcat(arm.q[0], arm.q[2], arm.q[4])
        rows.append(holonomic(posture, perturbation=Baumgarte(5.0), name="posture"))
    return Case(Program(arm, rows), ELBOWED + 0.02, np.full(7, 0.1))


def panda_hand() -> Case:
    """The hand's whole velocity: six rows."""
    arm = seven_joint_arm()
    twist = arm.frame_jacobian("panda_hand") @ arm.v
    wanted = ca.DM([0.05, 0.0, -0.02, 0.0, 0.1, 0.0])
    program = Program(arm, nonholonomic(twist - wanted, perturbation=FirstOrder(5.0), name="hand"))
    return Case(program, ELBOWED, np.full(7, 0.05))


def driven_four_bar() -> Case:
    """One degree of freedom, a drive in each of three joints."""
    crank, coupler, rocker = (Link(length, 2.0 * length, length / 2, length**3 / 6) for length in (0.3, 0.8, 0.6))
    robot = four_bar(crank, coupler, rocker, ground=(0.7, 0.0), inputs=("crank", "coupler", "rocker"))
    q = assemble(robot, [0.8, 0.5, 1.6]).q
    turning = holonomic(robot.q[0] - q[0] - 0.1 * ca.sin(robot.t), perturbation=Baumgarte(6.0), name="turning")
    return Case(Program(robot, turning), q, np.zeros(3))


def two_wheels() -> Case:
    """Both wheels at given rates."""
    robot = fukao_robot()
    rates = ca.vertcat(robot.v[3] - 2.0 - ca.sin(robot.t), robot.v[4] - 1.5)
    program = Program(robot, nonholonomic(rates, perturbation=FirstOrder(4.0), name="wheels"))
    return Case(program, np.zeros(5), np.array([0.3, 0.0, 0.0, 2.0, 2.0]))


CASES: dict[str, Callable[[], Case]] = {
    "two links": two_links,
    "seven joints, 3 rows": panda_tip,
    "seven joints, 6 rows": panda_hand,
    "four-bar linkage": driven_four_bar,
    "two-wheel robot": two_wheels,
}


@functools.cache
def bounded_case(name: str) -> Case:
    """Built once."""
    return CASES[name]()


@functools.cache
def posture_case() -> Case:
    """Three rows of the tip and three of a posture, built once."""
    return panda_tip(more=True)


class Numbers(NamedTuple):
    """G u = r are the program's rows, scaled; H is the effort's matrix, in dense linear algebra of NumPy's."""

    G: Array
    r: Array
    H: Array


@functools.cache
def _matrices(program: Program) -> ca.Function:
    robot = program.robot
    outputs = [robot.mass_matrix, robot.bias, robot.input_matrix, program.theta, program.beta]
    return ca.Function("matrices", [robot.t, robot.q, robot.v, program.parameters.symbols], outputs)


def numbers(program: Program, t: float, q: Array, v: Array) -> Numbers:
    """For robots without natural constraints."""
    p = program.parameters.values()
    M, h, B, theta, beta = (x.full() for x in _matrices(program).call([t, q, v, p]))
    moved = np.linalg.solve(M, np.hstack([B, h, theta.T]))
    nu = B.shape[1]
    mobility = np.diag(theta @ moved[:, nu + 1 :])
    unit = np.empty(len(beta))
    for block in program.blocks:
        unit[list(block)] = 1.0 / np.sqrt(mobility[list(block)].mean())
    G, r = theta @ moved[:, :nu], (beta + theta @ moved[:, nu : nu + 1])[:, 0]
    return Numbers(unit[:, None] * G, unit * r, B.T @ moved[:, :nu])


def cone_miss(slope: Array, free: Array, u: Array, low: Array, high: Array, outward: Sequence[Array] = ()) -> float:
    """By how much −slope is no sum of rows of ``free`` and outward normals of the bounds reached, as a share of it.

    Zero if and only if u is a least value, among the inputs within the bounds with the same ``free`` · u, of the convex
    function with this slope there; ``outward`` are the normals of what else is reached.
    """
    eye = np.eye(len(u))
    up, down = eye[:, np.isclose(u, high, rtol=0.0, atol=1e-9)], -eye[:, np.isclose(u, low, rtol=0.0, atol=1e-9)]
    columns = np.hstack([free.T, -free.T, up, down, *(normal[:, None] for normal in outward)])
    size = max(1.0, float(np.linalg.norm(slope)))
    if not columns.size:
        return float(np.linalg.norm(slope)) / size
    lengths = np.linalg.norm(columns, axis=0)
    return float(nnls(columns / np.where(lengths > 0.0, lengths, 1.0), -slope / size, maxiter=2000)[1])
