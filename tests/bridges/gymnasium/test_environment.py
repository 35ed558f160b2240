"""Environments are the closed loops that simulations run, with the same draws."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.gymnasium import Reward, Transition, export, export_vector
from erugin.bridges.gymnasium.environment import Environment
from erugin.bridges.gymnasium.episode_starts import BUFFER_DEPTH, later_seeds
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import OpenLoop, Program, ProgramController, Tick
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, planar_manipulator, with_scene
from erugin.scenarios import Normal, Setup, Trial, sample, simulate
from erugin.scenarios.catalogue import slider_crank, two_wheel_clothoid
from erugin.simulation import Reduced, SimulationError, Trajectory
from erugin.symbolic import ParameterError, Parameters

from ...support.called_controller import Called
from ...support.comparison_setup import program_control, swing
from ...support.flat_linkages import flat, parallelogram

Array = NDArray[np.float64]
NOTHING = np.zeros(2)
PUSH = np.array([1.5, -0.7])


@pytest.fixture(scope="module")
def setup() -> Setup:
    return swing(0.3)


def followed(env: Environment, action: Array, seed: int = 0) -> tuple[Array, Array, str]:
    """Coordinates and velocities from reset to end, the rewards, and why it ended."""
    seen, _ = env.reset(seed=seed)
    states, rewards, ending = [seen["q"].tolist() + seen["v"].tolist()], [], ""
    while not ending:
        seen, reward, _, _, info = env.step(action)
        states.append(seen["q"].tolist() + seen["v"].tolist())
        rewards.append(reward)
        ending = info.get("ending", "")
    return np.array(states), np.array(rewards), ending


def states_of(motion: object) -> Array:
    assert isinstance(motion, Trajectory)
    return np.concatenate([motion.q, motion.v], axis=1)


def test_zero_residual_is_the_simulation_bit_for_bit(setup: Setup) -> None:
    env = export(setup, residual=True, dictionary=True, randomization={})
    assert env.why_called == ""
    states, _, ending = followed(env, NOTHING)
    assert np.array_equal(states, states_of(setup.run()))
    assert ending == "the duration is over"


@pytest.mark.parametrize("through", [lambda env: pickle.loads(pickle.dumps(env)), copy.deepcopy])
def test_a_pickled_or_copied_environment_continues_from_its_state(
    setup: Setup, through: Callable[[Environment], Environment]
) -> None:
    env = export(setup, dictionary=True)
    env.reset(seed=3)
    env.step(PUSH)
    again = through(env)
    for action in (PUSH, -PUSH, NOTHING):
        (one, reward, *_), (other, same, *_) = again.step(action), env.step(action)
        assert (reward, same) == (same, reward)
        assert all(one[key].tobytes() == other[key].tobytes() for key in other)
    assert followed(again, PUSH, seed=5)[0].tobytes() == followed(env, PUSH, seed=5)[0].tobytes()


def test_a_longer_period_takes_every_so_manyth_sample_of_the_simulation(setup: Setup) -> None:
    states, rewards, _ = followed(export(setup, residual=True, period=0.01, dictionary=True, randomization={}), NOTHING)
    assert len(rewards) == 30
    assert np.array_equal(states, states_of(setup.run())[::5])


def test_quasi_velocities_and_a_path_are_followed_as_well() -> None:
    setup = replace(two_wheel_clothoid(), duration=0.1)
    states, _, _ = followed(export(setup, residual=True, dictionary=True), NOTHING)
    assert np.array_equal(states, states_of(setup.run()))


def test_a_held_law_is_a_sampled_one(setup: Setup) -> None:
    states, _, _ = followed(
        export(setup, residual=True, hold=True, period=0.01, dictionary=True, randomization={}), NOTHING
    )
    sampled = setup.driven_by(SampleAndHold(program_control(setup.robot), 0.01)).run()
    assert np.abs(states - states_of(sampled)[::5]).max() <= 1e-12


def test_without_a_law_the_action_is_all_that_drives(setup: Setup) -> None:
    states, _, _ = followed(export(setup, dictionary=True, randomization={}), PUSH)
    driven = setup.driven_by(OpenLoop(setup.robot, PUSH)).run()
    assert np.abs(states - states_of(driven)).max() <= 1e-12


class Pushed(Called):
    """A law and a constant besides, which is no law with an action."""

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        return Tick(np.asarray(self.inner.control(t, q, v, p) + PUSH, dtype=np.float64))


def test_an_action_is_added_to_what_the_law_gives(setup: Setup) -> None:
    states, _, _ = followed(export(setup, residual=True, dictionary=True, randomization={}), PUSH)
    pushed = setup.driven_by(Pushed(program_control(setup.robot))).run()
    assert np.abs(states - states_of(pushed)).max() <= 1e-12
    assert np.abs(states - states_of(setup.run())).max() > 1e-2


@pytest.mark.parametrize("hold", [False, True])
def test_laws_called_from_python_move_as_compiled_ones(setup: Setup, hold: bool) -> None:
    compiled = export(setup, residual=True, hold=hold, period=0.01, dictionary=True)
    called = export(setup, residual=Called(program_control(setup.robot)), hold=hold, period=0.01, dictionary=True)
    assert "no symbolic law" in called.why_called
    ours, theirs = (followed(env, PUSH, seed=5) for env in (compiled, called))
    assert np.abs(ours[0] - theirs[0]).max() <= 1e-12
    assert np.abs(ours[1] - theirs[1]).max() <= 1e-12
    assert ours[2] == theirs[2]


def test_forces_of_an_ideal_law_take_forces_as_actions(setup: Setup) -> None:
    ideal = setup.driven_by(program_control(setup.robot, "ideal"))
    env = export(ideal, residual=True, dictionary=True, randomization={})
    assert env.metadata["action_names"] == ["R (q1)", "R (q2)"]
    assert env.metadata["action_units"] == ["N m", "N m"]
    assert np.array_equal(followed(env, NOTHING)[0], states_of(ideal.run()))


def test_a_mechanism_keeps_its_integrator_over_an_episode() -> None:
    setup = replace(slider_crank(), duration=0.01)
    assert isinstance(setup.integrator, Reduced)
    states, _, _ = followed(export(setup, residual=True, dictionary=True), np.zeros(1))
    assert np.abs(states - states_of(setup.run())).max() <= 1e-11


def test_a_seed_draws_what_it_draws_in_a_comparison(setup: Setup) -> None:
    env = export(setup, residual=True, dictionary=True)
    trial = Trial.of(setup, "law", setup.controller)
    motions = trial.motions(sample(setup.randomization, [7, 8], trial.nominal), every=1)
    for i, seed in enumerate((7, 8)):
        assert np.array_equal(followed(env, NOTHING, seed)[0], states_of(motions[i]))


def test_options_set_parameters_in_place_of_what_is_drawn(setup: Setup) -> None:
    env = export(setup, residual=True, dictionary=True)
    seen, _ = env.reset(seed=1, options={"parameters": {"m1": 3.0, "q0.q1": 0.25}})
    assert seen["q"][0] == 0.25
    drawn = sample(setup.randomization, [1], Trial.of(setup, "law", setup.controller).nominal)
    motion = simulate(
        *(setup.robot, setup.controller, [0.25, 1.1], setup.v0, 0.02),
        step=setup.step,
        p={"m1": 3.0, "m2": float(drawn["plant.m2"][0])},
        controller_p={"m1": 3.0},
    )
    for i in range(1, 11):
        seen = env.step(NOTHING)[0]
        assert np.array_equal([*seen["q"], *seen["v"]], states_of(motion)[i])


def test_the_reward_is_the_integral_that_is_written_down(setup: Setup) -> None:
    reward = Reward(error=2.0, effort=0.3, clearance=5.0, margin=0.4, arrival=0.0, collision=0.0)
    env = export(
        setup, residual=True, reward=reward, period=0.01, bounds=(20.0, 10.0), dictionary=True, randomization={}
    )
    _, rewards, _ = followed(env, NOTHING)
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    assert setup.error is not None
    assert setup.clearance is not None
    error, gap = motion.evaluate(setup.error), motion.evaluate(setup.clearance)
    effort = ((motion.u / [20.0, 10.0]) ** 2).mean(axis=1)
    cost = 2.0 * error + 0.3 * effort + 5.0 * np.maximum(0.0, 0.4 - gap)
    assert (gap < 0.4).any()
    assert np.abs(rewards + setup.step * cost[:-1].reshape(-1, 5).sum(axis=1)).max() <= 1e-12


def test_a_reward_may_be_an_expression_or_a_function(setup: Setup) -> None:
    robot = setup.robot

    def paid(reported: Transition) -> Array:
        return np.asarray(
            reported.after["q"][:, 0] - reported.before["q"][:, 0] + reported.action[:, 1], dtype=np.float64
        )

    spent = export(setup, reward=-robot.u.T @ robot.v, dictionary=True, randomization={})
    states, rewards, _ = followed(spent, PUSH)
    assert np.abs(rewards + spent.task.h * states[:-1, 2:] @ PUSH).max() <= 1e-14
    states, rewards, _ = followed(export(setup, reward=paid, dictionary=True, randomization={}), PUSH)
    assert np.abs(rewards - np.diff(states[:, 0]) - PUSH[1]).max() <= 1e-15


def test_an_episode_ends_where_the_simulation_stops(setup: Setup) -> None:
    early = replace(setup, stop=setup.robot.t - 0.0451)
    env = export(early, residual=True, reward=Reward(0.0, 0.0, 0.0, arrival=3.0), dictionary=True, randomization={})
    states, rewards, ending = followed(env, NOTHING)
    assert np.array_equal(states, states_of(early.run()))
    assert ending == "the stop condition holds"
    assert rewards[-1] == 3.0
    assert not rewards[:-1].any()


def test_a_collision_within_a_period_ends_it(setup: Setup) -> None:
    """A disc that drifts through the tip is met between two ticks, and has left it at the second."""
    gap = 40.0 * ca.fabs(setup.robot.t - 0.015) - 0.1
    env = export(replace(setup, clearance=gap), period=0.01, dictionary=True, randomization={})
    env.reset(seed=0)
    assert env.step(NOTHING)[2:4] == (False, False)
    seen, reward, terminated, _, info = env.step(NOTHING)
    assert terminated
    assert info["ending"] == "the clearance is negative"
    assert seen["clearance"][0] > 0.0
    assert reward < -1.0


def test_a_law_that_becomes_singular_gives_the_reason(setup: Setup) -> None:
    """Both rows of the tip's place are those of a stretched arm, which the action stretches."""
    arm = setup.robot
    tip = arm.points["tip"]
    wanted = ca.vertcat(0.9 + 0.5 * arm.t, 0.0)
    law = ProgramController(Program(arm, holonomic(tip - wanted, perturbation=Baumgarte(8.0), name="reach")))
    reach = Setup(arm, law, [-0.73, 1.4], [0.0, 0.0], 2.0, 2e-3)
    env = export(reach, residual=True, dictionary=True)
    states, rewards, ending = followed(env, NOTHING)
    assert "reach" in ending
    assert "linearly dependent" in ending
    assert np.isfinite(states).all()
    assert np.isfinite(rewards).all()
    with pytest.raises(SimulationError) as stopped:
        reach.run()
    # The period that fails begins at the sample at which the simulation stops.
    assert np.array_equal(states[:-1], states_of(stopped.value.trajectory))
    assert f"t = {stopped.value.trajectory.t[-1]:g} s" in ending


def test_a_mechanism_that_reaches_a_singular_position_ends_where_the_simulation_does() -> None:
    """Three parallel cranks that become flat; the second episode of a lane is judged by its own samples alone."""
    setup = Setup(parallelogram(), None, *flat(1.1, -1.0), 1.0, 2e-3)
    with pytest.raises(SimulationError) as stopped:
        setup.run()
    states, _, ending = followed(export(setup, dictionary=True), np.zeros(4))
    assert np.array_equal(states[:-1], states_of(stopped.value.trajectory))
    assert str(stopped.value).partition(": ")[2] == ending.partition(": ")[2]
    many = export_vector(setup, 2)
    many.reset(seed=0)
    ends = [bool(many.step(np.zeros((2, 4)))[2].all()) for _ in range(2 * len(states))]
    # The first step after an end is the reset.
    assert np.flatnonzero(ends).tolist() == [len(states) - 2, 2 * len(states) - 2]


def test_a_motion_that_diverges_is_not_finite_and_the_last_state_is_shown(setup: Setup) -> None:
    states, rewards, ending = followed(export(setup, dictionary=True, randomization={}), np.array([1e200, 0.0]))
    assert "not finite" in ending
    assert np.isfinite(states).all()
    assert np.array_equal(states[-1], states[-2])
    assert rewards[-1] == -1.0


def test_parameters_of_plant_and_law_may_differ(setup: Setup) -> None:
    """The law's model keeps the nominal mass, as where a comparison varies the plant's."""
    env = export(setup, residual=True, dictionary=True, randomization={})
    env.reset(options={"parameters": {"plant.m1": 4.0}})
    motion = simulate(setup.robot, setup.controller, setup.q0, setup.v0, 0.02, step=setup.step, p={"m1": 4.0})
    for i in range(1, 11):
        seen = env.step(NOTHING)[0]
        assert np.array_equal([*seen["q"], *seen["v"]], states_of(motion)[i])


def test_parameters_of_the_law_alone_are_known_to_every_expression() -> None:
    scene = Parameters.declare({"x": 0.5}, "goal")
    arm = with_scene(planar_manipulator([Link(0.6, 2.5, 0.3, 0.1)]), scene)
    own = Parameters.declare({"k": 2.0})
    law = OpenLoop(arm, own["k"] * ca.SX.ones(1, 1), parameters=own)
    setup = Setup(arm, law, [0.0], [0.0], 0.1, 1e-2, stop=arm.t - own["k"] * 0.0101, controller_p={"k": 3.0})
    env = export(setup, signals={"goal": ca.vertcat(scene["goal.x"], own["k"])}, dictionary=True)
    assert env.reset()[0]["goal"].tolist() == [0.5, 3.0]
    assert followed(env, np.zeros(1))[0].shape == (5, 2)


@pytest.fixture(scope="module")
def randomized_setup() -> Setup:
    return swing(0.02)


def test_episodes_that_follow_a_seed_differ_and_come_again(randomized_setup: Setup) -> None:
    env = export(randomized_setup)
    first = [env.reset(seed=3)[1]["seed"], *(env.reset()[1]["seed"] for _ in range(3))]
    again = [env.reset(seed=3)[1]["seed"], *(env.reset()[1]["seed"] for _ in range(3))]
    assert first == again
    assert first[0] == 3
    assert len(set(first)) == 4
    assert env.reset(seed=4)[1]["seed"] == 4
    assert env.reset()[1]["seed"] not in first


def test_seeds_of_later_episodes_are_all_different() -> None:
    seeds, episodes = (x.ravel() for x in np.meshgrid(np.arange(300), np.arange(300)))
    later = later_seeds(seeds, episodes)
    assert np.array_equal(later[episodes == 0], seeds[episodes == 0])
    assert len(np.unique(later)) == len(later)
    assert later.min() >= 0


def test_starts_that_were_drawn_ahead_are_those_of_their_seeds(randomized_setup: Setup) -> None:
    env, nominal = (
        export(randomized_setup, dictionary=True),
        Trial.of(randomized_setup, "law", randomized_setup.controller).nominal,
    )
    seen, info = env.reset(seed=11)
    for _ in range(2 * BUFFER_DEPTH + 3):
        assert seen["q"][0] == sample(randomized_setup.randomization, [info["seed"]], nominal)["q0.q1"][0]
        seen, info = env.reset()


def test_lanes_that_end_apart_draw_apart(randomized_setup: Setup) -> None:
    """Each lane's starts, in their order, are those of a single environment of its seed."""
    apart = replace(randomized_setup, stop=randomized_setup.robot.q[0] - 0.36)
    many, one = export_vector(apart, 5), export(apart)
    many.reset(seed=3)
    starts: list[list[float]] = [[] for _ in range(5)]
    for _ in range(150):
        seen, _, _, _, info = many.step(np.zeros((5, 2)))
        for lane in np.flatnonzero(info.get("_seed", np.zeros(5))).tolist():
            starts[lane].append(float(seen[lane, 0]))
    counts = [len(each) for each in starts]
    assert min(counts) > BUFFER_DEPTH / 2
    assert max(counts) > BUFFER_DEPTH
    assert len(set(counts)) > 1
    for lane, found in enumerate(starts):
        one.reset(seed=3 + lane)
        assert found == [float(one.reset()[0][0]) for _ in found]


def test_a_value_out_of_its_range_stops_the_episode_that_has_it_and_no_other(randomized_setup: Setup) -> None:
    varied = {"plant.m1": Normal(1.0, 0.7)}
    drawn = sample(varied, later_seeds(np.full(60, 5), np.arange(60)))["plant.m1"]
    bad = int(np.argmax(drawn <= 0.0))
    assert bad > 1
    env = export(randomized_setup, randomization=varied)
    env.reset(seed=5)
    for _ in range(1, bad):
        env.reset()
    with pytest.raises(ParameterError, match="m1"):
        env.reset()
