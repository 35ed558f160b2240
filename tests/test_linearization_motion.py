"""Linearization along motions: what A(t) says of neighbours is what neighbours do."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, interpolate

from erugin.controllers import Linearizer, NominalMotion, Reference
from erugin.robots import Robot, assemble, assemble_velocities
from erugin.robots.examples import fukao_robot, realaigym_acrobot
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import ModelError, ShapeError

from .arms import two_link_arm
from .test_linearization import linkage

Array = NDArray[np.float64]
Neighbour = Callable[[Array], tuple[Array, Array]]


def motion_of(robot: Robot, q: Array, v: Array, duration: float) -> NominalMotion:
    free = simulate(robot, None, q, v, duration, step=2.5e-3, integrator=DOP853(1e-12, 1e-12))
    return NominalMotion(robot, free.t, free.q, free.v, np.zeros((len(free), robot.u.numel())))


def require_neighbours_agree(robot: Robot, q: Array, v: Array, duration: float, neighbour: Neighbour) -> None:
    """Φ of Φ̇ = A(t) Φ, Φ(0) = I, against differences of motions that start beside each other."""
    motion = motion_of(robot, q, v, duration)
    line = Linearizer(robot).along(motion)
    n, places = len(line.states), list(line.independent)
    A = interpolate.CubicSpline(line.t, line.A, axis=0)
    flow = integrate.solve_ivp(
        lambda t, x: (A(t) @ x.reshape(n, n)).ravel(), (0, duration), np.eye(n).ravel(), rtol=1e-10, atol=1e-12
    )
    expected = np.zeros((n, n))
    for k, direction in enumerate(np.eye(n) * 1e-5):
        ends = []
        for sign in (1.0, -1.0):
            start = np.concatenate([q, v]) + sign * line.T[0] @ direction
            end = motion_of(robot, *neighbour(start), duration)
            ends.append(np.concatenate([end.q[-1], end.v[-1]])[places])
        expected[:, k] = (ends[0] - ends[1]) / 2e-5
    np.testing.assert_allclose(flow.y[:, -1].reshape(n, n), expected, rtol=0, atol=3e-6 * np.abs(expected).max())


def test_an_arm_that_falls() -> None:
    robot = two_link_arm()
    require_neighbours_agree(robot, np.array([0.3, 0.8]), np.array([0.5, -1.0]), 0.5, lambda x: (x[:2], x[2:]))


@pytest.mark.slow
def test_a_closed_loop_that_falls() -> None:
    robot = linkage()

    def onto(x: Array) -> tuple[Array, Array]:
        q = assemble(robot, x[:3], fixed=["crank"], tolerance=1e-14).q
        return q, assemble_velocities(robot, q, x[3:], fixed=["crank"])

    q = assemble(robot, [0.8, 0.7, 1.5], tolerance=1e-14).q
    v = assemble_velocities(robot, q, [2.0, 0.0, 0.0], fixed=["crank"])
    require_neighbours_agree(robot, q, v, 0.3, onto)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["full", "reduced"])
def test_a_rolling_robot_that_turns(form: str) -> None:
    robot = fukao_robot(form="full" if form == "full" else "reduced")
    q = np.array([0.0, 0.0, 0.4, 0.0, 0.0])
    wheels = (0.6 + np.array([1.0, -1.0]) * 0.75 * 0.5) / 0.15
    v = np.array([0.6 * np.cos(0.4), 0.6 * np.sin(0.4), 0.5, *wheels]) if form == "full" else np.array([0.6, 0.5])

    def onto(x: Array) -> tuple[Array, Array]:
        if form == "reduced":
            return x[:5], x[5:]
        return x[:5], assemble_velocities(robot, x[:5], x[5:], fixed=robot.coordinates.names[3:])

    require_neighbours_agree(robot, q, v, 1.0, onto)


def test_a_motion_is_checked_and_kept() -> None:
    robot = two_link_arm()
    t = np.linspace(0.0, 1.0, 41)
    q = np.column_stack([np.sin(t), np.cos(2 * t)])
    v = np.column_stack([np.cos(t), -2 * np.sin(2 * t)])
    u = np.column_stack([t, 1 - t])
    motion = NominalMotion(robot, t, q, v, u)
    found = motion.at(0.313)
    np.testing.assert_allclose(found[0], [np.sin(0.313), np.cos(0.626)], atol=1e-7)
    np.testing.assert_allclose(found[1], [np.cos(0.313), -2 * np.sin(0.626)], atol=1e-6)
    np.testing.assert_allclose(found[2], [0.313, 0.687], atol=1e-14)
    for time, sample in ((-1.0, 0), (2.0, -1)):
        for value, given in zip(motion.at(time), (q, v, u), strict=True):
            np.testing.assert_allclose(value, given[sample])
    with pytest.raises(ValueError, match="read-only"):
        motion.q[0, 0] = 1.0
    bad: list[tuple[tuple[ArrayLike, ...], type[Exception], str]] = [
        ((t[::-1], q, v, u), ModelError, "must grow"),
        ((t[:1], q[:1], v[:1], u[:1]), ShapeError, "at least 2 samples"),
        ((t, q[:, :1], v, u), ShapeError, r"q of a motion must have shape \(41, 2\)"),
        ((t, q, v * np.nan, u), ShapeError, "finite"),
    ]
    for arrays, error, message in bad:
        with pytest.raises(error, match=message):
            NominalMotion(robot, *(np.asarray(a, dtype=np.float64) for a in arrays))
    with pytest.raises(ModelError, match="not of the given"):
        Linearizer(two_link_arm()).along(motion)


def test_a_reference_becomes_a_motion_with_the_inputs_that_follow_it() -> None:
    """Under these inputs the robot has the reference's own accelerations; an acrobot cannot follow any but a few."""
    robot = two_link_arm()
    wave = Reference.of(robot, ca.vertcat(0.3 + 0.2 * ca.sin(3 * robot.t), 0.8 * ca.cos(robot.t)))
    motion = NominalMotion.of_reference(wave, np.linspace(0.0, 2.0, 9))
    for t, q, v, u in zip(motion.t, motion.q, motion.v, motion.u, strict=True):
        np.testing.assert_allclose(q, [0.3 + 0.2 * np.sin(3 * t), 0.8 * np.cos(t)], atol=1e-14)
        np.testing.assert_allclose(v, [0.6 * np.cos(3 * t), -0.8 * np.sin(t)], atol=1e-14)
        a = robot.evaluate(robot.acceleration, q=q, v=v, u=u)
        np.testing.assert_allclose(a, [-1.8 * np.sin(3 * t), -0.8 * np.cos(t)], atol=1e-12)
    line = Linearizer(robot).along(motion)
    assert line.A.shape == (9, 4, 4)
    for times in ([0.0, np.nan], [[0.0, 1.0]], 1.0):
        with pytest.raises(ShapeError, match="times"):
            NominalMotion.of_reference(wave, times)
    with pytest.raises(ModelError, match="t must be finite"):
        motion.at(np.nan)
    acrobot = realaigym_acrobot()
    bent = Reference.of(acrobot, ca.vertcat(0.1 * acrobot.t, 0.0))
    with pytest.raises(ModelError, match=r"cannot follow the reference: at t = 0\.5 v_q1 lacks"):
        NominalMotion.of_reference(bent, [0.0, 0.5, 1.0])
