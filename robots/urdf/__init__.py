"""Robots from URDF files."""

from ...symbolic.arguments import check_exports
from .elements import Description
from .errors import UrdfError, UrdfWarning
from .load import load_urdf
from .reader import read_urdf

__all__ = ["Description", "UrdfError", "UrdfWarning", "load_urdf", "read_urdf"]

check_exports(globals())
