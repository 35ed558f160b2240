"""C code generation: expressions to C, for single numbers and for vector lanes."""

from ..runtime_type_checks import check_exports
from .block import CBlock
from .c_file import PARAMETER_INPUT, external_text, preamble, rollout_text
from .c_function import CFunction, c_function
from .packaged_files import generator_hash
from .symbolic_function import SymbolicFunction
from .tape import Tape

__all__ = [
    "SymbolicFunction",
    "Tape",
    "CFunction",
    "CBlock",
    "c_function",
    "external_text",
    "rollout_text",
    "preamble",
    "generator_hash",
    "PARAMETER_INPUT",
]

check_exports(globals())
