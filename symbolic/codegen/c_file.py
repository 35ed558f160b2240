"""Whole C files: a function that CasADi loads, and a rollout of many systems side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .c_function import CFunction, c_function
from .casadi_library import Shape, library_text
from .packaged_files import packaged_text
from .tape import Tape


def preamble(lanes: int, width: int) -> str:
    """Text at the beginning of every C file.

    Args:
        lanes: 1 for scalars, else the number of systems side by side.
        width: doubles in a vector.
    """
    return f"#define WIDTH {width}\n#define LANES {lanes}\n{packaged_text('lanes.h')}\n"


def external_text(name: str, inputs: Mapping[str, Shape], outputs: Mapping[str, Shape], tape: Tape, width: int) -> str:
    """C file of a function that CasADi loads by ``external``.

    Args:
        name: name of the function.
        inputs: shape of each input by name.
        outputs: shape of each output by name.
        tape: its operations.
        width: doubles in a vector.
    """
    body = c_function("evaluate", tape, 1, width)
    text = "\n".join([preamble(1, width), *sorted(body.calls), *(b.text for b in body.blocks), "", body.text])
    return library_text(name, inputs, outputs, text, "evaluate(in, out, w);", body.work_size)


PARAMETER_INPUT = 2
"""Index of the parameters among the inputs t, x, p, z, w of every function here."""


def rollout_text(
    rate: Tape,
    observed: Tape,
    correction: Tape | None,
    sample: Tape | None,
    tableau: tuple[Sequence[Sequence[float]], Sequence[float], Sequence[float]],
    *,
    lanes: int,
    width: int,
) -> str:
    """Write the C file of a rollout.

    Args:
        rate: (t, x, p, z, w) → ẋ.
        observed: (t, x, p, z, w) → recorded values, and ẋ last.
        correction: (t, x, p, z, w) → x after each step; None for no correction.
        sample: (t, x, p, z, w) → z at the beginning of each step; None without z.
        tableau: explicit method: A, weights b and times c, s rows each.
        lanes: systems side by side.
        width: doubles in a vector.
    """
    nx, sizes = len(rate.outputs[0]), [len(output) for output in observed.outputs[:-1]]
    nothing = Tape(rate.inputs, (), ((),))
    functions: dict[str, CFunction] = {}
    fixed: dict[str, int] = {}
    tapes = {"rate": rate, "observe": observed, "correct": correction or nothing, "sample": sample or nothing}
    for name, tape in tapes.items():
        setup, main = tape.split([PARAMETER_INPUT])
        functions[f"{name}_setup"] = c_function(f"{name}_setup", setup, lanes, width)
        functions[name] = c_function(name, main, lanes, width)
        fixed[name] = main.inputs[-1]
    A, weights, times = tableau
    calls = sorted(set[str]().union(*(f.calls for f in functions.values())))
    blocks = dict.fromkeys(block for f in functions.values() for block in f.blocks)
    numbers = {
        "NX": nx,
        "NP": rate.inputs[PARAMETER_INPUT],
        "NZ": rate.inputs[PARAMETER_INPUT + 1],
        "NW": rate.inputs[PARAMETER_INPUT + 2],
        "STAGES": len(weights),
        "OUTPUTS": len(sizes),
        "WORK": max(f.work_size for f in functions.values()),
        "CORRECTED": int(correction is not None),
        **{f"{name.upper()}_FIXED": size for name, size in fixed.items()},
    }
    return "\n".join(
        [
            "#include <stdlib.h>",
            preamble(lanes, width),
            *calls,
            *(block.text for block in blocks),
            "",
            *(f.text for f in functions.values()),
            *(f"#define {name} {number}" for name, number in numbers.items()),
            f"static const int SIZE[] = {{{', '.join(map(str, [*sizes, 0]))}}};",
            f"static const double A[STAGES][STAGES] = {{{', '.join(f'{{{_row(row)}}}' for row in A)}}};",
            f"static const double WEIGHT[STAGES] = {{{_row(weights)}}};",
            f"static const double C[STAGES] = {{{_row(times)}}};",
            packaged_text("march.h"),
        ]
    )


def _row(numbers: Sequence[float]) -> str:
    return ", ".join(float(number).hex() for number in numbers)
