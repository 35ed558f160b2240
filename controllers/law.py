"""Control laws as expressions, with what they remember from sample to sample."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..symbolic.validation import read_only_copy
from .status import Status

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
NOTHING = ca.SX(0, 1)


@dataclass(frozen=True, eq=False)
class LawMemory:
    """Memory of a law as expressions: z⁺ = g(t, q, v, z, p, w) at each sample.

    Attributes:
        symbols: z, shape (k,): before the sample in ``update``, after the last sample in the expressions of the law.
        initial: z before the first sample, shape (k,).
        update: g, shape (k,); z where the law refuses the sample.
        random: w, symbols of the random numbers of a sample, shape (r,).
        draw: function of the times of all samples that the law gets [s], and of flags of those that are finite, shape
            (n,) each, that returns w at each sample, shape (n, r).
        restore: function of z that returns the controller's :attr:`~erugin.controllers.Controller.memory`.
    """

    symbols: ca.SX
    initial: Array
    update: ca.SX
    random: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    draw: Callable[[Array, Flags], Array] = field(default_factory=lambda: draw_nothing)
    restore: Callable[[Array], object] = field(default_factory=lambda: read_only_copy)


def draw_nothing(times: Array, finite: Flags) -> Array:
    """Return no numbers for each sample, shape (n, 0).

    Args:
        times: times of the samples [s].
        finite: flags of those that are finite.
    """
    return np.zeros((len(times), 0))


@dataclass(frozen=True, eq=False)
class Law:
    """A control law as expressions in the symbols of the controller's model, its parameters and its memory.

    Attributes:
        output: the result of ``control``: u, shape (nu,), or R, shape (nv,).
        deviation: deviation of the program, shape (m,); may use the accelerations ``robot.coordinates.a``.
        pivots: pivots of the rows, shape (m,); zero where a row depends on the ones before it, or vanishes.
        relative_pivots: pivots relative to the largest row of the same constraint, shape (m,), in [0, 1].
        rows: name of each row, m of them.
        tolerance: a row is dependent if its relative pivot is not above this.
        linearizations: name of each constraint and the state matrix of its perturbation equation, in the parameters.
        active: 1 where a row is on and 0 where it is off, shape (m,); empty if all rows are always on.
        status: number of the :class:`~erugin.controllers.Status`: OK, LIMITED or HELD, or the reason why the output
            is NaN; empty if it is always OK.
        memory: what the law remembers; None for a law without memory.
    """

    output: ca.SX
    deviation: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    pivots: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    relative_pivots: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    rows: tuple[str, ...] = ()
    tolerance: float = 0.0
    linearizations: tuple[tuple[str, ca.SX], ...] = ()
    active: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    status: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    memory: LawMemory | None = None

    @classmethod
    def of_errors(cls, output: ca.SX, errors: ca.SX, rows: tuple[str, ...]) -> Law:
        """Return the law of a controller without a program; its errors stand in for the deviations.

        Args:
            output: the result of ``control``: u, shape (nu,), or R, shape (nv,).
            errors: quantities that the law drives to zero, shape (m,).
            rows: names of the errors, m of them.
        """
        ones = ca.SX.ones(errors.numel(), 1)
        return cls(output, errors, ones, ones, rows)

    @property
    def z(self) -> ca.SX:
        """Symbols of the memory, shape (k,)."""
        return NOTHING if self.memory is None else self.memory.symbols

    @property
    def updated(self) -> ca.SX:
        """The memory after a sample, shape (k,)."""
        return NOTHING if self.memory is None else self.memory.update

    @property
    def random(self) -> ca.SX:
        """Symbols of the random numbers of a sample, shape (r,)."""
        return NOTHING if self.memory is None else self.memory.random

    @property
    def initial(self) -> Array:
        """The memory before the first sample, shape (k,)."""
        return np.zeros(0) if self.memory is None else self.memory.initial

    def draw(self, times: Array, finite: Flags) -> Array:
        """Return the random numbers of all samples, shape (n, r).

        Args:
            times: times of the samples that the law gets [s], shape (n,).
            finite: True for those that are finite, shape (n,).
        """
        return draw_nothing(times, finite) if self.memory is None else self.memory.draw(times, finite)

    def restore(self, z: Array) -> object | None:
        """Return the controller's memory; None for a law without memory.

        Args:
            z: the memory as a column, shape (k,).
        """
        return None if self.memory is None else self.memory.restore(z)

    def is_regular(self, t: ca.SX, q: ca.SX, v: ca.SX) -> ca.SX:
        """Return 1 where time, state and output are finite and all rows are independent, and 0 elsewhere, shape (1,).

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return is_regular(ca.vertcat(t, q, v, self.output), self.relative_pivots, self.tolerance)

    def where_finite(self, q: ca.SX, v: ca.SX) -> Law:
        """Return the law without an output, and with the same memory, where the state is not finite.

        Args:
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
        """
        return self._where(is_finite(ca.vertcat(q, v)))

    def where_safe(self) -> Law:
        """Return the law without an output, and with the same memory, where its status is not OK, LIMITED or HELD."""
        if not self.status.numel():
            return self
        safe = ca.SX(0)
        for status in (Status.OK, Status.LIMITED, Status.HELD):
            safe = ca.logic_or(safe, self.status == int(status))
        return self._where(safe)

    def renewed(self) -> Law:
        """Return the law with other symbols of its memory, so that it can occur twice in another law."""
        if self.memory is None:
            return self
        z = ca.SX.sym("z", self.z.numel())
        law = self.at(self.z, z)
        assert law.memory is not None
        return replace(law, memory=replace(law.memory, symbols=z))

    def _where(self, condition: ca.SX) -> Law:
        memory = self.memory
        if memory is not None:
            memory = replace(memory, update=select(condition, memory.update, memory.symbols))
        missing = ca.SX.nan(self.output.numel(), 1)
        return replace(self, output=select(condition, self.output, missing), memory=memory)

    def after_sample(self) -> Law:
        """Return the law just after a sample, in the memory before it."""
        return self.at(self.z, self.updated)

    def at(self, old: ca.SX, new: ca.SX, *, deviation: bool = True) -> Law:
        """Return the law with other expressions in place of symbols; those of the memory stay symbols.

        Args:
            old: symbols, a column.
            new: expressions, a column of the same size.
            deviation: True to replace them in the deviation too.
        """
        parts = [self.output, self.pivots, self.relative_pivots, self.active, self.status, self.updated]
        parts.append(self.deviation if deviation else NOTHING)
        output, pivots, relative, active, status, updated, deviations = ca.substitute(parts, [old], [new])
        memory = None if self.memory is None else replace(self.memory, update=updated)
        return replace(
            self,
            output=output,
            deviation=deviations if deviation else self.deviation,
            pivots=pivots,
            relative_pivots=relative,
            active=active,
            status=status,
            memory=memory,
        )


def is_regular(numbers: ca.SX, relative_pivots: ca.SX, tolerance: float) -> ca.SX:
    """Return 1 where numbers are finite and all rows are independent, and 0 elsewhere, shape (1,).

    It is also 0 for numbers so large that their sum overflows.

    Args:
        numbers: numbers, a column.
        relative_pivots: relative pivots of the rows, shape (m,).
        tolerance: a row is dependent if its relative pivot is not above this.
    """
    regular = is_finite(numbers)
    for pivot in ca.vertsplit(ca.densify(relative_pivots)):
        regular = ca.logic_and(regular, pivot > tolerance)
    return regular


def is_finite(numbers: ca.SX) -> ca.SX:
    """Return 1 where all numbers are finite and 0 elsewhere, shape (1,); also 0 where their sum overflows.

    Args:
        numbers: numbers, a column.
    """
    return ca.sum1(ca.fabs(numbers)) <= sys.float_info.max


def select(condition: ca.SX, then: ca.SX, otherwise: ca.SX) -> ca.SX:
    """Return one of two columns by a condition; nothing of the other reaches the result, NaN included.

    Args:
        condition: not zero for ``then``, shape (1,), or one for each entry.
        then: a column.
        otherwise: a column of the same size.
    """
    return ca.if_else(condition, then, otherwise)


class Fields:
    """Named parts of a column.

    Attributes:
        sizes: size of each part by name.
    """

    def __init__(self, sizes: dict[str, int]) -> None:
        """Lay out the parts one after the other.

        Args:
            sizes: size of each part by name.
        """
        self.sizes = sizes
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self._places = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(sizes)}

    def __len__(self) -> int:
        """Number of entries of the column."""
        return sum(self.sizes.values())

    def split(self, column: ca.SX) -> dict[str, ca.SX]:
        """Return the parts of a column of expressions."""
        return {name: column[place] for name, place in self._places.items()}

    def numbers(self, column: Array) -> dict[str, Array]:
        """Return the parts of an array."""
        return {name: column[place] for name, place in self._places.items()}

    def join(self, parts: dict[str, ca.SX]) -> ca.SX:
        """Return the column of the parts."""
        return ca.densify(ca.vertcat(NOTHING, *(parts[name] for name in self.sizes)))
