"""The model of a robot: an immutable bundle of expressions over its own symbols."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.constraint import Constraint, row_names
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError, require_name, unknown_name
from ..symbolic.linear_algebra import Ldl
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from ..symbolic.validation import format_value
from .constrained_factor import ConstrainedFactor, HalfSolve, NaturalFactor, Redundant, require_redundancy_mode
from .dynamics import Dynamics, Factor, coriolis_matrix
from .evaluator import Evaluator, SymbolScope
from .frame import Frame
from .limits import NO_LIMITS, Limits
from .natural_constraints import augmentation, require_regular_mass_matrix
from .tree.tree import Tree

if TYPE_CHECKING:
    from .equations import EquationsOfMotion


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """M(q) a + h(t, q, v) = B(q) u + Aᵀμ, with natural constraints A a = b.

    Attributes:
        name: shown in messages.
        coordinates: t, q, v, a and q̇ = N v.
        parameters: masses, lengths, … with nominal values.
        u: inputs, shape (nu,).
        dynamics: M, h and the energies.
        input_matrix: B, shape (nv, nu).
        points: named positions, each of shape (dimension of the space,) [m].
        frames: named poses in space.
        natural: constraints that the world enforces.
        redundant: ``"least-norm"`` if natural rows may depend on each other; the motion is still unique.
        input_names: name of each input, nu of them.
        input_units: unit of each input, nu of them.
        chain: names of points that a picture of the robot joins by straight lines.
        limits: bounds on coordinates, velocities and inputs; none if not given.
        tree: the bodies and joints that the equations were derived from, if they were.
    """

    name: str
    coordinates: Coordinates = field(repr=False)
    parameters: Parameters = field(repr=False)
    u: ca.SX = field(repr=False)
    dynamics: Dynamics = field(repr=False)
    input_matrix: ca.SX = field(repr=False)
    points: Mapping[str, ca.SX] = field(default_factory=dict[str, ca.SX], repr=False)
    frames: Mapping[str, Frame] = field(default_factory=dict[str, Frame], repr=False)
    natural: tuple[Constraint, ...] = field(default=(), repr=False)
    input_names: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    limits: Limits = field(default=NO_LIMITS, repr=False)
    tree: Tree | None = field(default=None, repr=False)
    redundant: Redundant = "refused"

    def __post_init__(self) -> None:
        """Check names and sizes, and that no expression uses a symbol that the robot does not have."""
        require_name("a robot", self.name)
        for what, names in (("an input", self.input_names), ("a point", self.points), ("a frame", self.frames)):
            for name in names:
                require_name(f"{what} of {self.name}", name)
        if not isinstance(self.tree, Tree | None):
            raise ModelError(f"tree of {self.name} must be a Tree, got {format_value(self.tree)}")
        nv, nu = self.coordinates.nv, self.u.numel()
        shapes = {"mass_matrix": (nv, nv), "bias": (nv, 1), "kinetic_energy": (1, 1), "potential_energy": (1, 1)}
        given = {**self.dynamics.known, "input_matrix": self.input_matrix}
        for name, expected in {**shapes, "input_matrix": (nv, nu)}.items():
            if name in given and given[name].shape != expected:
                raise ModelError(f"{self.name}: {name} must have shape {expected}, got {given[name].shape}")
        if len(self.input_names) != nu or len(self.input_units) != nu:
            raise ModelError(f"{self.name}: {nu} inputs need {nu} names and units, got {self.input_names}")
        limits = Limits.none(self.coordinates.nq, nv, nu) if self.limits is NO_LIMITS else self.limits
        limits.require_sizes(self.name, self.coordinates.nq, nv, nu)
        object.__setattr__(self, "limits", limits)
        for name in ("natural", "input_names", "input_units", "chain"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "points", MappingProxyType(dict(self.points)))
        object.__setattr__(self, "frames", MappingProxyType(dict(self.frames)))
        given |= {f"points[{name!r}]": point for name, point in self.points.items()}
        given |= {f"frames[{name!r}]": ca.horzcat(f.rotation, f.position) for name, f in self.frames.items()}
        self.own_symbols.require(given)
        require_redundancy_mode(self.name, self.redundant)
        for constraint in self.natural:
            if constraint.when is not None:
                raise ModelError(
                    f"{self.name}: natural constraint {constraint.name!r} has a condition, but only program "
                    "constraints can be switched. Use one robot with it and one without, or contacts, and simulate "
                    "them in turn"
                )
            # Parameters must be the robot's own too: a plant offers no other way to vary them.
            self.require_own_symbols(f"natural constraint {constraint.name!r}", constraint.residual(self.coordinates))

    @property
    def t(self) -> ca.SX:
        """Time [s]."""
        return self.coordinates.t

    @property
    def q(self) -> ca.SX:
        """Coordinates, shape (nq,)."""
        return self.coordinates.q

    @property
    def v(self) -> ca.SX:
        """Velocities, shape (nv,)."""
        return self.coordinates.v

    @property
    def p(self) -> ca.SX:
        """Parameters, in the order of ``nominal``."""
        return self.parameters.symbols

    @property
    def nominal(self) -> Mapping[str, float]:
        """Nominal parameter values by name, in the order of ``p``."""
        return self.parameters.nominal

    @property
    def mass_matrix(self) -> ca.SX:
        """M, shape (nv, nv)."""
        return self.dynamics.mass_matrix

    @property
    def bias(self) -> ca.SX:
        """h, all terms of the Lagrange operator without a and u, shape (nv,)."""
        return self.dynamics.bias

    @property
    def kinetic_energy(self) -> ca.SX:
        """T [J]."""
        return self.dynamics.kinetic_energy

    @property
    def potential_energy(self) -> ca.SX:
        """V [J]."""
        return self.dynamics.potential_energy

    @property
    def acceleration(self) -> ca.SX:
        """a for given t, q, v, u, p, with the natural constraints obeyed, shape (nv,)."""
        return self._driven[0]

    @property
    def reactions(self) -> ca.SX:
        """Multipliers μ of the natural constraints, one per row; see :attr:`natural_rows`."""
        return self._driven[1]

    @functools.cached_property
    def natural_form(self) -> tuple[ca.SX, ca.SX]:
        """A, shape (k, nv), and b, shape (k,), of the natural constraints A a = b.

        Raises:
            ModelError: for a constraint that is not affine in the accelerations.
        """
        forms = [constraint.acceleration_form(self.coordinates) for constraint in self.natural]
        for constraint, form in zip(self.natural, forms, strict=True):
            if not form.is_affine:
                raise ModelError(
                    f"natural constraint {constraint.name!r} must be affine in the accelerations, otherwise its "
                    "reaction has no unique direction; impose it as a program constraint"
                )
        theta = ca.vertcat(ca.SX(0, self.coordinates.nv), *(form.theta for form in forms))
        beta = ca.vertcat(ca.SX(0, 1), *(form.beta for form in forms))
        # Gains of natural constraints are not tuned by a user, so they become numbers; the rest are robot parameters.
        own = set(self.parameters.names)
        gains = [(s, f.parameters.nominal[n]) for f in forms for n, s in f.parameters if n not in own]
        symbols = ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in gains))
        numbers = ca.SX(ca.DM([value for _, value in gains]))
        return ca.substitute(theta, symbols, numbers), ca.substitute(beta, symbols, numbers)

    @functools.cached_property
    def natural_rows(self) -> tuple[str, ...]:
        """Name of each row of A; ``name[0]``, ``name[1]``, … for a constraint of several rows."""
        named = zip(self.natural, self.natural_sizes, strict=True)
        return tuple(name for constraint, size in named for name in row_names(constraint.name, size))

    @functools.cached_property
    def natural_sizes(self) -> tuple[int, ...]:
        """Number of rows of each natural constraint."""
        return tuple(constraint.residual(self.coordinates).numel() for constraint in self.natural)

    @functools.cached_property
    def unforced_acceleration(self) -> tuple[ca.SX, ca.SX]:
        """a, shape (nv,), and μ, shape (k,), without external forces: M a + h = Aᵀμ and A a = b."""
        return self.acceleration_under(ca.SX.zeros(self.coordinates.nv))

    def mobility(self, forces: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return the contribution of generalized forces to :attr:`unforced_acceleration`, linear in them.

        Args:
            forces: one or more generalized forces, shape (nv, k).

        Returns:
            The contributions to a, shape (nv, k), and to μ, shape (rows of A, k).
        """
        return self.constrained_factor.motion(self.constrained_factor.half_solve(forces))

    @functools.cached_property
    def factor(self) -> Factor:
        """Factorized mass matrix, or M + Aᵀ C A where M alone is singular; see :attr:`augmentation`."""
        if not self.augmentation.full().any():
            return self.dynamics.factor
        A, _ = self.natural_form
        return Ldl.of(self.mass_matrix + A.T @ ca.diag(self.augmentation) @ A)

    @functools.cached_property
    def augmentation(self) -> ca.DM:
        """Diagonal of C in M + Aᵀ C A and h − Aᵀ C b, one number per natural row; zero unless M is singular.

        Adding Aᵀ C (A a − b) = 0 to the equations changes neither a nor μ; see
        :mod:`erugin.robots.natural_constraints`.

        Raises:
            ModelError: if [M; A] does not have full column rank; names the velocities without inertia or constraint.
        """
        # Without rows to add, M is not derived: sweeps do not need it.
        if not self.natural:
            return ca.DM.zeros(0, 1)
        return augmentation(self.name, self.coordinates, self.parameters, self.mass_matrix, self.natural_form[0])

    def require_regular_mass_matrix(self) -> None:
        """Raise ModelError if M is singular in every position and there are no natural constraints."""
        if not self.natural:
            require_regular_mass_matrix(self.name, self.coordinates, self.parameters, self.mass_matrix)

    @functools.cached_property
    def coriolis_matrix(self) -> ca.SX:
        """C, shape (nv, nv): C v are the terms of h quadratic in the velocities, and Ṁ − 2 C is skew-symmetric."""
        return coriolis_matrix(self.mass_matrix, self.bias, self.coordinates)

    def frame_jacobian(self, name: str) -> ca.SX:
        """Velocity of a frame's origin, then its angular velocity, in world axes: (ẋ; ω) = J v, shape (6, nv).

        Args:
            name: one of ``frames``.

        Raises:
            ModelError: for an unknown name.
        """
        if name not in self.frames:
            raise ModelError(unknown_name(f"frame of {self.name}", name, self.frames))
        return self.frames[name].jacobian(self.coordinates)

    def equations(self, *, simplify: bool = True) -> EquationsOfMotion:
        """Derive the equations of motion term by term: ``str`` returns text, ``.latex()`` LaTeX; Jupyter displays them.

        Args:
            simplify: reduce every coefficient to a normal form and factor it; False prints the expressions as built.
        """
        from .equations import equations_of  # a separate computer algebra, which few programs need

        return equations_of(self, simplify=simplify)

    def evaluate(
        self,
        expression: ca.SX,
        *,
        t: float = 0.0,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        u: ArrayLike | None = None,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> NDArray[np.float64]:
        """Evaluate an expression in the robot's symbols; for loops build a :class:`~erugin.symbolic.Kernel` instead.

        Args:
            expression: such as ``robot.mass_matrix`` or ``robot.points["tip"]``.
            t: time [s].
            q: coordinates, shape (nq,); may be left out if the expression does not depend on them, as may v and u.
            v: velocities, shape (nv,).
            u: inputs, shape (nu,).
            p: parameters: nominal, overridden by name, or the whole vector.

        Returns:
            An array of shape () for a scalar, (n,) for a column, else (r, c).

        Raises:
            ShapeError: for a missing argument, a wrong shape, or numbers that are not finite.
            ModelError: if the expression uses a symbol that the robot does not have.
        """
        if not isinstance(expression, ca.SX):
            raise ModelError(f"the expression must be a CasADi SX, got {expression!r}")
        return self._evaluator(expression, t, (q, v, u), p)

    def require_own_symbols(self, what: str, expression: ca.SX, parameters: Parameters | None = None) -> None:
        """Raise ModelError if ``expression`` uses symbols other than the robot's and ``parameters``'.

        Args:
            what: name of the expression in the message.
            expression: of any shape.
            parameters: additional symbols that are allowed.
        """
        self.own_symbols.require({what: expression}, parameters or NO_PARAMETERS)

    @functools.cached_property
    def own_symbols(self) -> SymbolScope:
        """Symbols that expressions of this robot may use."""
        c = self.coordinates
        return SymbolScope(self.name, ca.vertcat(c.t, c.q, c.v, c.a, self.u, self.p))

    @functools.cached_property
    def _evaluator(self) -> Evaluator:
        symbols = {"t": self.t, "q": self.q, "v": self.v, "u": self.u, "p": self.p}
        return Evaluator(symbols, self.parameters, self.own_symbols)

    def acceleration_under(self, force: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Return a, shape (nv,), and μ, shape (k,), under one force.

        This takes fewer operations than :attr:`unforced_acceleration` and :meth:`mobility` together.

        Args:
            force: generalized force in addition to h, shape (nv,).
        """
        return self.constrained_factor.motion(self.half_solve(force))

    def half_solve(self, force: ca.SX) -> HalfSolve:
        """Return the forward half of the solution for the acceleration under one force, with natural constraints.

        Args:
            force: generalized force in addition to h, shape (nv,).
        """
        A, b = self.natural_form
        if self.factor is self.dynamics.factor:
            return self.constrained_factor.solve_constrained(self.dynamics.half_acceleration(force), b)
        added = A.T @ (self.augmentation * b)
        return self.constrained_factor.solve_constrained(self.factor.forward(force - self.bias + added), b)

    @functools.cached_property
    def constrained_factor(self) -> ConstrainedFactor:
        """Factorized mass matrix with the natural constraints."""
        A, _ = self.natural_form
        return ConstrainedFactor.of(self.factor, A, self.natural_sizes, self.redundant)

    @functools.cached_property
    def natural_factor(self) -> NaturalFactor:
        """Factorized A M⁻¹ Aᵀ, which solves for the reactions μ; its pivots show which rows depend on others."""
        return self.constrained_factor.natural

    @functools.cached_property
    def _driven(self) -> tuple[ca.SX, ca.SX]:
        return self.acceleration_under(self.input_matrix @ self.u)
