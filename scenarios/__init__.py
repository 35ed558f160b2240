"""Simulation, scenarios and the command line."""

from .field_motion import FieldMotion, move_along
from .integrators import DOP853, RK4, CanonicalEuler, Integrator, LegendreReport, Projected, Reduced
from .metrics import Final, Integral, Largest, Least, Mean, Metric, RootMeanSquare
from .phase import Phase
from .phased_trajectory import PhasedTrajectory
from .phases import PhasedSimulationError, PhasedSimulationInterrupted, simulate_phases
from .simulate import Simulator, simulate
from .simulation_errors import SimulationError, SimulationInterrupted
from .trajectories import Trajectories
from .trajectory import Trajectory

__all__ = [
    "DOP853",
    "RK4",
    "CanonicalEuler",
    "FieldMotion",
    "Final",
    "Integral",
    "Integrator",
    "Largest",
    "Least",
    "LegendreReport",
    "Mean",
    "Metric",
    "Phase",
    "PhasedSimulationError",
    "PhasedSimulationInterrupted",
    "PhasedTrajectory",
    "Projected",
    "Reduced",
    "RootMeanSquare",
    "SimulationError",
    "SimulationInterrupted",
    "Simulator",
    "Trajectories",
    "Trajectory",
    "move_along",
    "simulate",
    "simulate_phases",
]
