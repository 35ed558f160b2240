"""Features of a MuJoCo model that a robot cannot represent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...symbolic.errors import BridgeError
from .compiled_model import PartNames, is_disabled
from .versions import connects_bodies, field_entry, field_is_set

if TYPE_CHECKING:
    from mujoco import MjModel


FREE, BALL = 0, 1
CONNECT, WELD, JOINT_EQUALITY, TENDON_EQUALITY = 0, 1, 2, 3
FIXED_TENDON = 1
EQUALITIES = ("connect", "weld", "joint", "tendon", "flex", "flexvert", "flexstrain", "distance")


def check_no_ball_joints(names: PartNames) -> None:
    """Raise BridgeError for ball joints, which cannot be left out.

    Args:
        names: names of the model's parts.
    """
    model = names.model
    balls = [
        f"{name!r} of body {names.bodies[int(model.jnt_bodyid[j])]!r}"
        for j, name in enumerate(names.joints)
        if model.jnt_type[j] == BALL
    ]
    if balls:
        raise BridgeError(
            f"a Robot cannot represent ball joints: {', '.join(balls)}; use three hinges in one body, about x, y and "
            "z, which move alike unless the second is near ±π/2"
        )


def unsupported_features(names: PartNames) -> dict[str, str]:
    """Return a sentence on each feature that a robot cannot represent, by the name under which it can be ignored.

    Cameras, lights, materials, sensors, keyframes and shapes without contact do not affect the motion and are not
    listed.

    Args:
        names: names of the model's parts.
    """
    model = names.model
    found: dict[str, str] = {}
    if not (is_disabled(model, "CONTACT") or is_disabled(model, "CONSTRAINT")) and _can_touch(model):
        found["contacts"] = "contacts: its shapes can touch each other"
    if model.opt.density or model.opt.viscosity:
        found["fluid"] = f"fluid: a medium of density {model.opt.density:g} and viscosity {model.opt.viscosity:g}"
    if model.nflex:
        found["flex"] = "flex: flexible bodies"
    if model.nplugin:
        found["plugins"] = "plugins: their effect is unknown"
    for b in np.flatnonzero(model.body_gravcomp):
        found[f"gravcomp of {names.bodies[b]}"] = f"gravcomp of {names.bodies[b]}: gravity compensation"
    found |= _of_joints(names) | _of_tendons(names) | _of_equalities(names)
    return found


def _of_joints(names: PartNames) -> dict[str, str]:
    model, found = names.model, dict[str, str]()
    for j, name in enumerate(names.joints):
        v = int(model.jnt_dofadr[j])
        if model.jnt_type[j] == FREE and (
            model.jnt_stiffness[j] or model.dof_armature[v] or model.dof_frictionloss[v] or model.dof_damping[v]
        ):
            found[f"joint {name}"] = f"joint {name}: a spring, damping, friction or armature of a floating body"
        if field_is_set(model, "jnt_stiffnesspoly", j) or field_is_set(model, "dof_dampingpoly", v):
            found[f"joint {name}"] = f"joint {name}: a spring or damper that is not linear"
        if field_is_set(model, "jnt_springyield", j) or field_entry(model, "jnt_plasticadr", j, -1) >= 0:
            found[f"joint {name}"] = f"joint {name}: a spring that yields"
        if model.jnt_actfrclimited[j]:
            found[f"actuatorfrcrange of {name}"] = (
                f"actuatorfrcrange of {name}: a bound on the sum of its actuator forces"
            )
        if field_is_set(model, "jnt_actgravcomp", j) and model.body_gravcomp.any():
            found[f"actuatorgravcomp of {name}"] = f"actuatorgravcomp of {name}: gravity compensation by its actuators"
    return found


def _of_tendons(names: PartNames) -> dict[str, str]:
    model, found = names.model, dict[str, str]()
    for k, name in enumerate(names.tendons):
        features = {
            "a limit": model.tendon_limited[k],
            "friction": model.tendon_frictionloss[k],
            "a spring or damper that is not linear": field_is_set(model, "tendon_stiffnesspoly", k)
            or field_is_set(model, "tendon_dampingpoly", k),
            "a spring that yields": field_is_set(model, "tendon_springyield", k),
            "a bound on its actuator forces": field_is_set(model, "tendon_actfrclimited", k),
        }
        if model.wrap_type[model.tendon_adr[k]] != FIXED_TENDON:
            features |= {
                "a spring": model.tendon_stiffness[k],
                "damping": model.tendon_damping[k],
                "armature": field_is_set(model, "tendon_armature", k),
            }
        elif field_is_set(model, "tendon_armature", k) and branches(model, k):
            features["armature across branches, which MuJoCo itself partly ignores"] = 1
        elif model.tendon_stiffness[k] and np.ptp(model.tendon_lengthspring[k]):
            features["a spring with a dead band"] = 1
        if present := [what for what, given in features.items() if given]:
            kind = "a fixed tendon" if model.wrap_type[model.tendon_adr[k]] == FIXED_TENDON else "a spatial tendon"
            found[f"tendon {name}"] = f"tendon {name}: {kind} with {', '.join(present)}"
    return found


def _of_equalities(names: PartNames) -> dict[str, str]:
    model, found = names.model, dict[str, str]()
    if is_disabled(model, "EQUALITY") or is_disabled(model, "CONSTRAINT"):
        return found
    for k, name in enumerate(names.equalities):
        kind = int(model.eq_type[k])
        spatial = kind == TENDON_EQUALITY and any(
            t >= 0 and model.wrap_type[model.tendon_adr[t]] != FIXED_TENDON
            for t in (int(model.eq_obj1id[k]), int(model.eq_obj2id[k]))
        )
        mocap_bodies = [
            names.bodies[b] for b in _connected_bodies(model, k) if model.body_mocapid[model.body_rootid[b]] >= 0
        ]
        if model.eq_active0[k] and (
            kind not in (CONNECT, WELD, JOINT_EQUALITY, TENDON_EQUALITY) or spatial or mocap_bodies
        ):
            of = (
                " of spatial tendons"
                if spatial
                else f" to the mocap body {mocap_bodies[0]!r}, which is moved from outside" * bool(mocap_bodies)
            )
            found[f"equality {name}"] = f"equality {name}: a {EQUALITIES[kind]}{of}"
    return found


def _connected_bodies(model: MjModel, k: int) -> list[int]:
    """Return the bodies of a connect or a weld."""
    if int(model.eq_type[k]) not in (CONNECT, WELD):
        return []
    ends = [int(model.eq_obj1id[k]), int(model.eq_obj2id[k])]
    return ends if connects_bodies(model, k) else [int(model.site_bodyid[site]) for site in ends]


def branches(model: MjModel, k: int) -> bool:
    """Return True if the joints of a fixed tendon are not all on one path from the world.

    Args:
        model: the compiled model.
        k: index of the tendon.
    """
    start = int(model.tendon_adr[k])
    joints = model.wrap_objid[start : start + int(model.tendon_num[k])]
    dofs = sorted(int(model.jnt_dofadr[j]) for j in joints)
    above, dof = {dofs[-1]}, dofs[-1]
    while (dof := int(model.dof_parentid[dof])) >= 0:
        above.add(dof)
    return not set(dofs) <= above


def _can_touch(model: MjModel) -> bool:
    """Return True if two shapes of bodies that move relative to each other may touch."""
    if model.npair:
        return True
    body = model.geom_bodyid
    weld, kind, affinity = model.body_weldid[body], model.geom_contype, model.geom_conaffinity
    above = model.body_weldid[model.body_parentid[weld]]
    collide = (kind[:, None] & affinity[None, :]) | (kind[None, :] & affinity[:, None])
    apart = weld[:, None] != weld[None, :]
    # A body does not touch its parent, unless that is the world.
    carried = (above[:, None] == weld[None, :]) & (weld[None, :] != 0)
    if not is_disabled(model, "FILTERPARENT"):
        apart &= ~(carried | carried.T)
    excluded = {int(signature) for signature in model.exclude_signature}
    for i, j in np.argwhere((collide != 0) & apart):
        first, second = sorted((int(body[i]), int(body[j])))
        if (first << 16) + second not in excluded and (second << 16) + first not in excluded:
            return True
    return False
