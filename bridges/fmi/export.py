"""Export of a controller, a plant or a closed loop as an FMU.

The bytes of the archive depend only on its contents.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast, get_args

import casadi as ca
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.setup import Setup
from ...simulation.integrators.rk4 import RK4
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.validation import positive
from ..common.bridge import ExportRequest
from ..common.symbolic_law import detects_contradiction, saturated
from .fmu_model import FmuModel, Variable, c_identifier
from .model_assembly import closed_loop_model, controller_model, plant_model
from .model_description import build_description, description_2, description_3
from .source_code import COMPILATION_UNIT, compile_sources, prefix_macro, source_files

ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)
"""Date of all files: the earliest that an archive can represent."""


def instantiation_token(texts: Mapping[str, str]) -> str:
    """Return a GUID that two FMUs share only if their contents are the same.

    Args:
        texts: name of each file → text.
    """
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        for part in (name, text):
            content = part.encode()
            digest.update(len(content).to_bytes(8, "little") + content)
    word = digest.hexdigest()
    return "{" + "-".join((word[:8], word[8:12], word[12:16], word[16:20], word[20:32])) + "}"


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive completely or not at all.

    Args:
        path: path of the archive; an existing file is replaced.
        files: path in the archive → contents.

    Raises:
        OSError: if it cannot be written.
    """

    def write(target: Path) -> None:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(files.items()):
                entry = zipfile.ZipInfo(name, ARCHIVE_DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
                # The operating system that made the archive; fixed for reproducible bytes.
                entry.create_system = 3
                archive.writestr(entry, content)

    write_whole(path, write)


Values = Mapping[str, float] | ArrayLike | None
Kind = Literal["law", "plant", "loop"]
Version = Literal["2.0", "3.0"]


@dataclass(frozen=True)
class Fmu:
    """Exported FMU.

    Attributes:
        path: path of the file.
        version: version of FMI.
        kind: ``"law"``, ``"plant"`` or ``"loop"``.
        name: C identifier of the model.
        token: identifier shared by binary and description; a hash of the FMU's contents.
        inputs: the inputs.
        parameters: the tunable parameters.
        states: the continuous states.
        outputs: the outputs, besides the states.
        binary: path of the machine code in the FMU; empty if it has none.
    """

    path: Path
    version: str
    kind: str
    name: str
    token: str
    inputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    states: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    binary: str


def export(
    what: Robot | Controller | Setup,
    path: str | os.PathLike[str],
    *,
    version: Version = "3.0",
    kind: Kind | None = None,
    with_plant: Robot | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    p: Values = None,
    plant_p: Values = None,
    separate: Iterable[str] = (),
    step: float | None = None,
    period: float | None = None,
    saturate: bool = False,
    name: str | None = None,
    binary: bool = True,
) -> Fmu:
    """Write an FMU of generated C, without Python: machine code for this platform, and the sources.

    - A law (co-simulation): inputs q and v by name, outputs u or R, with direct feedthrough.
    - A plant (model exchange and co-simulation): inputs u, states q and v, outputs points, energy, reactions.
    - A closed loop (co-simulation): outputs q, v, u or R, deviations, energy and points; RK4 inside.

    Parameters can be tuned by name, within their ranges. In a closed loop a parameter common to plant and law is one
    parameter, which sets both, unless their values differ or it is in ``separate``: then there are two, ``plant.…`` and
    ``law.…``.

    Args:
        what: a robot becomes a plant, a controller a law, or with ``with_plant`` a closed loop; a scenario's setup any
            of them.
        path: path of the file, which should end in ``.fmu``; an existing file is replaced.
        version: version of FMI.
        kind: kind of FMU for a setup; a closed loop if not given.
        with_plant: the plant that a controller drives, for a closed loop.
        q0: coordinates at the start, shape (nq,); neutral ones if not given.
        v0: velocities at the start, shape (nv,); zero if not given.
        p: parameters of the exported robot or controller, in a closed loop the controller's: nominal, overridden by
            name, or the whole vector.
        plant_p: parameters of ``with_plant``, likewise.
        separate: names of common parameters that can be set separately for plant and law.
        step: longest internal step of co-simulation [s]; 1e-3 if not given, for a setup its own step.
        period: time between samples [s], which a law with a memory requires; for a setup its step. The memory is part
            of the FMU's state, which an importer may save and restore.
        saturate: True to limit the inputs of a law or closed loop to the limits of the robot's actuators.
        name: name of the model; the robot's if not given.
        binary: True to include compiled machine code.

    Returns:
        The written FMU.

    Raises:
        BridgeError: for a law without expressions, one with a memory without period, one that draws random numbers, an
            operation that C99 lacks, missing limits of the actuators, or a missing compiler; nothing is written then.
        ModelError: for a plant that does not fit the law.
        ParameterError: for an unknown parameter, one without a value, or one out of its range.
        ShapeError: for a start of another shape.
        OSError: if the file cannot be written.

    Warns:
        BridgeWarning: for a setup with another integrator than RK4, which the FMU uses.
    """
    if version not in get_args(Version):
        raise BridgeError(f"version must be {' or '.join(map(repr, get_args(Version)))}, got {version!r}")
    parts = _Parts.of(what, kind, with_plant)
    if saturate:
        parts = replace(parts, controller=saturated(parts.controller))
    if isinstance(what, Setup):
        given = {"q0": q0, "v0": v0, "p": p, "plant_p": plant_p}
        wrong = [key for key, value in given.items() if value is not None]
        if wrong:
            raise BridgeError(f"a setup contains {', '.join(wrong)}: set them in the setup, by with_parameters()")
        q0, v0, plant_p = what.q0, what.v0, what.p
        p = what.p if parts.kind == "plant" else what.controller_p
        step = what.step if step is None else step
        period = what.step if period is None else period
    elif plant_p is not None and parts.kind != "loop":
        raise BridgeError(
            f"plant_p= are parameters of the plant of a closed loop (with_plant=); for a {parts.kind} use p="
        )
    interval = positive("step", 1e-3 if step is None else step)
    word = c_identifier(parts.default_name if name is None else name)
    stop = what.stop if isinstance(what, Setup) else None
    between = None if period is None else positive("period", period)
    block = parts.build_model(word, q0, v0, p, plant_p, separate, interval, stop, between)
    if isinstance(what, Setup):
        block = replace(block, duration=what.duration)
        if parts.kind != "law" and not isinstance(what.integrator, RK4 | None):
            warnings.warn(
                f"the FMU uses RK4, not the setup's integrator {what.integrator!r}",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )
    return _write_fmu(block, Path(path), version, parts, binary)


def write_scenario(request: ExportRequest) -> None:
    """Write the law, the closed loop or the plant of a scenario.

    Args:
        request: request of the command line.
    """
    setup, version = request.setup, cast(Version, request.fmi)
    if request.what == "plant":
        export(setup.robot, request.out, version=version, q0=setup.q0, v0=setup.v0, p=setup.p, step=setup.step)
    else:
        export(setup, request.out, version=version, kind=request.what)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Robot and controller of an FMU."""

    kind: Kind
    robot: Robot | None
    controller: Controller | None

    @classmethod
    def of(cls, what: object, kind: Kind | None, plant: Robot | None) -> _Parts:
        if kind is not None and kind not in get_args(Kind):
            raise BridgeError(f"kind must be one of {', '.join(map(repr, get_args(Kind)))}, got {kind!r}")
        if plant is not None and not (isinstance(plant, Robot) and isinstance(what, Controller)):
            raise BridgeError(
                f"with_plant= must be the Robot that a Controller drives, got with_plant={plant!r} for {what!r}"
            )
        robot, controller = plant, what if isinstance(what, Controller) else None
        target: Kind = "law" if plant is None else "loop"
        if isinstance(what, Setup):
            if what.phases:
                raise BridgeError("a motion in phases has a controller for each phase: export them one by one")
            robot, controller = what.robot, what.controller
            target = kind or ("plant" if controller is None else "loop")
        elif isinstance(what, Robot):
            robot, target = what, "plant"
        elif controller is None:
            raise BridgeError(f"only a Robot, a Controller or a scenario's Setup can become an FMU, got {what!r}")
        if (kind is not None and kind != target) or (controller is None and target != "plant"):
            raise BridgeError(
                f"{type(what).__name__} cannot become a {kind or target}: a Robot becomes a plant, a Controller a law, "
                "a Controller with with_plant= a loop"
            )
        return cls(target, robot, controller)

    @property
    def default_name(self) -> str:
        robot = self.robot if self.controller is None else self.controller.robot
        return f"{'' if robot is None else robot.name} {self.kind}"

    @property
    def contradictory(self) -> bool:
        """True if the status for dependent rows means a contradiction."""
        return self.controller is not None and self.kind != "plant" and detects_contradiction(self.controller)

    def build_model(
        self,
        name: str,
        q0: ArrayLike | None,
        v0: ArrayLike | None,
        p: Values,
        plant_p: Values,
        separate: Iterable[str],
        step: float,
        stop: ca.SX | None,
        period: float | None,
    ) -> FmuModel:
        if self.controller is None or self.kind == "plant":
            assert self.robot is not None
            return plant_model(self.robot, name, q0=q0, v0=v0, p=p, step=step)
        if self.robot is None or self.kind == "law":
            return controller_model(self.controller, name, q0=q0, v0=v0, p=p, step=step, period=period)
        return closed_loop_model(
            *(self.robot, self.controller, name),
            q0=q0,
            v0=v0,
            p=plant_p,
            controller_p=p,
            separate=separate,
            step=step,
            stop=stop,
            period=period,
        )


def _write_fmu(block: FmuModel, path: Path, version: Version, parts: _Parts, binary: bool) -> Fmu:
    tool = f"Erugin {importlib.metadata.version('erugin')}"

    def texts(token: str) -> dict[str, str]:
        sources = source_files(block, version, token, contradictory=parts.contradictory)
        found = {f"sources/{file}": text for file, text in sources.items()}
        found["sources/buildDescription.xml"] = build_description(
            block, COMPILATION_UNIT[version], prefix_macro(version)
        )
        if version == "2.0":
            return {**found, "modelDescription.xml": description_2(block, token, tool, COMPILATION_UNIT[version])}
        return {**found, "modelDescription.xml": description_3(block, token, tool)}

    token = instantiation_token(texts(""))
    written = texts(token)
    files = {file: text.encode() for file, text in written.items()}
    binary_path = ""
    if binary:
        sources = {file.removeprefix("sources/"): text for file, text in written.items() if file.endswith((".c", ".h"))}
        compiled = compile_sources(sources, COMPILATION_UNIT[version], block.name, version)
        files[compiled.path], binary_path = compiled.content, compiled.path
    write_archive(path, files)
    return Fmu(
        *(path, version, parts.kind, block.name, token),
        inputs=block.inputs,
        parameters=block.parameters,
        states=block.states,
        outputs=block.outputs,
        binary=binary_path,
    )
