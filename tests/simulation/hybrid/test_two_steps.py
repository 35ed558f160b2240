"""A body of five telescopic links makes two steps over rocks by its own drives, with the impact between them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Program, ProgramController, analyse
from erugin.robots import contact_force, required_friction, with_inputs
from erugin.symbolic import ModelError

from ...support.walkers import MARGIN, ROCK, SPEED, STEP, Stance, body, stance, start, two_steps

pytestmark = pytest.mark.slow
Array = NDArray[np.float64]
BOTH = pytest.mark.parametrize("k", [0, 1], ids=["step on A", "step on B"])


def stances() -> tuple[Stance, Stance]:
    return stance("A"), stance("B")


def test_both_steps_end_by_the_other_foot_on_the_ground() -> None:
    motion = two_steps()
    assert motion.names == ("on foot A", "on foot B")
    assert motion.ending == "the last phase is over"
    for segment, now in zip(motion.segments, stances(), strict=True):
        height = segment.evaluate(now.swing)[:, 1]
        assert abs(height[-1]) < 1e-9
        assert height.max() > ROCK + 0.03
    lengths = [segment.evaluate(now.swing)[-1, 0] for segment, now in zip(motion.segments, stances(), strict=True)]
    assert lengths[1] - lengths[0] == pytest.approx(STEP, abs=2e-3)


@BOTH
def test_the_foot_in_support_stays_and_the_other_clears_the_rock(k: int) -> None:
    segment, now = two_steps().segments[k], stances()[k]
    place = segment.evaluate(body().points[now.foot.point])
    assert np.abs(place - place[0]).max() < 1e-9
    gap = np.linalg.norm(segment.evaluate(now.swing) - now.rock, axis=1) - ROCK
    assert MARGIN - 1e-3 < gap.min() < MARGIN + 5e-3


@BOTH
def test_the_deviations_decay_from_where_the_impact_left_them(k: int) -> None:
    """The rates of the rows are 10, 15 and 20 1/s; nothing else keeps them from zero."""
    segment = two_steps().segments[k]
    worst = np.abs(segment.deviation).max(axis=1)
    left = 3.0 * max(1.0, segment.t[-1]) * 10.0 * np.exp(-10.0 * (segment.t[-1] - segment.t[0]))
    assert worst[-1] <= max(left * worst[:50].max(), 1e-9)
    hip = segment.evaluate(body().points["end2"])[-1]
    assert hip[0] == pytest.approx(-STEP / 2 + SPEED * segment.t[-1], abs=1e-4)


@BOTH
def test_the_ground_carries_what_the_momentum_gains(k: int) -> None:
    """The force by the reactions against differences of momentum, p = ∂T/∂(ẋ, ẏ), of fourth order."""
    segment, now = two_steps().segments[k], stances()[k]
    law = now.controller.law
    assert law is not None
    force = segment.evaluate(contact_force(now.robot, now.foot, u=law.output))
    momentum = segment.evaluate((body().mass_matrix @ body().v)[:2])[:-2]
    h = segment.t[1] - segment.t[0]
    rate = (momentum[:-4] - 8 * momentum[1:-3] + 8 * momentum[3:-1] - momentum[4:]) / (12 * h)
    mass = float(body().evaluate(body().mass_matrix[0, 0], q=segment.q[0]))
    # Behind an impact the stiffest row still has something to do.
    later = slice(200, None)
    np.testing.assert_allclose(
        force[2:-4][later], (rate + np.array([0.0, 9.81 * mass]))[later], atol=2e-5 * 9.81 * mass
    )
    # The ground pushes; the friction and the length of the foot that the step needs are reported, not assumed.
    assert force[:, 1].min() > 0.5 * 9.81 * mass
    friction = segment.evaluate(required_friction(now.robot, now.foot, u=law.output))
    np.testing.assert_allclose(friction, np.abs(force[:, 0]) / force[:, 1], rtol=1e-9)
    assert friction.max() < 0.5
    pressure = segment.u[:, now.robot.input_names.index(f"ankle {now.name}")] / force[:, 1]
    assert np.abs(pressure).max() < 0.3


def test_the_energy_that_the_drives_give_and_the_dampers_take() -> None:
    """E(t) − E(0) = ∫ (uᵀ Bᵀ v − v·D v) dt over each step, by Simpson's rule."""
    for segment, now in zip(two_steps().segments, stances(), strict=True):
        v = segment.v[:-1]
        power = np.sum(segment.u[:-1] * (v @ segment.robot.evaluate(now.robot.input_matrix)), axis=1)
        power -= 400.0 * np.sum(v[:, 7:] ** 2, axis=1)
        n = (len(power) - 1) // 2 * 2
        h = segment.t[1] - segment.t[0]
        work = h / 3 * (power[0] + power[n] + 4 * power[1:n:2].sum() + 2 * power[2 : n - 1 : 2].sum())
        gained = segment.energy[n] - segment.energy[0]
        assert work == pytest.approx(gained, abs=2e-3 * np.ptp(segment.energy))


def test_the_impact_loses_the_energy_of_carnots_theorem() -> None:
    """Energy of the lost velocities; the foot that touched is at rest after it, the other goes."""
    motion = two_steps()
    first, second = motion.segments
    assert motion.impacts[0] is None
    blow = motion.impacts[1]
    assert blow is not None
    np.testing.assert_array_equal(second.v[0], blow.velocity)
    np.testing.assert_array_equal(second.q[0], first.q[-1])
    lost = first.v[-1] - blow.velocity
    M = body().evaluate(body().mass_matrix, q=second.q[0])
    assert blow.energy_loss == pytest.approx(float(lost @ M @ lost) / 2, rel=1e-9)
    assert first.energy[-1] - second.energy[0] == pytest.approx(blow.energy_loss, rel=1e-6)
    assert blow.energy_loss > 0.1
    still = ca.jtimes(body().points["tip"], body().q, body().v)
    assert np.abs(body().evaluate(still, q=second.q[0], v=second.v[0])).max() < 1e-12
    assert blow.by_constraint["foot B"][1] > 0.0
    assert blow.friction["foot B"] > 0.0


def test_without_its_ankle_the_program_is_not_realisable_and_both_say_so() -> None:
    now = stance("A")
    weak = with_inputs(now.robot, [name for name in now.robot.input_names if name != "ankle A"])
    program = Program(weak, now.program.constraints)
    q0, v0 = start()
    p = dict.fromkeys(now.foot.position_names, 0.0)
    assert analyse(now.program, t=0.0, q=q0, v=v0, p=p).realizable
    assert not analyse(program, t=0.0, q=q0, v=v0 * 1.1, p=p).realizable
    with pytest.raises(ModelError, match=r"has 10 rows .* only 9 inputs"):
        ProgramController(program, realization="actuated")
