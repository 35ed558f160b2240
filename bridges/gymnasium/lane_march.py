"""The loop over steps of a task as one expression, each lane at its own time in its own episode."""

from __future__ import annotations

import copy
import functools
import itertools
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...scenarios.closed_loop import SymbolicLoop, Symbols
from ...scenarios.natural_rank import NATURAL, natural_pivots
from ...symbolic.march import March
from .engine import natural_judged
from .task import Task

TOLD = ("output", "pivots", "relative", "active", "natural", "natural_relative", "rate")
"""What is recorded at the start of each step, in this order."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Where things are in a lane's state and parameters.

    The state of the compiled loop is (q, v, k, t, w, y, s, d): k counts steps, t = t₀ + k h is the lane's own time, w
    is what of the law is held over a period, y the observation, s the stop condition and d the clearance. All but q, v
    and t rest during a step; the correction behind it sets them.

    Attributes:
        nx: numbers of (q, v).
        sizes: numbers of w, y, s and d.
        told: numbers of each of :data:`TOLD`.
        parameters: numbers of the plant's and the law's parameters, which h, t₀ and the action follow.
    """

    nx: int
    sizes: tuple[int, int, int, int]
    told: tuple[int, ...]
    parameters: int

    @property
    def count(self) -> int:
        """Place of k in the state."""
        return self.nx

    @property
    def time(self) -> int:
        """Place of t in the state."""
        return self.nx + 1

    @property
    def step(self) -> int:
        """Place of h among the parameters."""
        return self.parameters

    @property
    def origin(self) -> int:
        """Place of t₀ among the parameters."""
        return self.parameters + 1

    @property
    def action(self) -> slice:
        """Places of the action among the parameters."""
        return slice(self.parameters + 2, None)

    @functools.cached_property
    def places(self) -> dict[str, slice]:
        """Where each of :data:`TOLD` is in what is recorded."""
        ends: list[int] = np.cumsum([0, *self.told]).tolist()
        return {name: slice(*pair) for name, pair in zip(TOLD, itertools.pairwise(ends), strict=True)}

    def part(self, name: str) -> slice:
        """Place of w, y, s or d in the state.

        Args:
            name: its letter.
        """
        i = "wysd".index(name)
        first = self.nx + 2 + sum(self.sizes[:i])
        return slice(first, first + self.sizes[i])


def build_march(task: Task) -> tuple[March, Layout] | None:
    """The loop over the steps of a task; None for a law or a method that has no such.

    Args:
        task: what is to be advanced.
    """
    base, robot = task.base, task.setup.robot
    if base is not None and base.law is None:
        return None
    loop = SymbolicLoop(robot, base, None, metrics=ca.SX(0, 1))
    t, x, own = loop.symbols.t, loop.symbols.x, ca.vertcat(robot.p, task.law_p)
    h, t0, action = ca.SX.sym("h"), ca.SX.sym("t0"), ca.SX.sym("action", len(task.low))
    names = ("output", "pivots", "relative_pivots", "active")
    law: list[ca.SX] = [
        ca.densify(ca.substitute(loop.recorded[name], loop.symbols.p, _like(loop, own))) for name in names
    ]
    if base is None:
        law[0] = ca.SX.zeros(action.numel())
    held = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym("held", each.numel()) for each in law)) if task.hold else ca.SX(0, 1)
    ends: list[int] = np.cumsum([0, *(each.numel() for each in law)]).tolist()
    used = ca.vertsplit(held, ends) if task.hold else law
    output = used[0] + action
    force = output if task.forces else robot.input_matrix @ output
    p = ca.vertcat(own, h, t0, action)
    moved = copy.copy(loop)
    # What is held counts as parameters until it has its place in the state.
    moved.symbols = Symbols(t, x, ca.vertcat(p, held))
    moved.rate = ca.vertcat(robot.coordinates.N @ robot.v, robot.moved_by(force)[0])
    moved.recorded = {}
    core = task.integrator.march(moved)
    if core is None:
        return None
    natural = natural_pivots(robot, natural_judged(task))
    rate = ca.substitute(task.rate, task.output, output)
    told = [output, *used[1:], *(natural[key] for key in NATURAL), rate]
    lane = _Lane(task, t, x, held, core)
    values = [lane.at_own_time(each) for each in told]
    # What is varied of the plant alone, or of the law alone, differs between the two.
    apart = {name.partition(".")[2] for name in task.draws.varied if name.startswith(("plant.", "law."))}
    twins = tuple(pair for pair in loop.twins if robot.parameters.names[pair[0]] not in apart)
    march = March(
        *(core.t, lane.state, p, lane.rate()),
        {"told": ca.vertcat(*map(ca.densify, values))},
        lane.corrected(ca.vertcat(*law), h, t0),
        core.tableau,
        twins,
    )
    sizes = (held.numel(), task.seen.numel(), task.stop.numel(), task.clearance.numel())
    layout = Layout(x.numel(), sizes, tuple(each.numel() for each in told), own.numel())
    return march, layout


def _like(loop: SymbolicLoop, own: ca.SX) -> ca.SX:
    """As many of the parameters as the loop has: without a law in it, the plant's."""
    return own[: loop.symbols.p.numel()]


class _Lane:
    """The state of a lane and what becomes of it."""

    def __init__(self, task: Task, t: ca.SX, x: ca.SX, held: ca.SX, core: March) -> None:
        self._task, self._t, self._x, self._held, self._core = task, t, x, held, core
        self._k, self._time = ca.SX.sym("k"), ca.SX.sym("time")
        y, s, d = (ca.SX.sym(*each) for each in (("y", task.seen.numel()), ("s", task.stop.numel()),
                                                ("d", task.clearance.numel())))  # fmt: skip
        self._s, self._d = s, d
        self.state = ca.vertcat(x, self._k, self._time, held, y, s, d)

    def at_own_time(self, expression: ca.SX, time: ca.SX | None = None) -> ca.SX:
        return ca.substitute(expression, self._t, self._time if time is None else time)

    def rate(self) -> ca.SX:
        moving = self.at_own_time(self._core.rate)
        rest = self.state.numel() - self._x.numel() - 2
        return ca.vertcat(moving, 0.0, 1.0, ca.SX.zeros(rest))

    def corrected(self, law: ca.SX, h: ca.SX, t0: ca.SX) -> ca.SX:
        """What follows a step; ``law`` is what is held, at the state behind the step."""
        task, x = self._task, self._x
        k = self._k + 1.0
        time = t0 + k * h
        after = x if self._core.correction is None else self.at_own_time(self._core.correction, time)

        def there(expression: ca.SX) -> ca.SX:
            moved = self.at_own_time(expression, time)
            return moved if self._core.correction is None else ca.substitute(moved, x, after)

        held = self._held
        if held.numel():
            tick = ca.fmod(k, float(task.substeps)) == 0.0 if task.substeps > 1 else ca.SX(1)
            held = ca.if_else(tick, there(law), held)
        s, d = ca.fmax(self._s, there(task.stop)), ca.fmin(self._d, there(task.clearance))
        return ca.densify(ca.vertcat(after, k, time, held, there(task.seen), s, d))
