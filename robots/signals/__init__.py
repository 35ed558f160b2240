"""Functions of time with parameters of their own: what acts on a robot, or disturbs what is measured of it."""

from ...symbolic.arguments import check_exports
from .band_noise import BandNoise
from .push import Push
from .signal import Signal, SignalExpressions
from .step import Step

__all__ = ["BandNoise", "Push", "Signal", "SignalExpressions", "Step"]

check_exports(globals())
