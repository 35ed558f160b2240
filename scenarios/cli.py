"""The command line: ``erugin list``, ``erugin run NAME``, ``erugin derive``, ``erugin cache``, ``erugin --version``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ..symbolic.errors import EruginError, ModelError
from .cache_command import ACTIONS, clear_cache, show_cache
from .derivation import FAMILIES
from .scenario import Scenario, Setup, find
from .simulation_errors import SimulationError, SimulationInterrupted
from .trajectory import Trajectory

OK, STOPPED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: words after the program's name; those of the process if not given.

    Returns:
        0 if all went well, 1 if a simulation had to stop, 2 for bad input, 130 after Ctrl-C.
    """
    console, errors = Console(highlight=False), Console(stderr=True, highlight=False)
    parser = _parser()
    chosen = parser.parse_args(arguments)

    def note(message: Warning | str, *_: object, **__: object) -> None:
        errors.print(f"note: {message}", markup=False, soft_wrap=True)

    try:
        with warnings.catch_warnings():
            warnings.showwarning = note
            if chosen.command == "list":
                return _list(console, chosen.name)
            if chosen.command == "run":
                return _run(console, errors, chosen.name, chosen.set, Path(chosen.out))
            if chosen.command == "cache":
                (clear_cache if chosen.action == "clear" else show_cache)(console)
                return OK
            if chosen.command == "derive":
                from .derive_command import derive  # late, for it brings matplotlib

                out = Path(chosen.out)
                _require_writable(out)
                derive(console, chosen.robot, chosen.links, chosen.up_to, out, equations=chosen.equations)
                return OK
        parser.print_help()
    except EruginError as error:
        errors.print("[red]error:[/]", end=" ")
        errors.print(str(error), markup=False, soft_wrap=True)
        return BAD_INPUT
    except KeyboardInterrupt:
        errors.print("interrupted, nothing written")
        return INTERRUPTED
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="erugin", description="Control of robots by constraints.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"erugin {version('erugin')}")
    commands = parser.add_subparsers(dest="command", metavar="command")
    listing = commands.add_parser("list", help="list the scenarios, or the settings of one", allow_abbrev=False)
    listing.add_argument("name", nargs="?", help="a scenario")
    run = commands.add_parser("run", help="run a scenario and draw its pictures", allow_abbrev=False)
    run.add_argument("name", help="a scenario of 'erugin list'")
    run.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="a setting or parameter of 'erugin list NAME'; may be repeated",
    )
    run.add_argument("--out", default="out", metavar="DIR", help="folder for the pictures (default: out)")
    costs = commands.add_parser("derive", help="compare ways to derive the equations of motion", allow_abbrev=False)
    costs.add_argument("--robot", default="exoskeleton", metavar="NAME", help=f"one of {', '.join(FAMILIES)}")
    costs.add_argument("--links", type=int, default=3, metavar="N", help="links in the first table (default: 3)")
    costs.add_argument("--up-to", type=int, default=30, metavar="N", help="most links in the others (default: 30)")
    costs.add_argument("--equations", action="store_true", help="print the equations of motion too")
    costs.add_argument("--out", default="out", metavar="DIR", help="folder for the picture (default: out)")
    cache = commands.add_parser("cache", help="show the compiled kernels on disk, or clear them", allow_abbrev=False)
    cache.add_argument("action", nargs="?", choices=ACTIONS, default=ACTIONS[0], help="default: show")
    return parser


def _list(console: Console, name: str | None) -> int:
    from .catalogue import SCENARIOS  # late, for its pictures bring matplotlib

    if name is None:
        table = Table("scenario", "what it shows", box=None, pad_edge=False)
        for scenario in SCENARIOS:
            table.add_row(scenario.name, scenario.summary)
        console.print(table)
        return OK
    scenario = find(name, SCENARIOS)
    console.print(scenario.summary, soft_wrap=True)
    table = Table("setting", "default", "meaning", box=None, pad_edge=False)
    for key, setting in scenario.settings.items():
        choices = f" ({', '.join(setting.words)})" if setting.words else ""
        table.add_row(key, str(setting.value), Text(setting.meaning + choices))
    console.print(table)
    table = Table("parameter", "nominal", box=None, pad_edge=False)
    for key, value in scenario.controller.parameters.nominal.items():
        table.add_row(key, f"{value:g}")
    console.print(table)
    return OK


def _run(console: Console, errors: Console, name: str, pairs: Sequence[str], out: Path) -> int:
    from .catalogue import SCENARIOS  # late, for its pictures bring matplotlib

    scenario = find(name, SCENARIOS)
    given: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key or not value:
            raise ModelError(f"--set takes key=value, got {pair!r}")
        if key in given:
            raise ModelError(f"--set gives {key} more than once")
        given[key] = value
    with console.status("building and compiling"):
        setup = scenario.prepare(given)
    _require_writable(out)
    trajectory, code = _simulate(console, errors, setup)
    if len(trajectory) < 2:
        errors.print("there are too few samples for pictures")
        return code
    table = Table(box=None, pad_edge=False, show_header=False)
    for measure in scenario.measure(trajectory):
        table.add_row(measure.name, measure.text)
    console.print(table)
    return max(code, _draw(console, errors, scenario, trajectory, out))


def _simulate(console: Console, errors: Console, setup: Setup) -> tuple[Trajectory, int]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("simulating", total=1.0)
        try:
            trajectory = setup.run(lambda share: progress.update(task, completed=share))
            progress.update(task, completed=1.0)
            return trajectory, OK
        except SimulationError as error:
            errors.print("[red]stopped[/]", end=" ")
            errors.print(f"{error} What was computed is kept.", markup=False, soft_wrap=True)
            return error.trajectory, STOPPED
        except SimulationInterrupted as interrupt:
            errors.print(f"{interrupt}; what was computed is kept", markup=False)
            return interrupt.trajectory, INTERRUPTED


def _draw(console: Console, errors: Console, scenario: Scenario, trajectory: Trajectory, out: Path) -> int:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    pictures = scenario.pictures()
    written: list[str] = []
    try:
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("drawing", total=len(pictures))
            for name, draw in pictures.items():
                draw(trajectory, out / name)
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


def _require_writable(folder: Path) -> None:
    """Find out before the simulation whether its pictures can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ModelError(f"cannot write to the folder {str(folder)!r}: {error.strerror or error}") from error


if __name__ == "__main__":
    sys.exit(main())
