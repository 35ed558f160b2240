"""Ways of keeping a closed loop closed, side by side: no stabilisation, Baumgarte, energies, projection.

A four-bar linkage of 1, 2 and 2 m turns freely under gravity, RK4 at 1 ms in one kernel. "Position" and "velocity" are
the largest misses of the loop over the run [m, m/s], "energy" its largest error as a share of the largest kinetic
energy, "cost" the time of a run beside the first way's.

    python benchmarks/bench_stabilisation.py [seconds [picture.png]]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from erugin.constraints import Baumgarte, Energies
from erugin.robots import Link, assemble, assemble_velocities
from erugin.robots.examples import four_bar
from erugin.scenarios.stabilisation import StabilisationMethod, compare_stabilisation, plot, table
from erugin.simulation import RK4, Projected

STEP = 1e-3


def main() -> None:
    span = float(sys.argv[1]) if len(sys.argv) > 1 else 100.0
    robot = four_bar(Link(1.0, 1.0, 0.5, 0.1), Link(2.0, 2.0, 1.0, 0.7), Link(2.0, 2.0, 1.0, 0.7), ground=(2.0, 0.0))
    q = assemble(robot, [0.5, 0.3, 1.2]).q
    v = assemble_velocities(robot, q, [9.0, 0.0, 0.0])
    best = Baumgarte.for_step(STEP, RK4())
    ways = {
        "none": StabilisationMethod(None),
        "Baumgarte, α = β = 10 1/s": StabilisationMethod(Baumgarte()),
        "Baumgarte.for_step": StabilisationMethod(best),
        "energies, α = β = 100 1/s": StabilisationMethod(
            Energies.quadratic(mass=np.eye(2), stiffness=1e4 * np.eye(2), damping=2e2 * np.eye(2))
        ),
        "projection, and α = β = 10 1/s": StabilisationMethod(Baumgarte(), Projected()),
    }
    results = compare_stabilisation(robot, ways, q, v, span, step=STEP, rounds=5)
    print(
        f"{span:g} s, {round(span / STEP)} steps; Baumgarte.for_step gives α = {best.gains['alpha']:.0f}, "
        f"β = {best.gains['beta']:.0f} 1/s"
    )
    print(table(results))
    if len(sys.argv) > 2:
        plot(results).savefig(Path(sys.argv[2]))


if __name__ == "__main__":
    main()
