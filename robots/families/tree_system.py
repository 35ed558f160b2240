"""Robots from a tree of bodies with springs, dampers and drives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from ...constraints.constraint import Constraint
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ..dynamics import Dynamics
from ..formulations.articulated import Articulated, ArticulatedFactor
from ..formulations.formulation import Formulation
from ..formulations.recursive_algorithms import kinetic_energy, potential_energy
from ..frame import Frame
from ..limits import NO_LIMITS, Limits
from ..robot import Robot
from ..tree.tree import Tree


def tree_system(
    tree: Tree,
    *,
    parameters: Parameters,
    u: ca.SX | None = None,
    B: ca.SX | None = None,
    V: ca.SX | float = 0.0,
    resistance: ca.SX | float = 0.0,
    natural: Sequence[Constraint] = (),
    points: Mapping[str, ca.SX] | None = None,
    frames: Mapping[str, Frame] | None = None,
    input_units: Sequence[str] | None = None,
    chain: Sequence[str] = (),
    limits: Limits | None = None,
    formulation: Formulation | None = None,
    name: str = "tree",
) -> Robot:
    """Build a robot M(q) a + h = B u, with M and the rigid-body terms of h derived from a tree.

    Args:
        tree: bodies, joints and gravity.
        parameters: all symbols in the tree that are not coordinates.
        u: inputs, symbols of shape (nu,); one force or torque per velocity if not given.
        B: input matrix, shape (nv, nu); the identity if ``u`` is not given.
        V: potential energy besides that of gravity, such as springs [J].
        resistance: forces that oppose the motion, such as dampers and friction, shape (nv,), in the units of the
            inputs; or zero.
        natural: constraints that the world enforces.
        points: named positions.
        frames: named poses.
        input_units: unit of each input; those of the joints if ``u`` is not given.
        chain: names of points that a picture joins by lines.
        limits: bounds on coordinates, velocities and inputs.
        formulation: method of deriving the equations; ``Articulated()`` if not given.
        name: shown in messages.

    Raises:
        ModelError: if shapes do not fit or an expression uses a foreign symbol.
    """
    c = tree.coordinates
    if (u is None) != (B is None):
        raise ModelError(f"{name}: u and B must be given together, got only {'B' if u is None else 'u'}")
    if u is None or B is None:
        u = ca.vertcat(*(ca.SX.sym(f"u_{c.v[i].name()[2:]}") for i in range(c.nv)))
        B = ca.SX(ca.DM.eye(c.nv))
        units = [""] * c.nv
        for node, indices in zip(tree.nodes, tree.velocity_indices, strict=True):
            for index, unit in zip(indices, node.joint.input_units, strict=True):
                units[index] = unit
        input_units = units if input_units is None else input_units
    if not (u.is_valid_input() and u.is_dense()) or u.size2() != 1:
        raise ModelError(f"{name}: u must be a column of symbols, got {u}")
    method = formulation or Articulated()
    if not isinstance(method, Formulation):
        raise ModelError(f"{name}: formulation must be a Formulation, such as Lagrange(), got {formulation!r}")
    extra, opposing = ca.SX(V), ca.SX(resistance)
    if opposing.shape == (1, 1):
        opposing = ca.SX(ca.DM.zeros(c.nv)) + opposing
    if extra.shape != (1, 1) or opposing.shape != (c.nv, 1):
        raise ModelError(
            f"{name}: V must be a scalar and resistance of shape ({c.nv},), got {extra.shape} and {opposing.shape}"
        )
    if ca.depends_on(extra, ca.vertcat(c.v, c.a, u)) or ca.depends_on(opposing, ca.vertcat(c.a, u)):
        raise ModelError(
            f"{name}: V must depend on time, coordinates and parameters only, and resistance must not depend on "
            "accelerations or inputs"
        )
    pull = c.N.T @ ca.gradient(extra, c.q) if ca.depends_on(extra, c.q) else ca.SX(ca.DM.zeros(c.nv))

    def half_acceleration(force: ca.SX) -> ca.SX:
        factor = dynamics.factor
        if isinstance(factor, ArticulatedFactor):
            return factor.half_acceleration(force - pull - opposing)
        return factor.forward(force - dynamics.bias)

    dynamics = Dynamics(
        mass_matrix=lambda: method.mass_matrix(tree),
        bias=lambda: method.bias(tree) + pull + opposing,
        kinetic_energy=lambda: kinetic_energy(tree),
        potential_energy=lambda: potential_energy(tree) + extra,
        factor=lambda: method.factor(tree, lambda: dynamics.mass_matrix),
        half_acceleration=half_acceleration,
    )
    robot = Robot(
        name=name,
        coordinates=c,
        parameters=parameters,
        u=u,
        dynamics=dynamics,
        input_matrix=ca.densify(B),
        points=points or {},
        frames=frames or {},
        natural=tuple(natural),
        input_names=tuple(u[i].name() for i in range(u.numel())),
        input_units=("",) * u.numel() if input_units is None else tuple(input_units),
        chain=tuple(chain),
        limits=limits or NO_LIMITS,
        tree=tree,
    )
    # The equations are derived later, but their symbols can be checked now.
    robot.own_symbols.require({**tree.parts, "V": extra, "resistance": opposing})
    return robot
