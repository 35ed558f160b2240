"""Control laws of others, to compare with: one file each, under the same base, with its source."""

from ...symbolic.arguments import check_exports
from .barrier import Barrier
from .bryson import Weights
from .cbf_filter import CbfFilter
from .computed_torque import ComputedTorque
from .dynamic_feedback_linearization import DynamicFeedbackLinearization
from .energy_shaping import EnergyShaping
from .kanayama import Kanayama
from .lqr import Lqr
from .lqr_region import region_level
from .nonlinear_mpc import NonlinearMPC
from .nonlinear_mpc_aim import Aim
from .operational_space import OperationalSpace
from .optimal_motion import OptimalMotion, optimal_motion
from .pd_gravity import PDGravity
from .planar_motion import PlanarMotion
from .potential_field import PotentialField
from .pure_pursuit import PurePursuit
from .sliding_mode import SlidingMode
from .slotine_li import SlotineLi
from .tuning import Trial, Tuning, quadratic_cost, tune
from .tv_lqr import TimeVaryingLqr

__all__ = [
    "Aim",
    "Barrier",
    "CbfFilter",
    "ComputedTorque",
    "DynamicFeedbackLinearization",
    "EnergyShaping",
    "Kanayama",
    "Lqr",
    "NonlinearMPC",
    "OperationalSpace",
    "OptimalMotion",
    "PDGravity",
    "PlanarMotion",
    "PotentialField",
    "PurePursuit",
    "SlidingMode",
    "SlotineLi",
    "TimeVaryingLqr",
    "Trial",
    "Tuning",
    "Weights",
    "optimal_motion",
    "quadratic_cost",
    "region_level",
    "tune",
]

check_exports(globals())
