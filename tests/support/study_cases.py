"""Studies of files of their own, run here and in other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from erugin.scenarios import Study
from erugin.scenarios.lookup import load_file
from erugin.scenarios.study.result_folder import BLANK, seal

FILES = Path(__file__).parent / "studies"
PENDULUM, PYTHON_LAW = FILES / "pendulum.py", FILES / "python_law.py"
# A shell that runs the tests in the background lets its children ignore Ctrl-C.
PROGRAM = (
    "import json, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "sys.path[:] = json.loads(sys.argv[1]); from erugin.cli.main import main; sys.exit(main(sys.argv[2:]))"
)


def load(file: Path = PENDULUM) -> Study:
    """The study of a file."""
    study = load_file(file).study
    assert isinstance(study, Study)
    return study


def data(folder: Path) -> dict[str, bytes]:
    """All files of results, by name."""
    tasks = folder / "tasks"
    return {str(file.relative_to(tasks)): file.read_bytes() for file in sorted(tasks.rglob("*")) if file.is_file()}


def rewrite_manifest(folder: Path, **changes: object) -> None:
    """A manifest with other content, whose digest is right."""
    file = folder / "manifest.json"
    output = {**json.loads(file.read_text(encoding="utf-8")), **changes, "digest": BLANK}
    file.write_bytes(seal(json.dumps(output).encode()))


def start(*words: str | Path, cwd: Path | None = None) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    paths = json.dumps([path or os.getcwd() for path in sys.path])
    command = [sys.executable, "-c", PROGRAM, paths, *map(str, words)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=cwd, env={**os.environ, "COLUMNS": "250"})


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Its exit code, output and errors."""
    output, errors = process.communicate(timeout=120.0)
    return process.returncode, output, errors


FATAL = """
import os
from erugin.robots import Link, planar_manipulator
from erugin.controllers import Controller, Tick
from erugin.scenarios.scenario import scenario
from erugin.scenarios.setup import Setup
from erugin.scenarios import Study

ROBOT = planar_manipulator([Link.point_mass(1.0, 1.0)])

class Fatal(Controller):
    robot = ROBOT
    def evaluate(self, t, q, v, p, memory):
        if q[0] > 0.5:
            os._exit(3)
        return Tick(0.0 * v)

@scenario("fatal")
def fatal() -> Setup:
    '''It ends the process.'''
    return Setup(ROBOT, None, [0.0], [0.0], 0.002, 1e-3)

study = Study(fatal, {"q0.q1": [0.0, 0.1, 1.0]}, {"fatal": lambda setup: Fatal()}, runs_per_task=1)
"""
