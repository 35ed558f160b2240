"""Adaptive program control: unknown masses, inertias or friction are estimated during the motion."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.constraint import Constraint
from ...robots.robot import Robot
from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.linear_algebra import Ldl
from ...symbolic.parameters import Parameters, Range
from ...symbolic.sampling import sample_values
from ...symbolic.validation import positive
from ..control_allocation import LeastEffortAllocation
from ..controller import Controller, Tick
from ..law import Fields, Law, LawMemory, is_finite, is_regular, select
from ..program.program import Program
from ..regressor import Regressor
from ..status import Status, tick_status
from ..traits import Trait
from .parameter_estimate import ParameterEstimate, UnknownParameters


@dataclass(frozen=True, eq=False)
class ReferenceVelocity:
    """v_r with A v_r = b′ and Θ v_r = w − k y, and its rate.

    Attributes:
        velocity: v_r(t, q), shape (nv,).
        acceleration: rate of v_r along the motion, shape (nv,).
        pivots: pivots of the program's rows, shape (m,): zero where one depends on natural or earlier ones.
        relative_pivots: pivots relative to the largest row of the same constraint, shape (m,).
    """

    velocity: ca.SX
    acceleration: ca.SX
    pivots: ca.SX
    relative_pivots: ca.SX

    @classmethod
    def of(cls, program: Program, rate: ca.SX, null: ca.SX) -> ReferenceVelocity:
        """Solve rows of order 0, and of order 1 linear in the velocities, for v_r.

        A row of order 0 gives φ_q N v_r = −φ_t − k φ, one of order 1 ψ = Θ v − w gives Θ v_r = w. With s = v − v_r then
        Θ s = ẏ + k y, or y′. Of all such v_r the one nearest to z is used, in the units of v.

        Args:
            program: the program.
            rate: k [1/s].
            null: z, an expression in t, q and parameters, shape (nv,).

        Raises:
            ModelError: for rows of order 2, rows nonlinear in v, or rows with a condition.
        """
        robot = program.robot
        natural = [_row(robot, constraint, constraint.name, ca.SX(0), "natural ") for constraint in robot.natural]
        desired = [_row(robot, constraint, constraint.name, rate, "") for constraint in program.constraints]
        rows = ca.vertcat(ca.SX(0, robot.coordinates.nv), *(theta for theta, _ in (*natural, *desired)))
        right = ca.vertcat(ca.SX(0, 1), *(w for _, w in (*natural, *desired)))
        K = rows @ rows.T
        factor = Ldl.of(K)
        velocity = ca.densify(null + rows.T @ factor.solve(right - rows @ null))
        first = sum(theta.size1() for theta, _ in natural)
        certain = factor.certain_pivots(K)
        pivots = ca.vertcat(ca.SX(0, 1), *(certain[first + i] for i in range(len(program.rows))))
        relative: list[ca.SX] = []
        for i, block in enumerate(program.blocks):
            largest = K[first + block[0], first + block[0]]
            for j in block[1:]:
                largest = ca.fmax(largest, K[first + j, first + j])
            relative.append(ca.if_else(largest > 0, pivots[i] / largest, 0))
        return cls(velocity, ca.densify(robot.coordinates.rate(velocity)), pivots, ca.vertcat(*relative))


def _row(robot: Robot, constraint: Constraint, name: str, rate: ca.SX, kind: str) -> tuple[ca.SX, ca.SX]:
    """Return Θ and w − k y of one constraint."""
    c = robot.coordinates
    if constraint.when is not None:
        raise ModelError(
            f"{kind}constraint {name!r} is on only at times, but the velocities of an adaptive program must not jump: "
            "use a ProgramController, or a controller for each phase"
        )
    if constraint.order == 2:
        raise ModelError(
            f"{kind}constraint {name!r} has order 2 and does not constrain velocities: write it as a relation of "
            "velocities (order 1) or positions (order 0)"
        )
    residual = ca.densify(constraint.residual(c))
    velocity_level = residual if constraint.order == 1 else c.rate(residual)
    theta = ca.jacobian(velocity_level, c.v)
    if ca.depends_on(theta, c.v):
        raise ModelError(f"{kind}constraint {name!r} must be linear in the velocities")
    w = -ca.substitute(velocity_level, c.v, ca.SX.zeros(c.nv))
    return ca.densify(theta), ca.densify(w if constraint.order == 1 else w - rate * residual)


Array = NDArray[np.float64]


class AdaptiveProgramController(Controller):
    """Program control with adaptation of Slotine and Li, [SlotineLi1987]_.

    B u = Y π̂ − κ M₀ s and dπ̂/dt = −Γ Yᵀs, s = v − v_r, where v_r are velocities that obey the program,
    Θ v_r = w − k y, and natural constraints, and Y π = M v̇_r + C v_r + (h − C v). The estimates stay in their bounds.

    *Condition.* Parameters that enter M a + h linearly and lie within their bounds; as many independent inputs as
    degrees of freedom; κ, k, Γ > 0. Then V = ½ sᵀMs + ½ π̃ᵀΓ⁻¹π̃ decreases: dV/dt ≤ −κ sᵀM₀s for any true values,
    hence s → 0 and with it the deviations: Θ s = ẏ + k y for rows of order 0, y′ for those of order 1. The estimates
    converge to the true values only if the motion excites them: ∫ YᵀY dt over any span of some length must be regular.

    The perturbation equations of the program are not used: k and κ replace them. Estimates are corrected at samples, by
    the trapezoidal rule over the last interval h, and extrapolated by their last slope between them, which adds terms
    of the order of h² to V. If u is constant between samples as well, as with a digital controller, the addition is
    ½ h sᵀYΓYᵀs per second, and h must be so short that this is below κ sᵀM₀s.

    Attributes:
        program: the program that is realised.
        regressor: Y, and the unknown products.
        bounds: least and greatest value of each estimate, shape (k, 2).
    """

    supports = frozenset({Trait.CLOSED_LOOPS, Trait.NONHOLONOMIC, Trait.OVERACTUATED, Trait.QUASI_VELOCITIES})

    def __init__(
        self,
        program: Program,
        unknown: Mapping[str, tuple[float, float]],
        *,
        rate: float = 5.0,
        damping: float | None = None,
        adaptation: float | None = None,
        null_velocity: ca.SX | None = None,
        products: bool = False,
        tolerance: float = 1e-10,
    ) -> None:
        """Derive the regressor and build the law.

        Args:
            program: program with rows of order 0, or of order 1 and linear in the velocities, always on.
            unknown: least and greatest value of each unknown parameter of the robot, by name; the estimate starts at
                its value in the model. M₀ is the mass matrix at that value.
            rate: k, with which deviations of rows of order 0 decay once s = 0 [1/s].
            damping: κ, with which s decays once the estimates are right [1/s]; ``rate`` if not given: a double pole.
            adaptation: γ, with Γ_ii = γ times the square of the width of the bounds [1/J]. If not given, such that
                adaptation is about as fast as s: κ² over the largest trace of M⁻¹ Y W² Yᵀ, W the widths, at a few
                states.
            null_velocity: velocities that v_r is to be nearest to, of all that satisfy the program, an expression in t,
                q and parameters, shape (nv,); zero if not given.
            products: True to treat products such as m·c² as separate unknowns.
            tolerance: a row counts as dependent when its squared remainder outside earlier rows, relative to the
                largest row of its constraint, is not above this.

        Raises:
            ModelError: for a robot that is not supported, a row that does not determine velocities, a parameter that
                does not enter linearly (named), invalid bounds or bounds that exclude the model's value, or a gain that
                is not positive.
            ParameterError: for an unknown name.
        """
        if not isinstance(program, Program):
            raise ModelError(f"AdaptiveProgramController requires a Program, got {type(program).__name__}")
        if not isinstance(unknown, Mapping):
            raise ModelError(
                f"unknown must map the name of each parameter to its least and greatest value, such as "
                f"{{'m2': (0.5, 5.0)}}, got {unknown!r}"
            )
        robot = program.robot
        self.check_supported(robot)
        self.program, self.robot = program, robot
        self._tolerance = positive("tolerance", tolerance)
        k = positive("rate", rate)
        gains = {"rate": k, "damping": k if damping is None else positive("damping", damping), "adaptation": 1.0}
        own = Parameters.declare(gains, "adaptive", ranges=dict.fromkeys(gains, Range.POSITIVE))
        null = self._null(null_velocity)
        self._motion = ReferenceVelocity.of(program, own["adaptive.rate"], null)
        desired = self._motion
        self.regressor = Regressor.of(robot, unknown, desired.velocity, desired.acceleration, products=products)
        self._unknown = UnknownParameters.of(self.regressor.products, unknown, robot.nominal)
        self.bounds = self._unknown.bounds
        if adaptation is None:
            chosen = self._rule(Parameters.collect([program.parameters, own]), gains["damping"])
        else:
            chosen = positive("adaptation", adaptation)
        gain = Parameters(own.names, own.symbols, {**own.nominal, "adaptive.adaptation": chosen}, dict(own.ranges))
        self.parameters = Parameters.collect([program.parameters, gain])
        self.reset()

    @classmethod
    def unsupported_reason(cls, robot: Robot) -> str:
        """Return the reason why this law cannot drive a robot, as the end of a sentence; empty if it can.

        Args:
            robot: the model.
        """
        if reason := super().unsupported_reason(robot):
            return reason
        if robot.redundant == "least-norm":
            return "natural constraints of the robot depend on each other, which this law does not support"
        return ""

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Constraints of the program."""
        return self.program.constraints

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the program's rows."""
        return self.program.rows

    @property
    def tolerance(self) -> float:
        """A row is dependent if its relative pivot is not above this."""
        return self._tolerance

    @property
    def estimates(self) -> Mapping[str, float]:
        """π̂ by name, as of the last sample; the model's values before the first."""
        return dict(zip(self.regressor.names, self._estimate.values.tolist(), strict=True))

    def sampled_law(self, period: float) -> Law:
        """Return the law with its estimates as expressions.

        Args:
            period: time between samples [s].
        """
        c, p, size = self.robot.coordinates, self.parameters, len(self.regressor.products)
        fields = Fields({"count": 1, "time": 1, "values": size, "slope": size})
        z = ca.SX.sym("Adaptive_z", len(fields))
        m = fields.split(z)
        low, high = (ca.SX(self.bounds[:, i]) for i in (0, 1))
        started, since = m["count"] > 0, c.t - m["time"]
        values = select(started, m["values"], self._unknown.start({name: p[name] for name in self._unknown.limits}))
        present = ca.fmin(ca.fmax(values + ca.fmax(since, 0.0) * m["slope"], low), high)
        terms = self._terms(select(started, present, values))
        slope = -p["adaptive.adaptation"] * ca.SX(self._unknown.widths**2) * terms["correlation"]
        # No adaptation at a singular state, where the law has no output.
        slope = select(is_regular(slope, terms["relative"], self._tolerance), slope, ca.SX.zeros(size))
        moved = ca.fmin(ca.fmax(values + since * (m["slope"] + slope) / 2.0, low), high)
        after = {"count": m["count"] + 1, "time": c.t, "slope": slope}
        after["values"] = select(ca.logic_and(started, since > 0), moved, values)
        # A sample that is not finite is refused.
        update = select(is_finite(ca.vertcat(c.q, c.v)), fields.join(after), z)
        memory = LawMemory(z, np.zeros(len(fields)), update, restore=functools.partial(self._restore, fields))
        deviation, relative = self.program.deviation, terms["relative"]
        return Law(terms["output"], deviation, terms["pivots"], relative, self.rows, self._tolerance, memory=memory)

    def _restore(self, fields: Fields, z: Array) -> ParameterEstimate:
        m = fields.numbers(z)
        if m["count"][0] == 0.0:
            return self.initial_memory
        return ParameterEstimate(float(m["time"][0]), m["values"].copy(), m["slope"].copy())

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Return the input, with the estimates extrapolated from the last sample.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: estimates at the last sample.
        """
        assert isinstance(memory, ParameterEstimate)
        output, relative, pivots, *_ = self._computed(t, q, v, p, memory)
        return Tick(
            output,
            pivots,
            relative,
            deviation=lambda _: np.atleast_1d(self._deviation(t, q, v, p)[0]),
            memory=lambda: self._after(t, q, v, p, memory),
        )

    @property
    def initial_memory(self) -> ParameterEstimate:
        """The model's values."""
        values = self._unknown.first(self.parameters.names, self.parameters.values())
        return ParameterEstimate(None, values, np.zeros(len(self.regressor.products)))

    def _after(self, t: float, q: Array, v: Array, p: Array, memory: ParameterEstimate) -> ParameterEstimate:
        """Adapt the estimates by the mean of −Γ Yᵀs at this and the last sample, within their bounds."""
        first = self._unknown.first(self.parameters.names, p) if memory.time is None else memory.values
        _, relative, _, correlation, _ = map(np.atleast_1d, self._tick(t, q, v, p, first))
        slope = np.asarray(-p[-1] * self._unknown.widths**2 * correlation, dtype=np.float64)
        if tick_status(bool(np.isfinite(slope).all()), relative, self._tolerance) is not Status.OK:
            # No adaptation at a singular state, where the law has no output.
            slope = np.zeros_like(slope)
        values = first
        if memory.time is not None and t > memory.time:
            values = self._unknown.projected(first + (t - memory.time) * (memory.slope + slope) / 2.0)
        return ParameterEstimate(t, np.array(values), slope)

    def sliding(self, t: float, q: ArrayLike, v: ArrayLike, p: Mapping[str, float] | ArrayLike | None = None) -> Array:
        """Return s = v − v_r, shape (nv,), which the law drives to zero.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return self._computed(*self.arguments(t, q, v, p), self._estimate)[4]

    @property
    def _estimate(self) -> ParameterEstimate:
        assert isinstance(self.memory, ParameterEstimate)
        return self.memory

    def _computed(self, t: float, q: Array, v: Array, p: Array, memory: ParameterEstimate) -> list[Array]:
        if memory.time is None:
            values = self._unknown.first(self.parameters.names, p)
        else:
            values = self._unknown.projected(memory.values + max(0.0, t - memory.time) * memory.slope)
        return [np.atleast_1d(value) for value in self._tick(t, q, v, p, values)]

    def _null(self, given: ca.SX | None) -> ca.SX:
        robot = self.robot
        if given is None:
            return ca.SX.zeros(robot.coordinates.nv)
        if not isinstance(given, ca.SX) or given.shape != (robot.coordinates.nv, 1):
            raise ModelError(f"null_velocity must be a column of {robot.coordinates.nv} SX expressions, got {given!r}")
        robot.require_own_symbols("null_velocity", given, self.program.parameters)
        if ca.depends_on(given, ca.vertcat(robot.v, robot.u, robot.coordinates.a)):
            raise ModelError("null_velocity must be an expression in time, coordinates and parameters only")
        return ca.densify(given)

    def _rule(self, parameters: Parameters, damping: float) -> float:
        robot, Y = self.robot, self.regressor.matrix @ ca.DM(np.diag(self._unknown.widths))
        size = ca.trace(Y.T @ robot.factor.solve(Y))
        states = {"t": robot.t, "q": robot.q, "v": robot.v}
        sizes = [float(value[0, 0]) for (value,) in sample_values({"size": size}, states, parameters)]
        largest = max((value for value in sizes if np.isfinite(value)), default=0.0)
        return damping**2 / largest if largest > 0.0 else damping

    def _terms(self, estimates: ca.SX) -> dict[str, ca.SX]:
        """Return the terms of the law as expressions, for estimates of shape (k,)."""
        robot, Y = self.robot, self.regressor
        s = robot.v - Y.velocity
        force = Y.matrix @ estimates + Y.rest - self.parameters["adaptive.damping"] * (robot.mass_matrix @ s)
        effort = LeastEffortAllocation.of(robot)
        return {
            "output": effort.inputs(force),
            "relative": ca.fmin(effort.share, self._motion.relative_pivots),
            "pivots": effort.share * self._motion.pivots,
            "correlation": Y.matrix.T @ s,
            "sliding": s,
        }

    @functools.cached_property
    def _tick(self) -> Kernel:
        robot, estimates = self.robot, ca.SX.sym("estimates", len(self.regressor.products))
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols, "estimates": estimates}
        return Kernel("adaptive_tick", symbols, self._terms(estimates))

    @functools.cached_property
    def _deviation(self) -> Kernel:
        robot = self.robot
        symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": self.parameters.symbols}
        return Kernel("adaptive_deviation", symbols, {"deviation": self.program.deviation})
