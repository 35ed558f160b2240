"""MuJoCo: a law here drives a model there, and a robot here becomes a model there and back."""

from ...symbolic.arguments import check_exports
from .drive import drive
from .driver import Drive
from .joints import Joints
from .match import match
from .model_export import export
from .model_load import load
from .obstacles import Obstacle
from .run import simulate

__all__ = ["Drive", "Joints", "Obstacle", "drive", "export", "load", "match", "simulate"]

check_exports(globals())
