"""The equations of a block as C99, with tables of names, values and bounds."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from importlib.resources import files

from ...controllers.status import Status
from ...symbolic.parameters import Range
from ..c.identifiers import string
from ..c.source import PREAMBLE, CSource, c_source
from .block import Block

PACKAGE = __name__.rpartition(".")[0]
FRAME = {"2.0": ("fmi2_api.h", "fmi2.c", "fmi2_run.h"), "3.0": ("fmi3_api.h", "fmi3.c", "fmi3_run.h", "fmi3_none.h")}
"""Files that make functions of FMI of the equations, by version of FMI."""

UNIT = {"2.0": "fmi2.c", "3.0": "fmi3.c"}
"""The file that is compiled, and includes the others."""

LETTERS: Mapping[Range, str] = {Range.ANY: "a", Range.POSITIVE: "p", Range.NOT_NEGATIVE: "n", Range.SIGN: "s"}


def source_files(block: Block, version: str, token: str, *, contradictory: bool = False) -> dict[str, str]:
    """All C files of an FMU, by name.

    Args:
        block: what it computes.
        version: of FMI, ``"2.0"`` or ``"3.0"``.
        token: by which binary and description know each other.
        contradictory: whether dependent rows contradict each other where they are told.
    """
    own = files(PACKAGE).joinpath("sources")
    names = (*FRAME[version], "core.h", "core.c", "judge.c", "state.c")
    texts = {name: own.joinpath(name).read_text(encoding="utf-8") for name in names}
    return {**texts, "model.h": _header(block, token, contradictory), "model.c": _implementation(block)}


def _header(block: Block, token: str, contradictory: bool) -> str:
    states, pivots = len(block.states), len(block.rows)
    rate, outputs = _functions(block)
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
        "WORK": max(rate.work, outputs.work),
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
        f"\n/* By CMake, for a library that is loaded. */\n#ifdef {block.name}_EXPORTS\n#define MODEL_LOADED\n#endif"
    ]
    return f"/* Sizes and texts of {block.name}. */\n#ifndef MODEL_H\n#define MODEL_H\n\n" + "\n".join(
        [*lines, "\n#endif\n"]
    )


def _implementation(block: Block) -> str:
    variables = block.variables
    starts = [0.0 if each.start is None else each.start for each in variables]
    letters = "".join(LETTERS[each.allowed] for each in variables)
    kinds = "".join("n" if natural else "l" for natural in block.natural)
    rate, outputs = _functions(block)
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
            f"static const double model_tolerance[] = {{{_list(map(float.hex, block.tolerances or (0.0,)))}}};\n",
            "/* in: time, inputs, parameters, states; out: rates of the states, pivots of the rows */",
            rate.text,
            "/* in: time, inputs, parameters, states; out: outputs, pivots of the rows */",
            outputs.text,
        ]
    )


@functools.lru_cache(maxsize=8)
def _functions(block: Block) -> tuple[CSource, CSource]:
    inputs = {"t": block.t, "i": block.i, "p": block.p, "x": block.x}
    return (
        c_source("model_rate", inputs, {"rate": block.rate, "pivots": block.pivots}),
        c_source("model_outputs", inputs, {"outputs": block.y, "pivots": block.pivots}),
    )


def _list(items: Iterable[str]) -> str:
    return ",\n    ".join(["\n    " + first if k == 0 else first for k, first in enumerate(items)])
