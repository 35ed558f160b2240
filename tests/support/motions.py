"""Motions of every kind, and a comparison of two of them to the last bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Contact, Link, Robot, planar_manipulator, with_contacts
from erugin.simulation import (
    Final,
    Integral,
    Phase,
    PhasedTrajectory,
    SimulationError,
    Simulator,
    Trajectories,
    Trajectory,
    simulate_phases,
)

AnyMotion = Trajectory | Trajectories | PhasedTrajectory


def arm() -> Robot:
    """Two links with point masses at their ends."""
    return planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)])


def law(robot: Robot) -> ProgramController:
    """Program that moves the tip along a line."""
    place = robot.points["tip"] - ca.vertcat(0.6, 0.2 + 0.1 * robot.t)
    return ProgramController(Program(robot, [holonomic(place, name="line")]), realization="actuated")


def single(robot: Robot, controller: ProgramController | None) -> Trajectory:
    """Half a second, with metrics."""
    metrics = {"square": Integral(robot.q[0] ** 2), "last": Final(robot.v[1])}
    return Simulator(robot, controller, metrics=metrics).run([0.3, 0.8], [0.0, 0.0], 0.5, step=1e-2)


def batch(robot: Robot, controller: ProgramController | None) -> Trajectories:
    """Three lanes, the second of which ends early."""
    simulator = Simulator(robot, controller, stop=robot.q[1] - 1.5, metrics={"last": Final(robot.v[1])})
    starts = np.array([[0.3, 0.8], [0.2, 1.4], [0.4, 0.9]])
    return simulator.run_batch(starts, [0.0, 0.0], 0.2, step=1e-2, p={"m2": np.array([1.8, 1.7, 2.0])})


def phased(robot: Robot, controller: ProgramController | None) -> PhasedTrajectory:
    """Driven, then free, with velocities made consistent in between."""
    phases = [
        Phase(None, 0.1, name="free"),
        Phase(controller, name="driven", velocities="keep" if controller is None else "consistent"),
    ]
    return simulate_phases(robot, phases, [0.3, 0.8], [0.0, 0.5], 0.3, step=1e-2)


def landing() -> tuple[Robot, Robot, PhasedTrajectory]:
    """A chain that falls and whose tip is held by the ground from an instant on: the plants, and the motion."""
    free = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 3)
    foot = Contact("tip", (0.0, 1.0), "foot")
    held = with_contacts(free, [foot])
    phases = [Phase(None, 0.1, name="falling"), Phase(None, name="held", robot=held, contacts=(foot,))]
    return free, held, simulate_phases(free, phases, [0.3, 0.5, -0.9], [0.0, 0.0, 0.0], 0.2, step=5e-3)


def with_odd_bits(motion: Trajectory) -> Trajectory:
    """The same with what is easily lost: a NaN that carries a number, infinities, −0, and the smallest number."""
    q = motion.q.copy()
    q[0] = np.array([0x7FF8DEADBEEF0001, 0x8000000000000000], dtype=np.uint64).view(np.float64)
    q[1] = [np.inf, -np.inf]
    q[2, 0] = 5e-324
    status = motion.status.copy()
    status[-1] = 6
    odd = float(np.array([0xFFF8000000000123], dtype=np.uint64).view(np.float64)[0])
    return dataclasses.replace(
        motion,
        q=q,
        status=status,
        wall_time=0.1 + 0.2,
        ending="ended — “so” \udc80 \x00 \n",
        notes=((0.1, "first"), (odd, "")),
        metrics={"odd": odd, "ünï": -0.0},
    )


def bits(value: object) -> object:
    """Content that equal motions have in common: arrays by type, shape and bytes, floats by bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, np.asarray(value, order="C").tobytes()
    if isinstance(value, float):
        return np.float64(value).tobytes()
    if isinstance(value, Mapping):
        return [(key, bits(of)) for key, of in value.items()]
    if isinstance(value, tuple):
        return [bits(each) for each in value]
    if dataclasses.is_dataclass(value):
        skipped = ("plant", "controller", "named")
        named = [(f.name, bits(getattr(value, f.name))) for f in dataclasses.fields(value) if f.name not in skipped]
        return [*named, getattr(value, "labels", None)]
    return value


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of a file as NumPy itself reads them."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


SAMPLED = ("t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status")


def assert_same(lane: Trajectory, alone: Trajectory) -> None:
    for name in (*SAMPLED, "p", "controller_p"):
        np.testing.assert_array_equal(getattr(lane, name), getattr(alone, name), err_msg=name)
    assert lane.ending == alone.ending
    assert lane.notes == alone.notes
    assert dict(lane.metrics) == dict(alone.metrics)


def alone(simulator: Simulator, *start: Any, **options: Any) -> Trajectory:  # noqa: ANN401 - passed on
    try:
        return simulator.run(*start, **options)
    except SimulationError as error:
        return error.trajectory
