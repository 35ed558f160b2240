"""Expressions → C text, for numbers and for lanes of numbers."""

from ..arguments import check_exports
from .c_function import CFunction, c_function
from .expressions import Expressions
from .march import PARAMETERS, march_text
from .source import external, generator, preamble
from .tape import Tape

__all__ = [
    "PARAMETERS",
    "CFunction",
    "Expressions",
    "Tape",
    "c_function",
    "external",
    "generator",
    "march_text",
    "preamble",
]

check_exports(globals())
