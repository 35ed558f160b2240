"""Robots from URDF files."""

from .elements import Description
from .errors import UrdfError, UrdfLibraryError, UrdfWarning
from .load import load_urdf
from .reader import read_urdf

__all__ = ["Description", "UrdfError", "UrdfLibraryError", "UrdfWarning", "load_urdf", "read_urdf"]
