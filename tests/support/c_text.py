"""Expressions run as C text, for numbers and for lanes of any width, whether the processor has them or not."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.symbolic.codegen import Tape, c_function, preamble
from erugin.symbolic.compiler import find_compiler

Array = NDArray[np.float64]

# How a value is held: lanes of T, doubles in a vector.
SHAPES = [(1, 1), (1, 2), (1, 4), (1, 8), (2, 2), (4, 4), (8, 8)]

DRIVER = """
void run(const double *x, double *y, long long rows) {
  static T in0[%(inputs)d], out0[%(outputs)d], w[%(room)d];
  const T *const in[1] = {in0};
  T *const out[1] = {out0};
  for (long long row = 0; row < rows; row += LANES) {
    for (int l = 0; l < LANES; ++l)
      for (int i = 0; i < %(n)d; ++i) ((double *)(in0 + i))[l] = x[(row + l) * %(n)d + i];
    tested(in, out, w);
    for (int l = 0; l < LANES; ++l)
      for (int i = 0; i < %(m)d; ++i) y[(row + l) * %(m)d + i] = ((const double *)(out0 + i))[l];
  }
}
"""


def emitted(tape: Tape, lanes: int, width: int) -> Callable[[Array], Array]:
    """The tape of a function of one input with one output, as machine code on rows of numbers.

    Args:
        tape: to be run.
        lanes: systems in one T.
        width: doubles in a vector.
    """
    n, m = tape.inputs[0], len(tape.outputs[0])
    body = c_function("tested", tape, lanes, width)
    sizes = {"inputs": n + 1, "outputs": m + 1, "room": body.work_size + 1, "n": n, "m": m}
    text = "\n".join([preamble(lanes, width), *sorted(body.calls), body.text, DRIVER % sizes])
    toolchain = find_compiler()
    assert not isinstance(toolchain, str)
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "tested.so"
        toolchain.compile(text, library)
        call = ctypes.CDLL(str(library)).run
    call.restype, call.argtypes = None, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong]

    def run(rows: Array) -> Array:
        padded = np.zeros((-(-len(rows) // lanes) * lanes, n))
        padded[: len(rows)] = rows
        results = np.full((len(padded), m), 12345.0)
        call(padded.ctypes.data, results.ctypes.data, len(padded))
        return np.array(results[: len(rows)])

    return run


def by_machine(function: ca.Function, rows: Array) -> Array:
    """The same by CasADi's virtual machine.

    Args:
        function: of one column, with one column as result.
        rows: its arguments.
    """
    buffer, evaluate = function.buffer()
    argument, result = np.zeros(function.numel_in(0)), np.zeros(function.numel_out(0))
    buffer.set_arg(0, argument.data)
    buffer.set_res(0, result.data)
    results = []
    for row in rows:
        argument[:] = row
        evaluate()
        results.append(result.copy())
    return np.array(results).reshape(len(rows), function.numel_out(0))
