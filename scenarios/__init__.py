"""Simulation, scenarios and the command line."""

from .field_motion import FieldMotion, move_along
from .integrators import DOP853, RK4, CanonicalEuler, Integrator, LegendreReport, Projected, Reduced
from .phase import Phase
from .phased_trajectory import PhasedTrajectory
from .phases import PhasedSimulationError, PhasedSimulationInterrupted, simulate_phases
from .simulate import SimulationError, SimulationInterrupted, Simulator, simulate
from .trajectory import Trajectory

__all__ = [
    "DOP853",
    "RK4",
    "CanonicalEuler",
    "FieldMotion",
    "Integrator",
    "LegendreReport",
    "Phase",
    "PhasedSimulationError",
    "PhasedSimulationInterrupted",
    "PhasedTrajectory",
    "Projected",
    "Reduced",
    "SimulationError",
    "SimulationInterrupted",
    "Simulator",
    "Trajectory",
    "move_along",
    "simulate",
    "simulate_phases",
]
