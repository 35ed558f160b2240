"""Algorithms with branches and loops, as one operation among expressions: a C function that code here calls."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

import casadi as ca

from ..errors import ModelError
from ..machine_code import load_machine_code
from .casadi_library import library_text
from .packaged_files import generator_hash

PREFIX = "block_"


@dataclass(frozen=True)
class CBlock:
    """C function that expressions call; the virtual machine calls its compiled library.

    Attributes:
        name: name of the function, and of no other block.
        text: its definition, ``static void name(const double *const *in, double *const *out)``, in C99 with ``math.h``;
            its results depend on its arguments alone, and it allocates nothing.
        inputs: number of entries of each argument by name.
        outputs: number of entries of each result by name.
        steps: bound of the steps of its loops.
        stack: bytes of stack that its arrays take, about.
    """

    name: str
    text: str
    inputs: Mapping[str, int] = field(hash=False)
    outputs: Mapping[str, int] = field(hash=False)
    steps: int = 0
    stack: int = 0

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of entries of all arguments, and of all results."""
        return sum(self.inputs.values()), sum(self.outputs.values())

    def __call__(self, inputs: Mapping[str, ca.SX]) -> dict[str, ca.SX]:
        """Return the results as expressions, columns by name.

        Args:
            inputs: the arguments by name; a matrix is read column by column.

        Raises:
            ModelError: for arguments of other sizes, or if the block cannot be compiled here.
        """
        sizes = {key: expression.numel() for key, expression in inputs.items()}
        if sizes != dict(self.inputs):
            raise ModelError(f"{self.name} takes arguments of the sizes {dict(self.inputs)}, got {sizes}")
        function = self.load()
        if isinstance(function, str):
            raise ModelError(f"{self.name} cannot be compiled: {function}")
        arguments = ca.vertcat(ca.SX(0, 1), *(ca.vec(ca.densify(inputs[key])) for key in self.inputs))
        results = function.call([arguments])[0]
        ends = [0, *itertools.accumulate(self.outputs.values())]
        return {key: results[ends[i] : ends[i + 1]] for i, key in enumerate(self.outputs)}

    def load(self) -> ca.Function | str:
        """Return the compiled block as a function of one column, or why it cannot be compiled, as a clause."""
        known = _BLOCKS.get(PREFIX + self.name)
        if known is not None and known[0].text != self.text:
            raise ModelError(f"there is another block called {self.name}")
        if known is None or isinstance(known[1], str):
            known = _BLOCKS[PREFIX + self.name] = self, _load(self)
        return known[1]

    @property
    def called(self) -> str:
        """C text that calls the function with columns ``a`` of arguments and ``b`` of results."""

        def listed(column: str, sizes: Mapping[str, int]) -> str:
            starts = itertools.accumulate(sizes.values(), initial=0)
            return ", ".join(f"{column} + {start}" for start, _ in zip(starts, sizes, strict=False))

        return (
            f"const double *const given[] = {{{listed('a', self.inputs)}}}; "
            f"double *const found[] = {{{listed('b', self.outputs)}}}; {self.name}(given, found);"
        )


_BLOCKS: dict[str, tuple[CBlock, ca.Function | str]] = {}
"""Blocks of this process and their libraries, by the name of the library's function."""


def block_of(function: ca.Function) -> CBlock:
    """Return the block that a function of an expression is.

    Args:
        function: function that an expression calls.

    Raises:
        ModelError: if it is not one.
    """
    known = _BLOCKS.get(function.name())
    if known is None:
        raise ModelError(
            f"an expression calls another function, {function.name()}, which is not made of scalar operations"
        )
    return known[0]


def _load(block: CBlock) -> ca.Function | str:
    name, (given, found) = PREFIX + block.name, block.sizes

    def write() -> str:
        call = f"{{ const double *const a = in[0]; double *const b = out[0]; {block.called} }}"
        return library_text(name, {"a": (given, 1)}, {"b": (found, 1)}, f"#include <math.h>\n{block.text}", call, 0)

    identity = repr(("block", generator_hash(), block.name, block.text, dict(block.inputs), dict(block.outputs)))
    return load_machine_code(identity, write, functools.partial(_external, name), RuntimeError)


def _external(name: str, path: object) -> ca.Function:
    return ca.external(name, str(path))
