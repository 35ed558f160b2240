"""``erugin new``: write a Python file with an example scenario."""

from __future__ import annotations

import argparse
from importlib.resources import files
from pathlib import Path

from rich.console import Console

from ...symbolic.errors import ModelError
from ..command import OK

TEMPLATE = "template.txt"


SUMMARY = "write an example scenario to start from"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("file", help="the Python file to write, such as mine.py")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Write the file.

    Args:
        console: console for the next steps.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        ModelError: if the file exists, has another suffix, or cannot be written.
    """
    path = Path(chosen.file)
    if path.suffix != ".py":
        raise ModelError(f"the file must end in .py, got {str(path)!r}")
    write_new(path, template())
    console.print(f"{path} has been written. Next:", markup=False, soft_wrap=True)
    console.print(f"  erugin run {path}", markup=False, soft_wrap=True)
    console.print(f"  erugin list {path}", markup=False, soft_wrap=True)
    return OK


def template() -> str:
    """Return the text of an example scenario."""
    return files(__name__.rpartition(".")[0]).joinpath(TEMPLATE).read_text(encoding="utf-8")


def write_new(path: Path, text: str) -> None:
    """Write a new file, atomically.

    Args:
        path: path of the file.
        text: content of the file.

    Raises:
        ModelError: if it exists, or cannot be written.
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
        raise ModelError(f"{str(path)!r} already exists and was not changed: choose another name") from error
    except OSError as error:
        raise ModelError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
