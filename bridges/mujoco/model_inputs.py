"""Actuators of a MuJoCo model as inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.joints import Floating
from ...robots.spatial import cross
from ...symbolic.parameters import NO_PARAMETERS
from .flags import acts, disabled
from .model_foreign import FIXED_TENDON
from .model_passive import fixed_tendon
from .model_read import Named
from .model_tree import SLIDE, Growth, site_label
from .versions import Channels, is_set

JOINT, IN_PARENT, TENDON, SITE = 0, 1, 3, 4
TRANSMISSIONS = ("joint", "jointinparent", "slidercrank", "tendon", "site", "body", "so3")


@dataclass(frozen=True, eq=False)
class Inputs:
    """Motors, in the order of the model.

    Attributes:
        names: of the model's parts.
        chosen: numbers of the actuators that are inputs.
        u: symbols, shape (nu,).
        units: of each.
        efforts: greatest |u| of each.
        lost: why others have no counterpart, by the name under which each can be ignored.
    """

    names: Named
    chosen: tuple[int, ...]
    u: ca.SX
    units: tuple[str, ...]
    efforts: tuple[float, ...]
    lost: Mapping[str, str]

    def matrix(self, growth: Growth) -> ca.SX:
        """B, shape (nv, nu).

        Args:
            growth: what has been made of the model.
        """
        model, tree, c = self.names.model, growth.tree, growth.tree.coordinates
        B = ca.SX(ca.DM.zeros(c.nv, len(self.chosen)))
        for column, k in enumerate(self.chosen):
            gain, gear = float(model.actuator_gainprm[k][0]), ca.SX(ca.DM(_gear(self.names, k).tolist()))
            target = int(model.actuator_trnid[k][0])
            if model.actuator_trntype[k] == TENDON:
                B[:, column] = gain * gear[0] * fixed_tendon(self.names, target, tree)[1].T
            elif model.actuator_trntype[k] == SITE:
                label = site_label(self.names, target)
                node, inside = growth.places[label]
                if node >= 0 and isinstance(tree.nodes[node].joint, Floating):
                    # In the axes of a body that floats the wrench is constant.
                    force, couple = inside.rotation @ gear[:3], inside.rotation @ gear[3:]
                    couple += cross(inside.position, force)
                    B[tree.places[node], column] = gain * ca.vertcat(force, couple)
                else:
                    pose = growth.poses()[label]
                    wrench = ca.vertcat(pose.rotation @ gear[:3], pose.rotation @ gear[3:])
                    B[:, column] = gain * (pose.jacobian(c).T @ wrench)
            else:
                B[int(model.jnt_dofadr[target]), column] = gain * gear[0]
        return B


def inputs(names: Named) -> Inputs:
    """Look at all actuators.

    Args:
        names: of the model's parts.
    """
    model = names.model
    chosen: list[int] = []
    units: list[str] = []
    efforts: list[float] = []
    lost: dict[str, str] = {}
    for k, name in enumerate([] if disabled(model, "ACTUATION") else names.actuators):
        if not acts(model, k):
            continue
        why = _strange(names, k)
        if why:
            lost[f"actuator {name}"] = f"actuator {name}: {why}"
            continue
        effort, uneven = _effort(names, k)
        if uneven:
            lost[f"ctrlrange of {name}"] = f"ctrlrange of {name}: bounds {uneven} that are not the same both ways"
        chosen.append(k)
        efforts.append(effort)
        units.append(_unit(names, k))
    u = ca.vertcat(NO_PARAMETERS.symbols, *(ca.SX.sym(names.actuators[k]) for k in chosen))
    return Inputs(names, tuple(chosen), u, tuple(units), tuple(efforts), lost)


def _strange(names: Named, k: int) -> str:
    """Why an actuator is no motor; empty if it is one."""
    model = names.model
    kind = int(model.actuator_trntype[k])
    target = int(model.actuator_trnid[k][0])
    if kind not in (JOINT, IN_PARENT, TENDON, SITE):
        return f"it acts through {TRANSMISSIONS[kind] if kind < len(TRANSMISSIONS) else 'what is not known here'}"
    if kind == TENDON and model.wrap_type[model.tendon_adr[target]] != FIXED_TENDON:
        return f"it pulls the spatial tendon {names.tendons[target]!r}"
    if kind == SITE and int(model.actuator_trnid[k][1]) >= 0:
        return "it acts between two sites"
    if kind in (JOINT, IN_PARENT) and model.jnt_type[target] not in (2, 3):
        return f"it acts on {names.joints[target]!r}, which is neither a hinge nor a slide; let it act on a site"
    if model.actuator_dyntype[k] != 0:
        return "it has a state of its own (dyntype)"
    if model.actuator_gaintype[k] != 0 or np.any(model.actuator_biasprm[k][:3]) or model.actuator_biastype[k] > 1:
        return "it is no motor: its force depends on position or velocity, as that of a servo or a muscle does"
    for field in ("actuator_armature", "actuator_damping", "actuator_dampingpoly", "actuator_delay"):
        if is_set(model, field, k):
            return f"it has {field.removeprefix('actuator_')}"
    channels = Channels.of(model, k)
    if channels.controls != 1 or channels.forces != 1:
        return "it has several controls"
    return ""


def _effort(names: Named, k: int) -> tuple[float, str]:
    """Greatest |u|, and the bounds if they differ."""
    model = names.model
    bounds: list[tuple[float, float]] = []
    at = Channels.of(model, k).control
    if model.actuator_ctrllimited[at] and not disabled(model, "CLAMPCTRL"):
        low, high = (float(x) for x in model.actuator_ctrlrange[at])
        bounds.append((low, high))
    gain = float(model.actuator_gainprm[k][0])
    if model.actuator_forcelimited[k] and gain:
        low, high = sorted(float(x) / gain for x in model.actuator_forcerange[k])
        bounds.append((low, high))
    if not bounds:
        return math.inf, ""
    low, high = max(b[0] for b in bounds), min(b[1] for b in bounds)
    return max(-low, high, 0.0), "" if low == -high else f"{low:g} and {high:g}"


def _gear(names: Named, k: int) -> NDArray[np.float64]:
    """Of an actuator with one force; from MuJoCo 4 on one may have several."""
    return np.asarray(names.model.actuator_gear[Channels.of(names.model, k).force])


def _unit(names: Named, k: int) -> str:
    model, kind = names.model, int(names.model.actuator_trntype[k])
    gear, target = _gear(names, k), int(model.actuator_trnid[k][0])
    if kind == SITE:
        return "N" if np.any(gear[:3]) else "N m"
    if kind == TENDON:
        target = int(model.wrap_objid[model.tendon_adr[target]])
    return "N" if model.jnt_type[target] == SLIDE else "N m"
