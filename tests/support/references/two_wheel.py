"""The two-wheel robot by other hands: Newton-Euler body by body, published equations, Pinocchio."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Numbers(NamedTuple):
    """Lengths [m], masses [kg] and inertias [kg m^2]."""

    r: float
    b: float
    d: float
    platform_mass: float
    platform_inertia: float
    wheel_mass: float
    axle_inertia: float
    diameter_inertia: float


class Rolling(NamedTuple):
    """Accelerations [m/s^2, rad/s^2], and forces of the ground on the robot: to its left and along its heading [N]."""

    speed_rate: float
    turning_acceleration: float
    side: float
    right: float
    left: float


def newton_euler(
    n: Numbers, speed: float, turning: float, torques: Array, spin_inertia: tuple[float, float] | None = None
) -> Rolling:
    """Every body cut free, in the axes of the robot, without any energy.

    Unknown are the two accelerations, the traction of each wheel, the side force S on both, the forward forces X_r and
    X_l of the hubs on the platform, and the side force Y of both hubs on it. Each hub turns its wheel about the
    vertical with a moment I_d w'.
    """
    about_axle = spin_inertia or (n.axle_inertia, n.axle_inertia)
    left: list[list[float]] = []
    right: list[float] = []

    def equation(value: float, **factors: float) -> None:
        left.append([factors.pop(key, 0.0) for key in ("dv", "dw", "Fr", "Fl", "S", "Xr", "Xl", "Y")])
        assert not factors
        right.append(value)

    mw, mp = n.wheel_mass, n.platform_mass
    # A hub at (0, -b): a = (v' + b w', v w + b w^2); at (0, b): (v' - b w', v w - b w^2).
    equation(0.0, dv=mw, dw=mw * n.b, Fr=-1.0, Xr=1.0)
    equation(0.0, dv=mw, dw=-mw * n.b, Fl=-1.0, Xl=1.0)
    equation(-2.0 * mw * speed * turning, S=-1.0, Y=1.0)
    # Spin of the wheels, which roll: the traction brakes them.
    equation(float(torques[0]), dv=about_axle[0] / n.r, dw=about_axle[0] * n.b / n.r, Fr=n.r)
    equation(float(torques[1]), dv=about_axle[1] / n.r, dw=-about_axle[1] * n.b / n.r, Fl=n.r)
    # The platform's centre at (d, 0): a = (v' - d w^2, v w + d w').
    equation(mp * n.d * turning**2, dv=mp, Xr=-1.0, Xl=-1.0)
    equation(-mp * speed * turning, dw=mp * n.d, Y=-1.0)
    equation(0.0, dw=n.platform_inertia + 2.0 * n.diameter_inertia, Xr=-n.b, Xl=n.b, Y=n.d)
    dv, dw, traction_right, traction_left, side = np.linalg.solve(np.array(left), np.array(right))[:5]
    return Rolling(float(dv), float(dw), float(side), float(traction_right), float(traction_left))


def fukao_acceleration(n: Numbers, wheel_speeds: Array, torques: Array) -> Array:
    """M nu' + V nu = tau for nu = (right, left) wheel speeds, the equations of Fukao, Nakagawa and Adachi (2000)."""
    m = n.platform_mass + 2.0 * n.wheel_mass
    inertia = n.platform_mass * n.d**2 + 2.0 * n.wheel_mass * n.b**2 + n.platform_inertia + 2.0 * n.diameter_inertia
    scale = n.r**2 / (4.0 * n.b**2)
    m11, m12 = scale * (m * n.b**2 + inertia) + n.axle_inertia, scale * (m * n.b**2 - inertia)
    turning = n.r / (2.0 * n.b) * (wheel_speeds[0] - wheel_speeds[1])
    v12 = n.r**2 / (2.0 * n.b) * n.platform_mass * n.d * turning
    M, V = np.array([[m11, m12], [m12, m11]]), np.array([[0.0, v12], [-v12, 0.0]])
    return np.asarray(np.linalg.solve(M, torques - V @ wheel_speeds), dtype=np.float64)


class PinocchioTwoWheel:
    """Five joints in space - x, y, turn about z, and each wheel's turn about y - with whole inertia tensors."""

    def __init__(self, n: Numbers, *, rotors: tuple[tuple[float, float], ...] = ()) -> None:
        """Build the model; ``rotors`` are pairs of inertia [kg m^2] and gear ratio for the wheels."""
        pin: Any = importlib.import_module("pinocchio")  # has no type information
        model: Any = pin.Model()
        joint = 0
        for kind in (pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()):
            joint = model.addJoint(joint, kind, pin.SE3.Identity(), f"base{joint}")
        # The first two moments do not matter for a body that stays upright.
        upright = np.diag([0.7, 0.9, n.platform_inertia])
        body: Any = pin.Inertia(n.platform_mass, np.array([n.d, 0.0, 0.2]), upright)
        model.appendBodyToJoint(joint, body, pin.SE3.Identity())
        disc = np.diag([n.diameter_inertia, n.axle_inertia, n.diameter_inertia])
        wheel: Any = pin.Inertia(n.wheel_mass, np.zeros(3), disc)
        for name, side in (("right", -n.b), ("left", n.b)):
            hub = model.addJoint(joint, pin.JointModelRY(), pin.SE3(np.eye(3), np.array([0.0, side, n.r])), name)
            model.appendBodyToJoint(hub, wheel, pin.SE3.Identity())
        if rotors:
            model.armature = np.array([0.0, 0.0, 0.0, *(inertia * ratio**2 for inertia, ratio in rotors)])
        self._pin: Any = pin
        self._model: Any = model
        self._data: Any = model.createData()

    def mass_matrix(self, q: Array) -> Array:
        """M(q), shape (5, 5)."""
        upper = np.triu(np.array(self._pin.crba(self._model, self._data, q), dtype=np.float64))
        return upper + np.triu(upper, 1).T

    def bias(self, q: Array, v: Array) -> Array:
        """h(q, v), shape (5,)."""
        return np.array(self._pin.nonLinearEffects(self._model, self._data, q, v), dtype=np.float64)
