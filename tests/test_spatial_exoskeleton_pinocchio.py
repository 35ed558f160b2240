"""Links at the pole against Pinocchio: one on the ground, one in flight, and several that fly together."""

from __future__ import annotations

import numpy as np
import pytest

from .chains import STATES, Comparison
from .exoskeletons import Case, label
from .references.pinocchio_spatial import PinocchioStar
from .spatial_exoskeletons import built, numbers, states

STARS = (
    Case((0,), hinges=True, damped=True),
    Case((0,), floating=True, hinges=True, stretched=True),
    Case((0, 0, 0), floating=True, hinges=True, damped=True),
    Case((0, 0, 0), stretched=True),
)


@pytest.mark.foreign
@pytest.mark.parametrize("case", STARS, ids=label)
def test_mass_matrix_and_bias(case: Case) -> None:
    robot, known = built(case), PinocchioStar(case.structure)
    kernel = numbers(robot, robot.mass_matrix, robot.bias)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v in states(case, seed=21, count=STATES):
        M, h = kernel(q, v, np.zeros(robot.u.numel()))
        mass.add(M, known.mass_matrix(q))
        bias.add(h, known.bias(q, v))
    mass.conclude()
    bias.conclude()
