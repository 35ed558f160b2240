"""Gymnasium: scenarios as environments, one by one or many side by side; Gymnasium is imported when one is made."""

from ...symbolic.arguments import check_exports
from .export import export, export_vector, register
from .reward import Reward, Transition

__all__ = ["Reward", "Transition", "export", "export_vector", "register"]

check_exports(globals())
