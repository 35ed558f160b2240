"""Memory does not grow with the number of tasks: not of those that wait, nor of those that are done."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .study_cases import PENDULUM

PROGRAM = """
import resource, sys
from pathlib import Path
from erugin.scenarios.lookup import load_file
from erugin.scenarios import Study

pendulum = load_file(Path(sys.argv[1])).pendulum
study = Study(pendulum, {"duration": [0.004]}, seeds=int(sys.argv[2]), runs_per_task=4, metrics=["error_rms"])
results = study.run(sys.argv[3], progress=False)
assert results.manifest["tasks"] == int(sys.argv[2]) // 4
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(seeds: int, folder: Path) -> float:
    """MiB that a process needs for a study of so many seeds."""
    program = f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM}"
    command = [sys.executable, "-c", program, str(PENDULUM), str(seeds), str(folder)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_tasks(tmp_path: Path) -> None:
    few, many = peak(200, tmp_path / "few"), peak(2400, tmp_path / "many")
    # Results alone would be some MiB more; the whole is about 200.
    assert many < few + 4.0
