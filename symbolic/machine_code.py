"""C text as a loaded library, or the reason why it cannot be one."""

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
    """Load a shared library; return what ``load`` returns, or the reason why there is no library, as a clause.

    Args:
        identity: text that distinguishes the C text from any other.
        write: function that returns the C text; called only if the cache has no library of this identity.
        load: function that loads the library at a path.
        errors: exceptions that it raises for a file that is not such a library.
    """
    compiler = find_compiler()
    if isinstance(compiler, str):
        return compiler
    compiler = compiler.with_source(write)
    reason = ""
    # Another process may clear the cache before the library is loaded: the second attempt compiles it again.
    for _ in range(2):
        path = _compile_library(identity, compiler)
        if isinstance(path, str):
            return path
        try:
            return load(path)
        except errors as error:
            # If it cannot be removed, as on a read-only disk, the second attempt fails in the same way.
            with contextlib.suppress(OSError):
                path.unlink()
            reason = f"the library made by {compiler.command[0]} cannot be loaded{_loader_message(str(error), path)}"
    return reason


def _loader_message(message: str, path: Path) -> str:
    """The system loader's message about a file, out of what may be a page on all its attempts."""
    _, found, rest = message.partition(f" {path}: ") if message.count("\n") else message.partition(f"{path}: ")
    return f": {rest.splitlines()[0]}" if found and rest.strip() else ""


def _compile_library(identity: str, compiler: Compiler) -> Path | str:
    name = compiler.command[0]
    try:
        return compiled_library(identity, compiler)
    except subprocess.CalledProcessError as error:
        lines = str(error.stderr).strip().splitlines() or [str(error)]
        # The first lines are often a location or a remark.
        errors = (
            line for line in lines if not (line.endswith((":", ",")) or " warning: " in line or " note: " in line)
        )
        return f"{name} failed: {next(errors, lines[0])}"
    except (OSError, subprocess.SubprocessError) as error:
        return f"{name}: {error}"
    except ModelError as error:  # an operation without C text
        return str(error)
