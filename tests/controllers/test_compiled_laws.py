"""Every controller in machine code is what it is in CasADi's virtual machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ..support.controller_cases import BUILDERS
from ..support.project import ROOT

pytestmark = [pytest.mark.compiled, pytest.mark.slow]
Results = dict[str, NDArray[np.float64]]


def run(path: Path, **variables: str) -> Results:
    """Ticks of all controllers, from a process with these variables in its environment."""
    command = [sys.executable, "-P", "-m", "tests.support.law_ticks", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=280)
    with np.load(path) as found:
        return dict(found)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Results, int]:
    """Ticks in machine code, those of the virtual machine, and the number of compiled kernels."""
    folder = tmp_path_factory.mktemp("ticks")
    cache = folder / "cache"
    compiled = run(folder / "compiled.npz", ERUGIN_CACHE_DIR=str(cache))
    return compiled, run(folder / "interpreted.npz", ERUGIN_CC="none"), len(list(cache.rglob("*.so")))


@pytest.mark.parametrize("name", [cls.__name__ for cls in BUILDERS])
def test_ticks_of_machine_code_and_of_the_virtual_machine(results: tuple[Results, Results, int], name: str) -> None:
    compiled, interpreted, _ = results
    np.testing.assert_allclose(
        compiled[name], interpreted[name], rtol=0.0, atol=1e-9 * max(1.0, np.abs(interpreted[name]).max())
    )


def test_kernels_were_compiled(results: tuple[Results, Results, int]) -> None:
    assert results[2] > 20
