"""Whether what is printed has the value of what it was made from."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .tree import Node, Sum, Symbol
from .values import evaluate

POINTS = 3
SEED = 1952
TOLERANCE = 1e-9


class Samples:
    """Values of recorded expressions at a few points, drawn once and for all."""

    def __init__(self, blocks: Sequence[ca.SX], symbols: ca.SX, looks: tuple[Symbol, ...]) -> None:
        """Evaluate.

        Args:
            blocks: matrices whose entries are comparable in size.
            symbols: all that they use, shape (k,).
            looks: how those symbols are printed, k of them.
        """
        points = np.random.default_rng(SEED).uniform(0.3, 1.7, (POINTS, symbols.numel()))
        columns = [ca.vec(ca.densify(block)) for block in blocks]
        function = ca.Function("samples", [symbols], [ca.vertcat(ca.SX(0, 1), *columns)])
        sizes = [column.numel() for column in columns]
        keys = [(look.name, look.order) for look in looks]
        self._samples: list[tuple[NDArray[np.float64], NDArray[np.float64], dict[tuple[str, int], float]]] = []
        for point in points:
            values = function.call([ca.DM(point)])[0].full()[:, 0]
            finite = np.where(np.isfinite(values), np.abs(values), 0.0)
            largest = [part.max(initial=0.0) for part in np.split(finite, np.cumsum(sizes)[:-1])]
            self._samples.append((values, np.repeat(largest, sizes), dict(zip(keys, map(float, point), strict=True))))

    def discrepancy(self, number: int, node: Node) -> float:
        """Largest difference between ``node`` and the entry of this number; 0 if it is within rounding.

        Relative to the largest entry of its block and to the largest summand, since what cancels leaves its rounding
        behind. Points where both are undefined do not count.

        Args:
            number: of the entry, counted through all blocks, column by column.
            node: what is printed.
        """
        worst = 0.0
        for entries, scales, values in self._samples:
            sizes = [abs(evaluate(term, values)) for term in (node.terms if isinstance(node, Sum) else (node,))]
            truth, value = float(entries[number]), evaluate(node, values)
            if not math.isfinite(truth) and not math.isfinite(value):
                continue
            difference = abs(value - truth)
            scale = max(scales[number], *sizes, sys.float_info.min)
            worst = max(worst, difference / scale if math.isfinite(difference) else math.inf)
        return worst if worst > TOLERANCE else 0.0
