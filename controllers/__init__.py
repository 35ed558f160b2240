"""Controllers: a robot and a program give a force."""

from ..symbolic.runtime_type_checks import check_exports
from .analysis.analysis_report import Analysis, SolvabilityCondition
from .analysis.program_analysis import analyse
from .bounded.control_limits import ControlLimits
from .buffered_tick import BufferedTick
from .controller import Controller, SymbolicController, Tick
from .law import Law, LawMemory
from .linearization.equilibrium import Equilibrium, NoEquilibriumError, equilibrium
from .linearization.linearizer import Linearization, LinearizedMotion, Linearizer, linearize
from .linearization.nominal_motion import NominalMotion
from .open_loop import OpenLoop
from .program.canonical_program import CanonicalDeviations, CanonicalProgram, canonical_deviations, canonical_program
from .program.consistent_state import start_on
from .program.consistent_velocity import ConsistentVelocity, consistent_velocity
from .program.model_tracking import ModelTracking, ReferenceModel
from .program.program import Program
from .program.program_controller import ProgramController
from .program.program_reference import reference_of
from .program.reduced_equations import ReducedEquations, ReducedState, reduced_equations
from .program.solution import Solution
from .reference import Reference, transition
from .status import Status
from .traits import Trait, traits

__all__ = [
    "Program",
    "ProgramController",
    "Solution",
    "Status",
    "start_on",
    "ControlLimits",
    "analyse",
    "Analysis",
    "SolvabilityCondition",
    "Controller",
    "SymbolicController",
    "Law",
    "LawMemory",
    "Tick",
    "Trait",
    "traits",
    "OpenLoop",
    "BufferedTick",
    "Reference",
    "transition",
    "reference_of",
    "ReferenceModel",
    "ModelTracking",
    "linearize",
    "Linearizer",
    "Linearization",
    "LinearizedMotion",
    "NominalMotion",
    "equilibrium",
    "Equilibrium",
    "NoEquilibriumError",
    "consistent_velocity",
    "ConsistentVelocity",
    "reduced_equations",
    "ReducedEquations",
    "ReducedState",
    "canonical_program",
    "CanonicalProgram",
    "canonical_deviations",
    "CanonicalDeviations",
]

check_exports(globals(), but=("Tick",))
