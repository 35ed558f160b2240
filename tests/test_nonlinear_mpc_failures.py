"""Predictive control when things go wrong: solvers that fail, samples that do not come, and settings that are none."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest

from erugin.controllers import Controller, Reference, Status
from erugin.controllers.baselines import NonlinearMPC
from erugin.controllers.wrappers import Dropout, Fallback
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import ModelError, NotConvergedError, NotFiniteInputError

from .wrapped import rail


def test_a_plan_that_cannot_be_renewed_goes_on_to_its_end() -> None:
    """A target that is a number up to t = 1.5 s only: from 1.1 s on the solver sees NaN and gives up."""
    robot = rail()
    target = 0.1 * ca.sqrt(1.5 - robot.t)
    controller = NonlinearMPC.reaching(robot, robot.q, target, rate=10.0)
    with pytest.raises(SimulationError, match=r"the last plan, 20 ticks old, is over") as caught:
        simulate(robot, controller, [0.0], [0.0], 3.0, step=0.01)
    kept = caught.value.trajectory
    assert caught.value.status is Status.NOT_CONVERGED
    held = kept.t[kept.status == Status.HELD]
    assert held[0] == pytest.approx(1.12, abs=0.021)
    assert held[-1] == pytest.approx(1.48, abs=0.03)
    time, said = kept.notes[0]
    assert time == held[0]
    assert "made 1 tick ago goes on: the solver found no other (" in said
    assert np.isfinite(kept.u).all()
    # It is the plan's own input that goes on, not the last one for ever.
    assert len(set(kept.u[kept.t > 1.2, 0].tolist())) > 10


def test_a_start_from_which_there_is_no_plan_is_refused_with_the_solvers_word() -> None:
    robot = rail()
    controller = NonlinearMPC.reaching(robot, robot.q, ca.sqrt(-1.0 - robot.t))
    with pytest.raises(NotConvergedError, match=r"found no plan \(.*\), and there is no plan yet. Try"):
        controller.advance(0.0, [0.0], [0.0])
    with pytest.raises(NotConvergedError, match="there is no plan"):
        controller.control(0.0, [0.0], [0.0])


def test_a_broken_sensor_is_refused_and_can_be_bridged() -> None:
    robot = rail()
    controller = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    controller.advance(0.0, [1.0], [0.0])
    with pytest.raises(NotFiniteInputError):
        controller.advance(0.08, [np.nan], [0.0])
    with pytest.raises(NotFiniteInputError):
        controller.control(0.08, [np.nan], [0.0])
    bridged = Dropout(Fallback(controller), 0.2, seed=3)
    motion = simulate(robot, bridged, [1.0], [0.0], 3.0, step=0.04)
    assert Status.HELD in motion.status
    assert abs(motion.q[-1, 0]) < 0.02


def test_a_tick_whose_sample_is_refused_is_made_up_for_at_the_next() -> None:
    """The plan from the late sample is that of a controller that ticks there; meanwhile the old one is no excuse."""
    robot = rail()
    controller = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    controller.advance(0.0, [1.0], [0.0])
    with pytest.raises(NotFiniteInputError):
        controller.advance(0.08, [np.nan], [0.0])
    said = controller.observe(0.08, [1.0], [0.0])
    assert said.status is Status.HELD
    assert said.message == "The plan made 1 tick ago goes on: the sample of this tick could not be used."
    controller.advance(0.1, [0.9], [-0.5])
    late = controller.observe(0.1, [0.9], [-0.5])
    assert late.status is Status.OK
    fresh = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    fresh.advance(0.0, [0.9], [-0.5])
    np.testing.assert_allclose(late.output, fresh.control(0.0, [0.9], [-0.5]), rtol=1e-6)
    # And no other plan before the next tick.
    controller.advance(0.14, [0.1], [0.0])
    np.testing.assert_array_equal(controller.control(0.14, [0.1], [0.0]), late.output)


def test_a_target_may_be_numbers() -> None:
    robot = rail()
    outputs = list[float]()
    for target in (0.3, [0.3], ca.SX(0.3)):
        controller = NonlinearMPC.reaching(robot, robot.q, target)
        controller.advance(0.0, [0.0], [0.0])
        outputs.append(float(controller.control(0.0, [0.0], [0.0])[0]))
    assert outputs[0] == outputs[1] == outputs[2] != 0.0


def test_a_step_longer_than_an_interval_is_refused() -> None:
    robot = rail()
    controller = NonlinearMPC(Reference.at_rest(robot, [0.0]), rate=5.0, steps=10)
    with pytest.raises(ModelError, match=r"NonlinearMPC ticks every 0.08 s, but samples come 0.1 s apart"):
        simulate(robot, controller, [1.0], [0.0], 1.0, step=0.1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda r: NonlinearMPC(r), "follows a Reference or an Aim"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), rate=-1.0), "rate must be greater than zero"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), steps=0), "steps must be a whole number"),
        (
            lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), iterations=1.5),  # type: ignore[arg-type]
            "iterations must be a whole number",
        ),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), iterations=0), "iterations must be a whole number"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), substeps=0), "substeps must be a whole number"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), terminal="x"), "terminal must be a symmetric"),
        (
            lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), solver="best"),  # type: ignore[arg-type]
            "solver must be one of 'sqp', 'ipopt'",
        ),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), error=[1.0, 2.0]), "error must be a number or 1 of them"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), error=0.0), "error must be greater than zero"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), effort=-2.0), "effort must be greater than zero"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), limits=-2.0), "limits must not be negative"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), terminal=np.eye(3)), "terminal must be a symmetric"),
        (lambda r: NonlinearMPC(Reference.at_rest(r, [0.0]), terminal=-np.eye(2)), "terminal must be a symmetric"),
        (lambda r: NonlinearMPC.reaching(r, r.q, ca.vertcat(r.t, 1.0)), "must be of one length, got 1 and 2"),
        (lambda r: NonlinearMPC.reaching(r, r.v, r.t), "a point depends on coordinates"),
        (lambda r: NonlinearMPC.reaching(r, r.q, ca.SX.sym("z")), "target"),
        (lambda r: NonlinearMPC.reaching(r, r.q, "there"), "the target must be a column"),
        (
            lambda r: NonlinearMPC.reaching("rail", r.q, 0.0),  # type: ignore[arg-type]
            "a point is one of a Robot, got str",
        ),
    ],
)
def test_bad_settings_are_refused(build: Callable[[Robot], Controller], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        build(rail())


def test_an_output_before_the_first_sample_is_refused() -> None:
    controller = NonlinearMPC(Reference.at_rest(rail(), [0.0]))
    with pytest.raises(ModelError, match="no sample yet"):
        controller.control(0.0, [0.0], [0.0])
