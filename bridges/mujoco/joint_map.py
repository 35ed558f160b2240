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
"""Of joints, in the order of MuJoCo's numbers for them."""

JOINT_KINDS_BY_UNIT = {"rad": "hinge", "m": "slide"}


@dataclass(frozen=True, eq=False)
class JointMap:
    """Where the robot's coordinates are in a MuJoCo model.

    Attributes:
        model: MuJoCo's.
        names: name here → name there of each joint.
        at: place of each of these joints in the model, in the same order.
        states: relates coordinates, velocities and forces.
        own: whether each degree of freedom is the robot's, or follows one of its, shape (nv',).
        strangers: joints that move bodies of the robot, and that it does not have.
    """

    model: MjModel
    names: Mapping[str, str]
    at: tuple[int, ...]
    states: StateConversion
    own: NDArray[np.bool_]
    strangers: tuple[str, ...]

    @classmethod
    def of(cls, robot: Robot, model: MjModel, names: Mapping[str, str] | None = None) -> JointMap:
        """Find them.

        Args:
            robot: here.
            model: MuJoCo's.
            names: name here → name there, for joints whose names differ.

        Raises:
            BridgeError: for a joint that is not there or moves otherwise; lists both sides.
        """
        theirs, wanted = PartNames(model).joints, dict(_required_joints(robot))
        where = f"the MuJoCo model {model_name(model)!r}"
        found = match_names(list(wanted), theirs, where=where, names=names)
        for (name, kind), place in zip(wanted.items(), found, strict=True):
            given = JOINT_KINDS[int(model.jnt_type[place])]
            if kind not in ("", given):
                raise BridgeError(
                    f"{name!r} is a {kind} joint in {robot.name} and {theirs[place]!r} is a {given} joint in {where}: "
                    "units and motion differ; choose the joint that goes with it by names="
                )
        slots = {
            name: (int(model.jnt_qposadr[place]), int(model.jnt_dofadr[place]))
            for name, place in zip(wanted, found, strict=True)
        }
        followers = list(_followers(model, dict(zip(found, wanted, strict=True))))
        states = StateConversion(robot, MUJOCO, slots, (model.nq, model.nv), followers)
        own = np.isin(model.dof_jntid, found)
        own[[follower.v for follower in followers]] = True
        trees = set(model.dof_treeid[own].tolist())
        strange = [v for v in range(model.nv) if not own[v] and int(model.dof_treeid[v]) in trees]
        strangers = tuple(dict.fromkeys(theirs[int(model.dof_jntid[v])] for v in strange))
        at = tuple(found)
        return cls(model, {name: theirs[k] for name, k in zip(wanted, at, strict=True)}, at, states, own, strangers)

    @property
    def floats(self) -> bool:
        """Whether a body of the robot floats."""
        return any(JOINT_KINDS[int(self.model.jnt_type[place])] == "free" for place in self.at)

    def reader(self) -> Callable[[MjData], tuple[Array, Array]]:
        """A function that gives our coordinates and velocities, in arrays that it uses again."""
        states, c = self.states, self.states.robot.coordinates
        if self.floats:
            return lambda data: states.from_model(data.qpos, data.qvel)
        # Without floating bodies both are linear in theirs, most often a choice of some of them.
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

    def place(self, data: MjData, q_there: Array, v_there: Array) -> None:
        """Put what is the robot's of a state into MuJoCo's data; what belongs to others stays.

        Args:
            data: MuJoCo's.
            q_there: coordinates there, shape (nq',).
            v_there: velocities there, shape (nv',).
        """
        data.qpos[self._own_q] = vector("q_there", q_there, self.model.nq)[self._own_q]
        data.qvel[self.own] = vector("v_there", v_there, self.model.nv)[self.own]

    @functools.cached_property
    def _own_q(self) -> NDArray[np.bool_]:
        own, widths = np.zeros(self.model.nq, dtype=np.bool_), {"free": 7, "ball": 4}
        for joint in {int(j) for j in self.model.dof_jntid[self.own]}:
            first = int(self.model.jnt_qposadr[joint])
            own[first : first + widths.get(JOINT_KINDS[int(self.model.jnt_type[joint])], 1)] = True
        return own


def model_name(model: MjModel) -> str:
    """What a model is called; empty if it has no name."""
    return model.names.split(b"\0", 1)[0].decode()


def _required_joints(robot: Robot) -> Iterator[tuple[str, str]]:
    """Name of each joint that must be there, and its kind; empty if any will do."""
    floating = [] if robot.tree is None else [node for node in robot.tree.nodes if isinstance(node.joint, Floating)]
    inside = {f"{node.name}{end}": node.name for node in floating for end in node.joint.suffixes}
    for name, unit in zip(robot.coordinates.names, robot.coordinates.units, strict=True):
        if name not in inside:
            yield name, JOINT_KINDS_BY_UNIT.get(unit, "")
        elif name.endswith(".x"):
            yield inside[name], "free"


def _followers(model: MjModel, ours: Mapping[int, str]) -> Iterator[MimicCoordinate]:
    """Joints that an equality constraint ties to one of ours by a constant ratio."""
    for k in range(model.neq):
        if int(model.eq_type[k]) != 2 or not model.eq_active0[k]:  # mjEQ_JOINT
            continue
        led, leader = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        offset, ratio, *higher = model.eq_data[k, :5].tolist()
        at_zero = offset + float(model.qpos0[model.jnt_qposadr[led]])
        at_start = ratio * float(model.qpos0[model.jnt_qposadr[leader]])
        if leader in ours and led not in ours and not any(higher) and abs(at_zero - at_start) < 1e-9:
            yield MimicCoordinate(ours[leader], ratio, int(model.jnt_qposadr[led]), int(model.jnt_dofadr[led]))


def _is_selection(matrix: Array) -> bool:
    """Whether a matrix takes one entry for each row."""
    return bool(((matrix == 1.0).sum(axis=1) == 1).all() and (matrix != 0.0).sum() == len(matrix))
