"""A user's scenario is sent to another process by value, and is there what it was."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

FILE = '''
from __future__ import annotations

from typing import Literal

import cloudpickle

from erugin.robots import Link, planar_manipulator
from erugin.scenarios import Setup, scenario


@scenario("swing")
def swing(*, duration: float = 0.1, way: Literal["up", "down"] = "up") -> Setup:
    """A swing.

    Args:
        duration: of the motion [s].
        way: where it starts.
    """
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.01)])
    return Setup(arm, None, [1.5 if way == "up" else -1.5], [0.0], duration, 1e-3)


if __name__ == "__main__":
    print(cloudpickle.dumps(swing).hex())
'''


@pytest.mark.parametrize("annotations", ["from __future__ import annotations", ""])
def test_settings_are_sent_with_the_function(tmp_path: Path, annotations: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE.replace("from __future__ import annotations", annotations), encoding="utf-8")
    told = subprocess.run([sys.executable, "-P", str(file)], capture_output=True, text=True, timeout=120.0, check=True)
    found = pickle.loads(bytes.fromhex(told.stdout))
    assert found.name == "swing"
    assert found.settings["way"].words == ("up", "down")
    assert found.settings["duration"].meaning == "of the motion [s]."
    assert found.prepare({"way": "down", "duration": "0.2"}).q0 == [-1.5]
    assert found(duration=0.2).duration == 0.2
    assert found.summary == "A swing."
