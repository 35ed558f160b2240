"""What lies between a control law and a machine: sampling, delay, limits, sensors, motors; around any controller."""

from ...symbolic.arguments import check_exports
from .delay import Delay
from .dropout import Dropout
from .encoders import Encoders
from .measured import Measured
from .motor_lag import MotorLag
from .noise import Noise
from .rate_limit import RateLimit
from .sample_and_hold import SampleAndHold
from .saturation import Saturation
from .supervised import Supervised
from .wrapper import Wrapper

__all__ = [
    "Delay",
    "Dropout",
    "Encoders",
    "Measured",
    "MotorLag",
    "Noise",
    "RateLimit",
    "SampleAndHold",
    "Saturation",
    "Supervised",
    "Wrapper",
]

check_exports(globals())
