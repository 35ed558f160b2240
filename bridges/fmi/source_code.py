"""C sources of an FMU, and the machine code compiled from them."""

from __future__ import annotations

import functools
import platform
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from ...controllers.status import Status
from ...symbolic.compiler import COMPILE_TIME_LIMIT, find_compiler
from ...symbolic.errors import BridgeError
from ...symbolic.parameters import Range
from ..c.straight_line_code import PREAMBLE, CSource, c_source, definitions
from ..c.syntax import string
from .fmu_model import FmuModel

COMPILER_FLAGS = ("-O1", "-std=c99", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-s")
"""No option for this machine's processor, because FMUs are used on other machines. Straight-line code gains little by
-O2, which takes twice as long to compile."""

PLATFORMS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Linux", "x86_64"): {"2.0": "linux64", "3.0": "x86_64-linux"},
    ("Linux", "aarch64"): {"3.0": "aarch64-linux"},
    ("Darwin", "x86_64"): {"2.0": "darwin64", "3.0": "x86_64-darwin"},
    ("Darwin", "arm64"): {"3.0": "aarch64-darwin"},
}
"""System and processor → version of FMI → name of the folder for machine code."""


def prefix_macro(version: str) -> str:
    """Name of the macro that removes the model's prefix from function names.

    Args:
        version: version of FMI.
    """
    return f"FMI{version[0]}_OVERRIDE_FUNCTION_PREFIX"


@dataclass(frozen=True)
class Binary:
    """Machine code with its path in the FMU.

    Attributes:
        path: path in the FMU.
        content: contents of the file.
    """

    path: str
    content: bytes


def compile_sources(sources: Mapping[str, str], unit: str, name: str, version: str) -> Binary:
    """Compile the sources of an FMU.

    Args:
        sources: name of each C file → text.
        unit: name of the file that includes the others.
        name: C identifier of the model.
        version: version of FMI.

    Raises:
        BridgeError: if FMI has no name for this platform, no compiler is found, or compilation fails.
    """
    machine = platform.system(), platform.machine()
    folder = PLATFORMS.get(machine, {}).get(version)
    remedy = "pass binary=False for an FMU of sources only, to be compiled where it is used"
    if folder is None:
        raise BridgeError(f"FMI {version} has no name for machine code of {' '.join(machine)}: {remedy}")
    toolchain = find_compiler()
    if isinstance(toolchain, str):
        raise BridgeError(f"an FMU contains machine code, but {toolchain}; or {remedy}")
    with tempfile.TemporaryDirectory(prefix="erugin-fmu-") as temporary:
        build = Path(temporary)
        for file, text in sources.items():
            (build / file).write_text(text, encoding="utf-8")
        library = f"{name}.{'dylib' if machine[0] == 'Darwin' else 'so'}"
        # Relative names, because the compiler may store paths in the library.
        command = [*toolchain.command, *COMPILER_FLAGS, f"-D{prefix_macro(version)}", unit, "-o", library, "-lm"]
        try:
            subprocess.run(
                command,
                cwd=build,
                check=True,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=COMPILE_TIME_LIMIT,
            )
        except (OSError, subprocess.SubprocessError) as error:
            lines = str(getattr(error, "stderr", "") or error).strip().splitlines()[:5]
            raise BridgeError(f"the FMU cannot be compiled: {' '.join(lines)}; {remedy}") from error
        return Binary(f"binaries/{folder}/{library}", (build / library).read_bytes())


PACKAGE = __name__.rpartition(".")[0]
RUNTIME_FILES = {
    "2.0": ("fmi2_api.h", "fmi2.c", "fmi2_run.h"),
    "3.0": ("fmi3_api.h", "fmi3.c", "fmi3_run.h", "fmi3_none.h"),
}
"""Version of FMI → files that implement its functions."""

COMPILATION_UNIT = {"2.0": "fmi2.c", "3.0": "fmi3.c"}
"""Version of FMI → the file that is compiled and includes the others."""

RANGE_LETTERS: Mapping[Range, str] = {
    Range.ANY: "a",
    Range.POSITIVE: "p",
    Range.NOT_NEGATIVE: "n",
    Range.SIGN: "s",
    Range.SIGN_OR_ZERO: "z",
}


def source_files(block: FmuModel, version: str, token: str, *, contradictory: bool = False) -> dict[str, str]:
    """Return all C files of an FMU, by name.

    Args:
        block: model of the FMU.
        version: version of FMI, ``"2.0"`` or ``"3.0"``.
        token: identifier shared by binary and description.
        contradictory: True if the status for dependent rows means a contradiction.
    """
    own = files(PACKAGE).joinpath("sources")
    names = (*RUNTIME_FILES[version], "core.h", "core.c", "judge.c", "state.c")
    texts = {name: own.joinpath(name).read_text(encoding="utf-8") for name in names}
    return {**texts, "model.h": _header(block, token, contradictory), "model.c": _implementation(block)}


def _header(block: FmuModel, token: str, contradictory: bool) -> str:
    states, pivots = len(block.states), len(block.rows)
    rate, outputs, update = _functions(block)
    memory = len(block.initial)
    numbers = {
        "EXCHANGE": int(block.exchange),
        "INPUTS": len(block.inputs),
        "PARAMETERS": len(block.parameters),
        "STATES": states,
        "OUTPUTS": len(block.outputs),
        "PIVOTS": pivots,
        "WATCHED": int(block.watched and not contradictory),
        "CONTRADICTORY": int(contradictory),
        "VARIABLES": len(block.variables),
        # C has no arrays of length zero.
        "STATES_ROOM": max(states, 1),
        "PIVOTS_ROOM": max(pivots, 1),
        "MEMORY": memory,
        "MEMORY_ROOM": max(memory, 1),
        "PERIOD": block.period.hex(),
        "WORK": max(rate.work, outputs.work, update.work),
        "STEP": block.step.hex(),
        "PREFIX": f"{block.name}_",
    }
    status = Status.CONTRADICTORY if contradictory else Status.SINGULAR
    texts = {
        "TOKEN": token,
        "SINGULAR": status.sentence,
        "NOT_FINITE": Status.NOT_FINITE.sentence,
    }
    lines = [f"#define MODEL_{key} {number}" for key, number in numbers.items()]
    lines += [f"#define MODEL_{key} {string(text)}" for key, text in texts.items()]
    lines += [
        f"\n/* Defined by CMake for a shared library. */\n#ifdef {block.name}_EXPORTS\n#define MODEL_LOADED\n#endif"
    ]
    return f"/* Sizes and texts of {block.name}. */\n#ifndef MODEL_H\n#define MODEL_H\n\n" + "\n".join(
        [*lines, "\n#endif\n"]
    )


def _implementation(block: FmuModel) -> str:
    variables = block.variables
    starts = [0.0 if each.start is None else each.start for each in variables]
    letters = "".join(RANGE_LETTERS[each.allowed] for each in variables)
    kinds = "".join("n" if natural else "l" for natural in block.natural)
    rate, outputs, update = _functions(block)
    return "\n".join(
        [
            f"/* Equations of {block.name}: {rate.operations} operations for the rate of its states, "
            f"{outputs.operations} for its outputs. */",
            PREAMBLE,
            '#include "model.h"\n',
            f"static const double model_start[] = {{{_list(map(float.hex, starts))}}};",
            f"static const char *const model_name[] = {{{_list(string(each.name) for each in variables)}}};",
            f"static const char model_limit[] = {string(letters)};",
            f"static const char model_kind[] = {string(kinds)};",
            f"static const char *const model_row[] = {{{_list(map(string, block.rows or ('',)))}}};",
            f"static const double model_tolerance[] = {{{_list(map(float.hex, block.tolerances or (0.0,)))}}};",
            f"static const double model_memory[] = {{{_list(map(float.hex, block.initial or (0.0,)))}}};\n",
            definitions(rate, outputs, update),
            "/* in: time, inputs, parameters, states, memory; out: rates of the states, pivots of the rows */",
            rate.text,
            "/* in: time, inputs, parameters, states, memory; out: outputs, pivots of the rows */",
            outputs.text,
            "/* in: time, inputs, parameters, states, memory; out: memory after a sample */",
            update.text,
        ]
    )


@functools.lru_cache(maxsize=8)
def _functions(block: FmuModel) -> tuple[CSource, CSource, CSource]:
    inputs = {"t": block.t, "i": block.i, "p": block.p, "x": block.x, "z": block.z}
    return (
        c_source("model_rate", inputs, {"rate": block.rate, "pivots": block.pivots}),
        c_source("model_outputs", inputs, {"outputs": block.y, "pivots": block.pivots}),
        c_source("model_update", inputs, {"memory": block.updated}),
    )


def _list(items: Iterable[str]) -> str:
    return ",\n    ".join(["\n    " + first if k == 0 else first for k, first in enumerate(items)])
