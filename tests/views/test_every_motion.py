"""Motions of every kind of robot under every kind of controller: named, saved, exported, plotted and drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from erugin.controllers import Controller
from erugin.scenarios import simulate
from erugin.simulation import Trajectory
from erugin.views.stroboscope import motion_figure

from ..support.controller_cases import BUILDERS
from ..support.controller_cases.robots import CASES, RobotCase, robot_case
from ..support.kernels import use_no_compiler
from ..support.motions import bits


def motion_of(case: RobotCase, controller: Controller | None) -> Trajectory:
    return simulate(case.robot, controller, case.q0, case.v0, 3 * case.step, step=case.step)


def require_whole(motion: Trajectory, folder: Path) -> None:
    """Names fit the numbers, and files and data frames hold all of them."""
    labels = motion.labels
    sizes = (len(labels.coordinates), len(labels.velocities), len(labels.inputs), len(labels.rows))
    assert sizes == (motion.q.shape[1], motion.v.shape[1], motion.u.shape[1], motion.deviation.shape[1])
    motion.save(folder / "run.npz")
    for robot, controller in ((None, None), (motion.plant, None), (motion.plant, motion.controller)):
        loaded = Trajectory.load(folder / "run.npz", robot=robot, controller=controller)
        assert bits(loaded) == bits(motion)
    frame, data = motion.to_pandas(), motion.to_xarray()
    assert frame.columns.is_unique
    # q, v, u, deviation, pivots and active, energy and status.
    own = (motion.q, motion.v, motion.u, motion.deviation, motion.pivots, motion.active)
    assert frame.shape == (len(motion), sum(values.shape[1] for values in own) + 2)
    np.testing.assert_array_equal(data["v"].values, motion.v)


@pytest.mark.foreign
@pytest.mark.parametrize("cls", BUILDERS, ids=lambda cls: cls.__name__)
def test_motion_under_every_controller(cls: type[Controller], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A few steps cost less in the virtual machine than a compiler does.
    use_no_compiler(monkeypatch)
    case = next(case for case in map(robot_case, CASES) if not cls.unsupported_reason(case.robot))
    motion = motion_of(case, BUILDERS[cls](case))
    assert motion.u.shape[1]
    require_whole(motion, tmp_path)


@pytest.mark.foreign
@pytest.mark.parametrize("name", CASES)
def test_motion_of_every_robot(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    motion = motion_of(robot_case(name), None)
    require_whole(motion, tmp_path)
    assert isinstance(motion.plot(velocities=True, energy=True), Figure)
    assert isinstance(motion_figure(motion, flashes=2), Figure)
