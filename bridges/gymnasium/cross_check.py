"""Closed loops as environments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .export import export

if TYPE_CHECKING:
    from ..common.cross_check_case import CrossCheckCase, Motion


def run_case(case: CrossCheckCase, step: float) -> Motion:
    """Run the Gymnasium environment with zero actions added to the controller's output."""
    setup = case.setup
    env = export(setup, residual=True, step=step, period=step, observation=["q", "time"], randomization={}, bounds=1.0)
    try:
        observation, _ = env.reset(seed=0)
        rows = [np.asarray(observation, dtype=np.float64)]
        action, over = np.zeros(env.action_space.shape or ()), False
        while not over and len(rows) <= case.steps(step)[0]:
            observation, _, terminated, truncated, _ = env.step(action)
            rows.append(np.asarray(observation, dtype=np.float64))
            over = terminated or truncated
    finally:
        env.close()
    found, nq = np.array(rows), setup.robot.coordinates.nq
    return found[:, nq], found[:, :nq]
