"""``erugin export``: write a scenario's law, closed loop or plant to a file for another program."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from ...bridges.common.bridge import ExportFormat, ExportRequest, Part, discover_bridges
from ...bridges.common.symbolic_law import saturated
from ...scenarios.lookup import choose_scenario, locate_errors
from ...symbolic.errors import BridgeError, unknown_name
from ..command import BAD_INPUT, OK, STOPPED, pairs_of, require_writable

PARTS: tuple[Part, ...] = ("law", "loop", "plant")
VERSIONS = ("3.0", "2.0")
"""Versions of FMI."""

SUMMARY = "write a scenario's law, closed loop or plant for another program"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("name", help="a scenario of 'erugin list', or your own Python file")
    parser.add_argument("--scenario", metavar="NAME", help="which scenario of the file, if it has several")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="a setting or parameter of 'erugin list NAME'; may be repeated",
    )
    formats = list_formats()
    descriptions = "; ".join(f"{name}: {form.description}" for name, form in formats.items())
    parser.add_argument("--to", metavar="FORMAT", help=descriptions)
    parser.add_argument("--c", action="store_const", dest="to", const="c", help="the same as --to c")
    parser.add_argument(
        "--what",
        metavar="PART",
        help=f"one of {', '.join(PARTS)} (default: the plant as {' and '.join(list_models())}, else the law)",
    )
    parser.add_argument("--fmi", metavar="VERSION", help=f"of an FMU, one of {', '.join(VERSIONS)} (default: 3.0)")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help=f"omit an element that {' or '.join(list_models())} cannot represent, by name; may be repeated",
    )
    parser.add_argument(
        "--saturate", action="store_true", help="limit the inputs of the law to those of the robot's actuators"
    )
    parser.add_argument("--out", metavar="PATH", help="path of the file, or for C of the folder (default: out/NAME.…)")
    parser.add_argument("--overwrite", action="store_true", help="replace a C folder of an earlier export")
    parser.set_defaults(refuse=parser.error)


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """Write the export.

    Args:
        console: console for the names of written files.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0; 1 if it could not be written.

    Raises:
        EruginError: for bad input.
    """
    formats = list_formats()
    to: str | None = chosen.to
    if to is None:
        chosen.refuse(f"a format is required: --to {'|'.join(formats)}")
        return BAD_INPUT
    for given, known, kind in ((to, formats, "format"), (chosen.what, PARTS, "part of a motion")):
        if given is not None and given not in known:
            raise BridgeError(unknown_name(kind, given, known))
    if chosen.fmi is not None and to != "fmu":
        raise BridgeError(f"--fmi requires --to fmu, got --to {to}: omit --fmi, or use --to fmu")
    if chosen.ignore and to not in list_models():
        raise BridgeError(f"--ignore requires --to {' or '.join(list_models())}, got --to {to}, which omits nothing")
    if chosen.fmi not in (None, *VERSIONS):
        raise BridgeError(unknown_name("version of FMI", chosen.fmi, VERSIONS))
    form = formats[to]
    what = chosen.what or form.parts[0]
    if what not in form.parts:
        fit = " or ".join(f"--to {name}" for name, other in formats.items() if what in other.parts)
        raise BridgeError(f"{to} supports {' or '.join(form.parts)}, not the {what}: use {fit}")
    scenario = choose_scenario(chosen.name, chosen.scenario)
    name = scenario.scenario.name
    out = Path(chosen.out) if chosen.out is not None else Path("out") / f"{name}{form.ending}"
    if not form.is_folder and out.is_dir():
        raise BridgeError(f"{str(out)!r} is a folder, but {to} is a single file: use --out {out / name}…")
    if form.is_folder and not chosen.overwrite and out.is_dir() and any(out.iterdir()):
        raise BridgeError(f"{str(out)!r} is not empty: choose another folder by --out, or replace it by --overwrite")
    with locate_errors(scenario.file):
        with console.status("building"):
            setup = scenario.scenario.prepare(pairs_of("--set", chosen.set))
        version, ignored = chosen.fmi or VERSIONS[0], tuple(chosen.ignore)
        request = ExportRequest(setup, name, what, out, version, chosen.overwrite, ignored)
        require_part(request)
        if chosen.saturate:
            if what == "plant":
                raise BridgeError("--saturate limits the inputs of a law, not of a plant: omit it")
            request = replace(request, setup=replace(setup, controller=saturated(request.controller)))
        require_writable(out.parent)
        try:
            with console.status("writing"):
                form.write(request)
        except OSError as error:
            errors.print(f"cannot write {out}: {error.strerror or error}", markup=False, soft_wrap=True)
            return STOPPED
    files = sorted(file for file in out.rglob("*") if file.is_file()) if form.is_folder else [out]
    for file in files:
        console.print(f"{file}: {file.stat().st_size:,} bytes", markup=False, soft_wrap=True)
    return OK


@functools.cache
def list_formats() -> Mapping[str, ExportFormat]:
    """Return the formats of all bridges by name, those that hold most parts first, and models before laws."""
    formats = {name: form for bridge in discover_bridges().values() for name, form in bridge.formats.items()}
    return dict(sorted(formats.items(), key=lambda item: (-len(item[1].parts), "law" in item[1].parts, item[0])))


def list_models() -> tuple[str, ...]:
    """Return the formats of bodies and joints, which cannot represent every model."""
    return tuple(name for name, form in list_formats().items() if form.parts == ("plant",))


def require_part(request: ExportRequest) -> None:
    """Check, before anything is built, that the part exists and that its parameters have values.

    Args:
        request: what is to be exported.

    Raises:
        BridgeError: if there is no controller to export, or there are several.
        ParameterError: for a parameter without a value, or out of its range.
    """
    setup = request.setup
    setup.robot.parameters.values(setup.p)
    if request.what == "plant":
        return
    plant = " or ".join(f"--to {name} --what plant" for name, form in list_formats().items() if "plant" in form.parts)
    if setup.phases:
        phases = ", ".join(repr(phase.name) for phase in setup.phases)
        raise BridgeError(
            f"{request.name} is a motion in phases ({phases}), each with its own controller, and only one can be "
            f"exported: put the controller into a separate scenario, or export the plant, {plant}"
        )
    if setup.controller is None:
        raise BridgeError(f"{request.name} has no controller: export its plant, {plant}")
    setup.controller.parameters.values(setup.controller_p)
