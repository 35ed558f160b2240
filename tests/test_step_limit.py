"""A step at which the integrator would make a deviation grow is refused, with the longest that is not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import DOP853, RK4
from erugin.symbolic import ModelError

from .arms import two_link_arm

ROBOT = two_link_arm()


def fast(rate: float) -> ProgramController:
    return ProgramController(Program(ROBOT, nonholonomic(ROBOT.v, perturbation=FirstOrder(rate), name="still")))


def test_the_limit_of_rk4_is_2_785_on_the_real_axis() -> None:
    """Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.2."""
    with pytest.raises(
        ModelError, match=r"step of 0\.01 s is too long .* 'still': RK4 multiplies .* by 291 per step"
    ) as caught:
        simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 1.0, step=0.01)
    found = re.search(r"at most ([0-9.]+) s", str(caught.value))
    assert found is not None
    # 2.785 rounded to 2.8 would be refused in its turn.
    assert float(found[1]) == 2.7e-3
    motion = simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 0.5, step=float(found[1]))
    assert np.abs(motion.deviation[-1]).max() < np.abs(motion.deviation[0]).max()


def test_a_step_far_too_long_is_told_its_limit_too() -> None:
    with pytest.raises(ModelError, match=r"RK4 multiplies .* Take at most 2\.7e-07 s"):
        simulate(ROBOT, fast(1e7), [0.3, 0.8], [0.1, 0.0], 1.0, step=0.01)


def test_gains_set_by_name_count() -> None:
    with pytest.raises(ModelError, match="still"):
        simulate(ROBOT, fast(10.0), [0.3, 0.8], [0.1, 0.0], 1.0, step=0.01, controller_p={"still.rate": 1000.0})
    simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 0.1, step=0.01, controller_p={"still.rate": 10.0})


def test_baumgarte_on_the_imaginary_side() -> None:
    """Lightly damped: the limit is near 2.83/β, where RK4 leaves the imaginary axis."""
    held = holonomic(ROBOT.q - np.array([0.3, 0.8]), perturbation=Baumgarte(0.5, 100.0), name="held")
    controller = ProgramController(Program(ROBOT, held))
    with pytest.raises(ModelError, match=r"'held'.*at most 0\.028 s"):
        simulate(ROBOT, controller, [0.3, 0.9], [0.0, 0.0], 1.0, step=0.05)
    simulate(ROBOT, controller, [0.3, 0.9], [0.0, 0.0], 0.2, step=0.02)


def test_a_method_that_chooses_its_steps_has_no_limit() -> None:
    motion = simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 0.1, step=0.05, integrator=DOP853())
    assert np.abs(motion.deviation[-1]).max() < 1e-8


def test_the_amplification_is_what_a_step_does() -> None:
    z = complex(-0.7, 0.4)
    exact, k = 1.0 + 0.0j, 1.0 + 0.0j
    for i in range(1, 5):
        k *= z / i
        exact += k
    assert RK4().amplification(z) == pytest.approx(abs(exact), rel=1e-15)
