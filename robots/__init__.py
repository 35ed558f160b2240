"""Robots: models as expressions, and families of them."""

from ..symbolic.arguments import check_exports
from .assembled import Assembly, AssemblyError
from .assembler import Assembler
from .assembly import assemble, assemble_velocities, branches
from .branch_acceleration import branch_acceleration
from .canonical import CanonicalForm, canonical_form
from .contact import Contact, contact_force, friction_needed, places, standing
from .dc_motor import DCMotor, MotorCircuit
from .disturbed import Disturbance, disturbed
from .drive import with_drive
from .dynamics import Dynamics
from .exoskeleton import exoskeleton
from .frame import Frame
from .impact import Impact, impact
from .lagrangian import lagrangian_system
from .limits import Limits
from .mechanism import Closure, mechanism, with_inputs, without_rows
from .planar_linkage import Bar, Slider, Spring, planar_linkage
from .planar_manipulator import Link, planar_manipulator
from .robot import Robot
from .scene import with_scene
from .spatial_exoskeleton import spatial_exoskeleton
from .telescopic import TelescopicLink
from .together import together
from .tree import Body, Node, Tree
from .tree_system import tree_system
from .two_wheel_robot import two_wheel_robot
from .urdf import UrdfError, UrdfWarning, load_urdf, read_urdf

__all__ = [
    "Assembler",
    "Assembly",
    "AssemblyError",
    "Bar",
    "Body",
    "CanonicalForm",
    "Closure",
    "Contact",
    "DCMotor",
    "Disturbance",
    "Dynamics",
    "Frame",
    "Impact",
    "Limits",
    "Link",
    "MotorCircuit",
    "Node",
    "Robot",
    "Slider",
    "Spring",
    "TelescopicLink",
    "Tree",
    "UrdfError",
    "UrdfWarning",
    "assemble",
    "assemble_velocities",
    "branch_acceleration",
    "branches",
    "canonical_form",
    "contact_force",
    "disturbed",
    "exoskeleton",
    "friction_needed",
    "impact",
    "lagrangian_system",
    "load_urdf",
    "mechanism",
    "places",
    "planar_linkage",
    "planar_manipulator",
    "read_urdf",
    "spatial_exoskeleton",
    "standing",
    "together",
    "tree_system",
    "two_wheel_robot",
    "with_drive",
    "with_inputs",
    "with_scene",
    "without_rows",
]

check_exports(globals())
