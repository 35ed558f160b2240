"""The machine and the versions that figures were taken with."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
import re
import resource
import sys
from pathlib import Path

from erugin.symbolic.compiler import find_compiler

PACKAGES = {
    "casadi": "CasADi",
    "numpy": "NumPy",
    "pin": "Pinocchio",
    "gymnasium": "Gymnasium",
    "mujoco": "MuJoCo",
    "exudyn": "Exudyn",
    "sympy": "SymPy",
}
LANES = (("avx512f", 8, "AVX-512"), ("avx2", 4, "AVX2"), ("avx", 4, "AVX"), ("sse2", 2, "SSE2"), ("asimd", 2, "NEON"))
ISSUED = 2
"""Arithmetic instructions on floating-point numbers that a core starts in a cycle."""


@functools.cache
def features() -> frozenset[str]:
    """The processor's own names for what it can do; empty where Linux does not tell."""
    return frozenset(_field("flags|Features").split())


def lanes() -> tuple[int, str]:
    """Number of doubles in a vector register, and the name of the instruction set."""
    return next(((count, name) for flag, count, name in LANES if flag in features()), (1, "no SIMD"))


def bound(operations: float, lanes: int = 1) -> float:
    """Seconds of so many operations at the peak rate and the nominal clock; NaN for an unknown clock.

    Args:
        operations: of one system.
        lanes: systems side by side, each instruction serving all of them.
    """
    clock = _field("cpu MHz")
    return operations / (ISSUED * lanes * float(clock) * 1e6) if clock else float("nan")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def machine() -> str:
    """Processor, cores and width of vectors in one line."""
    name = re.sub(r"\((R|TM)\)|CPU|Processor| +(?= )", "", _field("model name") or platform.processor()).strip()
    family = f", family {_field('cpu family')} model {_field('model')}" if _field("cpu family") else ""
    memory = f", {_total_memory() / 2**30:.0f} GiB" if _total_memory() else ""
    return f"{name}{family}, {cores()} cores, {lanes()[0]} doubles a vector ({lanes()[1]}){memory}"


@functools.cache
def versions() -> str:
    """Python, compiler and packages in one line."""
    toolchain = find_compiler()
    compiler = toolchain if isinstance(toolchain, str) else toolchain.version
    python = f"Python {'.'.join(map(str, sys.version_info[:3]))}"
    return ", ".join([f"{platform.system()} {platform.release().partition('-')[0]}", python, compiler, *_packages()])


def _packages() -> list[str]:
    found: list[str] = []
    for package, name in PACKAGES.items():
        try:
            found.append(f"{name} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {name}")
    return found


def peak_memory() -> float:
    """The most memory that this process has had, in MiB.

    Linux's VmHWM, which restarts with each program; ``getrusage`` would include the peak of the parent process.
    """
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB$", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    return float(found[1] if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1024.0


@functools.cache
def _field(pattern: str) -> str:
    """Entries of /proc/cpuinfo for the first processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(rf"^(?:{pattern})\s*: (.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _total_memory() -> int:
    names = getattr(os, "sysconf_names", {})
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if "SC_PHYS_PAGES" in names else 0
