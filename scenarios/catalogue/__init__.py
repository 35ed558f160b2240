"""The catalogue of scenarios, one file each."""

from ...symbolic.runtime_type_checks import check_exports
from ..scenario import Scenario
from .acrobot import acrobot
from .andrews_squeezer import andrews_squeezer
from .bricard import bricard
from .butterworth_ladder import butterworth_ladder
from .crane import crane_servo_constraint
from .economic_growth import economic_growth
from .exoskeleton_steps import exoskeleton_steps
from .larin_pendulum import larin_pendulum
from .motor_driven_arm import motor_driven_arm
from .n_four_bar import n_four_bar
from .n_link_arm import n_link_arm
from .seven_joint_arm import seven_joint_arm_on_a_sphere
from .slider_crank import slider_crank
from .standing_up import standing_up
from .synchronised_arms import two_arms_synchronised
from .tumbling_body import tumbling_body
from .two_link_arm import two_link_arm_moving_obstacle
from .two_wheel_clothoid import two_wheel_clothoid
from .two_wheel_obstacles import two_wheel_moving_obstacles

__all__ = [
    "SCENARIOS",
    "acrobot",
    "andrews_squeezer",
    "bricard",
    "butterworth_ladder",
    "crane_servo_constraint",
    "economic_growth",
    "exoskeleton_steps",
    "larin_pendulum",
    "motor_driven_arm",
    "n_four_bar",
    "n_link_arm",
    "seven_joint_arm_on_a_sphere",
    "slider_crank",
    "standing_up",
    "tumbling_body",
    "two_arms_synchronised",
    "two_link_arm_moving_obstacle",
    "two_wheel_clothoid",
    "two_wheel_moving_obstacles",
]

SCENARIOS: tuple[Scenario, ...] = (
    acrobot,
    andrews_squeezer,
    bricard,
    butterworth_ladder,
    crane_servo_constraint,
    economic_growth,
    exoskeleton_steps,
    larin_pendulum,
    motor_driven_arm,
    n_four_bar,
    n_link_arm,
    seven_joint_arm_on_a_sphere,
    slider_crank,
    standing_up,
    tumbling_body,
    two_arms_synchronised,
    two_link_arm_moving_obstacle,
    two_wheel_clothoid,
    two_wheel_moving_obstacles,
)
"""All scenarios, in alphabetical order."""

check_exports(globals())
