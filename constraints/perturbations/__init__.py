"""Perturbation equations: what deviations are made to obey."""

from .baumgarte import Baumgarte
from .exact import Exact
from .first_order import FirstOrder
from .perturbation import Certificate, Deviation, Perturbation

__all__ = ["Baumgarte", "Certificate", "Deviation", "Exact", "FirstOrder", "Perturbation"]
