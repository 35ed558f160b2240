"""Arrays that a user's number makes too large for the machine are refused before they are allocated."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import fmi, gymnasium
from erugin.bridges.common.bridge import discover_bridges
from erugin.constraints import Baumgarte, EruginField, circle, holonomic, line, parametric, verify
from erugin.controllers import Program, ProgramController, reference_of
from erugin.controllers.baselines import BrysonWeights, Lqr, attraction_level
from erugin.robots import Robot
from erugin.scenarios import Uniform, sample, simulate
from erugin.scenarios.catalogue import n_link_arm
from erugin.simulation import Phase, Simulator, simulate_phases
from erugin.symbolic import EruginError, ModelError
from erugin.symbolic import validation as arrays
from erugin.symbolic.validation import free_memory, require_memory, step_count

from ..support.arms import two_link_arm
from ..support.bridges import ROWS, parameters

LANES = 10**9
START = [0.3, 0.4], [0.0, 0.0]
MANY = (free_memory() if np.isfinite(free_memory()) else 1e15) / 8.0
"""Numbers that fit into the address space, but not into what is free now."""


def arm() -> Robot:
    return two_link_arm()


def law(robot: Robot) -> ProgramController:
    height = holonomic(robot.points["tip"][1] - 1.0, perturbation=Baumgarte(alpha=8.0), name="height")
    return ProgramController(Program(robot, height), realization="actuated")


def fmu_under_a_law(folder: Path) -> object:
    fmi.export(arm(), folder / "arm.fmu", q0=START[0])
    return fmi.drive(law(arm()), folder / "arm.fmu", 1e12, step=1e-3)


def region(_: Path) -> object:
    return attraction_level(Lqr(arm(), [np.pi / 2, 0.0], weights=BrysonWeights(effort=1.0)), samples=10**12)


def field(_: Path) -> object:
    scene = EruginField(line((0.0, 0.0), (1.0, 0.0)), [circle((2.0, 0.1), 0.3)], speed=1.0, margin=0.1)
    return verify(scene, samples=10**12)


def lanes(**given: object) -> Callable[[Path], object]:
    """A batch of arrays that are broadcast: they cost nothing until they are copied."""

    def run(_: Path) -> object:
        robot = arm()
        starts = {"q0": START[0], "v0": START[1]}
        return Simulator(robot, law(robot)).run_batch(duration=1.0, step=1e-3, **{**starts, **given})  # type: ignore[arg-type]

    return run


def bridge(module: str) -> Callable[[Path], object]:
    """A simulation in another program."""

    def run(_: Path) -> object:
        return importlib.import_module(module).simulate(arm(), None, *START, 1e12, step=1e-3)

    return run


ENTRIES: dict[str, Callable[[Path], object]] = {
    "a long run": lambda _: simulate(arm(), None, *START, 1e12, step=1e-3),
    "a little more than is free": lambda _: simulate(arm(), None, *START, MANY, step=4.0),
    "the same, some samples kept": lambda _: simulate(arm(), None, *START, 1e16, step=10.0, every=3),
    "more steps than there are whole numbers": lambda _: simulate(arm(), None, *START, 1e300, step=1e-300),
    "phases": lambda _: simulate_phases(arm(), [Phase(None)], *START, 1e12, step=1e-3),
    "lanes of coordinates": lanes(q0=np.broadcast_to(START[0], (LANES, 2))),
    "lanes of a parameter": lanes(p={"m1": np.broadcast_to(1.1, LANES)}),
    "lanes of the law's vector": lanes(controller_p=np.broadcast_to(law(arm()).parameters.values(), (LANES, 11))),
    "a reference": lambda _: reference_of(law(arm()).program, *START, 1e13),
    "a reference that fits the address space": lambda _: reference_of(law(arm()).program, *START, MANY / 4000.0),
    "seeds of numbers": lambda _: sample({"m1": Uniform(0.9, 1.1)}, 10**13),
    "samples of a path": lambda _: parametric(lambda s, t: ca.vertcat(s, s * s), 0.0, 1.0, samples=10**12),
    "places of a field": field,
    "states about an equilibrium": region,
    "lanes of an environment": lambda _: gymnasium.export_vector(n_link_arm(links=2), 10**11),
    "an FMU": fmu_under_a_law,
    **{name: bridge(each.module) for name, each in discover_bridges().items() if "simulate" in each.verbs},
}
OTHERS = parameters(*(name for name in ENTRIES if name in ROWS))


@pytest.mark.parametrize("entry", [*(name for name in ENTRIES if name not in ROWS), *OTHERS])
def test_what_does_not_fit_into_memory_is_refused_by_name(entry: str, tmp_path: Path) -> None:
    with pytest.raises(
        EruginError, match=r"no room for .*GB of memory are needed.*; (take|use)|more than float64 can count"
    ):
        ENTRIES[entry](tmp_path)


def test_the_message_states_samples_lanes_sizes_and_what_to_try() -> None:
    robot = arm()
    with pytest.raises(ModelError) as caught:
        Simulator(robot).run_batch(np.tile(START[0], (3, 1)), START[1], 1e12, step=1e-3)
    message = str(caught.value)
    for part in (
        "1,000,000,000,000,001 samples of each of 3 lanes",
        "are free",
        "larger step",
        "fewer lanes",
        "every=",
    ):
        assert part in message


def test_a_run_that_keeps_few_of_many_samples_needs_room_for_those_alone() -> None:
    motion = simulate(arm(), None, *START, 20.0, step=1e-4, every=10**5)
    assert len(motion) == 3


def test_the_limit_is_free_memory_and_a_failed_allocation_is_reported_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "free_memory", lambda: 1e9)
    with require_memory(1.2e8, "numbers", "take fewer"):
        pass
    message = r"^no room for numbers: 1.04 GB of memory are needed and 1 GB are free; take"
    with pytest.raises(ModelError, match=message), require_memory(1.3e8, "numbers", "take fewer"):
        pytest.fail("nothing is to be allocated")
    with pytest.raises(ModelError, match="no room for numbers"), require_memory(10.0, "numbers", "take fewer"):
        raise MemoryError


def test_the_free_memory_of_a_control_group_is_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, text in (
        ("memory.max", "2000000000\n"),
        ("memory.current", "1500000000\n"),
        ("memory.stat", "anon 1000000000\ninactive_file 300000000\n"),
    ):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(arrays, "Path", lambda *parts: Path(*(tmp_path if p == "/sys/fs/cgroup" else p for p in parts)))
    assert free_memory() == pytest.approx(8e8)
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory() > 8e8


@pytest.mark.parametrize(("duration", "step", "count"), [(1.0, 0.1, 10), (1.0, 0.3, 4), (0.1, 1.0, 1), (2.1, 0.7, 3)])
def test_steps_divide_a_duration_up_to_rounding(duration: float, step: float, count: int) -> None:
    assert step_count(duration, step) == count
