"""Environments whose law has a memory or keeps limits: compiled as called from Python."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.gymnasium import export, export_vector
from erugin.controllers import Controller, Law, Status
from erugin.scenarios import Setup

from ...support.sampled_laws import BASES, ROBOT, STEP, WRAPPERS, Integrator

PUSH = np.array([0.4, -0.3])
CASES = [
    *(("integral", "none"), ("adaptive", "encoders"), ("program", "both delays"), ("program", "lag")),
    *(("program", "hold"), ("implicit", "none"), ("limits", "none"), ("integral in limits", "rate")),
]


def setup(controller: Controller) -> Setup:
    return Setup(ROBOT, controller, [0.3, 0.5], [0.8, 0.1], duration=0.12, step=STEP)


def followed(env: Any) -> np.ndarray:  # noqa: ANN401 - an environment
    """Observations of an episode, and its rewards."""
    seen = [env.reset(seed=1)[0]]
    over, rewards = False, list[float]()
    while not over:
        observed, reward, terminated, truncated, _ = env.step(PUSH)
        seen.append(observed)
        rewards.append(reward)
        over = terminated or truncated
    return np.column_stack([np.array(seen), [0.0, *rewards]])


@pytest.mark.compiled
@pytest.mark.parametrize("hold", [False, True])
@pytest.mark.parametrize(("base", "wrapper"), CASES)
def test_a_compiled_episode_is_that_of_python(
    base: str, wrapper: str, hold: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = WRAPPERS[wrapper](BASES[base]())
    compiled = export(setup(controller), residual=True, hold=hold, period=4 * STEP)
    assert compiled.why_called == ""
    ours = followed(compiled)
    again = followed(compiled)
    np.testing.assert_array_equal(ours, again)
    monkeypatch.setattr(type(controller), "sampled_law", lambda self, period: None)
    called = export(setup(controller), residual=True, hold=hold, period=4 * STEP)
    assert "no symbolic law" in called.why_called
    np.testing.assert_allclose(ours, followed(called), rtol=1e-10, atol=1e-10)


@pytest.mark.compiled
def test_lanes_have_the_bits_of_one_environment() -> None:
    one = setup(WRAPPERS["encoders"](BASES["integral in limits"]()))
    options: dict[str, Any] = {"residual": True, "period": 4 * STEP, "bounds": 5.0}
    alone, many = export(one, **options), export_vector(one, 5, **options)
    many.reset(seed=3)
    alone.reset(seed=3)
    rng = np.random.default_rng(2)
    for _ in range(10):
        actions = rng.normal(size=(5, 2))
        seen = many.step(actions)
        np.testing.assert_array_equal(seen[0][0], alone.step(actions[0])[0])
    many.close()


@pytest.mark.compiled
def test_an_environment_within_limits_is_copied_in_the_middle_of_an_episode() -> None:
    env = export(setup(BASES["limits"]()), residual=True, period=4 * STEP, hold=True)
    env.reset(seed=1)
    env.step(PUSH)
    again = pickle.loads(pickle.dumps(env))
    for _ in range(3):
        one, other = env.step(PUSH), again.step(PUSH)
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1] == other[1]


class Failing(Integrator):
    """Has no output beyond q1 = 0.32."""

    def build_law(self) -> Law:
        law = super().build_law()
        return replace(law, status=ca.if_else(self.robot.q[0] > 0.32, int(Status.NOT_CONVERGED), law.status))


@pytest.mark.compiled
@pytest.mark.parametrize("hold", [False, True])
def test_a_law_that_fails_ends_the_episode_with_its_status(hold: bool) -> None:
    env = export(setup(Failing(ROBOT)), residual=True, period=4 * STEP, hold=hold)
    assert env.why_called == ""
    env.reset(seed=1)
    over, info = False, dict[str, Any]()
    while not over:
        _, _, terminated, truncated, info = env.step(PUSH)
        over = terminated or truncated
    # Without hold= it fails between two samples, from which the state is not finite.
    assert info["status"] == (Status.NOT_CONVERGED if hold else Status.NOT_FINITE)


def test_random_numbers_are_drawn_in_python() -> None:
    env = export(setup(WRAPPERS["noise"](BASES["program"]())), residual=True)
    assert "draws random numbers" in env.why_called
