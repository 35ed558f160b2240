"""Ways of keeping natural constraints, side by side: drift, energy error and cost on one motion."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints import Constraint, Perturbation, second_order
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from .integrators import RK4, Integrator
from .simulate import Simulator
from .trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Way:
    """How the natural constraints of a plant are kept.

    Attributes:
        perturbation: equation that those of order 0 obey; None for ÿ = 0, no stabilisation at all.
        integrator: takes the steps, and projects or not.
    """

    perturbation: Perturbation | None
    integrator: Integrator = field(default_factory=RK4)


@dataclass(frozen=True, eq=False)
class Kept:
    """How well and at what cost one way kept the constraints.

    Attributes:
        name: of the way.
        t: times of the samples, shape (N,) [s].
        position: largest |φ| over the rows of order 0, shape (N,) [m or rad].
        velocity: largest |φ̇| of them and |ψ| of the rows of order 1, shape (N,).
        energy: |E − E(0)| as a share of the largest kinetic energy, shape (N,).
        seconds: of the run per simulated second, the median of the rounds.
        relative_cost: the same divided by that of the first way.
    """

    name: str
    t: Array
    position: Array
    velocity: Array
    energy: Array
    seconds: float
    relative_cost: float


def compare_stabilisation(
    robot: Robot,
    ways: Mapping[str, Way],
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    rounds: int = 3,
) -> tuple[Kept, ...]:
    """The same free motion of one plant with each way of keeping its natural constraints.

    Args:
        robot: with natural constraints; without friction its energy should stay as it is.
        ways: by name; the first is what costs are compared with.
        q0: coordinates on the constraints, shape (nq,).
        v0: velocities that they admit, shape (nv,).
        duration: of the motion [s].
        step: h [s].
        rounds: how many times each runs, one after another in turn, for the median of the cost.

    Raises:
        ModelError: for no ways, a robot without natural constraints of order 0 or 1, or one that never moves.
        SimulationError: if one of them does not get through.
    """
    for name, way in ways.items():
        if not isinstance(way, Way):
            raise ModelError(f"{name!r} must be a Way, such as Way(Baumgarte()), got {way!r}")
    if not ways:
        raise ModelError("there are no ways to compare: give at least one")
    if not any(k.order < 2 for k in robot.natural):
        raise ModelError(f"{robot.name} has no natural constraints of order 0 or 1, so there is nothing to keep")
    plants = {name: _kept_by(robot, way.perturbation) for name, way in ways.items()}
    simulators = {name: Simulator(plants[name], integrator=way.integrator) for name, way in ways.items()}
    times: dict[str, list[float]] = {name: [] for name in ways}
    runs: dict[str, Trajectory] = {}
    for simulator in simulators.values():
        simulator.run(q0, v0, 10 * step, step=step)
    for _ in range(max(1, rounds)):
        for name, simulator in simulators.items():
            began = time.perf_counter()
            runs[name] = simulator.run(q0, v0, duration, step=step)
            times[name].append((time.perf_counter() - began) / duration)
    seconds = {name: float(np.median(values)) for name, values in times.items()}
    first = seconds[next(iter(ways))]
    return tuple(_judge(robot, name, run, seconds[name], seconds[name] / first) for name, run in runs.items())


def table(results: Sequence[Kept]) -> str:
    """Largest drift and energy error, and cost, as lines of text.

    Args:
        results: of :func:`compare_stabilisation`.
    """
    width = max((len(result.name) for result in results), default=0)
    lines = [f"{'':{width}}  {'position':>9}  {'velocity':>9}  {'energy':>9}  {'cost':>5}"]
    lines += [
        f"{r.name:{width}}  {r.position.max():9.1e}  {r.velocity.max():9.1e}  {r.energy.max():9.1e}  "
        f"{r.relative_cost:5.2f}"
        for r in results
    ]
    return "\n".join(lines)


def plot(results: Sequence[Kept]) -> Figure:
    """Drift of positions and velocities and the error of the energy over time, in one figure.

    Args:
        results: of :func:`compare_stabilisation`.
    """
    from .plots.stabilisation import stabilisation

    return stabilisation(results)


def _judge(robot: Robot, name: str, run: Trajectory, seconds: float, cost: float) -> Kept:
    c = robot.coordinates
    by_order = [[ca.densify(k.residual(c)) for k in robot.natural if k.order == order] for order in (0, 1)]
    places = ca.vertcat(ca.SX(0, 1), *by_order[0])
    rates = ca.vertcat(c.rate(places), *by_order[1])
    rest = ca.SX.zeros(c.nv)
    position = _largest(run, places) if places.numel() else np.zeros(len(run))
    kinetic = float(run.evaluate(robot.kinetic_energy).max())
    if not kinetic > 0.0:
        raise ModelError(f"{robot.name} never moves with {name!r}: there is no kinetic energy to compare errors with")
    return Kept(
        name=name,
        t=run.t,
        position=position,
        velocity=_largest(run, ca.substitute(rates, c.a, rest)),
        energy=np.abs(run.energy - run.energy[0]) / kinetic,
        seconds=seconds,
        relative_cost=cost,
    )


def _largest(run: Trajectory, column: ca.SX) -> Array:
    return np.asarray(np.abs(run.evaluate(column).reshape(len(run), -1)).max(axis=1), dtype=np.float64)


def _kept_by(robot: Robot, perturbation: Perturbation | None) -> Robot:
    """The robot with another equation for its natural constraints of order 0; with none for all if it is None."""

    def changed(constraint: Constraint) -> Constraint:
        c = robot.coordinates
        if perturbation is None and constraint.order < 2:
            expression = constraint.residual(c)
            for _ in range(2 - constraint.order):
                expression = c.rate(expression)
            return second_order(expression, name=constraint.name)
        if constraint.order == 0 and perturbation is not None:
            return dataclasses.replace(constraint, perturbation=perturbation)
        return constraint

    return dataclasses.replace(robot, natural=tuple(changed(constraint) for constraint in robot.natural))
