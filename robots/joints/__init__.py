"""Joints: how one frame may move in another."""

from ...symbolic.arguments import check_exports
from .floating import Floating
from .joint import Joint
from .planar import Planar
from .prismatic import Prismatic
from .revolute import Revolute

__all__ = ["Floating", "Joint", "Planar", "Prismatic", "Revolute"]

check_exports(globals())
