"""A control law as a folder of C99."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.close_loop import close_loop
from ...scenarios.closed_loop import SymbolicLoop
from ...symbolic.arrays import positive, vector
from ...symbolic.errors import BridgeError, BridgeWarning, caller_level, require_name
from .example import cmake_text, main_text
from .folder import write_folder
from .identifiers import law_identifier
from .law_text import LawText
from .loop_text import LoopText
from .readme_text import readme_text
from .written_law import contradicts, written_law

Values = Mapping[str, float] | ArrayLike | None


@dataclass(frozen=True)
class CFolder:
    """What has been written.

    Attributes:
        folder: where.
        name: prefix of all names in C, and name of the files.
        files: names of the files.
        operations: of one tick, always the same.
        work: doubles for intermediate results of one tick.
        calls: functions of ``math.h`` that a tick calls.
        renamed: names of signals and parameters that C cannot have, and all constants that stand for each.
    """

    folder: Path
    name: str
    files: tuple[str, ...]
    operations: int
    work: int
    calls: frozenset[str]
    renamed: Mapping[str, tuple[str, ...]]


def export(
    controller: Controller,
    path: str | os.PathLike[str],
    *,
    name: str = "law",
    p: Values = None,
    with_plant: Robot | None = None,
    plant_p: Values = None,
    saturate: bool = False,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    step: float = 1e-3,
    overwrite: bool = False,
) -> CFolder:
    """Write a law as C99: one ``.c``, one ``.h``, an example, a file for CMake, and how to call it from ros2_control.

    A tick takes (t, q, v) and gives u, or R for a law that applies a force, as ``control`` does. It allocates nothing,
    keeps nothing and calls nothing but ``math.h``; its work is the same at every tick. Parameters stay parameters.

    Args:
        controller: with a symbolic law.
        path: of a folder to be made, in one that is there.
        name: prefix of all names in C, and name of the files.
        p: nominal values of the controller's parameters: its own, overridden by name, or the whole vector.
        with_plant: a plant whose steps, and those of its closed loop with the law, are written too.
        plant_p: nominal values of the plant's parameters, likewise.
        saturate: whether inputs are cut to the limits of the robot's drives.
        q0: coordinates at which the example calls it, shape (nq,); zero if not given.
        v0: velocities at which the example calls it, shape (nv,); zero if not given.
        step: of the example's closed loop, if there is a plant [s].
        overwrite: whether a folder that was exported before gives way.

    Returns:
        What has been written, and what a tick costs.

    Raises:
        BridgeError: for a law without expressions, a plant whose coordinates or inputs are others, an operation that
            C99 lacks, limits that are not there, or a folder that does not give way; nothing is written then.
        ParameterError: for an unknown parameter, one without a value, or one out of its range.
        ShapeError, ModelError: for a state of another shape, a step that is not greater than zero, or a plant whose
            mass matrix is singular in every position.
        OSError: if the folder cannot be written; then nothing has changed.

    Warns:
        BridgeWarning: if ``name`` is none that C can have; it tells what is written in its place.
    """
    law = written_law(controller, "be written as C")
    c, effort = controller.robot.coordinates, controller.robot.limits.effort
    if saturate and (controller.applies_force or not np.isfinite(effort).any()):
        why = "gives a force, not inputs" if controller.applies_force else f"drives {controller.robot.name}, which has"
        has = "" if controller.applies_force else " no limits of effort: give it limits"
        raise BridgeError(f"saturate=True needs limits of inputs, but {type(controller).__name__} {why}{has}")
    require_name("a law in C", name, BridgeError)
    word = law_identifier(name)
    text = LawText(word, controller, law, controller.parameters.values(p), contradicts(controller), saturate)
    q = np.zeros(c.nq) if q0 is None else vector("q0", q0, c.nq)
    v = np.zeros(c.nv) if v0 is None else vector("v0", v0, c.nv)
    files = {
        f"{word}.h": text.header,
        f"{word}.c": text.implementation,
        "main.c": main_text(
            text, q.tolist(), v.tolist(), step=positive("step", step), with_plant=with_plant is not None
        ),
        "CMakeLists.txt": cmake_text(text, with_plant=with_plant is not None),
        "README.md": readme_text(text, with_plant=with_plant is not None),
    }
    if with_plant is not None:
        loop = _loop(with_plant, controller)
        plant = LoopText(text, with_plant, loop, with_plant.parameters.values(plant_p))
        files |= {f"{word}_plant.h": plant.header, f"{word}_plant.c": plant.implementation}
    elif plant_p is not None:
        raise BridgeError("plant_p are parameters of a plant, and none is written: give with_plant, or leave it out")
    write_folder(Path(path), files, overwrite=overwrite)
    if word != name:
        warnings.warn(
            f"C has no name {name!r}: all names begin with {word!r}", BridgeWarning, stacklevel=caller_level()
        )
    return CFolder(
        Path(path), word, tuple(files), text.kernel.operations, text.kernel.work, text.kernel.calls, text.renamed
    )


def _loop(robot: Robot, controller: Controller) -> SymbolicLoop:
    if not isinstance(robot, Robot):
        raise BridgeError(f"with_plant must be a Robot, got {robot!r}")
    model, named = controller.robot, {"coordinates": (controller.robot.coordinates.names, robot.coordinates.names)}
    if not controller.applies_force:
        named["inputs"] = (model.input_names, robot.input_names)
    for what, (ours, theirs) in named.items():
        if tuple(ours) != tuple(theirs):
            raise BridgeError(
                f"the {what} of the law's model {model.name} are {_listed(ours)}, those of the plant {robot.name} "
                f"{_listed(theirs)}: a plant needs the same, in the same order"
            )
    loop = close_loop(robot, controller, None).symbolic()
    if loop is None:  # pragma: no cover - a controller with a law makes a symbolic loop
        raise BridgeError(f"{robot.name} and {type(controller).__name__} make no loop of expressions")
    return loop


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
