"""Robots: models as expressions, and families of them."""

from ..symbolic.runtime_type_checks import check_exports
from .contact.contact import Contact, contact_force, contact_positions, required_friction, with_contacts
from .contact.impact import Impact, impact
from .dc_motor import DCMotor, MotorCircuit
from .disturbance import Disturbance, disturb
from .dynamics import Dynamics
from .families.exoskeleton import exoskeleton
from .families.lagrangian_system import lagrangian_system
from .families.planar_manipulator import Link, planar_manipulator
from .families.spatial_exoskeleton import spatial_exoskeleton
from .families.telescopic_links import TelescopicLink
from .families.tree_system import tree_system
from .families.two_wheel_robot import two_wheel_robot
from .frame import Frame
from .limits import Limits
from .manifold.branch_acceleration import branch_acceleration
from .mechanisms.assembly import Assembler, Assembly, AssemblyError, assemble, assemble_velocities, branches
from .mechanisms.mechanism import Closure, mechanism, without_rows
from .mechanisms.planar_linkage import Bar, Slider, Spring, planar_linkage
from .robot import Robot
from .urdf.loader import load_urdf
from .variants import combine, with_drive, with_inputs, with_limits, with_scene

__all__ = [
    "Robot",
    "Dynamics",
    "Limits",
    "Frame",
    "Link",
    "planar_manipulator",
    "TelescopicLink",
    "exoskeleton",
    "spatial_exoskeleton",
    "two_wheel_robot",
    "DCMotor",
    "MotorCircuit",
    "lagrangian_system",
    "tree_system",
    "load_urdf",
    "Bar",
    "Slider",
    "Spring",
    "planar_linkage",
    "Closure",
    "mechanism",
    "without_rows",
    "with_inputs",
    "with_drive",
    "with_limits",
    "with_scene",
    "combine",
    "disturb",
    "Disturbance",
    "assemble",
    "branches",
    "assemble_velocities",
    "Assembler",
    "Assembly",
    "AssemblyError",
    "branch_acceleration",
    "Contact",
    "with_contacts",
    "contact_positions",
    "contact_force",
    "required_friction",
    "impact",
    "Impact",
]

check_exports(globals())
