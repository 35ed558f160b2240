"""Equations of motion term by term, as text and as mathematics."""

from ...symbolic.arguments import check_exports
from .derive import equations_of
from .rows import Entry, Expression, Relation, Row
from .structured import Equations

__all__ = ["Entry", "Equations", "Expression", "Relation", "Row", "equations_of"]

check_exports(globals())
