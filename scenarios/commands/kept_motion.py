"""A motion kept on disk: its pictures, and itself if that is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from .command import INTERRUPTED, OK, STOPPED

if TYPE_CHECKING:
    from ..setup import Draw, Motion

SAVED = "motion.npz"


def keep_motion(
    console: Console, errors: Console, pictures: Mapping[str, Draw], motion: Motion, out: Path, *, save: bool
) -> int:
    """Draw a motion, and save it.

    Args:
        console: for progress, and what was written.
        errors: for what goes wrong.
        pictures: file name → what draws it.
        motion: what came of a run.
        out: folder for the files.
        save: whether the motion itself is saved.

    Returns:
        0; 1 if a file could not be written; 130 after Ctrl-C.
    """
    if len(motion) < 2:
        errors.print("there are too few samples for pictures")
        return OK
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    written: list[str] = []
    try:
        if save:
            motion.save(out / SAVED)
            written.append(SAVED)
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("drawing", total=len(pictures))
            for name, draw in pictures.items():
                draw(motion, out / name)
                written.append(name)
                progress.advance(task)
    except OSError as error:
        errors.print(f"a picture could not be written: {error}", markup=False, soft_wrap=True)
        return STOPPED
    except KeyboardInterrupt:
        errors.print("interrupted while drawing")
        return INTERRUPTED
    finally:
        console.print(f"{out}: {', '.join(written) or 'nothing written'}", markup=False, soft_wrap=True)
    return OK
