"""Packages of other programs."""

from ..symbolic.extras import require

__all__ = ["require"]
