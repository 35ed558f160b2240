"""The search for a rate, and the cost."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from erugin.controllers import Controller, Reference
from erugin.controllers.baselines import ComputedTorque, PDGravity, quadratic_cost, tune
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, ShapeError

from ...support.arms import two_link_arm
from ...support.point_masses import MASS, point_mass


def test_the_cost_of_a_decaying_error_is_its_integral() -> None:
    t = np.linspace(0.0, 2.0, 4001)
    errors, inputs = np.exp(-t)[:, None] * [1.0, 3.0], np.full((t.size, 1), 5.0)
    cost = quadratic_cost(t, errors, inputs, allowed=[0.5, 1.0], effort=10.0)
    assert cost == pytest.approx((4.0 + 9.0) * (1 - np.exp(-4.0)) / 4.0 + 0.25, rel=1e-6)
    free = quadratic_cost(t, errors, inputs, allowed=[0.5, 1.0], effort=np.inf)
    assert free == pytest.approx(cost - 0.25)
    with pytest.raises(ShapeError, match="errors must have shape"):
        quadratic_cost(t, errors[:5], inputs, allowed=1.0, effort=1.0)
    with pytest.raises(ModelError, match="greater than zero"):
        quadratic_cost(t, errors, inputs, allowed=0.0, effort=1.0)
    with pytest.raises(ModelError, match="at least 2 times"):
        quadratic_cost([0.0], errors[:1], inputs[:1], allowed=1.0, effort=1.0)


def test_the_best_rate_of_a_mass_is_that_of_the_closed_form() -> None:
    """From rest, e = (1 + ωt) e^(−ωt): ∫ e² dt = 5/(4ω), ∫ u² dt = m² ω³/4, least of the sum at ω⁴ = 5/(3 m² w)."""
    robot = point_mass(1)
    weight = 1e-4

    def cost(law: ComputedTorque) -> float:
        motion = simulate(robot, law, [1.0], [0.0], 20.0, step=5e-3)
        return 20.0 * quadratic_cost(motion.t, motion.deviation, motion.u, allowed=1.0, effort=weight**-0.5)

    found = tune(lambda rate: ComputedTorque(robot, Reference.at_rest(robot, [0.0]), rate=rate), cost, [1.0, 4.0, 16.0])
    best = (5.0 / (3.0 * MASS**2 * weight)) ** 0.25
    assert found.rate == pytest.approx(best, rel=0.05)
    assert found.cost == pytest.approx(1.25 / best + weight * MASS**2 * best**3 / 4.0, rel=1e-3)
    assert isinstance(found.controller, ComputedTorque)
    assert found.controller.parameters.nominal["computed_torque.rate"] == pytest.approx(found.rate)
    assert [trial.rate for trial in found.trials] == sorted(trial.rate for trial in found.trials)
    # Each further rate divides what is left by the golden ratio, and one of two is known from before.
    assert len(found.trials) == 3 + 9
    shares = np.log([trial.rate for trial in found.trials]) / np.log(16.0)
    golden = (np.sqrt(5.0) - 1.0) / 2.0
    for share in (golden, 1.0 - golden):
        assert np.abs(shares - share).min() < 1e-12
    assert min(trial.cost for trial in found.trials) == found.cost
    assert found.is_inside
    assert str(found).count("\n") == len(found.trials)
    narrow = tune(lambda rate: ComputedTorque(robot, Reference.at_rest(robot, [0.0]), rate=rate), cost, [1.0, 2.0, 3.0])
    assert narrow.rate == 3.0
    assert not narrow.is_inside
    assert "an end of the grid" in str(narrow)
    assert str(found).count("*") == 1


def test_a_rate_that_cannot_be_run_is_in_the_table_with_its_reason() -> None:
    arm = two_link_arm()
    swing = Reference.of(arm, ca.vertcat(0.5 * ca.sin(2 * arm.t), 0.3 * ca.cos(3 * arm.t)))
    q, v = swing.start

    def cost(law: Controller) -> float:
        motion = simulate(arm, law, q, v, 1.0, step=1e-2)
        return quadratic_cost(motion.t, motion.deviation, motion.u, allowed=1.0, effort=np.inf)

    def build(rate: float) -> PDGravity:
        return PDGravity(arm, swing, rate=rate)

    # At 1000/s steps of 10 ms diverge.
    found = tune(build, cost, [2.0, 20.0, 1000.0], refinements=3)
    last = found.trials[-1]
    assert (last.rate, last.cost) == (1000.0, np.inf)
    assert "has diverged" in last.message
    assert last.message in str(found)
    assert [trial.cost for trial in tune(build, cost, [2.0, 20.0, 1000.0], refinements=3).trials] == [
        trial.cost for trial in found.trials
    ]
    with pytest.raises(ModelError, match="no rate of the grid has a finite cost: 1000: at t ="):
        tune(build, cost, [1000.0, 2000.0, 3000.0])
    with pytest.raises(ModelError, match="at least three numbers that increase"):
        tune(build, cost, [1.0, 1.0, 2.0])
