"""Robots from URDF files."""

from ...symbolic.runtime_type_checks import check_exports
from .description import Description
from .document import UrdfError, UrdfWarning
from .reader import read_urdf

__all__ = [
    "read_urdf",
    "Description",
    "UrdfError",
    "UrdfWarning",
]

check_exports(globals())
