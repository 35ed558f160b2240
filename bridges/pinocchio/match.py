"""Comparison of a Pinocchio model with a robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import BridgeError
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import not_negative
from ..common.body_tree import MassProperties
from ..common.model_comparison import STATES, TOLERANCE, Match
from ..common.subtree_inertia import subtree_differences
from ..common.unit_mismatch import range_unit_mismatch, unit_mismatch
from .coordinate_conversion import PinocchioStateConversion
from .pinocchio_model import PinocchioModel, mass_matrix, own_dynamics, random_state, velocity_label

if TYPE_CHECKING:
    import pinocchio


Array = NDArray[np.float64]


def match(
    robot: Robot,
    model: pinocchio.Model | PinocchioModel,
    *,
    p: Mapping[str, float] | ArrayLike | None = None,
    names: Mapping[str, str] | None = None,
    dissipation: bool = False,
    tolerance: float = TOLERANCE,
) -> Match:
    """Compare a robot and a Pinocchio model: joints by name, masses, and M and h in random states.

    M' of the model is compared with Tᵀ M T, and h' with Tᵀ (h + M Ṫ v'), for v = T v'. Closed loops are not compared: M
    and h are those of the open tree, with mimic joints.

    Args:
        robot: the robot.
        model: a Pinocchio model, or the result of :func:`export`, whose passive forces are included.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: name of a joint in the robot → name in the model, for those that differ.
        dissipation: True to include the model's damping and friction in h'; Pinocchio's algorithms leave them out.
        tolerance: relative difference of M, h and masses above which causes are looked for.

    Raises:
        BridgeError: if names do not match, or if a joint of the model cannot be converted.
    """
    tolerance = not_negative("tolerance", tolerance)
    pin: Any = import_optional("pinocchio", "pinocchio")
    exported = model if isinstance(model, PinocchioModel) else None
    inner: Any = model if exported is None else exported.model
    if not isinstance(inner, pin.Model):
        raise BridgeError(f"model must be a pinocchio.Model, got {model!r}")
    states, numbers, c = PinocchioStateConversion(robot, inner, names), robot.parameters.values(p), robot.coordinates
    own, data, rng = own_dynamics(robot), inner.createData(), np.random.default_rng(0)
    worst, descriptions, friction_error = {"M": 0.0, "h": 0.0}, {"M": "", "h": ""}, 0.0
    configurations: list[Array] = []

    def forces(q_model: Array, v_model: Array) -> Array:
        found = np.array(pin.nonLinearEffects(inner, data, q_model, v_model), dtype=np.float64)
        return found if exported is None else found - exported.passive(q_model, v_model)

    def at_rest(q: Array) -> tuple[Array, Array]:
        rest = np.zeros(states.nv)
        q_model, _ = states.to_model(states.with_mimic_joints(q), np.zeros(c.nv))
        return mass_matrix(inner, data, q_model), forces(q_model, rest)

    for k in range(STATES):
        q_model, v_model = random_state(states, rng)
        # At rest first: gravity alone.
        v_model = v_model * (k > 0)
        q, v = states.from_model(q_model, v_model)
        M, h = (np.atleast_1d(x) for x in own(0.0, q, v, numbers))
        M, T = M.reshape(c.nv, c.nv), states.inverse_velocity_jacobian(q)
        configurations.append(q)
        h_model = forces(q_model, v_model)
        losses = np.array(inner.damping) * v_model + np.array(inner.upperDryFrictionLimit) * np.sign(v_model)
        if exported is None and dissipation:
            h_model = h_model + losses
        ours = {"M": T.T @ M @ T, "h": T.T @ (h + M @ states.velocity_bias(q, v_model))}
        theirs = {"M": mass_matrix(inner, data, q_model), "h": h_model}
        size = float(np.abs(M).max(initial=0.0))
        for key, scale in (("M", size), ("h", float(np.abs(h).max(initial=0.0)) + size)):
            off = np.nan_to_num(np.abs(ours[key] - theirs[key]), nan=np.inf) / max(scale, 1e-300)
            if off.max(initial=0.0) > worst[key]:
                at = np.unravel_index(int(np.argmax(off)), off.shape)
                entry = ", ".join(velocity_label(states, int(i)) for i in at)
                worst[key] = float(off.max())
                descriptions[key] = (
                    f"{key}[{entry}] is {ours[key][at]:.9g} in the robot and {theirs[key][at]:.9g} in the model"
                )
        remainder = np.nan_to_num(np.abs(ours["h"] - theirs["h"] - losses), nan=np.inf)
        friction_error = max(friction_error, float(remainder.max(initial=0.0)) / max(size, 1e-300))
    where = [text for text in descriptions.values() if text]
    if exported is None and not dissipation and worst["h"] > TOLERANCE >= friction_error:
        where.append("h of the model lacks the damping and friction that the model lists; dissipation=True adds them")
    differs, units = not max(worst.values()) <= tolerance, ""
    if differs:
        units = unit_mismatch(robot, numbers, configurations, at_rest, states.inverse_velocity_jacobian)
    bodies = subtree_differences(
        robot, _subtree_masses(robot, inner, states), numbers, moments=differs, tolerance=tolerance
    )
    ranges = range_unit_mismatch(robot, _ranges(inner, states))
    both, notes = (robot.name, "Pinocchio", dict(states.names)), (ranges,) if ranges else ()
    return Match(*both, worst["M"], worst["h"], tuple(where), bodies, notes, units)


def _ranges(model: Any, states: PinocchioStateConversion) -> dict[str, tuple[float, float]]:  # noqa: ANN401
    """Return the least and greatest values of joints with one and the same coordinate in robot and model."""
    at = {piece.name: piece.q for piece in states.pieces if piece.kind == "same" and piece.joint.nq == 1}
    lower, upper = model.lowerPositionLimit, model.upperPositionLimit
    return {own: (float(lower[at[name]]), float(upper[at[name]])) for own, name in states.names.items() if name in at}


def _subtree_masses(robot: Robot, model: Any, states: PinocchioStateConversion) -> dict[str, MassProperties]:  # noqa: ANN401
    """Return joint of the robot → mass properties on it in the model."""
    index = {piece.name: piece.index for piece in states.pieces if piece.last}
    found: dict[str, MassProperties] = {}
    for node in () if robot.tree is None else robot.tree.nodes:
        if (joint := index.get(states.names.get(node.name, node.name))) is not None:
            body = model.inertias[joint]
            found[node.name] = MassProperties(float(body.mass), np.array(body.lever), np.array(body.inertia))
    return found
