"""``erugin export``: write a scenario's law, closed loop or plant to a file for another program."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from ...controllers.controller import Controller
from ...scenarios.lookup import choose_scenario, locate_errors
from ...scenarios.setup import Setup
from ...symbolic.errors import BridgeError, unknown_name
from ..command import BAD_INPUT, OK, STOPPED, Commands, pairs_of, require_writable

LAW, LOOP, PLANT = PARTS = "law", "loop", "plant"
VERSIONS = ("3.0", "2.0")
"""Versions of FMI."""


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """Request for an export.

    Attributes:
        setup: the scenario's setup.
        name: name of the scenario.
        what: exported part: law, loop or plant.
        out: path of the file or folder.
        fmi: FMI version of an FMU.
        overwrite: True to replace the folder of an earlier export; files are always replaced.
        ignore: names of elements that mjcf or urdf cannot represent, to be omitted.
    """

    setup: Setup
    name: str
    what: str
    out: Path
    fmi: str
    overwrite: bool = False
    ignore: tuple[str, ...] = ()

    @property
    def controller(self) -> Controller:
        """Controller to be exported.

        Raises:
            BridgeError: if there is no controller, or several.
        """
        if self.setup.phases:
            phases = ", ".join(repr(phase.name) for phase in self.setup.phases)
            raise BridgeError(
                f"{self.name} is a motion in phases ({phases}), each with its own controller, and only one can be "
                f"exported: put the controller into a separate scenario, or export the plant, {PLANT_BY}"
            )
        if self.setup.controller is None:
            raise BridgeError(f"{self.name} has no controller: export its plant, {PLANT_BY}")
        return self.setup.controller

    def require(self) -> None:
        """Check, before anything is built, that the part exists and that its parameters have values.

        Raises:
            BridgeError: if there is no controller to export.
            ParameterError: for a parameter without a value, or out of its range.
        """
        self.setup.robot.parameters.values(self.setup.p)
        if self.what != PLANT:
            self.controller.parameters.values(self.setup.controller_p)

    @property
    def identifier(self) -> str:
        """Name of the scenario as an identifier in C and XML."""
        word = "".join(c if c.isascii() and c.isalnum() else "_" for c in self.name)
        return word if word[:1].isalpha() else f"erugin_{word}"


@dataclass(frozen=True, eq=False)
class Format:
    """A file format.

    Attributes:
        description: description for the help.
        parts: supported parts of a motion, the default first.
        ending: end of the file's name by default; a folder's if it does not start with a dot.
        write: function that writes the export.
    """

    description: str
    parts: tuple[str, ...]
    ending: str
    write: Callable[[ExportRequest], None]

    @property
    def is_folder(self) -> bool:
        """True for several files in a folder."""
        return not self.ending.startswith(".")


def _c(request: ExportRequest) -> None:
    from ...bridges import c

    setup, plant = request.setup, request.setup.robot if request.what == LOOP else None
    c.export(
        *(request.controller, request.out),
        name=request.identifier,
        p=setup.controller_p,
        with_plant=plant,
        plant_p=None if plant is None else setup.p,
        q0=setup.q0,
        v0=setup.v0,
        overwrite=request.overwrite,
    )


def _casadi(request: ExportRequest) -> None:
    from ...bridges import casadi

    casadi.export(request.controller, request.out, p=request.setup.controller_p)


def _fmu(request: ExportRequest) -> None:
    from ...bridges import fmi

    setup = request.setup
    version: Literal["2.0", "3.0"] = "2.0" if request.fmi == "2.0" else "3.0"
    if request.what == PLANT:
        fmi.export(setup.robot, request.out, version=version, q0=setup.q0, v0=setup.v0, p=setup.p, step=setup.step)
    else:
        _ = request.controller
        fmi.export(setup, request.out, version=version, kind="law" if request.what == LAW else "loop")


def _mjcf(request: ExportRequest) -> None:
    from ...bridges import mujoco

    setup = request.setup
    mujoco.export(setup.robot, request.out, p=setup.p, q0=setup.q0, timestep=setup.step, ignore=request.ignore)


def _urdf(request: ExportRequest) -> None:
    from ...bridges import urdf

    # Readers of URDF assume gravity along −z.
    urdf.export(request.setup.robot, request.out, p=request.setup.p, upright=True, ignore=request.ignore)


FORMATS = {
    "fmu": Format("Functional Mock-up Unit, FMI 2.0 or 3.0", (LAW, LOOP, PLANT), ".fmu", _fmu),
    "c": Format("a folder of C99", (LAW, LOOP), "-c", _c),
    "mjcf": Format("MuJoCo's model file", (PLANT,), ".xml", _mjcf),
    "urdf": Format("the robot description of ROS", (PLANT,), ".urdf", _urdf),
    "casadi": Format("Erugin's file of a law, read by bridges.casadi.load", (LAW,), ".json", _casadi),
}
"""Formats by name on the command line."""

PLANT_BY = " or ".join(f"--to {name} --what {PLANT}" for name, form in FORMATS.items() if PLANT in form.parts)
MODELS = tuple(name for name, form in FORMATS.items() if form.parts == (PLANT,))
"""Formats of bodies and joints, which cannot represent every model."""


def register(commands: Commands) -> None:
    """Add the command's parser.

    Args:
        commands: collection of the program's commands.
    """
    summary = "write a scenario's law, closed loop or plant for another program"
    parser = commands.add_parser("export", help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("name", help="a scenario of 'erugin list', or your own Python file")
    parser.add_argument("--scenario", metavar="NAME", help="which scenario of the file, if it has several")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="key=value",
        help="a setting or parameter of 'erugin list NAME'; may be repeated",
    )
    formats = "; ".join(f"{name}: {form.description}" for name, form in FORMATS.items())
    parser.add_argument("--to", metavar="FORMAT", help=formats)
    parser.add_argument("--c", action="store_const", dest="to", const="c", help="the same as --to c")
    parser.add_argument(
        "--what", metavar="PART", help=f"one of {', '.join(PARTS)} (default: the plant as mjcf and urdf, else the law)"
    )
    parser.add_argument("--fmi", metavar="VERSION", help=f"of an FMU, one of {', '.join(VERSIONS)} (default: 3.0)")
    parser.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="NAME",
        help=f"omit an element that {' or '.join(MODELS)} cannot represent, by name; may be repeated",
    )
    parser.add_argument("--out", metavar="PATH", help="path of the file, or for C of the folder (default: out/NAME.…)")
    parser.add_argument("--overwrite", action="store_true", help="replace a C folder of an earlier export")
    parser.set_defaults(run=run, refuse=parser.error)


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
    to: str | None = chosen.to
    if to is None:
        chosen.refuse(f"a format is required: --to {'|'.join(FORMATS)}")
        return BAD_INPUT
    for given, known, kind in ((to, FORMATS, "format"), (chosen.what, PARTS, "part of a motion")):
        if given is not None and given not in known:
            raise BridgeError(unknown_name(kind, given, known))
    if chosen.fmi is not None and to != "fmu":
        raise BridgeError(f"--fmi requires --to fmu, got --to {to}: omit --fmi, or use --to fmu")
    if chosen.ignore and to not in MODELS:
        raise BridgeError(f"--ignore requires --to {' or '.join(MODELS)}, got --to {to}, which omits nothing")
    if chosen.fmi not in (None, *VERSIONS):
        raise BridgeError(unknown_name("version of FMI", chosen.fmi, VERSIONS))
    form = FORMATS[to]
    what = chosen.what or form.parts[0]
    if what not in form.parts:
        fit = " or ".join(f"--to {name}" for name, other in FORMATS.items() if what in other.parts)
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
        request.require()
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
