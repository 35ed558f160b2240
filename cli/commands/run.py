"""``erugin run``: run a scenario, or all of them, with measures and pictures."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from ...scenarios.lookup import ScenarioChoice, choose_scenario, locate_errors
from ...scenarios.setup import Draw, MeasuredValue, Motion, Setup
from ...simulation.hybrid.phase_record import PhasedSimulationError, PhasedSimulationInterrupted
from ...simulation.phased_trajectory import PhasedTrajectory
from ...simulation.trajectory import SimulationError, SimulationInterrupted
from ...symbolic.errors import EruginError, message_with_notes
from ..command import BAD_INPUT, INTERRUPTED, OK, STOPPED, pairs_of, require_writable
from ..motion_output import SAVED, is_ok, measured_table, status_lines, write_motion

SUMMARY = "run a scenario, print its measures, and draw its pictures"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("name", nargs="?", help="a scenario of 'erugin list', or your own Python file")
    parser.add_argument("--scenario", metavar="NAME", help="which scenario of the file, if it has several")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="a setting or parameter of 'erugin list NAME'; may be repeated",
    )
    parser.add_argument("--out", default="out", metavar="DIR", help="folder for the pictures (default: out)")
    parser.add_argument("--no-pictures", action="store_true", help="print measures only, without pictures")
    parser.add_argument("--save", action="store_true", help=f"save the motion too, as {SAVED}")
    parser.add_argument("--all", action="store_true", help="run all scenarios of the catalogue, with a folder for each")
    parser.set_defaults(refuse=parser.error)


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Run the chosen scenario, or all of them.

    Args:
        console: console for measures and progress.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0; 1 if a motion had to stop or a measure is not as expected; 2 for bad input; 130 after Ctrl-C.

    Raises:
        EruginError: for bad input.
    """
    out = Path(chosen.out)
    if chosen.all:
        if chosen.name is not None or chosen.scenario is not None or chosen.set:
            chosen.refuse("--all runs every scenario with its default settings: omit the name, --scenario and --set")
        return _run_all(console, errors, out, draw=not chosen.no_pictures, save=chosen.save)
    word: str | None = chosen.name
    if word is None:
        chosen.refuse("a scenario of 'erugin list', a Python file, or --all is required")
        return BAD_INPUT
    given, kept = pairs_of("--set", chosen.set), {"draw": not chosen.no_pictures, "save": chosen.save}
    return run_scenario(console, errors, choose_scenario(word, chosen.scenario), given, out, **kept)[0]


def run_scenario(
    console: Console,
    errors: Console,
    chosen: ScenarioChoice,
    given: Mapping[str, str],
    out: Path,
    *,
    draw: bool = True,
    save: bool = False,
) -> tuple[int, tuple[MeasuredValue, ...]]:
    """Run one scenario.

    Args:
        console: console for measures and progress.
        errors: console for errors.
        chosen: the scenario.
        given: settings and parameters by name.
        out: folder for the pictures.
        draw: True to draw pictures.
        save: True to save the motion, too.

    Returns:
        An exit code, and the measured values.

    Raises:
        EruginError: for bad input.
    """
    with locate_errors(chosen.file):
        with console.status("building and compiling"):
            setup = chosen.scenario.prepare(given)
        if draw or save:
            require_writable(out)
        motion, code = _simulate(console, errors, setup)
        if len(motion) < 2:
            errors.print("the motion has too few samples for pictures")
            return code, ()
        measured = setup.measure(motion)
    # Expected values are those of the default settings; but a run that is not OK is always compared with them.
    checked = code == OK and (not given or not is_ok(motion))
    if measured:
        console.print(measured_table(measured, checked=checked))
    for line in (*status_lines(motion), _duration_text(motion)):
        console.print(line, markup=False, soft_wrap=True)
    if checked and not all(one.as_expected for one in measured):
        code = STOPPED
    if not (draw or save):
        return code, measured
    with locate_errors(chosen.file):
        pictures: Mapping[str, Draw] = pictures_of(setup, motion) if draw else {}
        return max(code, write_motion(console, errors, pictures, motion, out, save=save)), measured


def pictures_of(setup: Setup, motion: Motion) -> Mapping[str, Draw]:
    """Return the setup's pictures, or a plot and an animation of the motion if it has none.

    Args:
        setup: the setup.
        motion: the motion.
    """
    if setup.pictures:
        return setup.pictures
    from ...views.stroboscope import default_pictures  # late, for it brings matplotlib

    return default_pictures(motion)


def _run_all(console: Console, errors: Console, out: Path, *, draw: bool, save: bool) -> int:
    from ...scenarios.catalogue import SCENARIOS  # late, for its pictures bring matplotlib

    codes: dict[str, int] = {}
    for scenario in SCENARIOS:
        console.print(f"\n[bold]{scenario.name}[/]: ", end="")
        console.print(scenario.summary, markup=False, soft_wrap=True)
        try:
            own = out / scenario.name
            codes[scenario.name] = run_scenario(
                console, errors, ScenarioChoice(scenario), {}, own, draw=draw, save=save
            )[0]
        except EruginError as error:
            errors.print("[red]error:[/]", end=" ")
            errors.print(message_with_notes(error), markup=False, soft_wrap=True)
            codes[scenario.name] = BAD_INPUT
        if codes[scenario.name] == INTERRUPTED:
            return INTERRUPTED
    failed = [name for name, code in codes.items() if code != OK]
    console.print(f"\n{len(codes) - len(failed)} of {len(codes)} scenarios ran as expected")
    if failed:
        errors.print(f"not as expected: {', '.join(failed)}", markup=False, soft_wrap=True)
    return max(codes.values(), default=OK)


def _simulate(console: Console, errors: Console, setup: Setup) -> tuple[Motion, int]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("simulating", total=1.0)
        try:
            motion = setup.run(lambda share: progress.update(task, completed=share))
            progress.update(task, completed=1.0)
            return motion, OK
        except (SimulationError, PhasedSimulationError) as error:
            errors.print("[red]stopped[/]", end=" ")
            errors.print(f"{error} The motion so far is kept.", markup=False, soft_wrap=True)
            return error.trajectory, STOPPED
        except (SimulationInterrupted, PhasedSimulationInterrupted) as interrupt:
            errors.print(f"{interrupt}; the motion so far is kept", markup=False)
            return interrupt.trajectory, INTERRUPTED


def _duration_text(motion: Motion) -> str:
    """Return the durations of the motion and of its computation, and the ending."""
    segments = motion.segments if isinstance(motion, PhasedTrajectory) else (motion,)
    wall, span = sum(segment.wall_time for segment in segments), float(motion.t[-1] - motion.t[0])
    return f"{span:.3f} s simulated in {wall:.3f} s, {span / max(wall, 1e-9):.0f} times real time; {motion.ending}"
