"""Robots as models of Pinocchio, and its models as robots."""

from ...symbolic.arguments import check_exports
from .drive import Drive, drive
from .export import export
from .exported import PinocchioModel
from .load import load
from .match import match
from .state import ModelState

__all__ = ["Drive", "ModelState", "PinocchioModel", "drive", "export", "load", "match"]

check_exports(globals())
