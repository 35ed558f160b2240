"""How far a four-bar linkage opens over 10⁶ steps of 1 ms, with and without stabilisation."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, Energies, Linear, Perturbation
from erugin.constraints.perturbations import Deviation
from erugin.robots import Robot, assemble, assemble_velocities
from erugin.simulation import RK4
from erugin.symbolic import Kernel
from erugin.symbolic.runge_kutta import rk4_step

from .mechanisms import GROUND, crank_rocker

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
