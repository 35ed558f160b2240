"""Equality constraints of a MuJoCo model as closures of loops."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints.constraint import Constraint, holonomic
from ...robots.frame import Frame
from ...robots.mechanism import Closure
from ...robots.tree import Tree
from ...symbolic.arrays import constant_values
from ...symbolic.errors import BridgeError
from .flags import disabled
from .model_foreign import JOINT
from .model_passive import fixed_tendon
from .model_read import Named, rotation
from .model_tree import site_label
from .versions import holds_bodies

Array = NDArray[np.float64]
OPEN = 1e-9
"""By which what no joint moves may be open, from rounding [m]."""


def closures(
    names: Named, tree: Tree, poses: Mapping[str, Frame], ignored: Collection[str]
) -> tuple[list[Closure], list[Constraint]]:
    """What equality constraints that are active hold: points, turns, or polynomials of joints or fixed tendons.

    Args:
        names: of the model's parts.
        tree: of its bodies.
        poses: of bodies and sites.
        ignored: what is left out, such as ``"equality glue"``.
    """
    model = names.model
    found: list[Closure] = []
    constraints: list[Constraint] = []
    if disabled(model, "EQUALITY") or disabled(model, "CONSTRAINT"):
        return found, constraints
    for k, name in enumerate(names.equalities):
        if not model.eq_active0[k] or f"equality {name}" in ignored:
            continue
        first, second = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        data, bodies = np.asarray(model.eq_data[k], dtype=np.float64), holds_bodies(model, k)
        match int(model.eq_type[k]):
            case 0:
                ends = [
                    _point(names, poses, number, data[3 * i : 3 * i + 3], bodies)
                    for i, number in enumerate((first, second))
                ]
                found += _closed(name, ends[0], ends[1], tree)
            case 1:
                # The place is given in the axes of the second body first.
                ends = [
                    _point(names, poses, number, anchor, bodies)
                    for number, anchor in ((first, data[3:6]), (second, data[:3]))
                ]
                found += _closed(name, ends[0], ends[1], tree)
                if not data[10]:
                    continue  # a torquescale of zero lets them turn
                relative = rotation(data[6:10]) if bodies else np.eye(3)
                turn = (_axes(names, poses, first, bodies) @ ca.SX(ca.DM(relative))).T @ _axes(
                    names, poses, second, bodies
                )
                across = ca.vertcat(turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]) / 2
                found += _closed(f"{name} (turn)", across, ca.SX.zeros(3), tree)
            case 2 | 3 as kind:
                gaps = [_gap(names, tree, kind, number) for number in (first, second)]
                other = ca.SX(0)
                for i, a in enumerate(data[: 5 if second >= 0 else 1].tolist()):
                    other += a * gaps[1] ** i
                constraints.append(holonomic(gaps[0] - other, name=name))
            case _:
                pass  # none is left: they are refused before
    return found, constraints


def _closed(name: str, first: ca.SX, second: ca.SX, tree: Tree) -> list[Closure]:
    """The rows that joints can move; others hold by themselves, or never do."""
    gap, q = ca.densify(first - second), tree.coordinates.q
    rows = tuple(i for i in range(3) if ca.depends_on(gap[i], q))
    still = constant_values(gap[[i for i in range(3) if i not in rows]])
    apart = 0.0 if still is None else float(np.abs(still).max(initial=0.0))
    if apart > OPEN:
        raise BridgeError(
            f"equality {name} is open by {apart:.3g} in a direction in which no joint moves what it holds, and cannot "
            "be closed; correct its anchor or relpose"
        )
    return [Closure(first, second, name, rows=rows)] if rows else []


def _point(names: Named, poses: Mapping[str, Frame], number: int, anchor: Array, bodies: bool) -> ca.SX:
    """A place in the world, in the axes of a body or at a site."""
    if not bodies:
        return poses[site_label(names, number)].position
    place = ca.SX(ca.DM(anchor))
    return place if number == 0 else poses[names.bodies[number]].point(place)


def _axes(names: Named, poses: Mapping[str, Frame], number: int, bodies: bool) -> ca.SX:
    """Rotation of a body or a site in the world."""
    if not bodies:
        return poses[site_label(names, number)].rotation
    return ca.SX(ca.DM.eye(3)) if number == 0 else poses[names.bodies[number]].rotation


def _gap(names: Named, tree: Tree, kind: int, number: int) -> ca.SX:
    """A joint's coordinate, or a tendon's length, from where the model is set up; zero for none."""
    model, c = names.model, tree.coordinates
    if number < 0:
        return ca.SX(0)
    if kind == JOINT:
        return c.q[c.names.index(names.joints[number])] - float(model.qpos0[model.jnt_qposadr[number]])
    return fixed_tendon(names, number, tree)[0] - float(model.tendon_length0[number])
