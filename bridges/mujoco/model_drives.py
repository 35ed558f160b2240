"""Inputs of a robot as motors on joints, on fixed tendons across several joints, and on sites of bodies that float."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ..passive import random_places
from ..solids import Solid, SolidTree
from .model_bodies import BodyWriter
from .model_elements import Element, Value

Array = NDArray[np.float64]
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Drives:
    """What the inputs become.

    Attributes:
        motors: one for each input, in order, but for those that are lost.
        tendons: that motors pull.
        lost: why an input has no counterpart, by name.
        told: what else is left out.
    """

    motors: tuple[Element, ...]
    tendons: tuple[Element, ...]
    lost: Mapping[str, str]
    told: tuple[str, ...]


def drives(robot: Robot, tree: SolidTree, writer: BodyWriter, *, limits: bool) -> Drives:
    """A motor for each input u_j, whose generalized force is the column j of B.

    Between bodies the force is S⁻ᵀ B u. A column with one entry is a motor with that gear, one with several a motor on
    a tendon whose length is the sum of the joints' coordinates with these shares.

    Args:
        robot: with the inputs.
        tree: its bodies.
        writer: which has written them.
        limits: whether the greatest inputs are written.
    """
    motors: list[Element] = []
    tendons: list[Element] = []
    lost: dict[str, str] = {}
    told: list[str] = []
    sites: dict[str, str] = {}
    owner: dict[int, Solid] = {}
    for solid in tree.solids:
        size = 6 if solid.kind == "free" else len(solid.names)
        owner |= dict.fromkeys(range(solid.at_v, solid.at_v + size), solid)
    columns = _constant_columns(robot, tree)
    for j, name in enumerate(robot.input_names):
        if (own := columns[j]) is None:
            lost[name] = f"input {name!r}: the force that it makes depends on the state"
            continue
        column = np.asarray(np.linalg.solve(tree.between.T, own), dtype=np.float64)
        column[np.abs(column) < ROUNDING * np.abs(column).max()] = 0.0
        felt = [int(i) for i in np.flatnonzero(column)]
        effort = robot.limits.effort[j] if limits else np.inf
        if effort == 0.0:
            told.append(f"the bound of input {name!r}, which is zero")
            effort = np.inf
        bound: dict[str, Value] = {"ctrllimited": "true", "ctrlrange": (-effort, effort)} if np.isfinite(effort) else {}
        floating = {owner[i].name for i in felt if owner[i].kind == "free"}
        if floating and (len({owner[i].name for i in felt}) > 1):
            lost[name] = f"input {name!r}: it acts on a body that floats and on joints at once"
        elif floating:
            solid = owner[felt[0]]
            if solid.name not in sites:
                sites[solid.name] = writer.site(f"origin of {solid.name}", solid.name, np.zeros(3))
            gear = column[solid.at_v : solid.at_v + 6]
            motors.append(Element("motor", name=name, site=sites[solid.name], gear=gear, **bound))
        elif len(felt) == 1:
            joint = writer.joints[felt[0]]
            motors.append(Element("motor", name=name, joint=joint, gear=column[felt[0]], **bound))
        elif felt:
            tendon = Element("fixed", name=f"drive {name}")
            for i in felt:
                tendon.add("joint", joint=writer.joints[i], coef=column[i])
            tendons.append(tendon)
            motors.append(Element("motor", name=name, tendon=f"drive {name}", **bound))
        else:
            lost[name] = f"input {name!r}: it makes no force"
    return Drives(tuple(motors), tuple(tendons), lost, tuple(told))


def _constant_columns(robot: Robot, tree: SolidTree) -> list[Array | None]:
    """Columns of B, each of shape (nv,); None for one that is not the same in every state."""
    c, B = robot.coordinates, robot.input_matrix
    if not robot.u.numel():
        return []
    if not ca.depends_on(B, ca.vertcat(c.t, c.q, c.v)):
        return list(robot.evaluate(B, p=tree.p).reshape(B.shape).T)
    rng = np.random.default_rng(1967)
    kernel = Kernel("columns", {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}, {"B": ca.densify(B)}, compiled=False)
    values = np.array(
        [
            kernel(t, q, rng.uniform(-1.0, 1.0, c.nv), tree.p)[0].reshape(B.shape)
            for t, q in zip(range(4), random_places(robot, rng), strict=False)
        ]
    )
    same = np.abs(values - values[0]).max(axis=(0, 1)) <= ROUNDING * np.abs(values).max(initial=0.0)
    return [values[0][:, j] if same[j] else None for j in range(len(same))]
