"""Closed loops on Pinocchio's articulated-body algorithm."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError, BridgeWarning
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.runge_kutta import rk4_step
from .export import export
from .torque_function import drive

if TYPE_CHECKING:
    from ..common.cross_check_case import CrossCheckCase, Motion

Array = NDArray[np.float64]


def run_case(case: CrossCheckCase, step: float) -> Motion:
    """Run RK4 on Pinocchio's articulated-body algorithm, with the controller in Pinocchio's coordinates."""
    pin: Any = import_optional("pinocchio", "pinocchio")
    setup, law = case.setup, case.controller
    with warnings.catch_warnings():
        # Passive forces, which the model cannot contain, are added below.
        warnings.simplefilter("ignore", BridgeWarning)
        exported = export(setup.robot, p=setup.p)
    if exported.constraints:
        raise BridgeError(f"{case.name} has loops, which the articulated-body algorithm cannot handle")
    torque = drive(law, exported, p=setup.controller_p or None)
    model, data, nq = exported.model, exported.data, exported.model.nq
    if nq != exported.model.nv:
        raise BridgeError(f"{case.name} has a floating base, whose quaternion RK4 on q and v cannot integrate")

    def rate(t: float, x: Array) -> Array:
        q, v = x[:nq], x[nq:]
        tau = torque(q, v, t) + exported.passive(q, v, t)
        return np.concatenate([v, pin.aba(model, data, q, v, tau)])

    x = np.concatenate(exported.states.to_model(setup.q0, setup.v0))
    return case.run_steps(
        step,
        lambda t, state, h: rk4_step(rate, t, state, h),
        x,
        lambda state: exported.states.from_model(state[:nq], state[nq:])[0],
    )
