"""Laws with a memory as expressions, beside the same laws evaluated in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, holonomic, nonholonomic
from erugin.controllers import Controller, Law, Program, ProgramController, Reference, Status
from erugin.controllers.baselines import PDGravity
from erugin.controllers.robust import AdaptiveProgramController, IntegralProgramController
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
from erugin.robots import Link, planar_manipulator
from erugin.symbolic import EruginError

Array = NDArray[np.float64]
ROBOT = planar_manipulator([Link(1.0, 1.0, 0.5, 0.1), Link(0.8, 0.7, 0.4, 0.05)])
STEP = 0.002
COUNT = 60


def program() -> Program:
    robot = ROBOT
    rows = [holonomic(robot.q[0] - 0.3 - 0.2 * ca.sin(3 * robot.t), perturbation=Baumgarte(6.0, 8.0), name="first")]
    return Program(robot, [*rows, nonholonomic(robot.v[1] - 0.5 * robot.v[0], name="second")])


def at_rest() -> Controller:
    return PDGravity(ROBOT, Reference.at_rest(ROBOT, [0.3, 0.2]))


BASES: dict[str, Callable[[], Controller]] = {
    "program": lambda: ProgramController(program(), realization="actuated"),
    "integral": lambda: IntegralProgramController(program(), realization="actuated", bound=0.4),
    "adaptive": lambda: AdaptiveProgramController(program(), {"m2": (0.3, 1.5)}),
}

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


@dataclass(frozen=True)
class Compiled:
    """Functions of a law as expressions."""

    law: Law
    outputs: ca.Function
    update: ca.Function

    @classmethod
    def of(cls, controller: Controller, period: float) -> Compiled:
        law, c = controller.sampled_law(period), controller.robot.coordinates
        assert law is not None
        inputs = [c.t, c.q, c.v, controller.parameters.symbols, law.z]
        deviation = ca.substitute(law.deviation, c.a, ca.SX.ones(c.nv))
        outputs = [law.output, law.status, law.pivots, law.relative_pivots, law.active, deviation]
        return cls(
            law, ca.Function("outputs", inputs, outputs), ca.Function("update", [*inputs, law.random], [law.updated])
        )


def states(count: int) -> tuple[Array, Array, Array]:
    """States at samples and half way between them."""
    times = np.arange(2 * count) * STEP / 2
    q = np.column_stack([0.3 + 0.25 * np.sin(3.2 * times), 0.5 * np.cos(2.1 * times)])
    return times, q, np.gradient(q, times, axis=0)


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("base", BASES)
def test_expressions_say_what_python_says(base: str, wrapper: str) -> None:
    controller = WRAPPERS[wrapper](BASES[base]())
    compiled, p = Compiled.of(controller, STEP), controller.parameters.values()
    times, q, v = states(COUNT)
    drawn = compiled.law.draw(times[::2], np.ones(COUNT, dtype=np.bool_))
    z, seen = compiled.law.initial, set[Status]()
    controller.reset()
    for i, (t, x, w) in enumerate(zip(times, q, v, strict=True)):
        if i % 2 == 0:
            controller.advance(t, x, w)
            z = np.asarray(compiled.update(t, x, w, p, z, drawn[i // 2]), dtype=np.float64).ravel()
        output, status, pivots, relative, active, deviation = (
            np.asarray(part, dtype=np.float64).ravel() for part in compiled.outputs(t, x, w, p, z)
        )
        try:
            expected = controller.observe(t, x, w)
        except EruginError:
            assert not np.isfinite(output).all()
            continue
        np.testing.assert_allclose(output, expected.output, rtol=1e-11, atol=1e-11)
        seen.add(expected.status)
        assert (Status(int(status[0])) if status.size else Status.OK) is expected.status
        for found, wanted in (
            (pivots, expected.pivots),
            (relative, expected.relative_pivots),
            (active, expected.active),
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-11)
        wanted = controller.deviation_of(expected, t, np.ones(2))
        np.testing.assert_allclose(deviation, wanted, rtol=1e-10, atol=1e-10)
        # What is restored from z continues as the memory does.
        again = controller.evaluate(*controller.arguments(t, x, w, p), compiled.law.restore(z))
        np.testing.assert_allclose(again.output, expected.output, rtol=1e-9, atol=1e-9)
    assert seen
