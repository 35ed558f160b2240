"""PyBullet: laws that drive bodies of its worlds by name of the joint, and robots there and back through URDF.

Nothing of PyBullet is imported before a function of this package is called; without it they raise MissingPackageError.
"""

from ...symbolic.arguments import check_exports
from .drive import Drive, drive
from .export import export, spawn
from .load import load
from .match import match
from .simulate import simulate

__all__ = ["Drive", "drive", "export", "load", "match", "simulate", "spawn"]

check_exports(globals())
