"""Every family of robots that is made of a tree, in its variants, and states of any such robot."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from erugin import robots
from erugin.robots import (
    Link,
    Robot,
    TelescopicLink,
    exoskeleton,
    load_urdf,
    planar_manipulator,
    spatial_exoskeleton,
    tree_system,
)
from erugin.robots.examples import body_model, leg
from erugin.robots.formulations import Formulation
from erugin.robots.tree import Floating, Tree

from .chains import ANGLES, ZEROS, Chain
from .references.pinocchio_urdf import example_robots
from .references.planar_newton_euler import Angles, Zero
from .trees import TREES, State

Array = NDArray[np.float64]
Family = Callable[[Formulation | None], Robot]

LINK = TelescopicLink(mass=1.4, inertia=0.06, center_ratio=0.45, stiffness=700.0, rest_length=0.8)
HEAVY = TelescopicLink(2.1, 0.09, 0.6, 900.0, 0.7, hinge_mass=0.5, damping=3.0)
POINT = TelescopicLink(0.9, 0.0, 1.0, 300.0, 0.5)


def _chain(n: int, angles: Angles, zero: Zero) -> Family:
    links = [Link(*link) for link in Chain(n, angles, zero).links]
    return lambda formulation: planar_manipulator(links, angles=angles, zero=zero, formulation=formulation)


def _exoskeleton(builder: Callable[..., Robot], *links: TelescopicLink, **options: object) -> Family:
    return lambda formulation: builder(list(links), formulation=formulation, **options)


def _human(builder: Callable[..., Robot], **options: object) -> Family:
    size = {"body_mass": 72.0, "height": 1.76, "sex": "male", "stiffness": 3e4, "damping": 200.0}
    return lambda formulation: builder(formulation=formulation, **size, **options)


def _urdf(path: str, base: Literal["fixed", "floating"]) -> Family:
    return lambda formulation: load_urdf(example_robots() / path, base=base, formulation=formulation)


FAMILIES: dict[str, Family] = {
    **{
        f"manipulator-{n}-{angles}-{zero}": _chain(n, angles, zero)
        for n in range(1, 8)
        for angles in ANGLES
        for zero in ZEROS
    },
    **{
        f"exoskeleton-{label}{extra}": _exoskeleton(builder, *links, **options)
        for extra, builder in (("", exoskeleton), ("-in-space", spatial_exoskeleton))
        for label, links, options in (
            ("pinned", (LINK, HEAVY, POINT), {}),
            ("floating", (LINK, HEAVY), {"base": "floating", "axial_drives": True}),
            ("branched", (HEAVY, LINK, POINT), {"parents": (0, 1, 1), "base": "floating", "pole_mass": 0.4}),
            ("stretched", (LINK, HEAVY), {"inertia_law": "stretched"}),
            ("rigid", (LINK, HEAVY), {"rigid": True}),
        )
    },
    "leg": _human(leg, hip_load=50.0),
    "body-of-eleven-links": _human(body_model, base="floating"),
    **{f"tree-{name}": tree.robot for name, tree in TREES.items()},
    "urdf-ur5": _urdf("ur_description/urdf/ur5_robot.urdf", "fixed"),
    "urdf-double-pendulum-in-flight": _urdf("double_pendulum_description/urdf/double_pendulum.urdf", "floating"),
}
"""Builders by name; each takes the formulation."""

BUILDERS = {planar_manipulator, exoskeleton, spatial_exoskeleton, leg, body_model, load_urdf, tree_system}
"""The functions that stand behind the table."""


def with_formulation() -> set[object]:
    """Every function of the room of robots with an optional formulation."""
    found: set[object] = set()
    for module in pkgutil.walk_packages(robots.__path__, "erugin.robots."):
        for function in vars(import_module(module.name)).values():
            chosen = inspect.signature(function).parameters.get("formulation") if inspect.isfunction(function) else None
            if chosen is not None and chosen.default is not inspect.Parameter.empty:
                found.add(function)
    return found


@functools.cache
def default(name: str) -> Robot:
    """The robot of a family in the default formulation."""
    return FAMILIES[name](None)


def tree_of(robot: Robot) -> Tree:
    """The tree that a robot is made of."""
    assert robot.tree is not None
    return robot.tree


def random_states(robot: Robot, seed: int, count: int) -> Iterator[State]:
    """States with angles all around, lengths greater than zero and quaternions of length one."""
    rng = np.random.default_rng(seed)
    c, tree = robot.coordinates, tree_of(robot)
    at = {name: i for i, name in enumerate(c.names)}
    for _ in range(count):
        q = np.array([rng.uniform(0.3, 1.3) if unit == "m" else rng.uniform(-3.0, 3.0) for unit in c.units])
        for node in tree.nodes:
            if isinstance(node.joint, Floating):
                places = [at[f"{node.name}{suffix}"] for suffix in node.joint.suffixes[3:]]
                q[places] = quaternion(rng)
        yield State(q, rng.uniform(-2.0, 2.0, c.nv), rng.uniform(-10.0, 10.0, robot.u.numel()))


def quaternion(rng: np.random.Generator) -> Array:
    """A random one of length one."""
    e = rng.normal(size=4)
    return np.asarray(e / np.linalg.norm(e))
