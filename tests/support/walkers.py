"""The walker of the catalogue: its stances and two of its steps, built once."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import start_on
from erugin.robots import Robot
from erugin.robots.examples import walker, walker_posture
from erugin.scenarios.catalogue.exoskeleton_steps import HEIGHT, LEAN, MARGIN, ROCK, SPEED, STEP, Stance
from erugin.scenarios.catalogue.exoskeleton_steps import stance as new_stance
from erugin.simulation import PhasedTrajectory, simulate_phases

__all__ = ["MARGIN", "ROCK", "SPEED", "STEP", "Stance", "body", "stance", "start", "two_steps"]

Array = NDArray[np.float64]


@functools.cache
def body() -> Robot:
    """The walker in the air."""
    return walker()


@functools.cache
def stance(name: str) -> Stance:
    """On one foot."""
    return new_stance(body(), name)


def start() -> tuple[Array, Array]:
    """On the program of the first stance: foot A at the origin, foot B a step behind."""
    guess = walker_posture((-STEP / 2, HEIGHT), -STEP, lean=LEAN)
    first = stance("A")
    at = [(first.swing, [-STEP, 0.0])]
    return start_on(first.program, guess, at=at, p=dict.fromkeys(first.foot.position_names, 0.0))


@functools.cache
def two_steps() -> PhasedTrajectory:
    """One step on foot A, one on foot B."""
    return simulate_phases(body(), [stance("A").phase, stance("B").phase], *start(), 3.0, step=1e-3)
