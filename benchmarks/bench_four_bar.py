"""10 s of a four-bar linkage at 1 ms: Erugin beside Pinocchio, MuJoCo and Exudyn; speed, and how closed it stays.

Crank, coupler and rocker of 1, 2 and 2 m, 2 m between the pivots, free under gravity, from two starts: the crank turns
at 12 rad/s, or all rest. Each side keeps all 10,000 states. "Opening" is the largest distance of the two ends that
the pin joins, "energy" the largest error as a share of the largest kinetic energy; both come from angles, by the
same formulas for all sides.

- Erugin: RK4 with projection on the loop after each step, one kernel.
- Pinocchio: ``constraintDynamics`` with corrections of gains 100 and 20, RK4 in NumPy.
- MuJoCo: ``connect``, by ``mujoco.rollout`` on one thread; as it comes, semi-implicit Euler, and with RK4; "stiff" has
  the least deviation of a scan over ``solref`` and ``solimp``.
- Exudyn: plane bodies and pins, generalized-α of index 3, as fast as it gets (modified Newton, no checks of ranges).

    python benchmarks/bench_four_bar.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from harness.reach import Reach
from harness.rounds import Timing, number, side_by_side
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table
from models import mujoco_models, pinocchio_models
from models.exudyn_models import ExudynFourBar
from models.sizes import GRAVITY, GROUND, LINKAGE, State
from numpy.typing import NDArray

from erugin.robots import Link, assemble, assemble_velocities
from erugin.robots.examples import four_bar
from erugin.simulation import RK4, Projected, Simulator

Array = NDArray[np.float64]
Run = Callable[[], Array]
STEP, SPAN = 1e-3, 10.0
STIFF = {"Euler": ((0.002, 0.5), ()), "RK4": ((0.004, 1.0), (0.9999, 0.9999, 0.001))}
OURS, PINOCCHIO, SOFT, STIFFEST = "Erugin, RK4, projected", "Pinocchio, RK4", "MuJoCo, Euler", "MuJoCo, RK4, stiff"
DEVIATION = 1e-12


def starts() -> dict[str, State]:
    """Absolute angles and rates."""
    robot = four_bar(*(Link(*sizes) for sizes in LINKAGE), ground=(GROUND, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    return {"turning": State(q, assemble_velocities(robot, q, [9.0, 0.0, 0.0])), "from rest": State(q, np.zeros(3))}


def erugin_run(start: State, steps: int) -> Run:
    """As a user runs it; angles are absolute."""
    robot = four_bar(*(Link(*sizes) for sizes in LINKAGE), ground=(GROUND, 0.0), gravity=GRAVITY)
    simulator = Simulator(robot, None, integrator=Projected(RK4()))

    def run() -> Array:
        motion = simulator.run(start.q, start.v, steps * STEP, step=STEP)
        return np.hstack([motion.q, motion.v])

    return run


def pinocchio_run(start: State, steps: int) -> Run:
    """RK4 in NumPy, angles as they are in the tree; positions and velocities apart, which spares joining them."""
    dynamics, h = pinocchio_models.four_bar_model().dynamics(), STEP

    def run() -> Array:
        q, v = in_tree(start.q), in_tree(start.v)
        states = np.empty((steps + 1, 6))
        states[0, :3], states[0, 3:] = q, v
        for k in range(1, steps + 1):
            a1 = dynamics(q, v)
            v2 = v + h / 2 * a1
            a2 = dynamics(q + h / 2 * v, v2)
            v3 = v + h / 2 * a2
            a3 = dynamics(q + h / 2 * v2, v3)
            v4 = v + h * a3
            a4 = dynamics(q + h * v3, v4)
            q = q + h / 6 * (v + 2 * (v2 + v3) + v4)
            v = v + h / 6 * (a1 + 2 * (a2 + a3) + a4)
            states[k, :3], states[k, 3:] = q, v
        return states

    return run


def mujoco_run(start: State, steps: int, integrator: str, *, stiff: bool) -> Run:
    """One rollout; angles as they are in the tree."""
    solref, solimp = STIFF[integrator] if stiff else ((), ())
    model = mujoco_models.four_bar_model(STEP, integrator, solref, solimp)
    start = State(in_tree(start.q)[None], in_tree(start.v)[None])
    rollouts = mujoco_models.Rollouts(model, start, steps)
    return lambda: rollouts()[0, :, 1:]


def exudyn_run(start: State, steps: int) -> Run:
    """A system built and integrated; angles are absolute."""
    return lambda: ExudynFourBar(start).run(steps * STEP, STEP)


def in_tree(x: Array) -> Array:
    """Absolute angles (crank, coupler, rocker) as relative ones."""
    return np.array([x[0], x[1] - x[0], x[2]])


def from_tree(x: Array) -> Array:
    """The reverse, for states of shape (N, 6)."""
    return x + np.stack([0 * x[:, 0], x[:, 0], 0 * x[:, 0], 0 * x[:, 0], x[:, 3], 0 * x[:, 0]], axis=1)


def opening(x: Array) -> float:
    """Largest distance of the ends at the pin, for absolute angles and rates, shape (N, 6) [m]."""
    crank, coupler, rocker = (link.length * np.exp(1j * x[:, i]) for i, link in enumerate(LINKAGE))
    return float(np.abs(crank + coupler - GROUND - rocker).max())


def energy_error(x: Array) -> float:
    """Largest change of the energy as a share of the largest kinetic energy."""
    kinetic, potential = np.zeros(len(x)), np.zeros(len(x))
    for i, link in enumerate(LINKAGE):
        turn, rate = np.exp(1j * x[:, i]), x[:, 3 + i]
        before = (LINKAGE[0].length * np.exp(1j * x[:, 0]), x[:, 3]) if i == 1 else (np.zeros(len(x)), 0.0)
        place = before[0] + link.center * turn
        speed = np.abs(before[0] * before[1] + link.center * turn * rate)
        kinetic += (link.mass * speed**2 + link.inertia * rate**2) / 2
        potential += link.mass * GRAVITY * place.imag
    energy = kinetic + potential
    return float(np.abs(energy - energy[0]).max() / kinetic.max())


def sides(start: State, steps: int) -> dict[str, tuple[Run, bool]]:
    """A run of each side, and whether its angles are those of the tree."""
    found: dict[str, tuple[Run, bool]] = {
        OURS: (erugin_run(start, steps), False),
        PINOCCHIO: (pinocchio_run(start, steps), True),
    }
    for integrator in STIFF:
        for stiff in (False, True):
            label = f"MuJoCo, {integrator}{', stiff' * stiff}"
            found[label] = mujoco_run(start, steps, integrator, stiff=stiff), True
    return found | {"Exudyn, generalized-α": (exudyn_run(start, steps), False)}


def main(given: Options) -> None:
    steps = 200 if given.small else round(SPAN / STEP)
    kept: dict[str, list[tuple[float, float]]] = {}
    runs: dict[str, tuple[Run, bool]] = {}
    for start in starts().values():
        runs = sides(start, steps)
        for name, (run, tree) in runs.items():
            x = from_tree(run()) if tree else run()
            kept.setdefault(name, []).append((opening(x), energy_error(x)))
    # Nothing in a run depends on its start but numbers: one of them is timed.
    times = side_by_side({name: run for name, (run, _) in runs.items()}, given.rounds)
    conclude(given, [table(kept, times, steps)], reach(kept, times, steps))


def table(kept: dict[str, list[tuple[float, float]]], times: dict[str, Timing], steps: int) -> Table:
    """One row for each side."""
    heads = ["library", "step [µs]", "relative to Erugin"]
    heads += [f"{what}, {name}" for name in starts() for what in ("opening [m]", "energy")]
    rows: list[tuple[Cell, ...]] = []
    for name, timing in times.items():
        numbers = [f"{value:.1e}" for pair in kept[name] for value in pair]
        rows.append((name, timing.per(steps).show(), number(timing.over(times[OURS])), *numbers))
    return Table("four-bar", tuple(map(Column, heads)), tuple(rows))


def reach(kept: dict[str, list[tuple[float, float]]], times: dict[str, Timing], steps: int) -> list[Reach]:
    """The rows of the table of targets."""
    worst = {name: max(opening for opening, _ in pairs) for name, pairs in kept.items()}
    what = f"four-bar, {SPAN:g} s at {STEP * 1e3:g} ms"
    if steps != round(SPAN / STEP):
        what = f"four-bar, {steps} steps"
    rows = [Reach(f"{what}, deviation", "", f"{worst[OURS]:.1e} m", "", worst[OURS], DEVIATION, True, "m")]
    for rival, target in ((PINOCCHIO, 20.0), (SOFT, 5.0), (STIFFEST, 5.0)):
        note = f"which opens by {worst[rival]:.1e} m"
        rows.append(Reach.of(what, rival, times[OURS], times[rival], target, note))
    return rows


if __name__ == "__main__":
    main(options(__doc__ or "", rounds=11))
