"""The same robots in Pinocchio, and its constrained forward dynamics at a state."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sizes import ALPHA, BETA, CHAIN, GRAVITY, GROUND, LINKAGE, ROD, TOOL, LinkSizes, State, arm_text

pin: Any = importlib.import_module("pinocchio")  # has no type information

Array = NDArray[np.float64]
Foreign = Any
"""An object of Pinocchio's."""
PROXIMAL = (1e-12, 1e-12, 1)
"""Accuracy, regularisation and steps; one step with so small a regularisation is the fastest that agrees to 1e-9."""
LCABA = (1e-12, 1e-6, 20)
"""The same for ``lcaba``, whose documentation calls a regularisation of 1e-6 typical."""


class Held:
    """A model whose points are held; ``constraintDynamics`` at a state.

    Args:
        model: a ``pinocchio.Model``.
        points: joint, place in its frame, and what holds it: a place in the world or another joint's.
        corrected: whether deviations are made to obey Baumgarte's equation.

    Forces are in the axes of the world, which is a little faster than those of the joint.
    """

    def __init__(
        self, model: Foreign, points: Sequence[tuple[int, Foreign, int, Foreign]], *, corrected: bool = True
    ) -> None:
        self.model, self.data = model, model.createData()
        frame = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        self.contacts: Any = pin.StdVec_RigidConstraintModel()
        self.contact_data: Any = pin.StdVec_RigidConstraintData()
        for joint, place, other, there in points:
            contact = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, joint, place, other, there, frame)
            if corrected:
                contact.m_baumgarte_parameters.Kp, contact.m_baumgarte_parameters.Kd = BETA**2, 2.0 * ALPHA
            self.contacts.append(contact)
            self.contact_data.append(contact.createData())
        pin.initConstraintDynamics(model, self.data, self.contacts, self.contact_data)

    def bound(self, state: State, force: Array | None = None) -> Callable[[], Array]:
        """One call at a state, under joint forces."""
        tau = np.zeros(self.model.nv) if force is None else force
        settings, dynamics = pin.ProximalSettings(*PROXIMAL), pin.constraintDynamics
        model, data, contacts, contact_data = self.model, self.data, self.contacts, self.contact_data
        q, v = state
        return lambda: dynamics(model, data, q, v, tau, contacts, contact_data, settings)

    def dynamics(self, force: Array | None = None) -> Callable[[Array, Array], Array]:
        """The acceleration at any state under joint forces, zero by default."""
        tau = np.zeros(self.model.nv) if force is None else force
        settings, dynamics = pin.ProximalSettings(*PROXIMAL), pin.constraintDynamics
        model, data, contacts, contact_data = self.model, self.data, self.contacts, self.contact_data
        return lambda q, v: dynamics(model, data, q, v, tau, contacts, contact_data, settings)

    def lcaba(self) -> Callable[[Array, Array], Array]:
        """The same by the articulated recursion with loops; right only for constraints that are not corrected."""
        tau = np.zeros(self.model.nv)
        settings, dynamics = pin.ProximalSettings(*LCABA), pin.lcaba
        model, data, contacts = self.model, self.model.createData(), self.contacts
        contact_data: Any = pin.StdVec_RigidConstraintData()
        for contact in contacts:
            contact_data.append(contact.createData())
        pin.computeJointMinimalOrdering(model, data, contacts)
        return lambda q, v: dynamics(model, data, q, v, tau, contacts, contact_data, settings)

    @property
    def forces(self) -> Array:
        """Force at each fixed point, shape (points, 3), after a call."""
        return np.array([np.array(one.contact_force.linear) for one in self.contact_data])


def chain_model(n: int) -> Foreign:
    """The planar chain, without constraints."""
    model, parent, place = _empty(), 0, pin.SE3.Identity()
    for _ in range(n):
        parent, place = _revolute(model, parent, place, CHAIN), _along(CHAIN.length)
    return model


def held_chain(n: int, held_links: Sequence[int] | None = None, *, corrected: bool = True) -> Held:
    """The planar chain with the ends of some links held; the tip if none are named."""
    ends = held_links or [n]
    points = [(i, _along(CHAIN.length), 0, _along(i * CHAIN.length)) for i in ends]
    return Held(chain_model(n), points, corrected=corrected)


def held_arm() -> Held:
    """The seven-joint arm with its tool held at a point of space."""
    model = pin.buildModelFromXML(arm_text())
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    tool = model.frames[model.getFrameId(TOOL)]
    return Held(model, [(tool.parentJoint, tool.placement, 0, pin.SE3(np.eye(3), np.array([0.4, 0.1, 0.5])))])


def held_rods(n: int) -> Held:
    """The exoskeleton, a hinge and a slide for each link, with the end of the last one held."""
    model, parent = _empty(), 0
    for _ in range(n):
        hinge = model.addJoint(parent, pin.JointModelRZ(), pin.SE3.Identity(), f"joint {model.njoints}")
        parent = model.addJoint(hinge, pin.JointModelPX(), pin.SE3.Identity(), f"joint {model.njoints}")
        body = pin.Inertia(ROD.mass, np.zeros(3), np.diag([0.0, ROD.inertia, ROD.inertia]))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    return Held(model, [(parent, pin.SE3.Identity(), 0, _along(1.0))])


def rods_in_tree(x: Array) -> Array:
    """Absolute angles and lengths, or their rates, as (hinge, slide) pairs of relative angles."""
    angles, lengths = np.split(x, 2)
    return np.column_stack([np.diff(angles, prepend=0.0), lengths]).ravel()


def rods_from_tree(x: Array) -> Array:
    """The reverse of :func:`rods_in_tree`."""
    return np.concatenate([np.cumsum(x[::2]), x[1::2]])


def springs(lengths: Array) -> Array:
    """Joint forces of the springs along the rods, which Pinocchio does not have."""
    force = np.zeros(2 * len(lengths))
    force[1::2] = -ROD.stiffness * (lengths - ROD.rest)
    return force


def four_bar_model() -> Held:
    """Crank and coupler in a chain, the rocker from its own pivot, closed at the pin."""
    model = _empty()
    crank = _revolute(model, 0, pin.SE3.Identity(), LINKAGE[0])
    coupler = _revolute(model, crank, _along(LINKAGE[0].length), LINKAGE[1])
    rocker = _revolute(model, 0, _along(GROUND), LINKAGE[2])
    return Held(model, [(coupler, _along(LINKAGE[1].length), rocker, _along(LINKAGE[2].length))])


def _empty() -> Foreign:
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -GRAVITY, 0.0])
    return model


def _revolute(model: Foreign, parent: int, place: Foreign, link: LinkSizes) -> int:
    joint = int(model.addJoint(parent, pin.JointModelRZ(), place, f"joint {model.njoints}"))
    # Only the component about z matters in plane motion.
    body = pin.Inertia(link.mass, np.array([link.center, 0.0, 0.0]), np.diag([0.0, link.inertia, link.inertia]))
    model.appendBodyToJoint(joint, body, pin.SE3.Identity())
    return joint


def _along(x: float) -> Foreign:
    return pin.SE3(np.eye(3), np.array([x, 0.0, 0.0]))
