"""Time to derive equations of motion beside SymPy, and cost of forward dynamics beside Pinocchio, over the links.

In one process, in interleaved rounds; the tables give medians.

    python benchmarks/bench_derivation.py [rounds]
"""

from __future__ import annotations

import functools
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.physics import mechanics

from erugin.robots import Link, Robot, TelescopicLink, exoskeleton, planar_manipulator
from erugin.symbolic import Kernel

pin: Any = importlib.import_module("pinocchio")  # It has no type information.

Array = NDArray[np.float64]
LENGTH, MASS, CENTER, INERTIA = 0.5, 1.0, 0.25, 0.02
SYMPY_LINKS = (1, 2, 3, 4)
CHAINS = (2, 3, 7, 12, 30, 60, 100)
CALLS = 2000


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


def pinocchio_chain(n: int) -> Callable[[], object]:
    """One call of Pinocchio's articulated-body algorithm from Python."""
    model: Any = pin.Model()
    parent, placement = 0, pin.SE3.Identity()
    for i in range(n):
        parent = model.addJoint(parent, pin.JointModelRZ(), placement, f"joint{i}")
        body = pin.Inertia(MASS, np.array([CENTER, 0.0, 0.0]), np.diag([0.0, INERTIA, INERTIA]))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
        placement = pin.SE3(np.eye(3), np.array([LENGTH, 0.0, 0.0]))
    data: Any = model.createData()
    q, v, u = state(n)
    return lambda: pin.aba(model, data, q, v, u)


def erugin_chain(n: int, compiled: bool) -> tuple[Callable[[], object], int, float]:
    """One evaluation of our articulated recursion through its buffers, its instructions, and the time to derive it."""
    began = time.perf_counter()
    robot = planar_manipulator([Link(LENGTH, MASS, CENTER, INERTIA)] * n)
    inputs = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    outputs = {"a": robot.acceleration}
    derived = time.perf_counter() - began
    plain = Kernel("articulated", inputs, outputs, compiled=False)
    kernel = Kernel("articulated", inputs, outputs) if compiled else plain
    arguments = [*state(n), np.array([*robot.nominal.values()])]
    return kernel.bind(arguments, [np.zeros(n)]), plain.function.n_instructions(), derived


def state(n: int) -> tuple[Array, Array, Array]:
    """The same state for everyone."""
    rng = np.random.default_rng(n)
    return rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n), rng.uniform(-1.0, 1.0, n)


def clock(call: Callable[[], object], calls: int = 1) -> float:
    """Seconds per call."""
    began = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - began) / calls


def derivation(rounds: int) -> None:
    """Table of the telescopic exoskeleton, derived and ready to evaluate."""
    print("exoskeleton, derived and ready to evaluate, without a compiler [s]")
    print(f"{'links':>6} {'Erugin':>9} {'SymPy':>9} {'ratio':>7}")
    for n in (*SYMPY_LINKS, 11):
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(clock(functools.partial(erugin_exoskeleton, n)))
            if n in SYMPY_LINKS:
                theirs.append(clock(functools.partial(sympy_exoskeleton, n)))
        own = statistics.median(ours)
        rival = statistics.median(theirs) if theirs else float("nan")
        print(f"{n:>6} {own:>9.3f} {rival:>9.3f} {rival / own:>7.0f}")


def forward_dynamics(rounds: int) -> None:
    """Table of the planar chain."""
    print("planar chain: forward dynamics, one call from Python [µs]")
    print(
        f"{'links':>6} {'derived [s]':>11} {'instructions':>12} {'per link':>8} "
        f"{'Erugin, C':>9} {'per link':>8} {'Pinocchio':>9} {'ratio':>6}"
    )
    for n in CHAINS:
        ours, count, derived = erugin_chain(n, compiled=True)
        theirs = pinocchio_chain(n)
        own, rival = [], []
        for _ in range(rounds):
            own.append(clock(ours, CALLS))
            rival.append(clock(theirs, CALLS))
        mine, other = 1e6 * statistics.median(own), 1e6 * statistics.median(rival)
        print(
            f"{n:>6} {derived:>11.3f} {count:>12} {count / n:>8.1f} {mine:>9.2f} {mine / n:>8.3f} {other:>9.2f} "
            f"{other / mine:>6.1f}"
        )


if __name__ == "__main__":
    ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    derivation(min(ROUNDS, 3))
    print()
    forward_dynamics(ROUNDS)
