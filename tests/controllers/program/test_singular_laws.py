"""Laws of mechanisms at their singular positions and next to them, beside the torque that the energies ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from erugin.constraints import Baumgarte, holonomic, second_order
from erugin.controllers import ControlLimits, Program, ProgramController, Status, analyse
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Link, Robot, assemble
from erugin.robots.examples import four_bar
from erugin.scenarios import simulate
from erugin.simulation import Reduced
from erugin.symbolic import SingularProgramError

from ...support.flat_linkages import A, B, C, D
from ...support.kernels import use_no_compiler
from ...support.reduced_models import SLIDER, equal_arms, equal_arms_rate

Array = NDArray[np.float64]
UPRIGHT = np.pi / 2
RATE, WANTED = 3.0, 0.5
"""Rate of the crank, and the acceleration that the program asks of it."""


@dataclass(frozen=True, eq=False)
class Crossing:
    """A mechanism driven at its first coordinate, and one branch through a singular position.

    Attributes:
        robot: its first input is the torque on the first coordinate.
        state: from the angle beside the position and its rate to a state on the branch.
        torque: from the same and the wanted acceleration, m θ'' + ½ m′ θ̇² + V′ by d/dt (T + V) = u θ̇.
        distances: from the position, for which both are good to rounding.
    """

    robot: Robot
    state: Callable[[float, float], tuple[Array, Array]]
    torque: Callable[[float, float, float], float]
    distances: tuple[float, ...] = (0.0, 2e-16, 1e-12, 1e-8, 1e-5, 1e-3)


def slope(f: Callable[[float], float], x: float) -> float:
    """f′(x) by central differences of order eight."""
    h, shares = 0.02, (4.0 / 5.0, -1.0 / 5.0, 4.0 / 105.0, -1.0 / 280.0)
    return sum(s * (f(x + k * h) - f(x - k * h)) / h for k, s in enumerate(shares, 1))


def moving(angle: float, rate: float) -> tuple[Array, Array]:
    """Equal arms, the slider moving."""
    place = UPRIGHT + angle
    return np.array([place, -place, 2.0 * np.cos(place)]), rate * np.array([1.0, -1.0, -2.0 * np.sin(place)])


def folded(angle: float, rate: float) -> tuple[Array, Array]:
    """Equal arms, the slider at rest on the crank's pivot."""
    place = UPRIGHT + angle
    return np.array([place, place - np.pi, 0.0]), rate * np.array([1.0, 1.0, 0.0])


def slider_crossing(state: Callable[[float, float], tuple[Array, Array]]) -> Crossing:
    robot = equal_arms()

    def inertia(angle: float) -> float:
        q, v = state(angle, 1.0)
        return 2.0 * float(robot.evaluate(robot.kinetic_energy, q=q, v=v))

    def potential(angle: float) -> float:
        return float(robot.evaluate(robot.potential_energy, q=state(angle, 1.0)[0]))

    def torque(angle: float, rate: float, wanted: float) -> float:
        return inertia(angle) * wanted + slope(inertia, angle) * rate**2 / 2 + slope(potential, angle)

    return Crossing(robot, state, torque)


def flat_linkage() -> Robot:
    def bar(length: float, mass: float) -> Link:
        return Link(length, mass, 0.4 * length, 0.1 * mass * length**2)

    return four_bar(bar(A, 1.0), bar(B, 0.8), bar(C, 1.2), ground=(D, 0.0), inputs=("crank",))


def flat_crossing(sign: float) -> Crossing:
    """A four-bar that lies flat, on one of its two branches.

    Closed to first order, A + B φ′ = C ψ′, and to second, A + B φ′² = C ψ′². Mirrored at its ground it is the same, so
    that m′ = 0 where it lies flat.
    """
    robot = flat_linkage()
    # B (C − B) φ′² − 2 A B φ′ + A (C − A) = 0 with C ψ′ put in.
    roots = np.roots([B * (C - B), -2.0 * A * B, A * (C - A)])
    coupler = float(roots[0] if sign > 0.0 else roots[1])
    rates = np.array([1.0, coupler, (A + B * coupler) / C])

    def torque(angle: float, rate: float, wanted: float) -> float:
        inertia = 2.0 * float(robot.evaluate(robot.kinetic_energy, q=np.zeros(3), v=rates))
        weight = robot.evaluate(ca.jacobian(robot.potential_energy, robot.q).T, q=np.zeros(3))
        return float(inertia * wanted + weight @ rates)

    return Crossing(robot, lambda angle, rate: (angle * rates, rate * rates), torque, (0.0, 2e-16, 1e-12, 1e-9))


CASES = {
    "moving": slider_crossing(moving),
    "folded": slider_crossing(folded),
    "flat": flat_crossing(1.0),
    "flat, other branch": flat_crossing(-1.0),
}


def law_of(robot: Robot, realization: str) -> ProgramController:
    program = Program(robot, second_order(robot.coordinates.a[0] - WANTED, name="crank"))
    if realization == "ideal":
        return ProgramController(program)
    if realization == "actuated":
        return ProgramController(program, realization="actuated")
    return ProgramController(program, realization="bounded", limits=ControlLimits.of(robot, effort=1e3))


@pytest.mark.sampled
@pytest.mark.parametrize("realization", ["ideal", "actuated", "bounded"])
@pytest.mark.parametrize("name", list(CASES))
def test_the_torque_is_that_of_the_branch(name: str, realization: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the position, beside it by one unit of rounding and more, with the loop closed and open."""
    # The kernels of three laws cost more in the compiler than at some hundred states.
    use_no_compiler(monkeypatch)
    case, rng = CASES[name], np.random.default_rng(1993)
    law = law_of(case.robot, realization)
    for distance in case.distances:
        expected = case.torque(distance, RATE, WANTED)
        for opening in (0.0, 1e-15, 1e-13, 1e-9):
            q, v = case.state(distance, RATE)
            q, v = q + opening * rng.uniform(-1.0, 1.0, 3), v + opening * rng.uniform(-1.0, 1.0, 3)
            where = f"{name} at {distance:g}, open by {opening:g}"
            found = law.solve(0.0, q, v)
            assert found.status is Status.OK, where
            assert law.control(0.0, q, v)[0] == pytest.approx(expected, rel=2e-6), where
            assert found.power == pytest.approx(expected * RATE, rel=2e-6), where
            assert found.acceleration[0] == pytest.approx(WANTED, abs=1e-9)
            assert found.relative_residual < 1e-9
            reported = law.observe(0.0, q, v)
            np.testing.assert_array_equal(reported.output, law.control(0.0, q, v))


@pytest.mark.parametrize("name", list(CASES))
def test_analyse_speaks_of_the_branch(name: str) -> None:
    case = CASES[name]
    program = law_of(case.robot, "actuated").program
    q, v = case.state(0.0, RATE)
    report = analyse(program, t=0.0, q=q, v=v)
    expected = law_of(case.robot, "actuated").solve(0.0, q, v)
    assert report.ranks["A"].value == report.ranks["A"].full - 1
    assert report.solvable
    assert report.acceleration_unique
    assert report.realizable
    assert report.conditions["branch of the mechanism"].holds
    assert "singular position" in report.branch
    assert report.branch in str(report)
    np.testing.assert_allclose(report.acceleration, expected.acceleration, atol=1e-9)
    assert report.force @ v == pytest.approx(case.torque(0.0, RATE, WANTED) * RATE, rel=2e-6)
    if "flat" not in name:
        q, v = case.state(0.4, RATE)
        assert analyse(program, t=0.0, q=q, v=v).branch == ""


def test_reactions_grow_towards_the_position_and_are_undefined_at_it() -> None:
    law = law_of(equal_arms(), "actuated")
    near, there = (law.solve(0.0, *moving(distance, RATE)) for distance in (1e-3, 0.0))
    robot = equal_arms()
    q, v = moving(1e-3, RATE)
    # The slider alone: m x'' is the horizontal reaction.
    acceleration = near.acceleration[2]
    assert abs(near.reactions[0]) == pytest.approx(abs(SLIDER * acceleration), rel=1e-9)
    rows = robot.evaluate(robot.natural_form[0], q=q, v=v)
    M, h = robot.evaluate(robot.mass_matrix, q=q), robot.evaluate(robot.bias, q=q, v=v)
    B = robot.evaluate(robot.input_matrix, q=q).reshape(3)
    balance = M @ near.acceleration + h - B * near.input[0] - rows.T @ near.reactions
    assert np.abs(balance).max() < 1e-8
    assert abs(near.reactions[1]) > 1e3
    assert np.isnan(there.reactions).all()
    assert there.motion_residual < 1e-12


@pytest.mark.parametrize("realization", ["ideal", "actuated", "bounded"])
def test_velocities_that_do_not_determine_the_branch_are_singular(realization: str) -> None:
    law, q = law_of(equal_arms(), realization), moving(0.0, 0.0)[0]
    mixed = moving(0.0, 1.0)[1] + folded(0.0, 1.0)[1]
    for v, expected_message in ((np.zeros(3), "at rest"), (mixed, "not along a branch")):
        found = law.solve(0.0, q, v)
        assert found.status is Status.SINGULAR
        assert expected_message in found.message
        assert not found.unique.any()
        assert np.isnan(found.acceleration).all()
        with pytest.raises(SingularProgramError, match=expected_message):
            law.control(0.0, q, v)
    report = analyse(law.program, t=0.0, q=q, v=np.zeros(3))
    assert not (report.solvable)
    assert not (report.acceleration_unique)
    assert not (report.realizable)
    assert "at rest" in report.branch
    assert not report.conditions["branch of the mechanism"].holds
    # A place beside it tells enough, at rest too.
    assert law.solve(0.0, moving(1e-2, 0.0)[0], np.zeros(3)).status is Status.OK


def test_rows_that_are_nonlinear_in_accelerations_are_singular_there() -> None:
    robot = equal_arms()
    row = second_order(robot.coordinates.a[0] ** 2 - WANTED**2, name="square")
    law = ProgramController(Program(robot, row), realization="actuated", acceleration_guess=[0.4, -0.4, -0.8])
    found = law.solve(0.0, *moving(0.0, RATE))
    assert found.status is Status.SINGULAR
    assert "'square' is nonlinear" in found.message


def test_acceleration_expressions_are_no_numbers_where_they_would_be_rounding() -> None:
    robot = equal_arms()
    for distance in (0.0, 1e-9):
        q, v = moving(distance, RATE)
        assert np.isnan(robot.evaluate(robot.acceleration, q=q, v=v, u=[1.0])).any()
    q, v = moving(1e-2, RATE)
    assert np.isfinite(robot.evaluate(robot.acceleration, q=q, v=v, u=[1.0])).all()


def held_motion(angle: float, rate: float, hold: float, end: float) -> Array:
    """Angle and rate at the end under a torque that is computed every ``hold`` seconds, as an equation in the angle."""
    case, state = CASES["moving"], np.array([angle, rate])
    for _ in range(round(end / hold)):
        torque = case.torque(state[0] - UPRIGHT, state[1], WANTED)
        slope_of = lambda _, x, u=torque: [x[1], equal_arms_rate(u, x[0], x[1])]  # noqa: E731
        state = solve_ivp(slope_of, (0.0, hold), state, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    return np.asarray(state)


@pytest.mark.sampled
@pytest.mark.parametrize("start", [0.0, 2e-16, -0.2])
def test_a_law_drives_the_mechanism_through(start: float) -> None:
    """From the position, beside it and before it, under the law itself and under one that is held."""
    law = law_of(equal_arms(), "actuated")
    q, v = moving(start, RATE)
    motion = simulate(equal_arms(), law, q, v, 0.5, step=1e-3, integrator=Reduced())
    np.testing.assert_allclose(motion.q[:, 0], q[0] + RATE * motion.t + WANTED * motion.t**2 / 2, atol=1e-9)
    assert np.abs(motion.deviation).max() < 1e-9
    expected = [
        CASES["moving"].torque(x - UPRIGHT, r, WANTED) for x, r in zip(motion.q[:, 0], motion.v[:, 0], strict=True)
    ]
    np.testing.assert_allclose(motion.u[:, 0], expected, atol=1e-6)
    held = simulate(equal_arms(), SampleAndHold(law, 1e-2), q, v, 0.5, step=1e-3, integrator=Reduced())
    assert held.q[-1, 0] == pytest.approx(held_motion(q[0], RATE, 1e-2, 0.5)[0], abs=1e-7)
    assert np.isfinite(held.deviation).all()


@pytest.mark.slow
@pytest.mark.parametrize(("robust", "tolerance"), [(None, 1e-8), ("observer", 1e-6), ("integral", 1e-6)])
def test_a_feedback_law_passes_the_position_and_comes_back(
    robust: Literal["observer", "integral"] | None, tolerance: float
) -> None:
    robot = equal_arms()
    program = Program(robot, holonomic(robot.q[0] - UPRIGHT, perturbation=Baumgarte(4.0), name="upright"))
    law = ProgramController(program, realization="actuated", robust=robust)
    q, v = moving(-0.3, 2.0)
    motion = simulate(robot, law, q, v, 1.0, step=1e-3, integrator=Reduced())
    t = motion.t
    # Baumgarte's equation with β = α: y = (y₀ + (v₀ + α y₀) t) e^(−αt), which crosses and comes back.
    y = (-0.3 + (2.0 - 1.2) * t) * np.exp(-4.0 * t)
    np.testing.assert_allclose(motion.q[:, 0] - UPRIGHT, y, atol=tolerance)


@pytest.mark.parametrize("guess", [[UPRIGHT, -1.5, 0.05], [UPRIGHT, -1.0, 0.3], [UPRIGHT, -2.0, -0.2]])
def test_assemble_finds_a_singular_position_to_rounding(guess: list[float]) -> None:
    found = assemble(equal_arms(), guess, fixed="crank")
    assert found.singular
    np.testing.assert_allclose(found.q, [UPRIGHT, -UPRIGHT, 0.0], atol=4e-16)


def test_assemble_finds_a_linkage_that_lies_flat_to_rounding() -> None:
    found = assemble(flat_linkage(), [0.0, 0.1, 0.1], fixed=flat_linkage().coordinates.names[0])
    assert found.singular
    np.testing.assert_allclose(found.q, 0.0, atol=1e-15)
