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
"""By which a parameter of an obstacle changes that is told; those of steady motion do not change."""
ROUND_GEOMETRIES = (2, 3, 5)
"""MuJoCo's numbers for spheres, capsules and cylinders, whose first size is a radius."""


@dataclass(frozen=True)
class Obstacle:
    """A body that a law is to see.

    Attributes:
        body: its name in the MuJoCo model; the obstacle's centre is the origin of the body's frame.
        velocity: what becomes of the law's drift ``name.vx``, …: ``"measured"`` is that of the body's joints, and of
            a mocap body the difference of its last two places; ``"law"`` leaves it as it is in p; ``"zero"``.
        axes: axes of MuJoCo's world that are x, y (and z) of the law.
    """

    body: str
    velocity: Literal["measured", "law", "zero"] = "measured"
    axes: str = "xyz"

    def __post_init__(self) -> None:
        """Check the words."""
        if self.velocity not in ("measured", "law", "zero"):
            raise BridgeError(f"velocity of an obstacle must be 'measured', 'law' or 'zero', got {self.velocity!r}")
        if not set(self.axes) <= set("xyz") or len(set(self.axes)) != len(self.axes) or len(self.axes) < 2:
            raise BridgeError(f"axes of an obstacle must be two or three of x, y, z, such as 'xz', got {self.axes!r}")


@dataclass(eq=False)
class _TrackedBody:
    """One obstacle: the body, the places in p of what is set, and what was seen of it last."""

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
    place: Array = field(default_factory=lambda: np.zeros(3))
    speed: Array = field(default_factory=lambda: np.zeros(3))


class ObstacleTracker:
    """Reads obstacles into a law's parameters, so that place and velocity are right at the present time."""

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
            model: MuJoCo's.
            parameters: of the law.
            obstacles: name of an obstacle in the law → body, or an Obstacle.
            numbers: values of the parameters, shape (np,), which are written in place.

        Raises:
            BridgeError: for a body or an obstacle that is not there, or one whose turning cannot be read.
        """
        self._mujoco, self._model, self._numbers, self._names = mujoco, model, numbers, parameters.names
        self._seen = [self._find(parameters, name, given) for name, given in obstacles.items()]
        self._moves = any(seen.mocap < 0 for seen in self._seen)

    def __bool__(self) -> bool:
        """Whether there is anything to see."""
        return bool(self._seen)

    def saw(self, before: Array) -> str:
        """A sentence on obstacles that did not go on as they began; empty if they did, or there are none.

        Args:
            before: the parameters when they began, shape (np,).
        """
        changed = np.flatnonzero(np.abs(self._numbers - before) > CHANGE_TOLERANCE) if self._seen else ()
        told = ", ".join(f"{self._names[i]} from {before[i]:.6g} to {self._numbers[i]:.6g}" for i in changed)
        start = "the law saw its obstacles move otherwise than they did at the start; controller_p holds the last: "
        return f"{start}{told}" if told else ""

    def read_sample(self, data: MjData) -> None:
        """Read everything between two steps.

        Args:
            data: MuJoCo's; what it has of places is brought up to date.
        """
        if self._moves:
            # After a step they are still those of the sample before.
            self._mujoco.mj_kinematics(self._model, data)
            self._mujoco.mj_comPos(self._model, data)
            self._mujoco.mj_comVel(self._model, data)
        for seen in self._seen:
            self._anchor(seen, data) if seen.mocap >= 0 else self._read(seen, data)

    def look(self, data: MjData) -> None:
        """Read inside a step, where MuJoCo has just placed the bodies.

        Args:
            data: MuJoCo's.
        """
        h, t = self._model.opt.timestep, data.time
        for seen in self._seen:
            if seen.mocap < 0:
                self._read(seen, data)
            # A mocap body stands still within a step: its motion goes on in the law until it is seen elsewhere, or has
            # not moved for longer than a step.
            elif not seen.time <= t <= seen.time + h * (1 + 1e-6) or (data.mocap_pos[seen.mocap] != seen.place).any():
                self._anchor(seen, data)

    def _read(self, seen: _TrackedBody, data: MjData) -> None:
        seen.time, seen.place = float(data.time), np.array(data.xpos[seen.body])
        spin = np.zeros(3)
        if seen.velocity == "measured":
            # As mj_objectVelocity has it: in MuJoCo 3 what a callback raises after such a call ends the process.
            twist = data.cvel[seen.body]
            spin, (x, y, z) = np.array(twist[:3]), twist[:3]
            a, b, c = seen.place - data.subtree_com[seen.root]
            seen.speed = np.add(twist[3:], (y * c - z * b, z * a - x * c, x * b - y * a))
        self._set(seen, data, spin)

    def _anchor(self, seen: _TrackedBody, data: MjData) -> None:
        place, t = np.array(data.mocap_pos[seen.mocap]), float(data.time)
        if seen.velocity == "measured":
            since = t - seen.time
            if since > 0.0:
                seen.speed = (place - seen.place) / since
            elif since != 0.0:
                # Nothing has been seen of it, or the time was set back: until it moves, the law's own drift holds.
                seen.speed = np.zeros(3)
                seen.speed[seen.axes] = self._numbers[seen.drift] if seen.drift else 0.0
        seen.time, seen.place = t, place
        self._set(seen, data, np.zeros(3))

    def _set(self, seen: _TrackedBody, data: MjData, spin: Array) -> None:
        """The centre at t = 0 of something that is at this place now."""
        p, t, place = self._numbers, seen.time, seen.place[seen.axes]
        if seen.drift:
            if seen.velocity != "law":
                p[seen.drift] = seen.speed[seen.axes]
            place = place - p[seen.drift] * t
        p[seen.center] = place
        if seen.angles:
            R = data.xmat[seen.body].reshape(3, 3)[np.ix_(seen.axes, seen.axes)]
            p[seen.angles] = _angles(R)
            if seen.turn:
                # Counter-clockwise in the plane of the first two axes.
                i, j = seen.axes
                p[seen.turn] = 0.0 if seen.velocity == "zero" else spin[3 - i - j] * (1.0 if (j - i) % 3 == 1 else -1.0)
                p[seen.angles] -= p[seen.turn] * t

    def _find(self, parameters: Parameters, name: str, given: str | Obstacle) -> _TrackedBody:
        obstacle = Obstacle(given) if isinstance(given, str) else given
        if not isinstance(obstacle, Obstacle):
            raise BridgeError(f"obstacles= gives each a body's name or an Obstacle, got {given!r} for {name!r}")
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
                f"the law has no obstacle {name!r} with parameters {name}.x, {name}.y; those that have a place: "
                f"{', '.join(prefixes) or 'none'}"
            )
        if len(obstacle.axes) < len(axes):
            raise BridgeError(
                f"{name!r} lies in {len(axes)} dimensions, so axes= must have as many, got {obstacle.axes!r}"
            )
        if any(f"{prefix}.wx" in known for prefix in (name, f"{name}_motion")):
            raise BridgeError(f"{name!r} turns in space at a steady rate, which cannot be read from a body: drop it")
        moved = next((prefix for prefix in (name, f"{name}_motion") if f"{prefix}.vx" in known), None)
        turned = [f"{prefix}.turn_rate" for prefix in (name, f"{name}_motion") if f"{prefix}.turn_rate" in known]
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
            drift=[at(f"{moved}.v{axis}") for axis in axes] if moved else [],
            angles=[at(key) for key in angles],
            turn=[at(key) for key in turned],
        )

    def _compare_radius(self, parameters: Parameters, name: str, body: int) -> None:
        model, key = self._model, f"{name}.radius"
        geoms = [k for k in range(model.ngeom) if int(model.geom_bodyid[k]) == body]
        if key not in parameters.names or len(geoms) != 1 or int(model.geom_type[geoms[0]]) not in ROUND_GEOMETRIES:
            return
        here, there = float(self._numbers[parameters.names.index(key)]), float(model.geom_size[geoms[0], 0])
        if abs(here - there) > 1e-9 * max(here, there):
            warnings.warn(
                f"the law keeps clear of a radius of {here:g} m for {name!r}, and the body's geom has {there:g} m: "
                f"set p={{{key!r}: {there:g}}} if that is its size",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )


def _angles(R: Array) -> list[float]:
    """The angle of a rotation of the plane, or yaw, pitch and roll of one of space."""
    yaw = math.atan2(float(R[1, 0]), float(R[0, 0]))
    if len(R) == 2:
        return [yaw]
    return [yaw, math.asin(float(np.clip(-R[2, 0], -1.0, 1.0))), math.atan2(float(R[2, 1]), float(R[2, 2]))]
