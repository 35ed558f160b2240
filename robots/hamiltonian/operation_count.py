"""Counts of arithmetic operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

FREE_OPERATIONS = frozenset({ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_PARAMETER, ca.OP_NEG})
"""Operations that are not counted."""


@dataclass(frozen=True)
class OperationCount:
    """Arithmetic operations of a computation.

    Attributes:
        multiplications: number of multiplications, divisions and square roots.
        additions: number of additions and subtractions; a change of sign is free.
        functions: number of sines, cosines and all other functions.
    """

    multiplications: int = 0
    additions: int = 0
    functions: int = 0

    def __add__(self, other: OperationCount) -> OperationCount:
        """Add the operations of two computations."""
        return OperationCount(
            self.multiplications + other.multiplications,
            self.additions + other.additions,
            self.functions + other.functions,
        )

    def __rmul__(self, times: int) -> OperationCount:
        """Return the operations of a repeated computation."""
        return OperationCount(times * self.multiplications, times * self.additions, times * self.functions)

    @classmethod
    def of_inner_product(cls, n: int) -> OperationCount:
        """Count an inner product of two vectors of length n."""
        return cls(n, max(n - 1, 0))

    @classmethod
    def of_matrix_product(cls, n: int) -> OperationCount:
        """Count a product of a full matrix (n, n) and a vector."""
        return n * cls.of_inner_product(n)

    @classmethod
    def of_update(cls, n: int) -> OperationCount:
        """Count x + γ y for vectors of length n."""
        return cls(n, n)

    @classmethod
    def of_expression(cls, inputs: Mapping[str, ca.SX], expression: ca.SX) -> OperationCount:
        """Count one evaluation of an expression with common subexpressions eliminated, as in a kernel.

        Args:
            inputs: the symbols in it, by name.
            expression: expression of any shape.
        """
        return cls.of_function(ca.Function("count", list(inputs.values()), [ca.densify(expression)], {"cse": True}))

    @classmethod
    def of_function(cls, function: ca.Function) -> OperationCount:
        """Count one evaluation of a function of scalars.

        Args:
            function: function of SX expressions.
        """
        x, y = ca.SX.sym("x"), ca.SX.sym("y")
        products = {e.op() for e in (x * y, x / y, 1 / x, x**2, 2 * x, ca.sqrt(x))}
        sums = {e.op() for e in (x + y, x - y)}
        codes = [function.instruction_id(k) for k in range(function.n_instructions())]
        counts = [sum(code in group for code in codes) for group in (products, sums, FREE_OPERATIONS)]
        return cls(counts[0], counts[1], len(codes) - sum(counts))

    @property
    def total(self) -> int:
        """Operations of all kinds."""
        return self.multiplications + self.additions + self.functions
