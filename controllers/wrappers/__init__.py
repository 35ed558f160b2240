"""Wrappers of control laws: sampling, delay, limits, sensors and failures between a law and a machine."""

from ...symbolic.runtime_type_checks import check_exports
from .actuators import MotorLag, RateLimit, Saturation
from .delay import Delay
from .fallback import Fallback
from .noise import MeasurementNoise, Noise
from .sample_and_hold import SampleAndHold
from .sensors import Dropout, Encoders
from .wrapper import Wrapper

__all__ = [
    "Wrapper",
    "SampleAndHold",
    "Delay",
    "Saturation",
    "RateLimit",
    "MotorLag",
    "Encoders",
    "Dropout",
    "Noise",
    "MeasurementNoise",
    "Fallback",
]

check_exports(globals())
