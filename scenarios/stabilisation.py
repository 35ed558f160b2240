"""Comparison of stabilisation methods for natural constraints: drift, energy error and cost on one motion."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint
from ..constraints.perturbations.perturbation import Perturbation
from ..constraints.relations.expression import second_order
from ..robots.robot import Robot
from ..simulation.integrators.integrator import Integrator
from ..simulation.integrators.rk4 import RK4
from ..simulation.simulator import Simulator
from ..simulation.trajectory import Trajectory
from ..symbolic.errors import ModelError
from ..views.style import label_axes, new_figure
from ..views.time_series import FLOOR

WINDOWS = 300
"""Number of windows of time; of each the largest value is drawn, so that a million samples stay readable."""


def draw_stabilisation(results: Sequence[StabilisationResult]) -> Figure:
    """Draw position, velocity and energy error over time on logarithmic axes.

    Args:
        results: results of :func:`compare_stabilisation`, one line each.
    """
    figure = new_figure(8.0, 7.2)
    column: list[Axes] = list(figure.subplots(3, 1, sharex=True, squeeze=False)[:, 0])
    for axes, key, label in zip(
        column,
        ("position", "velocity", "energy"),
        ("largest |φ| [m]", "largest |dφ/dt| [m/s]", "|energy error| / largest T"),
        strict=True,
    ):
        for result in results:
            t, values = envelope(result.t, getattr(result, key))
            axes.semilogy(t, values, linewidth=1.2, label=f"{result.name} (cost {result.relative_cost:.2f})")
        label_axes(axes, label)
    handles, labels = column[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    column[-1].set_xlabel("time [s]")
    return figure


def envelope(t: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the middle of each window of time, and the largest value in it.

    Args:
        t: times, shape (N,) [s].
        values: values at these times, not negative, shape (N,).
    """
    starts = np.unique(np.linspace(0, len(t), min(WINDOWS, len(t)), endpoint=False).astype(np.int64))
    largest = np.maximum(np.maximum.reduceat(values, starts), FLOOR)
    ends = np.append(starts[1:], len(t)) - 1
    return np.asarray((t[starts] + t[ends]) / 2), np.asarray(largest)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class StabilisationMethod:
    """A method that stabilises the natural constraints of a plant.

    Attributes:
        perturbation: perturbation equation of the constraints of order 0; None for ÿ = 0, no stabilisation at all.
        integrator: integrator of the motion, with or without projection.
    """

    perturbation: Perturbation | None
    integrator: Integrator = field(default_factory=RK4)


@dataclass(frozen=True, eq=False)
class StabilisationResult:
    """Drift, energy error and cost of one method.

    Attributes:
        name: name of the method.
        t: times of the samples, shape (N,) [s].
        position: largest |φ| over the rows of order 0, shape (N,) [m or rad].
        velocity: largest |φ̇| of the rows of order 0 and |ψ| of the rows of order 1, shape (N,).
        energy: |E − E(0)| divided by the largest kinetic energy, shape (N,).
        seconds: computing time per simulated second, median over the rounds.
        relative_cost: ``seconds`` divided by that of the first method.
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
    methods: Mapping[str, StabilisationMethod],
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    rounds: int = 3,
) -> tuple[StabilisationResult, ...]:
    """Simulate the same free motion of a plant with each stabilisation method.

    Args:
        robot: plant with natural constraints; without friction its energy should stay constant.
        methods: methods by name; costs are relative to the first one.
        q0: initial coordinates that satisfy the constraints, shape (nq,).
        v0: initial velocities that satisfy them, shape (nv,).
        duration: duration of the motion [s].
        step: step h of the integration [s].
        rounds: number of runs of each method, in turn; the cost is their median.

    Raises:
        ModelError: for no methods, a robot without natural constraints of order 0 or 1, or one that never moves.
        SimulationError: if a motion has to stop.
    """
    for name, method in methods.items():
        if not isinstance(method, StabilisationMethod):
            raise ModelError(
                f"{name!r} must be a StabilisationMethod, such as StabilisationMethod(Baumgarte()), got {method!r}"
            )
    if not methods:
        raise ModelError("methods must contain at least one StabilisationMethod, got none")
    if not any(k.order < 2 for k in robot.natural):
        raise ModelError(f"{robot.name} has no natural constraints of order 0 or 1, so there is nothing to stabilise")
    plants = {name: _stabilised(robot, method.perturbation) for name, method in methods.items()}
    simulators = {name: Simulator(plants[name], integrator=method.integrator) for name, method in methods.items()}
    times: dict[str, list[float]] = {name: [] for name in methods}
    runs: dict[str, Trajectory] = {}
    for simulator in simulators.values():
        simulator.run(q0, v0, 10 * step, step=step)
    for _ in range(max(1, rounds)):
        for name, simulator in simulators.items():
            start = time.perf_counter()
            runs[name] = simulator.run(q0, v0, duration, step=step)
            times[name].append((time.perf_counter() - start) / duration)
    seconds = {name: float(np.median(values)) for name, values in times.items()}
    first = seconds[next(iter(methods))]
    return tuple(_result(robot, name, run, seconds[name], seconds[name] / first) for name, run in runs.items())


def table(results: Sequence[StabilisationResult]) -> str:
    """Return largest drift and energy error, and cost, as lines of text.

    Args:
        results: results of :func:`compare_stabilisation`.
    """
    width = max((len(result.name) for result in results), default=0)
    lines = [f"{'':{width}}  {'position':>9}  {'velocity':>9}  {'energy':>9}  {'cost':>5}"]
    lines += [
        f"{r.name:{width}}  {r.position.max():9.1e}  {r.velocity.max():9.1e}  {r.energy.max():9.1e}  "
        f"{r.relative_cost:5.2f}"
        for r in results
    ]
    return "\n".join(lines)


def plot(results: Sequence[StabilisationResult]) -> Figure:
    """Draw drift of positions and velocities and the energy error over time, in one figure.

    Args:
        results: results of :func:`compare_stabilisation`.
    """
    return draw_stabilisation(results)


def _result(robot: Robot, name: str, run: Trajectory, seconds: float, cost: float) -> StabilisationResult:
    c = robot.coordinates
    by_order = [[ca.densify(k.residual(c)) for k in robot.natural if k.order == order] for order in (0, 1)]
    positions = ca.vertcat(ca.SX(0, 1), *by_order[0])
    rates = ca.vertcat(c.rate(positions), *by_order[1])
    rest = ca.SX.zeros(c.nv)
    position = _largest(run, positions) if positions.numel() else np.zeros(len(run))
    kinetic = float(run.evaluate(robot.kinetic_energy).max())
    if not kinetic > 0.0:
        raise ModelError(f"{robot.name} never moves with {name!r}: there is no kinetic energy to compare errors with")
    return StabilisationResult(
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


def _stabilised(robot: Robot, perturbation: Perturbation | None) -> Robot:
    """Return the robot with this perturbation equation of its constraints of order 0; None: no stabilisation at all."""

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
