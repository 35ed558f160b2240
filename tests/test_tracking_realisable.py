"""Wherever analyse says that a program is realisable, the inputs keep its rows as well as the ideal force does."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erugin.constraints import FirstOrder, nonholonomic
from erugin.controllers import Program, ProgramController, Status, analyse
from erugin.controllers.multipliers import LeastNormMultipliers
from erugin.symbolic import ModelError, Parameters

from .controller_cases.robots import CASES, robot_case

ROBOTS = [name for name in CASES if name != "seven-joint arm"]


@functools.cache
def controllers(name: str, size: int) -> tuple[ProgramController, ProgramController, ProgramController | None]:
    """Ideal, through the inputs, and through the inputs by a method for independent rows if that serves the program.

    Rows are C v + c = 0 with their numbers as parameters, built once for all of them.
    """
    robot = robot_case(name).robot
    nv = robot.coordinates.nv
    numbers = Parameters.declare({f"c{i}": 0.3 + 0.1 * (i % 7) for i in range(size * (nv + 1))}, "rows")
    C = ca.reshape(numbers.symbols, size, nv + 1)
    rows = nonholonomic(C[:, :nv] @ robot.v + C[:, nv], perturbation=FirstOrder(3.0), parameters=numbers, name="rows")
    program = Program(robot, rows)
    ideal = ProgramController(program, method=LeastNormMultipliers())
    least = ProgramController(program, realization="actuated", method=LeastNormMultipliers())
    if size > robot.u.numel():
        with pytest.raises(ModelError, match="only"):
            ProgramController(program, realization="actuated")
        return ideal, least, None
    return ideal, least, ProgramController(program, realization="actuated")


@pytest.mark.parametrize("name", ROBOTS)
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), more=st.booleans())
def test_inputs_keep_a_realisable_program_as_the_ideal_force_does(name: str, seed: int, more: bool) -> None:
    """As many rows as inputs or one more, at random; small integers in half of the cases, which inputs may miss."""
    case = robot_case(name)
    robot = case.robot
    rng = np.random.default_rng(seed)
    nv, size = robot.coordinates.nv, robot.u.numel() + int(more)
    C = rng.uniform(-1.0, 1.0, (size, nv + 1))
    if seed % 2:
        C[:, :nv] = rng.integers(-2, 3, (size, nv))
    ideal, least, strict = controllers(name, size)
    p = {f"rows.c{i}": float(value) for i, value in enumerate(C.ravel(order="F"))}
    q, v = case.q0, case.v0
    if not robot.natural:
        q, v = q + rng.uniform(-0.05, 0.05, q.size), rng.uniform(-0.5, 0.5, nv)
    report = analyse(ideal.program, t=0.0, q=q, v=v, p=p)
    wanted, found = ideal.solve(0.0, q, v, p), least.solve(0.0, q, v, p)
    if report.realizable:
        scale = max(1.0, float(np.abs(found.acceleration).max()))
        assert wanted.status is Status.OK
        assert found.status is Status.OK
        assert wanted.program_residual <= 1e-9 * scale
        assert found.program_residual <= 1e-9 * scale
        assert found.motion_residual <= 1e-9 * max(1.0, float(np.abs(found.input).max()))
    else:
        assert found.status is not Status.OK
        assert "rows" in found.message
        if strict is not None:
            assert strict.solve(0.0, q, v, p).status is not Status.OK
