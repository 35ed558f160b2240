"""Robots from a Lagrangian: equations of motion from T, V, D and Q by automatic differentiation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca

from ...constraints.constraint import Constraint
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import reals, require_finite_constants
from ..dynamics import Dynamics
from ..formulations.lagrange import lagrange_operator
from ..frame import Frame
from ..robot import Robot


def lagrangian_system(
    *,
    q: ca.SX,
    v: ca.SX,
    p: Parameters | ca.SX | None = None,
    T: ca.SX,
    V: ca.SX | float = 0.0,
    D: ca.SX | float = 0.0,
    Q: ca.SX | float = 0.0,
    u: ca.SX | None = None,
    natural: Sequence[Constraint] = (),
    t: ca.SX | None = None,
    nominal: Mapping[str, float] | None = None,
    points: Mapping[str, ca.SX] | None = None,
    frames: Mapping[str, Frame] | None = None,
    units: Sequence[str] | None = None,
    input_names: Sequence[str] | None = None,
    input_units: Sequence[str] | None = None,
    chain: Sequence[str] = (),
    name: str = "system",
) -> Robot:
    """Build the robot d/dt ∂L/∂v − ∂L/∂q + ∂D/∂v = Q, with L = T − V and v = q̇.

    M = ∂²T/∂v², B = ∂Q/∂u, and h is the left side at a = 0 minus Q at u = 0. Every argument may depend explicitly on
    time; T may have terms of degree 2, 1 and 0 in v.

    Args:
        q: coordinates, symbols of shape (n,).
        v: velocities q̇, symbols of shape (n,).
        p: parameters: declared with nominal values, or bare symbols (see ``nominal``).
        T: kinetic energy, a polynomial of degree ≤ 2 in v [J].
        V: potential energy [J].
        D: dissipation function, with ∂D/∂v the resisting forces [W].
        Q: generalized forces not covered by V and D, affine in u, shape (n,), or zero.
        u: inputs, symbols of shape (nu,); none if not given.
        natural: constraints that the world enforces.
        t: symbol of time, if T, V, D or Q use it.
        nominal: values by name when p is bare symbols.
        points: named positions for constraints and pictures.
        frames: named poses in space.
        units: unit of each coordinate.
        input_names: name of each input; those of the symbols if not given.
        input_units: unit of each input.
        chain: names of points that a picture joins by lines.
        name: shown in messages.

    Raises:
        ModelError: if shapes do not fit, M still depends on v, Q is not affine in u, or a symbol is missing.
    """
    n = q.numel()
    for label, symbols in (("q", q), ("v", v)):
        if not (symbols.is_valid_input() and symbols.is_dense()) or symbols.shape != (n, 1) or n == 0:
            raise ModelError(f"{name}: {label} must be a column of symbols of the same length as q, got {symbols}")
    for label, given in (("p", p), ("u", u)):
        if isinstance(given, ca.SX) and not (given.is_valid_input() and given.is_dense()):
            raise ModelError(f"{name}: {label} must consist of symbols, got {given}")
    if isinstance(p, Parameters):
        if nominal is not None:
            raise ModelError(f"{name}: nominal= requires p= of bare symbols; declared parameters have nominal values")
        parameters = p
    else:
        symbols = ca.SX(0, 1) if p is None else ca.vec(p)
        parameters = Parameters(tuple(symbols[i].name() for i in range(symbols.numel())), symbols, nominal or {})
    inputs = ca.SX(0, 1) if u is None else u
    coordinates = Coordinates.of(q, v, t=t, units=None if units is None else tuple(units))
    forces = ca.SX.zeros(n) + (Q if isinstance(Q, ca.SX) else reals(f"{name}: Q", Q))
    if forces.shape != (n, 1):
        raise ModelError(f"{name}: Q must have shape ({n},), got {forces.shape}")
    potential, dissipation = ca.SX(V), ca.SX(D)
    for label, energy in (("T", T), ("V", potential), ("D", dissipation)):
        if energy.shape != (1, 1):
            raise ModelError(f"{name}: {label} must be a scalar, got shape {energy.shape}")
    if ca.depends_on(potential, v):
        raise ModelError(
            f"{name}: V must not depend on the velocities. Put that part into T, with the other sign (terms linear in "
            "v are allowed there), or into Q"
        )
    require_finite_constants(name, {"T": T, "V": potential, "D": dissipation, "Q": forces})
    mass = ca.hessian(T, v)[0]
    if ca.depends_on(mass, v):
        raise ModelError(f"{name}: T must be of degree at most 2 in the velocities")
    B = ca.jacobian(forces, inputs)
    if ca.depends_on(B, inputs):
        raise ModelError(f"{name}: Q must be affine in the inputs")
    operator = lagrange_operator(T, potential, coordinates) + ca.gradient(dissipation, v)
    names = tuple(inputs[i].name() for i in range(inputs.numel())) if input_names is None else tuple(input_names)
    return Robot(
        name=name,
        coordinates=coordinates,
        parameters=parameters,
        u=inputs,
        dynamics=Dynamics.given(
            mass_matrix=ca.densify(mass),
            bias=ca.densify(operator - ca.substitute(forces, inputs, ca.SX.zeros(inputs.numel()))),
            kinetic_energy=T,
            potential_energy=potential,
        ),
        input_matrix=ca.densify(B),
        points=points or {},
        frames=frames or {},
        natural=tuple(natural),
        input_names=names,
        input_units=("",) * len(names) if input_units is None else tuple(input_units),
        chain=tuple(chain),
    )
