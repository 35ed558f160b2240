"""Motion of a point along a field: on its own, or as a point of a robot that follows the field."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..constraints.field.erugin_field import EruginField
from ..constraints.field.feasibility import barrier_speeds, require_start
from ..constraints.field.preview import find_standstill
from ..constraints.field.probe import VelocityField
from ..constraints.field.stepper import barrier_functions, progress_measures
from ..controllers.controller import Controller
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, NotFiniteError
from ..symbolic.kernel import Kernel
from ..symbolic.kernel_map import evaluate_each
from ..symbolic.runge_kutta import rk4_step
from ..symbolic.validation import finite, positive, require_distinct_times, vector

Array = NDArray[np.float64]
LONGEST = 1_000_000
SHARE = 0.25
"""Share of the margin that a point or a barrier moves between two inspected samples."""

MOST = 200_000
"""Inspected samples in all lanes together, unless that leaves fewer than 20 per lane."""

SEVERAL = 8
"""Parameter sets of a batch for which the speeds of barriers are searched where no closed form bounds them."""


@dataclass(frozen=True, eq=False)
class FieldMotion:
    """Samples of ẋ = w(x, t).

    Attributes:
        t: times, shape (N,) [s].
        x: positions, shape (N, n) [m].
        w: velocities, shape (N, n) [m/s].
        f: the field's functions, shape (N, k): those of the program curve, then one per obstacle [m].
        notes: times and messages of problems: an obstacle reached the point, or the point stopped advancing along the
            path; empty if there were none.
    """

    t: Array
    x: Array
    w: Array
    f: Array
    notes: tuple[tuple[float, str], ...] = ()

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    def until(self, time: float) -> FieldMotion:
        """Return the samples up to a time.

        Args:
            time: last time [s].
        """
        time = finite("time", time)
        count = int(np.searchsorted(self.t, time, side="right"))
        notes = tuple(note for note in self.notes if note[0] <= time)
        return FieldMotion(self.t[:count], self.x[:count], self.w[:count], self.f[:count], notes)


def move_along(
    field: VelocityField,
    start: ArrayLike,
    duration: float,
    *,
    step: float,
    t0: float = 0.0,
    p: Mapping[str, float] | ArrayLike | None = None,
) -> FieldMotion:
    """Move a point along a field, by RK4.

    Args:
        field: the velocity field.
        start: position at ``t0``, shape (n,) [m].
        duration: duration of the motion [s].
        step: of RK4 and of the samples [s]; slightly reduced if it does not divide the duration.
        t0: start time [s].
        p: parameters of the field: a mapping from names that overrides nominal values, or the whole vector.

    Raises:
        ModelError: for a duration or a step that is not positive, more than a million steps, or a start where no motion
            along an Erugin field can begin, such as one inside an obstacle.
        ShapeError: for a start of another shape, or one that is not finite.
        NotFiniteError: if the velocity becomes NaN or infinite; the message contains the time and position.
    """
    n, first = field.dimension, finite("t0", t0)
    count = max(1, round(positive("duration", duration) / positive("step", step) + 0.5 - 1e-9))
    if count > LONGEST:
        raise ModelError(f"{count} steps are too many (at most {LONGEST}): shorten duration= or lengthen step=")
    require_distinct_times(first, float(duration), duration / count)
    position, values, h = vector("start", start, n), field.parameters.values(p), duration / count
    if isinstance(field, EruginField):
        require_start(field, position, p, t=first, duration=duration)
    x, t, symbols = ca.SX.sym("x", n), ca.SX.sym("t"), field.parameters.symbols
    w = ca.Function("w", [t, x, symbols], [field.velocity(x, t)], {"cse": True})

    def rate(time: ca.SX, at: ca.SX) -> ca.SX:
        return cast(ca.SX, w(time, at, symbols))

    outputs = {"t": t + h, "x": rk4_step(rate, t, x, h), "here": x, "w": rate(t, x), "f": field.functions(x, t)}
    kernel = Kernel("move_along", {"t": t, "x": x, "p": symbols}, outputs, compiled=False)
    results = [np.zeros((rows, count + 1), order="F") for rows, _ in kernel.outputs.values()]
    parameters = np.asfortranarray(np.tile(values[:, None], (1, count + 1)))
    kernel.loop(count + 1, 2, [np.array([first]), position.copy(), parameters], results)()
    times: Array = first + h * np.arange(count + 1, dtype=np.float64)
    here, velocities, functions = (result.T.copy() for result in results[2:])
    whole = np.isfinite(np.hstack([here, velocities])).all(axis=1)
    if not whole.all():
        k = int(np.argmin(whole))
        last = here[max(k - 1, 0)]
        raise NotFiniteError(f"the velocity of {field.name!r} is not finite at t = {times[k]:.6g} s, after x = {last}")
    notes: tuple[tuple[float, str], ...] = ()
    if isinstance(field, EruginField):
        probe = _probe(field, x, {"t": t, "x": x, "p": symbols})
        advance, gaps = (a.T for a in evaluate_each(probe, [times[:, None], here, values[None]]))
        notes = tuple((time, message) for time, message, _ in _blocked_spans(field, times, advance, gaps))
    return FieldMotion(times, here, velocities, functions, notes)


@dataclass(frozen=True, eq=False)
class BlockedSpans:
    """Findings about the points of one lane that follow fields.

    Attributes:
        notes: times and messages.
        spans: start and end times of intervals in which a barrier overran a point or a point did not advance.
    """

    notes: tuple[tuple[float, str], ...]
    spans: tuple[tuple[float, float], ...]


def find_blocked(
    controller: Controller | None,
    robot: Robot,
    t: Array,
    q: Array,
    counts: Sequence[int],
    p: Array,
    controller_p: Array,
) -> list[BlockedSpans]:
    """Find, lane by lane, whether barriers overran points that follow fields or such points stopped advancing.

    The inspected samples are a quarter of a margin apart at the field's speed limit. Points that follow a field only at
    times are ignored. Parameters that plant and controller share take the plant's values.

    Args:
        controller: the controller, whose program may follow fields, or None.
        robot: the plant.
        t: times, shape (lanes, N) [s].
        q: coordinates, shape (lanes, N, nq).
        counts: number of samples of each lane.
        p: the plant's parameters, shape (lanes, np).
        controller_p: the controller's parameters, shape (lanes, number of them).

    Returns:
        One entry for each lane; empty if no point follows a field.
    """
    followed = () if controller is None else _probes(controller)
    if controller is None or not followed:
        return []
    numbers = controller_p.copy()
    for i, name in enumerate(controller.parameters.names):
        if name in robot.parameters.names:
            numbers[:, i] = p[:, robot.parameters.names.index(name)]
    notes: list[list[tuple[float, str]]] = [[] for _ in counts]
    spans: list[list[tuple[float, float]]] = [[] for _ in counts]
    for name, field, probe in followed:
        places = [controller.parameters.names.index(key) for key in field.parameters.names]
        order = [_spaced(field, t[i, : counts[i]], numbers[i, places], len(counts)) for i in range(len(counts))]
        lanes = np.repeat(np.arange(len(counts)), [len(each) for each in order])
        at = np.concatenate(order) if order else np.zeros(0, dtype=np.intp)
        advance, gaps = evaluate_each(probe, [t[lanes, at][:, None], q[lanes, at], numbers], lanes)
        fronts = _too_fast(field, t, counts, numbers[:, places], lanes, advance[:, : field.dimension])
        for i in range(len(counts)):
            mine, times = lanes == i, t[i, order[i]]
            if not len(times):
                continue
            messages = (*_own_sides(field, numbers[i, places]), *fronts[i])
            notes[i] += [(float(times[0]), f"{name!r}: {message}") for message in messages]
            for first, message, last in _blocked_spans(field, times, advance[mine].T, gaps[mine].T):
                notes[i].append((first, f"{name!r}: {message}"))
                spans[i].append((first, last))
    return [BlockedSpans(tuple(sorted(found)), tuple(span)) for found, span in zip(notes, spans, strict=True)]


def _own_sides(field: EruginField, values: Array) -> list[str]:
    """Sentences on the barriers whose sides the field has chosen.

    Args:
        field: the field.
        values: values of its parameters, shape (np,).
    """
    given = dict(zip(field.parameters.names, values.tolist(), strict=True))
    own = [f"{field.name}.side_{barrier.name}" for barrier in field.barriers]
    if not field.barriers or given[f"{field.name}.side"] != 0.0 or all(given[name] != 0.0 for name in own):
        return []
    sides = np.atleast_1d(_side_kernel(field)(values)[0]).tolist()

    def way(side: float, name: str) -> str:
        if field.dimension > 2:
            return f"on the side where it leaves the path; set {name} to choose"
        word = "right, +1" if side > 0.0 else "left, -1"
        return f"on the {word}, chosen by its motion; set {name} for the other side"

    return [
        f"{barrier.name!r} is passed {way(side, name)}"
        for barrier, side, name in zip(field.barriers, sides, own, strict=True)
        if given[name] == 0.0 and barrier.center is not None
    ]


@functools.lru_cache(maxsize=16)
def _side_kernel(field: EruginField) -> Kernel:
    sides = ca.vertcat(*(barrier.side for barrier in field.barriers))
    return Kernel("sides", {"p": field.parameters.symbols}, {"sides": sides}, compiled=False)


def _too_fast(
    field: EruginField, t: Array, counts: Sequence[int], values: Array, lanes: NDArray[np.intp], places: Array
) -> list[tuple[str, ...]]:
    """Messages about the speeds of barriers, for each lane; lanes with equal parameters are evaluated once.

    Args:
        field: the field with the barriers.
        t: times, shape (lanes, N) [s].
        counts: number of samples of each lane.
        values: parameters of the field, shape (lanes, np).
        lanes: lane of each row of ``places``, ascending.
        places: positions of the points, each lane's in the order of time, shape (number of rows, n) [m].
    """
    messages: list[tuple[str, ...]] = [()] * len(counts)
    alike: dict[bytes, list[int]] = {}
    for i, count in enumerate(counts):
        if count:
            alike.setdefault(np.ascontiguousarray(values[i]).tobytes(), []).append(i)
    searched = 0
    for members in alike.values():
        first, last = float(t[members, 0].min()), max(float(t[i, counts[i] - 1]) for i in members)
        starts = places[np.searchsorted(lanes, members)]
        found = barrier_speeds(field, values[members[0]], first, last, starts, search=False)
        if any(np.isnan(one.speed) for one in found) and searched < SEVERAL:
            searched += 1
            found = barrier_speeds(field, values[members[0]], first, last, starts)
        for i in members:
            messages[i] = tuple(str(one) for one in found if one.too_fast or np.isnan(one.speed))
    return messages


def _spaced(field: EruginField, t: Array, values: Array, lanes: int) -> NDArray[np.intp]:
    """Indices of the samples of a lane that are inspected, always with the first and the last."""
    if len(t) < 2:
        return np.arange(len(t))
    names, name = field.parameters.names, field.name
    speed = values[names.index(f"{name}.limit" if f"{name}.limit" in names else f"{name}.speed")]
    scale = (
        values[names.index(f"{name}.margin")]
        if field.barriers
        else 0.1 * values[names.index(f"{name}.speed")] / values[names.index(f"{name}.attraction")]
    )
    apart = SHARE * scale / speed
    count = min(max(int(np.ceil((t[-1] - t[0]) / apart)), 1), max(MOST // lanes, 20), len(t) - 1)
    return np.unique(np.linspace(0, len(t) - 1, count + 1).round().astype(np.intp))


def _blocked_spans(field: EruginField, t: Array, advance: Array, gaps: Array) -> list[tuple[float, str, float]]:
    """Start, message and end of each interval in which a barrier overran a point or it did not advance."""
    found: list[tuple[float, str, float]] = []
    n = field.dimension
    for barrier, gap in zip(field.barriers, gaps, strict=True):
        within = gap < -1e-9 * (1.0 + np.abs(advance[:n]).max(axis=0))
        if within.any():
            first, deepest = int(np.argmax(within)), int(np.argmin(gap))
            where = ", ".join(f"{x:.4g}" for x in advance[:n, deepest])
            found.append(
                (
                    float(t[first]),
                    f"the point is overrun by {barrier.name!r}, {-gap[deepest]:.3g} m deep at ({where}), "
                    f"t = {t[deepest]:.4g} s: raise limit=, pass it on the other side, take a smaller step, or keep "
                    "barriers from closing on the point",
                    float(t[np.flatnonzero(within)[-1]]),
                )
            )
    halt = find_standstill(t, advance, gaps, [barrier.name for barrier in field.barriers])
    return found if halt is None else [*found, (halt.since, str(halt), float(t[-1]))]


@functools.lru_cache(maxsize=16)
def _probes(controller: Controller) -> tuple[tuple[str, EruginField, Kernel], ...]:
    """Name, field and probe of each constraint that always makes a point follow a field."""
    found: list[tuple[str, EruginField, Kernel]] = []
    for constraint in controller.constraints:
        if constraint.followed is not None and constraint.when is None:
            field, point = constraint.followed
            c, p = controller.robot.coordinates, controller.parameters.symbols
            found.append((constraint.name, field, _probe(field, point, {"t": c.t, "q": c.q, "p": p})))
    return tuple(found)


def _probe(field: EruginField, point: ca.SX, inputs: dict[str, ca.SX]) -> Kernel:
    """Kernel of a point's progress and of its gaps to the barriers."""
    t = inputs["t"]
    outputs = {"advance": progress_measures(field, point, t), "gaps": barrier_functions(field, point, t)}
    return Kernel("followed", inputs, outputs, compiled=False)
