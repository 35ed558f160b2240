"""Perturbation equations: what deviations are made to obey."""

from .baumgarte import Baumgarte
from .exact import Exact
from .first_order import FirstOrder
from .perturbation import Certificate, Perturbation

__all__ = ["Baumgarte", "Certificate", "Exact", "FirstOrder", "Perturbation"]
