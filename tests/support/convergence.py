"""Motions that are known in closed form, and orders of convergence along them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller, Tick
from erugin.robots import Link, Robot, assemble, assemble_velocities, planar_manipulator, with_inputs
from erugin.robots.manifold.manifold import Manifold
from erugin.simulation import Trajectory

from .mechanisms import crank_rocker

Array = NDArray[np.float64]


def double_pendulum() -> Robot:
    return with_inputs(planar_manipulator([Link(0.6, 2.5, 0.35, 0.1), Link(0.5, 1.8, 0.2, 0.05)], zero="down"), ())


def linkage(rate: float = 9.0) -> tuple[Robot, Array, Array]:
    robot = with_inputs(crank_rocker(), ())
    q = assemble(robot, [0.5, 0.5, 1.5], fixed=["crank"]).q
    return robot, q, assemble_velocities(robot, q, fixed={"crank": rate})


def misfits(motion: Trajectory) -> tuple[float, float]:
    """Largest |φ| and |ρ| of the natural constraints over the samples."""
    manifold = Manifold.of(motion.robot)
    place, speed = (
        float(np.abs(motion.evaluate(e)).max()) if e.numel() else 0.0
        for e in (manifold.position_residual, manifold.velocity_residual)
    )
    return place, speed


def swinging() -> tuple[Robot, Array, Array]:
    """So high that it is not regular any more: 0.6 m and 0.5 m, let go at 1.2 and 2.0 rad."""
    return double_pendulum(), np.array([1.2, 2.0]), np.zeros(2)


STEPS = (4e-3, 2e-3, 1e-3)


class Follower(Controller):
    """Every input pulls its coordinate along sin t, from Python."""

    def __init__(self, robot: Robot, stiffness: float, damping: float) -> None:
        self.robot, self.stiffness, self.damping = robot, stiffness, damping

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        n = self.robot.u.numel()
        wanted = np.sin(t) - np.asarray(q, dtype=np.float64)[:n]
        return Tick(np.asarray(self.stiffness * wanted - self.damping * np.asarray(v)[:n], dtype=np.float64))


class Lost(Follower):
    """NaN after some time."""

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(super().evaluate(t, q, v, p, memory).output * (1.0 if t < 0.05 else np.nan))


def observed_orders(runs: list[Trajectory], ends: list[Trajectory]) -> Array:
    """Measured orders of q and v, shape (len(runs) − 1, 2)."""
    misses = [
        [float(np.abs(a[-1] - b[-1]).max()) for a, b in ((run.q, end.q), (run.v, end.v))]
        for run, end in zip(runs, ends, strict=True)
    ]
    return np.asarray(np.log2(np.array(misses[:-1]) / np.array(misses[1:])), dtype=np.float64)
