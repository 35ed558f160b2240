"""Ready-made robots with numbers from papers and public data."""

from ...symbolic.arguments import check_exports
from .acrobot import realaigym_acrobot
from .body_model import body_model, body_posture
from .bricard import bricard_mechanism
from .butterworth_ladder import butterworth_ladder
from .electric_circuit import GROUND, Branch, electric_circuit
from .five_bar import five_bar
from .flexible_joint_arm import flexible_joint_arm
from .four_bar import four_bar, iftomm_four_bars, pinocchio_four_bar
from .franka_panda import franka_panda
from .growth_model import cobb_douglas_economy, growth_model
from .leg import leg, leg_posture
from .magnetic_levitation import khalil_suspension, magnetic_levitation
from .motor_arm import motor_driven_arm
from .overhead_crane import altmann_heiland_crane, overhead_crane
from .quaternion_body import heavy_top, quaternion_body
from .redundant_chain import redundant_chain, torn_oscillator
from .six_bar import klann_leg, six_bar
from .slider_crank import flores_slider_crank, slider_crank
from .spherical_pendulum import spherical_pendulum
from .squeezer import andrews_squeezer
from .two_wheel import fukao_robot, maxon_re40, turtlebot3_burger
from .walker import walker, walker_posture

__all__ = [
    "GROUND",
    "Branch",
    "altmann_heiland_crane",
    "andrews_squeezer",
    "body_model",
    "body_posture",
    "bricard_mechanism",
    "butterworth_ladder",
    "cobb_douglas_economy",
    "electric_circuit",
    "five_bar",
    "flexible_joint_arm",
    "flores_slider_crank",
    "four_bar",
    "franka_panda",
    "fukao_robot",
    "growth_model",
    "heavy_top",
    "iftomm_four_bars",
    "khalil_suspension",
    "klann_leg",
    "leg",
    "leg_posture",
    "magnetic_levitation",
    "maxon_re40",
    "motor_driven_arm",
    "overhead_crane",
    "pinocchio_four_bar",
    "quaternion_body",
    "realaigym_acrobot",
    "redundant_chain",
    "six_bar",
    "slider_crank",
    "spherical_pendulum",
    "torn_oscillator",
    "turtlebot3_burger",
    "walker",
    "walker_posture",
]

check_exports(globals())
