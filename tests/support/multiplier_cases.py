"""Every way of finding multipliers and what it deals with, programs that need each of these, and a reference."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.controllers import Program
from erugin.controllers.multipliers import (
    AugmentedMultipliers,
    CanonicalMultipliers,
    Capability,
    LdlMultipliers,
    LeastNormMultipliers,
    MultiplierMethod,
    NullSpaceMultipliers,
    ProximalMultipliers,
    SweepMultipliers,
    UdwadiaPhohomsiriMultipliers,
)
from erugin.controllers.realization import ActuatedRealization, IdealRealization
from erugin.robots import Closure, Robot, assemble, assemble_velocities, mechanism, with_inputs
from erugin.robots.examples import bricard_mechanism, quaternion_body
from erugin.symbolic import Kernel

from .arms import disc_program, three_link_arm, two_link_arm

Array = NDArray[np.float64]
C = Capability

ROWS = {C.DEPENDENT_ROWS, C.VANISHING_ROWS, C.MORE_ROWS, C.CONTRADICTIONS}
COMMON = {C.NATURAL_ROWS, C.REDUNDANT_NATURAL_ROWS, C.HELD_INERTIA, C.SWITCHED_ROWS, C.NONLINEAR_ROWS, C.NO_TREE}

HANDLED: dict[str, tuple[MultiplierMethod, set[Capability]]] = {
    "LdlMultipliers()": (LdlMultipliers(), COMMON | {C.ACTUATED}),
    "SweepMultipliers()": (SweepMultipliers(), (COMMON | {C.ACTUATED}) - {C.NO_TREE, C.HELD_INERTIA}),
    "CanonicalMultipliers()": (CanonicalMultipliers(), (COMMON | {C.ACTUATED}) - {C.HELD_INERTIA}),
    "NullSpaceMultipliers()": (
        NullSpaceMultipliers(),
        {C.NATURAL_ROWS, C.HELD_INERTIA, C.PROGRAMMED_INERTIA, C.NO_TREE},
    ),
    "LeastNormMultipliers()": (LeastNormMultipliers(), COMMON | ROWS | {C.ACTUATED}),
    "ProximalMultipliers()": (ProximalMultipliers(), COMMON | ROWS | {C.ACTUATED}),
    "SweepMultipliers(LeastNormMultipliers())": (
        SweepMultipliers(LeastNormMultipliers()),
        (COMMON | ROWS | {C.ACTUATED}) - {C.NO_TREE, C.HELD_INERTIA},
    ),
    "CanonicalMultipliers(ProximalMultipliers())": (
        CanonicalMultipliers(ProximalMultipliers()),
        (COMMON | ROWS | {C.ACTUATED}) - {C.HELD_INERTIA},
    ),
    "AugmentedMultipliers()": (AugmentedMultipliers(), COMMON | ROWS | {C.ACTUATED, C.PROGRAMMED_INERTIA}),
    "UdwadiaPhohomsiriMultipliers()": (UdwadiaPhohomsiriMultipliers(), COMMON | ROWS | {C.PROGRAMMED_INERTIA}),
}
"""The one table: what is claimed here works to 1e-10, what is not is refused or has a status."""


class Problem(NamedTuple):
    """A program and a state; ``needs`` is what a method must deal with."""

    program: Program
    q: Array
    v: Array
    needs: set[Capability]
    realization: str = "ideal"
    guess: Array | None = None


def _dependent() -> Problem:
    robot = three_link_arm()
    tip = robot.points["tip"] - ca.vertcat(0.5 + 0.1 * ca.sin(robot.t), 0.3)
    rows = [holonomic(tip, name="tip"), holonomic(ca.sum1(tip), name="sum")]
    return Problem(Program(robot, rows), np.array([0.3, 0.8, -0.4]), np.array([0.2, -0.1, 0.4]), {C.DEPENDENT_ROWS})


def _vanishing() -> Problem:
    """The square of a deviation that is zero, with no velocity along it."""
    robot = three_link_arm()
    y = robot.q[0] - 0.7
    rows = [holonomic(y**2, name="square"), holonomic(robot.points["tip"][1] - 0.3, name="tip")]
    return Problem(Program(robot, rows), np.array([0.7, 0.8, -0.4]), np.array([0.0, -0.1, 0.4]), {C.VANISHING_ROWS})


def _more() -> Problem:
    robot = two_link_arm()
    y = robot.q - ca.vertcat(0.3 + 0.2 * ca.sin(robot.t), 0.8)
    rows = [holonomic(y, name="both"), holonomic(ca.vertcat(y[0] + 2 * y[1], y[0] - y[1]), name="others")]
    program, needs = Program(robot, rows), {C.DEPENDENT_ROWS, C.MORE_ROWS}
    return Problem(program, np.array([0.4, 0.8]), np.array([0.25, 0.1]), needs)


@functools.cache
def closed_chain() -> tuple[Robot, Array, Array]:
    """Three links with the tip pinned to the ground, and a state in which it is."""
    robot = mechanism(three_link_arm(), [Closure("tip", (0.5, 0.3), "pin")])
    q = assemble(robot, np.array([0.9, -0.8, -0.5]), fixed=("q1",)).q
    return robot, q, assemble_velocities(robot, q, np.zeros(3), fixed={"q1": 1.3})


def _natural() -> Problem:
    robot, q, v = closed_chain()
    program = Program(robot, holonomic(robot.q[0] - 0.6 - robot.t**2, name="crank"))
    return Problem(program, q, v, {C.NATURAL_ROWS})


def _redundant() -> Problem:
    robot = bricard_mechanism()
    program = Program(robot, second_order(robot.coordinates.a[0] + 0.7 * ca.cos(robot.q[0]), name="turn"))
    q = assemble(robot, np.zeros(5)).q
    return Problem(program, q, np.zeros(5), {C.NATURAL_ROWS, C.REDUNDANT_NATURAL_ROWS})


def _body() -> tuple[Robot, Array, Array]:
    rng = np.random.default_rng(1)
    e = rng.normal(size=4)
    e /= np.linalg.norm(e)
    rate = rng.normal(size=4)
    q, v = np.concatenate([rng.normal(size=3), e]), np.concatenate([rng.normal(size=3), rate - (rate @ e) * e])
    return quaternion_body(2.0, np.diag([0.1, 0.2, 0.25]), center=(0.1, 0.05, -0.03)), q, v


def _held() -> Problem:
    robot, q, v = _body()
    needs = {C.NATURAL_ROWS, C.HELD_INERTIA, C.NO_TREE}
    return Problem(Program(robot, nonholonomic(robot.v[0] - 0.1, name="speed")), q, v, needs)


def _programmed() -> Problem:
    """Without eᵀe = 1 as a natural constraint a quaternion's length has no inertia; the program holds it instead."""
    robot, q, v = _body()
    loose = dataclasses.replace(robot, natural=())
    rows = [holonomic(ca.sumsqr(loose.q[3:]) - 1, name="unit"), nonholonomic(loose.v[0] - 0.1, name="speed")]
    return Problem(Program(loose, rows), q, v, {C.PROGRAMMED_INERTIA, C.NO_TREE})


def _switched() -> Problem:
    robot = two_link_arm()
    rows = [
        holonomic(robot.q[0] - 0.3, name="on"),
        second_order(robot.coordinates.a[1] - 4.0 / robot.t, name="off", when=robot.t - 1.0),
    ]
    return Problem(Program(robot, rows), np.array([0.4, 0.8]), np.array([0.1, -0.2]), {C.SWITCHED_ROWS})


def _nonlinear() -> Problem:
    robot = two_link_arm()
    row = second_order(robot.coordinates.a[0] ** 2 - 4.0, name="square")
    guess = np.array([1.5, 0.0])
    q, v = np.array([0.4, 0.8]), np.array([0.1, -0.2])
    return Problem(Program(robot, row), q, v, {C.NONLINEAR_ROWS}, guess=guess)


def _actuated() -> Problem:
    closed, q, v = closed_chain()
    robot = with_inputs(closed, [closed.input_names[2]])
    program = Program(robot, holonomic(robot.q[0] - 0.6 - robot.t**2, name="crank"))
    return Problem(program, q, v, {C.NATURAL_ROWS, C.ACTUATED}, realization="actuated")


def _regular() -> Problem:
    return Problem(disc_program(), np.array([0.3, 0.8]), np.array([0.2, -0.1]), set())


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "regular": _regular,
    "natural": _natural,
    "redundant natural": _redundant,
    "dependent": _dependent,
    "vanishing": _vanishing,
    "more rows": _more,
    "held inertia": _held,
    "programmed inertia": _programmed,
    "switched": _switched,
    "nonlinear": _nonlinear,
    "actuated": _actuated,
}


@functools.cache
def problem(name: str) -> Problem:
    """A problem, built once."""
    return PROBLEMS[name]()


class Numbers(NamedTuple):
    """M, h, B, A, b, Θ and β at one state; rows that are off are left out."""

    M: Array
    h: Array
    B: Array
    A: Array
    b: Array
    theta: Array
    beta: Array

    @property
    def units(self) -> Array:
        """1/√M_jj, or one where that is NaN."""
        inertia = np.diag(self.M)
        return np.where(inertia > 1e-12, 1.0 / np.sqrt(np.maximum(inertia, 1e-12)), 1.0)

    def motion(self, *, actuated: bool = False) -> tuple[Array, Array]:
        """a and R, or a and u, from the whole matrix of the equations by NumPy's least squares."""
        S = self.units
        n, k, m = len(S), len(self.A), len(self.theta)
        forces = self.B if actuated else self.theta.T
        count = forces.shape[1]
        whole = np.zeros((n + k + m, n + k + count))
        whole[:n, :n] = S[:, None] * self.M * S
        whole[:n, n : n + k], whole[:n, n + k :] = -S[:, None] * self.A.T, -S[:, None] * forces
        whole[n : n + k, :n], whole[n + k :, :n] = self.A * S, self.theta * S
        right = np.concatenate([-S * self.h, self.b, self.beta])
        lengths = np.linalg.norm(whole, axis=1)
        lengths = np.where(lengths > 0.0, lengths, 1.0)
        found = np.linalg.lstsq(whole / lengths[:, None], right / lengths, rcond=1e-12)[0]
        a: Array = np.asarray(S * found[:n], dtype=np.float64)
        u: Array = np.asarray(found[n + k :], dtype=np.float64)
        return a, u if actuated else np.asarray(forces @ u, dtype=np.float64)

    def admissible(self) -> Array:
        """Orthonormal directions, in the units of the velocities, that all rows leave free, shape (nv, free)."""
        rows = np.vstack([self.A, self.theta]) * self.units
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        _, values, Vt = np.linalg.svd(rows / np.where(lengths > 0.0, lengths, 1.0))
        return np.asarray(Vt[int((values > 1e-9).sum()) :].T)


def numbers(program: Program, t: float, q: Array, v: Array, a: Array | None = None) -> Numbers:
    """The equations of a program at one state."""
    robot = program.robot
    every = [robot.mass_matrix, robot.bias, robot.input_matrix, *robot.natural_form, program.theta, program.beta]
    f = ca.Function("f", [robot.t, robot.q, robot.v, robot.coordinates.a, program.p], [*every, program.active])
    at = np.zeros(len(v)) if a is None else a
    found = [np.array(x.full()) for x in f.call([t, q, v, at, ca.DM(list(program.nominal.values()))])]
    M, h, B, A, b, theta, beta, active = found
    on = active[:, 0] == 1.0
    return Numbers(M, h[:, 0], B, A, b[:, 0], theta[on], beta[on, 0])


class Found(NamedTuple):
    """Result of a method without its controller, and therefore without a compiler."""

    multipliers: Array
    force: Array
    acceleration: Array
    reactions: Array


def evaluated(program: Program, method: MultiplierMethod, *, actuated: bool = False) -> Kernel:
    """λ, R, a and μ as a function of t, q, v and p."""
    realized = (ActuatedRealization() if actuated else IdealRealization()).build(program, method)
    robot = program.robot
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "p": program.p}
    outputs = {
        "multipliers": realized.multipliers,
        "force": realized.force,
        "acceleration": realized.acceleration,
        "reactions": realized.reactions,
    }
    return Kernel("found", symbols, outputs, compiled=False)


def found(way: Kernel, program: Program, t: float, q: Array, v: Array) -> Found:
    """Values of :func:`evaluated`."""
    values = way(t, q, v, np.array(list(program.nominal.values())))
    return Found(*(np.atleast_1d(value) for value in values))
