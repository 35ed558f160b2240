"""The benchmark bicycle [Meijaard2007]: holonomic and nonholonomic constraints, linearized about rolling straight on.

The model here is written down from its geometry and its bodies only; the numbers to compare with are the eigenvalues of
the paper's Table 2, which come from the equations that its authors derived by hand and checked by two programs.
"""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.controllers import Linearizer
from erugin.robots import Robot, assemble_velocities, lagrangian_system

Array = NDArray[np.float64]

# Table 1; x forwards, z down, the rear contact at the origin.
WHEELBASE, TRAIL, TILT, GRAVITY = 1.02, 0.08, np.pi / 10, 9.81
REAR, FRONT = 0.3, 0.35
# Mass [kg], centre (x, z) [m], Ixx, Iyy, Izz, Ixz about it [kg m²]: rear wheel, rider and frame, fork, front wheel.
WHEEL_R = (2.0, (0.0, -0.3), 0.0603, 0.12, 0.0603, 0.0)
FRAME = (85.0, (0.3, -0.9), 9.2, 11.0, 2.8, 2.4)
FORK = (4.0, (0.9, -0.7), 0.05892, 0.06, 0.00708, -0.00756)
WHEEL_F = (3.0, (1.02, -0.35), 0.1405, 0.28, 0.1405, 0.0)

EIGENVALUES = {
    0.0: (-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393),
    4.0: (
        -12.15861426576447,
        -1.42944427361326,
        0.41325331521125 - 3.07910818603206j,
        0.41325331521125 + 3.07910818603206j,
    ),
}


def turned(axis: Array, angle: ca.SX) -> ca.SX:
    """Rotation about a fixed unit axis, by Rodrigues' formula."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return ca.SX.eye(3) + ca.sin(angle) * ca.SX(ca.DM(K)) + (1 - ca.cos(angle)) * ca.SX(ca.DM(K @ K))


@functools.cache
def bicycle() -> Robot:
    """q = (x, y, z of the rear wheel's centre, yaw, lean, pitch, steer, both wheels' turns)."""
    q = ca.vertcat(*(ca.SX.sym(n) for n in ("x", "y", "z", "yaw", "lean", "pitch", "steer", "rear", "front")))
    v = ca.vertcat(*(ca.SX.sym(f"v_{q[i].name()}") for i in range(9)))
    ex, ey, ez = np.eye(3)
    steer_axis = np.array([np.sin(TILT), 0.0, np.cos(TILT)])
    frame = turned(ez, q[3]) @ turned(ex, q[4]) @ turned(ey, q[5])
    fork = frame @ turned(steer_axis, q[6])
    # A point of the steering axis in the frame, from the rear wheel's centre.
    pivot = np.array([WHEELBASE + TRAIL, 0.0, REAR])
    rear_center = q[:3]
    front_center = rear_center + frame @ pivot + fork @ (np.array([WHEELBASE, 0.0, -FRONT + REAR]) - pivot)
    turns = (frame @ turned(ey, q[7]), frame, fork, fork @ turned(ey, q[8]))
    frame_center = rear_center + frame @ np.array([FRAME[1][0], 0.0, FRAME[1][1] + REAR])
    fork_center = rear_center + frame @ pivot + fork @ (np.array([FORK[1][0], 0.0, FORK[1][1] + REAR]) - pivot)
    centers = (rear_center, frame_center, fork_center, front_center)
    T, V = ca.SX(0), ca.SX(0)
    spins: list[ca.SX] = []
    for (mass, _, xx, yy, zz, xz), R, center in zip((WHEEL_R, FRAME, FORK, WHEEL_F), turns, centers, strict=True):
        # ω× = Ṙ Rᵀ in space; the tensor of a wheel turns with it, and is round.
        rate = ca.reshape(ca.jtimes(ca.vec(R), q, v), 3, 3) @ R.T
        omega = ca.vertcat(rate[2, 1], rate[0, 2], rate[1, 0])
        spins.append(omega)
        tensor = np.array([[xx, 0.0, xz], [0.0, yy, 0.0], [xz, 0.0, zz]])
        T += mass * ca.sumsqr(ca.jtimes(center, q, v)) / 2 + omega.T @ R @ tensor @ R.T @ omega / 2
        V -= mass * GRAVITY * center[2]
    touch, rolls = list[ca.SX](), list[ca.SX]()
    for center, axle, radius, omega in (
        (rear_center, frame @ ey, REAR, spins[0]),
        (front_center, fork @ ey, FRONT, spins[3]),
    ):
        # Down in the plane of the wheel.
        down = (ca.SX(ca.DM(ez)) - axle[2] * axle) / ca.sqrt(1 - axle[2] ** 2)
        touch.append(center[2] + radius * down[2])
        rolls.append((ca.jtimes(center, q, v) + ca.cross(omega, radius * down))[:2])
    return lagrangian_system(
        q=q,
        v=v,
        T=T,
        V=V,
        natural=(
            holonomic(ca.vertcat(*touch), name="touch"),
            nonholonomic(ca.vertcat(*rolls), name="roll"),
        ),
        name="benchmark bicycle",
    )


@functools.cache
def linearizer() -> Linearizer:
    return Linearizer(bicycle())


@pytest.mark.slow
@pytest.mark.parametrize("speed", EIGENVALUES)
def test_the_eigenvalues_of_the_benchmark_bicycle(speed: float) -> None:
    robot = bicycle()
    q = np.zeros(9)
    q[2] = -REAR
    v = assemble_velocities(robot, q, [speed, 0, 0, 0, 0, 0, 0, -speed / REAR, -speed / FRONT])
    assert v[0] == pytest.approx(speed, abs=1e-12)
    line = linearizer().at(0.0, q, v)
    # Nine coordinates less two contacts, and three velocities that rolling leaves.
    assert len(line.states) == 7 + 3
    np.testing.assert_allclose(line.rate[9:], 0.0, atol=1e-12)
    # Where it is, where it heads, how far its wheels have turned and how fast it goes are neutral.
    neutral = np.abs(line.poles) < 1e-4
    assert neutral.sum() == 6
    moving = np.sort_complex(line.poles[~neutral])
    np.testing.assert_allclose(moving, np.sort_complex(np.array(EIGENVALUES[speed], dtype=complex)), rtol=0, atol=1e-10)
