"""Drift of constraints with and without stabilisation, and steps too long for it."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, Energies, FirstOrder, Linear, Perturbation, distance, holonomic, nonholonomic
from erugin.constraints.perturbations import Deviation
from erugin.controllers import Program, ProgramController
from erugin.robots import Link, Robot, assemble, assemble_velocities, lagrangian_system, planar_manipulator
from erugin.robots.examples import four_bar
from erugin.scenarios import simulate
from erugin.scenarios.stabilisation import StabilisationMethod, compare_stabilisation, envelope, plot, table
from erugin.simulation import DOP853, RK4, Projected
from erugin.symbolic import Kernel, ModelError
from erugin.symbolic.runge_kutta import rk4_step

from ..support.arms import two_link_arm
from ..support.mechanisms import GROUND, crank_rocker

Array = NDArray[np.float64]
H, CHUNK = 1e-3, 1000


@dataclasses.dataclass(frozen=True)
class Released(Perturbation):
    """ÿ = 0: no stabilisation."""

    order = 0

    @property
    def gains(self) -> Mapping[str, float]:
        return {}

    def right_side(self, deviation: Deviation, gains: Mapping[str, ca.SX]) -> ca.SX:
        return ca.SX.zeros(deviation.value.numel())


@functools.cache
def start() -> tuple[Array, Array]:
    """The crank at 0.5 rad and 1 rad/s, closed to rounding error."""
    robot = crank_rocker()
    q = assemble(robot, [0.5, 0.5, 1.5]).q
    return q, assemble_velocities(robot, q, fixed={"crank": 1.0})


def drift(perturbation: Perturbation, steps: int, offset: float = 0.0, chunk: int = CHUNK) -> Array:
    """Largest |y| of each chunk of steps, relative to the ground link; without gravity, so that the crank turns on."""
    robot: Robot = dataclasses.replace(
        crank_rocker(),
        natural=tuple(dataclasses.replace(c, perturbation=perturbation) for c in crank_rocker().natural),
    )
    c = robot.coordinates
    x, p = ca.vertcat(c.q, c.v), robot.parameters.values({"g": 0.0})
    rate = ca.substitute(
        ca.vertcat(c.N @ c.v, robot.acceleration),
        ca.vertcat(robot.u, robot.p),
        ca.vertcat(ca.SX.zeros(robot.u.numel()), ca.SX(ca.DM(p))),
    )
    f = ca.Function("f", [c.t, x], [rate])
    gap = ca.substitute(robot.natural[0].residual(c), robot.p, ca.SX(ca.DM(p)))
    k = ca.SX.sym("k")
    after = rk4_step(f, k * H, x, ca.SX(H))
    opened = ca.substitute(ca.fmax(ca.fabs(gap[0]), ca.fabs(gap[1])), x, after)
    kernel = Kernel("drift", {"k": k, "x": x}, {"next": k + 1, "after": after, "gap": opened})
    index, state = np.zeros(1), np.concatenate(start())
    state[1] += offset
    results = [np.zeros((n, chunk), order="F") for n in (1, x.numel(), 1)]
    run = kernel.loop(chunk, 2, [index, state], results)
    largest: list[float] = []
    for _ in range(steps // chunk):
        run()
        index[0], state[:] = results[0][0, -1], results[1][:, -1]
        largest.append(float(results[2].max()) / GROUND)
    return np.array(largest)


@pytest.mark.slow
def test_gentle_gains_for_the_step_keep_the_loop_closed() -> None:
    """A share of the fastest gains, β = 9.7/s: 10⁻¹² over the whole horizon; without, the gap grows all the time."""
    gentle = drift(Baumgarte.for_step(H, RK4(), share=0.005), 1_000_000)
    assert gentle.max() <= 1e-12
    # No trend, but that of the angle's own rounding: after 10³ rad its last digit is 10⁻¹³.
    assert gentle[-100:].max() <= gentle[:100].max() + 3e-13
    usual = drift(Baumgarte(), 1_000_000)
    assert usual.max() <= 1e-12
    released = drift(Released(), 1_000_000)
    assert released[-1] >= 1e-9
    assert released[-1] >= 5 * released[200]
    # Other equations with the same linearization do the same.
    alpha, beta = Baumgarte.for_step(H, RK4(), share=0.005).gains.values()
    for equation in (
        Linear(beta**2 * np.eye(2), 2 * alpha * np.eye(2)),
        Energies.quadratic(np.eye(2), beta**2 * np.eye(2), 2 * alpha * np.eye(2)),
    ):
        np.testing.assert_allclose(drift(equation, 10_000), gentle[:10], rtol=0.02)


@pytest.mark.slow
def test_the_fastest_gains_stay_bounded_but_pay_for_the_curvature() -> None:
    """Stages of RK4 leave the curved constraint, and strong gains act on that: the drift is bounded, and goes as β²."""
    shares = (1.0, 0.2, 0.1, 0.05)
    found = [drift(Baumgarte.for_step(H, RK4(), share=share), 1_000_000) for share in shares]
    for path in found:
        assert path[-100:].max() <= 1.2 * path[:100].max()
    largest = [float(path.max()) for path in found]
    assert largest[0] <= 1e-7
    for i in (1, 2):
        assert np.log2(largest[i] / largest[i + 1]) == pytest.approx(2.0, abs=0.25)


def test_an_opened_loop_closes_in_a_few_steps() -> None:
    """Contraction is what the fastest gains are for: of a gap of some 10⁻⁶ nothing is left but their drift."""
    fast = drift(Baumgarte.for_step(H, RK4()), 10, 1e-5, chunk=5)
    usual = drift(Baumgarte(), 10, 1e-5, chunk=5)
    assert usual[0] >= 5e-6
    assert usual[1] >= 0.99 * usual[0]
    assert fast[1] <= 1e-7


def test_a_four_bar_with_and_without_stabilisation(tmp_path: Path) -> None:
    robot = four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [9.0, 0.0, 0.0])
    ways = {
        "none": StabilisationMethod(None),
        "Baumgarte": StabilisationMethod(Baumgarte()),
        "projection": StabilisationMethod(Baumgarte(), Projected()),
    }
    none, baumgarte, projected = compare_stabilisation(robot, ways, q, v, 10.0, step=1e-3, rounds=1)
    # Without stabilisation φ̈ = 0 holds to the error of the method, and the miss grows about as t²; with it it stays.
    half = len(none.t) // 2
    assert none.position[-1] > 3 * none.position[half] > 1e-7
    assert baumgarte.position[half:].max() < 1e-7
    assert projected.position.max() < 1e-13
    assert projected.velocity.max() < 1e-13
    assert none.energy.max() < 1e-3
    assert none.relative_cost == 1.0
    text = table((none, baumgarte, projected))
    assert len(text.splitlines()) == 4
    assert f"{none.position.max():.1e}" in text
    figure = plot((none, baumgarte, projected))
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "largest |φ| [m]",
        "largest |dφ/dt| [m/s]",
        "|energy error| / largest T",
    ]
    figure.savefig(tmp_path / "stabilisation.png")


def test_unstabilised_rows_are_the_second_derivative() -> None:
    """The motion is the same for an instant: nothing but the stabilisation was taken away."""
    robot = four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [3.0, 0.0, 0.0])
    kept = compare_stabilisation(
        robot,
        {"a": StabilisationMethod(None), "b": StabilisationMethod(Baumgarte(1.0))},
        q,
        v,
        0.01,
        step=1e-3,
        rounds=1,
    )
    np.testing.assert_allclose(kept[0].energy, kept[1].energy, atol=1e-11)


def test_nothing_to_compare() -> None:
    arm = planar_manipulator([Link(0.5, 1.0, 0.2, 0.03)])
    with pytest.raises(ValueError, match="nothing to stabilise"):
        compare_stabilisation(arm, {"none": StabilisationMethod(None)}, [0.0], [0.0], 1.0, step=0.1)
    with pytest.raises(ValueError, match="at least one"):
        compare_stabilisation(arm, {}, [0.0], [0.0], 1.0, step=0.1)
    with pytest.raises(
        ValueError, match=r"'a' must be a StabilisationMethod, such as StabilisationMethod\(Baumgarte\(\)\)"
    ):
        compare_stabilisation(arm, {"a": Baumgarte()}, [0.0], [0.0], 1.0, step=0.1)  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]
    assert len(table(()).splitlines()) == 1


def test_a_robot_at_rest_has_no_error_to_compare() -> None:
    x, v = ca.SX.sym("x", 2), ca.SX.sym("v", 2)
    held = distance(x, [0.0, 0.0], ca.SX(1.0), name="rod")
    robot = lagrangian_system(q=x, v=v, T=ca.sumsqr(v) / 2, natural=[held])
    with pytest.raises(ValueError, match="never moves with 'none'"):
        compare_stabilisation(
            robot, {"none": StabilisationMethod(None)}, [1.0, 0.0], [0.0, 0.0], 0.1, step=1e-3, rounds=1
        )


def test_the_envelope_keeps_every_peak() -> None:
    t = np.asarray(np.arange(1001) * 0.1, dtype=np.float64)
    values = np.zeros(1001)
    values[[3, 500, 1000]] = 2.0, 5.0, 7.0
    times, largest = envelope(t, values)
    assert len(times) == 300
    assert sorted(largest)[-3:] == [2.0, 5.0, 7.0]
    assert times[np.argmax(largest)] == pytest.approx(100.0, abs=0.4)


ROBOT = two_link_arm()


def fast(rate: float) -> ProgramController:
    return ProgramController(Program(ROBOT, nonholonomic(ROBOT.v, perturbation=FirstOrder(rate), name="still")))


def test_the_limit_of_rk4_is_2_785_on_the_real_axis() -> None:
    """Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.2."""
    with pytest.raises(
        ModelError, match=r"step of 0\.01 s is too long .* 'still': RK4 multiplies .* by 291 per step"
    ) as caught:
        simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 1.0, step=0.01)
    found = re.search(r"at most ([0-9.]+) s", str(caught.value))
    assert found is not None
    # 2.785 rounded to 2.8 would be refused in its turn.
    assert float(found[1]) == 2.7e-3
    motion = simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 0.5, step=float(found[1]))
    assert np.abs(motion.deviation[-1]).max() < np.abs(motion.deviation[0]).max()


def test_the_message_for_a_far_too_long_step_names_the_limit_too() -> None:
    with pytest.raises(ModelError, match=r"RK4 multiplies .* Use at most 2\.7e-07 s"):
        simulate(ROBOT, fast(1e7), [0.3, 0.8], [0.1, 0.0], 1.0, step=0.01)


def test_gains_set_by_name_count() -> None:
    with pytest.raises(ModelError, match="still"):
        simulate(ROBOT, fast(10.0), [0.3, 0.8], [0.1, 0.0], 1.0, step=0.01, controller_p={"still.rate": 1000.0})
    simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 0.1, step=0.01, controller_p={"still.rate": 10.0})


def test_baumgarte_on_the_imaginary_side() -> None:
    """Lightly damped: the limit is near 2.83/β, where RK4 leaves the imaginary axis."""
    held = holonomic(ROBOT.q - np.array([0.3, 0.8]), perturbation=Baumgarte(0.5, 100.0), name="held")
    controller = ProgramController(Program(ROBOT, held))
    with pytest.raises(ModelError, match=r"'held'.*at most 0\.028 s"):
        simulate(ROBOT, controller, [0.3, 0.9], [0.0, 0.0], 1.0, step=0.05)
    simulate(ROBOT, controller, [0.3, 0.9], [0.0, 0.0], 0.2, step=0.02)


def test_a_method_that_chooses_its_steps_has_no_limit() -> None:
    motion = simulate(ROBOT, fast(1000.0), [0.3, 0.8], [0.1, 0.0], 0.1, step=0.05, integrator=DOP853())
    assert np.abs(motion.deviation[-1]).max() < 1e-8


def test_the_amplification_is_what_a_step_does() -> None:
    z = complex(-0.7, 0.4)
    exact, k = 1.0 + 0.0j, 1.0 + 0.0j
    for i in range(1, 5):
        k *= z / i
        exact += k
    assert RK4().amplification(z) == pytest.approx(abs(exact), rel=1e-15)
