"""Plain C99 of any expressions gives what CasADi's own evaluation gives, to the last bit."""

from __future__ import annotations

import ctypes
import itertools
import math
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from numpy.typing import NDArray

from erugin.bridges.c import CSource, c_source
from erugin.bridges.c.straight_line_code import PREAMBLE
from erugin.bridges.c.syntax import FUNCTIONS, OPERATORS, number
from erugin.symbolic import BridgeError

from ...support.c_folders import COMPILERS, compiled
from ...support.random_graphs import Graph, graphs, large_graph

Array = NDArray[np.float64]
ODD = (0.0, -0.0, 1.0, -1.0, 0.3, -2.7, 2.5, -0.999, 1e-310, 3e5, -1e19, 1e308, math.inf, -math.inf, math.nan)

DRIVER = """
void run(const double *const *in, double *const *out, double *w);

void run(const double *const *in, double *const *out, double *w)
{
    written(in, out, w);
}
"""


def loaded(source: CSource, *flags: str, compiler: str = COMPILERS[0]) -> Callable[..., list[Array]]:
    """Call the function on arrays; what surrounds its results must stay as it was."""
    with tempfile.TemporaryDirectory() as name:
        file, library = Path(name) / "written.c", Path(name) / "written.so"
        file.write_text(f"{PREAMBLE}\n{source.text}{DRIVER}", encoding="utf-8")
        compiled([file], library, "-shared", "-fPIC", *(flags or ("-O1",)), compiler=compiler)
        run = ctypes.CDLL(str(library)).run

    def call(*inputs: Array) -> list[Array]:
        given = [np.ascontiguousarray(x, dtype=np.float64) for x in inputs]
        outputs = [np.full(size + 1, 123.0) for size in source.outputs.values()]
        work = np.full(source.work + 1, math.nan)
        pointers = [ctypes.c_void_p * len(arrays) for arrays in (given, outputs)]
        run(
            pointers[0](*(x.ctypes.data for x in given)),
            pointers[1](*(y.ctypes.data for y in outputs)),
            ctypes.c_void_p(work.ctypes.data),
        )
        assert all(y[-1] == 123.0 for y in outputs)
        assert math.isnan(work[-1])
        return [y[:-1] for y in outputs]

    return call


def written(inputs: Mapping[str, ca.SX], outputs: Mapping[str, ca.SX]) -> CSource:
    return c_source("written", inputs, outputs)


def of(function: ca.Function) -> tuple[CSource, ca.Function]:
    inputs = function.sx_in()
    outputs = function.call(inputs)
    named = {f"i{k}": x for k, x in enumerate(inputs)}, {f"o{k}": y for k, y in enumerate(outputs)}
    return written(*named), function


def same(found: list[Array], function: ca.Function, inputs: list[Array]) -> None:
    wanted = [np.array(each.full()).ravel("F") for each in function.call([ca.DM(x) for x in inputs])]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_operation_at_every_odd_number() -> None:
    x = ca.SX.sym("x", 2)
    a, b = x[0], x[1]
    unary = (ca.sqrt, ca.fabs, ca.sign, ca.exp, ca.log, ca.sin, ca.cos, ca.tan, ca.floor, ca.asin, ca.acos, ca.atan)
    more = (ca.ceil, ca.erf, ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.acosh, ca.atanh, ca.log1p, ca.expm1, ca.logic_not)
    binary = (ca.fmin, ca.fmax, ca.copysign, ca.fmod, ca.remainder, ca.atan2, ca.hypot, ca.logic_and, ca.logic_or)
    written_out = [a + b, a - b, a * b, a / b, a**b, -a, a**2, 2 * a, 1 / a, a**2.7, a < b, a <= b, a == b, a != b]
    expressions = [*(f(a) for f in (*unary, *more)), *(f(a, b) for f in binary), *written_out, ca.if_else(a, b, 0)]
    outputs = {f"o{i}": expression for i, expression in enumerate(expressions)}
    source = written({"x": x}, outputs)
    operations = {*OPERATORS, *FUNCTIONS}
    function = ca.Function("f", [x], list(outputs.values()))
    used = {function.instruction_id(k) for k in range(function.n_instructions())}
    assert operations <= used, sorted(operations - used)
    call = loaded(source, "-O0")
    for first in ODD:
        for second in ODD:
            pair = np.array([first, second])
            same(call(pair), function, [pair])


@settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(graphs(2, 2, 60))
def test_random_functions_whatever_they_have_as_outputs(graph: Graph) -> None:
    source, function = of(graph.function())
    call = loaded(source, "-O0")
    rng = np.random.default_rng(0)
    for _ in range(4):
        inputs = [rng.choice(ODD[4:12], size) for size in graph.sizes]
        same(call(*inputs), function, inputs)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_long_functions_go_through_many_pieces(compiler: str, optimized: str) -> None:
    source, function = of(large_graph(3, 3000).function())
    assert source.text.count("static void written_") >= 4
    assert source.work > 50
    call = loaded(source, optimized, compiler=compiler)
    rng = np.random.default_rng(1)
    for _ in range(20):
        x = rng.normal(size=4)
        same(call(x), function, [x])


def test_length_and_room_grow_with_the_operations_alone() -> None:
    texts = [of(large_graph(5, steps).function())[0] for steps in (2000, 4000, 8000)]
    for shorter, longer in itertools.pairwise(texts):
        assert len(longer.text) / longer.operations < 1.15 * len(shorter.text) / shorter.operations
        # C99 promises 511 names in a block.
        assert max(block.count("const double x") for block in longer.text.split("\n}\n")) <= 511


def test_the_cost_of_a_call_is_documented() -> None:
    x = ca.SX.sym("x", 3)
    source = written({"x": x}, {"y": ca.sin(x[0]) + ca.sin(x[1]) / x[2] + ca.sqrt(x[2]), "z": x[0]})
    assert source.operations == 6
    assert dict(source.counts) == {"sin": 2, "sqrt": 1, "/": 1}
    assert source.calls == {"sin", "sqrt"}
    assert dict(source.inputs) == {"x": 3}
    assert dict(source.outputs) == {"y": 1, "z": 1}
    assert source.work == 1


@pytest.mark.parametrize("value", [*(x for x in ODD if x), 0.1, 1e6, 123456.0, -3.5e-12])
def test_constants_keep_every_bit(value: float) -> None:
    x = ca.SX.sym("x", 0)
    found = loaded(written({"x": x}, {"y": ca.SX(value)}), "-O0")(np.zeros(0))[0]
    assert float(found[0]).hex() == float(value).hex()


def test_numbers_that_can_be_read_are_written_so() -> None:
    assert number(2.0) == "2.0"
    assert number(-3.0) == "(-3.0)"
    # CasADi's own constants have no such zero, but reductions of them might.
    assert number(-0.0) == "(-0.0)"
    assert number(0.1) == "0x1.999999999999ap-4"


def test_what_c_does_not_have_is_refused_by_name() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("hidden")
    with pytest.raises(BridgeError, match="OP_ERFINV"):
        written({"x": x}, {"y": ca.erfinv(x)})
    with pytest.raises(BridgeError, match="hidden"):
        written({"x": x}, {"y": x * y})
    with pytest.raises(BridgeError, match="input 'x' of written must consist of symbols"):
        written({"x": 2 * x}, {"y": x})
