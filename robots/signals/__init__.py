"""Signals: functions of time with separate parameters, for disturbances and measurement errors."""

from ...symbolic.runtime_type_checks import check_exports
from .band_noise import BandNoise
from .push import Push
from .signal import Signal, SignalExpressions
from .step import Step

__all__ = [
    "Signal",
    "SignalExpressions",
    "Step",
    "Push",
    "BandNoise",
]

check_exports(globals())
