"""What a robot has beyond the bodies of its tree: what a Pinocchio model holds of it, and what it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.extras import require
from ..passive import random_places
from .exported import mass_matrix, own_dynamics
from .state import ModelState

Array = NDArray[np.float64]
TOLERANCE = 1e-9


def told_remainder(
    robot: Robot,
    p: Array,
    model: Any,  # noqa: ANN401 - has no type information
    states: ModelState,
) -> tuple[str, ...]:
    """Set the armature, damping and friction of a model, and tell which forces it has no place for in its algorithms.

    Args:
        robot: here.
        p: its parameters, shape (np,).
        model: there, of the bodies alone.
        states: relates both.

    Raises:
        BridgeError: for a mass matrix that is not that of the bodies and constant armature.
    """
    pin: Any = require("pinocchio", "pinocchio")
    own, data = own_dynamics(robot), model.createData()
    rng, c = np.random.default_rng(1), robot.coordinates
    labels = [label(states, i) for i in range(states.nv)]

    def parts(q_there: Array, v_there: Array) -> tuple[Array, Array, float]:
        q, v = states.here(q_there, v_there)
        M, h = (np.atleast_1d(x) for x in own(0.0, q, v, p))
        M, T = M.reshape(c.nv, c.nv), states.rates(q)
        M_there = mass_matrix(model, data, q_there)
        h_there = np.array(pin.nonLinearEffects(model, data, q_there, v_there), dtype=np.float64)
        full = T.T @ (h + M @ states.drift(q, v_there))
        return T.T @ M @ T - M_there, full - h_there, float(np.abs(M).max() + np.abs(h).max())

    found: list[tuple[Array, Array, Array]] = []
    armature: Array | None = None
    scale = 0.0
    for k in range(6):
        q, v = random_state(states, rng)
        v = v * (k > 1)
        extra, force, size = parts(q, v)
        scale = max(scale, size)
        if armature is None:
            armature = np.diag(extra).copy()
            armature[np.abs(armature) < TOLERANCE * size] = 0.0
        off = np.abs(extra - np.diag(armature))
        if not off.max() < TOLERANCE * size or (armature < 0.0).any():
            i, j = np.unravel_index(int(np.argmax(off)), off.shape)
            raise BridgeError(
                f"{robot.name}: its mass matrix is not that of its bodies: the entry of {labels[i]} and {labels[j]} "
                f"differs by {extra[i, j]:.4g}, and Pinocchio has room for constant armature on the diagonal only"
            )
        found.append((q, v, force))
    if armature is not None:
        model.armature = armature
    largest = np.max([np.abs(force) for *_, force in found], axis=0)
    left = np.flatnonzero(~(largest < TOLERANCE * scale))
    if not len(left):
        return ()
    where = ", ".join(labels[i] for i in left)
    damping, friction = _rubbing(lambda v: parts(found[0][0], v)[1], states.nv, TOLERANCE * scale)
    told = all(np.abs(force - damping * v - friction * np.sign(v)).max() < TOLERANCE * scale for _, v, force in found)
    if not told or (damping < 0.0).any() or (friction < 0.0).any():
        return (f"springs, dampers, friction or the like at {where}",)
    model.damping = damping
    model.upperDryFrictionLimit, model.lowerDryFrictionLimit = friction, -friction
    what = " and ".join(word for word, x in (("damping", damping), ("friction", friction)) if x.any())
    return (f"{what} of {where} (in the model's own fields, which its algorithms leave out)",)


def _rubbing(force: Callable[[Array], Array], nv: int, least: float) -> tuple[Array, Array]:
    """d and f of what is odd in the velocities, if it is d v + f sign(v) joint by joint."""
    once, twice = ((force(s * np.ones(nv)) - force(-s * np.ones(nv))) / 2.0 for s in (1.0, 2.0))
    damping, friction = twice - once, 2.0 * once - twice
    damping[np.abs(damping) < least] = 0.0
    friction[np.abs(friction) < least] = 0.0
    return damping, friction


def random_state(states: ModelState, rng: np.random.Generator) -> tuple[Array, Array]:
    """q' and v' at random; joints that follow others are where they belong.

    Args:
        states: of a model.
        rng: draws.
    """
    q = states.followed(next(random_places(states.robot, rng)))
    return states.there(q, rng.uniform(-1.0, 1.0, states.robot.coordinates.nv))


def label(states: ModelState, i: int) -> str:
    """Name of a velocity of the model.

    Args:
        states: of the model.
        i: place in v'.
    """
    for piece in states.pieces:
        if piece.kind != "follower" and piece.v <= i < piece.v + piece.joint.nv:
            return piece.name if piece.joint.nv == 1 else f"{piece.name}[{i - piece.v}]"
    return str(i)
