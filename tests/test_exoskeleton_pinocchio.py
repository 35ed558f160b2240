"""The exoskeleton against Pinocchio's revolute and prismatic joints, up to eleven links."""

from __future__ import annotations

import pytest

from .chains import STATES, Comparison
from .exoskeletons import CASES, Case, built, label, random_states
from .references.pinocchio_telescopic import PinocchioRods


@pytest.mark.foreign
@pytest.mark.parametrize("case", CASES, ids=label)
def test_agrees_with_pinocchio(case: Case) -> None:
    robot, pinocchio = built(case), PinocchioRods(case.structure)
    mass, bias, places = Comparison(0.1), Comparison(1.0), Comparison(0.3)
    for q, v in random_states(case, seed=11, count=STATES):
        mass.add(robot.evaluate(robot.mass_matrix, q=q), pinocchio.mass_matrix(q))
        bias.add(robot.evaluate(robot.bias, q=q, v=v), pinocchio.bias(q, v))
        for i, end in enumerate(pinocchio.ends(q), 1):
            places.add(robot.evaluate(robot.points[f"end{i}"], q=q), end)
    for comparison in (mass, bias, places):
        comparison.conclude()
