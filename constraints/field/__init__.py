"""Erugin fields: velocities that have given curves as integral curves, and previews of the motion along them."""

from ...symbolic.runtime_type_checks import check_exports
from .feasibility import BarrierSpeed, barrier_speeds

__all__ = [
    "barrier_speeds",
    "BarrierSpeed",
]

check_exports(globals())
