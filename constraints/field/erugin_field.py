"""Erugin's vector field: a velocity at every position, with given curves, moving or not, as integral curves."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterable, Mapping
from typing import Literal

import casadi as ca
from numpy.typing import ArrayLike

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.pickling import Picklable
from ...symbolic.validation import not_negative, positive
from ..curves.curve import Curve
from .erugin_structure import literal_form
from .field_arguments import chosen_avoidance, declare_parameters, require_curves, require_profile
from .field_tube import FieldTube
from .guidance import (
    CruiseGains,
    FieldBarrier,
    HugGains,
    Profile,
    cruise_velocity,
    detour,
    hug_velocity,
    least_detour,
    obstacle_retraction,
    path_direction,
    punctual_speed,
    shield_velocity,
)


class EruginField(Picklable):
    """A field ẋ = w(x, t) that follows a path, and none of whose trajectories crosses the boundary of an obstacle.

    Erugin's structure [Erugin1952]_, Matukhina eq. (1), in n dimensions, is

        ẋ = P(x, t) + S(x, t) ∇f − ∇f f_t / |∇f|²,   f = ∏ f_i,   S skew,   P = 0 wherever any f_i = 0,

    and gives df_i/dt = 0 on f_i = 0. Here the f_i are the functions of the *program curve* F and of the *barriers* O_j:
    obstacles, and the boundaries of regions to stay inside of.
    Taken literally the structure is unbounded at the critical points of f, and there always is one between two curves
    (see :func:`erugin_structure`); the freedom of P is used to avoid them:

    1. w₀ goes to the program curve F = 0 and along it (``guidance.cruise_velocity``): there dF/dt = 0.
    2. Barriers are avoided in one of two ways. A *hug*, the default: F = 0 is the path itself, and w₁ is the velocity
       next to w₀ that approaches no margin faster than dh_j/dt = −γ h_j, h_j = O_j − δ (``guidance.hug_velocity``).
       The path is left as late, and rejoined as early, as γ allows. A *detour*: F = 0 is the path deformed by smooth
       minima, so that it passes the barriers at the margin (``guidance.detour``), and w₁ = w₀. An obstacle that leaves
       the path to its passing side fades out of F by a weight of time alone, so that it carries no closed loop of
       F = 0 along.
    3. Within the margin of barriers w is the velocity nearest to w₁ for which no O_j changes on O_j = 0
       (``guidance.shield_velocity``): dO_j/dt = 0 on every boundary, also where several meet or overlap.

    So the f_i are integral curves: each O_j = 0 wherever following it takes at most 0.8 of the limit L, and F = 0
    wherever the same holds for it, O_j ≥ δ for all j, and, for a hug, no barrier is approached faster than γ allows
    (:meth:`pressing`). Barriers have precedence over F: between two that leave less than 2δ, or where an obstacle fades
    out of F, the point keeps off the barriers and only approaches F. |w| ≤ L everywhere. Two barriers that close on the
    point still overrun it, because no bounded velocity can prevent it.

    A detour is smoother: its program curve is an integral curve beside barriers too. A hug is shorter, keeps its margin
    where a detour's program curve is left, and stays on the path past obstacles that do not stand in the way.

    :meth:`structure` returns P, S and f of the literal form, equal to this field; P vanishes on these integral curves.

    Attributes:
        path: the curve that is followed.
        obstacles: boundaries of the obstacles.
        inside: boundaries of the regions to stay inside of.
        barriers: obstacles and regions, in the form that the field uses.
        dimension: n.
        parameters: those of the curves, then ``name.speed`` c [m/s], ``name.attraction`` κ [1/s]; with barriers
            ``name.side`` σ, ``name.margin`` δ [m], ``name.approach`` γ [1/s] and ``name.swirl`` σ₁ of a hug or
            ``name.rounding`` ε [m] of a detour, ``name.limit`` L [m/s] and for each barrier ``name.side_<its name>``
            σ_j, so that it is passed on the side σσ_j, where 0 leaves the choice to the other, and two zeros to the
            field; with an acceleration limit ``name.acceleration`` [m/s²].
        avoidance: the way in which barriers are avoided, ``"hug"`` or ``"detour"``.
    """

    def __init__(
        self,
        path: Curve,
        obstacles: Iterable[Curve] = (),
        *,
        speed: float,
        inside: Iterable[Curve] = (),
        attraction: float | None = None,
        margin: float | None = None,
        avoidance: Literal["hug", "detour"] | None = None,
        rounding: float | None = None,
        approach: float | None = None,
        swirl: float = 1.0,
        limit: float | None = None,
        acceleration: float | None = None,
        side: int | Mapping[str, int] | Literal["auto"] = "auto",
        pace: Profile | None = None,
        course: Profile | None = None,
        name: str = "field",
    ) -> None:
        """Build the field.

        Args:
            path: curve to be followed, n − 1 functions; fewer, a surface, with ``course``. Several program curves are
                given as one whose functions vanish on all of them, such as
                ``implicit(lambda x, t: f1(x, t) * f2(x, t), …)``.
            obstacles: boundaries to stay outside of, one function each, positive outside.
            speed: cruise speed c along the path [m/s].
            inside: boundaries of regions to stay inside of, one function each, positive outside as for obstacles.
            attraction: rate κ at which distances to the path decay near it [1/s]; for a robot that follows the field by
                ψ′ + ωψ = 0, ω/2 to ω is a good choice. If not given, c/δ for a hug, by which a point at one margin
                from the path heads back to it at 45°, but between 2 and 5 1/s; 2 1/s without barriers and for a detour.
            margin: clearance δ from barriers [m]; required if there are any.
            avoidance: ``"hug"`` or ``"detour"``; if not given, a detour if a rounding is given, else a hug.
            rounding: length ε over which the path is blended into a detour [m]; half the margin if not given. The
                detour departs from the path by ε e^(−d/ε) at a distance d from the inflated obstacle.
            approach: rate γ at which a hug lets distances to margins decay [1/s]; if not given, twice the attraction or
                c/2δ, the larger one. A margin that is reached at the speed v takes accelerations of γ v.
            swirl: share σ₁ of the speed which a barrier takes that a hug adds along its boundary, to the passing side.
            limit: largest speed L [m/s], at least 1.2 c; if not given, 1.5 c with barriers and unlimited without. No
                boundary may advance along its normal faster than 0.8 L, whether it drifts, turns, grows or speeds up:
                :func:`require_start` and previews refuse it, and a run reports it.
            acceleration: bound of the acceleration [m/s²] along the program curve where that is at rest, by slowing
                down in bends, and on the way to a straight one, by lowering κ. Accelerations that moving barriers
                require are not bounded.
            side: +1 to pass barriers on the side where the path's first function is positive, −1 on the other; or by
                name of the barrier. In the plane, +1 is the right-hand side in the direction of travel. ``"auto"``,
                also for barriers that are not named: the side on which the barrier is left at closest approach by a
                point that moves along the path from its start, in a tie behind it
                (``guidance.least_detour``). :func:`choose_sides` rehearses the motion.
            pace: share of the cruise speed as a function of position, shape (n,), and time, clipped to [0, 1]: a speed
                profile, or a stop at the end of the path; 1 if not given.
            course: direction of travel as a function of position, shape (n,), and time, projected on the surface; only
                for a surface.
            name: prefix of its parameters.

        Raises:
            ModelError: for dimensions that do not fit, a missing margin, a limit too near the speed, or a number out
                of its range.
        """
        self.avoidance = chosen_avoidance(avoidance, rounding)
        self.path = path
        self.obstacles = require_curves("obstacles", obstacles)
        self.inside = require_curves("inside", inside)
        require_curves("path", (path,))
        self.name = name
        self.dimension = path.dimension
        every = (*self.obstacles, *self.inside)
        for curve in every:
            if curve.dimension != path.dimension:
                raise ModelError(f"{curve.name!r} has dimension {curve.dimension}, the path has {path.dimension}")
            k = curve.functions(self._position, self._time).numel()
            if k != 1:
                raise ModelError(f"the boundary of an obstacle is one function, but {curve.name!r} has {k}")
        self._own = declare_parameters(
            name,
            [curve.name for curve in every],
            speed=speed,
            attraction=attraction,
            margin=margin,
            avoidance=self.avoidance,
            rounding=rounding,
            approach=approach,
            swirl=swirl,
            limit=limit,
            acceleration=acceleration,
            side=side,
        )
        self.parameters = Parameters.collect([path.parameters, *(o.parameters for o in every), self._own])
        names = [curve.name for curve in every]
        doubled = sorted({key for key in names if names.count(key) > 1})
        if doubled:
            raise ModelError(f"two barriers are called {doubled[0]!r}; give them different names (name=...)")
        k = path.functions(self._position, self._time).numel()
        if k != self.dimension - 1 and not (course is not None and 1 <= k < self.dimension - 1):
            raise ModelError(
                f"a path in {self.dimension} dimensions needs {self.dimension - 1} functions, got {k}"
                + (": give the direction of travel on a surface with course=" if 1 <= k < self.dimension - 1 else "")
            )
        if course is not None and k == self.dimension - 1:
            raise ModelError("course= is only for a surface, which has fewer functions; a path has a direction already")
        symbols = ca.vertcat(self._position, self._time, self.parameters.symbols)
        self._pace = require_profile("pace", pace, self._position, self._time, symbols, 1)
        self._course = require_profile("course", course, self._position, self._time, symbols, self.dimension)

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Velocity w of the field, shape (n,) [m/s].

        Args:
            x: position, shape (n,) [m].
            t: time [s].

        Raises:
            ModelError: if x is not a position in the field's space, or t not a scalar.
        """
        return self._at(self._velocity, x, t)

    def unobstructed(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Velocity that would follow the path if there were no barriers, shape (n,) [m/s].

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        phi = ca.densify(self.path.functions(self._position, self._time))
        J, drift = self.path.jacobian(self._position, self._time), ca.jacobian(phi, self._time)
        return self._at(cruise_velocity(phi, J, drift, self._position, self._gains), x, t)

    def desired_speed(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Cruise speed times the pace [m/s].

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        return self._at(self._gains.pace * self._gains.speed, x, t)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The f_i: the functions F of the program curve, then one per barrier, positive in free space [m].

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        return self._at(ca.vertcat(self._program[0], self._boundaries), x, t)

    def structure(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """Literal form of Matukhina's eq. (1): P, shape (n,), S, shape (n, n), and f = ∏ f_i.

        S = (w ∇fᵀ − ∇f wᵀ)/|∇f|² and P = ∇f (∇f·w + f_t)/|∇f|². P = 0 on every boundary, and on F = 0 where that is an
        integral curve. Not defined where ∇f = 0.

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        every = ca.vertcat(self._program[0], self._boundaries)
        P, S, f = literal_form(self._velocity, every, self._position, self._time)
        return self._at(P, x, t), self._at(S, x, t), self._at(f, x, t)

    def punctual(self, clock: float) -> EruginField:
        """Return the same field, whose speed along the path makes delays good.

        In place of c it is c + ϰ (c (t − t₀) − s), between 0 and 0.9 of the limit, with s the length travelled along
        the path: what a detour costs is made good at the rate ϰ. It is multiplied by the pace.

        Args:
            clock: ϰ [1/s]; a quarter of the rate of the equation that realizes the field is a good choice. Parameter
                ``name.clock``; ``name.departure`` is t₀, when the point is due at the start of the path [s], 0.

        Raises:
            ModelError: if the path does not know its length, or the rate is not positive.
        """
        if self._has("clock"):
            raise ModelError(f"{self.name!r} has a clock already: set its parameter {self.name}.clock")
        if self.path.travelled(self._position, self._time) is None:
            raise ModelError(
                f"clock= needs a path that knows its length, and {self.path.name!r} does not: use a line, a spline, a "
                "circle in the plane, or a parametric path that neither moves nor has parameters"
            )
        values = {"clock": positive("clock", clock), "departure": 0.0}
        own = Parameters.declare(values, self.name, ranges={"clock": Range.POSITIVE})
        found = copy.copy(self)
        for key in ("barriers", "_boundaries", "_fronts", "_gains", "_program", "_velocity", "_desired"):
            found.__dict__.pop(key, None)
        found._own = Parameters.collect([self._own, own])
        found.parameters = Parameters.collect([self.parameters, own])
        return found

    def tube(self, deviation: float, p: Mapping[str, float] | ArrayLike | None = None) -> FieldTube:
        """Return how far a point with |ẋ − w| ≤ ``deviation`` leaves the path, and how much of the margin it uses.

        With γ of a hug dh/dt ≥ −γh − |ψ| for h = O − δ, |∇O| = 1, hence h ≥ −|ψ|/γ from h ≥ 0 on, as long as
        |ψ| < 0.8 L leaves room to give way. Where no barrier presses, the point returns to the path at the speed
        c sin ϑ, tan ϑ = κd/c, so that the distance d is at most (|ψ|/κ)/√(1 − (|ψ|/c)²), without a bound for |ψ| ≥ c.
        Both contain that the field softens its normals off h = 0 and off the path, by up to 5 %. For a detour, whose
        margin is its program curve's, κ takes the place of γ, which holds to first order.

        Args:
            deviation: bound of |ψ| [m/s], possibly infinite.
            p: parameters of the field: a mapping from names that overrides nominal values, or the whole vector.

        Raises:
            ModelError: for a negative bound.
        """
        numbers = dict(zip(self.parameters.names, self.parameters.values(p).tolist(), strict=True))
        approach = "approach" if self.avoidance == "hug" else "attraction"
        return FieldTube.of(
            math.inf if deviation == math.inf else not_negative("deviation", deviation),
            speed=numbers[f"{self.name}.speed"],
            attraction=numbers[f"{self.name}.attraction"],
            approach=numbers[f"{self.name}.{approach}"] if self.obstacles or self.inside else None,
            margin=numbers.get(f"{self.name}.margin", 0.0),
            limit=numbers.get(f"{self.name}.limit", math.inf),
        )

    def pressing(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """Speed that each barrier takes from the motion along the path, shape (k,) [m/s].

        λ of ``guidance.hug_velocity``: 0, exactly, where the motion along the path approaches the barrier's margin at
        a rate of less than γ. Zero everywhere with a detour, whose program curve leads round the barriers.

        Args:
            x: position, shape (n,) [m].
            t: time [s].
        """
        return self._at(self._desired[1], x, t)

    @functools.cached_property
    def barriers(self) -> tuple[FieldBarrier, ...]:
        """Obstacles and boundaries of regions, in the field's own symbols."""
        y, s = self._position, self._time
        first = self.path.jacobian(y, s)[0, :].T
        found: list[FieldBarrier] = []
        for curve, sign in [*((o, 1) for o in self.obstacles), *((r, -1) for r in self.inside)]:
            # The outside of a region is unbounded, so that no part of it ever leaves the path.
            center, extent = (curve.reference(s), curve.extent(s)) if sign > 0 else (None, None)
            common, own = self._gain("side"), self._gain(f"side_{curve.name}")
            given = ca.if_else(common == 0, 1, common) * ca.if_else(own == 0, 1, own)
            side, direction = given, given * first
            if sign > 0 and (
                chosen := least_detour(self.path, curve, self._start, *map(self._gain, ("speed", "margin")))
            ):
                free = ca.logic_and(common == 0, own == 0)
                side = ca.if_else(free, chosen[0], given)
                # In the plane there are two directions only.
                direction = side * first if self.dimension == 2 else ca.if_else(free, chosen[1], given * first)
            value = sign * ca.densify(curve.functions(y, s))
            found.append(FieldBarrier(curve.name, value, side, direction, center, extent))
        return tuple(found)

    @property
    def _start(self) -> ca.SX:
        """Time at which the point is at the start of the path."""
        return self._gain("departure") if self._has("clock") else ca.SX(0)

    @functools.cached_property
    def _position(self) -> ca.SX:
        return ca.SX.sym("x", self.dimension)

    @functools.cached_property
    def _time(self) -> ca.SX:
        return ca.SX.sym("t")

    @functools.cached_property
    def _boundaries(self) -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *(barrier.function for barrier in self.barriers))

    @functools.cached_property
    def _gains(self) -> CruiseGains:
        limit, acceleration = (self._gain(key) if self._has(key) else None for key in ("limit", "acceleration"))
        pace = ca.SX(1) if self._pace is None else ca.fmin(ca.fmax(self._pace, 0), 1)
        speed, length = self._gain("speed"), self.path.travelled(self._position, self._time)
        if self._has("clock") and length is not None:
            due = speed * (self._time - self._gain("departure"))
            pace = pace * punctual_speed(length, due, self._gain("clock"), speed, limit) / speed
        return CruiseGains(speed, self._gain("attraction"), limit, acceleration, pace, self._course)

    @functools.cached_property
    def _program(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """F, ∂F/∂x and ∂F/∂t, by the chain rule over the path's own functions and their Jacobian."""
        y, s = self._position, self._time
        path = ca.densify(self.path.functions(y, s))
        phi = ca.SX.sym("phi", path.numel())
        merged = phi
        if self.barriers and self.avoidance == "detour":
            margin = self._gain("margin")
            each = [(barrier, obstacle_retraction(self.path, barrier, s, margin)) for barrier in self.barriers]
            merged = ca.vertcat(detour(phi[0], each, margin, self._gain("rounding")), *ca.vertsplit(phi)[1:])
        by_path = ca.jacobian(merged, phi)
        slope = by_path @ self.path.jacobian(y, s) + ca.jacobian(merged, y)
        rate = by_path @ ca.jacobian(path, s) + ca.jacobian(merged, s)
        return tuple(ca.substitute(ca.densify(e), phi, path) for e in (merged, slope, rate))  # type: ignore[return-value]

    @functools.cached_property
    def _velocity(self) -> ca.SX:
        w = self._desired[0]
        if not self.barriers:
            return w
        slope, drift = self._fronts
        margin, rate, limit = (self._gain(key) for key in ("margin", "attraction", "limit"))
        return shield_velocity(w, self._boundaries, slope, drift, margin=margin, rate=rate, limit=limit)

    @functools.cached_property
    def _fronts(self) -> tuple[ca.SX, ca.SX]:
        """∂O/∂x and ∂O/∂t."""
        return ca.jacobian(self._boundaries, self._position), ca.jacobian(self._boundaries, self._time)

    @functools.cached_property
    def _desired(self) -> tuple[ca.SX, ca.SX]:
        """The velocity that the shield gets, and how much of it each barrier takes."""
        program, slope, rate = self._program
        w = cruise_velocity(program, slope, rate, self._position, self._gains)
        if not self.barriers or self.avoidance == "detour":
            return w, ca.SX(len(self.barriers), 1)
        tangent = path_direction(slope, self._gains)
        ahead = self._gains.pace * self._gains.speed * tangent
        directions = ca.horzcat(*(barrier.direction for barrier in self.barriers))
        still = ca.SX.zeros(self.dimension)
        centers = [still if barrier.center is None else barrier.center for barrier in self.barriers]
        carried = ca.horzcat(*(ca.jacobian(center, self._time) for center in centers))
        gains = HugGains(*(self._gain(key) for key in ("margin", "approach", "swirl", "speed", "limit")))
        return hug_velocity(w, ahead, self._boundaries, *self._fronts, tangent, directions, carried, gains)

    def _has(self, key: str) -> bool:
        return f"{self.name}.{key}" in self._own.names

    def _gain(self, key: str) -> ca.SX:
        return self._own[f"{self.name}.{key}"]

    def _at(self, expression: ca.SX, x: ca.SX, t: ca.SX) -> ca.SX:
        if x.shape != (self.dimension, 1):
            raise ModelError(f"x must be a position in {self.dimension} dimensions, got shape {x.shape}")
        if t.shape != (1, 1):
            raise ModelError(f"the time must be a scalar, got shape {t.shape}")
        return ca.substitute(expression, ca.vertcat(self._position, self._time), ca.vertcat(x, t))
