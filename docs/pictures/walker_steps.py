"""Draws docs/pictures/walker_steps.png, and prints the numbers: python -m docs.pictures.walker_steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erugin.robots import contact_force, required_friction
from erugin.views.ground_forces import WalkStep, draw_walk
from tests.support.walkers import MARGIN, ROCK, Stance, stance, two_steps

PARTS = {"leg A": ("pole", "end1", "end2"), "leg B": ("end2", "end4", "tip"), "trunk": ("end2", "end3")}


def step_of(now: Stance) -> WalkStep:
    """Plotted quantities of a stance, with the inputs of its law."""
    law = now.controller.law
    if law is None:
        raise RuntimeError("the program of a stance is an expression")
    force = contact_force(now.robot, now.foot, u=law.output)
    torque = law.output[now.robot.input_names.index(f"ankle {now.name}")]
    return WalkStep(now.swing, force, torque / force[1], (float(now.rock[0]), float(now.rock[1]), ROCK), MARGIN)


def main() -> None:
    """Two steps over two rocks."""
    motion = two_steps()
    stances = [stance("A"), stance("B")]
    steps = [step_of(now) for now in stances]
    for segment, now, step in zip(motion.segments, stances, steps, strict=True):
        force, pressure = segment.evaluate(step.force), segment.evaluate(step.pressure)
        law = now.controller.law
        friction = segment.evaluate(required_friction(now.robot, now.foot, u=law.output if law else None))
        gap = np.linalg.norm(segment.evaluate(now.swing) - now.rock, axis=1) - ROCK
        print(
            f"{now.name}: {segment.t[0]:.3f} to {segment.t[-1]:.3f} s, upwards {force[:, 1].min():.0f} to "
            f"{force[:, 1].max():.0f} N, friction {friction.max():.2f}, pressure {pressure.min():.2f} to "
            f"{pressure.max():.2f} m, rock passed at {1e3 * gap.min():.1f} mm, deviation {segment.deviation[-1]}"
        )
    impact = motion.impacts[1]
    if impact is not None:
        impulse = impact.by_constraint["foot B"]
        print(f"impact: {impact.energy_loss:.2f} J lost, impulse {impulse}, {dict(impact.friction)}")
    draw_walk(motion, steps, PARTS).savefig(Path(__file__).with_suffix(".png"))


if __name__ == "__main__":
    main()
