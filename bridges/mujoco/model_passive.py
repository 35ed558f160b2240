"""Springs, dampers, dry friction and rotors of joints and fixed tendons of a MuJoCo model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...robots.tree import Tree
from ...symbolic.parameters import Parameters, Range
from .flags import disabled
from .model_foreign import FIXED_TENDON, FREE, branches
from .model_read import Named
from .model_tree import mass_parameters
from .versions import entry, is_set

if TYPE_CHECKING:
    from mujoco import MjModel


@dataclass(frozen=True, eq=False)
class Acting:
    """What acts besides the bodies.

    Attributes:
        energy: of springs [J].
        resistance: of dampers and friction, shape (nv,).
        armature: added to M, shape (nv, nv).
    """

    energy: ca.SX
    resistance: ca.SX
    armature: ca.SX


def declared(names: Named) -> Parameters:
    """All parameters of a model.

    Args:
        names: of its parts.
    """
    values = mass_parameters(names)
    ranges = {name: Range.NOT_NEGATIVE for name in values if name.endswith(".mass")}
    model = names.model
    for j, name in enumerate(names.joints):
        if model.jnt_type[j] != FREE:
            v, q = int(model.jnt_dofadr[j]), int(model.jnt_qposadr[j])
            # What is not linear has been refused, or is left out as a whole.
            strange = is_set(model, "jnt_stiffnesspoly", j) or is_set(model, "jnt_springyield", j)
            bent = disabled(model, "DAMPER") or is_set(model, "dof_dampingpoly", v)
            own = {
                "damping": 0.0 if bent else model.dof_damping[v],
                "friction": 0.0 if _rubs_not(model) else model.dof_frictionloss[v],
                "armature": model.dof_armature[v],
                "stiffness": 0.0 if disabled(model, "SPRING") or strange else model.jnt_stiffness[j],
            }
            _declare(values, ranges, name, own, float(model.qpos_spring[q]))
    for k, name in enumerate(names.tendons):
        if model.wrap_type[model.tendon_adr[k]] == FIXED_TENDON:
            strange = is_set(model, "tendon_stiffnesspoly", k) or is_set(model, "tendon_springyield", k)
            dead = strange or bool(np.ptp(model.tendon_lengthspring[k]))
            bent = disabled(model, "DAMPER") or is_set(model, "tendon_dampingpoly", k)
            own = {
                "damping": 0.0 if bent else model.tendon_damping[k],
                "armature": 0.0 if branches(model, k) else entry(model, "tendon_armature", k),
                "stiffness": 0.0 if disabled(model, "SPRING") or dead else model.tendon_stiffness[k],
            }
            _declare(values, ranges, f"tendon {name}", own, float(model.tendon_lengthspring[k][0]))
    return Parameters.declare(values, ranges=ranges)


def passive(names: Named, p: Parameters, tree: Tree) -> Acting:
    """The expressions.

    Args:
        names: of the model's parts.
        p: of :func:`declared`.
        tree: its bodies.
    """
    model, c = names.model, tree.coordinates
    symbols = dict(p)
    energy, resistance, armature = ca.SX(0), ca.SX(ca.DM.zeros(c.nv)), ca.SX(ca.DM.zeros(c.nv, c.nv))
    parts: list[tuple[str, ca.SX, ca.SX]] = []
    for j, name in enumerate(names.joints):
        if model.jnt_type[j] != FREE:
            row = ca.SX(ca.DM.zeros(1, c.nv))
            row[int(model.jnt_dofadr[j])] = 1.0
            parts.append((name, c.q[c.names.index(name)], row))
    for k, name in enumerate(names.tendons):
        if model.wrap_type[model.tendon_adr[k]] == FIXED_TENDON:
            parts.append((f"tendon {name}", *fixed_tendon(names, k, tree)))
    for name, length, row in parts:
        rate = row @ c.v
        if f"{name}.stiffness" in symbols:
            energy += symbols[f"{name}.stiffness"] * (length - symbols[f"{name}.rest"]) ** 2 / 2
        if f"{name}.damping" in symbols:
            resistance += row.T * (symbols[f"{name}.damping"] * rate)
        if f"{name}.friction" in symbols:
            resistance += row.T * (symbols[f"{name}.friction"] * ca.sign(rate))
        if f"{name}.armature" in symbols:
            armature += symbols[f"{name}.armature"] * (row.T @ row)
    return Acting(energy, resistance, ca.sparsify(armature))


def fixed_tendon(names: Named, k: int, tree: Tree) -> tuple[ca.SX, ca.SX]:
    """Length of a fixed tendon, and its rate per velocity, shape (1, nv).

    Args:
        names: of the model's parts.
        k: its number.
        tree: of the model.
    """
    model, c = names.model, tree.coordinates
    length, row = ca.SX(0), ca.SX(ca.DM.zeros(1, c.nv))
    start = int(model.tendon_adr[k])
    for w in range(start, start + int(model.tendon_num[k])):
        j, share = int(model.wrap_objid[w]), float(model.wrap_prm[w])
        length += share * c.q[c.names.index(names.joints[j])]
        row[int(model.jnt_dofadr[j])] += share
    return length, row


def _declare(values: dict[str, float], ranges: dict[str, Range], name: str, own: dict[str, float], rest: float) -> None:
    for word, value in own.items():
        if value:
            values[f"{name}.{word}"], ranges[f"{name}.{word}"] = float(value), Range.NOT_NEGATIVE
            if word == "stiffness":
                values[f"{name}.rest"] = rest


def _rubs_not(model: MjModel) -> bool:
    return disabled(model, "FRICTIONLOSS") or disabled(model, "CONSTRAINT")
