"""Named expressions in named symbols, the source of a compiled function, and the key that identifies it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca

from .c_file import external_text
from .packaged_files import generator_hash
from .tape import Tape, share_reciprocals

DEEPEST = 20_000
"""Depth to which recursion is safe; a thread's stack of 8 MiB ends between 40,000 and 80,000."""


@dataclass(frozen=True, eq=False)
class SymbolicFunction:
    """Output expressions of input symbols.

    Attributes:
        name: a C identifier.
        inputs: symbols by name, full.
        outputs: expressions by name.
    """

    name: str
    inputs: Mapping[str, ca.SX]
    outputs: Mapping[str, ca.SX]

    def function(self, *, cse: bool = False) -> ca.Function:
        """CasADi's function of the expressions.

        Args:
            cse: True to search for common subexpressions first, which takes longer than all the rest.
        """
        return ca.Function(
            self.name,
            [ca.densify(symbol) for symbol in self.inputs.values()],
            [ca.densify(expression) for expression in self.outputs.values()],
            [f"i_{key}" for key in self.inputs],
            [f"o_{key}" for key in self.outputs],
            {"cse": cse},
        )

    def tape(self) -> Tape:
        """Tape of its operations, without duplicates, with quotients as products."""
        return share_reciprocals(Tape.of(self.function()))

    def identity(self, *words: object) -> str:
        """Text that two functions share only if they are the same.

        Args:
            words: further values that the machine code depends on.
        """
        shapes = [(key, e.shape) for key, e in (*self.inputs.items(), *self.outputs.items())]
        return repr((words, generator_hash(), self.name, len(self.inputs), shapes)) + self._graph()

    def _graph(self) -> str:
        """Symbols and expressions in CasADi's serialized form."""
        columns = [ca.vec(ca.densify(e)) for e in (*self.inputs.values(), *self.outputs.values())]
        column = ca.vertcat(ca.SX(0, 1), *columns)
        flat = ca.Function("flat", [], [column], {"allow_free": True})
        # Serializing a function takes longer, but serializing an expression recurses into its operands.
        return flat.serialize() if flat.n_instructions() > DEEPEST else column.serialize()

    def external(self, width: int) -> str:
        """C file of the function, for CasADi's ``external``.

        Args:
            width: doubles in a vector.
        """
        inputs = {f"i_{key}": symbol.shape for key, symbol in self.inputs.items()}
        outputs = {f"o_{key}": expression.shape for key, expression in self.outputs.items()}
        return external_text(self.name, inputs, outputs, self.tape(), width)
