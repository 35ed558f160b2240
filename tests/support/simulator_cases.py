"""Robots, laws and motions that other simulators are compared with."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import holonomic
from erugin.controllers import Controller, Law, Program, ProgramController, SymbolicController, Tick
from erugin.controllers.robust import AdaptiveProgramController
from erugin.robots import Frame, Link, Robot, planar_manipulator, tree_system
from erugin.robots.examples import franka_panda
from erugin.robots.tree import Body, Floating, Node, Planar, Prismatic, Revolute, Tree
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.symbolic import Parameters

from .arms import two_link_arm

Array = NDArray[np.float64]
FINER = 50
LINKS = [Link(0.6, 2.0, 0.25, 0.05), Link(0.5, 1.5, 0.2, 0.03), Link(0.4, 0.8, 0.15, 0.02)]


def chain(n: int = 2, *, absolute: bool = False) -> Robot:
    """A planar chain; in absolute angles it starts from a link that hangs down."""
    if absolute:
        return planar_manipulator(LINKS[:n], angles="absolute", zero="down")
    return planar_manipulator(LINKS[:n])


def floating() -> Robot:
    """A body in space, lopsided, with a hinge and a slide behind it."""
    p = Parameters.declare({"g": 9.81, "m": 3.0, "moment": 0.2})
    tilted = ca.SX(ca.DM(_turned(0.4, -0.7, 0.3)))
    inertia = ca.SX(ca.DM([[0.05, 0.01, -0.02], [0.01, 0.06, 0.005], [-0.02, 0.005, 0.04]]))
    base = Body(name="trunk", mass=p["m"], center=_column(0.1, 0.2, -0.1), inertia=inertia + p["moment"] * ca.SX.eye(3))
    arm = Body(name="arm", mass=ca.SX(1.0), center=_column(0.3, 0.02, 0.1), inertia=inertia)
    rod = Body(name="rod", mass=ca.SX(0.5), center=_column(0.0, 0.1, 0.2), inertia=inertia / 2)
    nodes = (
        Node(name="free", parent=-1, placement=Frame.at(), joint=Floating(), bodies=(base,)),
        Node(
            name="hinge",
            parent=0,
            placement=Frame(tilted, _column(0.4, 0.1, 0.0)),
            joint=Revolute((0.0, 0.6, 0.8)),
            bodies=(arm,),
        ),
        Node(name="slide", parent=1, placement=Frame.at(0.3), joint=Prismatic((0.0, 0.0, 1.0)), bodies=(rod,)),
    )
    return _driven_behind(Tree(nodes, ca.vertcat(0, 0, -p["g"])), p, "floating robot")


def cart() -> Robot:
    """A body that slides and turns in a slanted plane, and carries a hinge."""
    p = Parameters.declare({"g": 9.81})
    inertia = ca.SX(ca.DM([[0.05, 0.01, -0.02], [0.01, 0.06, 0.005], [-0.02, 0.005, 0.04]]))
    base = Body(name="board", mass=ca.SX(3.0), center=_column(0.1, 0.2, -0.1), inertia=inertia)
    arm = Body(name="mast", mass=ca.SX(1.0), center=_column(0.3, 0.02, 0.1), inertia=inertia)
    tilted = ca.SX(ca.DM(_turned(0.4, -0.7, 0.3)))
    nodes = (
        Node(
            name="plane",
            parent=-1,
            placement=Frame(tilted, _column(0.1, 0.2, 0.3)),
            joint=Planar((0.6, 0.0, 0.8)),
            bodies=(base,),
        ),
        Node(name="hinge", parent=0, placement=Frame.at(0.2), joint=Revolute((0.0, 1.0, 0.0)), bodies=(arm,)),
    )
    return _driven_behind(Tree(nodes, ca.vertcat(0, 0, -p["g"])), p, "cart")


@functools.cache
def panda() -> Robot:
    """The arm of the package ``example-robot-data``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return franka_panda()


ROBOTS: dict[str, Callable[[], Robot]] = {
    "two links": chain,
    "three links, absolute": lambda: chain(3, absolute=True),
    "floating": floating,
    "panda": panda,
}


class Shaken(SymbolicController):
    """R = f cos(3 t + i) − d v: a generalized force on every velocity."""

    applies_force = True

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.parameters = Parameters.declare({"f": 0.8, "d": 0.5})

    def build_law(self) -> Law:
        """The law."""
        f, d = self.parameters["f"], self.parameters["d"]
        phases = ca.SX(ca.DM(np.arange(self.robot.coordinates.nv, dtype=float)))
        return Law(f * ca.cos(3.0 * self.robot.t + phases) - d * self.robot.v)


class Called(Controller):
    """u or R from a function of t, q and v."""

    def __init__(self, robot: Robot, law: Callable[[float, Array, Array], ArrayLike], *, force: bool = False) -> None:
        self.robot, self._law, self.applies_force = robot, law, force

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Value of the function."""
        found = self._law(t, np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64))
        return Tick(np.asarray(found, dtype=np.float64))


@functools.cache
def tracking(robot: Robot) -> ProgramController:
    """Every coordinate goes along a sine of its own, by the drives."""
    c = robot.coordinates
    rows = [holonomic(c.q[i] - 0.4 * ca.sin(c.t + i) - 0.3, name=f"row{i}") for i in range(c.nq)]
    return ProgramController(Program(robot, rows), realization="actuated")


@functools.cache
def adaptive() -> AdaptiveProgramController:
    """Remembers its estimate of a mass."""
    robot = chain()
    rows = [holonomic(robot.q[i] - 0.5 - 0.1 * i, name=f"row{i}") for i in range(2)]
    return AdaptiveProgramController(Program(robot, rows), {"m2": (0.5, 5.0)}, rate=4.0)


def start(robot: Robot) -> tuple[Array, Array]:
    """A state away from rest."""
    c = robot.coordinates
    q, v = 0.3 + 0.2 * np.cos(np.arange(c.nq)), 0.4 * np.sin(1.0 + np.arange(c.nv))
    for i, name in enumerate(c.names):
        if name.endswith(".qx"):
            q[i : i + 4] = np.array([0.1, -0.5, 0.3, 0.8]) / np.linalg.norm([0.1, -0.5, 0.3, 0.8])
    return q, v


def true_motion(
    robot: Robot,
    law: Controller | None,
    duration: float,
    step: float,
    *,
    state: tuple[Array, Array] | None = None,
    p: Mapping[str, float] | None = None,
    controller_p: Mapping[str, float] | None = None,
    t0: float = 0.0,
) -> Trajectory:
    """By steps of order 4 here that are so short that they are right to 1e-11; samples every ``step``."""
    q, v = start(robot) if state is None else state
    return simulate(robot, law, q, v, duration, step=step / FINER, every=FINER, p=p, controller_p=controller_p, t0=t0)


def apart(one: Trajectory, other: Trajectory) -> float:
    """Largest difference of coordinates and velocities at the times that both have."""
    times = [np.round(motion.t, 9) for motion in (one, other)]
    at, there = (np.isin(own, others) for own, others in (times, times[::-1]))
    assert at.sum() >= min(len(one), len(other)) > 1
    return float(max(np.abs(one.q[at] - other.q[there]).max(), np.abs(one.v[at] - other.v[there]).max()))


def _driven_behind(tree: Tree, parameters: Parameters, name: str) -> Robot:
    """With a drive in every joint but the first."""
    nv, own = tree.coordinates.nv, len(tree.velocity_indices[0])
    u = ca.vertcat(*(ca.SX.sym(f"u{i}") for i in range(own, nv)))
    units = [unit for node in tree.nodes[1:] for unit in node.joint.input_units]
    B = ca.SX(ca.DM(np.eye(nv)[:, own:]))
    return tree_system(tree, parameters=parameters, u=u, B=B, input_units=units, name=name)


def _column(*values: float) -> ca.SX:
    return ca.SX(ca.DM(list(values)))


def _turned(*angles: float) -> Array:
    R = np.eye(3)
    for axis, angle in enumerate(angles):
        i, j = [(1, 2), (2, 0), (0, 1)][axis]
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
        R = turn @ R
    return R


START = np.array([0.1, 0.7, 0.2, -0.1])


def tracking_controller(realization: str = "actuated") -> tuple[Robot, ProgramController]:
    robot = two_link_arm()
    target = ca.vertcat(0.3 + 0.2 * ca.sin(2 * robot.t), 0.5)
    program = Program(robot, holonomic(robot.q - target, name="track"))
    return robot, ProgramController(program, realization="ideal" if realization == "ideal" else "actuated")
