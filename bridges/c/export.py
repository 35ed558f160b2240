"""Export of a control law as a folder of C99: sources, example program, build file and README.

The folder is written completely or not at all.
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
from ...controllers.law import Law
from ...robots.robot import Robot
from ...simulation.closed_loop import SymbolicLoop, close_loop
from ...symbolic.errors import BridgeError, BridgeWarning, caller_stacklevel, require_name
from ...symbolic.validation import positive, vector
from ..common.bridge import ExportRequest
from ..common.symbolic_law import detects_contradiction, require_symbolic_law, saturated
from .closed_loop_code import ClosedLoopCode
from .controller_code import ControllerCode
from .ros2_control import ros2_section, ros2_text
from .syntax import law_identifier, number

EXAMPLE_STEPS = 1000


def main_text(law: ControllerCode, q0: list[float], v0: list[float], *, step: float, with_plant: bool) -> str:
    """Return the example program: one tick, and with a plant a thousand steps of the closed loop.

    Args:
        law: C code of the law.
        q0: coordinates, nq of them.
        v0: velocities, nv of them.
        step: step of the closed loop [s].
        with_plant: True if the folder contains a plant.
    """
    name, upper = law.name, law.name.upper()
    memory = sampled = ""
    if law.remembers:
        memory = f"    {name}_memory memory;\n"
        sampled = f"    {name}_memory_initial(&memory);\n    {name}_sample(&parameters, 0.0, q, v, &memory);\n"
    stopped = " && ".join(f"status != {applied}" for applied in law.applied)
    going = " || ".join(f"status == {applied}" for applied in law.applied)
    going = f"({going})" if len(law.applied) > 1 else going
    again = f"    {name}_memory_initial(&memory);\n" * law.remembers
    plant = f"""
    {name}_plant_parameters plant;
    const double h = {number(step)};
    int step;
    {name}_plant_parameters_nominal(&plant);
{again}    for (step = 0; step < {EXAMPLE_STEPS} && {going}; ++step)
        status = {name}_plant_closed_step(&plant, &parameters, {"&memory, " * law.remembers}step*h, h, q, v);
    printf("after %d steps of the closed loop: %s\\n", step, {name}_status_text(status));
    for (i = 0; i < {upper}_NQ; ++i)
        printf("%s = %.17g %s\\n", {name}_coordinate_names[i], q[i], {name}_coordinate_units[i]);
    if ({stopped})
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
{memory}
    {name}_parameters_nominal(&parameters);
    bad = {name}_check_parameters(&parameters);
    if (bad >= 0) {{
        printf("%s must be %s\\n", {name}_parameter_names[bad], {name}_parameter_range(bad));
        return 1;
    }}
{sampled}    status = {name}_tick(&parameters, {"&memory, " * law.remembers}0.0, q, v, u);
    if ({stopped}) {{
        printf("no output at this state: %s\\n", {name}_status_text(status));
        return 1;
    }}
    for (i = 0; i < {upper}_NU; ++i)
        printf("%s = %.17g %s\\n", {name}_output_names[i], u[i], {name}_output_units[i]);
{_block(plant) if with_plant else ""}    return 0;
}}
"""


def cmake_text(law: ControllerCode, *, with_plant: bool) -> str:
    """Return the text of CMakeLists.txt.

    Args:
        law: C code of the law.
        with_plant: True if the folder contains a plant.
    """
    name = law.name
    return f"""\
cmake_minimum_required(VERSION 3.10)
project({name}_controller LANGUAGES C)

add_library({name}_controller STATIC {name}.c{f" {name}_plant.c" * with_plant})
target_include_directories({name}_controller PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
# C without extensions, so that GCC rounds every product as written.
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
    """Declarations and statements in a separate block."""
    inner = "".join(f"    {line}\n" if line else "" for line in text.strip("\n").split("\n"))
    return f"    {{\n{inner}    }}\n"


def write_folder(folder: Path, files: Mapping[str, str], *, overwrite: bool) -> None:
    """Write files into a new folder beside ``folder``, and rename that folder.

    Args:
        folder: path of the folder; its parent must exist.
        files: name of each file → text.
        overwrite: True to replace an existing folder that contains only files with these names.

    Raises:
        BridgeError: if the folder exists and may not be replaced, is a file, or has no parent folder.
        OSError: if it cannot be written; nothing has changed then.
    """
    target = folder.resolve()
    if not target.parent.is_dir():
        raise BridgeError(f"the folder {str(target.parent)!r} for {target.name!r} does not exist: create it first")
    contents = _folder_contents(target)
    foreign = [name for name in contents if name not in files]
    if foreign:
        raise BridgeError(
            f"{str(folder)!r} contains {', '.join(map(repr, foreign[:3]))}{', …' * (len(foreign) > 3)}, not among the "
            "files of an export, so it is not replaced: choose another folder"
        )
    if contents and not overwrite:
        raise BridgeError(f"{str(folder)!r} is not empty: choose another folder, or replace it by overwrite=True")
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as name:
        new, old = Path(name) / "new", Path(name) / "old"
        new.mkdir(mode=0o755)
        for file, text in files.items():
            (new / file).write_text(text, encoding="utf-8", newline="\n")
        if contents:
            target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            if contents:
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)


def _folder_contents(target: Path) -> list[str]:
    if target.exists() and not target.is_dir():
        raise BridgeError(f"{str(target)!r} is a file: choose a folder")
    return sorted(entry.name for entry in target.iterdir()) if target.is_dir() else []


def readme_text(law: ControllerCode, *, with_plant: bool) -> str:
    """Return the text of README.md.

    Args:
        law: C code of the law.
        with_plant: True if the folder contains a plant.
    """
    name, upper, labels = law.name, law.name.upper(), law.labels
    plant = (
        f"`{name}_plant.h` declares the plant: `{name}_plant_step` advances it between two ticks under constant "
        f"inputs, for a controller on separate hardware; `{name}_plant_closed_step` advances plant and law together."
    )
    pairs = [(given, constant) for given, found in law.renamed.items() for constant in found]
    spelled = [pair for pair in pairs if not pair[1].endswith(f"_{_macro_name(pair[0])}")]
    renamed = ", ".join(f"`{given}` is `{constant}`" for given, constant in spelled)
    spelling = (
        "Characters that C does not allow are underscores in constants; the tables of names contain the original names."
    )
    spelling += f" Furthermore, {renamed}." if spelled else ""
    efforts = ""
    if law.efforts.size:
        done = (
            f"a tick applies them to the inputs and then returns the status `{upper}_LIMITED`"
            if law.saturate
            else "a tick does not apply them; export with `saturate=True`, or limit the inputs in the actuators"
        )
        efforts = f"`{name}_effort_limits` are the limits of the actuators: {done}."
    parts = (efforts, plant * with_plant, spelling if law.renamed else "")
    more = "".join(f"\n{_wrapped(part)}\n" for part in parts if part)
    about = (
        f"The law of {labels.controller} for {labels.robot} as C99: {law.work_summary}, {8 * law.kernel.work} bytes of "
        "stack for intermediate results. It allocates no memory, requires no library except `math.h`, and retains "
        f"nothing between ticks{' except in the memory of the caller' * law.remembers}."
    )
    first, memory = "", ""
    if law.remembers:
        first = f"{name}_memory_initial(&memory);\n{name}_sample(&parameters, t, q, v, &memory);  /* every period */\n"
        memory = "&memory, "
    return f"""\
# {name}

{_wrapped(about)}

```c
{name}_parameters parameters;
{name}_parameters_nominal(&parameters);
{first}status = {name}_tick(&parameters, {memory}t, q, v, u);
```

`u` is written only if the output may be applied; otherwise `{name}_status_text(status)` gives the reason. Set
`parameters.value[{upper}_P_...]` at any time between two ticks, then call `{name}_check_parameters`.
{more}
`cmake -S . -B build && cmake --build build` builds the library and `{name}_example`. Compile without `-ffast-math` and
with `-ffp-contract=off`, as `CMakeLists.txt` does: the numbers then equal Python's up to rounding and differences of
`math.h`.

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
    """Exported folder of C code.

    Attributes:
        folder: path of the folder.
        name: prefix of all names in C, and name of the files.
        files: names of the files.
        operations: number of operations of a tick, always the same.
        work: number of doubles for intermediate results of a tick.
        calls: functions of ``math.h`` that a tick calls.
        renamed: names of signals and parameters that are not C identifiers → all constants for each.
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
    period: float | None = None,
    overwrite: bool = False,
) -> CFolder:
    """Write a law as C99: source file, header, example, CMake file, and a README with a ros2_control controller.

    Like ``control``, a tick computes u from (t, q, v), or R for a controller that applies forces. It allocates and
    retains nothing and calls nothing except ``math.h``; its work is the same at every tick. Parameters remain
    adjustable.

    Args:
        controller: controller with a symbolic law.
        path: path of the folder to create, in an existing folder.
        name: prefix of all names in C, and name of the files.
        p: nominal values of the controller's parameters: its own, overridden by name, or the whole vector.
        with_plant: a plant, to write its steps and those of its closed loop with the law too.
        plant_p: nominal values of the plant's parameters, likewise.
        saturate: True to limit the inputs to the limits of the robot's actuators, as
            :class:`~erugin.controllers.wrappers.Saturation` does.
        q0: coordinates in the example, shape (nq,); zero if not given.
        v0: velocities in the example, shape (nv,); zero if not given.
        step: step of the example's closed loop, if there is a plant [s].
        period: time between samples, which a law with a memory requires [s]: each is processed by ``name_sample``.
        overwrite: True to replace an earlier export.

    Returns:
        The written files and the cost of a tick.

    Raises:
        BridgeError: for a law without expressions or one that draws random numbers, a law with a memory without
            period, a plant with other coordinates or inputs, an operation that C99
            lacks, missing limits, or a folder that may not be replaced; nothing is written then.
        ParameterError: for an unknown parameter, one without a value, or one out of its range.
        ShapeError, ModelError: for a state of another shape, a step that is not greater than zero, or a plant whose
            mass matrix is singular in every position.
        OSError: if the folder cannot be written; nothing has changed then.

    Warns:
        BridgeWarning: if ``name`` is not a valid C name; it says which name is used instead.
    """
    if saturate:
        controller = saturated(controller)
    law = require_symbolic_law(controller, "be written as C", period=period)
    c = controller.robot.coordinates
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
        loop = _symbolic_loop(with_plant, controller, law)
        plant = ClosedLoopCode(text, with_plant, loop, with_plant.parameters.values(plant_p))
        files |= {f"{word}_plant.h": plant.header, f"{word}_plant.c": plant.implementation}
    elif plant_p is not None:
        raise BridgeError("plant_p= requires with_plant=, the plant with these parameters")
    write_folder(Path(path), files, overwrite=overwrite)
    if word != name:
        warnings.warn(
            f"{name!r} is not a valid C name: all names start with {word!r}",
            BridgeWarning,
            stacklevel=caller_stacklevel(),
        )
    return CFolder(
        Path(path), word, tuple(files), text.kernel.operations, text.kernel.work, text.kernel.calls, text.renamed
    )


def write_scenario(request: ExportRequest) -> None:
    """Write the law or the closed loop of a scenario.

    Args:
        request: request of the command line.
    """
    setup, plant = request.setup, request.setup.robot if request.what == "loop" else None
    # An identifier of C, even where the name of the scenario is not one.
    word = "".join(c if c.isascii() and c.isalnum() else "_" for c in request.name)
    export(
        *(request.controller, request.out),
        name=word if word[:1].isalpha() else f"erugin_{word}",
        p=setup.controller_p,
        with_plant=plant,
        plant_p=None if plant is None else setup.p,
        q0=setup.q0,
        v0=setup.v0,
        period=setup.step,
        overwrite=request.overwrite,
    )


def _symbolic_loop(robot: Robot, controller: Controller, law: Law) -> SymbolicLoop:
    if not isinstance(robot, Robot):
        raise BridgeError(f"with_plant must be a Robot, got {robot!r}")
    model, named = controller.robot, {"coordinates": (controller.robot.coordinates.names, robot.coordinates.names)}
    if not controller.applies_force:
        named["inputs"] = (model.input_names, robot.input_names)
    for what, (ours, theirs) in named.items():
        if tuple(ours) != tuple(theirs):
            raise BridgeError(
                f"the {what} of the plant {robot.name} must be those of the controller's robot {model.name}, in the "
                f"same order: {_name_list(ours)}; got {_name_list(theirs)}"
            )
    loop = close_loop(robot, controller, None, law=law).symbolic()
    assert loop is not None
    return loop


def _name_list(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
