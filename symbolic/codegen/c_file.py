"""Whole C files: a function that CasADi loads, and a rollout of many systems side by side."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from .c_function import CFunction, c_function
from .tape import Tape

PACKAGE = __name__.rpartition(".")[0]


@functools.cache
def generator_hash() -> str:
    """Hash of the code that writes the C text, which distinguishes the text of other releases."""
    own = files(PACKAGE)
    texts = [
        packaged_text(name)
        for name in sorted(entry.name for entry in own.iterdir() if entry.name.endswith((".py", ".h")))
    ]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


@functools.cache
def packaged_text(name: str) -> str:
    """Text of a C file that comes with this package.

    Args:
        name: name of the file.
    """
    return files(PACKAGE).joinpath(name).read_text(encoding="utf-8")


def preamble(lanes: int, width: int) -> str:
    """Text at the beginning of every C file.

    Args:
        lanes: 1 for scalars, else the number of systems side by side.
        width: doubles in a vector.
    """
    return f"#define WIDTH {width}\n#define LANES {lanes}\n{packaged_text('lanes.h')}\n"


Shape = tuple[int, int]


@dataclass(frozen=True)
class CBlock:
    """C text of a function that continues where expressions end: an algorithm with branches and loops.

    Attributes:
        text: definition of ``static void name(const double *const *in, double *const *out)``, which reads the outputs
            of the expressions, as columns in their order, and allocates nothing.
        name: name of the function.
        outputs: number of entries of each of its outputs by name.
    """

    text: str
    name: str
    outputs: Mapping[str, int]


def external_text(
    name: str,
    inputs: Mapping[str, Shape],
    outputs: Mapping[str, Shape],
    tape: Tape,
    width: int,
    block: CBlock | None = None,
) -> str:
    """C file of a function that CasADi loads by ``external``.

    Args:
        name: name of the function.
        inputs: shape of each input by name.
        outputs: shape of each output by name, those of the block last.
        tape: its operations.
        width: doubles in a vector.
        block: function of the outputs of the tape, whose outputs follow them.
    """
    body = c_function("evaluate", tape, 1, width)
    n, k = len(inputs), len(outputs)
    largest = max([1, *(rows * columns for rows, columns in (*inputs.values(), *outputs.values()))])
    parts = [preamble(1, width), *sorted(body.calls), "", body.text]
    call, spare, offset = "evaluate(in, out, w);", largest, ""
    if block is not None:
        # The block reads every output of the expressions, wanted or not.
        spare, offset = k * largest, f" + i * {largest}"
        parts.append(block.text)
        call += f" {block.name}((const double *const *)out, out + {k - len(block.outputs)});"
    parts += [_shapes(f"{name}_sparsity_in", inputs), _shapes(f"{name}_sparsity_out", outputs)]
    parts += [_names(f"{name}_name_in", inputs), _names(f"{name}_name_out", outputs)]
    parts.append(
        # CasADi passes a null pointer for an argument that is zero and for a result that is not needed.
        f"int {name}(const double **arg, double **res, long long *iw, double *w, int mem) {{\n"
        f"  static const double zeros[{largest}] = {{0.}};\n"
        f"  const double *in[{n + 1}];\n  double *out[{k + 1}];\n"
        f"  for (int i = 0; i < {n}; ++i) in[i] = arg[i] ? arg[i] : zeros;\n"
        f"  for (int i = 0; i < {k}; ++i) out[i] = res[i] ? res[i] : w + {body.work_size}{offset};\n"
        f"  (void)iw; (void)mem;\n  {call}\n  return 0;\n}}\n"
        f"long long {name}_n_in(void) {{ return {n}; }}\n"
        f"long long {name}_n_out(void) {{ return {k}; }}\n"
        f"int {name}_work(long long *sz_arg, long long *sz_res, long long *sz_iw, long long *sz_w) {{\n"
        f"  if (sz_arg) *sz_arg = {n};\n  if (sz_res) *sz_res = {k};\n"
        f"  if (sz_iw) *sz_iw = 0;\n  if (sz_w) *sz_w = {body.work_size + spare};\n  return 0;\n}}\n"
    )
    return "\n".join(parts)


def _shapes(name: str, shapes: Mapping[str, Shape]) -> str:
    """CasADi's compressed form of full matrices: rows, columns, and 1 for full."""
    cases = " ".join(f"case {i}: return s{i};" for i in range(len(shapes)))
    arrays = " ".join(f"static const long long s{i}[3] = {{{r}, {c}, 1}};" for i, (r, c) in enumerate(shapes.values()))
    return f"const long long *{name}(long long i) {{ {arrays} switch (i) {{ {cases} default: return 0; }} }}"


def _names(name: str, names: Iterable[str]) -> str:
    cases = " ".join(f'case {i}: return "{_escaped(word)}";' for i, word in enumerate(names))
    return f"const char *{name}(long long i) {{ switch (i) {{ {cases} default: return 0; }} }}"


def _escaped(word: str) -> str:
    """Contents of a C string literal; escapes have three digits, so that no digit behind one joins it."""
    safe = "-./_ "
    return "".join(chr(b) if (chr(b).isalnum() and b < 128) or chr(b) in safe else f"\\{b:03o}" for b in word.encode())


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
