"""Machine instructions of a compiled kernel, counted by ``valgrind --tool=callgrind``: no noise touches them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erugin.symbolic.compiler import Compiler, find_compiler

Array = NDArray[np.float64]
FEW, MANY = 20, 120
SETTINGS = {"ERUGIN_CFLAGS": "-march=x86-64-v3", "ERUGIN_LANES": "4"}
"""With which kernels must be made in a process before they are counted: valgrind does not know AVX-512."""


def available() -> bool:
    """True if valgrind and a compiler are installed."""
    return shutil.which("valgrind") is not None and isinstance(find_compiler(), Compiler)


def instructions(library: Path, name: str, inputs: Sequence[Array], outputs: Sequence[int]) -> tuple[float, float]:
    """Instructions of one call, and the first number of its last output.

    The difference of two runs is counted, of few and of many calls, so that loading does not matter.

    Args:
        library: that holds the kernel.
        name: of the function in it.
        inputs: its arguments.
        outputs: the size of each of its results.

    Raises:
        RuntimeError: if the driver or valgrind fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        driver, numbers = Path(folder) / "driver", Path(folder) / "numbers"
        _build(driver)
        lines = [str(len(inputs)), *(f"{x.size} {' '.join(map(repr, x.ravel('F').tolist()))}" for x in inputs)]
        numbers.write_text("\n".join([*lines, str(len(outputs)), *map(str, outputs)]), encoding="utf-8")
        few, _ = _count([str(driver), str(library), name, str(FEW), str(numbers)], folder)
        many, first = _count([str(driver), str(library), name, str(MANY), str(numbers)], folder)
    return (many - few) / (MANY - FEW), first


def _build(driver: Path) -> None:
    toolchain = find_compiler()
    if not isinstance(toolchain, Compiler):
        raise RuntimeError(toolchain)
    source = Path(__file__).with_name("driver.c")
    _run([*toolchain.command, "-O1", str(source), "-o", str(driver), "-ldl"])


def _count(command: Sequence[str], folder: str) -> tuple[int, float]:
    out = os.path.join(folder, "callgrind.out")
    answer = _run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *command])
    found = re.search(r"^(?:summary|totals): (\d+)", Path(out).read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise RuntimeError(f"callgrind reported no number of instructions: {answer.stderr}")
    return int(found[1]), float(answer.stdout)


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"{command[0]} failed ({answer.returncode}): {answer.stderr.strip()[-500:]}")
    return answer
