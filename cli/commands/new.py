"""``erugin new``: a Python file with a scenario to begin with."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from rich.console import Console

from ...symbolic.errors import ModelError
from ..command import OK, Commands

TEMPLATE = "template.txt"


def register(commands: Commands) -> None:
    """Add the command's parser.

    Args:
        commands: of the program's parser.
    """
    said = "write a scenario of your own to begin with"
    parser = commands.add_parser("new", help=said, description=said, allow_abbrev=False)
    parser.add_argument("file", help="the Python file to write, such as mine.py")
    parser.set_defaults(run=run)


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Write the file.

    Args:
        console: tells what to do next.
        errors: for what goes wrong.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        ModelError: if the file is there already, has another ending, or cannot be written.
    """
    path = Path(chosen.file)
    if path.suffix != ".py":
        raise ModelError(f"a scenario is a Python file, whose name ends in .py, got {str(path)!r}")
    write_new(path, template())
    console.print(f"{path} is written. Next:", markup=False, soft_wrap=True)
    console.print(f"  erugin run {path}", markup=False, soft_wrap=True)
    console.print(f"  erugin list {path}", markup=False, soft_wrap=True)
    return OK


def template() -> str:
    """The text of a scenario that runs as it is."""
    return files(__name__.rpartition(".")[0]).joinpath(TEMPLATE).read_text(encoding="utf-8")


def write_new(path: Path, text: str) -> None:
    """Write a file that was not there, whole or not at all.

    Args:
        path: of the file.
        text: what is written.

    Raises:
        ModelError: if it is there, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:
            try:
                file.write(text)
                file.flush()
            except BaseException:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError as error:
        raise ModelError(f"{str(path)!r} is there already, and stays as it is: give another name") from error
    except OSError as error:
        raise ModelError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
