"""Time to derive equations of motion beside SymPy, and forward dynamics beside Pinocchio's ``aba``, over the links.

python benchmarks/bench_derivation.py [--rounds N] [--small] [--write]
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import sympy
from harness.operations import operations
from harness.plots import Line, Panel
from harness.rounds import Timing, number, side_by_side
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table
from models.pinocchio_models import chain_model, pin
from models.sizes import chain_state
from models.ticks import chain
from numpy.typing import NDArray
from sympy.physics import mechanics

from erugin.robots import Robot, TelescopicLink, exoskeleton
from erugin.symbolic import Kernel

Array = NDArray[np.float64]
LENGTH, MASS, INERTIA = 0.5, 1.0, 0.02
BOTH, ALONE = (1, 2, 3, 4), (7, 11)
CHAINS = (2, 3, 7, 12, 30, 60, 100)
SYMPY_ROUNDS = 3
PICTURE = "![Seconds to derive, and of forward dynamics, over the links](pictures/benchmark_derivation.png)"
Times = dict[int, dict[str, Timing]]


def ready(robot: Robot) -> Kernel:
    """M, h and the acceleration as a function that can be evaluated, without a compiler."""
    inputs = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    return Kernel("equations", inputs, {"a": robot.acceleration, "h": robot.bias}, compiled=False)


def erugin_exoskeleton(n: int) -> Kernel:
    """All that is needed to evaluate the motion of n telescopic links."""
    link = TelescopicLink(mass=MASS, inertia=INERTIA, center_ratio=0.5, stiffness=1e4, rest_length=LENGTH)
    return ready(exoskeleton([link] * n))


def sympy_exoskeleton(n: int) -> object:
    """M and h of the same robot by SymPy's LagrangesMethod, as a NumPy function."""
    q = mechanics.dynamicsymbols(f"q0:{2 * n}")
    m, inertia, share, k, rest, g = sympy.symbols("m I n k L g")
    t: Any = vars(mechanics.dynamicsymbols)["_t"]
    x, y, kinetic, potential = sympy.S.Zero, sympy.S.Zero, sympy.S.Zero, sympy.S.Zero
    for i in range(n):
        angle, length = q[i], q[n + i]
        cx, cy = x + share * length * sympy.cos(angle), y + share * length * sympy.sin(angle)
        kinetic += (m * (cx.diff(t) ** 2 + cy.diff(t) ** 2) + inertia * angle.diff(t) ** 2) / 2
        potential += m * g * cy + k * (length - rest) ** 2 / 2
        x, y = x + length * sympy.cos(angle), y + length * sympy.sin(angle)
    method = mechanics.LagrangesMethod(kinetic - potential, q)
    method.form_lagranges_equations()
    rates = [symbol.diff(t) for symbol in q]
    return sympy.lambdify([*q, *rates, m, inertia, share, k, rest, g], [method.mass_matrix, method.forcing], cse=True)


def derivation(given: Options) -> Times:
    """Exoskeletons, derived and ready to evaluate."""
    found: Times = {}
    for n in (1, 2) if given.small else (*BOTH, *ALONE):
        calls: dict[str, Callable[[], object]] = {"Erugin": functools.partial(erugin_exoskeleton, n)}
        if n in BOTH:
            calls["SymPy"] = functools.partial(sympy_exoskeleton, n)
        found[n] = side_by_side(calls, min(given.rounds, SYMPY_ROUNDS))
    return found


def aba(n: int) -> tuple[Callable[[], Array], Callable[[], None], Array, int]:
    """Both sides' forward dynamics at one state, where ours leaves the acceleration, and its operations."""
    model, robot = chain_model(n), chain(n)
    data: Any = model.createData()
    q, v = chain_state(n)
    u = np.random.default_rng(n).uniform(-1.0, 1.0, n)
    inputs, a = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}, np.zeros(n)
    kernel = Kernel("articulated", inputs, {"a": robot.acceleration})
    function = ca.Function("articulated", [*inputs.values()], [robot.acceleration], {"cse": True})
    arguments = [q, v, u, np.array([*robot.nominal.values()])]
    dynamics = pin.aba
    return lambda: dynamics(model, data, q, v, u), kernel.bind(arguments, [a]), a, sum(operations(function).values())


def forward_dynamics(given: Options) -> tuple[Times, dict[int, int]]:
    """Planar chains, and the operations of ours."""
    found: Times = {}
    counts: dict[int, int] = {}
    for n in (2, 3) if given.small else CHAINS:
        theirs, ours, a, counts[n] = aba(n)
        ours()
        expected = theirs()
        apart = float(np.abs(a - expected).max() / np.abs(expected).max())
        if not apart <= 1e-9:
            raise ArithmeticError(f"accelerations of {n} links differ by {apart:.1e} of the largest")
        found[n] = side_by_side({"Erugin": ours, "Pinocchio": theirs}, given.rounds)
    return found, counts


def main(given: Options) -> None:
    derived, (moved, counts) = derivation(given), forward_dynamics(given)
    heads: tuple[str, ...] = ("links", "Erugin [s]", "SymPy [s]", "ratio")
    rows: list[tuple[Cell, ...]] = []
    for n, times in derived.items():
        rival = times.get("SymPy")
        reported = (rival.show(1.0), number(rival.over(times["Erugin"]))) if rival else ("–", "–")
        rows.append((n, times["Erugin"].show(1.0), *reported))
    tables = [Table("derivation", tuple(map(Column, heads)), tuple(rows), PICTURE)]
    heads = ("links", "Erugin [µs]", "Pinocchio `aba` [µs]", "ratio", "operations", "per link")
    rows = []
    for n, times in moved.items():
        ours, theirs = times["Erugin"], times["Pinocchio"]
        rows.append((n, ours.show(), theirs.show(), number(theirs.over(ours)), counts[n], number(counts[n] / n)))
    tables.append(Table("forward-dynamics", tuple(map(Column, heads)), tuple(rows)))
    conclude(given, tables, (), [("benchmark_derivation.png", panels(derived, moved))])


def panels(derived: Times, moved: Times) -> list[Panel]:
    """Growth with the links."""

    def lines(found: Times) -> dict[str, Line]:
        sides = dict.fromkeys(side for times in found.values() for side in times)
        known = {side: {n: times[side] for n, times in found.items() if side in times} for side in sides}
        return {side: Line([*times], [*times.values()], side != "Erugin") for side, times in known.items()}

    return [
        Panel(lines(derived), "telescopic links", "derivation [s]", 1.0),
        Panel(lines(moved), "links n of a chain", "forward dynamics [µs]"),
    ]


if __name__ == "__main__":
    main(options(__doc__ or ""))
