"""C text → a library that is loaded, or the reason why there is none."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .cache import compiled_library
from .compiler import Compiler, find_compiler
from .errors import ModelError

Loaded = TypeVar("Loaded")


def load_machine_code(
    identity: str, write: Callable[[], str], load: Callable[[Path], Loaded], *errors: type[Exception]
) -> Loaded | str:
    """What a shared library is loaded as; or why there is none, as a clause.

    Args:
        identity: tells the C text from any other.
        write: makes the C text; called only if the cache has no library of this identity.
        load: loads the library of a path.
        errors: what it raises for a file that is no such library.
    """
    toolchain = find_compiler()
    if isinstance(toolchain, str):
        return toolchain
    toolchain = toolchain.writing(write)
    reason = ""
    # Another process may clear the cache between the look for a library and its loading: the second try makes it anew.
    for _ in range(2):
        path = _compile_library(identity, toolchain)
        if isinstance(path, str):
            return path
        try:
            return load(path)
        except errors as error:
            # Where it cannot be removed, such as from a disk that is read-only, it is asked for twice.
            with contextlib.suppress(OSError):
                path.unlink()
            reason = f"what {toolchain.command[0]} made cannot be loaded{_loader_message(str(error), path)}"
    return reason


def _loader_message(said: str, path: Path) -> str:
    """What the system's loader has said of a file, in what may be a page on the ways that were tried."""
    _, found, rest = said.partition(f" {path}: ") if said.count("\n") else said.partition(f"{path}: ")
    return f": {rest.splitlines()[0]}" if found and rest.strip() else ""


def _compile_library(identity: str, toolchain: Compiler) -> Path | str:
    name = toolchain.command[0]
    try:
        return compiled_library(identity, toolchain)
    except subprocess.CalledProcessError as error:
        said = str(error.stderr).strip().splitlines() or [str(error)]
        # What comes first is often where it was, or a remark.
        errors = (line for line in said if not (line.endswith((":", ",")) or " warning: " in line or " note: " in line))
        return f"{name} failed: {next(errors, said[0])}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"{name}: {error}"
    except ModelError as error:  # an operation without C text
        return str(error)
