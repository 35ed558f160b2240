"""Laws with a memory in C: compiled without warnings, and the same outputs and statuses as in Python."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.bridges.c import export
from erugin.controllers import Controller, Status
from erugin.controllers.wrappers import Delay, Fallback, MotorLag, Noise, SampleAndHold, Saturation
from erugin.simulation import Simulator
from erugin.symbolic import BridgeError

from ...support.c_folders import COMPILERS, STRICT, sampled_in_c
from ...support.sampled_laws import BASES, ROBOT, STEP, WRAPPERS, in_python, samples

Array = NDArray[np.float64]
NOT_FINITE_INPUT = 8
LAWS = {
    f"{base}, {wrapper}": (base, wrapper)
    for base in BASES
    for wrapper in ("none", "saturation", "rate", "lag", "both delays", "encoders", "observer", "hold")
    if (base, wrapper) not in (("program", "none"),)
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", LAWS)
def test_c_says_what_python_says(name: str, tmp_path: Path) -> None:
    base, wrapper = LAWS[name]
    controller = WRAPPERS[wrapper](BASES[base]())
    times, q, v = samples()
    u, status = sampled_in_c(controller, tmp_path / "law", STEP, times, q, v)
    expected, statuses = in_python(controller, times, q, v)
    np.testing.assert_array_equal(status, statuses)
    np.testing.assert_allclose(u, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.compiled
def test_readings_that_fail_are_bridged(tmp_path: Path) -> None:
    """A driver passes NaN where a sensor has no reading."""
    controller = Saturation(Fallback(SampleAndHold(BASES["integral"](), STEP)), 12.0)
    times, q, v = samples()
    q[10:13] = np.nan
    u, status = sampled_in_c(controller, tmp_path / "law", STEP, times, q, v)
    expected, statuses = in_python(controller, times, q, v)
    np.testing.assert_array_equal(status, statuses)
    assert set(status[10:13].tolist()) == {int(Status.HELD)}
    np.testing.assert_allclose(u, expected, rtol=1e-12, atol=1e-11)


@pytest.mark.compiled
def test_a_law_without_wrappers_refuses_a_reading_that_fails_and_remembers_nothing_of_it(tmp_path: Path) -> None:
    controller = BASES["integral"]()
    times, q, v = samples()
    v[20, 1] = np.inf
    u, status = sampled_in_c(controller, tmp_path / "law", STEP, times, q, v)
    expected, statuses = in_python(controller, times, q, v)
    assert status[20] == NOT_FINITE_INPUT
    assert statuses[20] == -1
    known = np.arange(len(times)) != 20
    np.testing.assert_allclose(u[known], expected[known], rtol=1e-12, atol=1e-11)


LOOP = """
#include "law_plant.h"

int run(int steps, double h, double *q, double *v);

int run(int steps, double h, double *q, double *v)
{
    law_parameters parameters;
    law_plant_parameters plant;
    law_memory memory;
    int i, status = LAW_OK;
    law_parameters_nominal(&parameters);
    law_plant_parameters_nominal(&plant);
    law_memory_initial(&memory);
    for (i = 0; i < steps && (status == LAW_OK || status == LAW_LIMITED); ++i)
        status = law_plant_closed_step(&plant, &parameters, &memory, i*h, h, q, v);
    return status;
}
"""


@pytest.mark.compiled
@pytest.mark.parametrize("base", ["integral", "integral in limits"])
def test_the_closed_loop_in_c_takes_the_steps_of_the_simulator(base: str, tmp_path: Path) -> None:
    controller = Saturation(MotorLag(Delay(SampleAndHold(BASES[base](), 0.004), 0.006), 0.003), 12.0)
    folder, count = tmp_path / "law", 150
    q, v = np.array([0.3, 0.5]), np.array([0.8, 0.1])
    motion = Simulator(ROBOT, controller).run(q, v, count * STEP, step=STEP)
    export(controller, folder, period=STEP, with_plant=ROBOT)
    (folder / "driver.c").write_text(LOOP)
    library = folder / "liblaw.so"
    sources = ["driver.c", "law.c", "law_plant.c"]
    flags = [*STRICT, "-O2", "-ffp-contract=off", "-fPIC", "-shared"]
    subprocess.run([COMPILERS[0], *flags, *sources, "-o", library, "-lm"], cwd=folder, check=True)
    run = ctypes.CDLL(str(library)).run
    run.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p]
    run(count, STEP, q.ctypes.data, v.ctypes.data)
    np.testing.assert_allclose(q, motion.q[-1], rtol=1e-12)
    np.testing.assert_allclose(v, motion.v[-1], rtol=1e-11)


@pytest.mark.compiled
@pytest.mark.parametrize("base", ["integral", "limits"])
def test_the_example_runs_under_sanitizers(base: str, tmp_path: Path) -> None:
    controller = Saturation(MotorLag(Delay(SampleAndHold(BASES[base](), 0.004), 0.006), 0.003), 12.0)
    folder = tmp_path / "law"
    export(controller, folder, period=STEP, with_plant=ROBOT, q0=[0.3, 0.5], v0=[0.8, 0.1], step=STEP)
    sources, flags = ["main.c", "law.c", "law_plant.c"], [*STRICT, "-g", "-fsanitize=address,undefined"]
    flags += ["-fno-sanitize-recover=all"]
    subprocess.run([COMPILERS[0], *flags, *sources, "-o", "example", "-lm"], cwd=folder, check=True)
    said = subprocess.run(["./example"], cwd=folder, check=True, capture_output=True, text=True).stdout
    assert "after 1000 steps of the closed loop" in said


@pytest.mark.parametrize(
    ("build", "options", "message"),
    [
        (lambda law: Delay(law, 0.01), {}, "memory from sample to sample, which requires period="),
        (lambda law: Noise(law, q=1e-3), {"period": 0.01}, "draws random numbers \\(Noise\\)"),
        (lambda law: SampleAndHold(law, 0.002), {"period": 0.01}, "it ticks every 0.002 s, but the period is 0.01 s"),
        (lambda law: Delay(law, 0.01), {"period": -1.0}, "period must be greater than zero"),
    ],
)
def test_what_c_cannot_carry_is_named(
    build: Callable[[Controller], Controller], options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises((BridgeError, ValueError), match=message):
        export(build(BASES["program"]()), tmp_path / "law", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "law").exists()
