"""How many runs make a task of about a second, reckoned from the operations of a law, not from a clock.

What is reckoned is the same on every machine, so that a study is cut into the same tasks wherever it runs.
"""

from __future__ import annotations

import math

import casadi as ca

from ..comparison.trial import Trial
from .work import is_compiled

STAGES, OPERATION, SAMPLE = 4, 5e-11, 1e-7
"""Calls of the law in a step; seconds of one operation of one lane, and of what is recorded of a sample."""
TICK = 2e-4
"""Seconds of a tick whose law is in Python."""
SECONDS = 1.0
LANES, MOST = 64, 8192
"""Lanes that go well together, and most of them: more use more memory and are not faster."""


def runs_per_task(trial: Trial, runs: int) -> int:
    """Runs of a task.

    Args:
        trial: of the controller.
        runs: number of all runs of the controller with the same settings.
    """
    samples = max(1, math.ceil(trial.setup.duration / trial.setup.step))
    if not is_compiled(trial):
        return max(1, min(runs, round(SECONDS / (TICK * samples))))
    each = STAGES * _operations(trial) * OPERATION + SAMPLE
    many = SECONDS / (each * samples)
    return max(1, min(runs, MOST, round(many / LANES) * LANES or round(many)))


def _operations(trial: Trial) -> int:
    robot = trial.setup.robot
    outputs = [robot.mass_matrix, robot.bias]
    if trial.controller is not None and trial.controller.law is not None:
        outputs.append(trial.controller.law.output)
    every = ca.vertcat(*(ca.densify(ca.vec(each)) for each in outputs))
    return ca.Function("operations", ca.symvar(every), [every], {"cse": True}).n_instructions()
