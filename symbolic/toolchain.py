"""The system's C compiler: found once, asked for its version, called without a shell."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Generated code is straight-line: measured, -O2 doubles the time of compilation for a seventh in speed.
# Contraction into fused multiply-adds is off so that compiled kernels and the virtual machine round alike.
FLAGS = ("-O1", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared")
TIME_LIMIT = 600.0


@dataclass(frozen=True)
class Toolchain:
    """A working C compiler.

    Attributes:
        command: the compiler and any words that belong to it (such as ``ccache gcc``).
        version: what it says of itself; with the flags and the processor part of the key of the cache.
    """

    command: tuple[str, ...]
    version: str

    def key(self, source: str) -> str:
        """Hash of everything that the machine code depends on."""
        parts = (source, *self.command, self.version, *FLAGS, processor())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def compile(self, source: str, target: Path) -> None:
        """Compile C text into the shared library ``target``.

        The text goes through standard input, so no source file with a guessable name ever exists.

        Raises:
            OSError: if the compiler cannot be started.
            subprocess.SubprocessError: if it fails or exceeds its time limit.
        """
        subprocess.run(
            [*self.command, *FLAGS, "-x", "c", "-", "-o", os.fspath(target), "-lm"],
            input=source,
            text=True,
            capture_output=True,
            check=True,
            timeout=TIME_LIMIT,
        )


@functools.cache
def find_toolchain() -> Toolchain | str:
    """The compiler named by ERUGIN_CC or CC, else cc, gcc or clang; a sentence that says why there is none."""
    variable = next((name for name in ("ERUGIN_CC", "CC") if os.environ.get(name, "").strip()), None)
    if variable is None:
        found = [_try((name,)) for name in ("cc", "gcc", "clang")]
        working = [toolchain for toolchain in found if isinstance(toolchain, Toolchain)]
        return working[0] if working else "no C compiler was found; install gcc or clang, or name one by ERUGIN_CC"
    chosen = os.environ[variable].strip()
    if chosen.lower() == "none":
        return f"no C compiler is wanted ({variable} is none)"
    try:
        words = tuple(shlex.split(chosen))
    except ValueError as error:
        return f"{variable} is {chosen!r}: {error}"
    toolchain = _try(words)
    return toolchain if isinstance(toolchain, Toolchain) else f"{variable} is {chosen!r}: {toolchain}"


def _try(words: tuple[str, ...]) -> Toolchain | str:
    """The compiler that these words call, or why it does not work."""
    path = shutil.which(words[0])
    if path is None:
        return "there is no such program"
    command = (path, *words[1:])
    try:
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=30.0)
    except (OSError, subprocess.SubprocessError) as error:
        return f"it does not tell its version ({error})"
    return Toolchain(command, answer.stdout.splitlines()[0] if answer.stdout else "")


@functools.cache
def processor() -> str:
    """What ``-march=native`` depends on: the architecture and, on Linux, the processor's feature flags."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.system()} {platform.machine()} {features}"
