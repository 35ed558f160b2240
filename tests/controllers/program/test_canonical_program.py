"""A program's closed loop in coordinates and momenta beside the one in velocities, and deviations as coordinates."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import Energies, holonomic, nonholonomic, second_order
from erugin.controllers import (
    CanonicalDeviations,
    CanonicalProgram,
    Program,
    ProgramController,
    canonical_deviations,
    canonical_program,
)
from erugin.robots import Robot
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import Kernel, ModelError

from ...support.arms import three_link_arm
from ...support.controller_cases.robots import robot_case
from ...support.multiplier_cases import closed_chain, numbers
from ...support.systems import moving_base

Array = NDArray[np.float64]
Q0, V0 = np.array([0.3, 0.8, -0.4]), np.array([0.2, -0.1, 0.4])


def energies_program(robot: Robot) -> Program:
    """The tip's x follows a point, and two joints move by a nonholonomic relation; deviations have energies."""
    x = robot.points["tip"][0] - 0.5 - 0.1 * ca.sin(robot.t)
    turn = robot.v[2] + 0.5 * robot.v[1] * ca.cos(robot.q[0]) - 0.1
    return Program(
        robot,
        [
            holonomic(x, perturbation=Energies.quadratic(1.5, 30.0, 9.0), name="x"),
            nonholonomic(turn, perturbation=Energies.quadratic(2.0, None, 8.0), name="turn"),
        ],
    )


@functools.cache
def closed_loop() -> CanonicalProgram:
    return canonical_program(energies_program(three_link_arm()))


@functools.cache
def with_deviations() -> CanonicalDeviations:
    return canonical_deviations(closed_loop().program)


def nominal(program: Program) -> Array:
    return np.array(list(program.nominal.values()))


def integrated(kernel: Kernel, sizes: list[int], start: Array, p: Array, times: Array) -> Array:
    """By SciPy's DOP853, shape (samples, states)."""
    from scipy.integrate import solve_ivp

    ends = np.cumsum(sizes)[:-1]

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([np.atleast_1d(part) for part in kernel(t, *np.split(x, ends), p)])

    span = (float(times[0]), float(times[-1]))
    found = solve_ivp(rate, span, start, method="DOP853", rtol=1e-13, atol=1e-13, t_eval=times)
    return np.asarray(found.y.T, dtype=np.float64)


@pytest.mark.parametrize("name", ["arm", "reduced two-wheel robot", "closed chain", "moving base"])
def test_two_seconds_in_momenta_are_two_seconds_in_velocities(name: str) -> None:
    """An arm; quasi-velocities, in which p are quasi-momenta; natural constraints; energies that depend on time."""
    if name == "arm":
        canonical, q0, v0 = closed_loop(), Q0, V0
    elif name == "moving base":
        canonical, q0, v0 = canonical_program(moving_base()), np.array([0.4, 0.6]), np.array([0.5, 0.1])
    elif name == "closed chain":
        robot, q0, v0 = closed_chain()
        canonical = canonical_program(Program(robot, nonholonomic(robot.v[0] - 0.4 * ca.cos(robot.t), name="crank")))
    else:
        case = robot_case(name)
        robot, q0, v0 = case.robot, case.q0, case.v0
        goal = ca.vertcat(0.4, 0.3 * ca.sin(2 * robot.t))
        canonical = canonical_program(Program(robot, nonholonomic(robot.v - goal, name="speeds")))
    program = canonical.program
    robot, p = program.robot, nominal(program)
    outputs = {"q": canonical.coordinate_rate, "p": canonical.momentum_rate}
    kernel = Kernel("canonical", canonical.symbols, outputs, compiled=False)
    momentum = np.atleast_1d(robot.evaluate(canonical.motion.form.momentum, q=q0, v=v0))
    times = np.linspace(0.0, 2.0, 11)
    found = integrated(kernel, [len(q0), len(v0)], np.concatenate([q0, momentum]), p, times)
    motion = simulate(robot, ProgramController(program), q0, v0, 2.0, step=0.2, integrator=DOP853(1e-12, 1e-12))
    np.testing.assert_allclose(found[:, : len(q0)], motion.q, rtol=0, atol=1e-9)
    assert np.ptp(motion.q, axis=0).max() > 0.3
    velocity = Kernel("velocity", canonical.symbols, {"v": canonical.motion.velocity}, compiled=False)
    back = [velocity(t, *np.split(x, [len(q0)]), p)[0] for t, x in zip(times, found, strict=True)]
    np.testing.assert_allclose(np.array(back).reshape(motion.v.shape), motion.v, rtol=0, atol=1e-9)


def test_blocks_of_K_and_the_force_are_those_of_linear_algebra() -> None:
    """K_ij = Θ_i M⁻¹ Θ_jᵀ, A − B = β − Θ M⁻¹ (−h), R: from M, h, Θ and β in velocities."""
    canonical = closed_loop()
    program = canonical.program
    robot = program.robot
    assert set(canonical.blocks) == {(1, 1), (1, 2), (2, 1), (2, 2)}
    names = {(i, j): f"K{i}{j}" for i, j in canonical.blocks}
    outputs = {names[key]: block for key, block in canonical.blocks.items()}
    outputs |= {
        "right": canonical.right_side - canonical.uncontrolled,
        "force": canonical.force,
        "H": canonical.hamiltonian,
    }
    kernel = Kernel("blocks", canonical.symbols, outputs, compiled=False)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, v = rng.uniform(-1.2, 1.2, (2, 3))
        known = numbers(program, 0.4, q, v)
        momentum = robot.evaluate(canonical.motion.form.momentum, q=q, v=v)
        K = known.theta @ np.linalg.solve(known.M, known.theta.T)
        got = dict(zip(outputs, kernel(0.4, q, momentum, nominal(program)), strict=True))
        for (i, j), name in names.items():
            assert got[name] == pytest.approx(K[i - 1, j - 1], rel=1e-11)
        right = known.beta + known.theta @ np.linalg.solve(known.M, known.h)
        np.testing.assert_allclose(got["right"], right, rtol=0, atol=1e-11 * np.abs(right).max())
        np.testing.assert_allclose(got["force"], known.motion()[1], rtol=1e-10)
        T, V = (robot.evaluate(e, q=q, v=v) for e in (robot.kinetic_energy, robot.potential_energy))
        assert got["H"] == pytest.approx(T + V, rel=1e-11)


def test_deviations_as_coordinates_stay_those_of_the_rows_and_lose_energy() -> None:
    whole = with_deviations()
    program = whole.program.program
    robot, p = program.robot, nominal(program)
    rates = {
        "q": whole.coordinate_rate,
        "p": whole.momentum_rate,
        "y": whole.y_rate,
        "x": whole.x_rate,
        "z": whole.z_rate,
    }
    kernel = Kernel("deviations", whole.symbols, rates, compiled=False)
    begin = Kernel("begin", whole.program.symbols, dict(zip("yxz", whole.start, strict=True)), compiled=False)
    momentum = robot.evaluate(whole.program.motion.form.momentum, q=Q0, v=V0)
    start = np.concatenate([Q0, momentum, *(np.atleast_1d(x) for x in begin(0.0, Q0, momentum, p))])
    times = np.linspace(0.0, 2.0, 21)
    found = integrated(kernel, [3, 3, 1, 1, 1], start, p, times)
    motion = simulate(robot, ProgramController(program), Q0, V0, 2.0, step=0.1, integrator=DOP853(1e-12, 1e-12))
    np.testing.assert_allclose(found[:, :3], motion.q, rtol=0, atol=1e-9)
    outputs = {"y": whole.y, "second": whole.second, "rate": whole.y_rate, "energy": whole.energy}
    reported = Kernel("told", whole.symbols, outputs, compiled=False)
    values = np.array([reported(t, *np.split(s, [3, 6, 7, 8]), p) for t, s in zip(times, found, strict=True)])
    np.testing.assert_allclose(values[:, :2], motion.deviation, rtol=0, atol=1e-9)
    y, second, rate, energy = values.T
    np.testing.assert_allclose(energy, (1.5 * rate**2 + 30.0 * y**2 + 2.0 * second**2) / 2, rtol=1e-12)
    assert (np.diff(energy) < 0.0).all()
    assert energy[-1] < 1e-4 * energy[0]
    # −dE/dt = ẏ ∂D/∂ẏ + y′ ∂D/∂y′, integrated by the trapezoidal rule between many samples.
    fine = np.linspace(0.0, 0.2, 401)
    near = integrated(kernel, [3, 3, 1, 1, 1], start, p, fine)
    values = np.array([reported(t, *np.split(s, [3, 6, 7, 8]), p) for t, s in zip(fine, near, strict=True)])
    lost = np.trapezoid(9.0 * values[:, 2] ** 2 + 8.0 * values[:, 1] ** 2, fine)
    assert values[0, 3] - values[-1, 3] == pytest.approx(lost, rel=1e-5)


def test_programs_that_have_no_such_form_are_refused() -> None:
    robot = three_link_arm()
    row = holonomic(robot.q[0] - 0.3, name="row")
    with pytest.raises(ModelError, match="'square' is not affine"):
        canonical_program(Program(robot, second_order(robot.coordinates.a[0] ** 2 - 1.0, name="square")))
    with pytest.raises(ModelError, match="'row' is on only at times"):
        canonical_program(Program(robot, row.switched(robot.t - 1.0)))
    with pytest.raises(
        ModelError, match="canonical_deviations requires the perturbation equation Energies for each constraint, got"
    ):
        canonical_deviations(Program(robot, row))
    with pytest.raises(ModelError, match="canonical_program requires a Program"):
        canonical_program(robot)  # type: ignore[arg-type]

    def quartic(y: ca.SX, rate: ca.SX, gains: object) -> ca.SX:
        return rate**2 / 2 + 0.1 * rate**4

    energies = Energies(quartic, lambda y, rate, gains: y**2, lambda y, rate, gains: 3 * rate**2)
    with pytest.raises(ModelError, match="not quadratic in the rates"):
        canonical_deviations(Program(robot, holonomic(robot.q[0] - 0.3, perturbation=energies)))


def test_a_row_of_order_two_makes_a_third_block() -> None:
    robot = three_link_arm()
    rows = [holonomic(robot.q[0] - 0.3, name="place"), second_order(robot.coordinates.a[1] + robot.v[1], name="push")]
    canonical = canonical_program(Program(robot, rows))
    assert set(canonical.blocks) == {(1, 1), (1, 3), (3, 1), (3, 3)}
    force = Kernel("force", canonical.symbols, {"R": canonical.force}, compiled=False)
    momentum: ArrayLike = robot.evaluate(canonical.motion.form.momentum, q=Q0, v=V0)
    R = numbers(canonical.program, 0.0, Q0, V0).motion()[1]
    np.testing.assert_allclose(force(0.0, Q0, momentum, nominal(canonical.program))[0], R, rtol=1e-11, atol=1e-11)


def test_where_rows_depend_on_each_other_no_number_comes() -> None:
    """The rounding in the place of a zero pivot would give forces of 1e16."""
    robot = three_link_arm()
    tip = robot.points["tip"]
    canonical = canonical_program(Program(robot, [holonomic(tip - 0.4, name="tip"), holonomic(ca.sum1(tip) - 0.8)]))
    force = Kernel("force", canonical.symbols, {"R": canonical.force}, compiled=False)
    momentum = robot.evaluate(canonical.motion.form.momentum, q=Q0, v=V0)
    assert np.isnan(force(0.0, Q0, momentum, nominal(canonical.program))[0]).all()
