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
"""Tolerance of the robot's coordinate for a mimic joint of the model [rad or m]."""


class PinocchioStateConversion:
    """Conversion of q, v and forces of a Robot to q', v' and forces of a Pinocchio model; joints are matched by name.

    Angles that the model writes as cosine and sine are angles of the robot, and the velocities of the model's planar
    joints are the rates of (x, y, angle). A mimic joint may have a coordinate of the robot, tied by a natural
    constraint, or none, where it carries a body that moves by a fraction of another joint.

    Attributes:
        robot: the robot.
        names: name in the robot → name in the model of each joint.
        nq: number of coordinates of the model.
        nv: number of velocities of the model.
    """

    def __init__(self, robot: Robot, model: pinocchio.Model, names: Mapping[str, str] | None = None) -> None:
        """Match the joints of robot and model.

        Args:
            robot: the robot.
            model: the Pinocchio model.
            names: name of a joint in the robot → name in the model, for those that differ.

        Raises:
            BridgeError: if names do not match, or if a joint of the model or an absolute angle cannot be converted.
        """
        self.robot, self.nq, self.nv = robot, int(model.nq), int(model.nv)
        ours, theirs = _our_keys(robot, names or {}), convert_joints(model)
        keys = [key for piece in theirs for key in _keys(piece)]
        expected_keys = list(ours.values())
        match_names(expected_keys, keys, where="the Pinocchio model")
        own = [p for p in theirs if p.kind != "follower" or p.name in expected_keys]
        known = [key for piece in own for key in _keys(piece)]
        match_names(
            known, expected_keys, where=f"the robot {robot.name!r}, which must match all of the Pinocchio model"
        )
        self.pieces = tuple(own)
        slots: dict[str, tuple[int, int]] = {}
        self._at: list[tuple[int, int]] = []
        own_keys = {key: own_key for own_key, key in ours.items()}
        nq = nv = 0
        for piece in own:
            self._at.append((nq, nv))
            for k, key in enumerate(_keys(piece)):
                slots[own_keys[key]] = (nq + k, nv + k)
            nq, nv = nq + piece.joint.nq, nv + piece.joint.nv
        self.names = {own_key: key for own_key, key in ours.items() if key in known}
        # Joint coordinates of the model and the robot's differ by constant matrices; floating bodies are written alike.
        self._flat = StateConversion(robot, PINOCCHIO, slots, (nq, nv))
        self._to_flat_q, self._to_flat_v = (
            _constant(self._flat, robot, slots),
            self._flat.velocity_jacobian(neutral_coordinates(robot)),
        )
        self._from_flat_q = np.asarray(np.linalg.solve(self._to_flat_q, np.eye(nq)), dtype=np.float64)
        self._from_flat_v = np.asarray(np.linalg.solve(self._to_flat_v, np.eye(nv)), dtype=np.float64)
        self._turns = any(piece.kind == "planar" for piece in own)
        self._blocks = self._velocity_blocks(np.zeros(nq))

    def to_model(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """Return the model's coordinates and velocities.

        Args:
            q: coordinates of the robot, shape (nq,).
            v: velocities of the robot, shape (nv,).

        Raises:
            BridgeError: if the coordinate of a mimic joint does not follow its leader.
        """
        c = self.robot.coordinates
        flat_q, flat_v = self._flat.to_model(vector("q", q, c.nq), vector("v", v, c.nv))
        q_model, v_model = np.zeros(self.nq), self._between(flat_q)[1] @ flat_v
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            own = flat_q[iq : iq + piece.joint.nq]
            if piece.kind == "circle":
                q_model[piece.q : piece.q + 2] = np.cos(own[0]), np.sin(own[0])
            elif piece.kind == "planar":
                q_model[piece.q : piece.q + 4] = own[0], own[1], np.cos(own[2]), np.sin(own[2])
            elif piece.kind == "same":
                q_model[piece.q : piece.q + len(own)] = own
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "follower":
                expected = piece.ratio * q_model[piece.q] + piece.offset
                if not abs(flat_q[iq] - expected) < MIMIC_TOLERANCE:
                    raise BridgeError(
                        f"{piece.name!r} follows another joint in the Pinocchio model and must be at {expected:g}, got "
                        f"{flat_q[iq]:g}: start on the natural constraint that ties it"
                    )
        return q_model, v_model

    def with_mimic_joints(self, q: ArrayLike) -> Array:
        """Return the coordinates with mimic joints moved to where they follow their leaders, shape (nq,).

        Args:
            q: coordinates of the robot, shape (nq,).
        """
        flat_q = self._to_flat_q @ vector("q", q, self.robot.coordinates.nq)
        at = {piece.q: iq for piece, (iq, _) in zip(self.pieces, self._at, strict=True) if piece.kind == "same"}
        for piece, (iq, _) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "follower":
                flat_q[iq] = piece.ratio * flat_q[at[piece.q]] + piece.offset
        return self._from_flat_q @ flat_q

    def from_model(self, q_model: ArrayLike, v_model: ArrayLike) -> tuple[Array, Array]:
        """Return the robot's coordinates and velocities; an angle written as cosine and sine is in (−π, π].

        Args:
            q_model: coordinates of the model, shape (nq',).
            v_model: velocities of the model, shape (nv',).

        Raises:
            BridgeError: for a wrong shape.
            ShapeError: if a value is not a finite number.
        """
        if np.shape(q_model) != (self.nq,) or np.shape(v_model) != (self.nv,):
            raise BridgeError(
                f"the state of the Pinocchio model must be q of shape ({self.nq},) and v of shape ({self.nv},), got "
                f"{np.shape(q_model)} and {np.shape(v_model)}"
            )
        q, v = vector("q_model", q_model, self.nq), vector("v_model", v_model, self.nv)
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
        return self._from_flat_q @ flat_q, self._from_flat_v @ (self._between(flat_q)[0] @ v)

    def inverse_velocity_jacobian(self, q: ArrayLike) -> Array:
        """Return T of v = T v', shape (nv, nv').

        Args:
            q: coordinates of the robot, shape (nq,).
        """
        return self._from_flat_v @ self._between(self._to_flat_q @ vector("q", q, self.robot.coordinates.nq))[0]

    def velocity_bias(self, q: ArrayLike, v_model: ArrayLike) -> Array:
        """Return Ṫ v' of a = T a' + Ṫ v', shape (nv,).

        Args:
            q: coordinates of the robot, shape (nq,).
            v_model: velocities of the model, shape (nv',).
        """
        found = np.zeros(self._flat.nv)
        q = vector("q", q, self.robot.coordinates.nq)
        v_model = vector("v_model", v_model, self.nv)
        if not self._turns:
            return found[: self.robot.coordinates.nv]
        moved = self._between(self._to_flat_q @ q)[0] @ v_model
        for piece, (_, iv) in zip(self.pieces, self._at, strict=True):
            if piece.kind == "planar":
                x, y, rate = moved[iv : iv + 3]
                found[iv : iv + 2] = -rate * y, rate * x
        return self._from_flat_v @ found

    def force_to_model(self, q: ArrayLike, R: ArrayLike) -> Array:
        """Return the equivalent generalized force of the model, Tᵀ R, shape (nv',).

        Args:
            q: coordinates of the robot, shape (nq,).
            R: generalized force of the robot, shape (nv,).
        """
        return np.asarray(self.inverse_velocity_jacobian(q).T @ vector("R", R, self.robot.coordinates.nv))

    def force_from_model(self, q: ArrayLike, R_model: ArrayLike) -> Array:
        """Return the equivalent generalized force of the robot, zero on mimic joints, shape (nv,).

        Args:
            q: coordinates of the robot, shape (nq,).
            R_model: generalized force of the model, shape (nv',).
        """
        return np.asarray(self.velocity_jacobian(q).T @ vector("R_model", R_model, self.nv))

    def velocity_jacobian(self, q: ArrayLike) -> Array:
        """Return X of v' = X v, shape (nv', nv); velocities of mimic joints are not used.

        Args:
            q: coordinates of the robot, shape (nq,).
        """
        return self._between(self._to_flat_q @ vector("q", q, self.robot.coordinates.nq))[1] @ self._to_flat_v

    def _between(self, flat_q: Array) -> tuple[Array, Array]:
        return self._velocity_blocks(flat_q) if self._turns else self._blocks

    def _velocity_blocks(self, flat_q: Array) -> tuple[Array, Array]:
        """Return the maps from the model's velocities to those of the robot's joints, and back."""
        to_robot, to_model = np.zeros((self._flat.nv, self.nv)), np.zeros((self.nv, self._flat.nv))
        for piece, (iq, iv) in zip(self.pieces, self._at, strict=True):
            n = piece.joint.nv
            if piece.kind == "follower":
                to_robot[iv, piece.v] = piece.ratio
                continue
            block = np.eye(n)
            if piece.kind == "planar":
                c, s = np.cos(flat_q[iq + 2]), np.sin(flat_q[iq + 2])
                block[:2, :2] = [[c, -s], [s, c]]
            to_robot[iv : iv + n, piece.v : piece.v + n] = block
            to_model[piece.v : piece.v + n, iv : iv + n] = block.T
        return to_robot, to_model


def _constant(flat: StateConversion, robot: Robot, slots: Mapping[str, tuple[int, int]]) -> Array:
    """Return W of the joint coordinates W q of the model, shape (nq, nq)."""
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
    """Return zero coordinates with identity quaternions, shape (nq,).

    Args:
        robot: the robot.
    """
    found, names = np.zeros(robot.coordinates.nq), robot.coordinates.names
    for node in () if robot.tree is None else robot.tree.nodes:
        for suffix, value in zip(node.joint.suffixes, node.joint.neutral(), strict=True):
            found[names.index(f"{node.name}{suffix}")] = value
    return found


def _keys(piece: ConvertedJoint) -> tuple[str, ...]:
    """Return the names of a joint's coordinates; of a floating joint its own name, as both sides write it alike."""
    if isinstance(piece.joint, Floating):
        return (piece.name,)
    return tuple(f"{piece.name}{suffix}" for suffix in piece.joint.suffixes)


def _our_keys(robot: Robot, names: Mapping[str, str]) -> dict[str, str]:
    """Return key in the robot → key in the model."""
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
