"""Control laws from the literature for comparison, one file each, with its source."""

from ...symbolic.runtime_type_checks import check_exports
from .barrier_function import BarrierFunction
from .cbf_filter import CbfFilter
from .computed_torque import ComputedTorque
from .differential_drive import PlanarMotion
from .dynamic_feedback_linearization import DynamicFeedbackLinearization
from .energy_shaping import EnergyShaping
from .kanayama import Kanayama
from .lqr import BrysonWeights, Lqr, attraction_level
from .nonlinear_mpc.nonlinear_mpc import NonlinearMPC
from .nonlinear_mpc.objective import MpcObjective
from .operational_space import OperationalSpace
from .pd_gravity import PDGravity
from .potential_field import PotentialField
from .pure_pursuit import PurePursuit
from .sliding_mode import SlidingMode
from .slotine_li import SlotineLi
from .time_varying_lqr import TimeVaryingLqr
from .trajectory_optimization import OptimalMotion, optimal_motion
from .tuning import Tuning, TuningTrial, quadratic_cost, tune

__all__ = [
    "PDGravity",
    "ComputedTorque",
    "SlotineLi",
    "SlidingMode",
    "OperationalSpace",
    "PotentialField",
    "PlanarMotion",
    "Kanayama",
    "PurePursuit",
    "DynamicFeedbackLinearization",
    "Lqr",
    "TimeVaryingLqr",
    "BrysonWeights",
    "attraction_level",
    "NonlinearMPC",
    "MpcObjective",
    "optimal_motion",
    "OptimalMotion",
    "EnergyShaping",
    "BarrierFunction",
    "CbfFilter",
    "tune",
    "Tuning",
    "TuningTrial",
    "quadratic_cost",
]

check_exports(globals())
