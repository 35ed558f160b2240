"""Identity of compiled functions: two that differ never share a library, and each finds its own again."""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.resources import files
from itertools import combinations

import casadi as ca
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.symbolic.codegen import SymbolicFunction, Tape
from erugin.symbolic.codegen import packaged_files as source
from erugin.symbolic.codegen import symbolic_function as expressions

from ...support.random_graphs import BUILD, Graph, graphs

X, Y = ca.SX.sym("x"), ca.SX.sym("y")
TWIN = ca.SX.sym("x")
COLUMN, WIDE, HIGH = ca.SX.sym("c", 6), ca.SX.sym("c", 2, 3), ca.SX.sym("c", 3, 2)
NOTHING = ca.SX(0, 1)

Named = Mapping[str, ca.SX]


def identity(inputs: Named, outputs: Named, *words: object, name: str = "k") -> str:
    return SymbolicFunction(name, inputs, outputs).identity(*words)


def shaped(symbol: ca.SX) -> str:
    return identity({"c": symbol}, {"y": 2 * symbol})


DIFFERENT: Mapping[str, tuple[str, ...]] = {
    "names of functions": (identity({"x": X}, {"y": X}), identity({"x": X}, {"y": X}, name="l")),
    "names of inputs": (
        identity({"x": X, "y": Y}, {"z": X - Y}),
        identity({"y": X, "x": Y}, {"z": X - Y}),
        identity({"x', (1, 1)), ('y": X, "y": Y}, {"z": X - Y}),
        identity({"x": X, 'y"': Y}, {"z": X - Y}),
    ),
    "order of inputs": (identity({"a": X, "b": Y}, {"z": X - Y}), identity({"a": Y, "b": X}, {"z": X - Y})),
    "roles of symbols with one name": (
        identity({"a": X, "b": TWIN}, {"z": X / TWIN}),
        identity({"a": X, "b": TWIN}, {"z": TWIN / X}),
        identity({"a": X, "b": TWIN}, {"z": X / X}),
        identity({"a": X}, {"z": X / TWIN}),
    ),
    "order of outputs": (
        identity({"x": X, "y": Y}, {"a": X + Y, "b": X * Y}),
        identity({"x": X, "y": Y}, {"a": X * Y, "b": X + Y}),
    ),
    "inputs and outputs": (
        identity({"x": X, "y": Y}, {"z": X}),
        identity({"x": X}, {"y": Y, "z": X}),
        identity({"x": X, "y": Y, "z": ca.SX.sym("z")}, {}),
    ),
    "shapes of inputs": (shaped(COLUMN), shaped(WIDE), shaped(HIGH), shaped(ca.SX.sym("c", 1, 6))),
    "shapes of outputs": tuple(
        identity({"c": COLUMN}, {"y": y})
        for y in (COLUMN, COLUMN.T, ca.reshape(COLUMN, 2, 3), ca.reshape(COLUMN, 3, 2))
    ),
    "row by row and column by column": (
        identity({"c": COLUMN}, {"y": ca.reshape(COLUMN, 2, 3)}),
        identity({"c": COLUMN}, {"y": ca.reshape(COLUMN, 3, 2).T}),
    ),
    "where one ends and the next begins": (
        identity({"a": COLUMN[:2], "b": COLUMN[2:]}, {"y": COLUMN[2]}),
        identity({"a": COLUMN[:3], "b": COLUMN[3:]}, {"y": COLUMN[2]}),
    ),
    "empty outputs": (identity({"x": X}, {"a": NOTHING, "b": X}), identity({"x": X}, {"a": X, "b": NOTHING})),
    "constants": tuple(
        identity({"x": X}, {"y": ca.SX(number)})
        for number in (
            *(0.0, math.nan, math.inf, -math.inf, 1.0, -1.0, 3.0, 0.1, math.nextafter(0.1, 1.0), 1e300, 5e-324, 1e-320),
            *(2.0**53, 2.0**53 + 2.0, 2.0**31, 2.0**63, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0)),
        )
    ),
    "constants within": (
        identity({"x": X}, {"y": X * 0.1}),
        identity({"x": X}, {"y": X * math.nextafter(0.1, 1.0)}),
        identity({"x": X}, {"y": 0.1 / X}),
    ),
    "brackets": (
        identity({"x": X, "y": Y}, {"z": (X + Y) + 0.3}),
        identity({"x": X, "y": Y}, {"z": X + (Y + 0.3)}),
    ),
    "other words": (identity({"x": X}, {"y": X}, "a", 4), identity({"x": X}, {"y": X}, "a", 8)),
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_different_functions_have_different_identities(what: str) -> None:
    for one, other in combinations(DIFFERENT[what], 2):
        assert one != other


def with_change(graph: Graph, draw: st.DrawFn) -> Graph:
    """The same graph but for one thing, as a slip in the identity would overlook it."""
    steps, picked = list(graph.steps), [list(output) for output in graph.picked]
    kind = draw(st.sampled_from(["operation", "operands", "outputs", "moved", "value"]))
    if kind in ("operation", "operands") and steps:
        k = draw(st.integers(0, len(steps) - 1))
        operation, a, b = steps[k]
        changed = draw(st.integers(0, len(BUILD) - 1)) if kind == "operation" else operation
        steps[k] = (changed, a, b) if kind == "operation" else (changed, b, a)
    elif kind == "outputs":
        picked.reverse()
    elif kind == "moved" and picked[0]:
        picked[1].insert(0, picked[0].pop())
    elif picked[0]:
        picked[0][0] += draw(st.integers(1, 9))
    return Graph(graph.sizes, tuple(steps), tuple(tuple(output) for output in picked))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """A graph and one that is nearly it."""
    graph = draw(graphs(2, 2, 12))
    return graph, with_change(graph, draw)


def identity_and_operations(graph: Graph) -> tuple[str, object]:
    """Identity and operations of a graph, which are one function if they are equal."""
    function = graph.function()
    inputs = function.sx_in()
    expressions = function.call(inputs)
    named = {f"x{i}": x for i, x in enumerate(inputs)}, {f"y{i}": y for i, y in enumerate(expressions)}
    tape = Tape.of(function)
    entries = [(operation, float(a).hex(), b) for operation, a, b in tape.entries]
    return identity(*named), (tape.inputs, entries, tape.outputs)


@given(pairs())
def test_graphs_that_differ_have_different_identities(graphs: tuple[Graph, Graph]) -> None:
    (one, operations), (other, changed) = identity_and_operations(graphs[0]), identity_and_operations(graphs[1])
    assert operations == changed or one != other


@given(graphs(2, 2, 30))
def test_graph_that_is_built_again_has_the_same_identity(graph: Graph) -> None:
    assert identity_and_operations(graph)[0] == identity_and_operations(graph)[0]


ELSEWHERE = """
import sys
import casadi as ca
from erugin.symbolic.codegen import SymbolicFunction
clutter = [ca.SX.sym("clutter") * i for i in range(int(sys.argv[1]))]
x, p = ca.SX.sym("x", 3), ca.SX.sym("p", 2, 2)
rates = ca.vertcat(ca.sin(x[0]) * p[0, 1], ca.if_else(x[1] > 0.1, x[2] / p[1, 1], 1e-3), ca.sumsqr(x))
print(SymbolicFunction("k", {"x": x, "p": p}, {"rates": rates, "twice": 2 * p}).identity("a", 4))
"""


def test_identity_is_the_same_in_every_process() -> None:
    found = set()
    for clutter, seed in ((0, "1"), (1000, "2")):
        command = [sys.executable, "-P", "-c", ELSEWHERE, str(clutter)]
        answer = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        )
        found.add(hashlib.sha256(answer.stdout.encode()).hexdigest())
        assert len(answer.stdout) > 200
    assert len(found) == 1


DEEP = """
import casadi as ca
from erugin.symbolic.codegen import SymbolicFunction
x = ca.SX.sym("x")
y = x
for _ in range(150_000):
    y = y * x
print(len({SymbolicFunction("k", {"x": x}, {"y": y + last}).identity() for last in (0.5, 0.5, 0.25)}))
"""


@pytest.mark.slow
def test_line_of_operations_however_long() -> None:
    # A recursion over them would end the process.
    answer = subprocess.run([sys.executable, "-P", "-c", DEEP], capture_output=True, text=True, check=True)
    assert answer.stdout.split() == ["2"]


@pytest.mark.parametrize("changed", sorted(e.name for e in files("erugin.symbolic.codegen").iterdir() if e.is_file()))
def test_identity_changes_with_the_program_that_writes(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, text = source.generator_hash(), source.packaged_text
    assert inspect.unwrap(source.generator_hash)() == before
    monkeypatch.setattr(source, "packaged_text", lambda name: text(name) + "\n" * (name == changed))
    after = inspect.unwrap(source.generator_hash)()
    assert after != before
    found = identity({"x": X}, {"y": X})
    monkeypatch.setattr(expressions, "generator_hash", lambda: after)
    assert identity({"x": X}, {"y": X}) != found
