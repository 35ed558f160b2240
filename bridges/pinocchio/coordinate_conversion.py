"""Conversion of coordinates, velocities and forces between a robot and a Pinocchio model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...robots.tree import Floating
from ...symbolic.errors import BridgeError
from ...symbolic.validation import vector
from ..common.name_matching import match_names
from ..common.state_conversion import PINOCCHIO, StateConversion
from .joint_conversion import ConvertedJoint, convert_joints

if TYPE_CHECKING:
    import pinocchio


Array = NDArray[np.float64]
MIMIC_TOLERANCE = 1e-6
"""How far a coordinate here may be from what a joint that follows another has there [rad or m]."""


class PinocchioStateConversion:
    """q, v of a Robot and q', v' of a Pinocchio model, and the forces that go with them; joints are told by name.

    Angles that the model writes as cosine and sine are angles here, and the velocities of its planar joints the rates
    of (x, y, angle). A joint that mimics another may have a coordinate here, with a natural constraint that ties it, or
    none, where it carries a body that moves by a share of another joint.

    Attributes:
        robot: here.
        names: name here → name there of each joint.
        nq: number of coordinates there.
        nv: number of velocities there.
    """

    def __init__(self, robot: Robot, model: pinocchio.Model, names: Mapping[str, str] | None = None) -> None:
        """Relate the two.

        Args:
            robot: here.
            model: there.
            names: name of a joint here → name there, for those that differ.

        Raises:
            BridgeError: if names do not match, a joint there has no counterpart, or an absolute angle has none.
        """
        self.robot, self.nq, self.nv = robot, int(model.nq), int(model.nv)
        ours, theirs = _our_keys(robot, names or {}), convert_joints(model)
        keys = [key for piece in theirs for key in _keys(piece)]
        wanted = list(ours.values())
        match_names(wanted, keys, where="the Pinocchio model")
        own = [p for p in theirs if p.kind != "follower" or p.name in wanted]
        known = [key for piece in own for key in _keys(piece)]
        match_names(known, wanted, where=f"the robot {robot.name!r}, which a Pinocchio model has to match wholly")
        self.pieces = tuple(own)
        slots: dict[str, tuple[int, int]] = {}
        self._at: list[tuple[int, int]] = []
        back = {there: here for here, there in ours.items()}
        nq = nv = 0
        for piece in own:
            self._at.append((nq, nv))
            for k, key in enumerate(_keys(piece)):
                slots[back[key]] = (nq + k, nv + k)
            nq, nv = nq + piece.joint.nq, nv + piece.joint.nv
        self.names = {here: there for here, there in ours.items() if there in known}
        # Joint by joint there and here differ by constant matrices: floating bodies are written in one way.
        self._flat = StateConversion(robot, PINOCCHIO, slots, (nq, nv))
        self._forth_q, self._forth_v = (
            _constant(self._flat, robot, slots),
            self._flat.velocity_jacobian(neutral_coordinates(robot)),
        )
        self._back_q = np.asarray(np.linalg.solve(self._forth_q, np.eye(nq)), dtype=np.float64)
        self._back_v = np.asarray(np.linalg.solve(self._forth_v, np.eye(nv)), dtype=np.float64)
        self._turns = any(piece.kind == "planar" for piece in own)
        self._blocks = self._velocity_blocks(np.zeros(nq))

    def to_model(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Their coordinates and velocities.

        Args:
            q: ours, shape (nq,).
            v: ours, shape (nv,).

        Raises:
            BridgeError: if a coordinate is not where a joint that follows another is there.
        """
        c = self.robot.coordinates
        flat_q, flat_v = self._flat.to_model(vector("q", q, c.nq), vector("v", v, c.nv))
        found_q, found_v = np.zeros(self.nq), self._between(flat_q)[1] @ flat_v
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            own = flat_q[iq : iq + piece.joint.nq]
            if piece.kind == "circle":
                found_q[piece.q : piece.q + 2] = np.cos(own[0]), np.sin(own[0])
            elif piece.kind == "planar":
                found_q[piece.q : piece.q + 4] = own[0], own[1], np.cos(own[2]), np.sin(own[2])
            elif piece.kind == "same":
                found_q[piece.q : piece.q + len(own)] = own
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "follower":
                expected = piece.ratio * found_q[piece.q] + piece.offset
                if not abs(flat_q[iq] - expected) < MIMIC_TOLERANCE:
                    raise BridgeError(
                        f"{piece.name!r} follows another joint in the Pinocchio model and is at {expected:g} there, "
                        f"not at {flat_q[iq]:g}: start on the natural constraint that ties it"
                    )
        return found_q, found_v

    def with_mimic_joints(self, q: ArrayLike) -> Array:
        """The same coordinates, but for joints that follow others there, which are put where they belong, shape (nq,).

        Args:
            q: ours, shape (nq,).
        """
        flat_q = self._forth_q @ vector("q", q, self.robot.coordinates.nq)
        at = {piece.q: iq for piece, (iq, _) in zip(self.pieces, self._at, strict=True) if piece.kind == "same"}
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "follower":
                flat_q[iq] = piece.ratio * flat_q[at[piece.q]] + piece.offset
        return self._back_q @ flat_q

    def from_model(self, q_there: ArrayLike, v_there: ArrayLike) -> tuple[Array, Array]:
        """Our coordinates and velocities; an angle that is written as cosine and sine comes out in (−π, π].

        Args:
            q_there: theirs, shape (nq',).
            v_there: theirs, shape (nv',).

        Raises:
            BridgeError: for a wrong shape.
            ShapeError: for what is no finite number.
        """
        if np.shape(q_there) != (self.nq,) or np.shape(v_there) != (self.nv,):
            raise BridgeError(
                f"the state of the Pinocchio model is q of shape ({self.nq},) and v of shape ({self.nv},), got "
                f"{np.shape(q_there)} and {np.shape(v_there)}"
            )
        q, v = vector("q_there", q_there, self.nq), vector("v_there", v_there, self.nv)
        flat_q = np.zeros(self._flat.nq)
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "circle":
                flat_q[iq] = np.arctan2(q[piece.q + 1], q[piece.q])
            elif piece.kind == "planar":
                x, y, c, s = q[piece.q : piece.q + 4]
                flat_q[iq : iq + 3] = x, y, np.arctan2(s, c)
            elif piece.kind == "follower":
                flat_q[iq] = piece.ratio * q[piece.q] + piece.offset
            else:
                flat_q[iq : iq + piece.joint.nq] = q[piece.q : piece.q + piece.joint.nq]
        return self._back_q @ flat_q, self._back_v @ (self._between(flat_q)[0] @ v)

    def inverse_velocity_jacobian(self, q: ArrayLike) -> Array:
        """T of v = T v', shape (nv, nv').

        Args:
            q: our coordinates, shape (nq,).
        """
        return self._back_v @ self._between(self._forth_q @ vector("q", q, self.robot.coordinates.nq))[0]

    def velocity_bias(self, q: ArrayLike, v_there: ArrayLike) -> Array:
        """Ṫ v' of a = T a' + Ṫ v', shape (nv,).

        Args:
            q: our coordinates, shape (nq,).
            v_there: their velocities, shape (nv',).
        """
        found = np.zeros(self._flat.nv)
        q = vector("q", q, self.robot.coordinates.nq)
        v_there = vector("v_there", v_there, self.nv)
        if not self._turns:
            return found[: self.robot.coordinates.nv]
        moved = self._between(self._forth_q @ q)[0] @ v_there
        for piece, (_, iv) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "planar":
                x, y, turning = moved[iv : iv + 3]
                found[iv : iv + 2] = -turning * y, turning * x
        return self._back_v @ found

    def force_to_model(self, q: ArrayLike, R: ArrayLike) -> Array:
        """Their generalized force that does the same: Tᵀ R, shape (nv',).

        Args:
            q: our coordinates, shape (nq,).
            R: our generalized force, shape (nv,).
        """
        return np.asarray(self.inverse_velocity_jacobian(q).T @ vector("R", R, self.robot.coordinates.nv))

    def force_from_model(self, q: ArrayLike, R_there: ArrayLike) -> Array:
        """Our generalized force of theirs, nothing on what follows, shape (nv,).

        Args:
            q: our coordinates, shape (nq,).
            R_there: theirs, shape (nv',).
        """
        return np.asarray(self.velocity_jacobian(q).T @ vector("R_there", R_there, self.nv))

    def velocity_jacobian(self, q: ArrayLike) -> Array:
        """X of v' = X v, shape (nv', nv); of what follows another it makes no use.

        Args:
            q: our coordinates, shape (nq,).
        """
        return self._between(self._forth_q @ vector("q", q, self.robot.coordinates.nq))[1] @ self._forth_v

    def _between(self, flat_q: Array) -> tuple[Array, Array]:
        return self._velocity_blocks(flat_q) if self._turns else self._blocks

    def _velocity_blocks(self, flat_q: Array) -> tuple[Array, Array]:
        """What gives velocities here, joint by joint, of those there, and the other way round."""
        here, there = np.zeros((self._flat.nv, self.nv)), np.zeros((self.nv, self._flat.nv))
        for piece, (iq, iv) in zip(self.pieces, self._at, strict=True):
            n = piece.joint.nv
            if piece.kind == "follower":
                here[iv, piece.v] = piece.ratio
                continue
            block = np.eye(n)
            if piece.kind == "planar":
                c, s = np.cos(flat_q[iq + 2]), np.sin(flat_q[iq + 2])
                block[:2, :2] = [[c, -s], [s, c]]
            here[iv : iv + n, piece.v : piece.v + n] = block
            there[piece.v : piece.v + n, iv : iv + n] = block.T
        return here, there


def _constant(flat: StateConversion, robot: Robot, slots: Mapping[str, tuple[int, int]]) -> Array:
    """W of coordinates joint by joint there, W q, shape (nq, nq)."""
    names, start = robot.coordinates.names, neutral_coordinates(robot)
    nothing, W = np.zeros(robot.coordinates.nv), np.zeros((len(names), len(names)))
    zero, _ = flat.to_model(start, nothing)
    for i, name in enumerate(names):
        head = name.rpartition(".")[0]
        if name not in slots and head in slots:
            # A floating body.
            W[slots[head][0] + i - names.index(f"{head}.x"), i] = 1.0
        else:
            W[:, i] = flat.to_model(start + np.eye(len(names))[i], nothing)[0] - zero
    return W


def neutral_coordinates(robot: Robot) -> Array:
    """Coordinates that are all zero, with quaternions that are not turned, shape (nq,).

    Args:
        robot: any.
    """
    found, names = np.zeros(robot.coordinates.nq), robot.coordinates.names
    for node in () if robot.tree is None else robot.tree.nodes:
        for suffix, value in zip(node.joint.suffixes, node.joint.neutral(), strict=True):
            found[names.index(f"{node.name}{suffix}")] = value
    return found


def _keys(piece: ConvertedJoint) -> tuple[str, ...]:
    """Names of the coordinates of a joint; of a floating one its own, for they are written alike."""
    if isinstance(piece.joint, Floating):
        return (piece.name,)
    return tuple(f"{piece.name}{suffix}" for suffix in piece.joint.suffixes)


def _our_keys(robot: Robot, names: Mapping[str, str]) -> dict[str, str]:
    """Our key → theirs."""
    found: dict[str, str] = {}
    if robot.tree is None:
        found = {name: names.get(name, name) for name in robot.coordinates.names}
        heads = list(found)
    else:
        heads = [node.name for node in robot.tree.nodes]
        for node in robot.tree.nodes:
            head = names.get(node.name, node.name)
            ends = ("",) if isinstance(node.joint, Floating) else node.joint.suffixes
            found |= {f"{node.name}{end}": names.get(f"{node.name}{end}", f"{head}{end}") for end in ends}
    unknown = [name for name in names if name not in heads and name not in found]
    if unknown:
        raise BridgeError(
            f"names= renames {', '.join(map(repr, unknown))}, which the robot does not have; its joints: "
            f"{', '.join(heads)}"
        )
    return found
