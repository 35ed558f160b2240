"""Tubes: bounds of the deviations of a robot whose model is not exact, and what they cost along a field."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...constraints.field.field_tube import FieldTube
from ...symbolic.errors import ModelError, NotFiniteError, ParameterError, ShapeError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.kernel_map import evaluate_each
from ...symbolic.linear_algebra import Ldl
from ...symbolic.validation import finite, not_negative, read_only_copy, reals
from ..realization import ActuatedRealization, IdealRealization
from .disturbance_estimator import RowMotion

if TYPE_CHECKING:
    from ..program.program_controller import ProgramController
    from .compensation import Compensation

Array = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike | None

SHARE = 0.1
"""Interval of the samples of a motion, in times 1/ω."""

MOST_CORNERS = 64
"""Corners of the box of parameters up to which all are taken; of more, as many at random."""

INSIDE = 12
"""Random points inside the box."""

NEGLIGIBLE = 1e-4
"""A response is over when it is below this share of its greatest value."""

NEUTRAL = 1e-6
"""A rate counts as zero below this share of the largest."""

SEED = 1952


@runtime_checkable
class Motion(Protocol):
    """Samples of a motion, such as a :class:`~erugin.simulation.Trajectory`: t (N,), q (N, nq) and v (N, nv)."""

    @property
    def t(self) -> Array:
        """Times [s]."""
        ...

    @property
    def q(self) -> Array:
        """Coordinates."""
        ...

    @property
    def v(self) -> Array:
        """Velocities."""
        ...


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Bounds of the errors of a model, of its sensors and of its sampling.

    Attributes:
        parameters: for parameters of the robot, the least and the greatest value, or the share by which the value may
            differ from the model's: ``{"m1": 0.1, "m2": (1.6, 2.4)}``.
        force: largest modulus of each generalized force that the model lacks, such as friction, one number or shape
            (nv,) [N m or N]; it may change with time in any way.
        noise: largest error of each measured velocity, one number or shape (nv,) [rad/s or m/s].
        period: interval between samples, during which the output is constant [s]; 0 for continuous control.
        delay: time from a sample to its output [s].

    Raises:
        ModelError: for a negative number, one that is not finite, or bounds whose first is greater than the second.
    """

    parameters: Mapping[str, float | tuple[float, float]] = field(
        default_factory=dict[str, float | tuple[float, float]]
    )
    force: ArrayLike = 0.0
    noise: ArrayLike = 0.0
    period: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("period", "delay"):
            object.__setattr__(self, name, not_negative(name, getattr(self, name)))
        for name in ("force", "noise"):
            value = reals(name, getattr(self, name))
            if value.ndim > 1 or not np.isfinite(value).all() or (value < 0.0).any():
                raise ModelError(f"{name} must be one number, or one for each velocity, not negative, got {value}")
            object.__setattr__(self, name, read_only_copy(value))
        given = {name: _share_or_bounds(name, value) for name, value in self.parameters.items()}
        object.__setattr__(self, "parameters", given)

    def box(self, nominal: Mapping[str, float]) -> dict[str, tuple[float, float]]:
        """Return the least and the greatest value of each uncertain parameter.

        Args:
            nominal: values of the model.

        Raises:
            ParameterError: for a parameter that the robot does not have.
        """
        found: dict[str, tuple[float, float]] = {}
        for name, given in self.parameters.items():
            if name not in nominal:
                raise ParameterError(unknown_name("parameter", name, tuple(nominal)))
            ends = given if isinstance(given, tuple) else ((1.0 - given) * nominal[name], (1.0 + given) * nominal[name])
            found[name] = min(ends), max(ends)
        return found


def _share_or_bounds(name: str, given: float | tuple[float, float]) -> float | tuple[float, float]:
    if isinstance(given, tuple | list) and len(given) == 2:
        low, high = (finite(f"bound of {name!r}", value) for value in given)
        if low > high:
            raise ModelError(f"the bounds of {name!r} must be its least and its greatest value, got {given!r}")
        return low, high
    return not_negative(f"share of {name!r}, or its least and its greatest value,", given)


@dataclass(frozen=True, eq=False)
class Tube:
    """Bound of the deviation ψ of a law whose plant differs from its model, and what that costs.

    The bounds are those of first order in ψ, at the sampled plants, along the sampled motions; :meth:`__str__` says how
    many. They are not proven for plants and states between the samples.

    Attributes:
        rows: names of the rows.
        deviation: bound of |ψ| of each row once the start has decayed, shape (m,), in the unit of the row.
        psi: bound of the norm of the rows that make a point follow a field, of all rows without a field [m/s].
        contributions: parts of ``psi``: parameters, force, noise, sampling; they add up to it.
        alone: what ``psi`` would be if a parameter were the only thing unknown, by name of the parameter.
        margin_used: length by which margins can be used up [m]; the largest of ``points``, 0 without a field.
        distance: bound of the distance to the path where no barrier presses [m]; the largest of ``points``.
        points: for each point that follows a field, by name of the constraint, the bounds of its field.
        rates: rates of the perturbation equations, and of the estimate [1/s], by name.
        decay: least rate at which ψ and the estimate decay at any of the samples [1/s].
        times: times of ``start`` [s].
        start: bound of what the start adds to the rows, shape (N, m).
        plants: number of sampled plants.
        samples: number of sampled states of the motions.
    """

    rows: tuple[str, ...]
    deviation: Array
    psi: float
    contributions: Mapping[str, float]
    alone: Mapping[str, float]
    margin_used: float
    distance: float
    points: Mapping[str, FieldTube]
    rates: Mapping[str, float]
    decay: float
    times: Array
    start: Array
    plants: int
    samples: int

    def bound(self, t: ArrayLike) -> Array:
        """Return the bound of |ψ| of each row at times, with what is left of the start, shape (…, m).

        Args:
            t: times since the start [s], any shape.
        """
        at = np.asarray(t, dtype=np.float64)
        left: list[Array] = [np.interp(at, self.times, column, right=0.0) for column in self.start.T]
        return np.asarray(self.deviation + np.stack(left, axis=-1), dtype=np.float64)

    def margin(self, clearance: float) -> float:
        """Return the margin δ of a field with which every plant keeps a clearance: clearance + ``margin_used`` [m].

        Args:
            clearance: distance from the barriers that is to be kept [m].

        Raises:
            ModelError: if no margin keeps it, or for a negative clearance.
        """
        if not math.isfinite(self.margin_used):
            raise ModelError(
                f"no margin keeps a clearance, for |ψ| can reach {self.psi:.3g} m/s, as fast as the field moves: "
                "compensate with robust='observer', raise the rate, or narrow the uncertainty"
            )
        return not_negative("clearance", clearance) + self.margin_used

    def departures(self, t: Array, deviation: Array) -> list[tuple[tuple[float, str], ...]]:
        """Return times and messages of runs that leave the tube, one entry for each lane, empty if it does not.

        Args:
            t: times, shape (lanes, N) [s], NaN after the end of a lane.
            deviation: ψ, shape (lanes, N, m).
        """
        size, bound = np.abs(deviation), self.bound(t - t[:, :1])
        outside = size > bound * (1.0 + 1e-9) + 1e-12
        found: list[tuple[tuple[float, str], ...]] = [()] * len(t)
        for lane in np.flatnonzero(outside.any(axis=(1, 2))).tolist():
            first = int(np.argmax(outside[lane].any(axis=1)))
            over = np.where(outside[lane], size[lane] - bound[lane], -np.inf)
            k, i = (int(j) for j in np.unravel_index(np.argmax(over), over.shape))
            message = (
                f"the run leaves its tube at sample {first}: |{self.rows[i]}| is {size[lane, k, i]:.4g} at t = "
                f"{t[lane, k]:.4g} s, {over[k, i]:.3g} more than the bound {bound[lane, k, i]:.4g}: the plant or the "
                "start is not among those of certificate(), or limits bind"
            )
            found[lane] = ((float(t[lane, first]), message),)
        return found

    def __str__(self) -> str:
        """Return the bounds in sentences."""
        parts = ", ".join(f"{name} {value:.3g}" for name, value in self.contributions.items() if value > 0.0)
        alone = ", ".join(f"{name} alone {value:.3g}" for name, value in self.alone.items())
        text = f"|ψ| ≤ {self.psi:.3g} once the start has decayed, at {self.decay:.3g} 1/s or faster"
        text += f" ({parts}{'; ' if alone else ''}{alone})" if parts else ""
        for name, point in self.points.items():
            way = f"within {point.distance:.3g} m" if math.isfinite(point.distance) else "without a bound"
            used = f"{point.margin_used:.3g} m of it" if math.isfinite(point.margin_used) else "all of it"
            text += f"; {name!r} stays beside its path {way}, and uses of a margin at most {used}"
        return (
            f"{text}. Bounds of first order for {self.plants} sampled plants along {self.samples} sampled states: not "
            "proven between them, and only where no limit of the inputs binds."
        )


def certify(
    law: ProgramController,
    compensation: Compensation[ProgramController] | None,
    uncertainty: Uncertainty,
    motion: Motion | Iterable[Motion],
    p: Values,
) -> Tube:
    """Return the tube of a law along motions of its model; see :meth:`ProgramController.certificate`.

    With x = (ψ, s), s the estimate less what the model lacks, a plant moves by

        ψ′ = −ωψ + δ(ψ, s),   δ = Θ a − β,   x′ = A x − (0, ḋ) + disturbances,

    where a is the acceleration of the plant under the law, d the estimate for which δ = 0, and A the derivative of both
    equations by ψ, along Θ, and s. |x| is at most the sum over all earlier instants τ of |Φ(t, τ) ḋ(τ)| dτ with the
    transition matrix Φ of A: nothing cancels. Without an estimate x = ψ, and δ at ψ = 0 takes the place of −ḋ. For
    constant A = −ω, −L this is |δ̇|∞/(ωL), and |δ|∞/ω.

    Args:
        law: the law.
        compensation: its estimate, or None.
        uncertainty: what is not known.
        motion: one or more motions.
        p: parameters of the law.

    Raises:
        ModelError: for rows of an order other than 1, or rows that are switched or nonlinear in the accelerations.
        ShapeError: for samples that are too far apart, or arrays of another shape.
        NotFiniteError: if a plant has no acceleration at a sample.
    """
    if not isinstance(uncertainty, Uncertainty):
        raise ModelError(f"certificate requires an Uncertainty, got {uncertainty!r}")
    numbers = law.parameters.values(p)
    model, plants = _ErrorEquation(law, compensation, numbers), _plants(law, uncertainty, numbers)
    nv = law.robot.coordinates.nv
    for name in ("force", "noise"):
        if np.size(getattr(uncertainty, name)) not in (1, nv):
            raise ShapeError(f"{name} must be one number or have shape ({nv},), got {getattr(uncertainty, name)}")
    motions = _motions(motion, model.interval, (law.robot.coordinates.nq, nv))
    runs = [_Responses(model, each, plants[1], uncertainty) for each in motions]
    if not runs:
        raise ShapeError("certificate requires at least one motion, got none")
    most = {name: np.max([run.bounds[name] for run in runs], axis=0) for name in runs[0].bounds}
    groups = range(len(model.rows), len(model.rows) + len(model.groups))
    sizes = {name: bound.max(axis=0) for name, bound in most.items()}
    total = sum(sizes.values(), np.zeros(groups.stop))
    decay = min(run.decay for run in runs)
    if decay <= 0.0:
        total = np.full(groups.stop, np.inf)
    which = int(np.argmax(total[groups])) + groups.start
    points = {
        name: law_field.tube(float(total[i]), dict(zip(law_field.parameters.names, numbers[places], strict=True)))
        for i, (name, law_field, places) in zip(groups, model.fields, strict=False)
    }
    longest = max(runs, key=lambda run: len(run.t))
    start = np.zeros((len(longest.t), len(model.rows)))
    for run in runs:
        start[: len(run.t)] = np.maximum(start[: len(run.t)], run.start)
    return Tube(
        rows=model.rows,
        deviation=read_only_copy(total[: len(model.rows)]),
        psi=float(total[which]),
        contributions={name: float(size[which]) for name, size in sizes.items()},
        alone={name: float(most["parameters"][at, which].max()) for name, at in plants[0].items()},
        margin_used=max((point.margin_used for point in points.values()), default=0.0),
        distance=max((point.distance for point in points.values()), default=0.0),
        points=points,
        rates=model.rates,
        decay=decay,
        times=read_only_copy(longest.t - longest.t[0]),
        start=read_only_copy(start),
        plants=len(plants[1]),
        samples=sum(len(run.t) for run in runs),
    )


def _plants(law: ProgramController, uncertainty: Uncertainty, numbers: Array) -> tuple[dict[str, list[int]], Array]:
    """Rows of the plants in which one parameter alone is at a bound, by name, and all plants, shape (k, np)."""
    names = law.robot.parameters.names
    model = numbers[[law.parameters.names.index(name) for name in names]]
    box = uncertainty.box(dict(zip(names, model.tolist(), strict=True)))
    rng, n = np.random.default_rng(SEED), len(box)
    corners = list(itertools.product((0, 1), repeat=n)) if 2**n <= MOST_CORNERS else []
    places = [names.index(name) for name in box]
    low, high = (np.array([pair[i] for pair in box.values()]) for i in (0, 1))
    values, alone = [model], dict[str, list[int]]()
    for name, place in zip(box, places, strict=True):
        for bound in box[name]:
            alone.setdefault(name, []).append(len(values))
            one = model.copy()
            one[place] = bound
            values.append(one)
    shares = np.array(corners or rng.integers(0, 2, (MOST_CORNERS, n)), dtype=np.float64)
    for share in (*shares, *rng.uniform(size=(INSIDE, n))) if n else ():
        one = model.copy()
        one[places] = low + share * (high - low)
        values.append(one)
    for one in values:
        law.robot.parameters.values(one)
    return alone, np.array(values)


def _at(grid: Array, times: Array, columns: Array) -> Array:
    """Columns of samples at other times, by linear interpolation."""
    found: list[Array] = [np.interp(grid, times, column) for column in columns.T]
    return np.column_stack(found)


def _motions(
    motion: Motion | Iterable[Motion], interval: float, sizes: tuple[int, int]
) -> Iterator[tuple[Array, Array, Array]]:
    """Samples t, q and v of each motion at a fixed interval."""
    for one in [motion] if isinstance(motion, Motion) else list(motion):
        t, q, v = (np.asarray(getattr(one, name), dtype=np.float64) for name in ("t", "q", "v"))
        batch = zip(t, q, v, strict=True) if t.ndim == 2 else [(t, q, v)]
        for times, places, rates in batch:
            kept = np.isfinite(times)
            times, places, rates = times[kept], places[kept], rates[kept]
            if (places.shape[1:], rates.shape[1:]) != ((sizes[0],), (sizes[1],)):
                raise ShapeError(
                    f"a motion must have q of shape (N, {sizes[0]}) and v of shape (N, {sizes[1]}), got {places.shape} "
                    f"and {rates.shape}: is it that of another robot?"
                )
            if len(times) < 2 or np.diff(times).max() > 5.0 * interval:
                raise ShapeError(
                    f"the samples of a motion must be at most {5.0 * interval:.3g} s apart, half the time constant of "
                    "the law: take a smaller step, or store more samples"
                )
            grid = times[0] + interval * np.arange(max(int((times[-1] - times[0]) / interval), 1) + 1)
            yield grid, _at(grid, times, places), _at(grid, times, rates)


class _ErrorEquation:
    """Equation of ψ and of the estimate, and its inputs, as a kernel.

    Attributes:
        rows: names of the m rows.
        groups: rows of each norm.
        fields: for each point that follows a field, name of the constraint, the field and places of its parameters.
        rates: rates by name.
        interval: interval of samples [s].
        numbers: parameters of the law.
        gain: L, 0 without an estimate.
        kernel: the functions of a sample.
    """

    def __init__(
        self, law: ProgramController, compensation: Compensation[ProgramController] | None, numbers: Array
    ) -> None:
        """Build the expressions.

        Args:
            law: the law.
            compensation: its estimate, or None.
            numbers: its parameters.
        """
        program, robot, c = law.program, law.robot, law.robot.coordinates
        orders = {constraint.name: constraint.order for constraint in law.constraints if constraint.order != 1}
        if orders or any(program.switched) or not program.is_affine:
            raise ModelError(
                "certificate requires rows of order 1 that are always on and affine in the accelerations; not so: "
                + ", ".join(orders or program.rows)
            )
        self.rows, self.numbers = program.rows, numbers
        names, m = law.parameters.names, len(program.rows)
        blocks = list(dict.fromkeys(program.blocks))
        followed = [(k.followed, block, k.name) for k, block in zip(law.constraints, blocks, strict=True)]
        self.fields = [
            (name, pair[0], [names.index(key) for key in pair[0].parameters.names])
            for pair, _, name in followed
            if pair is not None
        ]
        self.groups = [list(block) for pair, block, _ in followed if pair is not None] or [list(range(m))]
        inner = law if compensation is None else compensation.inner
        kind = "" if compensation is None else "observer"
        if compensation is not None and isinstance(compensation.estimator.observed, RowMotion):
            kind = "integral"
        self.gain = float(numbers[names.index(f"{kind}.rate")]) if kind else 0.0
        s = ca.SX(0, 1) if compensation is None else compensation.symbols
        realization = IdealRealization() if law.applies_force else ActuatedRealization()
        realized = realization.build(inner.program, inner.method)
        force = realized.force if law.applies_force else robot.input_matrix @ realized.input
        given, missing = ca.SX.sym("given", c.nv), ca.SX.sym("missing", c.nv)
        plant = ca.SX.sym("plant", len(robot.parameters))
        acceleration = robot.acceleration_under(given)[0]
        known = ca.vertcat(robot.parameters.symbols, given)
        a = ca.substitute(acceleration, known, ca.vertcat(plant, given + missing))
        lack = program.theta @ a - program.beta
        found, observed = ca.SX(0, 1), ca.SX(0, c.nv)
        if kind == "integral":
            found, observed = lack, program.theta
        elif kind == "observer":
            found = robot.mass_matrix @ (a - ca.substitute(acceleration, given, given + s))
            observed = robot.mass_matrix
        both = ca.vertcat(lack, found)
        through, change = ca.jacobian(both, given), ca.jacobian(force, c.v)
        by_estimate = ca.jacobian(force, s)
        mobility = robot.mobility(program.theta.T)[0]
        back = mobility @ Ldl.of(program.theta @ mobility).solve(ca.SX.eye(m))
        # An equation of one state serves every row of its constraint.
        matrices = [
            ca.kron(ca.SX.eye(len(block) // matrix.size1()), ca.densify(matrix))
            for block, (_, matrix) in zip(blocks, program.linearizations, strict=True)
        ]
        outputs = {
            "lack": both,
            "by_row": (ca.jacobian(both, c.v) + through @ change) @ back,
            "by_estimate": ca.jacobian(both, s) + through @ by_estimate,
            "by_force": ca.jacobian(both, missing),
            "by_noise": through @ (change + self.gain * by_estimate @ observed),
            "force": force,
            "deviation": program.deviation,
            "equation": ca.diagcat(*matrices),
        }
        zero = ca.SX.zeros(s.numel() + c.nv)
        self._shapes = {key: value.shape for key, value in outputs.items()}
        outputs = {
            key: ca.densify(ca.substitute(ca.substitute(value, given, force), ca.vertcat(s, missing), zero))
            for key, value in outputs.items()
        }
        symbols = {"t": c.t, "q": c.q, "v": c.v, "p": law.parameters.symbols, "plant": plant}
        self._kernel = Kernel("tube", symbols, outputs, compiled=False)
        self.rates = {name: float(numbers[i]) for i, name in enumerate(names) if name.endswith(".rate")}
        gains = Kernel("gains", {"t": c.t, "p": law.parameters.symbols}, {"A": outputs["equation"]}, compiled=False)
        fastest = float(np.abs(np.linalg.eigvals(np.reshape(gains(0.0, numbers)[0], (m, m)))).max())
        self.interval = SHARE / max(fastest, self.gain)

    def at(self, t: Array, q: Array, v: Array, plants: Array) -> dict[str, Array]:
        """Return the outputs at N samples for k plants, shape (k, N, …)."""
        k, n = len(plants), len(t)
        each = [np.tile(x, (k, 1)) for x in (t[:, None], q, v)]
        values = evaluate_each(self._kernel, [*each, self.numbers[None], plants], np.repeat(np.arange(k), n))
        found: dict[str, Array] = {}
        for (key, (rows, columns)), value in zip(self._shapes.items(), values, strict=True):
            if not np.isfinite(value).all():
                raise NotFiniteError("a plant has no acceleration at a sample of the motion, or the rows are dependent")
            found[key] = value.reshape(k, n, columns, rows).swapaxes(2, 3)
        return found


class _Responses:
    """Bounds of the responses of k plants along one motion.

    Attributes:
        t: times, shape (N,) [s].
        bounds: largest response of each row, then of each norm, by cause, shape (k, m + number of norms).
        start: largest response to the start, shape (N, m).
        decay: least decay rate of A [1/s].
    """

    def __init__(
        self, model: _ErrorEquation, motion: tuple[Array, Array, Array], plants: Array, uncertainty: Uncertainty
    ) -> None:
        """Evaluate the equation along the motion.

        Args:
            model: the equation.
            motion: t, q and v.
            plants: parameters of the plants, shape (k, np).
            uncertainty: what else is not known.
        """
        self.t, self._model, m = motion[0], model, len(model.rows)
        at, h = model.at(*motion, plants), model.interval
        n = at["lack"].shape[2]
        scale = np.concatenate([np.ones(m), np.full(n - m, model.gain)])[:, None]
        A = scale * np.concatenate([at["by_row"], at["by_estimate"]], axis=3)
        A[..., :m, :m] += at["equation"]
        values = np.linalg.eigvals(A)
        # Estimated forces that natural reactions take up neither act nor change.
        self.decay = -float(values.real[np.abs(values) > NEUTRAL * np.abs(values).max()].max())
        half = h / 4.0 * (A[:, 1:] + A[:, :-1])
        self._step = np.linalg.solve(np.eye(n) - half, np.eye(n) + half)
        # At ψ = 0: A contains the rest.
        lack = at["lack"] - at["by_row"] @ at["deviation"]
        first, lacking = np.zeros((len(plants), n, 1)), h * lack
        if n > m:
            # What the estimate must be for the rows to lack nothing; natural reactions take up the rest.
            sought = -np.linalg.pinv(at["by_estimate"][..., m:, :]) @ lack[..., m:, :]
            first[:, m:] = -sought[:, 0]
            lacking = np.zeros_like(lack)
            lacking[:, 1:, m:] = -np.diff(sought, axis=1)
        nv = at["force"].shape[2]
        late = np.zeros_like(at["force"])
        lag = uncertainty.period + uncertainty.delay
        if lag > 0.0:
            for i, applied in enumerate(at["force"]):
                late[i, ..., 0] = _at(self.t - lag, self.t, applied[..., 0]) - applied[..., 0]
        pushed, heard = (
            h * scale * at[key] * np.broadcast_to(size, nv)
            for key, size in (("by_force", uncertainty.force), ("by_noise", uncertainty.noise))
        )
        causes = {"parameters": lacking, "force": pushed, "noise": heard, "sampling": h * scale * at["by_force"] @ late}
        self.bounds = {name: self._summed(x) for name, x in causes.items()}
        first[:, :m] += at["deviation"][:, 0]
        # Until the first output comes, none is applied.
        unpowered = -uncertainty.delay * (scale * at["by_force"] @ at["force"])[:, 0]
        self.start = self._free(np.concatenate([first, unpowered], axis=2))

    def _sizes(self, x: Array) -> Array:
        """|x_i| of each row, and the norms, of states of shape (…, n, columns), summed over the columns."""
        m = len(self._model.rows)
        norms = [np.linalg.norm(x[..., rows, :], axis=-2).sum(axis=-1) for rows in self._model.groups]
        return np.concatenate([np.abs(x[..., :m, :]).sum(axis=-1), np.stack(norms, axis=-1)], axis=-1)

    def _summed(self, x: Array) -> Array:
        """Sum of the sizes of all responses to impulses x at each sample, at its largest, shape (k, …)."""
        n, steps = x.shape[1], self._step
        total = np.zeros((*x.shape[:2], len(self._model.rows) + len(self._model.groups)))
        least = NEGLIGIBLE * float(np.abs(x).max())
        for lag in range(n):
            # The first instant counts in full: an upper sum, for responses decrease.
            total[:, lag:] += self._sizes(x[:, : n - lag])
            if lag == n - 1 or float(np.abs(x).max()) <= least:
                break
            x = steps[:, lag:] @ x[:, : n - lag - 1]
        return np.asarray(total.max(axis=1), dtype=np.float64)

    def _free(self, x: Array) -> Array:
        """Sizes of the rows after the start, the largest of all plants, shape (N, m)."""
        found = [self._sizes(x)]
        for step in np.moveaxis(self._step, 1, 0):
            x = step @ x
            found.append(self._sizes(x))
        return np.asarray(np.max(found, axis=1)[:, : len(self._model.rows)], dtype=np.float64)
