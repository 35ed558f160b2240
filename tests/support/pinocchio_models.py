"""Robots for the bridge to Pinocchio, and what it says of them beside what is known here."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erugin.bridges import pinocchio as bridge
from erugin.bridges.pinocchio import PinocchioModel
from erugin.robots import Assembler, Link, Robot, TelescopicLink, exoskeleton, mechanism, planar_manipulator
from erugin.robots.examples import andrews_squeezer, bricard_mechanism, walker

from .mechanisms import crank_rocker, engine, parallel_robot, stephenson
from .urdf import load_quietly, real_robots

Array = NDArray[np.float64]
pin: Any = importlib.import_module("pinocchio")

BAR = Link(0.5, 1.2, 0.2, 0.03)
TELESCOPE = TelescopicLink(1.4, 0.06, 0.45, 700.0, 0.8)
WHOLE = TelescopicLink(1.4, 0.06, 1.0, 700.0, 0.8)


def open_four_bar(angles: str) -> Robot:
    """A chain of three links whose tip is held."""
    links = [Link(0.3, 1.0, 0.15, 0.01), Link(0.8, 2.0, 0.4, 0.1), Link(0.6, 1.5, 0.3, 0.05)]
    chain = planar_manipulator(links, angles="absolute" if angles == "absolute" else "relative")
    return mechanism(chain, [("tip", (0.9, 0.1))])


ROBOTS: dict[str, Callable[[], Robot]] = {
    "two links": lambda: planar_manipulator([BAR] * 2),
    "seven links, absolute angles": lambda: planar_manipulator([BAR] * 7, angles="absolute"),
    "chain closed, relative angles": lambda: open_four_bar("relative"),
    "chain closed, absolute angles": lambda: open_four_bar("absolute"),
    "four-bar": crank_rocker,
    "slider-crank": engine,
    "five-bar": parallel_robot,
    "six-bar": stephenson,
    "squeezer": andrews_squeezer,
    "walker": walker,
    "masses at the ends": lambda: exoskeleton([WHOLE] * 3),
    "foot on the ground": lambda: mechanism(exoskeleton([WHOLE] * 3), [("tip", (0.7, 0.4))]),
    "masses within": lambda: exoskeleton([TELESCOPE] * 4, parents=[0, 1, 2, 2]),
    "masses within, foot on the ground": lambda: mechanism(
        exoskeleton([TELESCOPE] * 4, parents=[0, 1, 2, 2]), [("tip", (0.7, 0.4))]
    ),
    "flying star": lambda: exoskeleton([TELESCOPE] * 3, parents=[0, 0, 0], base="floating", pole_mass=2.0),
    "Panda": lambda: load_quietly(real_robots()["panda"]),
    "UR5": lambda: load_quietly(real_robots()["ur5_robot"]),
    "Solo 12, floating": lambda: load_quietly(real_robots()["solo12"], base="floating"),
    "Bricard": bricard_mechanism,
}


@functools.cache
def robot_of(name: str) -> Robot:
    """One of the robots."""
    return ROBOTS[name]()


@functools.cache
def exported(name: str) -> PinocchioModel:
    """One of the robots in Pinocchio."""
    return export_quietly(robot_of(name))


def export_quietly(robot: Robot, p: dict[str, float] | None = None) -> PinocchioModel:
    """A robot in Pinocchio, whatever it has no place for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bridge.export(robot, p=p)


class State(NamedTuple):
    """One state, here."""

    q: Array
    v: Array
    u: Array


def random_state(robot: Robot, rng: np.random.Generator, p: dict[str, float] | None = None) -> State:
    """A state at random, in which coordinates that follow others do so and, if rows may be spare, loops are closed."""
    c = robot.coordinates
    # The axis that Bricard's mechanism is held along points either way: the guess is near one of them.
    q = rng.uniform(-0.3, 0.3, c.nq) if robot is robot_of("Bricard") else rng.uniform(0.3, 1.3, c.nq)
    for i, name in enumerate(c.names):
        if name.endswith(".qx"):
            q[i : i + 4] = rng.normal(size=4)
            q[i : i + 4] /= np.linalg.norm(q[i : i + 4])
    v = rng.uniform(-1.0, 1.0, c.nv)
    if robot.redundant == "least-norm" or any(row.endswith(".mimic") for row in robot.natural_rows):
        q = Assembler(robot).assemble(q, p=p).q
        A = np.atleast_2d(robot.evaluate(robot.natural_form[0], q=q, v=v, p=p))
        v = v - np.linalg.pinv(A, rcond=1e-9) @ (A @ v)
    return State(q, v, rng.uniform(-3.0, 3.0, robot.u.numel()))


def close(actual: Array, expected: Array, tolerance: float) -> None:
    """Equal but for a share of the largest entry, which is not nothing."""
    scale = float(np.abs(expected).max())
    assert scale > 1e-6
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def matrix(robot: Robot, values: Array) -> Array:
    """A square matrix, also where there is one velocity."""
    n = robot.coordinates.nv
    return np.asarray(values).reshape(n, n)
