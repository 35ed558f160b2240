"""Controllers: a robot and a program give a force."""

from ..symbolic.arguments import check_exports
from .analyse import analyse
from .analysis import Analysis, Condition
from .bound_tick import BoundTick
from .canonical_deviations import CanonicalDeviations, canonical_deviations
from .canonical_program import CanonicalProgram, canonical_program
from .consistent_velocity import ConsistentVelocity, consistent_velocity
from .controller import Controller, Law, Observation
from .limits import ConicSolver, ControlLimits, Holding, QpAnswer, QpSolver, QuadraticProgram
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
from .open_loop import OpenLoop
from .program import Program
from .program_controller import ProgramController
from .reduced import ReducedEquations, reduced
from .reduced_state import ReducedState
from .reference import Reference
from .reference_model import ReferenceModel
from .reference_motion import reference_of
from .robust import AdaptiveProgramController, IntegralProgramController
from .servo import (
    Feedforward,
    InternalDynamics,
    InternalDynamicsWarning,
    InvertedMotion,
    RelativeDegree,
    ServoController,
    Stability,
    internal_dynamics,
    relative_degree,
    stable_inversion,
)
from .solution import Solution
from .start import start_on
from .status import Status
from .symbolic_controller import SymbolicController
from .traits import Trait, traits

__all__ = [
    "AdaptiveProgramController",
    "Analysis",
    "AugmentedMultipliers",
    "BoundTick",
    "CanonicalDeviations",
    "CanonicalMultipliers",
    "CanonicalProgram",
    "Condition",
    "ConicSolver",
    "ConsistentVelocity",
    "ControlLimits",
    "Controller",
    "Equilibrium",
    "Feedforward",
    "Holding",
    "IntegralProgramController",
    "InternalDynamics",
    "InternalDynamicsWarning",
    "InvertedMotion",
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
    "OpenLoop",
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
    "RelativeDegree",
    "ServoController",
    "Solution",
    "Stability",
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
    "internal_dynamics",
    "linearize",
    "reduced",
    "reference_of",
    "relative_degree",
    "stable_inversion",
    "start_on",
    "traits",
]

check_exports(globals(), but=("Observation",))
