"""Export of a controller, a plant or a closed loop as an FMU.

The bytes of the archive depend on nothing but its contents.
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
from typing import Literal, get_args

import casadi as ca
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.setup import Setup
from ...simulation import RK4
from ...simulation.storage.atomic_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel
from ...symbolic.validation import positive
from ..common.symbolic_law import detects_contradiction
from .fmu_model import FmuModel, Variable, c_identifier
from .model_assembly import closed_loop_model, controller_model, plant_model
from .model_description import build_description, description_2, description_3
from .source_code import COMPILATION_UNIT, compile_sources, prefix_macro, source_files

ARCHIVE_DATE = (1980, 1, 1, 0, 0, 0)
"""Of all files: the first that an archive can have."""


def instantiation_token(texts: Mapping[str, str]) -> str:
    """A name that two FMUs share only if they are the same, as a GUID.

    Args:
        texts: all that they are made of, by name.
    """
    digest = hashlib.sha256()
    for name, text in sorted(texts.items()):
        for part in (name, text):
            content = part.encode()
            digest.update(len(content).to_bytes(8, "little") + content)
    word = digest.hexdigest()
    return "{" + "-".join((word[:8], word[8:12], word[12:16], word[16:20], word[20:32])) + "}"


def write_archive(path: Path, files: Mapping[str, bytes]) -> None:
    """Write an archive, whole or not at all.

    Args:
        path: of the archive; a file that is there gives way.
        files: contents by path.

    Raises:
        OSError: if it cannot be written.
    """

    def write(target: Path) -> None:
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in sorted(files.items()):
                entry = zipfile.ZipInfo(name, ARCHIVE_DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
                # By which an archive tells where it was made; always the same here.
                entry.create_system = 3
                archive.writestr(entry, content)

    write_whole(path, write)


Values = Mapping[str, float] | ArrayLike | None
Kind = Literal["law", "plant", "loop"]
Version = Literal["2.0", "3.0"]


@dataclass(frozen=True)
class Fmu:
    """What has been written.

    Attributes:
        path: of the file.
        version: of FMI.
        kind: ``"law"``, ``"plant"`` or ``"loop"``.
        name: C identifier of the model.
        token: by which binary and description know each other; a hash of all that the FMU is made of.
        inputs: names and units of what goes in.
        parameters: of what can be tuned.
        states: of the continuous states.
        outputs: of what comes out, besides the states.
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
    apart: Iterable[str] = (),
    step: float | None = None,
    name: str | None = None,
    binary: bool = True,
) -> Fmu:
    """Write an FMU of generated C, without Python inside: machine code for this kind of machine, and the sources.

    - A law (co-simulation): inputs q and v by name, outputs u or R; outputs follow the inputs at once.
    - A plant (model exchange and co-simulation): inputs u, states q and v, outputs points, energy, reactions.
    - A closed loop (co-simulation): outputs q, v, u or R, deviations, energy and points; RK4 inside.

    Parameters can be tuned by name, within their ranges. In a closed loop a parameter that plant and law both have is
    one, that sets both, unless their values differ or it is among ``apart``: then there are ``plant.…`` and ``law.…``.

    Args:
        what: a robot becomes a plant, a controller a law, or with ``with_plant`` a closed loop; a scenario's setup any.
        path: of the file, which should end in ``.fmu``; one that is there gives way.
        version: of FMI.
        kind: of a setup: a closed loop if not given.
        with_plant: the plant that a controller drives, for a closed loop.
        q0: coordinates at the start, shape (nq,); neutral ones if not given.
        v0: velocities at the start, shape (nv,); zero if not given.
        p: parameters of what is exported, the controller's in a closed loop: nominal, overridden by name, or the whole
            vector.
        plant_p: parameters of ``with_plant``, likewise.
        apart: names of parameters of both that can be set for each.
        step: longest internal step of co-simulation [s]; a millisecond if not given, a setup's own for a setup.
        name: of the model; the robot's if not given.
        binary: whether it is compiled.

    Returns:
        What has been written.

    Raises:
        BridgeError: for a law without expressions or with memory, an operation that C99 lacks, or no compiler; nothing
            is written then.
        ModelError: for a plant that the law does not fit.
        ParameterError: for an unknown parameter, one without a value, or one out of its range.
        ShapeError: for a start of another shape.
        OSError: if the file cannot be written.

    Warns:
        BridgeWarning: for a setup with an integrator of its own: the FMU has RK4.
    """
    if version not in get_args(Version):
        raise BridgeError(f"version must be {' or '.join(map(repr, get_args(Version)))}, got {version!r}")
    parts = _Parts.of(what, kind, with_plant)
    if isinstance(what, Setup):
        given = {"q0": q0, "v0": v0, "p": p, "plant_p": plant_p}
        wrong = [key for key, value in given.items() if value is not None]
        if wrong:
            raise BridgeError(f"a setup has {', '.join(wrong)} of its own: set them there, by with_parameters()")
        q0, v0, plant_p = what.q0, what.v0, what.p
        p = what.p if parts.kind == "plant" else what.controller_p
        step = what.step if step is None else step
    elif plant_p is not None and parts.kind != "loop":
        raise BridgeError(
            f"plant_p are parameters of with_plant, the plant of a closed loop; those of a {parts.kind} alone are p"
        )
    interval = positive("step", 1e-3 if step is None else step)
    word = c_identifier(parts.called if name is None else name)
    block = parts.block(word, q0, v0, p, plant_p, apart, interval, what.stop if isinstance(what, Setup) else None)
    if isinstance(what, Setup):
        block = replace(block, duration=what.duration)
        if parts.kind != "law" and not isinstance(what.integrator, RK4 | None):
            warnings.warn(
                f"the setup's integrator {what.integrator!r} does not go into the FMU, which takes steps of RK4",
                BridgeWarning,
                stacklevel=caller_stacklevel(),
            )
    return _write_fmu(block, Path(path), version, parts, binary)


@dataclass(frozen=True, eq=False)
class _Parts:
    """Of what an FMU is made."""

    kind: Kind
    robot: Robot | None
    controller: Controller | None

    @classmethod
    def of(cls, what: object, kind: Kind | None, plant: Robot | None) -> _Parts:
        if kind is not None and kind not in get_args(Kind):
            raise BridgeError(f"kind must be one of {', '.join(map(repr, get_args(Kind)))}, got {kind!r}")
        if plant is not None and not (isinstance(plant, Robot) and isinstance(what, Controller)):
            raise BridgeError(f"with_plant is the Robot that a Controller drives, got {plant!r} for {what!r}")
        robot, controller = plant, what if isinstance(what, Controller) else None
        wanted: Kind = "law" if plant is None else "loop"
        if isinstance(what, Setup):
            if what.phases:
                raise BridgeError("a motion in phases has a law for each of them: export them one by one")
            robot, controller = what.robot, what.controller
            wanted = kind or ("plant" if controller is None else "loop")
        elif isinstance(what, Robot):
            robot, wanted = what, "plant"
        elif controller is None:
            raise BridgeError(f"a Robot, a Controller or a scenario's Setup can become an FMU, got {what!r}")
        if (kind is not None and kind != wanted) or (controller is None and wanted != "plant"):
            raise BridgeError(
                f"{type(what).__name__} cannot become a {kind or wanted}: a Robot becomes a plant, a Controller a law, "
                "a Controller with with_plant= a loop"
            )
        return cls(wanted, robot, controller)

    @property
    def called(self) -> str:
        robot = self.robot if self.controller is None else self.controller.robot
        return f"{'' if robot is None else robot.name} {self.kind}"

    @property
    def contradictory(self) -> bool:
        """Whether dependent rows contradict each other where they are told."""
        return self.controller is not None and self.kind != "plant" and detects_contradiction(self.controller)

    def block(
        self,
        name: str,
        q0: ArrayLike | None,
        v0: ArrayLike | None,
        p: Values,
        plant_p: Values,
        apart: Iterable[str],
        step: float,
        stop: ca.SX | None,
    ) -> FmuModel:
        if self.controller is None or self.kind == "plant":
            assert self.robot is not None
            return plant_model(self.robot, name, q0=q0, v0=v0, p=p, step=step)
        if self.robot is None or self.kind == "law":
            return controller_model(self.controller, name, q0=q0, v0=v0, p=p, step=step)
        return closed_loop_model(
            *(self.robot, self.controller, name),
            q0=q0,
            v0=v0,
            p=plant_p,
            controller_p=p,
            apart=apart,
            step=step,
            stop=stop,
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
    where = ""
    if binary:
        sources = {file.removeprefix("sources/"): text for file, text in written.items() if file.endswith((".c", ".h"))}
        compiled = compile_sources(sources, COMPILATION_UNIT[version], block.name, version)
        files[compiled.path], where = compiled.content, compiled.path
    write_archive(path, files)
    return Fmu(
        *(path, version, parts.kind, block.name, token),
        inputs=block.inputs,
        parameters=block.parameters,
        states=block.states,
        outputs=block.outputs,
        binary=where,
    )
