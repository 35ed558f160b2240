"""Trees of bodies and joints."""

from ...symbolic.runtime_type_checks import check_exports
from .body import WORLD, Body, Node
from .joints import Floating, Joint, Planar, Prismatic, Revolute
from .tree import Tree

__all__ = [
    "Tree",
    "Node",
    "Body",
    "WORLD",
    "Joint",
    "Revolute",
    "Prismatic",
    "Planar",
    "Floating",
]

check_exports(globals())
