"""``erugin export``: a scenario's law, closed loop or plant as a file of another program."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from ...scenarios.commands.choose import choose, own_lines
from ...scenarios.commands.command import BAD_INPUT, OK, STOPPED, Commands, require_writable
from ...scenarios.commands.pairs import pairs_of
from ...symbolic.errors import BridgeError, unknown_name
from .formats import FORMATS, MODELS, VERSIONS, WHATS, Asked


def register(commands: Commands) -> None:
    """Add the command's parser.

    Args:
        commands: of the program's parser.
    """
    said = "write a scenario's law, closed loop or plant for another program"
    parser = commands.add_parser("export", help=said, description=said, allow_abbrev=False)
    parser.add_argument("name", help="a scenario of 'erugin list', or a Python file of your own")
    parser.add_argument("--scenario", metavar="NAME", help="which scenario of the file, if it has several")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="a setting or parameter of 'erugin list NAME'; may be repeated",
    )
    formats = "; ".join(f"{name}: {form.said}" for name, form in FORMATS.items())
    parser.add_argument("--to", metavar="FORMAT", help=formats)
    parser.add_argument("--c", action="store_const", dest="to", const="c", help="the same as --to c")
    parser.add_argument(
        "--what", metavar="PART", help=f"one of {', '.join(WHATS)} (default: the plant as mjcf and urdf, else the law)"
    )
    parser.add_argument("--fmi", metavar="VERSION", help=f"of an FMU, one of {', '.join(VERSIONS)} (default: 3.0)")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help=f"leave out what {' or '.join(MODELS)} has no counterpart for, by its name; may be repeated",
    )
    parser.add_argument("--out", metavar="PATH", help="the file, or for C the folder (default: out/NAME.…)")
    parser.add_argument("--overwrite", action="store_true", help="replace a folder of C that was exported before")
    parser.set_defaults(run=run, refuse=parser.error)


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Write what was chosen.

    Args:
        console: for what was written.
        errors: for what goes wrong.
        chosen: words of the command line.

    Returns:
        0; 1 if it could not be written.

    Raises:
        EruginError: for bad input.
    """
    to: str | None = chosen.to
    if to is None:
        chosen.refuse(f"say for what: --to {'|'.join(FORMATS)}")
        return BAD_INPUT
    for given, known, kind in ((to, FORMATS, "format"), (chosen.what, WHATS, "part of a motion")):
        if given is not None and given not in known:
            raise BridgeError(unknown_name(kind, given, known))
    if chosen.fmi is not None and to != "fmu":
        raise BridgeError(f"--fmi is the version of an FMU, and {to} has none: leave it out, or say --to fmu")
    if chosen.ignore and to not in MODELS:
        raise BridgeError(f"--ignore leaves a part of a robot out of {' or '.join(MODELS)}: {to} takes all of it")
    if chosen.fmi not in (None, *VERSIONS):
        raise BridgeError(unknown_name("version of FMI", chosen.fmi, VERSIONS))
    form = FORMATS[to]
    what = chosen.what or form.whats[0]
    if what not in form.whats:
        fit = " or ".join(f"--to {name}" for name, other in FORMATS.items() if what in other.whats)
        raise BridgeError(f"{to} takes {' or '.join(form.whats)}, not the {what}: say {fit}")
    scenario = choose(chosen.name, chosen.scenario)
    name = scenario.scenario.name
    out = Path(chosen.out) if chosen.out is not None else Path("out") / f"{name}{form.ending}"
    if not form.is_folder and out.is_dir():
        raise BridgeError(f"{str(out)!r} is a folder, and {to} is one file: give its name, --out {out / name}…")
    if form.is_folder and not chosen.overwrite and out.is_dir() and any(out.iterdir()):
        raise BridgeError(f"{str(out)!r} is not empty: give another folder by --out, or replace it by --overwrite")
    with own_lines(scenario.file):
        with console.status("building"):
            setup = scenario.scenario.prepare(pairs_of("--set", chosen.set))
        asked = Asked(setup, name, what, out, chosen.fmi or VERSIONS[0], chosen.overwrite, tuple(chosen.ignore))
        asked.require()
        require_writable(out.parent)
        try:
            with console.status("writing"):
                form.write(asked)
        except OSError as error:
            errors.print(f"cannot write {out}: {error.strerror or error}", markup=False, soft_wrap=True)
            return STOPPED
    files = sorted(file for file in out.rglob("*") if file.is_file()) if form.is_folder else [out]
    for file in files:
        console.print(f"{file}: {file.stat().st_size:,} bytes", markup=False, soft_wrap=True)
    return OK
