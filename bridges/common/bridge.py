"""Description of a bridge, which each of their packages gives as ``BRIDGE``, and the bridges that there are."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ...controllers.controller import Controller
    from ...scenarios.setup import Setup
    from .cross_check_case import CrossCheckCase, Motion

VERBS = ("export", "load", "drive", "simulate", "match")
"""Functions that a bridge may have, with the same name in each."""
Part = Literal["law", "loop", "plant"]
"""Part of a motion: its law, the closed loop or its plant."""


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """Request of ``erugin export`` for a file.

    Attributes:
        setup: the scenario's setup; has a controller unless only the plant is exported.
        name: name of the scenario.
        what: exported part.
        out: path of the file or folder.
        fmi: FMI version of an FMU.
        overwrite: True to replace the folder of an earlier export; files are always replaced.
        ignore: names of elements that a model file cannot represent, to be omitted.
    """

    setup: Setup
    name: str
    what: Part
    out: Path
    fmi: str
    overwrite: bool = False
    ignore: tuple[str, ...] = ()

    @property
    def controller(self) -> Controller:
        """Controller to be exported."""
        assert self.setup.controller is not None  # checked by the command
        return self.setup.controller


@dataclass(frozen=True, eq=False)
class ExportFormat:
    """A file format of ``erugin export``.

    Attributes:
        description: description for the help.
        parts: supported parts of a motion, the default first.
        ending: end of the file's name by default; a folder's if it does not start with a dot.
        write: function that writes the export.
    """

    description: str
    parts: tuple[Part, ...]
    ending: str
    write: Callable[[ExportRequest], None]

    @property
    def is_folder(self) -> bool:
        """True for several files in a folder."""
        return not self.ending.startswith(".")


@dataclass(frozen=True, eq=False)
class CrossCheck:
    """Cross-check of a bridge: its run of the closed loops of ``erugin bridges --compare``.

    Attributes:
        runs_there: the parts of the loop that the other program runs.
        scheme: the integrator.
        run: function that runs a case with a step [s]; the bridge's ``simulate`` if not given.
    """

    runs_there: str
    scheme: str
    run: Callable[[CrossCheckCase, float], Motion] | None = None


@dataclass(frozen=True, eq=False)
class Bridge:
    """A package of ``erugin.bridges``.

    Attributes:
        module: name of the package, ``__name__`` in its ``__init__.py``.
        carries: purpose of the bridge, in a sentence that fits into a line of a terminal of 80 columns.
        package: name of the required package in package indexes; empty if none is required.
        extra: extra of Erugin that installs it; empty if every installation has it.
        cross_check: how it runs a closed loop; None if it cannot.
        formats: file formats that it writes for ``erugin export``, by name on the command line.
    """

    module: str
    carries: str
    package: str = ""
    extra: str = ""
    cross_check: CrossCheck | None = None
    formats: Mapping[str, ExportFormat] = field(default_factory=dict[str, ExportFormat])

    @property
    def name(self) -> str:
        """Name of the bridge: that of its folder."""
        return self.module.rpartition(".")[2]

    @property
    def version(self) -> str | None:
        """Version of the installed package; None if it is not installed, or none is required."""
        if not self.package:
            return None
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def command(self) -> str:
        """Command that installs the package; that of Erugin itself if every installation has it."""
        return f"pip install 'erugin[{self.extra}]'" if self.extra else "pip install erugin"

    @property
    def verbs(self) -> tuple[str, ...]:
        """The functions of ``VERBS`` that the bridge has."""
        module = importlib.import_module(self.module)
        return tuple(verb for verb in VERBS if hasattr(module, verb))

    def run(self, case: CrossCheckCase, step: float) -> Motion:
        """Run a closed loop in the other program.

        Args:
            case: the closed loop.
            step: time between samples, and step of fixed-step integrators [s].
        """
        assert self.cross_check is not None
        if self.cross_check.run is not None:
            return self.cross_check.run(case, step)
        setup, module = case.setup, importlib.import_module(self.module)
        found: Any = module.simulate(
            *(setup.robot, setup.controller, setup.q0, setup.v0, case.duration),
            step=step,
            p=setup.p,
            controller_p=setup.controller_p,
        )
        return found.t, found.q


@functools.cache
def discover_bridges() -> Mapping[str, Bridge]:
    """Return the bridges by name, sorted: every package of ``erugin.bridges`` that has a ``BRIDGE``."""
    parent = importlib.import_module(__name__.rsplit(".", 2)[0])
    names = sorted(module.name for module in pkgutil.iter_modules(parent.__path__) if module.ispkg)
    modules = [importlib.import_module(f"{parent.__name__}.{name}") for name in names]
    return {module.BRIDGE.name: module.BRIDGE for module in modules if hasattr(module, "BRIDGE")}
