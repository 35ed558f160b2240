"""Simulation, scenarios and the command line."""

from .integrators import DOP853, RK4, CanonicalEuler, Integrator, LegendreReport
from .simulate import SimulationError, SimulationInterrupted, Simulator, simulate
from .trajectory import Trajectory

__all__ = [
    "DOP853",
    "RK4",
    "CanonicalEuler",
    "Integrator",
    "LegendreReport",
    "SimulationError",
    "SimulationInterrupted",
    "Simulator",
    "Trajectory",
    "simulate",
]
