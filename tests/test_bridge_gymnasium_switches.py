"""What a phase takes over from the one before, and what it does not: rewards, parameters, memory, names in messages."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.gymnasium import export, export_vector
from erugin.bridges.gymnasium.environment import Environment
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import OpenLoop, Program, ProgramController
from erugin.controllers.wrappers import Delay
from erugin.robots import Robot
from erugin.scenarios import Setup, Uniform
from erugin.simulation import Phase, PhasedSimulationError, PhasedTrajectory
from erugin.symbolic import ModelError, ParameterError, Parameters

from .called import Called
from .compared import program_control, swing, swinging_arm
from .quadratic import point_mass
from .struts import strut, upright


def ended(env: Environment) -> tuple[float, bool, dict[str, object], dict[str, np.ndarray]]:
    """What was paid from reset to end without action, whether it terminated, what was known and what was seen last."""
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
    """Whether it is on the grid of steps or off it, alone in its step or not."""
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
        # The second time has passed when the first condition comes to hold.
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
    setup = replace(setup, controller=None, varied={}, phases=phases)
    env = export(setup, dictionary=True, period=0.02, bounds=1.0)

    def last(what: Setup) -> np.ndarray:
        motion = what.run()
        assert isinstance(motion, PhasedTrajectory)
        return np.asarray(motion.q[-1])

    assert np.array_equal(ended(env)[3]["q"], last(setup))
    light = replace(setup, phases=(phases[0], Phase(None)))
    assert np.abs(last(setup) - last(light)).max() > 0.01
    # What is told holds in all phases, as what a setup tells does.
    env.reset(options={"parameters": {"plant.m2": 1.8}})
    seen = [env.step(np.zeros(2))[0]["q"] for _ in range(15)]
    assert np.array_equal(seen[-1], last(light))


def test_nothing_begins_when_the_duration_is_over() -> None:
    setup = torques(0.1, None)
    _, terminated, info, seen = ended(export(setup, residual=True, dictionary=True, period=0.05))
    motion = setup.run()
    assert isinstance(motion, PhasedTrajectory)
    assert len(motion.segments) == 1
    assert seen["phase"].tolist() == [1.0, 0.0]
    assert not terminated
    assert info["ending"] == motion.ending == "the duration is over"


@pytest.mark.parametrize("period", [0.002, 0.1])
def test_a_phase_that_becomes_singular_is_told_as_in_a_simulation(period: float) -> None:
    setup = swing(0.6)
    robot = setup.robot
    away = ca.vertcat(0.2 + 1.5 * robot.t, 0.6 + 0.5 * robot.t)
    rows = holonomic(robot.points["tip"] - away, perturbation=Baumgarte(8.0), name="reach")
    reach = ProgramController(Program(robot, rows), realization="actuated")
    phases = Phase(program_control(robot), until=0.1, name="swing"), Phase(reach, name="reach")
    setup = replace(setup, controller=None, phases=phases, varied={})
    with pytest.raises(PhasedSimulationError) as told:
        setup.run()
    _, terminated, info, _ = ended(export(setup, residual=True, period=period))
    assert terminated
    assert "phase 'reach': Row 'reach[1]'" in str(info["ending"])
    assert str(info["ending"]).partition("Row")[2] == str(told.value).partition("Row")[2]


@pytest.mark.parametrize("phased", [False, True])
def test_environments_of_one_law_that_remembers_disturb_neither_each_other_nor_the_law(phased: bool) -> None:
    setup = replace(swing(0.1), varied={})
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
    told: list[np.ndarray] = []
    for k in range(10):
        if k in (3, 7):
            other.reset(seed=1)
        told.append(one.step(np.zeros(2))[0])
        if k >= 3:
            other.step(np.ones(2))
    assert np.array_equal(told, expected)
    assert law.memory is own is not None


def test_lanes_of_which_some_begin_with_the_second_phase_are_as_single_environments() -> None:
    robot = point_mass()
    phases = Phase(OpenLoop(robot, [1.0, 0.0]), until=robot.q[0] - 1.5), Phase(OpenLoop(robot, [-9.0, 0.0]))
    setup = Setup(robot, None, [0.0, 0.0], [0.0, 0.0], 0.1, 1e-2, phases=phases, varied={"q0.x0": Uniform(1.0, 2.0)})
    many = export_vector(setup, 6, residual=True, autoreset="Disabled")
    ones = [export(setup, residual=True) for _ in range(6)]
    seen, _ = many.reset(seed=0)
    assert set(seen[:, -1]) == {0.0, 1.0}
    assert np.array_equal(seen, [env.reset(seed=k)[0] for k, env in enumerate(ones)])
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 2))
    for _ in range(10):
        assert np.array_equal(many.step(actions)[0], [env.step(a)[0] for env, a in zip(ones, actions, strict=True)])


def test_what_a_simulation_refuses_is_refused_in_its_words() -> None:
    def refused(setup: Setup, kind: type[Exception], said: str) -> None:
        for make in (lambda: export(setup, residual=True), setup.run):
            with pytest.raises(kind, match=said):
                make()

    never = torques(None, None)
    refused(never, ModelError, "phase 'phase 0' has no end")
    refused(torques(0.05, 0.04), ModelError, "ends at t = 0.04 s, not after")
    refused(torques(0.05, ca.SX.sym("far"), None), ModelError, "phase 'phase 1': stop uses far")
    plain = torques(0.05, None)
    refused(replace(plain, p={"zz": 1.0}), ParameterError, "unknown parameter 'zz'")
    misspelt = replace(swing(), controller=None, varied={}, phases=(Phase(program_control(swinging_arm())),))
    misspelt = replace(misspelt, phases=(replace(misspelt.phases[0], controller_p={"zz": 1.0}),))
    refused(misspelt, ParameterError, "unknown parameter 'zz'")
    refused(
        replace(misspelt, phases=(Phase(upright(strut()), name="up"),)), ModelError, "phase 'up': .* made for strut"
    )
    refused(replace(swing(), controller=upright(strut())), ModelError, "made for strut")
    refused(replace(swing(), stop=ca.SX.sym("far")), ModelError, "stop uses far")
