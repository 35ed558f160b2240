"""Controllers: a robot and a program give a force."""

from .analyse import analyse
from .analysis import Analysis, Condition
from .bounded_holding import Holding
from .bounded_limits import ControlLimits
from .canonical_deviations import CanonicalDeviations, canonical_deviations
from .canonical_program import CanonicalProgram, canonical_program
from .consistent_velocity import ConsistentVelocity, consistent_velocity
from .controller import Controller, Law, Observation
from .linearization import Linearization, LinearizedMotion
from .linearization_derivatives import Linearizer, linearize
from .linearization_equilibrium import Equilibrium, NoEquilibriumError, equilibrium
from .linearization_motion import Motion
from .model_tracking import ModelTracking
from .multipliers import (
    AugmentedMultipliers,
    CanonicalMultipliers,
    LdlMultipliers,
    LeastNormMultipliers,
    NullSpaceMultipliers,
    ProximalMultipliers,
    SweepMultipliers,
    UdwadiaPhohomsiriMultipliers,
)
from .program import Program
from .program_controller import ProgramController
from .quadratic_program import QpAnswer, QpSolver, QuadraticProgram
from .quadratic_program_conic import ConicSolver
from .reduced import ReducedEquations, reduced
from .reduced_state import ReducedState
from .reference import Reference
from .reference_model import ReferenceModel
from .solution import Solution
from .start import start_on
from .status import Status
from .symbolic_controller import SymbolicController
from .traits import Trait, traits

__all__ = [
    "Analysis",
    "AugmentedMultipliers",
    "CanonicalDeviations",
    "CanonicalMultipliers",
    "CanonicalProgram",
    "Condition",
    "ConicSolver",
    "ConsistentVelocity",
    "ControlLimits",
    "Controller",
    "Equilibrium",
    "Holding",
    "Law",
    "LdlMultipliers",
    "LeastNormMultipliers",
    "Linearization",
    "LinearizedMotion",
    "Linearizer",
    "ModelTracking",
    "Motion",
    "NoEquilibriumError",
    "NullSpaceMultipliers",
    "Observation",
    "Program",
    "ProgramController",
    "ProximalMultipliers",
    "QpAnswer",
    "QpSolver",
    "QuadraticProgram",
    "ReducedEquations",
    "ReducedState",
    "Reference",
    "ReferenceModel",
    "Solution",
    "Status",
    "SweepMultipliers",
    "SymbolicController",
    "Trait",
    "UdwadiaPhohomsiriMultipliers",
    "analyse",
    "canonical_deviations",
    "canonical_program",
    "consistent_velocity",
    "equilibrium",
    "linearize",
    "reduced",
    "start_on",
    "traits",
]
