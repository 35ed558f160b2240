"""C text of a whole run: the rate, what is recorded, a correction after each step, and the loop around them."""

from __future__ import annotations

from collections.abc import Sequence

from .c_function import CFunction, c_function
from .source import common, preamble
from .tape import Tape

PARAMETERS = 2
"""Place of the parameters among the inputs t, x, p of every function here."""


def march_text(
    rate: Tape,
    observed: Tape,
    correction: Tape | None,
    tableau: tuple[Sequence[Sequence[float]], Sequence[float], Sequence[float]],
    *,
    lanes: int,
    width: int,
) -> str:
    """Write the file.

    Args:
        rate: (t, x, p) → ẋ.
        observed: (t, x, p) → what is recorded, and ẋ last.
        correction: (t, x, p) → x after each step; None for none.
        tableau: of the explicit method: A, weights b and times c, s rows each.
        lanes: systems side by side.
        width: doubles in a vector.
    """
    nx, sizes = len(rate.outputs[0]), [len(output) for output in observed.outputs[:-1]]
    nothing = Tape(rate.inputs, (), ((),))
    functions: dict[str, CFunction] = {}
    fixed: dict[str, int] = {}
    for name, tape in (("rate", rate), ("observe", observed), ("correct", correction or nothing)):
        setup, main = tape.split([PARAMETERS])
        functions[f"{name}_setup"] = c_function(f"{name}_setup", setup, lanes, width)
        functions[name] = c_function(name, main, lanes, width)
        fixed[name] = main.inputs[-1]
    A, weights, times = tableau
    calls = sorted(set[str]().union(*(f.calls for f in functions.values())))
    numbers = {
        "NX": nx,
        "NP": rate.inputs[PARAMETERS],
        "STAGES": len(weights),
        "OUTPUTS": len(sizes),
        "WORK": max(f.room for f in functions.values()),
        "CORRECTED": int(correction is not None),
        **{f"{name.upper()}_FIXED": size for name, size in fixed.items()},
    }
    return "\n".join(
        [
            "#include <stdlib.h>",
            preamble(lanes, width),
            *calls,
            "",
            *(f.text for f in functions.values()),
            *(f"#define {name} {number}" for name, number in numbers.items()),
            f"static const int SIZE[] = {{{', '.join(map(str, [*sizes, 0]))}}};",
            f"static const double A[STAGES][STAGES] = {{{', '.join(f'{{{_row(row)}}}' for row in A)}}};",
            f"static const double WEIGHT[STAGES] = {{{_row(weights)}}};",
            f"static const double C[STAGES] = {{{_row(times)}}};",
            common("march.h"),
        ]
    )


def _row(numbers: Sequence[float]) -> str:
    return ", ".join(float(number).hex() for number in numbers)
