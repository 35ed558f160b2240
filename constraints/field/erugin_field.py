"""Erugin's vector field: a velocity at every place that has given curves, moving or not, as integral curves."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import casadi as ca
from numpy.typing import ArrayLike

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.pickling import Picklable
from ..curves import Curve
from .erugin_structure import literal_form
from .field_arguments import declare_parameters, require_curves, require_profile
from .guidance import CruiseGains, FieldBarrier, Profile, cruise_velocity, detour, obstacle_retraction, shield_velocity

if TYPE_CHECKING:
    from ..verification.field_report import FieldReport


class EruginField(Picklable):
    """A field ẋ = w(x, t) that follows a path, and of which no trajectory crosses an obstacle's boundary.

    Erugin's structure [Erugin1952]_, Matukhina eq. (1), in n dimensions, is

        ẋ = P(x, t) + S(x, t) ∇f − ∇f f_t / |∇f|²,   f = ∏ f_i,   S skew,   P = 0 wherever any f_i = 0,

    and gives df_i/dt = 0 on f_i = 0. Here the f_i are the functions of the *program curve* F and of the *barriers* O_j:
    obstacles, and the boundaries of regions to be kept inside.
    Taken literally the structure is unbounded at the critical points of f, of which there always is one between two
    curves (see :func:`erugin_structure`); the freedom of P is used to leave them out:

    1. The program curve F = 0 is the path, led around the barriers at the margin δ, each on its own side, by smooth
       minima (:func:`constraints.detour.led_around`). An obstacle that leaves the path to the side on which it is to be
       passed fades out of F, by a weight of time alone: it takes no closed loop of F = 0 along.
    2. w₀ goes to F = 0 and along it (:func:`constraints.cruise.cruise`): there dF/dt = 0.
    3. Within the margin of barriers w is the velocity next to w₀ that lets no O_j change on O_j = 0
       (:func:`constraints.shield.shielded`): dO_j/dt = 0 on every boundary, also where several meet or overlap.

    So the f_i are integral curves: each O_j = 0 wherever it is to be followed no faster than 0.8 of the limit L, and
    F = 0 wherever the same holds for it and O_j ≥ δ for all j. Barriers have precedence over F: between two that leave
    less than 2δ, or where an obstacle fades out of F, the point is held off the barriers and F only aimed at. |w| ≤ L
    everywhere. Two barriers that close on the point still overrun it, because no bounded velocity can help.

    :meth:`structure` returns P, S and f of the literal form, equal to this field; P vanishes on every curve.

    Attributes:
        path: the path.
        obstacles: the obstacles' boundaries.
        inside: boundaries of the regions to be kept inside.
        barriers: both, as the field sees them.
        dimension: n.
        parameters: those of the curves, then ``name.speed`` c [m/s], ``name.attraction`` κ [1/s]; with barriers
            ``name.side`` σ, ``name.margin`` δ [m], ``name.rounding`` ε [m], ``name.limit`` L [m/s] and for each of them
            ``name.side_<its name>``, ±1, so that it is passed on the side σσ_j; with an acceleration limit
            ``name.acceleration`` [m/s²].
    """

    def __init__(
        self,
        path: Curve,
        obstacles: Iterable[Curve] = (),
        *,
        speed: float,
        inside: Iterable[Curve] = (),
        attraction: float = 2.0,
        margin: float | None = None,
        rounding: float | None = None,
        limit: float | None = None,
        acceleration: float | None = None,
        side: int | Mapping[str, int] = 1,
        pace: Profile | None = None,
        course: Profile | None = None,
        name: str = "field",
    ) -> None:
        """Build the field.

        Args:
            path: curve to be followed, n − 1 functions; fewer, a surface, with ``course``. Several program curves are
                one whose functions vanish on all of them, such as ``implicit(lambda x, t: f1(x, t) * f2(x, t), …)``.
            obstacles: boundaries to be kept outside of, one function each, positive outside.
            speed: cruise speed c along the path [m/s].
            inside: boundaries of regions to be kept inside of, one function each, positive outside as for obstacles.
            attraction: rate κ at which distances to the path decay near it [1/s].
            margin: clearance δ kept from barriers [m]; required with any.
            rounding: length ε over which the path is rounded into the detour [m]; half the margin if not given. The
                path is left by ε e^(−d/ε) at a distance d from the inflated obstacle.
            limit: largest speed L [m/s], at least 1.2 c; 1.5 c if not given, and none without barriers. No boundary may
                advance along its normal faster than 0.8 L, whether it drifts, turns, grows or speeds up; what looks
                ahead refuses it (:func:`require_start`), and a run says so.
            acceleration: bounds the acceleration [m/s²] along the program curve where that is at rest, by slowing down
                in bends, and on the way to a straight one, by lowering κ. What moving barriers ask for is not bounded.
            side: +1 to pass barriers on the side where the path's first function is positive, −1 on the other; or by
                name of the barrier, +1 for those not named. In the plane, +1 is the right-hand side in the direction of
                travel. See :func:`choose_sides`.
            pace: share of the cruise speed wanted at a place, shape (n,), and time, cut to [0, 1]: a speed profile, or
                a stop at the end of the path. All of it if not given.
            course: direction of travel at a place, shape (n,), and time, projected on the surface; not for a path.
            name: prefix of its parameters.

        Raises:
            ModelError: for dimensions that do not fit, a missing margin, a limit too near the speed, or a number out
                of its range.
        """
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
            k = curve.functions(self._place, self._time).numel()
            if k != 1:
                raise ModelError(f"the boundary of an obstacle is one function, but {curve.name!r} has {k}")
        self._own = declare_parameters(
            name,
            [curve.name for curve in every],
            speed=speed,
            attraction=attraction,
            margin=margin,
            rounding=rounding,
            limit=limit,
            acceleration=acceleration,
            side=side,
        )
        self.parameters = Parameters.collect([path.parameters, *(o.parameters for o in every), self._own])
        names = [curve.name for curve in every]
        doubled = sorted({key for key in names if names.count(key) > 1})
        if doubled:
            raise ModelError(f"two barriers are called {doubled[0]!r}; give them different names (name=...)")
        k = path.functions(self._place, self._time).numel()
        if k != self.dimension - 1 and not (course is not None and 1 <= k < self.dimension - 1):
            raise ModelError(
                f"a path in {self.dimension} dimensions needs {self.dimension - 1} functions, it has {k}"
                + (": to follow a surface say where to with course=" if 1 <= k < self.dimension - 1 else "")
            )
        if course is not None and k == self.dimension - 1:
            raise ModelError("a path says itself where to go: course= is for a surface, of fewer functions")
        symbols = ca.vertcat(self._place, self._time, self.parameters.symbols)
        self._pace = require_profile("pace", pace, self._place, self._time, symbols, 1)
        self._course = require_profile("course", course, self._place, self._time, symbols, self.dimension)

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The field w, shape (n,) [m/s].

        Args:
            x: place, shape (n,) [m].
            t: time [s].

        Raises:
            ModelError: if x is not a place in the field's space, or t not a scalar.
        """
        return self._at(self._velocity, x, t)

    def unobstructed(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The velocity that would follow the path if nothing were in the way, shape (n,) [m/s].

        Args:
            x: place, shape (n,) [m].
            t: time [s].
        """
        phi = ca.densify(self.path.functions(self._place, self._time))
        J, drift = self.path.jacobian(self._place, self._time), ca.jacobian(phi, self._time)
        return self._at(cruise_velocity(phi, J, drift, self._place, self._gains), x, t)

    def wanted_speed(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The cruise speed times the pace wanted there [m/s].

        Args:
            x: place, shape (n,) [m].
            t: time [s].
        """
        return self._at(self._gains.pace * self._gains.speed, x, t)

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The f_i: the functions F of the program curve, then one per barrier, positive where the motion may be [m].

        Args:
            x: place, shape (n,) [m].
            t: time [s].
        """
        return self._at(ca.vertcat(self._program[0], self._boundaries), x, t)

    def structure(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """The literal form of Matukhina's eq. (1): P, shape (n,), S, shape (n, n), and f = ∏ f_i.

        S = (w ∇fᵀ − ∇f wᵀ)/|∇f|² and P = ∇f (∇f·w + f_t)/|∇f|², hence P = 0 wherever f = 0. Not defined where ∇f = 0.

        Args:
            x: place, shape (n,) [m].
            t: time [s].
        """
        every = ca.vertcat(self._program[0], self._boundaries)
        P, S, f = literal_form(self._velocity, every, self._place, self._time)
        return self._at(P, x, t), self._at(S, x, t), self._at(f, x, t)

    def verify(
        self,
        *,
        low: ArrayLike | None = None,
        high: ArrayLike | None = None,
        times: ArrayLike | None = None,
        samples: int = 300,
        start: ArrayLike | None = None,
        p: Mapping[str, float] | ArrayLike | None = None,
    ) -> FieldReport:
        """What is found of the field at many places; :func:`constraints.verify` does it, and takes more arguments.

        Args:
            low: lower corner of the region to look at, shape (n,) [m]; where the curves lie if not given.
            high: upper corner of it, shape (n,) [m].
            times: instants to look at, shape (k,) [s]; three on the way through the region if not given.
            samples: random places, spread over the instants.
            start: where a point will start at the first instant, shape (n,) [m].
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        from ..verification.verify import verify

        return verify(self, low=low, high=high, times=times, samples=samples, start=start, p=p)

    @functools.cached_property
    def barriers(self) -> tuple[FieldBarrier, ...]:
        """Obstacles and boundaries of regions, at the field's own symbols."""
        y, s = self._place, self._time
        found: list[FieldBarrier] = []
        for curve, sign in [*((o, 1) for o in self.obstacles), *((r, -1) for r in self.inside)]:
            side = self._gain("side") * self._gain(f"side_{curve.name}")
            # Outside a region there is no end, so nothing of it ever leaves the path.
            center, extent = (curve.reference(s), curve.extent(s)) if sign > 0 else (None, None)
            found.append(FieldBarrier(curve.name, sign * ca.densify(curve.functions(y, s)), side, center, extent))
        return tuple(found)

    @functools.cached_property
    def _place(self) -> ca.SX:
        return ca.SX.sym("x", self.dimension)

    @functools.cached_property
    def _time(self) -> ca.SX:
        return ca.SX.sym("t")

    @functools.cached_property
    def _boundaries(self) -> ca.SX:
        return ca.vertcat(ca.SX(0, 1), *(barrier.function for barrier in self.barriers))

    @functools.cached_property
    def _gains(self) -> CruiseGains:
        limit, acceleration = (
            self._gain(key) if f"{self.name}.{key}" in self._own.names else None for key in ("limit", "acceleration")
        )
        pace = ca.SX(1) if self._pace is None else ca.fmin(ca.fmax(self._pace, 0), 1)
        return CruiseGains(self._gain("speed"), self._gain("attraction"), limit, acceleration, pace, self._course)

    @functools.cached_property
    def _program(self) -> tuple[ca.SX, ca.SX, ca.SX]:
        """F, ∂F/∂x and ∂F/∂t, by the chain rule over the path's own functions and their Jacobian."""
        y, s = self._place, self._time
        path = ca.densify(self.path.functions(y, s))
        phi = ca.SX.sym("phi", path.numel())
        merged = phi
        if self.barriers:
            margin = self._gain("margin")
            each = [(barrier, obstacle_retraction(self.path, barrier, s, margin)) for barrier in self.barriers]
            merged = ca.vertcat(detour(phi[0], each, margin, self._gain("rounding")), *ca.vertsplit(phi)[1:])
        by_path = ca.jacobian(merged, phi)
        slope = by_path @ self.path.jacobian(y, s) + ca.jacobian(merged, y)
        rate = by_path @ ca.jacobian(path, s) + ca.jacobian(merged, s)
        return tuple(ca.substitute(ca.densify(e), phi, path) for e in (merged, slope, rate))  # type: ignore[return-value]

    @functools.cached_property
    def _velocity(self) -> ca.SX:
        y, s = self._place, self._time
        w = cruise_velocity(*self._program, y, self._gains)
        if not self.barriers:
            return w
        slope, drift = ca.jacobian(self._boundaries, y), ca.jacobian(self._boundaries, s)
        margin, rate, limit = (self._gain(key) for key in ("margin", "attraction", "limit"))
        return shield_velocity(w, self._boundaries, slope, drift, margin=margin, rate=rate, limit=limit)

    def _gain(self, key: str) -> ca.SX:
        return self._own[f"{self.name}.{key}"]

    def _at(self, expression: ca.SX, x: ca.SX, t: ca.SX) -> ca.SX:
        if x.shape != (self.dimension, 1):
            raise ModelError(f"the field lives in {self.dimension} dimensions, the place has shape {x.shape}")
        if t.shape != (1, 1):
            raise ModelError(f"the time must be a scalar, got shape {t.shape}")
        return ca.substitute(expression, ca.vertcat(self._place, self._time), ca.vertcat(x, t))
