"""Closed loops with the controller read from a file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ...simulation.simulate import simulate
from .controller_files import export, load

if TYPE_CHECKING:
    from ..common.cross_check_case import CrossCheckCase, Motion


def run_case(case: CrossCheckCase, step: float) -> Motion:
    """Write the controller to a file, read it back, and simulate with it."""
    setup, law = case.setup, case.controller
    with tempfile.TemporaryDirectory(prefix="erugin-law-") as folder:
        path = Path(folder) / "law.json"
        export(law, path)
        loaded = load(path, setup.robot)
    found = simulate(
        setup.robot, loaded, setup.q0, setup.v0, case.duration, step=step, p=setup.p, controller_p=setup.controller_p
    )
    return found.t, found.q
