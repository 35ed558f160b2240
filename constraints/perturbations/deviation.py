"""What a perturbation equation sees of its constraint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca

if TYPE_CHECKING:
    from .perturbation import Perturbation


@dataclass(frozen=True, eq=False)
class Deviation:
    """What a perturbation equation sees of its constraint.

    Attributes:
        value: y, y′ or z, shape (m,).
        rate: ẏ for order 0, shape (m,); empty for the others.
        time: t [s].
    """

    value: ca.SX
    rate: ca.SX
    time: ca.SX


@dataclass(frozen=True, eq=False)
class Flow:
    """A perturbation equation on its own, as ẋ = f(x, t) with x = (y, ẏ) for order 0 and x = y′ for order 1.

    Attributes:
        state: x, symbols, shape (n,).
        time: t [s], a symbol.
        derivative: f, shape (n,).
        deviation: the parts of x.
    """

    state: ca.SX
    time: ca.SX
    derivative: ca.SX
    deviation: Deviation

    @classmethod
    def of(cls, equation: Perturbation, gains: Mapping[str, ca.SX] | None = None) -> Flow:
        """The flow of an equation of order 0 or 1.

        Args:
            equation: on as many rows as it asks for, on one if any number will do.
            gains: the symbol of each gain; the nominal numbers if not given.
        """
        rows = equation.required_rows or 1
        value, time = ca.SX.sym("y", rows), ca.SX.sym("t")
        rate = ca.SX.sym("dy", rows) if equation.order == 0 else ca.SX(0, 1)
        numbers = {name: ca.SX(number) for name, number in equation.gains.items()} if gains is None else gains
        deviation = Deviation(value, rate, time)
        highest = equation.right_side(deviation, numbers)
        return cls(ca.vertcat(value, rate), time, ca.densify(ca.vertcat(rate, highest)), deviation)
