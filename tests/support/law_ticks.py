"""Outputs and statuses of every controller along a given motion, written by a process of its own."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erugin.controllers import Controller

from .controller_cases import BUILDERS
from .controller_cases.robots import CASES, RobotCase, robot_case

TICKS = 20


def ticks(cls: type[Controller], case: RobotCase) -> NDArray[np.float64]:
    """Outputs and the status of each tick, shape (ticks, inputs + 1)."""
    controller = BUILDERS[cls](case)
    controller.reset()
    rows = []
    for k in range(TICKS):
        t, q = k * case.step, case.q0 + k * case.step * 0.1
        controller.advance(t, q, case.v0)
        rows.append([*controller.control(t, q, case.v0), float(controller.observe(t, q, case.v0).status)])
    return np.array(rows)


def main(path: Path) -> None:
    """Write an array for each controller, by its name."""
    warnings.simplefilter("ignore")
    cases = [robot_case(name) for name in CASES]
    served = {cls: next(case for case in cases if not cls.unsupported_reason(case.robot)) for cls in BUILDERS}
    found: dict[str, Any] = {cls.__name__: ticks(cls, case) for cls, case in served.items()}
    np.savez(path, **found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
