"""Lanes side by side equal single environments bit for bit, and are reset as Gymnasium specifies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from numpy.typing import NDArray

from erugin.bridges.gymnasium import Reward, Transition, export, export_vector
from erugin.bridges.gymnasium.export import Autoreset
from erugin.scenarios import Setup
from erugin.scenarios.catalogue import andrews_squeezer, two_link_arm_moving_obstacle
from erugin.symbolic import BridgeError

from ...support.called_controller import Called
from ...support.comparison_setup import program_control, swing
from ...support.kernels import use_no_compiler

Array = NDArray[np.float64]
LANES, STEPS = 11, 25
"""No multiple of a vector's width, and some episodes for each lane."""


@pytest.fixture(scope="module")
def setup() -> Setup:
    """Episodes of 9 periods at most; some lanes stop before, others run into the disc."""
    short = swing(0.09)
    return replace(short, stop=short.robot.q[0] - 0.36, clearance=short.robot.q[1] - 1.06)


def in_turn(setup: Setup, autoreset: AutoresetMode, **reported: Any) -> SyncVectorEnv:  # noqa: ANN401 - as export takes them
    def make() -> gymnasium.Env[Any, Any]:
        return export(setup, **reported)

    makers: Sequence[Callable[[], gymnasium.Env[Any, Any]]] = [make] * LANES
    return SyncVectorEnv(makers, autoreset_mode=autoreset)


def require_same(ours: Any, theirs: Any, where: str) -> None:  # noqa: ANN401 - whatever a step gives
    """Same numbers in everything that a step gives, their masks too."""
    if isinstance(theirs, dict):
        assert set(theirs) <= set(ours), where
        for key, value in theirs.items():
            mask = ours.get(f"_{key}")
            if mask is not None and not isinstance(value, dict):
                assert np.array_equal(mask, theirs[f"_{key}"]), f"{where}, _{key}"
                require_same([x for x, m in zip(ours[key], mask, strict=True) if m],
                             [x for x, m in zip(value, mask, strict=True) if m], f"{where}, {key}")  # fmt: skip
            elif not key.startswith("_"):
                require_same(ours[key], value, f"{where}, {key}")
        return
    assert len(ours) == len(theirs), where
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, dict):
            require_same(a, b, where)
        else:
            assert np.array_equal(a, b), where


@pytest.mark.parametrize("autoreset", ["NextStep", "SameStep"])
@pytest.mark.parametrize(
    "reported",
    [
        {"period": 0.01, "bounds": 60.0},
        {"period": 0.01, "bounds": 60.0, "residual": True, "dictionary": True},
        {"period": 0.01, "bounds": 60.0, "residual": True, "hold": True, "angles": "sincos"},
    ],
    ids=["actions", "residual", "held"],
)
def test_lanes_are_single_environments_bit_for_bit(
    setup: Setup, reported: dict[str, Any], autoreset: Autoreset
) -> None:
    many = export_vector(setup, LANES, autoreset=autoreset, **reported)
    one = in_turn(setup, AutoresetMode(autoreset), **reported)
    assert many.observation_space == one.observation_space
    assert many.action_space == one.action_space
    assert many.metadata["autoreset_mode"] is one.metadata["autoreset_mode"]
    ours, theirs = many.reset(seed=5), one.reset(seed=5)
    require_same(dict(zip("oi", ours, strict=True)), dict(zip("oi", theirs, strict=True)), "reset")
    rng, ended, reasons = np.random.default_rng(1), 0, set[str]()
    for step in range(STEPS):
        actions = rng.uniform(-40.0, 40.0, (LANES, 2))
        mine, his = many.step(actions), one.step(actions)
        require_same(dict(zip("ortui", mine, strict=True)), dict(zip("ortui", his, strict=True)), f"step {step}")
        ended += int((mine[2] | mine[3]).sum())
        info = mine[4].get("final_info", mine[4])
        reasons |= {message for message in info.get("ending", []) if message is not None}
    assert ended > LANES
    assert len(reasons) >= 2
    many.close()
    one.close()


@pytest.mark.slow
def test_the_two_link_scenario_is_the_same_side_by_side_under_its_law() -> None:
    setup = two_link_arm_moving_obstacle()
    many = export_vector(setup, 9, residual=True, bounds=5.0)
    one = export(setup, residual=True, bounds=5.0)
    seen, _ = many.reset(seed=[3, 1, 4, 1, 5, 9, 2, 6, 5])
    actions = np.random.default_rng(2).uniform(-5.0, 5.0, (20, 9, 2))
    rows = [seen, *(many.step(each)[0] for each in actions)]
    for lane, seed in ((0, 3), (5, 9), (8, 5)):
        alone = [one.reset(seed=seed)[0], *(one.step(each[lane])[0] for each in actions)]
        assert np.array_equal([row[lane] for row in rows], alone)
    assert np.array_equal(seen[1], seen[3])
    assert not np.array_equal(seen[0], seen[1])


def test_threads_change_nothing(setup: Setup) -> None:
    options: dict[str, Any] = {"residual": True, "period": 0.01, "bounds": 9.0}
    one, two = export_vector(setup, 64, **options), export_vector(setup, 64, threads=2, **options)
    assert np.array_equal(one.reset(seed=1)[0], two.reset(seed=1)[0])
    actions = np.random.default_rng(0).uniform(-9.0, 9.0, (64, 2))
    for _ in range(12):
        for mine, his in zip(one.step(actions)[:4], two.step(actions)[:4], strict=True):
            assert np.array_equal(mine, his)
    two.close()


def test_a_lane_that_fails_leaves_the_others_as_they_are(setup: Setup) -> None:
    endless = replace(setup, stop=None, clearance=None)
    options: dict[str, Any] = {"randomization": {}, "reward": Reward(collision=2.0)}
    many, alone = export_vector(endless, 10, **options), export_vector(endless, 10, **options)
    before, _ = many.reset(seed=0)
    alone.reset(seed=0)
    actions = np.zeros((10, 2))
    calm = alone.step(actions)
    actions[3] = [1e200, 0.0]
    seen, reward, terminated, _, info = many.step(actions)
    assert np.flatnonzero(terminated).tolist() == [3]
    assert np.array_equal(seen[3], before[3])
    assert reward[3] == -2.0
    assert "not finite" in info["ending"][3]
    assert [x is None for x in info["ending"]].count(False) == 1
    others = np.arange(10) != 3
    assert np.array_equal(seen[others], calm[0][others])
    again, reward, *_ = many.step(np.zeros((10, 2)))
    assert np.array_equal(again[3], before[3])
    assert reward[3] == 0.0


def test_without_autoreset_lanes_are_reset_by_a_mask(setup: Setup) -> None:
    many = export_vector(setup, 4, autoreset="Disabled", period=0.01, bounds=1.0, randomization={})
    first, _ = many.reset(seed=2)
    actions = np.zeros((4, 2))
    seen, _, terminated, truncated, _ = many.step(actions)
    while not (terminated | truncated).any():
        seen, _, terminated, truncated, _ = many.step(actions)
    with pytest.raises(BridgeError, match="lane 0 is over"):
        many.step(actions)
    mask = np.array([True, False, True, True])
    anew, info = many.reset(options={"reset_mask": mask})
    assert np.array_equal(anew[mask], first[mask])
    assert np.array_equal(anew[1], seen[1])
    assert np.array_equal(info["_seed"], mask)
    with pytest.raises(BridgeError, match="lane 1 is over"):
        many.step(actions)
    for bad in (np.zeros(4, dtype=np.bool_), np.ones(3, dtype=np.bool_), np.ones(4)):
        with pytest.raises(BridgeError, match="reset_mask must be booleans"):
            many.reset(options={"reset_mask": bad})


def test_parameters_may_be_set_apart_after_they_were_taken_for_equal(setup: Setup) -> None:
    """The loop reads equal parameters of plant and law once; options that separate them compile another loop."""
    options: dict[str, Any] = {"residual": True, "randomization": {}, "bounds": 1.0}
    many, one = export_vector(setup, 3, **options), export(setup, **options)
    for parameters in ({}, {"plant.m1": 4.0}, {"m1": 3.0}):
        options = {"parameters": parameters}
        start = one.reset(seed=0, options=options)[0]
        assert np.array_equal(many.reset(seed=0, options=options)[0][1], start)
        for _ in range(5):
            assert np.array_equal(many.step(np.ones((3, 2)))[0][1], one.step(np.ones(2))[0])


def test_a_reward_function_is_called_with_all_lanes_at_once(setup: Setup) -> None:
    calls: list[int] = []

    def paid(reported: Transition) -> Array:
        calls.append(len(reported.action))
        return np.asarray(reported.after["time"][:, 0] * reported.duration, dtype=np.float64)

    many = export_vector(setup, 6, reward=paid, bounds=1.0, randomization={})
    many.reset(seed=0)
    assert many.step(np.zeros((6, 2)))[1].tolist() == [many.task.h**2] * 6
    assert calls == [6]
    bad = export_vector(setup, 6, reward=lambda reported: np.zeros(1), bounds=1.0)
    bad.reset(seed=0)
    with pytest.raises(BridgeError, match=r"finite numbers of shape \(6,\)"):
        bad.step(np.zeros((6, 2)))


def test_what_cannot_run_side_by_side_is_refused_with_an_alternative(setup: Setup) -> None:
    with pytest.raises(BridgeError, match=r"DOP853 has no compiled loop.*SyncVectorEnv"):
        export_vector(andrews_squeezer, 4)
    with pytest.raises(BridgeError, match="Called has no symbolic law"):
        export_vector(setup, 4, residual=Called(program_control(setup.robot)))
    with pytest.raises(BridgeError, match="lanes must be a whole number"):
        export_vector(setup, 0)
    with pytest.raises(BridgeError, match="NextStep, SameStep, Disabled"):
        export_vector(setup, 4, autoreset="Never")  # type: ignore[arg-type]
    many = export_vector(setup, 4)
    with pytest.raises(BridgeError, match=r"reset\(\)"):
        many.step(np.zeros((4, 2)))
    with pytest.raises(BridgeError, match="one for each of 4 lanes"):
        many.reset(seed=[1, 2])
    many.reset(seed=1)
    with pytest.raises(BridgeError, match=r"shape \(4, 2\)"):
        many.step(np.zeros((2, 4)))
    with pytest.raises(BridgeError, match="'M1' must be a finite number, got inf in lane 2"):
        many.step(np.array([[0.0, 0.0], [0.0, 0.0], [np.inf, 0.0], [0.0, 0.0]]))


def test_what_is_given_out_is_no_ones_else(setup: Setup) -> None:
    many = export_vector(setup, 4, bounds=1.0)
    seen, _ = many.reset(seed=0)
    kept = seen.copy()
    after = many.step(np.zeros((4, 2)))[0]
    assert np.array_equal(seen, kept)
    reported = after.copy()
    after[:] = 7.0
    again = export_vector(setup, 4, bounds=1.0)
    again.reset(seed=0)
    assert np.array_equal(again.step(np.zeros((4, 2)))[0], reported)
    assert np.array_equal(many.step(np.zeros((4, 2)))[0], again.step(np.zeros((4, 2)))[0])


def test_without_a_compiler_single_environments_run_all_the_same(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"residual": True, "period": 0.01, "bounds": 9.0}
    compiled = export(setup, **options)
    use_no_compiler(monkeypatch)
    plain = export(setup, **options)
    assert compiled.why_called == ""
    assert plain.why_called
    seen = [env.reset(seed=3)[0] for env in (compiled, plain)]
    assert np.abs(seen[0] - seen[1]).max() <= 1e-13
    for _ in range(4):
        ours, theirs = (env.step(np.array([3.0, -2.0])) for env in (compiled, plain))
        assert np.abs(ours[0] - theirs[0]).max() <= 1e-12
        assert abs(ours[1] - theirs[1]) <= 1e-12
    with pytest.raises(BridgeError, match="side by side"):
        export_vector(setup, 4, **options)


def test_gymnasiums_own_wrappers_count_returns_and_lengths(setup: Setup) -> None:
    many = RecordEpisodeStatistics(export_vector(setup, 5, period=0.01, bounds=1.0, randomization={}))
    many.reset(seed=0)
    total, infos = np.zeros(5), dict[str, Any]()
    while "episode" not in infos:
        _, reward, _, _, infos = many.step(np.zeros((5, 2)))
        total += reward
    assert infos["episode"]["r"] == pytest.approx(total, abs=1e-14)
    many.close()
