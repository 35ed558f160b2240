"""Obstacles of a controller that are bodies of a MuJoCo model: their motion becomes the controller's parameters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.parameters import Parameters

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


Array = NDArray[np.float64]
CHANGE_TOLERANCE = 1e-9
"""Change of an obstacle's parameter that is reported; those of uniform motion do not change."""
ROUND_GEOMETRIES = (2, 3, 5)
"""MuJoCo's types of spheres, capsules and cylinders, whose first size is a radius."""


@dataclass(frozen=True)
class Obstacle:
    """A body of the model that is an obstacle of the law.

    Attributes:
        body: name of the body in the MuJoCo model; the obstacle's centre is the origin of its frame.
        velocity: source of the law's parameters ``name.vx``, …: ``"measured"`` for the velocity of the body, of a mocap
            body the difference of its last two positions; ``"law"`` to keep the values in p; ``"zero"``.
        axes: axes of MuJoCo's world that are x, y (and z) of the law.
    """

    body: str
    velocity: Literal["measured", "law", "zero"] = "measured"
    axes: str = "xyz"

    def __post_init__(self) -> None:
        """Validate the velocity and the axes."""
        if self.velocity not in ("measured", "law", "zero"):
            raise BridgeError(f"velocity of an obstacle must be 'measured', 'law' or 'zero', got {self.velocity!r}")
        if not set(self.axes) <= set("xyz") or len(set(self.axes)) != len(self.axes) or len(self.axes) < 2:
            raise BridgeError(f"axes of an obstacle must be two or three of x, y, z, such as 'xz', got {self.axes!r}")


@dataclass(eq=False)
class _TrackedBody:
    """One obstacle: its body, the indices in p of its parameters, and its last state."""

    body: int
    root: int
    mocap: int
    velocity: str
    axes: list[int]
    center: list[int]
    drift: list[int]
    angles: list[int]
    turn: list[int]
    time: float = math.nan
    position: Array = field(default_factory=lambda: np.zeros(3))
    speed: Array = field(default_factory=lambda: np.zeros(3))


class ObstacleTracker:
    """Writer of obstacles to a law's parameters, so that position and velocity are right at the current time."""

    def __init__(
        self,
        mujoco: ModuleType,
        model: MjModel,
        parameters: Parameters,
        obstacles: Mapping[str, str | Obstacle],
        numbers: Array,
    ) -> None:
        """Find bodies and parameters.

        Args:
            mujoco: the package.
            model: the MjModel.
            parameters: parameters of the law.
            obstacles: name of an obstacle in the law → name of a body, or an Obstacle.
            numbers: values of the parameters, shape (np,), which are changed in place.

        Raises:
            BridgeError: for a body or an obstacle that does not exist, or one whose rotation cannot be read.
        """
        self._mujoco, self._model, self._numbers, self._names = mujoco, model, numbers, parameters.names
        self._tracked = [self._find(parameters, name, given) for name, given in obstacles.items()]
        self._moves = any(tracked.mocap < 0 for tracked in self._tracked)

    def __bool__(self) -> bool:
        """True if there are obstacles."""
        return bool(self._tracked)

    def change_report(self, before: Array) -> str:
        """Return a sentence on obstacles whose parameters changed; empty if none changed.

        Args:
            before: parameters at the start, shape (np,).
        """
        changed = np.flatnonzero(np.abs(self._numbers - before) > CHANGE_TOLERANCE) if self._tracked else ()
        changes = ", ".join(f"{self._names[i]} from {before[i]:.6g} to {self._numbers[i]:.6g}" for i in changed)
        start = "obstacles did not move as they did at the start; controller_p has their last parameters: "
        return f"{start}{changes}" if changes else ""

    def read_sample(self, data: MjData) -> None:
        """Read all obstacles between two steps.

        Args:
            data: the MjData, whose positions and velocities of bodies are updated.
        """
        if self._moves:
            # After a step the poses of bodies are still those of the previous sample.
            self._mujoco.mj_kinematics(self._model, data)
            self._mujoco.mj_comPos(self._model, data)
            self._mujoco.mj_comVel(self._model, data)
        for tracked in self._tracked:
            self._anchor(tracked, data) if tracked.mocap >= 0 else self._read(tracked, data)

    def read_stage(self, data: MjData) -> None:
        """Read the obstacles inside a step, where MuJoCo has just updated the bodies.

        Args:
            data: the MjData.
        """
        h, t = self._model.opt.timestep, data.time
        for tracked in self._tracked:
            if tracked.mocap < 0:
                self._read(tracked, data)
            # A mocap body rests within a step: the law extrapolates its motion until it is read at another position,
            # or has not moved for longer than a step.
            elif (
                not tracked.time <= t <= tracked.time + h * (1 + 1e-6)
                or (data.mocap_pos[tracked.mocap] != tracked.position).any()
            ):
                self._anchor(tracked, data)

    def _read(self, tracked: _TrackedBody, data: MjData) -> None:
        tracked.time, tracked.position = float(data.time), np.array(data.xpos[tracked.body])
        spin = np.zeros(3)
        if tracked.velocity == "measured":
            # As in mj_objectVelocity: in MuJoCo 3 an exception of a callback after such a call ends the process.
            twist = data.cvel[tracked.body]
            spin, (x, y, z) = np.array(twist[:3]), twist[:3]
            a, b, c = tracked.position - data.subtree_com[tracked.root]
            tracked.speed = np.add(twist[3:], (y * c - z * b, z * a - x * c, x * b - y * a))
        self._set(tracked, data, spin)

    def _anchor(self, tracked: _TrackedBody, data: MjData) -> None:
        position, t = np.array(data.mocap_pos[tracked.mocap]), float(data.time)
        if tracked.velocity == "measured":
            since = t - tracked.time
            if since > 0.0:
                tracked.speed = (position - tracked.position) / since
            elif since != 0.0:
                # First reading, or the time was set back: use the law's own velocity until it moves.
                tracked.speed = np.zeros(3)
                tracked.speed[tracked.axes] = self._numbers[tracked.drift] if tracked.drift else 0.0
        tracked.time, tracked.position = t, position
        self._set(tracked, data, np.zeros(3))

    def _set(self, tracked: _TrackedBody, data: MjData, spin: Array) -> None:
        """Set the law's parameters, the position at t = 0, from the current state of an obstacle."""
        p, t, position = self._numbers, tracked.time, tracked.position[tracked.axes]
        if tracked.drift:
            if tracked.velocity != "law":
                p[tracked.drift] = tracked.speed[tracked.axes]
            position = position - p[tracked.drift] * t
        p[tracked.center] = position
        if tracked.angles:
            R = data.xmat[tracked.body].reshape(3, 3)[np.ix_(tracked.axes, tracked.axes)]
            p[tracked.angles] = _angles(R)
            if tracked.turn:
                # Counter-clockwise in the plane of the first two axes.
                i, j = tracked.axes
                p[tracked.turn] = (
                    0.0 if tracked.velocity == "zero" else spin[3 - i - j] * (1.0 if (j - i) % 3 == 1 else -1.0)
                )
                p[tracked.angles] -= p[tracked.turn] * t

    def _find(self, parameters: Parameters, name: str, given: str | Obstacle) -> _TrackedBody:
        obstacle = Obstacle(given) if isinstance(given, str) else given
        if not isinstance(obstacle, Obstacle):
            raise BridgeError(f"obstacles= must map {name!r} to the name of a body or an Obstacle, got {given!r}")
        model, known = self._model, parameters.names
        bodies = [str(model.body(k).name) for k in range(model.nbody)]
        if obstacle.body not in bodies:
            raise BridgeError(
                f"the MuJoCo model has no body {obstacle.body!r} for {name!r}; bodies: {', '.join(bodies)}"
            )
        body = bodies.index(obstacle.body)
        axes = [axis for axis in "xyz" if f"{name}.{axis}" in known]
        if len(axes) < 2:
            prefixes = sorted({key.removesuffix(".x") for key in known if key.endswith(".x")})
            raise BridgeError(
                f"the law has no obstacle {name!r} with parameters {name}.x, {name}.y; those that have a position: "
                f"{', '.join(prefixes) or 'none'}"
            )
        if len(obstacle.axes) < len(axes):
            raise BridgeError(f"{name!r} has {len(axes)} dimensions, so axes= must have as many, got {obstacle.axes!r}")
        if any(f"{prefix}.wx" in known for prefix in (name, f"{name}_motion")):
            raise BridgeError(
                f"{name!r} rotates in space at a constant rate, which cannot be read from a body: leave it out of "
                "obstacles="
            )
        moving = next((prefix for prefix in (name, f"{name}_motion") if f"{prefix}.vx" in known), None)
        rates_of_turn = [f"{prefix}.turn_rate" for prefix in (name, f"{name}_motion") if f"{prefix}.turn_rate" in known]
        angles = [key for key in (f"{name}.{a}" for a in ("angle", "yaw", "pitch", "roll")) if key in known]
        at = known.index
        self._compare_radius(parameters, name, body)
        return _TrackedBody(
            body=body,
            root=int(model.body_rootid[body]),
            mocap=int(model.body_mocapid[body]),
            velocity=obstacle.velocity,
            axes=["xyz".index(axis) for axis in obstacle.axes[: len(axes)]],
            center=[at(f"{name}.{axis}") for axis in axes],
            drift=[at(f"{moving}.v{axis}") for axis in axes] if moving else [],
            angles=[at(key) for key in angles],
            turn=[at(key) for key in rates_of_turn],
        )

    def _compare_radius(self, parameters: Parameters, name: str, body: int) -> None:
        model, key = self._model, f"{name}.radius"
        geoms = [k for k in range(model.ngeom) if int(model.geom_bodyid[k]) == body]
        if key not in parameters.names or len(geoms) != 1 or int(model.geom_type[geoms[0]]) not in ROUND_GEOMETRIES:
            return
        own, other = float(self._numbers[parameters.names.index(key)]), float(model.geom_size[geoms[0], 0])
        if abs(own - other) > 1e-9 * max(own, other):
            warnings.warn(
                f"the law assumes a radius of {own:g} m for {name!r}, but the body's geom has {other:g} m: "
                f"set p={{{key!r}: {other:g}}} if that is its size",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )


def _angles(R: Array) -> list[float]:
    """Return the angle of a rotation in the plane, or yaw, pitch and roll of one in space."""
    yaw = math.atan2(float(R[1, 0]), float(R[0, 0]))
    if len(R) == 2:
        return [yaw]
    return [yaw, math.asin(float(np.clip(-R[2, 0], -1.0, 1.0))), math.atan2(float(R[2, 1]), float(R[2, 2]))]
