"""Simulation of closed loops: one run, batches, phases and hybrid modes.

The results are trajectories, in memory and in files, and metrics.
"""

from ..symbolic.runtime_type_checks import check_exports
from .field_motion import FieldMotion, move_along
from .hybrid.jumps import Jump, JumpResult, Rebound, StateMap, Strike
from .hybrid.modes import Event, Mode
from .hybrid.phase import Phase
from .hybrid.phase_record import PhasedSimulationError, PhasedSimulationInterrupted
from .hybrid.simulate_hybrid import simulate_hybrid
from .hybrid.simulate_phases import simulate_phases
from .integrators.canonical_euler import CanonicalEuler, LegendreReport
from .integrators.cvodes import CVODES
from .integrators.dop853 import DOP853
from .integrators.euler import Euler
from .integrators.generalized_alpha import GeneralizedAlpha
from .integrators.idas import IDAS
from .integrators.integrator import Integrator
from .integrators.projected import Projected
from .integrators.radau import Radau
from .integrators.reduced import Reduced
from .integrators.rk4 import RK4
from .integrators.variational import Variational
from .labels import Columns, Labels
from .metrics import (
    Final,
    Integral,
    Largest,
    Least,
    Mean,
    Metric,
    RecordedSignal,
    RootMeanSquare,
    SettlingTime,
    TotalVariation,
)
from .phased_trajectory import PhasedTrajectory
from .simulate import simulate
from .simulator import Simulator
from .storage.motion_file import load_motion, save_motion
from .trajectories import Trajectories
from .trajectory import SimulationError, SimulationInterrupted, Trajectory

__all__ = [
    "simulate",
    "Simulator",
    "Trajectory",
    "Trajectories",
    "SimulationError",
    "SimulationInterrupted",
    "Integrator",
    "RK4",
    "Euler",
    "DOP853",
    "Radau",
    "CVODES",
    "IDAS",
    "GeneralizedAlpha",
    "Variational",
    "CanonicalEuler",
    "LegendreReport",
    "Projected",
    "Reduced",
    "Metric",
    "Integral",
    "Mean",
    "RootMeanSquare",
    "Largest",
    "Least",
    "Final",
    "SettlingTime",
    "TotalVariation",
    "RecordedSignal",
    "Phase",
    "simulate_phases",
    "PhasedTrajectory",
    "PhasedSimulationError",
    "PhasedSimulationInterrupted",
    "Mode",
    "Event",
    "simulate_hybrid",
    "Jump",
    "JumpResult",
    "Rebound",
    "Strike",
    "StateMap",
    "FieldMotion",
    "move_along",
    "Labels",
    "Columns",
    "save_motion",
    "load_motion",
]

check_exports(globals())
