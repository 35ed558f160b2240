"""Robots for the bridges to MJCF and URDF, and their models in MuJoCo as functions of our states."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import mujoco
import numpy as np
from numpy.typing import NDArray

from erugin.bridges.mujoco import JointMap, export
from erugin.bridges.mujoco.versions import DIAGEXACT, TENDON_ARMATURE, Feature
from erugin.robots import (
    Dynamics,
    Frame,
    Link,
    Robot,
    TelescopicLink,
    exoskeleton,
    load_urdf,
    planar_manipulator,
    tree_system,
)
from erugin.robots.examples import bricard_mechanism, flores_slider_crank, franka_panda, walker
from erugin.robots.examples.arms import example_file
from erugin.robots.tree import Body, Floating, Node, Revolute, Tree
from erugin.symbolic import NO_PARAMETERS, BridgeWarning

from .mechanisms import crank_rocker, parallel_robot, stephenson

Array = NDArray[np.float64]
HELD = 2e-5 if DIAGEXACT.missing else 1e-9
"""Share of an acceleration by which what follows a length gives way."""

LIGHT = TelescopicLink(1.4, 0.06, 0.45, 700.0, 0.8)
HEAVY = TelescopicLink(2.1, 0.09, 0.6, 900.0, 0.7, hinge_mass=0.5, damping=3.0)
LINKS = (
    Link(1.0, 1.2, 0.4, 0.1),
    Link(0.8, 0.7, 0.3, 0.05),
    Link.point_mass(0.5, 0.4),
    Link(0.4, 0.5, 0.0, 0.02),
    Link(0.6, 0.3, 0.7, 0.01),
    Link(0.3, 0.2, 0.1, 0.0),
    Link(0.2, 0.6, 0.2, 0.03),
)

TREES: dict[str, Callable[[], Robot]] = {
    "two links, relative": lambda: planar_manipulator(LINKS[:2]),
    "two links, absolute": lambda: planar_manipulator(LINKS[:2], angles="absolute", zero="down"),
    "seven links, relative": lambda: planar_manipulator(LINKS, zero="down"),
    "seven links, absolute": lambda: planar_manipulator(LINKS, angles="absolute"),
    "Panda": franka_panda,
    "UR5": lambda: load_urdf(example_file("ur5_robot.urdf")),
    "floating base": lambda: load_urdf(example_file("double_pendulum.urdf"), base="floating"),
}
"""Without loops or followers: MuJoCo's own accelerations are ours."""

LOOPS: dict[str, Callable[[], Robot]] = {
    "four-bar": crank_rocker,
    "five-bar": parallel_robot,
    "six-bar": stephenson,
    "slider-crank": flores_slider_crank,
    "Bricard": bricard_mechanism,
}

TELESCOPES: dict[str, Callable[[], Robot]] = {
    "exoskeleton": lambda: exoskeleton([HEAVY, LIGHT], axial_drives=True),
    "exoskeleton in flight": lambda: exoskeleton([LIGHT, HEAVY], base="floating", pole_mass=0.3),
    "stretched exoskeleton": lambda: exoskeleton([HEAVY, LIGHT], inertia_law="stretched"),
    "walker": walker,
}


def followed(name: str) -> Feature | None:
    """Options that MuJoCo needs for a robot of the tables with bodies that follow a length."""
    return TENDON_ARMATURE if name in TELESCOPES else None


@functools.cache
def robot(name: str) -> Robot:
    """A robot of the tables, built once."""
    return {**TREES, **LOOPS, **TELESCOPES}[name]()


@functools.cache
def text(name: str) -> str:
    """Its MJCF without bounds, except reported losses."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BridgeWarning)
        return export(robot(name), limits=False)


@dataclass(frozen=True, eq=False)
class Model:
    """A model in MuJoCo with the robot that it is to be."""

    robot: Robot
    model: mujoco.MjModel
    data: mujoco.MjData
    joints: JointMap

    @classmethod
    def of(cls, robot: Robot, text: str) -> Model:
        """Compile the text."""
        model = mujoco.MjModel.from_xml_string(text)
        return cls(robot, model, mujoco.MjData(model), JointMap.of(robot, model))

    def place(self, q: Array, v: Array, u: Array | None = None) -> mujoco.MjData:
        """MuJoCo's data at our state."""
        q_there, v_there = self.joints.states.to_model(q, v)
        self.data.qpos[:], self.data.qvel[:] = q_there, v_there
        self.data.ctrl[:] = 0.0 if u is None else u
        mujoco.mj_forward(self.model, self.data)
        return self.data

    def dynamics(self, q_there: Array, v_there: Array) -> tuple[Array, Array]:
        """Mass matrix and bias there."""
        self.data.qpos[:], self.data.qvel[:], self.data.ctrl[:] = q_there, v_there, 0.0
        mujoco.mj_forward(self.model, self.data)
        return self.mass_matrix(), np.array(self.data.qfrc_bias - self.data.qfrc_passive)

    def mass_matrix(self) -> Array:
        """At the data's state."""
        M = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return M


def states(robot: Robot, count: int = 3, seed: int = 1) -> list[tuple[Array, Array, Array]]:
    """Coordinates, velocities and inputs at random; lengths are positive, quaternions have length one."""
    rng = np.random.default_rng(seed)
    c = robot.coordinates
    found: list[tuple[Array, Array, Array]] = []
    for _ in range(count):
        q = np.array([rng.uniform(0.3, 1.0) if unit == "m" else rng.uniform(-2.0, 2.0) for unit in c.units])
        for i, name in enumerate(c.names):
            if name.endswith(".qx"):
                q[i : i + 4] = rng.normal(size=4)
                q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
        found.append((q, rng.uniform(-2.0, 2.0, c.nv), rng.uniform(-5.0, 5.0, robot.u.numel())))
    return found


def difference(actual: Array, expected: Array) -> float:
    """Largest difference relative to the largest entry."""
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


def floating_robot() -> Robot:
    """A body that floats, with an arm of one driven joint."""
    inertia = ca.SX(ca.DM([[0.2, 0.01, 0.0], [0.01, 0.3, 0.02], [0.0, 0.02, 0.25]]))
    trunk = Body(name="trunk", mass=ca.SX(2.0), center=ca.SX(ca.DM([0.1, 0.0, 0.05])), inertia=inertia)
    bar = Body(name="bar", mass=ca.SX(1.0), center=ca.SX(ca.DM([0.3, 0.0, 0.0])), inertia=0.2 * inertia)
    base = Node(name="base", parent=-1, placement=Frame.at(), joint=Floating(), bodies=(trunk,))
    elbow = Node(name="elbow", parent=0, placement=Frame.at(0.2, 0.1), joint=Revolute((0.0, 1.0, 0.0)), bodies=(bar,))
    B = ca.SX(7, 1)
    B[6] = 1.0
    gravity = ca.SX(ca.DM([0.0, 0.0, -9.81]))
    return tree_system(Tree((base, elbow), gravity), parameters=NO_PARAMETERS, u=ca.SX.sym("tau"), B=B)


def with_forces(own: Robot, forces: ca.SX, inertia: ca.SX | None = None) -> Robot:
    """The robot with more in h, and in M."""
    plain = own.dynamics
    return dataclasses.replace(
        own,
        dynamics=Dynamics(
            mass_matrix=lambda: plain.mass_matrix + (0 if inertia is None else inertia),
            bias=lambda: plain.bias + forces,
            kinetic_energy=lambda: plain.kinetic_energy,
            potential_energy=lambda: plain.potential_energy,
        ),
    )
