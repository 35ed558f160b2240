"""Robots: models as expressions, and families of them."""

from .lagrangian import lagrangian_system
from .planar_manipulator import Link, planar_manipulator
from .robot import Robot

__all__ = ["Link", "Robot", "lagrangian_system", "planar_manipulator"]
