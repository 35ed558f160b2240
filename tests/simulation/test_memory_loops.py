"""Compiled loops of laws with a memory, beside the same laws called from Python and beside single runs."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.controllers import Controller, ProgramController, Status
from erugin.controllers.wrappers import Delay, Dropout, SampleAndHold
from erugin.simulation import Simulator

from ..support.sampled_laws import BASES, ROBOT, STEP, WRAPPERS, program

Q0, V0 = [0.3, 0.5], [0.8, 0.1]
FAILING = ("dropout", "held samples", "patience", "doubtful")
CASES = [
    *(
        (base, wrapper)
        for base in ("integral", "adaptive", "integral in limits", "observer", "observer in limits")
        for wrapper in ("none", "digital")
    ),
    *(("implicit", wrapper) for wrapper in ("none", "digital")),
    *(("limits", wrapper) for wrapper in ("none", "hold", "encoders", "spare", "digital")),
    *(
        ("program", wrapper)
        for wrapper in WRAPPERS
        if wrapper not in ("dropout", "held samples", "patience", "doubtful")
    ),
]


def called_from_python(controller: Controller, monkeypatch: pytest.MonkeyPatch) -> Simulator:
    """A simulator that knows no expressions of the law."""
    monkeypatch.setattr(type(controller), "sampled_law", lambda self, period: None)
    return Simulator(ROBOT, controller)


@pytest.mark.compiled
@pytest.mark.parametrize(("base", "wrapper"), CASES)
def test_a_compiled_loop_takes_the_steps_of_python(base: str, wrapper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = WRAPPERS[wrapper](BASES[base]())
    simulator = Simulator(ROBOT, controller)
    assert simulator.is_vectorized(STEP)
    compiled = simulator.run(Q0, V0, 0.4, step=STEP)
    after = controller.control(0.4, compiled.q[-1], compiled.v[-1])
    called = called_from_python(controller, monkeypatch).run(Q0, V0, 0.4, step=STEP)
    for name in ("q", "v", "u", "deviation", "pivots", "active"):
        one, other = getattr(compiled, name), getattr(called, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12 * np.abs(other).max(initial=1.0), err_msg=name)
    np.testing.assert_array_equal(compiled.status, called.status)
    if base == "limits" and wrapper == "none":
        assert set(compiled.status) == {Status.OK, Status.LIMITED}
    assert [t for t, _ in compiled.notes] == [t for t, _ in called.notes]
    assert compiled.notes[:20] == called.notes[:20]
    # The controller remembers the run that it was last used for.
    np.testing.assert_allclose(after, controller.control(0.4, called.q[-1], called.v[-1]), rtol=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("base", ["integral", "integral in limits", "observer"])
def test_lanes_have_the_bits_of_single_runs(base: str) -> None:
    simulator = Simulator(ROBOT, WRAPPERS["digital"](BASES[base]()))
    rng = np.random.default_rng(4)
    q, v = Q0 + rng.normal(0.0, 0.05, (11, 2)), V0 + rng.normal(0.0, 0.05, (11, 2))
    together = simulator.run_batch(q, v, 0.3, step=STEP)
    for lane in range(len(q)):
        alone = simulator.run(q[lane], v[lane], 0.3, step=STEP)
        for name in ("q", "v", "u", "status"):
            np.testing.assert_array_equal(getattr(together[lane], name), getattr(alone, name), err_msg=name)
        assert together[lane].notes == alone.notes


@pytest.mark.compiled
def test_a_run_that_fails_ends_at_the_sample_with_its_cause() -> None:
    simulator = Simulator(ROBOT, Dropout(SampleAndHold(BASES["program"](), STEP), 0.02, seed=1))
    motions = simulator.run_batch([Q0], [V0], 1.0, step=STEP)
    assert motions.failure[0] == Status.NOT_FINITE
    assert "q must be finite" in motions.endings[0]
    assert 1 < motions.count[0] < 501


def test_samples_that_come_too_seldom_are_refused() -> None:
    simulator = Simulator(ROBOT, SampleAndHold(BASES["program"](), 1e-3))
    with pytest.raises(ValueError, match=r"SampleAndHold ticks every 0\.001 s, but samples are 0\.002 s apart"):
        simulator.run(Q0, V0, 0.1, step=2e-3)


@pytest.mark.compiled
def test_the_estimates_after_a_run_are_shown_by_the_law_inside() -> None:
    inner = ProgramController(program(), realization="actuated", robust="integral")
    law = Delay(inner, 0.004)
    Simulator(ROBOT, law).run(Q0, V0, 0.4, step=STEP)
    assert any(abs(value) > 1e-4 for value in inner.estimates.values())
