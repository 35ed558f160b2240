"""Joints of a robot in a MuJoCo model, matched by name, and the robot's state in MuJoCo's arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...robots.tree import Floating
from ...symbolic.errors import BridgeError
from ...symbolic.validation import vector
from ..common.name_matching import match_names
from ..common.state_conversion import MUJOCO, MimicCoordinate, StateConversion
from .compiled_model import PartNames

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


Array = NDArray[np.float64]
JOINT_KINDS = ("free", "ball", "slide", "hinge")
"""Kinds of joints, in the order of MuJoCo's types."""

JOINT_KINDS_BY_UNIT = {"rad": "hinge", "m": "slide"}


@dataclass(frozen=True, eq=False)
class JointMap:
    """Joints of a robot in a MuJoCo model, matched by name.

    Attributes:
        model: the MjModel.
        names: name in the robot → name in the model of each joint.
        indices: index of each of these joints in the model, in the same order.
        states: conversion of coordinates, velocities and forces.
        own: True for each degree of freedom of the model that is the robot's or follows one of its joints, shape
            (nv',).
        additional_joints: joints of the model that move bodies of the robot but that the robot does not have.
    """

    model: MjModel
    names: Mapping[str, str]
    indices: tuple[int, ...]
    states: StateConversion
    own: NDArray[np.bool_]
    additional_joints: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot, model: MjModel, names: Mapping[str, str] | None = None) -> JointMap:
        """Match the joints of a robot and a model.

        Args:
            robot: the robot.
            model: the MjModel.
            names: name in the robot → name in the model, for joints whose names differ.

        Raises:
            BridgeError: for a joint that is missing or of another kind; the message lists both sides.
        """
        theirs, required = PartNames(model).joints, dict(_required_joints(robot))
        where = f"the MuJoCo model {model_name(model)!r}"
        found = match_names(list(required), theirs, where=where, names=names)
        for (name, kind), index in zip(required.items(), found, strict=True):
            given = JOINT_KINDS[int(model.jnt_type[index])]
            if kind not in ("", given):
                raise BridgeError(
                    f"{name!r} is a {kind} joint in {robot.name} and {theirs[index]!r} is a {given} joint in {where}: "
                    "map it to the corresponding joint by names="
                )
        slots = {
            name: (int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index]))
            for name, index in zip(required, found, strict=True)
        }
        followers = list(_followers(model, dict(zip(found, required, strict=True))))
        states = StateConversion(robot, MUJOCO, slots, (model.nq, model.nv), followers)
        own = np.isin(model.dof_jntid, found)
        own[[follower.v for follower in followers]] = True
        trees = set(model.dof_treeid[own].tolist())
        strange = [v for v in range(model.nv) if not own[v] and int(model.dof_treeid[v]) in trees]
        additional_joints = tuple(dict.fromkeys(theirs[int(model.dof_jntid[v])] for v in strange))
        at = tuple(found)
        return cls(
            model, {name: theirs[k] for name, k in zip(required, at, strict=True)}, at, states, own, additional_joints
        )

    @property
    def floats(self) -> bool:
        """True if a body of the robot floats."""
        return any(JOINT_KINDS[int(self.model.jnt_type[index])] == "free" for index in self.indices)

    def reader(self) -> Callable[[MjData], tuple[Array, Array]]:
        """Return a function of MjData that returns the robot's coordinates and velocities, in arrays that it reuses."""
        states, c = self.states, self.states.robot.coordinates
        if self.floats:
            return lambda data: states.from_model(data.qpos, data.qvel)
        # Without floating bodies both are linear in the model's, and usually a selection of them.
        q, v = np.zeros(c.nq), np.zeros(c.nv)
        zero_q, zero_v = np.zeros(self.model.nq), np.zeros(self.model.nv)
        Q = np.array([states.from_model(unit, zero_v)[0] for unit in np.eye(self.model.nq)]).T
        V = np.array([states.from_model(zero_q, unit)[1] for unit in np.eye(self.model.nv)]).T
        if _is_selection(Q) and _is_selection(V):
            at_q, at_v = Q.argmax(axis=1), V.argmax(axis=1)

            def choose(data: MjData) -> tuple[Array, Array]:
                data.qpos.take(at_q, out=q, mode="clip")
                data.qvel.take(at_v, out=v, mode="clip")
                return q, v

            return choose

        def combine(data: MjData) -> tuple[Array, Array]:
            np.dot(Q, data.qpos, out=q)
            np.dot(V, data.qvel, out=v)
            return q, v

        return combine

    def place(self, data: MjData, q_model: Array, v_model: Array) -> None:
        """Write the robot's part of a state into MuJoCo's data; other entries are unchanged.

        Args:
            data: the MjData.
            q_model: coordinates of the model, shape (nq',).
            v_model: velocities of the model, shape (nv',).
        """
        data.qpos[self._own_q] = vector("q_model", q_model, self.model.nq)[self._own_q]
        data.qvel[self.own] = vector("v_model", v_model, self.model.nv)[self.own]

    @functools.cached_property
    def _own_q(self) -> NDArray[np.bool_]:
        own, widths = np.zeros(self.model.nq, dtype=np.bool_), {"free": 7, "ball": 4}
        for joint in {int(j) for j in self.model.dof_jntid[self.own]}:
            first = int(self.model.jnt_qposadr[joint])
            own[first : first + widths.get(JOINT_KINDS[int(self.model.jnt_type[joint])], 1)] = True
        return own


def model_name(model: MjModel) -> str:
    """Return the name of a model; empty if it has no name."""
    return model.names.split(b"\0", 1)[0].decode()


def _required_joints(robot: Robot) -> Iterator[tuple[str, str]]:
    """Yield the name and the kind of each joint that the model must have; an empty kind allows any."""
    floating = [] if robot.tree is None else [node for node in robot.tree.nodes if isinstance(node.joint, Floating)]
    inside = {f"{node.name}{end}": node.name for node in floating for end in node.joint.suffixes}
    for name, unit in zip(robot.coordinates.names, robot.coordinates.units, strict=True):
        if name not in inside:
            yield name, JOINT_KINDS_BY_UNIT.get(unit, "")
        elif name.endswith(".x"):
            yield inside[name], "free"


def _followers(model: MjModel, names_by_joint: Mapping[int, str]) -> Iterator[MimicCoordinate]:
    """Yield the joints that an equality constraint ties to one of the robot's by a constant ratio."""
    for k in range(model.neq):
        if int(model.eq_type[k]) != 2 or not model.eq_active0[k]:  # mjEQ_JOINT
            continue
        follower, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        offset, ratio, *higher = model.eq_data[k, :5].tolist()
        at_zero = offset + float(model.qpos0[model.jnt_qposadr[follower]])
        at_start = ratio * float(model.qpos0[model.jnt_qposadr[leader]])
        if (
            leader in names_by_joint
            and follower not in names_by_joint
            and not any(higher)
            and abs(at_zero - at_start) < 1e-9
        ):
            yield MimicCoordinate(
                names_by_joint[leader], ratio, int(model.jnt_qposadr[follower]), int(model.jnt_dofadr[follower])
            )


def _is_selection(matrix: Array) -> bool:
    """Return True if a matrix selects one entry for each row."""
    return bool(((matrix == 1.0).sum(axis=1) == 1).all() and (matrix != 0.0).sum() == len(matrix))
