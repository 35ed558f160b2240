"""A tape as a C function: short pieces of straight-line code, so that compile time grows linearly with their number.

A C compiler's register allocation takes more than linear time on one long stretch of code. The stretch is cut into
pieces; a value that a later piece needs waits in the array w.

Sines and cosines whose angles are known at the same time are computed together, several at once by vector
instructions: first the angles that need no other sine or cosine, then those that need these, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import casadi as ca

from ..errors import ModelError
from .block import CBlock
from .tape import CALL, CONSTANT, INPUT, PASS, RESULT, Tape

INLINE_OPERATIONS: Mapping[int, str] = {
    ca.OP_ADD: "{0}+{1}",
    ca.OP_SUB: "{0}-{1}",
    ca.OP_MUL: "{0}*{1}",
    ca.OP_DIV: "{0}/{1}",
    ca.OP_NEG: "-{0}",
    ca.OP_SQ: "{0}*{0}",
    ca.OP_TWICE: "{0}+{0}",
    ca.OP_INV: "K(1.)/{0}",
    ca.OP_SQRT: "lanes_sqrt({0})",
    ca.OP_FABS: "FABS({0})",
    ca.OP_SIGN: "SIGN({0})",
    ca.OP_COPYSIGN: "COPYSIGN({0},{1})",
    ca.OP_FMIN: "FMIN({0},{1})",
    ca.OP_FMAX: "FMAX({0},{1})",
    ca.OP_LT: "TRUTH({0}<{1})",
    ca.OP_LE: "TRUTH({0}<={1})",
    ca.OP_EQ: "TRUTH({0}=={1})",
    ca.OP_NE: "TRUTH({0}!={1})",
    ca.OP_NOT: "TRUTH({0}==K(0.))",
    ca.OP_AND: "TRUTH(({0}!=K(0.))&({1}!=K(0.)))",
    ca.OP_OR: "TRUTH(({0}!=K(0.))|({1}!=K(0.)))",
    ca.OP_IF_ELSE_ZERO: "WHERE({0}!=K(0.),{1})",
}
"""Operations that are written inline."""

LIBRARY_OPERATIONS: Mapping[int, tuple[str, int]] = {
    ca.OP_EXP: ("exp", 1),
    ca.OP_LOG: ("log", 1),
    ca.OP_POW: ("pow", 2),
    ca.OP_CONSTPOW: ("pow", 2),
    ca.OP_TAN: ("tan", 1),
    ca.OP_ASIN: ("asin", 1),
    ca.OP_ACOS: ("acos", 1),
    ca.OP_ATAN: ("atan", 1),
    ca.OP_FLOOR: ("floor", 1),
    ca.OP_CEIL: ("ceil", 1),
    ca.OP_FMOD: ("fmod", 2),
    ca.OP_REMAINDER: ("remainder", 2),
    ca.OP_ERF: ("erf", 1),
    ca.OP_SINH: ("sinh", 1),
    ca.OP_COSH: ("cosh", 1),
    ca.OP_TANH: ("tanh", 1),
    ca.OP_ASINH: ("asinh", 1),
    ca.OP_ACOSH: ("acosh", 1),
    ca.OP_ATANH: ("atanh", 1),
    ca.OP_ATAN2: ("atan2", 2),
    ca.OP_LOG1P: ("log1p", 1),
    ca.OP_EXPM1: ("expm1", 1),
    ca.OP_HYPOT: ("hypot", 2),
}
"""Operations that the C library computes, number by number, with their numbers of operands."""


PIECE_LENGTH = 500
"""Number of operations in one C function."""

Angles = tuple[int, ...]


@dataclass(frozen=True)
class CFunction:
    """C text of ``static void name(const T *const *in, T *const *out, T *w)``.

    Attributes:
        text: the definitions.
        work_size: length of the array w, in T.
        calls: macros that declare the operations that are left to the C library.
        blocks: functions that it calls, whose definitions come before it.
    """

    text: str
    work_size: int
    calls: frozenset[str]
    blocks: tuple[CBlock, ...] = ()


def c_function(name: str, tape: Tape, lanes: int, width: int) -> CFunction:
    """Write a tape as C.

    Args:
        name: name of the C function.
        tape: its operations.
        lanes: 1 if T is a double, else the number of doubles in T.
        width: doubles in a vector.

    Raises:
        ModelError: if an operation cannot be written as C.
    """
    return _CWriter(name, schedule_operations(tape), lanes, width).write()


class _CWriter:
    """Writer of one tape as C."""

    def __init__(self, name: str, tape: Tape, lanes: int, width: int) -> None:
        """Prepare the writer.

        Args:
            name: name of the C function.
            tape: its operations, in order.
            lanes: 1 if T is a double, else the number of doubles in T.
            width: doubles in a vector.
        """
        self.name, self.tape = name, tape
        self.whole = lanes > 1  # True if T is a vector
        self.step = 1 if self.whole else width  # T to the vector
        self.calls: set[str] = set()
        self.work_size = 0
        self.slots: dict[int, int] = {}
        self.angles: dict[int, tuple[int, int]] = {}
        self.passed: dict[int, int] = {}
        self.found: dict[int, int] = {}

    def write(self) -> CFunction:
        """Return all pieces, and the function that calls them."""
        pieces = list(self._pieces())
        self._allocate(pieces)
        arguments = "const T *const *in, T *const *out, T *w"
        results: dict[int, list[str]] = {}
        for i, output in enumerate(self.tape.outputs):
            for k, value in enumerate(output):
                results.setdefault(value, []).append(f"out[{i}][{k}]")
        texts: list[str] = []
        for i, piece in enumerate(pieces):
            body = "\n".join(self._statements(piece, results))
            texts.append(
                f"static __attribute__((noinline)) void {self.name}_{i}({arguments}) {{\n"
                f"(void)in; (void)out; (void)w;\n{body}\n}}\n"
            )
        calls = " ".join(f"{self.name}_{i}(in, out, w);" for i in range(len(pieces)))
        texts.append(f"static void {self.name}({arguments}) {{ {calls or '(void)in; (void)out; (void)w;'} }}\n")
        blocks = tuple(dict.fromkeys(self.tape.blocks[self.tape.entries[k][0] - CALL] for k in self.found))
        return CFunction("".join(texts), self.work_size, frozenset(self.calls), blocks)

    def _order(self) -> Iterator[int | Angles]:
        """Values in the order of their computation, and between them the angles whose sines are computed together."""
        entries = self.tape.entries
        level = [0] * len(entries)
        groups: dict[int, dict[int, None]] = {}
        for k, (operation, a, b) in enumerate(entries):
            if operation in (INPUT, CONSTANT):
                continue
            below = max(level[int(a)], level[b])
            if operation in (ca.OP_SIN, ca.OP_COS):
                groups.setdefault(below, {})[int(a)] = None
                below += 1
            level[k] = below
        done = [False] * len(entries)
        for depth in sorted(groups):
            needed = list(groups[depth])
            required = set(needed)
            while needed:
                operation, a, b = entries[needed.pop()]
                if operation not in (INPUT, CONSTANT):
                    for operand in (int(a), b):
                        if not done[operand] and operand not in required:
                            required.add(operand)
                            needed.append(operand)
            for k in sorted(required):
                if not done[k]:
                    done[k] = True
                    yield k
            yield tuple(groups[depth])
        for k in range(len(entries)):
            if not done[k]:
                yield k

    def _pieces(self) -> Iterator[list[int | Angles]]:
        piece: list[int | Angles] = []
        size = 0
        for item in self._order():
            piece.append(item)
            size += isinstance(item, tuple) or self.tape.entries[item][0] not in (INPUT, CONSTANT)
            if size == PIECE_LENGTH:
                yield piece
                piece, size = [], 0
        if piece:
            yield piece

    def _allocate(self, pieces: list[list[int | Angles]]) -> None:
        """Allocate slots of w for values that outlive their piece, for angles with their sines, and for calls."""
        entries, last = self.tape.entries, dict[int, int]()
        self.passed, self.found, self.work_size = self.tape.call_places(self.work_size)
        for i, piece in enumerate(pieces):
            for item in piece:
                if isinstance(item, tuple):
                    padded = -(-len(item) // self.step) * self.step
                    for k, angle in enumerate(item):
                        self.angles[angle] = (self.work_size + k, self.work_size + padded + k)
                        last[angle] = max(i, last.get(angle, i))
                    self.work_size += 2 * padded
                    continue
                operation, a, b = entries[item]
                if operation not in (INPUT, CONSTANT, ca.OP_SIN, ca.OP_COS):
                    last[int(a)] = i
                    last[b] = i
        free: list[int] = []
        leaving: dict[int, list[int]] = {}
        for i, piece in enumerate(pieces):
            for item in piece:
                if isinstance(item, tuple) or entries[item][0] in (INPUT, CONSTANT, ca.OP_SIN, ca.OP_COS):
                    continue
                if entries[item][0] >= PASS:
                    continue
                if last.get(item, i) > i:
                    if not free:
                        free.append(self.work_size)
                        self.work_size += 1
                    slot = self.slots[item] = free.pop()
                    leaving.setdefault(last[item], []).append(slot)
            free += leaving.pop(i, [])

    def _statements(self, piece: list[int | Angles], results: dict[int, list[str]]) -> Iterator[str]:
        """C statements of one piece."""
        entries, loaded = self.tape.entries, set[int]()

        def load(value: int) -> Iterator[str]:
            if value not in loaded:
                loaded.add(value)
                yield f"const T x{value}={self._source(value)};"

        for item in piece:
            if isinstance(item, tuple):
                yield from self._sines(item, load)
                continue
            operation, a, b = entries[item]
            if PASS <= operation < CALL:
                yield from load(int(a))
                yield f"w[{self.passed[item]}]=x{a};"
            elif CALL <= operation < RESULT:
                yield self._called(item)
            elif operation not in (INPUT, CONSTANT, ca.OP_SIN, ca.OP_COS) and operation < PASS:
                yield from load(int(a))
                yield from load(b)
                loaded.add(item)
                yield f"const T x{item}={self._written(operation, f'x{a}', f'x{b}')};"
                if item in self.slots:
                    yield f"w[{self.slots[item]}]=x{item};"
            for target in results.get(item, ()):
                yield from load(item)
                yield f"{target}=x{item};"

    def _sines(self, angles: Angles, load: Callable[[int], Iterator[str]]) -> Iterator[str]:
        for first in range(0, len(angles), self.step):
            group = angles[first : first + self.step]
            for angle in group:
                yield from load(angle)
            # The last vector is padded with an angle that is available.
            filled = [f"x{angle}" for angle in group] + [f"x{group[-1]}"] * (self.step - len(group))
            vector = filled[0] if self.whole else f"(V){{{', '.join(filled)}}}"
            sine, cosine = self.angles[group[0]]
            yield f"lanes_sincos({vector}, (double *)(w+{sine}), (double *)(w+{cosine}));"

    def _called(self, call: int) -> str:
        """C statement that calls a block, for one lane after the other."""
        operation, last, _ = self.tape.entries[call]
        block = self.tape.blocks[operation - CALL]
        (given, found), start = block.sizes, self.found[call]
        first = self.passed[int(last)] + 1 - given
        if not self.whole:
            return f"{{ const double *const a = w + {first}; double *const b = w + {start}; {block.called} }}"
        # Lanes without a system repeat the first one.
        return (
            f"{{ double a[{given}], b[{found}], same[{given}];\n"
            "for (int lane = 0; lane < LANES; ++lane) {\n"
            f"for (int i = 0; i < {given}; ++i) a[i] = ((const double *)(w + {first} + i))[lane];\n"
            f"if (lane == 0) memcpy(same, a, sizeof a);\n"
            f"else if (memcmp(same, a, sizeof a) == 0) {{\n"
            f"for (int i = 0; i < {found}; ++i)\n"
            f"((double *)(w + {start} + i))[lane] = ((const double *)(w + {start} + i))[0];\n"
            "continue; }\n"
            f"{{ {block.called} }}\n"
            f"for (int i = 0; i < {found}; ++i) ((double *)(w + {start} + i))[lane] = b[i];\n"
            "} }"
        )

    def _source(self, value: int) -> str:
        """C expression of a value that this piece has not computed."""
        operation, a, b = self.tape.entries[value]
        if operation >= RESULT:
            return f"w[{self.found[int(a)] + operation - RESULT}]"
        if operation == INPUT:
            return f"in[{a}][{b}]"
        if operation == CONSTANT:
            return f"K({_number(float(a))})"
        if operation == ca.OP_SIN:
            return f"w[{self.angles[int(a)][0]}]"
        if operation == ca.OP_COS:
            return f"w[{self.angles[int(a)][1]}]"
        return f"w[{self.slots[value]}]"

    def _written(self, operation: int, first: str, second: str) -> str:
        if operation in INLINE_OPERATIONS:
            return INLINE_OPERATIONS[operation].format(first, second)
        if operation not in LIBRARY_OPERATIONS:
            raise ModelError(f"CasADi's operation {_name(operation)} cannot be written as C")
        name, operands = LIBRARY_OPERATIONS[operation]
        self.calls.add(f"CALL{operands}({name})")
        return f"lanes_{name}({first}, {second})" if operands == 2 else f"lanes_{name}({first})"


def _name(operation: int) -> str:
    """CasADi's name of an operation."""
    return next((word for word in dir(ca) if word.startswith("OP_") and getattr(ca, word) == operation), str(operation))


def _number(value: float) -> str:
    """A C literal with every bit of a double."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return value.hex()


LATENCY: Mapping[int, int] = {
    ca.OP_DIV: 14,
    ca.OP_INV: 14,
    ca.OP_SQRT: 18,
    ca.OP_SIN: 60,
    ca.OP_COS: 60,
}
"""Cycles until a result is available, on common processors; 4 for all others."""
EARLIEST_TIME_WEIGHT = 0.2
"""Weight of the earliest time beside the latest time in the order of operations: by measurement 0 and 0.2 are best,
because early results wait in memory, and 0.2 is better for long chains."""


def schedule_operations(tape: Tape) -> Tape:
    """Return the same operations on the same values, in the order of the times at which they must be done.

    A recursion along a chain is one long sequence of operations that wait for each other, and much else can be computed
    meanwhile. A processor looks a few hundred operations ahead; in the order in which expressions were written the
    sequence is further away than that, and it waits.

    The latest time of an operation is the length of the longest chain of operations less the part that follows it; its
    earliest time is the length of the longest chain before it.

    Args:
        tape: the operations.
    """
    entries = tape.entries
    after, before = [0] * len(entries), [0] * len(entries)
    for k in range(len(entries) - 1, -1, -1):
        operation, a, b = entries[k]
        if operation not in (INPUT, CONSTANT):
            length = after[k] + LATENCY.get(operation, 4)
            for operand in (int(a), b):
                after[operand] = max(after[operand], length)
    for k, (operation, a, b) in enumerate(entries):
        if operation not in (INPUT, CONSTANT):
            before[k] = max(before[int(a)], before[b]) + LATENCY.get(operation, 4)
    # Both times of an operation are later than those of its operands, so that the order can be run.
    order = sorted(
        range(len(entries)),
        key=lambda k: (EARLIEST_TIME_WEIGHT * before[k] - (1.0 - EARLIEST_TIME_WEIGHT) * after[k], k),
    )
    index = {k: i for i, k in enumerate(order)}
    moved = [
        (operation, a, b) if operation in (INPUT, CONSTANT) else (operation, index[int(a)], index[b])
        for operation, a, b in (entries[k] for k in order)
    ]
    outputs = tuple(tuple(index[v] for v in output) for output in tape.outputs)
    return Tape(tape.inputs, tuple(moved), outputs, tape.blocks)
