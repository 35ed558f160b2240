"""FMUs in Ecos, a co-simulation engine in C++, in a process of its own.

What goes wrong inside Ecos ends its process, and what its FMUs say goes to its standard output.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LIMIT = 60.0
"""Time that a run may take [s]."""


@dataclass(frozen=True, eq=False)
class EcosRun:
    """Result of a run in Ecos.

    Attributes:
        values: of the variables that were read, at the start and after each step, shape (steps + 1, variables).
        log: log of Ecos and of the FMUs.
    """

    values: Array
    log: str


def run_in_ecos(
    models: Mapping[str, Path] | Path,
    read: Sequence[str],
    *,
    step: float,
    steps: int,
    connections: Iterable[tuple[str, str]] = (),
    values: Mapping[str, float] | None = None,
    changes: Iterable[tuple[int, str, float]] = (),
) -> EcosRun:
    """Run FMUs together.

    Args:
        models: FMUs by the name of the instance, or a system of FMUs as an SSP file.
        read: variables, ``"arm::q.q1"``.
        step: of communication [s].
        steps: how many.
        connections: pairs of an output and the input that follows it.
        values: of parameters and states at the start, by name.
        changes: after how many steps a variable is set, which one, and to what.
    """
    job = {
        "models": str(models) if isinstance(models, Path) else {name: str(path) for name, path in models.items()},
        "read": list(read),
        "step": step,
        "steps": steps,
        "connections": list(connections),
        "values": dict(values or {}),
        "changes": list(changes),
    }
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-P", __file__, str(result)]
        # What Ecos unpacks, and of an SSP file leaves behind, goes with the folder.
        done = subprocess.run(
            command,
            input=json.dumps(job),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            env={**os.environ, "TMPDIR": folder},
        )
        assert done.returncode == 0, f"Ecos ended with {done.returncode}: {done.stderr}{done.stdout[-2000:]}"
        rows: list[list[float]] = json.loads(result.read_text(encoding="utf-8"))
    found = np.array(rows)
    assert found.shape == (steps + 1, len(read))
    return EcosRun(found, done.stdout)


def load_threads() -> None:
    """Load oneTBB, which the library of Ecos needs and does not find by itself."""
    try:
        files = metadata.files("tbb") or ()
    except metadata.PackageNotFoundError as error:
        raise ImportError("ecospy needs oneTBB, for which it does not ask: pip install tbb") from error
    (library,) = (file for file in files if file.name == "libtbb.so.12")
    ctypes.CDLL(str(library.locate()), mode=ctypes.RTLD_GLOBAL)


def run_here(job: Mapping[str, Any]) -> list[list[float]]:
    """Run FMUs in this process; values of the variables that are read."""
    load_threads()
    from ecospy import EcosLib, EcosSimulation, EcosSimulationStructure

    EcosLib.set_log_level("debug")
    with ExitStack() as stack:
        if isinstance(job["models"], str):
            simulation = EcosSimulation(job["step"], ssp_path=job["models"])
        else:
            structure = stack.enter_context(EcosSimulationStructure())
            for name, path in job["models"].items():
                structure.add_model(name, path)
            for source, sink in job["connections"]:
                structure.make_real_connection(source, sink)
            structure.add_parameter_set("start", job["values"])
            simulation = EcosSimulation(job["step"], structure=structure)
        stack.enter_context(simulation)
        # A set that an SSP file brings along has the same name.
        if not simulation.init(parameter_set="start"):
            raise RuntimeError(EcosLib.get_last_error())
        rows: list[list[float]] = []
        for k in range(job["steps"] + 1):
            rows.append([simulation.get_real(name) for name in job["read"]])
            for when, name, value in job["changes"]:
                if when == k:
                    simulation.set_real(name, value)
            if k < job["steps"]:
                simulation.step()
        simulation.terminate()
    return rows


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(run_here(json.load(sys.stdin))), encoding="utf-8")
