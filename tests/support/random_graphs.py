"""Random functions, and a plain interpreter for tapes to compare them with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from hypothesis import strategies as st

from erugin.symbolic.codegen import Tape

Number = Callable[[float], float]

BUILD: tuple[Callable[[ca.SX, ca.SX], ca.SX], ...] = (
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: -a,
    lambda a, b: a**2,
    lambda a, b: 2 * a,
    lambda a, b: ca.sqrt(ca.fabs(a)),
    lambda a, b: ca.sin(a),
    lambda a, b: ca.cos(a),
    lambda a, b: ca.sin(a) * ca.cos(b),
    lambda a, b: ca.if_else(a < b, a, b),
    lambda a, b: ca.floor(a),
)
CONSTANTS = (math.nan, math.inf, 1e300, 0.0, 1.0, -1.0, 0.1, -2.5)

INTERPRETED: Mapping[int, Callable[[np.float64, np.float64], np.float64]] = {
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a, b: -a,
    ca.OP_SQ: lambda a, b: a * a,
    ca.OP_TWICE: lambda a, b: a + a,
    ca.OP_INV: lambda a, b: np.float64(1.0) / a,
    ca.OP_SQRT: lambda a, b: np.sqrt(a),
    ca.OP_FABS: lambda a, b: np.abs(a),
    ca.OP_FLOOR: lambda a, b: np.floor(a),
    ca.OP_LT: lambda a, b: np.float64(a < b),
    ca.OP_LE: lambda a, b: np.float64(a <= b),
    ca.OP_EQ: lambda a, b: np.float64(a == b),
    ca.OP_NE: lambda a, b: np.float64(a != b),
    ca.OP_NOT: lambda a, b: np.float64(a == 0.0),
    ca.OP_AND: lambda a, b: np.float64(a != 0.0 and b != 0.0),
    ca.OP_OR: lambda a, b: np.float64(a != 0.0 or b != 0.0),
    ca.OP_IF_ELSE_ZERO: lambda a, b: b if a != 0.0 else np.float64(0.0),
}


@dataclass(frozen=True)
class Graph:
    """Instructions to build a function.

    Attributes:
        sizes: numbers of each input.
        steps: operation and operands, which are counted round the values that there are.
        picked: which values each output has.
    """

    sizes: tuple[int, ...]
    steps: tuple[tuple[int, int, int], ...]
    picked: tuple[tuple[int, ...], ...]

    def function(self) -> ca.Function:
        """As a function."""
        inputs = [ca.SX.sym(f"x{i}", size) for i, size in enumerate(self.sizes)]
        values = [ca.SX(c) for c in CONSTANTS] + [symbol[i] for symbol in inputs for i in range(symbol.numel())]
        for operation, a, b in self.steps:
            values.append(BUILD[operation](_operand(values, a), _operand(values, b)))
        outputs = [ca.vertcat(ca.SX(0, 1), *(values[k % len(values)] for k in output)) for output in self.picked]
        return ca.Function("random", inputs, [ca.densify(output) for output in outputs])


def _operand(values: list[ca.SX], number: int) -> ca.SX:
    """One of the last values for even numbers, so that graphs become deep; any for odd ones."""
    return values[-1 - number // 2 % min(6, len(values))] if number % 2 == 0 else values[number // 2 % len(values)]


def graphs(inputs: int, outputs: int, steps: int) -> st.SearchStrategy[Graph]:
    """Random functions; inputs and outputs may be empty, equal, constant or one another.

    Args:
        inputs: how many.
        outputs: how many.
        steps: at most so many operations.
    """
    large = st.integers(0, 10**6)
    step = st.tuples(st.integers(0, len(BUILD) - 1), large, large)
    return st.builds(
        Graph,
        st.tuples(*[st.integers(0, 4)] * inputs),
        st.lists(step, max_size=steps).map(tuple),
        st.tuples(*[st.lists(large, max_size=6).map(tuple)] * outputs),
    )


def large_graph(seed: int, steps: int) -> Graph:
    """A random function of four numbers that is deeper than those that Hypothesis likes to draw, and needs most of it.

    Args:
        seed: of the random numbers.
        steps: so many operations.
    """
    rng = np.random.default_rng(seed)
    drawn = np.column_stack([rng.integers(0, len(BUILD), steps), rng.integers(0, 10**6, (steps, 2))])
    picked = rng.integers(0, 10**6, steps // 3)
    return Graph((4,), tuple((int(o), int(a), int(b)) for o, a, b in drawn), (tuple(picked.tolist()),))


def interpret(
    tape: Tape, inputs: Sequence[Sequence[float]], sin: Number = math.sin, cos: Number = math.cos
) -> list[list[float]]:
    """Outputs of a tape, operation by operation.

    Args:
        tape: to be run.
        inputs: its arguments.
        sin: what takes sines of finite angles.
        cos: what takes cosines of finite angles.
    """
    values: list[np.float64] = []
    with np.errstate(all="ignore"):
        for operation, a, b in tape.entries:
            if operation == ca.OP_INPUT:
                values.append(np.float64(inputs[int(a)][b]))
            elif operation == ca.OP_CONST:
                values.append(np.float64(a))
            elif operation in (ca.OP_SIN, ca.OP_COS):
                angle = float(values[int(a)])
                taken = sin if operation == ca.OP_SIN else cos
                values.append(np.float64(taken(angle) if math.isfinite(angle) else math.nan))
            else:
                values.append(INTERPRETED[operation](values[int(a)], values[b]))
    return [[float(values[k]) for k in output] for output in tape.outputs]


def bits(numbers: Sequence[Sequence[float]]) -> list[list[str]]:
    """Every bit of numbers, as text; one NaN is as good as another."""
    return [[float(number).hex() for number in row] for row in numbers]


NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.3, 7.0, 1e9, float("inf"), float("nan")])
