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
    """Compare a robot and a Pinocchio model: joints by name, masses, and M and h at states at random.

    M' of the model is compared with Tᵀ M T, and h' with Tᵀ (h + M Ṫ v'), for v = T v'. Closed loops take no part: M and
    h are those of the open tree; but joints that follow others are taken together.

    Args:
        robot: here.
        model: there, or what :func:`export` made, with its passive forces.
        p: the robot's parameters: nominal, overridden by name, or the whole vector.
        names: name of a joint here → name there, for those that differ.
        dissipation: whether h' is to have the model's damping and friction, which Pinocchio's algorithms leave out.
        tolerance: relative difference of M, h and masses above which it is looked for what causes it.

    Raises:
        BridgeError: if names do not match, or a joint there has no counterpart here.
    """
    tolerance = not_negative("tolerance", tolerance)
    pin: Any = import_optional("pinocchio", "pinocchio")
    exported = model if isinstance(model, PinocchioModel) else None
    inner: Any = model if exported is None else exported.model
    if not isinstance(inner, pin.Model):
        raise BridgeError(f"a robot is compared with a pinocchio.Model, got {model!r}")
    states, numbers, c = PinocchioStateConversion(robot, inner, names), robot.parameters.values(p), robot.coordinates
    own, data, rng = own_dynamics(robot), inner.createData(), np.random.default_rng(0)
    worst, said, rubbed = {"M": 0.0, "h": 0.0}, {"M": "", "h": ""}, 0.0
    seen: list[Array] = []

    def forces(q_there: Array, v_there: Array) -> Array:
        found = np.array(pin.nonLinearEffects(inner, data, q_there, v_there), dtype=np.float64)
        return found if exported is None else found - exported.passive(q_there, v_there)

    def at_rest(q: Array) -> tuple[Array, Array]:
        rest = np.zeros(states.nv)
        q_there, _ = states.to_model(states.with_mimic_joints(q), np.zeros(c.nv))
        return mass_matrix(inner, data, q_there), forces(q_there, rest)

    for k in range(STATES):
        q_there, v_there = random_state(states, rng)
        # At rest first: gravity alone.
        v_there = v_there * (k > 0)
        q, v = states.from_model(q_there, v_there)
        M, h = (np.atleast_1d(x) for x in own(0.0, q, v, numbers))
        M, T = M.reshape(c.nv, c.nv), states.inverse_velocity_jacobian(q)
        seen.append(q)
        h_there = forces(q_there, v_there)
        losses = np.array(inner.damping) * v_there + np.array(inner.upperDryFrictionLimit) * np.sign(v_there)
        if exported is None and dissipation:
            h_there = h_there + losses
        here = {"M": T.T @ M @ T, "h": T.T @ (h + M @ states.velocity_bias(q, v_there))}
        there = {"M": mass_matrix(inner, data, q_there), "h": h_there}
        size = float(np.abs(M).max(initial=0.0))
        for key, scale in (("M", size), ("h", float(np.abs(h).max(initial=0.0)) + size)):
            off = np.nan_to_num(np.abs(here[key] - there[key]), nan=np.inf) / max(scale, 1e-300)
            if off.max(initial=0.0) > worst[key]:
                at = np.unravel_index(int(np.argmax(off)), off.shape)
                where = ", ".join(velocity_label(states, int(i)) for i in at)
                worst[key] = float(off.max())
                said[key] = f"{key}[{where}] is {here[key][at]:.9g} here and {there[key][at]:.9g} there"
        left = np.nan_to_num(np.abs(here["h"] - there["h"] - losses), nan=np.inf)
        rubbed = max(rubbed, float(left.max(initial=0.0)) / max(size, 1e-300))
    told = [text for text in said.values() if text]
    if exported is None and not dissipation and worst["h"] > TOLERANCE >= rubbed:
        told.append("h there lacks the damping and friction that the model lists, which dissipation=True adds")
    differs, units = not max(worst.values()) <= tolerance, ""
    if differs:
        units = unit_mismatch(robot, numbers, seen, at_rest, states.inverse_velocity_jacobian)
    bodies = subtree_differences(
        robot, _subtree_masses(robot, inner, states), numbers, moments=differs, tolerance=tolerance
    )
    ranges = range_unit_mismatch(robot, _ranges(inner, states))
    both, notes = (robot.name, "Pinocchio", dict(states.names)), (ranges,) if ranges else ()
    return Match(*both, worst["M"], worst["h"], tuple(told), bodies, notes, units)


def _ranges(model: Any, states: PinocchioStateConversion) -> dict[str, tuple[float, float]]:  # noqa: ANN401
    """Least and greatest value of the joints whose coordinate is one here and there."""
    at = {piece.name: piece.q for piece in states.pieces if piece.kind == "same" and piece.joint.nq == 1}
    lower, upper = model.lowerPositionLimit, model.upperPositionLimit
    return {here: (float(lower[at[to]]), float(upper[at[to]])) for here, to in states.names.items() if to in at}


def _subtree_masses(robot: Robot, model: Any, states: PinocchioStateConversion) -> dict[str, MassProperties]:  # noqa: ANN401
    """Joint here → what it carries there."""
    index = {piece.name: piece.index for piece in states.pieces if piece.last}
    found: dict[str, MassProperties] = {}
    for node in () if robot.tree is None else robot.tree.nodes:
        if (joint := index.get(states.names.get(node.name, node.name))) is not None:
            body = model.inertias[joint]
            found[node.name] = MassProperties(float(body.mass), np.array(body.lever), np.array(body.inertia))
    return found
