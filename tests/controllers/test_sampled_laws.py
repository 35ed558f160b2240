"""Laws with a memory as expressions, beside the same laws evaluated in Python."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, Law, Status
from erugin.symbolic import EruginError

from ..support.sampled_laws import BASE_CASES, BASES, STEP, WRAPPERS

Array = NDArray[np.float64]
COUNT = 60


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
@pytest.mark.parametrize("base", BASE_CASES)
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
        np.testing.assert_allclose(output, expected.output, rtol=1e-12, atol=1e-11)
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
