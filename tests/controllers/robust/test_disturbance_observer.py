"""The momentum observer around laws that are not programs, and what lies between law and machine."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Reference, Status
from erugin.controllers.baselines import ComputedTorque, PDGravity
from erugin.controllers.robust import DisturbanceObserver
from erugin.controllers.wrappers import Delay, Fallback, SampleAndHold, Saturation
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.symbolic import ModelError

from ...support.arms import two_link_arm
from ...support.controller_cases.programs import program_controller
from ...support.controller_cases.robots import robot_case
from ...support.uncertain_plants import pushed

Array = NDArray[np.float64]
REST = [-0.4, 1.3]


@functools.cache
def arm() -> Robot:
    return two_link_arm()


def heavy() -> dict[str, float]:
    return {name: 1.3 * arm().nominal[name] for name in ("m1", "m2")}


def computed_torque(target: list[float] | None = None, rate: float = 8.0) -> ComputedTorque:
    return ComputedTorque(arm(), Reference.at_rest(arm(), REST if target is None else target), rate=rate)


def missing(q: Array) -> Array:
    """Weight of the heavy arm that the model lacks, as a generalized force."""
    still = np.zeros(2)
    return np.asarray(arm().evaluate(arm().bias, q=q, v=still) - arm().evaluate(arm().bias, q=q, v=still, p=heavy()))


def test_computed_torque_holds_an_arm_that_is_heavier_than_its_model() -> None:
    plain = computed_torque()
    law = DisturbanceObserver(plain, 4.0)
    motions = [simulate(arm(), one, [-0.7, 1.0], [0.0, 0.0], 6.0, step=5e-3, p=heavy()) for one in (plain, law)]
    errors = [np.abs(motion.q[-1] - REST).max() for motion in motions]
    assert errors[0] > 0.03
    assert errors[1] < 1e-7
    np.testing.assert_allclose(list(law.estimates.values()), missing(np.array(REST)), atol=1e-6)


def test_around_a_program_it_is_the_observer_in_its_model() -> None:
    """Two derivations: r in the bias of the model, and B⁺ r off the output, where all inputs are determined."""
    program = Program(arm(), holonomic(arm().points["tip"] - ca.DM([0.75, 0.2]), perturbation=Baumgarte(6.0)))
    inside = ProgramController(program, realization="actuated", robust="observer", rate=3.0)
    outside = DisturbanceObserver(ProgramController(program, realization="actuated"), 3.0)
    one, other = (simulate(arm(), law, [-0.7, 1.0], [0.0, 0.0], 2.0, step=5e-3, p=heavy()) for law in (inside, outside))
    np.testing.assert_allclose(one.q, other.q, atol=1e-10)
    np.testing.assert_allclose(list(inside.estimates.values()), list(outside.estimates.values()), atol=1e-8)


@pytest.mark.parametrize("known", [True, False])
def test_an_observer_that_knows_the_limits_does_not_wind_up(known: bool) -> None:
    """A model that is exact, and drives too weak for the start: only who does not know of them finds a force."""
    far = computed_torque([1.2, 0.4], rate=12.0)
    bounds = [25.0, 8.0]
    law: Controller
    if known:
        law = observer = DisturbanceObserver(far, 6.0, through=lambda inner: Saturation(inner, bounds))
    else:
        observer = DisturbanceObserver(far, 6.0)
        law = Saturation(observer, bounds)
    motion = simulate(arm(), law, [-1.2, 0.4], [0.0, 0.0], 0.3, step=2e-3)
    assert (np.asarray(motion.status) == int(Status.LIMITED)).mean() > 0.5
    assert (np.abs(motion.u) <= bounds).all()
    size = np.abs(list(observer.estimates.values())).max()
    assert size < 0.1 if known else size > 5.0


def test_a_delay_that_is_known_is_no_missing_force() -> None:
    swing = Reference.of(arm(), 0.4 * ca.sin(6 * arm().t) * ca.DM([1.0, 1.0]))
    q0, v0 = [0.0, 0.0], [2.4, 2.4]
    sizes = []
    for known in (True, False):
        inner = ComputedTorque(arm(), swing, rate=8.0)
        law: Controller
        if known:
            law = observer = DisturbanceObserver(inner, 4.0, through=lambda law: Delay(law, 5e-3))
        else:
            observer = DisturbanceObserver(inner, 4.0)
            law = Delay(observer, 5e-3)
        motion = simulate(arm(), law, q0, v0, 2.9, step=1e-3)
        assert motion.t[-1] == pytest.approx(2.9)
        sizes.append(np.abs(list(observer.estimates.values())).max())
    assert sizes[0] < 0.05 * sizes[1]


def test_a_held_output_leaves_the_estimate_half_an_interval_behind_at_most() -> None:
    law = DisturbanceObserver(computed_torque(), 4.0, through=lambda law: SampleAndHold(law, 2e-3))
    motion = simulate(arm(), law, [-0.7, 1.0], [0.0, 0.0], 6.0, step=2e-3, p=heavy())
    assert np.abs(motion.q[-1] - REST).max() < 1e-7


@pytest.mark.parametrize("name", ["four-bar linkage", "reduced two-wheel robot"])
def test_loops_and_wheels(name: str) -> None:
    """A brake whose robot is pushed: the velocities on which inputs do work come to rest."""
    case = robot_case(name)
    robot = case.robot
    plant = pushed(robot, np.resize([0.3, -0.2, 0.1], robot.coordinates.nv))
    plain = program_controller(case)
    left = [
        np.abs(simulate(plant, law, case.q0, case.v0, 8.0, step=case.step).deviation[-1]).max()
        for law in (plain, DisturbanceObserver(plain, 2.0))
    ]
    assert left[0] > 1e-2
    assert left[1] < 0.05 * left[0]


def test_a_sample_that_is_lost_changes_nothing() -> None:
    law = Fallback(DisturbanceObserver(computed_torque(), 4.0))
    for i in range(5):
        law.advance(0.01 * i, REST, [0.1 * i, 0.0])
    inner = law.inner
    assert isinstance(inner, DisturbanceObserver)
    before = dict(inner.estimates)
    assert max(map(abs, before.values())) > 0.0
    law.advance(0.05, [np.nan, 0.0], [0.0, 0.0])
    assert dict(inner.estimates) == before


def test_what_is_not_possible_is_refused() -> None:
    law = computed_torque()
    with pytest.raises(ModelError, match="through must return wrappers around the law"):
        DisturbanceObserver(law, 4.0, through=lambda inner: law)
    with pytest.raises(ModelError, match="rate must be"):
        DisturbanceObserver(law, 0.0)
    crane = robot_case("acrobot").robot
    with pytest.raises(ModelError, match="fewer independent inputs"):
        DisturbanceObserver(PDGravity(crane, Reference.at_rest(crane, [0.0, 0.0])), 4.0)
