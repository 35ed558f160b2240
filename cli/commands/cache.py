"""``erugin cache``: show the folder, number, size and age of compiled kernels, or remove them."""

from __future__ import annotations

import argparse
import math
import time

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...symbolic.cache import cached_libraries, delete_libraries, has_free_space, persistent_directory, size_limit
from ...symbolic.compiler import find_compiler
from ...symbolic.errors import ModelError
from ..command import OK

ACTIONS = ("show", "clear")


def show_cache(console: Console) -> None:
    """Print the folder, its contents, and the compiler.

    Args:
        console: console to print on.

    Raises:
        ModelError: if ERUGIN_CACHE_LIMIT is not a positive number.
    """
    limit, folder, toolchain = size_limit(), persistent_directory(), find_compiler()
    rows: list[tuple[str, str]] = []
    if isinstance(folder, str):
        rows.append(("folder", f"none: {folder}; each process compiles its kernels again"))
    else:
        found = list(cached_libraries(folder))
        size = _mebibytes(sum(one.size for one in found))
        most = "no limit" if math.isinf(limit) else f"the limit is {_mebibytes(limit)}"
        rows += [("folder", str(folder)), ("kernels", str(len(found))), ("size", f"{size}, {most}")]
        if found:
            used = [one.used for one in found]
            rows.append(("last used", f"{_minute(max(used))}, the oldest {_minute(min(used))}"))
        if not has_free_space(folder):
            rows.append(("room", "none, the folder is full or read-only: each process compiles missing kernels again"))
    if isinstance(toolchain, str):
        rows.append(("compiler", f"none: {toolchain}; kernels run in CasADi's virtual machine"))
    else:
        rows.append(("compiler", f"{' '.join(toolchain.command)}, {toolchain.version}"))
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, text in rows:
        table.add_row(name, Text(text, overflow="fold"))
    console.print(table)


def clear_cache(console: Console) -> None:
    """Delete all compiled kernels, and nothing else.

    Args:
        console: console for what was deleted.

    Raises:
        ModelError: if a kernel cannot be deleted.
    """
    folder = persistent_directory()
    if isinstance(folder, str):
        console.print(f"there is no cache to clear: {folder}", markup=False, soft_wrap=True)
        return
    try:
        gone = delete_libraries(folder)
    except OSError as error:
        raise ModelError(f"cannot delete {error.filename or folder}: {error.strerror or error}") from error
    size = _mebibytes(sum(one.size for one in gone))
    kernels = "1 kernel" if len(gone) == 1 else f"{len(gone)} kernels"
    console.print(f"{folder}: {kernels} deleted, {size}", markup=False, soft_wrap=True)


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:.4g} MiB"


def _minute(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


SUMMARY = "show the compiled kernels on disk, or clear them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("action", nargs="?", choices=ACTIONS, default=ACTIONS[0], help="default: show")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Show or clear the cache.

    Args:
        console: console for the table.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        ModelError: if a kernel cannot be deleted.
    """
    (clear_cache if chosen.action == "clear" else show_cache)(console)
    return OK
