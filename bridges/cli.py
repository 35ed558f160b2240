"""The program ``erugin``: the commands of the scenarios, and those of the bridges."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..scenarios.cli import main as scenarios_main
from .commands import bridges, export


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: words after the program's name; those of the process if not given.

    Returns:
        0 if all went well, 1 if a simulation had to stop or is not as expected, 2 for bad input, 130 after Ctrl-C.
    """
    return scenarios_main(arguments, more=(export, bridges))


if __name__ == "__main__":
    sys.exit(main())
