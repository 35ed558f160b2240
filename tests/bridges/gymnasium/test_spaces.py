"""Properties of an environment: spaces with names and units, Gymnasium's own checks, pictures, refusals."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import casadi as ca
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

from erugin.bridges.gymnasium import export, export_vector, register
from erugin.scenarios import Scenario, Setup
from erugin.scenarios.catalogue import SCENARIOS, larin_pendulum, two_link_arm_moving_obstacle
from erugin.symbolic import BridgeError, EruginError, ModelError, ParameterError

from ...support.comparison_setup import program_control, swing

LARGE = ("exoskeleton-steps", "seven-joint-arm-on-a-sphere", "standing-up", "two-wheel-moving-obstacles")
ADVICE = (
    # What is not bounded is not, and what has a unit is not normalized.
    "ignore:.*infinity. This is probably too:UserWarning",
    "ignore:.*symmetric and normalized space:UserWarning",
    # Those with a name for gymnasium.make are checked below.
    "ignore:.*not having a spec:UserWarning",
)


@pytest.fixture(scope="module")
def setup() -> Setup:
    return swing(0.3)


def checked(scenario: Scenario, residual: bool) -> None:
    env = export(scenario, residual=residual, bounds=0.1, render_mode="rgb_array")
    check_env(env)
    env.close()


@pytest.mark.filterwarnings(*ADVICE)
@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.name not in LARGE], ids=lambda s: s.name)
def test_gymnasium_accepts_every_scenario(scenario: Scenario) -> None:
    checked(scenario, residual=False)


@pytest.mark.slow
@pytest.mark.filterwarnings(*ADVICE)
@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.name in LARGE], ids=lambda s: s.name)
def test_gymnasium_accepts_the_large_scenarios(scenario: Scenario) -> None:
    checked(scenario, residual=False)


@pytest.mark.slow
@pytest.mark.filterwarnings(*ADVICE)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_gymnasium_accepts_every_law_under_an_action(scenario: Scenario) -> None:
    setup = scenario()
    if setup.controller is None and not setup.phases:
        with pytest.raises(BridgeError, match="no controller"):
            export(scenario, residual=True)
        return
    checked(scenario, residual=True)


def test_what_is_seen_has_names_and_units() -> None:
    env = export(two_link_arm_moving_obstacle, angles="sincos", observation=("q", "v", "clearance", "time"))
    assert env.metadata["observation_names"] == [
        *("sin q1", "cos q1", "sin q2", "cos q2", "d/dt q1", "d/dt q2", "clearance", "time")
    ]
    assert env.metadata["observation_units"] == ["", "", "", "", "rad/s", "rad/s", "m", "s"]
    assert env.metadata["action_names"] == ["M1", "M2"]
    assert env.metadata["action_units"] == ["N m", "N m"]
    assert isinstance(env.observation_space, spaces.Box)
    assert env.observation_space.dtype == np.float64
    assert env.observation_space.low.tolist() == [-1.0] * 4 + [-np.inf] * 3 + [0.0]
    seen, _ = env.reset(seed=0)
    assert np.hypot(seen[0], seen[1]) == pytest.approx(1.0, abs=1e-15)
    assert env.metadata["period"] == 1e-3


def test_a_dictionary_holds_the_same_numbers(setup: Setup) -> None:
    flat, named = export(setup), export(setup, dictionary=True)
    assert isinstance(named.observation_space, spaces.Dict)
    assert list(named.observation_space) == ["q", "v", "points", "error", "clearance", "time"]
    a, b = flat.reset(seed=2)[0], named.reset(seed=2)[0]
    assert np.array_equal(a, np.concatenate([b[name] for name in named.observation_space]))
    assert named.observation_space.contains(b)


def test_bounds_come_from_the_drives_or_must_be_given(setup: Setup) -> None:
    arm = next(s for s in SCENARIOS if s.name == "acrobot")()
    assert isinstance(space := export(arm).action_space, spaces.Box)
    assert (space.low.tolist(), space.high.tolist()) == ([-5.0], [5.0])
    assert isinstance(space := export(setup, bounds={"M2": (-1.0, 3.0)}).action_space, spaces.Box)
    assert (space.low.tolist(), space.high.tolist()) == ([-np.inf, -1.0], [np.inf, 3.0])
    shares = export(setup, bounds={"M1": (-1.0, 3.0), "M2": (-2.5, 2.5)}, normalized=True)
    assert shares.metadata["action_units"] == ["share of -1 … 3 N m", "share of -2.5 … 2.5 N m"]
    # Without inputs it is forces that act.
    assert export(larin_pendulum, bounds=1.0).metadata["action_names"] == ["R (x)", "R (y)", "R (z)"]


def test_an_action_beyond_its_bounds_is_taken_at_them_and_a_share_is_one_of_them(setup: Setup) -> None:
    plain, share = (
        export(setup, bounds=(2.0, 4.0), randomization={}),
        export(setup, bounds=(2.0, 4.0), normalized=True, randomization={}),
    )
    seen: list[NDArray[np.float64]] = []
    for env, action in ((plain, [2.0, -1.0]), (plain, [7.0, -1.0]), (share, [1.0, -0.25]), (share, [9.0, -0.25])):
        env.reset(seed=0)
        seen.append(env.step(np.array(action))[0])
    assert all(np.array_equal(seen[0], other) for other in seen[1:])


def test_a_picture_shows_the_robot_where_it_is(setup: Setup) -> None:
    env = export(setup, render_mode="rgb_array", bounds=40.0)
    env.reset(seed=0)
    first = env.render()
    assert first.dtype == np.uint8
    assert first.shape == (400, 400, 3)
    assert np.array_equal(first, env.render())
    for _ in range(40):
        env.step(np.array([40.0, 0.0]))
    moved = env.render()
    assert moved.shape == first.shape
    assert (moved != first).any(axis=2).sum() > 500
    assert export(setup).render() is None


def test_a_name_makes_both_kinds(setup: Setup) -> None:
    name = register(setup, "erugin/Swing-v0", bounds=3.0)
    one: Any = gymnasium.make(name, normalized=True, render_mode="rgb_array")
    many: Any = gymnasium.make_vec(name, num_envs=3, vectorization_mode="vector_entry_point", normalized=True)
    assert np.array_equal(one.reset(seed=4)[0], many.reset(seed=4)[0][0])
    assert many.action_space.shape == (3, 2)
    one.close()
    many.close()
    gymnasium.registry.pop(name)


CALLS: list[tuple[dict[str, Any], type[EruginError], str]] = [
    ({"observation": ("q", "speed")}, BridgeError, "unknown part of an observation 'speed'"),
    ({"observation": "q"}, BridgeError, "a sequence of names"),
    ({"observation": ()}, BridgeError, "at least one part"),
    ({"observation": ("q", "q")}, BridgeError, "each once"),
    ({"signals": {"q": ca.SX(1)}}, BridgeError, "each once"),
    ({"signals": {"x": ca.SX.sym("x")}}, ModelError, "'x'"),
    ({"angles": "degrees"}, BridgeError, "'plain' or 'sincos'"),
    ({"hold": True}, BridgeError, "residual=True"),
    ({"residual": "law"}, BridgeError, "True, False or a Controller"),
    ({"acts": "torques"}, BridgeError, "'inputs' or 'forces'"),
    ({"residual": True, "acts": "forces"}, BridgeError, "outputs inputs u"),
    ({"bounds": (1.0, 2.0, 3.0)}, BridgeError, "one for each of M1, M2"),
    ({"bounds": {"M3": (0.0, 1.0)}}, BridgeError, "unknown action in bounds= 'M3'.*Known: M1, M2"),
    ({"bounds": {"M1": 5.0}}, BridgeError, r"\(low, high\) by name, {'M1': \(-1, 2\)}; got {'M1': 5.0}"),
    ({"bounds": -1.0}, BridgeError, r"a number b means ±b. Got M1 in \[1, -1\], M2 in \[1, -1\]"),
    ({"normalized": True}, BridgeError, "finite bounds"),
    ({"period": 0.0}, ModelError, "period must be greater than zero"),
    ({"period": 100.0}, BridgeError, "a period of 100 s is longer than an episode, "),
    ({"step": float("nan")}, ModelError, "step must be finite"),
    ({"reward": 1.0}, BridgeError, "a Reward, a scalar expression or a function"),
    ({"reward": ca.SX(2, 1)}, BridgeError, "a scalar expression"),
    ({"randomization": {"m9": 1.0}}, EruginError, "m9"),
    ({"render_mode": "human"}, BridgeError, "rgb_array"),
]


@pytest.mark.parametrize(("reported", "kind", "message"), CALLS, ids=lambda each: str(each)[:40])
def test_what_does_not_fit_is_refused_by_name(
    setup: Setup, reported: dict[str, Any], kind: type[EruginError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        export(setup, **reported)


def test_what_has_no_controller_has_no_residual(setup: Setup) -> None:
    with pytest.raises(BridgeError, match="no controller"):
        export(setup.driven_by(None), residual=True)
    with pytest.raises(BridgeError, match=r"a Setup or a Scenario, such as .*, got 'two-link-arm'"):
        export("two-link-arm")  # type: ignore[arg-type]
    assert export(setup.driven_by(None), residual=program_control(setup.robot)).task.base is not None


def test_steps_and_resets_that_mean_nothing_are_refused(setup: Setup) -> None:
    env = export(setup, render_mode="rgb_array")
    for call in (lambda: env.step(np.zeros(2)), env.render):
        with pytest.raises(BridgeError, match=r"reset\(\)"):
            call()
    with pytest.raises(BridgeError, match="unknown option 'mass'"):
        env.reset(options={"mass": 1.0})
    with pytest.raises(ParameterError, match="m9"):
        env.reset(options={"parameters": {"m9": 1.0}})
    env.reset(seed=0)
    with pytest.raises(BridgeError, match="'M2' must be a finite number, got nan"):
        env.step(np.array([0.0, np.nan]))
    with pytest.raises(BridgeError, match=r"shape \(2,\)"):
        env.step(np.zeros(3))
    while not any(env.step(np.zeros(2))[2:4]):
        pass
    with pytest.raises(BridgeError, match="over"):
        env.step(np.zeros(2))


def test_a_start_from_which_no_run_is_possible_is_reported_with_its_seed(setup: Setup) -> None:
    env = export(setup, residual=True, randomization={})
    with pytest.raises(EruginError):
        env.reset(seed=6, options={"parameters": {"q0.q1": float("inf")}})


def test_a_step_that_is_too_long_for_a_law_is_refused_as_in_a_simulation(setup: Setup) -> None:
    slow = replace(setup, duration=1.2, randomization={})
    with pytest.raises(ModelError, match=r"a step of 0\.4 s is too long.*'swing'"):
        export(slow, residual=True, step=0.4).reset()
    # What is held decays otherwise, and an action alone has nothing that would.
    for residual in (False, True):
        export(slow, residual=residual, hold=residual, step=0.4).reset()


def test_gymnasium_is_imported_when_an_environment_is_made() -> None:
    code = "import sys, erugin.bridges.gymnasium; assert 'gymnasium' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert callable(export_vector)
