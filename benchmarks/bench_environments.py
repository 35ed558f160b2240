"""Environments of the two-link arm that goes round a disc, many side by side on one core, beside Gymnasium's own.

A step of an environment is one step of RK4 at 1 ms, with its observation of 15 numbers, its reward, and the checks
of the path's end, the disc and the law. The action is the torques; or it is added to a program-constraint law that is
evaluated once in a step, or in each of the four stages. ``SyncVectorEnv`` runs the same environments one after the
other, with the same numbers bit for bit, which is checked first. The baselines are Gymnasium's Acrobot, two links and
RK4 as well, side by side in ``SyncVectorEnv``, its CartPole in NumPy arrays, one Euler step of four closed formulas,
and ``mujoco.rollout`` of a free chain of two links one step at a time, without observation, reward or reset.

    python benchmarks/bench_environments.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv
from harness.plots import Line, Panel
from harness.reach import Reach, duration
from harness.rounds import Timing, number, side_by_side
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table
from models import mujoco_models
from models.sizes import State
from numpy.typing import NDArray

from erugin.bridges.gymnasium import export, export_vector
from erugin.scenarios import Setup
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle

Array = NDArray[np.float64]
STEP, BOUND, TARGET = 1e-3, 20.0, 1e-6
LANES = (16, 64, 256, 1024, 4096)
FEW = 16
"""Environments that are run one after the other."""
WAYS: dict[str, dict[str, Any]] = {
    "torques": {},
    "added to a law once a step": {"residual": True, "hold": True},
    "added to a law in each stage": {"residual": True},
}
PICTURE = "![Time of a step of one environment over the number of them](pictures/benchmark_environments.png)"


def steps_of(env: Any, actions: Any, seed: int = 0) -> Callable[[], object]:  # noqa: ANN401 - of any space
    """One step of all environments."""
    env.reset(seed=seed)
    step = env.step
    return lambda: step(actions)


def ours(setup: Setup, lanes: int, way: str) -> Callable[[], object]:
    """Lanes side by side, whose actions are zero: under a law the arms go their way, without one they fall."""
    return steps_of(export_vector(setup, lanes, bounds=BOUND, **WAYS[way]), np.zeros((lanes, 2)))


def in_turn(setup: Setup, lanes: int, way: str) -> SyncVectorEnv:
    """The same environments one after the other."""

    def make() -> gymnasium.Env[Any, Any]:
        return export(setup, bounds=BOUND, **WAYS[way])

    return SyncVectorEnv([make] * lanes)


def agreement(setup: Setup, way: str) -> float:
    """Largest difference between both over some steps of random actions."""
    many, one = export_vector(setup, FEW, bounds=BOUND, **WAYS[way]), in_turn(setup, FEW, way)
    pairs = [(many.reset(seed=7)[0], one.reset(seed=7)[0])]
    rng = np.random.default_rng(0)
    for _ in range(50):
        actions = rng.uniform(-BOUND, BOUND, (FEW, 2))
        mine, his = many.step(actions), one.step(actions)
        pairs += zip(mine[:2], his[:2], strict=True)
    apart = max(float(np.abs(np.asarray(a) - np.asarray(b)).max()) for a, b in pairs)
    if apart != 0.0:
        raise ArithmeticError(f"environments side by side differ from single ones by {apart:.1e}")
    return apart


def acrobots(lanes: int) -> Callable[[], object]:
    """Gymnasium's double pendulum, one after the other."""
    env: Any = gymnasium.make_vec("Acrobot-v1", num_envs=lanes, vectorization_mode="sync")
    return steps_of(env, np.ones(lanes, dtype=np.int64))


def carts(lanes: int) -> Callable[[], object]:
    """Gymnasium's cart and pole in NumPy arrays."""
    env: Any = gymnasium.make_vec("CartPole-v1", num_envs=lanes, vectorization_mode="vector_entry_point")
    return steps_of(env, np.ones(lanes, dtype=np.int64))


def free_chains(lanes: int) -> Callable[[], object]:
    """MuJoCo's chains of two links, one step a call."""
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (lanes, 2))
    return mujoco_models.Rollouts(mujoco_models.chain_model(2, STEP), State(q, np.zeros((lanes, 2))), 1)


def main(given: Options) -> None:
    setup = two_link_arm_moving_obstacle()
    sizes = LANES[:1] if given.small else LANES
    for way in WAYS:
        agreement(setup, way)
    print("environments side by side and single ones have the same bits")
    found: dict[str, dict[int, Timing]] = {}
    for lanes in sizes:
        calls = {way: ours(setup, lanes, way) for way in WAYS}
        calls |= {"CartPole": carts(lanes), "mujoco.rollout": free_chains(lanes)}
        if lanes == FEW:
            calls |= {f"in turn, {way}": steps_of(in_turn(setup, FEW, way), np.zeros((FEW, 2))) for way in WAYS}
            calls["Acrobot"] = acrobots(FEW)
        for name, time in side_by_side(calls, given.rounds).items():
            found.setdefault(name, {})[lanes] = time.per(lanes)
    conclude(given, [table(found)], rows_of(found), [("benchmark_environments.png", panels(found))])


def table(found: dict[str, dict[int, Timing]]) -> Table:
    """One row for each number of environments; those one after the other in the last."""
    heads = ("environments", *(f"action: {way} [µs]" for way in WAYS), "CartPole, NumPy [µs]", "`mujoco.rollout` [µs]")
    rows: list[tuple[Cell, ...]] = []
    for lanes in found["mujoco.rollout"]:
        rows.append((lanes, *(found[name][lanes].show() for name in (*WAYS, "CartPole", "mujoco.rollout"))))
    single = (found[f"in turn, {way}"][FEW].show() for way in WAYS)
    acrobot = f"Acrobot: {found['Acrobot'][FEW].show()}"
    rows.append((f"{FEW}, `SyncVectorEnv`", *single, acrobot, ""))
    return Table("environments", tuple(map(Column, heads)), tuple(rows), PICTURE)


def rows_of(found: dict[str, dict[int, Timing]]) -> list[Reach]:
    """A step of an environment takes a microsecond at most: a million of them a second on one core."""
    rows: list[Reach] = []
    for way in list(WAYS)[:2]:
        lanes, best = min(found[way].items(), key=lambda item: item[1].median)
        rate = f"{number(1e-6 / best.median)} million steps a second, {lanes} side by side; one step of RK4 each"
        rows.append(
            Reach(
                what=f"a step of a two-link environment, one core, action: {way}",
                against="",
                ours=duration(best.median),
                theirs="",
                value=best.median / 1e-6,
                target=TARGET / 1e-6,
                largest=True,
                unit="µs",
                note=rate,
            )
        )
    way = next(iter(WAYS))
    mine, his = (min(found[name].values(), key=lambda time: time.median) for name in (way, "mujoco.rollout"))
    lanes = next(size for size, time in found[way].items() if time is mine)
    note = "each at its best number; theirs free, without observation and reward"
    rows.append(Reach.of("a step of a two-link environment, one core", "`mujoco.rollout`", mine, his, 1.0, note))
    alone = found[f"in turn, {way}"][FEW]
    note = f"{lanes} side by side, {FEW} in turn"
    rows.append(Reach.of("the same", "`SyncVectorEnv` of the same", mine, alone, 1.0, note))
    return rows


def panels(found: dict[str, dict[int, Timing]]) -> list[Panel]:
    """Time of a step over the number of environments."""
    labels = {
        **{way: f"Erugin, {way}" for way in WAYS},
        "CartPole": "CartPole, NumPy",
        "mujoco.rollout": "mujoco.rollout",
    }
    lines = {
        label: Line([*found[name]], [*found[name].values()], dashed=name not in WAYS) for name, label in labels.items()
    }
    return [Panel(lines, "environments side by side, one core", "a step of one environment [µs]", slope=None)]


if __name__ == "__main__":
    main(options(__doc__ or "", rounds=11))
