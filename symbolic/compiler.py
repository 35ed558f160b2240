"""The system's C compiler: found once, identified by its version, called without a shell."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .errors import ModelError

# Contraction into fused multiply-adds is off: it gains a few per cent, and with it the last bits would depend on how
# many systems run side by side. GCC 12 still fuses a sum and a difference of products that are side by side where it
# makes vectors of straight-line code: that gains nothing here, and is off as well.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-tree-slp-vectorize", "-fno-math-errno", "-fPIC", "-shared")
COMPILE_TIME_LIMIT = 600.0


@dataclass(frozen=True)
class Compiler:
    """A working C compiler.

    Attributes:
        command: the compiler with its arguments (such as ``ccache gcc``).
        version: its version line; with the flags and the processor part of the key of the cache.
        flags: the user's flags, ERUGIN_CFLAGS; they come last and win.
        write: function that returns the C text to be compiled, if it is not the identity itself.
    """

    command: tuple[str, ...]
    version: str
    flags: tuple[str, ...] = ()
    write: Callable[[], str] | None = None

    def key(self, source: str) -> str:
        """Hash of everything that the machine code depends on."""
        parts = (source, *self.command, self.version, *FLAGS, *self.flags, processor_features())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def with_source(self, write: Callable[[], str]) -> Compiler:
        """Return the same compiler for a text that is written only if the cache has no library of its identity."""
        return dataclasses.replace(self, write=write)

    def compile(self, source: str, target: Path) -> None:
        """Compile C text into the shared library ``target``.

        The text goes through standard input, so no source file with a guessable name ever exists.

        Raises:
            OSError: if the compiler cannot be started.
            subprocess.SubprocessError: if it fails or exceeds its time limit.
        """
        source = source if self.write is None else self.write()
        subprocess.run(
            [*self.command, *FLAGS, *self.flags, "-x", "c", "-", "-o", os.fspath(target), "-lm"],
            input=source,
            encoding="utf-8",
            errors="replace",
            capture_output=True,
            check=True,
            timeout=COMPILE_TIME_LIMIT,
            # The remains of a killed compiler are then removed with the folder of its target.
            env={**os.environ, "TMPDIR": os.fspath(target.parent)},
        )


@functools.cache
def find_compiler() -> Compiler | str:
    """Return the compiler named by ERUGIN_CC or CC, else cc, gcc or clang; or the reason why none can be used."""
    text = os.environ.get("ERUGIN_CFLAGS", "")
    try:
        flags = tuple(shlex.split(text))
    except ValueError as error:
        return f"ERUGIN_CFLAGS is {text!r}: {error}"
    variable = next((name for name in ("ERUGIN_CC", "CC") if os.environ.get(name, "").strip()), None)
    if variable is None:
        found = (_probe_compiler((name,), flags) for name in ("cc", "gcc", "clang"))
        working = (compiler for compiler in found if isinstance(compiler, Compiler))
        return next(working, "no C compiler was found; install gcc or clang, or name one by ERUGIN_CC")
    chosen = os.environ[variable].strip()
    if chosen.lower() == "none":
        return f"C compilers are disabled ({variable}=none)"
    try:
        words = tuple(shlex.split(chosen))
    except ValueError as error:
        return f"{variable} is {chosen!r}: {error}"
    compiler = _probe_compiler(words, flags)
    return compiler if isinstance(compiler, Compiler) else f"{variable} is {chosen!r}: {compiler}"


def _probe_compiler(words: tuple[str, ...], flags: tuple[str, ...]) -> Compiler | str:
    """Return the compiler of a command, with the user's flags, or the reason why it does not work."""
    path = shutil.which(words[0])
    if path is None:
        return "there is no such program"
    command = (path, *words[1:])
    ask = [*command, "--version"]
    try:
        answer = subprocess.run(ask, capture_output=True, encoding="utf-8", errors="replace", check=True, timeout=30.0)
    except (OSError, subprocess.SubprocessError) as error:
        return f"it does not report its version ({error})"
    return Compiler(command, answer.stdout.splitlines()[0] if answer.stdout else "", flags)


@functools.cache
def processor_features() -> str:
    """Features that ``-march=native`` depends on: the architecture and, on Linux, the processor's feature flags."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), platform.processor())
    return f"{platform.system()} {platform.machine()} {features}"


@functools.cache
def vector_width() -> int:
    """Number of doubles in a vector of this processor: 8, 4 or 2; ERUGIN_LANES overrides it.

    Raises:
        ModelError: if ERUGIN_LANES is not one of 1, 2, 4, 8.
    """
    chosen = os.environ.get("ERUGIN_LANES", "").strip()
    if chosen:
        if chosen not in ("1", "2", "4", "8"):
            raise ModelError(f"ERUGIN_LANES must be 1, 2, 4 or 8, got {chosen!r}")
        return int(chosen)
    features = set(processor_features().split())
    if {"avx512f", "avx512dq"} <= features:
        return 8
    return 4 if "avx2" in features else 2
