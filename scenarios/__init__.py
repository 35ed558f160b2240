"""Simulation, scenarios and the command line."""

from ..symbolic.arguments import check_exports
from .comparison import Comparison, Trial, compare
from .disturbances import drawn
from .events import Event
from .field_motion import FieldMotion, move_along
from .hybrid import simulate_hybrid
from .hybrid_jumps import Jump, Jumped, Rebound, StateMap, Strike
from .hybrid_mode import Mode
from .integrators import (
    CVODES,
    DOP853,
    IDAS,
    RK4,
    CanonicalEuler,
    Euler,
    GeneralizedAlpha,
    Integrator,
    LegendreReport,
    Projected,
    Radau,
    Reduced,
    Variational,
)
from .labels import Columns, Labels
from .metrics import Final, Integral, Largest, Least, Mean, Metric, RootMeanSquare
from .phase import Phase
from .phased_trajectory import PhasedTrajectory
from .phases import PhasedSimulationError, PhasedSimulationInterrupted, simulate_phases
from .recorded_value import Recorded
from .rivals import AlongMotion, along
from .sampling import Choice, Distribution, LogNormal, Normal, Scaled, Shifted, Uniform, draw
from .saved import load_motion, save_motion
from .scenario import Scenario, scenario
from .settling import Settling, Variation
from .setup import Measure, Measured, Setup
from .simulate import Simulator, simulate
from .simulation_errors import SimulationError, SimulationInterrupted
from .study import Results, Study, StudyInterrupted
from .trajectories import Trajectories
from .trajectory import Trajectory

__all__ = [
    "CVODES",
    "DOP853",
    "IDAS",
    "RK4",
    "AlongMotion",
    "CanonicalEuler",
    "Choice",
    "Columns",
    "Comparison",
    "Distribution",
    "Euler",
    "Event",
    "FieldMotion",
    "Final",
    "GeneralizedAlpha",
    "Integral",
    "Integrator",
    "Jump",
    "Jumped",
    "Labels",
    "Largest",
    "Least",
    "LegendreReport",
    "LogNormal",
    "Mean",
    "Measure",
    "Measured",
    "Metric",
    "Mode",
    "Normal",
    "Phase",
    "PhasedSimulationError",
    "PhasedSimulationInterrupted",
    "PhasedTrajectory",
    "Projected",
    "Radau",
    "Rebound",
    "Recorded",
    "Reduced",
    "Results",
    "RootMeanSquare",
    "Scaled",
    "Scenario",
    "Settling",
    "Setup",
    "Shifted",
    "SimulationError",
    "SimulationInterrupted",
    "Simulator",
    "StateMap",
    "Strike",
    "Study",
    "StudyInterrupted",
    "Trajectories",
    "Trajectory",
    "Trial",
    "Uniform",
    "Variation",
    "Variational",
    "along",
    "compare",
    "draw",
    "drawn",
    "load_motion",
    "move_along",
    "save_motion",
    "scenario",
    "simulate",
    "simulate_hybrid",
    "simulate_phases",
]

check_exports(globals())
