"""Controllers: a robot and a program give a force."""

from .analyse import analyse
from .analysis import Analysis, Condition
from .consistent_velocity import ConsistentVelocity, consistent_velocity
from .controller import Controller, Law, Observation
from .multipliers import AugmentedMultipliers, LdlMultipliers, LeastNormMultipliers, ProximalMultipliers
from .program import Program
from .program_controller import ProgramController
from .reduced import ReducedEquations, reduced
from .reduced_state import ReducedState
from .reference import Reference
from .solution import Solution
from .start import start_on
from .status import Status
from .symbolic_controller import SymbolicController
from .traits import Trait, traits

__all__ = [
    "Analysis",
    "AugmentedMultipliers",
    "Condition",
    "ConsistentVelocity",
    "Controller",
    "Law",
    "LdlMultipliers",
    "LeastNormMultipliers",
    "Observation",
    "Program",
    "ProgramController",
    "ProximalMultipliers",
    "ReducedEquations",
    "ReducedState",
    "Reference",
    "Solution",
    "Status",
    "SymbolicController",
    "Trait",
    "analyse",
    "consistent_velocity",
    "reduced",
    "start_on",
    "traits",
]
