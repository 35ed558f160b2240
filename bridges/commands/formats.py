"""What ``erugin export`` can write: which parts of a motion go into which format, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...controllers.controller import Controller
from ...scenarios.setup import Setup
from ...symbolic.errors import BridgeError

LAW, LOOP, PLANT = WHATS = "law", "loop", "plant"
VERSIONS = ("3.0", "2.0")
"""Of FMI."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be written.

    Attributes:
        setup: the motion that it is of.
        name: of the scenario.
        what: law, loop or plant.
        out: the file, or the folder.
        fmi: version of an FMU.
        overwrite: whether a folder of an earlier export gives way; files do.
        ignore: names of what mjcf or urdf has no counterpart for, to be left out.
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
        """The law that is meant.

        Raises:
            BridgeError: if there is none, or several.
        """
        if self.setup.phases:
            phases = ", ".join(repr(phase.name) for phase in self.setup.phases)
            raise BridgeError(
                f"{self.name} is a motion in phases ({phases}), each with a controller of its own, and only one can be "
                f"exported: put the one that you mean into a scenario of its own, or export the plant, {PLANT_BY}"
            )
        if self.setup.controller is None:
            raise BridgeError(f"nothing drives {self.name}: export its plant, {PLANT_BY}")
        return self.setup.controller

    def require(self) -> None:
        """Find out, before anything is made, whether there is what is asked for, and its parameters have values.

        Raises:
            BridgeError: if there is no such law.
            ParameterError: for a parameter without a value, or out of its range.
        """
        self.setup.robot.parameters.values(self.setup.p)
        if self.what != PLANT:
            self.controller.parameters.values(self.setup.law_p)

    @property
    def identifier(self) -> str:
        """The scenario's name as C and XML take it."""
        word = "".join(c if c.isascii() and c.isalnum() else "_" for c in self.name)
        return word if word[:1].isalpha() else f"erugin_{word}"


@dataclass(frozen=True, eq=False)
class Format:
    """A format.

    Attributes:
        said: what it is, for the help.
        whats: which parts of a motion it takes; the first if not said.
        ending: of the file's name if none is given; a folder's if it begins with no dot.
        write: writes it.
    """

    said: str
    whats: tuple[str, ...]
    ending: str
    write: Callable[[Asked], None]

    @property
    def is_folder(self) -> bool:
        """Whether it is several files in a folder."""
        return not self.ending.startswith(".")


def _c(asked: Asked) -> None:
    from .. import c

    setup, plant = asked.setup, asked.setup.robot if asked.what == LOOP else None
    c.export(
        *(asked.controller, asked.out),
        name=asked.identifier,
        p=setup.law_p,
        with_plant=plant,
        plant_p=None if plant is None else setup.p,
        q0=setup.q0,
        v0=setup.v0,
        overwrite=asked.overwrite,
    )


def _casadi(asked: Asked) -> None:
    from .. import casadi

    casadi.export(asked.controller, asked.out, p=asked.setup.law_p)


def _fmu(asked: Asked) -> None:
    from .. import fmi

    setup = asked.setup
    version: Literal["2.0", "3.0"] = "2.0" if asked.fmi == "2.0" else "3.0"
    if asked.what == PLANT:
        fmi.export(setup.robot, asked.out, version=version, q0=setup.q0, v0=setup.v0, p=setup.p, step=setup.step)
    else:
        _ = asked.controller
        fmi.export(setup, asked.out, version=version, kind="law" if asked.what == LAW else "loop")


def _mjcf(asked: Asked) -> None:
    from .. import mujoco

    setup = asked.setup
    mujoco.export(setup.robot, asked.out, p=setup.p, q0=setup.q0, timestep=setup.step, ignore=asked.ignore)


def _urdf(asked: Asked) -> None:
    from .. import urdf

    # Whoever reads it takes gravity along −z.
    urdf.export(asked.setup.robot, asked.out, p=asked.setup.p, upright=True, ignore=asked.ignore)


FORMATS = {
    "fmu": Format("Functional Mock-up Unit, FMI 2.0 or 3.0", (LAW, LOOP, PLANT), ".fmu", _fmu),
    "c": Format("a folder of C99", (LAW, LOOP), "-c", _c),
    "mjcf": Format("MuJoCo's model file", (PLANT,), ".xml", _mjcf),
    "urdf": Format("the robot description of ROS", (PLANT,), ".urdf", _urdf),
    "casadi": Format("Erugin's file of a law, read by bridges.casadi.load", (LAW,), ".json", _casadi),
}
"""By their names on the command line."""

PLANT_BY = " or ".join(f"--to {name} --what {PLANT}" for name, form in FORMATS.items() if PLANT in form.whats)
MODELS = tuple(name for name, form in FORMATS.items() if form.whats == (PLANT,))
"""Formats of bodies and joints, in which not everything has a place."""
