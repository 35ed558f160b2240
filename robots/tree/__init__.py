"""Trees of bodies and joints."""

from ...symbolic.runtime_type_checks import check_exports
from .body import Body
from .joints import WORLD, Floating, Joint, Node, Planar, Prismatic, Revolute
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
