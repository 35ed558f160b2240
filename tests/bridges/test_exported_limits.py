"""An arm whose torques reach their bounds for much of its motion: C and an FMU decide as Python, sample by sample."""

from __future__ import annotations

import functools
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.bridges import fmi
from erugin.bridges.fmi import Instance
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Link, planar_manipulator, with_limits
from erugin.simulation import Simulator, Trajectory

from ..support.c_folders import sampled_in_c

STEP = 2e-3


@functools.cache
def motion() -> tuple[ProgramController, Trajectory]:
    links = [Link(0.5, 2.0, 0.25, 0.05), Link(0.4, 1.5, 0.2, 0.03), Link(0.3, 1.0, 0.15, 0.01)]
    arm = with_limits(planar_manipulator(links), effort=[20.8, 7.0, 2.0])
    circle = ca.vertcat(0.55 + 0.2 * ca.cos(2.4 * arm.t), 0.2 + 0.2 * ca.sin(2.4 * arm.t))
    rows = [
        holonomic(arm.points["tip"] - circle, perturbation=Baumgarte(12.0), name="tip"),
        holonomic(ca.sum1(arm.q) - 0.3 * ca.sin(arm.t), perturbation=Baumgarte(6.0), name="hand"),
    ]
    law = ProgramController(Program(arm, rows), realization="bounded", priorities=["tip", "hand"])
    found = Simulator(arm, law).run([0.2, 0.9, -0.8], np.zeros(3), 3.0, step=STEP)
    assert isinstance(found, Trajectory)
    limited = float(np.mean(found.status == Status.LIMITED))
    assert 0.25 < limited < 0.33
    assert set(found.status) == {Status.OK, Status.LIMITED}
    return law, found


def test_python_decides_at_each_sample_as_in_the_motion() -> None:
    law, found = motion()
    law.reset()
    for i in range(len(found.t)):
        law.advance(found.t[i], found.q[i], found.v[i])
        tick = law.observe(found.t[i], found.q[i], found.v[i])
        np.testing.assert_allclose(tick.output, found.u[i], rtol=1e-9, atol=1e-9)
        assert tick.status == found.status[i]


@pytest.mark.compiled
def test_c_decides_as_python(tmp_path: Path) -> None:
    law, found = motion()
    u, status = sampled_in_c(law, tmp_path / "law", STEP, found.t, found.q, found.v)
    np.testing.assert_allclose(u, found.u, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(status, found.status)


def test_an_fmu_decides_as_python(tmp_path: Path) -> None:
    law, found = motion()
    fmu = fmi.export(law, tmp_path / "law.fmu", period=STEP, q0=found.q[0], v0=found.v[0])
    arm = law.robot
    coordinates, names = arm.coordinates.names, [f"u.{name}" for name in arm.input_names]
    with Instance(fmu.path) as instance:
        for i in range(len(found.t)):
            given = dict(zip((f"q.{name}" for name in coordinates), found.q[i], strict=True))
            instance.set(given | dict(zip((f"v.{name}" for name in coordinates), found.v[i], strict=True)))
            np.testing.assert_allclose(instance.get(names), found.u[i], rtol=1e-9, atol=1e-9)
            assert int(instance.get(["status"])[0]) == found.status[i]
            instance.step(found.t[i], STEP)
