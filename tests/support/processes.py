"""Processes that build kernels with a cache and a compiler of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import casadi as ca
import pytest

from erugin.symbolic import Kernel
from erugin.symbolic.compiler import find_compiler

PROGRAM = """
import sys, warnings
import casadi as ca
from erugin.symbolic import Kernel, CompilerWarning
x = ca.SX.sym("x", 2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    kernels = [Kernel(f"k{i}", {"x": x}, {"y": (i + 2) * ca.sin(x) + x[0] * x[1]}) for i in range(int(sys.argv[1]))]
print(*(kernel.compiled for kernel in kernels))
print(*(float(number).hex() for kernel in kernels for number in kernel([0.3, -1.7])[0]))
for warning in caught:
    print(issubclass(warning.category, CompilerWarning), *str(warning.message).split())
"""


def environment(cache: Path, **variables: str | Path) -> dict[str, str]:
    """The variables of this process, with another cache and without a chosen compiler."""
    kept = {key: value for key, value in os.environ.items() if key not in {"CC", "ERUGIN_CC"}}
    return kept | {"ERUGIN_CACHE_DIR": str(cache)} | {key: str(value) for key, value in variables.items()}


def start(
    variables: Mapping[str, str], kernels: int = 1, code: str = PROGRAM, *, session: bool = False
) -> subprocess.Popen[str]:
    """A process that builds and evaluates some kernels; in a session of its own it can be killed with its compiler."""
    command = [sys.executable, "-P", "-c", code, str(kernels)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=dict(variables), stdout=pipe, stderr=pipe, text=True, start_new_session=session
    )


def finish(process: subprocess.Popen[str]) -> tuple[list[str], list[str], list[str]]:
    """Lines with the state of each kernel (compiled or not), the numbers, and the warnings."""
    output, errors = process.communicate(timeout=120.0)
    assert process.returncode == 0, errors
    assert errors == ""
    compiled, values, *warned = output.splitlines()
    return compiled.split(), values.split(), warned


def build(cache: Path, kernels: int = 1, **variables: str | Path) -> tuple[list[str], list[str], list[str]]:
    """Output of a process that builds some kernels with this cache."""
    return finish(start(environment(cache, **variables), kernels))


def values_here(kernels: int) -> list[str]:
    """Numbers that such a process should compute."""
    x = ca.SX.sym("x", 2)
    found = [
        Kernel(f"k{i}", {"x": x}, {"y": (i + 2) * ca.sin(x) + x[0] * x[1]}, compiled=False) for i in range(kernels)
    ]
    return [float(number).hex() for kernel in found for number in kernel([0.3, -1.7])[0]]


def write_script(path: Path, text: str) -> Path:
    """A shell script that can be run."""
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """A compiler that writes down each of its calls; those that compile have the word -shared."""
    toolchain = find_compiler()
    if isinstance(toolchain, str):
        pytest.skip(toolchain)
    command = " ".join(f"'{word}'" for word in toolchain.command)
    return write_script(tmp_path / "counting-cc", f'echo "$@" >> \'{tmp_path}/calls\'\nexec {command} "$@"')


def count_calls(compiler: Path) -> int:
    """Number of compilations."""
    log = compiler.parent / "calls"
    return sum("-shared" in line for line in log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def libraries(cache: Path) -> list[Path]:
    """Files of the cache: complete libraries only, and the time of the last cleanup."""
    found = sorted(file for file in cache.rglob("*") if not file.is_dir() and file.name != "swept")
    assert all(file.suffix == ".so" and file.parent.parent == cache for file in found)
    assert list(cache.glob("building-*")) == []
    return found
