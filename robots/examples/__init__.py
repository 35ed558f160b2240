"""Ready-made robots with numbers from papers and public data."""

from ...symbolic.runtime_type_checks import check_exports
from .arms import flexible_joint_arm, franka_panda, motor_driven_arm
from .body_model import body_model, body_posture
from .electric_circuit import GROUND, Branch, butterworth_ladder, electric_circuit
from .growth_model import cobb_douglas_economy, growth_model
from .leg import leg, leg_posture
from .linkages import (
    andrews_squeezer,
    bricard_mechanism,
    five_bar,
    flores_slider_crank,
    four_bar,
    iftomm_four_bars,
    klann_leg,
    pinocchio_four_bar,
    six_bar,
    slider_crank,
)
from .magnetic_levitation import khalil_suspension, magnetic_levitation
from .overhead_crane import altmann_heiland_crane, overhead_crane
from .pendulums import realaigym_acrobot, spherical_pendulum
from .quaternion_body import heavy_top, quaternion_body
from .redundant_chain import redundant_chain, torn_oscillator
from .two_wheel import fukao_robot, maxon_re40, turtlebot3_burger
from .walker import walker, walker_posture

__all__ = [
    "spherical_pendulum",
    "realaigym_acrobot",
    "flexible_joint_arm",
    "motor_driven_arm",
    "franka_panda",
    "redundant_chain",
    "torn_oscillator",
    "four_bar",
    "iftomm_four_bars",
    "pinocchio_four_bar",
    "five_bar",
    "six_bar",
    "klann_leg",
    "slider_crank",
    "flores_slider_crank",
    "andrews_squeezer",
    "bricard_mechanism",
    "fukao_robot",
    "turtlebot3_burger",
    "maxon_re40",
    "overhead_crane",
    "altmann_heiland_crane",
    "magnetic_levitation",
    "khalil_suspension",
    "quaternion_body",
    "heavy_top",
    "leg",
    "leg_posture",
    "body_model",
    "body_posture",
    "walker",
    "walker_posture",
    "Branch",
    "GROUND",
    "electric_circuit",
    "butterworth_ladder",
    "growth_model",
    "cobb_douglas_economy",
]

check_exports(globals())
