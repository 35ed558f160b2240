"""A tape in steps: in each, one operation on several numbers that are known by then.

XLA takes some milliseconds to compile each operation on a single number, a minute for a law of some thousands with its
derivative. In steps that are rows of a table, all of a law is one loop over one list of numbers, compiled in a second.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.code import Tape
from ...symbolic.code.tape import CONSTANT, INPUT
from .guards import HARMLESS, HARMLESS_ACOSH

WIDTH = 16
"""Numbers in a step: with 8 there are a fifth more steps, with 32 most of them are not full."""

Table = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Schedule:
    """Steps on a list that begins with the inputs and the constants; each step writes its results behind the last ones.

    Attributes:
        inputs: how many numbers the inputs have together.
        constants: that follow them.
        operations: CasADi's numbers of those that occur.
        kinds: place of each step's operation among these, shape (n,).
        operands: places of its first operands, then of its second ones, shape (n, 2 WIDTH).
        targets: place of its first result, shape (n,).
        size: of the list, with room for a last step that is not full.
        outputs: places of each output's numbers.
    """

    inputs: int
    constants: NDArray[np.float64]
    operations: tuple[int, ...]
    kinds: Table
    operands: Table
    targets: Table
    size: int
    outputs: tuple[Table, ...]

    @classmethod
    def of(cls, tape: Tape) -> Schedule:
        """Put operations of one kind that are ready at the same time together, the longest way to the end first.

        Args:
            tape: any.
        """
        entries = tape.entries
        users: list[list[int]] = [[] for _ in entries]
        missing = [0] * len(entries)
        for k, (operation, a, b) in enumerate(entries):
            if operation not in (INPUT, CONSTANT):
                operands = {int(a), b}
                missing[k] = len(operands)
                for value in operands:
                    users[value].append(k)
        ahead = [0] * len(entries)
        for k in reversed(range(len(entries))):
            ahead[k] = 1 + max((ahead[user] for user in users[k]), default=0)
        ready: dict[int, list[tuple[int, int]]] = {}

        def known(k: int) -> None:
            for user in users[k]:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready.setdefault(entries[user][0], []), (-ahead[user], user))

        starts = np.cumsum([0, *tape.inputs]).tolist()
        place = [-1] * len(entries)
        constants: list[float] = []
        for k, (operation, a, b) in enumerate(entries):
            if operation == INPUT:
                place[k] = starts[int(a)] + b
            elif operation == CONSTANT:
                place[k] = starts[-1] + len(constants)
                constants.append(float(a))
        harmless = starts[-1] + len(constants)
        constants += [HARMLESS, HARMLESS_ACOSH]
        for k, (operation, _, _) in enumerate(entries):
            if operation in (INPUT, CONSTANT):
                known(k)
        end = starts[-1] + len(constants)
        steps: list[tuple[int, list[int], int]] = []
        while any(ready.values()):
            kind = max((o for o in ready if ready[o]), key=lambda o: (min(len(ready[o]), WIDTH), -ready[o][0][0]))
            chosen = [heapq.heappop(ready[kind])[1] for _ in range(min(WIDTH, len(ready[kind])))]
            # What lanes that are not used compute is overwritten by the next step.
            spare = [harmless + (kind == ca.OP_ACOSH)] * (WIDTH - len(chosen))
            first, second = ([place[int(entries[k][side])] for k in chosen] for side in (1, 2))
            steps.append((kind, [*first, *spare, *second, *spare], end))
            for k in chosen:
                place[k] = end
                end += 1
            for k in chosen:
                known(k)
        kinds = tuple(sorted({kind for kind, _, _ in steps}))
        return cls(
            *(starts[-1], np.array(constants, dtype=np.float64), kinds),
            np.array([kinds.index(kind) for kind, _, _ in steps], dtype=np.int32),
            np.array([operands for _, operands, _ in steps], dtype=np.int32).reshape(-1, 2 * WIDTH),
            np.array([target for _, _, target in steps], dtype=np.int32),
            end + WIDTH,
            tuple(np.array([place[k] for k in output], dtype=np.int32) for output in tape.outputs),
        )
