"""Environments of motions in phases: switches, impacts, and what a phase keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.gymnasium import export, export_vector
from erugin.bridges.gymnasium.environment import Environment
from erugin.bridges.gymnasium.episode_starts import StartSampler
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import OpenLoop, Program, ProgramController
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot, with_inputs
from erugin.scenarios import Setup, Uniform
from erugin.scenarios.catalogue import exoskeleton_steps
from erugin.simulation import Phase, PhasedSimulationError, PhasedTrajectory
from erugin.symbolic import BridgeError, ModelError, ParameterError, Parameters

from ...support.called_controller import Called
from ...support.comparison_setup import VARIED, program_control, swing, swinging_arm
from ...support.quadratic_rows import MASS, point_mass
from ...support.struts import strut, upright

Array = NDArray[np.float64]
G = 9.81
PUSH = [1.5, -0.7]


def run(setup: Setup) -> PhasedTrajectory:
    motion = setup.run()
    assert isinstance(motion, PhasedTrajectory)
    return motion


def followed(env: Environment, action: Array, seed: int = 0) -> tuple[Array, Array, Array, str]:
    """Times, states and phases from reset to end, and why it ended."""
    seen, info = env.reset(seed=seed)
    ending, reported = "", [(info["time"], np.r_[seen["q"], seen["v"]], seen["phase"])]
    while not ending:
        seen, _, _, _, info = env.step(action)
        reported.append((info["time"], np.r_[seen["q"], seen["v"]], seen["phase"]))
        ending = info.get("ending", "")
    times, states, phases = (np.array(each) for each in zip(*reported, strict=True))
    return times, states, phases, ending


def states_of(motion: PhasedTrajectory) -> Array:
    return np.concatenate([motion.q, motion.v], axis=1)


def handed_over(until: Callable[[Robot], float | ca.SX], *, called: bool = False, duration: float = 0.3) -> Setup:
    """Program control gives way to constant torques."""
    setup = swing(duration)
    robot, first = setup.robot, program_control(setup.robot)
    phases = (
        Phase(Called(first) if called else first, until=until(robot), name="program"),
        Phase(OpenLoop(robot, PUSH), name="torques"),
    )
    return replace(setup, controller=None, phases=phases, randomization={})


def at_an_angle(robot: Robot) -> ca.SX:
    return robot.q[0] - 0.4


def falling(*, called: bool = False) -> Setup:
    """A mass falls onto a line, on which a law keeps it from then on."""
    robot = point_mass(gravity=G)
    keeper = ProgramController(Program(robot, holonomic(robot.q[1], name="line")))
    phases = (
        Phase(None, until=-robot.q[1], name="fall"),
        Phase(Called(keeper) if called else keeper, name="slide", velocities="keep" if called else "consistent"),
    )
    return Setup(robot, None, [0.0, 1.0], [0.4, 0.0], 1.0, 7e-3, phases=phases)


@pytest.mark.parametrize("period", [0.002, 0.01])
def test_phases_that_end_by_the_clock_are_the_simulation_bit_for_bit(period: float) -> None:
    setup = handed_over(lambda _: 0.1)
    env = export(setup, residual=True, period=period, dictionary=True)
    assert env.why_called == ""
    times, states, phases, ending = followed(env, np.zeros(2))
    motion = run(setup)
    # At the switch there are two samples, of which an environment shows the later one.
    kept = np.delete(states_of(motion), len(motion.segments[0]) - 1, axis=0)
    assert np.array_equal(states, kept[:: round(period / 0.002)])
    assert ending == "the duration is over"
    assert phases[:, 1].tolist() == (times > 0.0999).tolist()


@pytest.mark.parametrize("called", [False, True])
def test_a_condition_ends_a_phase_within_a_period_which_stays_as_long_as_it_is(called: bool) -> None:
    """The rest of the divided step adds a sample to those of a simulation, which agree to the method's error."""
    setup = handed_over(at_an_angle, called=called)
    env = export(setup, residual=True, period=0.01, dictionary=True)
    assert ("phase 'program'" in env.why_called) == called
    times, states, phases, _ = followed(env, np.zeros(2))
    assert np.abs(times - np.arange(31) * 0.01).max() <= 1e-15
    motion = run(setup)
    (switch,) = motion.switches
    before = times < switch
    assert 2 < before.sum() < 28
    assert np.array_equal(phases[:, 0] == 1.0, before)
    assert np.array_equal(states[before], states_of(motion)[::5][: before.sum()])
    # Both take RK4 at 2 ms from the same instant on, by steps that begin elsewhere.
    assert times[-1] == pytest.approx(float(motion.t[-1]), abs=1e-14)
    assert np.abs(states[-1] - states_of(motion)[-1]).max() <= 1e-9


@pytest.mark.parametrize("called", [False, True])
def test_a_mass_falls_onto_a_line_and_stays_there(called: bool) -> None:
    """It lands after √(2/g) s, wherever the control periods are; the impulse takes the speed across the line."""
    setup = falling(called=called)
    times, states, phases, _ = followed(export(setup, residual=True, period=0.05, dictionary=True), np.zeros(2))
    landing = np.sqrt(2.0 / G)
    assert np.array_equal(phases[:, 0] == 1.0, times < landing)
    flight = times < landing
    assert np.abs(states[flight, 1] - (1.0 - G * times[flight] ** 2 / 2.0)).max() <= 1e-12
    assert np.abs(states[:, 0] - 0.4 * times).max() <= 1e-9
    if not called:
        assert np.abs(states[~flight][:, [1, 3]]).max() <= 1e-7


def test_a_held_law_is_called_at_the_start_of_its_phase_and_of_each_period() -> None:
    """A law that says the time: held from the switch on up to the end of the period, then from tick to tick."""
    robot = point_mass()
    clock = OpenLoop(robot, ca.vertcat(robot.t, 0.0))
    phases = (Phase(OpenLoop(robot, [0.0, 0.0]), until=robot.t - 0.025), Phase(clock))
    setup = Setup(robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases)
    for law in (None, Called):
        now = setup if law is None else replace(setup, phases=(phases[0], replace(phases[1], controller=Called(clock))))
        _, states, _, _ = followed(export(now, residual=True, hold=True, period=0.05, dictionary=True), np.zeros(2))
        speed = np.array([0.0, 0.025 * 0.025, 0.025 * 0.025 + 0.05 * 0.05]) / MASS
        assert np.abs(states[:, 2] - speed).max() <= 1e-11


@pytest.mark.slow
def test_two_steps_over_rocks() -> None:
    """Feet, impacts, drives of the standing leg: as the simulation, up to the second touch-down."""
    setup = exoskeleton_steps()
    env = export(setup, residual=True, dictionary=True)
    assert env.metadata["action_names"][-2:] == ["ankle A", "ankle B"]
    assert env.metadata["observation_names"][-2:] == ["phase 1: on foot A", "phase 2: on foot B"]
    times, states, phases, ending = followed(env, np.zeros(11))
    motion = run(setup)
    n = len(motion.segments[0]) - 1
    assert np.array_equal(states[:n], states_of(motion)[:n])
    assert phases[:, 0].tolist() == (times < motion.switches[0]).tolist()
    assert times[-1] == pytest.approx(float(motion.t[-1]), abs=1e-10)
    assert np.abs(states[-1] - states_of(motion)[-1]).max() <= 1e-8
    assert ending == motion.ending == "the last phase is over"


@pytest.mark.parametrize("hold", [False, True])
def test_lanes_switch_each_at_its_own_time_as_single_environments_do(hold: bool) -> None:
    setup = replace(handed_over(at_an_angle), randomization=VARIED)
    many = export_vector(setup, 5, residual=True, hold=hold, period=0.01, autoreset="Disabled")
    ones = [export(setup, residual=True, hold=hold, period=0.01) for _ in range(5)]
    seen, _ = many.reset(seed=3)
    assert np.array_equal(seen, np.array([env.reset(seed=3 + i)[0] for i, env in enumerate(ones)]))
    rng = np.random.default_rng(0)
    switched: set[int] = set()
    for k in range(30):
        actions = rng.uniform(-2.0, 2.0, (5, 2))
        seen, reward, terminated, truncated, _ = many.step(actions)
        for i, env in enumerate(ones):
            one = env.step(actions[i])
            assert np.array_equal(one[0], seen[i])
            assert one[1:4] == (reward[i], terminated[i], truncated[i])
        if len(set(seen[:, -1])) == 2:
            switched.add(k)
    assert switched
    assert (seen[:, -1] == 1.0).all()


def test_an_action_on_a_drive_that_a_phase_lacks_does_nothing_there() -> None:
    robot = point_mass()
    phases = tuple(
        Phase(None, until=0.05 * (k + 1), robot=with_inputs(robot, [name])) for k, name in enumerate(robot.input_names)
    )
    setup = Setup(robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases)
    env = export(setup, reward=-robot.u[0] - 10.0 * robot.u[1], dictionary=True)
    assert env.metadata["action_names"] == list(robot.input_names)
    _, states, _, ending = followed(env, np.array([3.0, 6.0]))
    assert np.abs(states[-1, 2:] - [0.05 * 3.0 / MASS, 0.05 * 6.0 / MASS]).max() <= 1e-15
    assert ending == "the last phase is over"
    env.reset()
    paid = [env.step(np.array([3.0, 6.0]))[1] for _ in range(10)]
    assert np.abs(np.array(paid) + ([0.03] * 5 + [0.6] * 5)).max() <= 1e-15


def test_rewards_add_up_to_an_integral_over_the_time_that_has_passed() -> None:
    """Up to the end of the last phase, within a period."""
    setup = falling()
    setup = replace(setup, phases=setup.phases[:1])
    env = export(setup, reward=ca.SX(2.0), dictionary=True, period=0.05)
    paid, terminated, info = 0.0, False, env.reset()[1]
    while "ending" not in info:
        _, reward, terminated, _, info = env.step(np.zeros(2))
        paid += reward
    assert terminated
    assert info["ending"] == "the last phase is over"
    assert info["time"] == pytest.approx(np.sqrt(2.0 / G), abs=2e-10)
    assert paid == pytest.approx(2.0 * info["time"], abs=1e-14)


def test_a_phase_that_is_over_at_once_gives_way_at_the_start() -> None:
    robot = point_mass()
    laws = [OpenLoop(robot, [float(k), 0.0]) for k in range(3)]
    phases = (Phase(laws[0], until=robot.q[0] + 1.0), Phase(laws[1], until=-1.0), Phase(laws[2]))
    setup = Setup(robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases)
    env = export(setup, residual=True, dictionary=True)
    assert env.reset()[0]["phase"].tolist() == [0.0, 0.0, 1.0]
    assert env.step(np.zeros(2))[0]["v"][0] == pytest.approx(0.02 / MASS, abs=1e-15)
    never = export(replace(setup, phases=phases[:1]), residual=True)
    with pytest.raises(BridgeError, match="seed 0 cannot start: phase 'phase'"):
        never.reset(seed=0)


def test_a_phase_that_cannot_continue_is_named() -> None:
    setup = handed_over(lambda _: 0.1)
    robot = setup.robot
    twice = holonomic(ca.vertcat(robot.q[0], 2.0 * robot.q[0]), name="twice")
    reach = ProgramController(Program(robot, twice), realization="actuated")
    broken = replace(setup, phases=(setup.phases[0], Phase(reach, name="reach")))
    times, states, _, ending = followed(export(broken, residual=True, dictionary=True), np.zeros(2))
    assert "in the period after t = 0.098 s: phase 'reach':" in ending
    assert "twice" in ending
    assert np.isfinite(states).all()
    assert times[-1] == pytest.approx(0.1)


def test_what_seeds_draw_goes_to_the_laws_of_all_phases_that_have_it() -> None:
    robot, own = point_mass(), Parameters.declare({"k": 2.0})
    laws = [OpenLoop(robot, ca.vertcat(own["k"], 0.0), parameters=own) for _ in range(2)]
    phases = (Phase(laws[0], until=0.05, controller_p={"k": 3.0}), Phase(laws[1]))
    setup = Setup(
        robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases, randomization={"q0.x0": Uniform(1.0, 2.0)}
    )
    env = export(setup, residual=True, dictionary=True)
    _, states, _, _ = followed(env, np.zeros(2))
    assert 1.0 < states[0, 0] < 2.0
    assert states[-1, 2] == pytest.approx(0.05 * (3.0 + 2.0) / MASS, abs=1e-15)
    env.reset(options={"parameters": {"k": 7.0, "q0.x0": 0.0}})
    assert [env.step(np.zeros(2))[0]["v"][0] for _ in range(10)][-1] == pytest.approx(0.7 / MASS, abs=1e-15)


def test_what_does_not_fit_phases_is_refused_by_name() -> None:
    setup = handed_over(lambda _: 0.1)
    robot = setup.robot
    with pytest.raises(ModelError, match="has a controller for each phase"):
        export(setup, residual=program_control(robot))
    ideal = Phase(program_control(robot, "ideal"))
    with pytest.raises(BridgeError, match="all output inputs u or all output forces R"):
        export(replace(setup, phases=(setup.phases[0], ideal)), residual=True)
    with pytest.raises(BridgeError, match="no controller"):
        export(replace(setup, phases=(Phase(None),)), residual=True)
    with pytest.raises(BridgeError, match=r"in phase 'program', Called has no symbolic law.*SyncVectorEnv"):
        export_vector(handed_over(at_an_angle, called=True), 2, residual=True)
    with pytest.raises(BridgeError, match="'phase' cannot be observed"):
        export(swing(), observation=("q", "phase"))
    walk = exoskeleton_steps()
    place = walk.phases[0].places[0]
    with pytest.raises(ParameterError, match=f"'{place}' is the position of a contact"):
        StartSampler(walk, {}).starts(np.zeros(1, dtype=np.int64), {place: 0.1})


def ended(env: Environment) -> tuple[float, bool, dict[str, object], dict[str, np.ndarray]]:
    """Reward from reset to end without action, termination, info and last observation."""
    env.reset(seed=0)
    paid, action = 0.0, np.zeros(env.action_space.shape or ())
    while True:
        seen, reward, terminated, truncated, info = env.step(action)
        paid += reward
        if terminated or truncated:
            return paid, terminated, info, seen


def torques(*untils: float | ca.SX | None, robot: Robot | None = None, called: bool = False) -> Setup:
    """A mass under constant forces, one after the other."""
    robot = robot or point_mass()
    laws = [OpenLoop(robot, [float(k + 1), 0.0]) for k in range(len(untils))]
    phases = tuple(
        Phase(Called(law) if called else law, until=until, name=f"phase {k}")
        for k, (law, until) in enumerate(zip(laws, untils, strict=True))
    )
    return Setup(robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases)


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("hold", [False, True])
def test_a_switch_costs_no_more_than_the_time_that_passes(called: bool, hold: bool) -> None:
    """On the grid of steps or off it, alone in its step or not."""
    robot = point_mass()
    after = robot.t
    for untils in ((0.03, None), (0.0234, 0.05, None), (after - 0.021, after - 0.023, 0.026, None)):
        setup = torques(*untils, robot=robot, called=called)
        for period in (0.01, 0.05):
            paid, _, _, _ = ended(export(setup, residual=True, hold=hold, period=period, reward=ca.SX(2.0)))
            assert paid == pytest.approx(2.0 * 0.1, abs=1e-14)


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("period", [0.01, 0.1])
def test_several_phases_in_one_period_end_where_they_end_in_a_simulation(called: bool, period: float) -> None:
    """At once, in one step, at a sample, by the clock off the grid; and where a condition holds at one sample only."""
    robot = point_mass()
    t = robot.t
    cases: list[tuple[tuple[float | ca.SX | None, ...], int]] = [
        ((t - 0.025, t - 0.025, t - 0.025, None), 4),
        ((t - 0.021, t - 0.023, 0.026, t - 0.0285, None), 5),
        ((0.011, 0.0234, t - 0.04, 0.05, None), 5),
        ((1e-4 - (t - 0.03) ** 2, None), 2),
        # The second time has passed when the first condition becomes true.
        ((t - 0.05, 0.03, None), 2),
    ]
    for untils, count in cases:
        setup = torques(*untils, robot=robot, called=called)
        motion = setup.run()
        assert isinstance(motion, PhasedTrajectory)
        assert len(motion.segments) == count
        seen = ended(export(setup, residual=True, dictionary=True, period=period))[3]
        assert np.abs(seen["q"] - motion.q[-1]).max() <= 1e-15
        assert np.abs(seen["v"] - motion.v[-1]).max() <= 1e-15
        assert seen["phase"].tolist() == [0.0] * (len(untils) - 1) + [1.0]


def test_a_phase_has_the_nominal_values_of_its_own_plant() -> None:
    """An arm that takes up a load."""
    setup = swing(0.3)
    arm = setup.robot
    loaded = replace(
        arm, parameters=Parameters(arm.parameters.names, arm.parameters.symbols, {**arm.nominal, "m2": 5.0})
    )
    phases = Phase(None, until=0.1), Phase(None, robot=loaded)
    setup = replace(setup, controller=None, randomization={}, phases=phases)
    env = export(setup, dictionary=True, period=0.02, bounds=1.0)

    def last(what: Setup) -> np.ndarray:
        motion = what.run()
        assert isinstance(motion, PhasedTrajectory)
        return np.asarray(motion.q[-1])

    assert np.array_equal(ended(env)[3]["q"], last(setup))
    light = replace(setup, phases=(phases[0], Phase(None)))
    assert np.abs(last(setup) - last(light)).max() > 0.01
    # Arguments apply in all phases, as those of a setup do.
    env.reset(options={"parameters": {"plant.m2": 1.8}})
    seen = [env.step(np.zeros(2))[0]["q"] for _ in range(15)]
    assert np.array_equal(seen[-1], last(light))


def test_nothing_starts_when_the_duration_is_over() -> None:
    setup = torques(0.1, None)
    _, terminated, info, seen = ended(export(setup, residual=True, dictionary=True, period=0.05))
    motion = setup.run()
    assert isinstance(motion, PhasedTrajectory)
    assert len(motion.segments) == 1
    assert seen["phase"].tolist() == [1.0, 0.0]
    assert not terminated
    assert info["ending"] == motion.ending == "the duration is over"


@pytest.mark.parametrize("period", [0.002, 0.1])
def test_a_phase_that_becomes_singular_is_reported_as_in_a_simulation(period: float) -> None:
    setup = swing(0.6)
    robot = setup.robot
    away = ca.vertcat(0.2 + 1.5 * robot.t, 0.6 + 0.5 * robot.t)
    rows = holonomic(robot.points["tip"] - away, perturbation=Baumgarte(8.0), name="reach")
    reach = ProgramController(Program(robot, rows), realization="actuated")
    phases = Phase(program_control(robot), until=0.1, name="swing"), Phase(reach, name="reach")
    setup = replace(setup, controller=None, phases=phases, randomization={})
    with pytest.raises(PhasedSimulationError) as raised:
        setup.run()
    _, terminated, info, _ = ended(export(setup, residual=True, period=period))
    assert terminated
    assert "phase 'reach': Row 'reach[1]'" in str(info["ending"])
    assert str(info["ending"]).partition("Row")[2] == str(raised.value).partition("Row")[2]


@pytest.mark.parametrize("phased", [False, True])
def test_environments_of_one_law_that_remembers_disturb_neither_each_other_nor_the_law(phased: bool) -> None:
    setup = replace(swing(0.1), randomization={})
    law = Delay(program_control(setup.robot), 0.006)
    if phased:
        setup = replace(setup, controller=None, phases=(Phase(law, until=0.05), Phase(law)))
    else:
        setup = replace(setup, controller=law)
    alone, one, other = (export(setup, residual=True, period=0.01) for _ in range(3))
    alone.reset(seed=0)
    expected = [alone.step(np.zeros(2))[0] for _ in range(10)]
    law.reset()
    law.advance(0.0, [0.1, 0.2], [0.3, 0.4])
    own = law.memory
    one.reset(seed=0)
    recorded: list[np.ndarray] = []
    for k in range(10):
        if k in (3, 7):
            other.reset(seed=1)
        recorded.append(one.step(np.zeros(2))[0])
        if k >= 3:
            other.step(np.ones(2))
    assert np.array_equal(recorded, expected)
    assert law.memory is own is not None


def test_lanes_that_start_in_the_second_phase_equal_single_environments() -> None:
    robot = point_mass()
    phases = Phase(OpenLoop(robot, [1.0, 0.0]), until=robot.q[0] - 1.5), Phase(OpenLoop(robot, [-9.0, 0.0]))
    setup = Setup(
        robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases, randomization={"q0.x0": Uniform(1.0, 2.0)}
    )
    many = export_vector(setup, 6, residual=True, autoreset="Disabled")
    ones = [export(setup, residual=True) for _ in range(6)]
    seen, _ = many.reset(seed=0)
    assert set(seen[:, -1]) == {0.0, 1.0}
    assert np.array_equal(seen, [env.reset(seed=k)[0] for k, env in enumerate(ones)])
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 2))
    for _ in range(10):
        assert np.array_equal(many.step(actions)[0], [env.step(a)[0] for env, a in zip(ones, actions, strict=True)])


def test_what_a_simulation_refuses_is_refused_in_its_words() -> None:
    def refused(setup: Setup, kind: type[Exception], message: str) -> None:
        for make in (lambda: export(setup, residual=True), setup.run):
            with pytest.raises(kind, match=message):
                make()

    never = torques(None, None)
    refused(never, ModelError, "phase 'phase 0' has no end")
    refused(torques(0.05, 0.04), ModelError, "ends at t = 0.04 s, not after")
    refused(torques(0.05, ca.SX.sym("far"), None), ModelError, "phase 'phase 1': stop uses far")
    plain = torques(0.05, None)
    refused(replace(plain, p={"zz": 1.0}), ParameterError, "unknown parameter 'zz'")
    misspelt = replace(swing(), controller=None, randomization={}, phases=(Phase(program_control(swinging_arm())),))
    misspelt = replace(misspelt, phases=(replace(misspelt.phases[0], controller_p={"zz": 1.0}),))
    refused(misspelt, ParameterError, "unknown parameter 'zz'")
    refused(
        replace(misspelt, phases=(Phase(upright(strut()), name="up"),)), ModelError, "phase 'up': .* built for strut"
    )
    refused(replace(swing(), controller=upright(strut())), ModelError, "was built for strut")
    refused(replace(swing(), stop=ca.SX.sym("far")), ModelError, "stop uses far")
