"""Laws with a memory and limits as CasADi functions and in files: the samples of Python."""

from __future__ import annotations

from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.bridges.casadi import export, functions, load
from erugin.controllers import Controller, Reference
from erugin.controllers.baselines import PDGravity
from erugin.controllers.wrappers import Delay, Noise, SampleAndHold, Saturation
from erugin.robots import with_limits
from erugin.simulation import Simulator
from erugin.symbolic import BridgeError, ModelError

from ...support.sampled_laws import BASE_CASES, BASES, ROBOT, STEP, WRAPPERS, in_python, samples

QUIET = [name for name, wrap in WRAPPERS.items() if wrap(BASES["program"]()).sampled_law(STEP).random.numel() == 0]  # type: ignore[union-attr]
COUNT = 40


def digital(base: str = "integral") -> Controller:
    return Saturation(Delay(SampleAndHold(BASES[base](), 2 * STEP), 3 * STEP), 12.0)


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", QUIET)
@pytest.mark.parametrize("base", BASE_CASES)
def test_functions_give_what_python_gives_at_each_sample(base: str, wrapper: str) -> None:
    controller = WRAPPERS[wrapper](BASES[base]())
    found = functions(controller, p={}, period=STEP)
    times, q, v = samples(COUNT)
    expected, statuses = in_python(controller, times, q, v)
    remembers, z = controller.has_memory, np.zeros(0)
    assert ("sample" in found) == ("initial_memory" in found) == remembers
    if remembers:
        z = np.array(found["initial_memory"].call([])[0]).ravel()
    for i in range(COUNT):
        state = {"t": times[i], "q": q[i], "v": v[i]}
        if remembers:
            z = np.array(found["sample"](**state, z=z)["sample"]).ravel()
            state["z"] = z
        u = np.array(found["law"](**state)["law"]).ravel()
        np.testing.assert_allclose(u, expected[i], rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        if "status" in found:
            assert int(found["status"](**state)["status"]) == statuses[i]


@pytest.mark.compiled
def test_inputs_within_limits_are_a_call_in_an_expression_of_the_users() -> None:
    """Without derivatives, which CasADi says."""
    found = functions(BASES["limits"](), p={}, period=STEP)
    x, z = ca.SX.sym("x", 2), ca.SX(found["initial_memory"].call([])[0])
    u = found["law"].call([ca.SX(0.1), x, ca.SX([0.8, 0.1]), ca.SX.zeros(2), z])[0]
    assert np.isfinite(np.array(ca.Function("one", [x], [u]).call([[0.3, 0.5]])[0])).all()
    with pytest.raises(RuntimeError, match="Derivatives cannot be calculated for block_lexicographic"):
        ca.jacobian(u, x)


@pytest.mark.parametrize("wrapper", ["none", "saturation", "both delays", "observer", "hold", "lag"])
@pytest.mark.parametrize("base", ["program", "integral", "adaptive", "implicit"])
def test_a_file_has_the_memory(base: str, wrapper: str, tmp_path: Path) -> None:
    controller = WRAPPERS[wrapper](BASES[base]())
    export(controller, tmp_path / "law.json", period=STEP)
    law = load(tmp_path / "law.json", ROBOT)
    assert (law.has_memory, law.rows, law.tolerance) == (controller.has_memory, controller.rows, controller.tolerance)
    outputs, statuses = in_python(law, *samples())
    expected, own = in_python(controller, *samples())
    np.testing.assert_allclose(outputs, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert statuses == own
    motions = [Simulator(ROBOT, each).run([0.3, 0.5], [0.8, 0.1], 0.2, step=STEP) for each in (law, controller)]
    np.testing.assert_allclose(motions[0].q, motions[1].q, rtol=1e-12)
    np.testing.assert_array_equal(motions[0].status, motions[1].status)
    assert export(law, period=STEP) == export(controller, period=STEP)


def test_a_file_is_for_its_period(tmp_path: Path) -> None:
    export(digital(), tmp_path / "law.json", period=STEP)
    law = load(tmp_path / "law.json", ROBOT)
    with pytest.raises(ModelError, match=r"written for samples every 0\.002 s, not every 0\.001 s"):
        Simulator(ROBOT, law).run([0.3, 0.5], [0.8, 0.1], 0.2, step=STEP / 2)


@pytest.mark.compiled
def test_what_a_file_or_a_function_cannot_carry_is_named() -> None:
    with pytest.raises(BridgeError, match="calls compiled code, such as the programme of limits, which a file cannot"):
        export(BASES["limits"](), period=STEP)
    with pytest.raises(BridgeError, match=r"memory from sample to sample, which requires period="):
        functions(digital())
    with pytest.raises(BridgeError, match=r"draws random numbers \(Noise\)"):
        functions(Noise(BASES["program"](), q=1e-3), period=STEP)
    with pytest.raises(BridgeError, match=r"saturate=True requires input limits, but .* has no effort limits"):
        functions(BASES["program"](), saturate=True)
    with pytest.raises(ModelError, match="period must be greater than zero"):
        functions(ROBOT, period=-3.0)
    with pytest.raises(BridgeError, match="saturate=True limits the inputs of a law, not of a plant"):
        functions(ROBOT, saturate=True)


def test_saturated_inputs_stay_within_the_limits_of_the_robot() -> None:
    robot = with_limits(ROBOT, effort=[8.0, 2.0])
    found = functions(PDGravity(robot, Reference.at_rest(robot, [0.3, 0.2])), p={}, saturate=True)
    u = np.array(found["law"](q=[3.0, -2.0], v=[0.0, 0.0])["law"]).ravel()
    np.testing.assert_array_equal(np.abs(u), [8.0, 2.0])
    assert int(found["status"](q=[3.0, -2.0])["status"]) == 6
