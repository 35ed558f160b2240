"""A control law as a folder of C99: sources, example program, build file and README.

The folder is written whole or not at all.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...simulation.closed_loop import SymbolicLoop
from ...simulation.numeric_loop import close_loop
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel, require_name
from ...symbolic.validation import positive, vector
from ..common.symbolic_law import detects_contradiction, require_symbolic_law
from .closed_loop_code import ClosedLoopCode
from .controller_code import ControllerCode
from .ros2_control import ros2_section, ros2_text
from .syntax import law_identifier, number

EXAMPLE_STEPS = 1000


def main_text(law: ControllerCode, q0: list[float], v0: list[float], *, step: float, with_plant: bool) -> str:
    """An example: one tick, and with a plant a thousand steps of the closed loop.

    Args:
        law: the law.
        q0: coordinates, nq of them.
        v0: velocities, nv of them.
        step: of the closed loop [s].
        with_plant: whether there is one.
    """
    name, upper = law.name, law.name.upper()
    plant = f"""
    {name}_plant_parameters plant;
    const double h = {number(step)};
    int step;
    {name}_plant_parameters_nominal(&plant);
    for (step = 0; step < {EXAMPLE_STEPS} && status == {upper}_OK; ++step)
        status = {name}_plant_closed_step(&plant, &parameters, step*h, h, q, v);
    printf("after %d steps of the closed loop: %s\\n", step, {name}_status_text(status));
    for (i = 0; i < {upper}_NQ; ++i)
        printf("%s = %.17g %s\\n", {name}_coordinate_names[i], q[i], {name}_coordinate_units[i]);
    if (status != {upper}_OK)
        return 1;
"""
    return f"""\
/* How to call {name}: build it by CMake, or by cc -std=c99 main.c {name}.c{f" {name}_plant.c" * with_plant} -lm */

#include <stdio.h>

#include "{name}{"_plant" * with_plant}.h"

int main(void)
{{
    {name}_parameters parameters;
    double q[] = {{{_numbers(q0)}}};
    double v[] = {{{_numbers(v0)}}};
    double u[{max(1, law.law.output.numel())}] = {{0.0}};
    int i, bad, status;

    {name}_parameters_nominal(&parameters);
    bad = {name}_check_parameters(&parameters);
    if (bad >= 0) {{
        printf("%s must be %s\\n", {name}_parameter_names[bad], {name}_parameter_range(bad));
        return 1;
    }}
    status = {name}_tick(&parameters, 0.0, q, v, u);
    if (status != {upper}_OK{f" && status != {upper}_LIMITED" * law.saturate}) {{
        printf("no output at this state: %s\\n", {name}_status_text(status));
        return 1;
    }}
    for (i = 0; i < {upper}_NU; ++i)
        printf("%s = %.17g %s\\n", {name}_output_names[i], u[i], {name}_output_units[i]);
{_block(plant) if with_plant else ""}    return 0;
}}
"""


def cmake_text(law: ControllerCode, *, with_plant: bool) -> str:
    """A file for CMake.

    Args:
        law: the law.
        with_plant: whether there is one.
    """
    name = law.name
    return f"""\
cmake_minimum_required(VERSION 3.10)
project({name}_controller LANGUAGES C)

add_library({name}_controller STATIC {name}.c{f" {name}_plant.c" * with_plant})
target_include_directories({name}_controller PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
# C without extensions: GCC then rounds every product, as the law is written.
set_target_properties({name}_controller PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
                      POSITION_INDEPENDENT_CODE ON)
if(NOT MSVC)
  target_compile_options({name}_controller PRIVATE -Wall -Wextra -pedantic -ffp-contract=off)
endif()
if(UNIX)
  target_link_libraries({name}_controller PUBLIC m)
endif()

add_executable({name}_example main.c)
set_target_properties({name}_example PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_link_libraries({name}_example PRIVATE {name}_controller)
"""


def _numbers(values: list[float]) -> str:
    return ", ".join(map(number, values)) or "0.0"


def _block(text: str) -> str:
    """Statements with declarations before them, in a block of their own."""
    inner = "".join(f"    {line}\n" if line else "" for line in text.strip("\n").split("\n"))
    return f"    {{\n{inner}    }}\n"


def write_folder(folder: Path, files: Mapping[str, str], *, overwrite: bool) -> None:
    """Write files into a new folder beside ``folder``, and rename that.

    Args:
        folder: to be made; its parent must be there.
        files: text by name.
        overwrite: whether a folder that holds files of these names and nothing else gives way.

    Raises:
        BridgeError: if there is a folder that does not give way, or a file of that name, or no parent.
        OSError: if it cannot be written; then nothing has changed.
    """
    target = folder.resolve()
    if not target.parent.is_dir():
        raise BridgeError(f"there is no folder {str(target.parent)!r} to write {target.name!r} into: make it first")
    held = _folder_contents(target)
    foreign = [name for name in held if name not in files]
    if foreign:
        raise BridgeError(
            f"{str(folder)!r} holds {', '.join(map(repr, foreign[:3]))}{', …' * (len(foreign) > 3)}, which is none of "
            "the files to be written, so it is not replaced: give a folder of its own"
        )
    if held and not overwrite:
        raise BridgeError(f"{str(folder)!r} is not empty: give another folder, or replace it by overwrite=True")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
        room = Path(name)
        new, old = room / "new", room / "old"
        new.mkdir(mode=0o755)
        for file, text in files.items():
            (new / file).write_text(text, encoding="utf-8", newline="\n")
        if held:
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if held:
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _folder_contents(target: Path) -> list[str]:
    if target.exists() and not target.is_dir():
        raise BridgeError(f"{str(target)!r} is a file: give a folder")
    return sorted(entry.name for entry in target.iterdir()) if target.is_dir() else []


def readme_text(law: ControllerCode, *, with_plant: bool) -> str:
    """What the folder is, and how to use it.

    Args:
        law: the law.
        with_plant: whether a plant is there.
    """
    name, upper, labels = law.name, law.name.upper(), law.labels
    plant = (
        f"`{name}_plant.h` has a plant: `{name}_plant_step` moves it between two ticks under inputs that are held, for "
        f"a controller that runs on its own hardware; `{name}_plant_closed_step` moves plant and law together."
    )
    pairs = [(given, constant) for given, found in law.renamed.items() for constant in found]
    spelled = [pair for pair in pairs if not pair[1].endswith(f"_{_macro_name(pair[0])}")]
    renamed = ", ".join(f"`{given}` is `{constant}`" for given, constant in spelled)
    told = (
        "What a C name cannot have is an underscore in the names of places; the tables of names have all as they are."
    )
    told += f" Otherwise, {renamed}." if spelled else ""
    efforts = ""
    if law.efforts.size:
        done = (
            f"the inputs are cut to them, and the status is then `{upper}_LIMITED`"
            if law.saturate
            else "nothing here cuts the inputs to them; export with `saturate=True`, or do it in the drives"
        )
        efforts = f"`{name}_effort_limits` are the limits of the drives: {done}."
    parts = (efforts, plant * with_plant, told if law.renamed else "")
    more = "".join(f"\n{_wrapped(part)}\n" for part in parts if part)
    about = (
        f"The law of {labels.controller} for {labels.robot} as C99: {law.work_summary}, {8 * law.kernel.work} bytes of "
        "the stack for intermediate results. No memory is allocated, no library is needed but `math.h`, nothing is "
        "kept between ticks."
    )
    return f"""\
# {name}

{_wrapped(about)}

```c
{name}_parameters parameters;
{name}_parameters_nominal(&parameters);
status = {name}_tick(&parameters, t, q, v, u);
```

`u` is written only if there is an output that may be applied; `{name}_status_text(status)` says what happened
otherwise. Set `parameters.value[{upper}_P_...]` at any time between two ticks and ask `{name}_check_parameters`.
{more}
`cmake -S . -B build && cmake --build build` makes the library and `{name}_example`. Compile without `-ffast-math`, and
with `-ffp-contract=off`, as `CMakeLists.txt` does: the numbers are then those of Python to rounding, as far as
`math.h` is the same.

## In ros2_control

{_wrapped(ros2_section(law))}

```cpp
{ros2_text(law)}```
"""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def _macro_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).rstrip("_").upper()


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
    law = require_symbolic_law(controller, "be written as C")
    c, effort = controller.robot.coordinates, controller.robot.limits.effort
    if saturate and (controller.applies_force or not np.isfinite(effort).any()):
        why = "gives a force, not inputs" if controller.applies_force else f"drives {controller.robot.name}, which has"
        has = "" if controller.applies_force else " no limits of effort: give it limits"
        raise BridgeError(f"saturate=True needs limits of inputs, but {type(controller).__name__} {why}{has}")
    require_name("a law in C", name, BridgeError)
    word = law_identifier(name)
    text = ControllerCode(
        word, controller, law, controller.parameters.values(p), detects_contradiction(controller), saturate
    )
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
        loop = _symbolic_loop(with_plant, controller)
        plant = ClosedLoopCode(text, with_plant, loop, with_plant.parameters.values(plant_p))
        files |= {f"{word}_plant.h": plant.header, f"{word}_plant.c": plant.implementation}
    elif plant_p is not None:
        raise BridgeError("plant_p are parameters of a plant, and none is written: give with_plant, or leave it out")
    write_folder(Path(path), files, overwrite=overwrite)
    if word != name:
        warnings.warn(
            f"C has no name {name!r}: all names begin with {word!r}", BridgeWarning, stacklevel=caller_stacklevel()
        )
    return CFolder(
        Path(path), word, tuple(files), text.kernel.operations, text.kernel.work, text.kernel.calls, text.renamed
    )


def _symbolic_loop(robot: Robot, controller: Controller) -> SymbolicLoop:
    if not isinstance(robot, Robot):
        raise BridgeError(f"with_plant must be a Robot, got {robot!r}")
    model, named = controller.robot, {"coordinates": (controller.robot.coordinates.names, robot.coordinates.names)}
    if not controller.applies_force:
        named["inputs"] = (model.input_names, robot.input_names)
    for what, (ours, theirs) in named.items():
        if tuple(ours) != tuple(theirs):
            raise BridgeError(
                f"the {what} of the law's model {model.name} are {_name_list(ours)}, those of the plant {robot.name} "
                f"{_name_list(theirs)}: a plant needs the same, in the same order"
            )
    loop = close_loop(robot, controller, None).symbolic()
    if loop is None:  # pragma: no cover - a controller with a law makes a symbolic loop
        raise BridgeError(f"{robot.name} and {type(controller).__name__} make no loop of expressions")
    return loop


def _name_list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
