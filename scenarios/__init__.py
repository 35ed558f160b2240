"""Simulation, scenarios and the command line."""

from .integrators import DOP853, RK4, Integrator
from .simulate import SimulationError, SimulationInterrupted, Simulator, simulate
from .trajectory import Trajectory

__all__ = [
    "DOP853",
    "RK4",
    "Integrator",
    "SimulationError",
    "SimulationInterrupted",
    "Simulator",
    "Trajectory",
    "simulate",
]
