"""Laws with and without a memory, and wrappers around them, by name; what they give at the samples of a motion."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, circle, holonomic, nonholonomic, second_order
from erugin.controllers import (
    Controller,
    ControlLimits,
    Law,
    LawMemory,
    Program,
    ProgramController,
    Reference,
    Status,
    SymbolicController,
)
from erugin.controllers.baselines import BarrierFunction, CbfFilter, PDGravity
from erugin.controllers.robust import AdaptiveProgramController, DisturbanceObserver
from erugin.controllers.traits import Trait
from erugin.controllers.wrappers import (
    Delay,
    Dropout,
    Encoders,
    Fallback,
    MeasurementNoise,
    MotorLag,
    Noise,
    RateLimit,
    SampleAndHold,
    Saturation,
)
from erugin.robots import Link, Robot, planar_manipulator
from erugin.symbolic import NO_PARAMETERS, EruginError

Array = NDArray[np.float64]
ROBOT = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1), Link(0.8, 0.7, 0.4, 0.05)])
STEP = 0.002


def program() -> Program:
    robot = ROBOT
    rows = [holonomic(robot.q[0] - 0.3 - 0.2 * ca.sin(3 * robot.t), perturbation=Baumgarte(6.0, 8.0), name="first")]
    return Program(robot, [*rows, nonholonomic(robot.v[1] - 0.5 * robot.v[0], name="second")])


def implicit() -> Program:
    """A row that is nonlinear in the accelerations."""
    q, v, a = ROBOT.q, ROBOT.v, ROBOT.coordinates.a
    wanted = -20.0 * (q[0] - 0.3 - 0.2 * ca.sin(3 * ROBOT.t)) - 9.0 * v[0]
    return Program(
        ROBOT, [second_order(a[0] + 0.1 * a[0] ** 3 / (1 + a[0] ** 2) - wanted), nonholonomic(v[1] - 0.5 * v[0])]
    )


def limits() -> ControlLimits:
    """Limits that bind at some of the samples only."""
    return ControlLimits.of(ROBOT, effort=[10.0, 3.0], rate=[2000.0, np.inf], speed=[2.0, np.inf])


def at_rest() -> Controller:
    return PDGravity(ROBOT, Reference.at_rest(ROBOT, [0.3, 0.2]))


def filtered(inner: Controller) -> CbfFilter:
    """A law that keeps the tip out of a disc which drifts across its way, and passes it by a swirl."""
    robot = inner.robot
    disc = circle((1.55, 0.95), 0.1, velocity=(-0.6, -0.1), name="disc")
    return CbfFilter(inner, BarrierFunction.outside(robot, robot.points["tip"], disc, margin=0.02, swirl=0.5), rate=6.0)


BASES: dict[str, Callable[[], Controller]] = {
    "program": lambda: ProgramController(program(), realization="actuated"),
    "adaptive": lambda: AdaptiveProgramController(program(), {"m2": (0.3, 1.5)}),
    "implicit": lambda: ProgramController(implicit(), realization="actuated", newton_steps=8),
    "filter": lambda: filtered(ProgramController(program(), realization="actuated")),
    "observer": lambda: ProgramController(program(), realization="actuated", robust="observer"),
    "integral": lambda: ProgramController(program(), realization="actuated", robust="integral", rate=7.0),
    "observed": lambda: DisturbanceObserver(
        PDGravity(ROBOT, Reference.at_rest(ROBOT, [0.3, 0.2]), name="observed"),
        6.0,
        through=lambda law: Saturation(Delay(law, 0.0031), [12.0, 3.0]),
    ),
    "limits": lambda: ProgramController(program(), realization="bounded", limits=limits()),
    "observer in limits": lambda: ProgramController(
        program(), realization="bounded", limits=limits(), robust="observer"
    ),
    "integral in limits": lambda: ProgramController(
        program(), realization="bounded", limits=limits(), robust="integral"
    ),
}

BASE_CASES = [pytest.param(name, marks=[pytest.mark.compiled] if name.endswith("limits") else []) for name in BASES]
"""Names of the laws; the programme of limits needs a compiler."""

WRAPPERS: dict[str, Callable[[Controller], Controller]] = {
    "none": lambda law: law,
    "saturation": lambda law: Saturation(law, [8.0, 3.0]),
    "rate": lambda law: RateLimit(law, [300.0, np.inf], initial=1.0),
    "lag": lambda law: MotorLag(law, [0.01, 0.003], initial=[2.0, 0.5]),
    "delay": lambda law: Delay(law, 0.005, initial=1.0),
    "measurement delay": lambda law: Delay(law, measurement=0.0033),
    "both delays": lambda law: Delay(law, 0.0021, measurement=0.004),
    "short delay": lambda law: Delay(law, 0.0007, measurement=0.0003),
    "encoders": lambda law: Encoders(law, [1e-3, 0.0]),
    "difference": lambda law: Encoders(law, 1e-3, velocity="difference"),
    "filter": lambda law: Encoders(law, 1e-3, velocity="filtered", cutoff=80.0),
    "observer": lambda law: Encoders(law, 1e-3, velocity="observer", cutoff=80.0),
    "noise": lambda law: Noise(law, q=1e-3, v=[1e-2, 0.0], u=0.1, seed=3),
    "smooth noise": lambda law: MeasurementNoise(law, q=1e-3, v="derivative"),
    "dropout": lambda law: Dropout(law, 0.3, seed=5),
    "hold": lambda law: SampleAndHold(law, 2.5 * STEP),
    "held samples": lambda law: Fallback(Dropout(law, 0.3, seed=5)),
    "zero": lambda law: Fallback(Dropout(law, 0.3, seed=5), "zero"),
    "patience": lambda law: Fallback(Dropout(law, 0.5, seed=5), "zero", patience=2),
    "spare": lambda law: Fallback(Dropout(law, 0.3, seed=5), Saturation(at_rest(), 20.0)),
    "digital": lambda law: MotorLag(
        Saturation(
            Delay(SampleAndHold(Noise(Encoders(law, 1e-4, velocity="filtered", cutoff=300.0), u=0.1), 0.004), 0.006),
            15.0,
        ),
        0.004,
    ),
    "doubtful": lambda law: RateLimit(
        Fallback(Dropout(SampleAndHold(Noise(Delay(law, 0.003), q=1e-4, seed=2), 0.004), 0.2, seed=1)), 2000.0
    ),
    "lost encoders": lambda law: Fallback(Dropout(Encoders(Noise(law, q=1e-3), 1e-3), 0.3), "hold"),
}


class Integrator(SymbolicController):
    """u = −k ∫q dt − d v by rectangles, within ±8; z: the last sample's time, 1 if there was one, the integral."""

    supports = frozenset(Trait)
    applies_force = False

    def __init__(self, robot: Robot, k: float = 60.0, d: float = 3.0) -> None:
        self.robot, self.parameters, self.k, self.d = robot, NO_PARAMETERS, k, d
        self.reset()

    def build_law(self) -> Law:
        c, z = self.robot.coordinates, ca.SX.sym("z", 4)
        u = -self.k * z[2:] - self.d * c.v
        after = ca.vertcat(c.t, 1, z[2:] + ca.if_else(z[1] > 0, c.t - z[0], 0) * c.q)
        limited = ca.logic_or(*(ca.fabs(u[i]) > 8 for i in range(2)))
        law = Law.of_errors(ca.fmin(ca.fmax(u, -8), 8), c.q, ("q1", "q2"))
        return dataclasses.replace(
            law, status=ca.if_else(limited, int(Status.LIMITED), 0), memory=LawMemory(z, np.zeros(4), after)
        )


def samples(count: int = 80) -> tuple[Array, Array, Array]:
    """Times of samples, coordinates and velocities."""
    times = np.arange(count, dtype=np.float64) * STEP
    q = np.column_stack([0.3 + 0.25 * np.sin(3.2 * times), 0.5 * np.cos(2.1 * times)])
    v = np.column_stack([0.8 * np.cos(3.2 * times), -1.05 * np.sin(2.1 * times)])
    return times, q, v


def in_python(controller: Controller, times: Array, q: Array, v: Array) -> tuple[Array, list[int]]:
    """Outputs and statuses at samples; −1 where the law has no output."""
    controller.reset()
    outputs, statuses = np.zeros((len(times), 2)), list[int]()
    for i, (t, x, w) in enumerate(zip(times.tolist(), q, v, strict=True)):
        try:
            controller.advance(t, x, w)
            tick = controller.observe(t, x, w)
        except EruginError:
            statuses.append(-1)
            continue
        outputs[i] = tick.output
        statuses.append(int(tick.status))
    return outputs, statuses
