"""Constraints on a motion: relations, perturbation equations, curves, shapes, Erugin fields, and their solvability."""

from ..symbolic.runtime_type_checks import check_exports
from .constraint import AccelerationForm, Constraint, Schedule
from .curves.circle import circle
from .curves.implicit import implicit
from .curves.line import line
from .curves.parametric import parametric
from .curves.spline import spline
from .field.erugin_field import EruginField
from .field.erugin_structure import EruginStructure, erugin_structure
from .field.feasibility import require_start
from .field.field_tube import FieldTube
from .field.passing_sides import choose_side, choose_sides
from .field.preview import Preview, Standstill, preview
from .null_space import NullSpace, NullSpaceMethod, align_basis, null_space
from .perturbations.baumgarte import Baumgarte
from .perturbations.bounded_acceleration import BoundedAcceleration
from .perturbations.deressa import Deressa
from .perturbations.energies import Energies
from .perturbations.exact import Exact
from .perturbations.finite_time import FiniteTime
from .perturbations.first_order import FirstOrder
from .perturbations.linear import Linear
from .perturbations.nonlinear import Nonlinear
from .perturbations.perturbation import Perturbation
from .perturbations.prescribed_time import PrescribedTime
from .perturbations.sliding import Sliding
from .relations.acceleration import bounded_tangential_acceleration, path_curvature, tangential_acceleration
from .relations.distance import distance
from .relations.energy_level import energy_level
from .relations.expression import holonomic, nonholonomic, second_order
from .relations.orientation import orientation
from .relations.path_following import follow, on_curve, speed, speed_along
from .relations.rolling import rolling
from .relations.tracking import synchronized, tracking
from .shapes.box import box
from .shapes.capsule import capsule
from .shapes.composition import complement, difference, intersection, union
from .shapes.ellipse import ellipse, superellipse
from .shapes.half_space import half_space
from .shapes.moving_solid import moving
from .shapes.polygon import polygon
from .shapes.time_varying_solid import time_varying
from .shapes.tube import tube
from .solvability import ConstrainedMotion, Dependence, Rank, Solvability, solvability
from .verification.field_report import FieldReport
from .verification.verify import verify

__all__ = [
    "Constraint",
    "holonomic",
    "nonholonomic",
    "second_order",
    "Schedule",
    "AccelerationForm",
    "follow",
    "on_curve",
    "speed",
    "speed_along",
    "tracking",
    "synchronized",
    "distance",
    "orientation",
    "rolling",
    "energy_level",
    "path_curvature",
    "tangential_acceleration",
    "bounded_tangential_acceleration",
    "Perturbation",
    "Baumgarte",
    "FirstOrder",
    "Exact",
    "Linear",
    "Nonlinear",
    "Energies",
    "Deressa",
    "FiniteTime",
    "PrescribedTime",
    "Sliding",
    "BoundedAcceleration",
    "circle",
    "line",
    "spline",
    "implicit",
    "parametric",
    "box",
    "ellipse",
    "superellipse",
    "polygon",
    "capsule",
    "tube",
    "half_space",
    "union",
    "intersection",
    "difference",
    "complement",
    "moving",
    "time_varying",
    "EruginField",
    "choose_side",
    "choose_sides",
    "FieldTube",
    "require_start",
    "preview",
    "Preview",
    "Standstill",
    "verify",
    "FieldReport",
    "erugin_structure",
    "EruginStructure",
    "null_space",
    "NullSpace",
    "NullSpaceMethod",
    "align_basis",
    "ConstrainedMotion",
    "solvability",
    "Solvability",
    "Rank",
    "Dependence",
]

check_exports(globals())
