"""Laws with a memory as FMUs: the samples of Python, saved states, and both FMI tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fmpy import simulate_fmu
from fmpy.validation import validate_fmu
from numpy.typing import NDArray

from erugin.bridges import fmi
from erugin.bridges.fmi import Instance
from erugin.controllers import Controller
from erugin.controllers.wrappers import Delay, Fallback, MotorLag, Noise, SampleAndHold, Saturation
from erugin.simulation import Simulator
from erugin.symbolic import BridgeError

from ...support.sampled_laws import BASES, ROBOT, STEP, WRAPPERS

Array = NDArray[np.float64]
VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")
Q0, V0 = np.array([0.3, 0.5]), np.array([0.8, 0.1])
COUNT = 80


def digital(base: str = "integral") -> Controller:
    return Saturation(MotorLag(Delay(SampleAndHold(BASES[base](), 2 * STEP), 3 * STEP), 0.003), 12.0)


def inputs(q: Array, v: Array) -> dict[str, float]:
    names = ROBOT.coordinates.names
    return {f"q.{name}": q[i] for i, name in enumerate(names)} | {f"v.{name}": v[i] for i, name in enumerate(names)}


NAMES = [f"u.{name}" for name in ROBOT.input_names]
STATES = [*(f"q.{name}" for name in ROBOT.coordinates.names), *(f"v.{name}" for name in ROBOT.coordinates.names)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("base", "wrapper"),
    [
        *(("integral", "none"), ("adaptive", "observer"), ("program", "both delays"), ("program", "saturation")),
        *(("implicit", "none"), ("limits", "none"), ("limits", "encoders"), ("integral in limits", "lag")),
    ],
)
def test_the_law_gives_what_python_gives_at_each_sample(
    base: str, wrapper: str, version: fmi.Version, tmp_path: Path
) -> None:
    controller = WRAPPERS[wrapper](BASES[base]())
    fmu = fmi.export(controller, tmp_path / "law.fmu", version=version, period=STEP, q0=Q0, v0=V0)
    assert validate_fmu(str(fmu.path)) == []
    with_status = any(output.name == "status" for output in fmu.outputs)
    controller.reset()
    with Instance(fmu.path) as instance:
        for k in range(COUNT):
            t = k * STEP
            q, v = Q0 + 0.2 * np.sin(3.0 * t + np.arange(2)), V0 * np.cos(3.0 * t)
            controller.advance(t, q, v)
            tick = controller.observe(t, q, v)
            instance.set(inputs(q, v))
            # The inputs may be set again before the step.
            instance.get(NAMES)
            instance.set(inputs(q, v))
            np.testing.assert_allclose(instance.get(NAMES), tick.output, rtol=1e-12, atol=1e-11)
            if with_status:
                assert int(instance.get(["status"])[0]) == int(tick.status)
            instance.step(t, STEP)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("base", "samples"), [("integral", 1), ("integral", 4), ("limits", 1)])
def test_the_loop_takes_the_steps_of_the_simulator(
    version: fmi.Version, base: str, samples: int, tmp_path: Path
) -> None:
    controller = digital(base)
    motion = Simulator(ROBOT, controller).run(Q0, V0, COUNT * STEP, step=STEP)
    fmu = fmi.export(
        controller, tmp_path / "loop.fmu", version=version, with_plant=ROBOT, q0=Q0, v0=V0, period=STEP, step=STEP
    )
    assert validate_fmu(str(fmu.path)) == []
    with Instance(fmu.path) as instance:
        for k in range(0, COUNT, samples):
            np.testing.assert_allclose(instance.get(STATES[:2]), motion.q[k], rtol=1e-12)
            np.testing.assert_allclose(instance.get(NAMES), motion.u[k], rtol=1e-9, atol=1e-9)
            assert int(instance.get(["status"])[0]) == motion.status[k]
            instance.step(k * STEP, samples * STEP)
        np.testing.assert_allclose(instance.get(STATES[:2]), motion.q[-1], rtol=1e-12)


def test_samples_keep_their_period_whatever_the_steps_of_the_importer(tmp_path: Path) -> None:
    """Steps of 0.7 periods: the Runge-Kutta steps are shorter, and the samples are the same."""
    controller = digital()
    fmu = fmi.export(controller, tmp_path / "loop.fmu", with_plant=ROBOT, q0=Q0, v0=V0, period=STEP, step=STEP / 10)
    ends = []
    for span in (STEP, 0.7 * STEP):
        with Instance(fmu.path) as instance:
            t = 0.0
            while t < 70 * STEP - 1e-9:
                instance.step(t, span)
                t += span
            ends.append(instance.get(STATES))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-8)


def test_a_saved_state_contains_the_memory(tmp_path: Path) -> None:
    fmu = fmi.export(digital(), tmp_path / "loop.fmu", with_plant=ROBOT, q0=Q0, v0=V0, period=STEP, step=STEP)
    other = fmi.export(digital("adaptive"), tmp_path / "other.fmu", with_plant=ROBOT, period=STEP, step=STEP)
    with Instance(fmu.path) as instance, Instance(other.path) as stranger:
        for k in range(20):
            instance.step(k * STEP, STEP)
        saved = instance.save()
        ends = []
        for _ in range(2):
            for k in range(20, 60):
                instance.step(k * STEP, STEP)
            ends.append(instance.get(STATES))
            instance.restore(saved)
        np.testing.assert_array_equal(ends[0], ends[1])
        with pytest.raises(BridgeError, match="not a state of this FMU"):
            stranger.restore(saved)


def test_fmpy_simulates_it(tmp_path: Path) -> None:
    controller = digital()
    motion = Simulator(ROBOT, controller).run(Q0, V0, COUNT * STEP, step=STEP)
    fmu = fmi.export(controller, tmp_path / "loop.fmu", with_plant=ROBOT, q0=Q0, v0=V0, period=STEP, step=STEP)
    found = simulate_fmu(str(fmu.path), stop_time=COUNT * STEP, step_size=STEP, output_interval=STEP, output=STATES[:2])
    np.testing.assert_allclose(found[STATES[0]], motion.q[:, 0], rtol=1e-10)


@pytest.mark.parametrize(
    ("controller", "period", "message"),
    [
        (digital(), None, "memory from sample to sample, which requires period="),
        (Noise(BASES["program"](), q=1e-3), STEP, r"draws random numbers \(Noise\)"),
        (Fallback(digital()), -1.0, "period must be greater than zero"),
    ],
)
def test_what_an_fmu_cannot_carry_is_named(
    controller: Controller, period: float | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises((BridgeError, ValueError), match=message):
        fmi.export(controller, tmp_path / "law.fmu", period=period)
