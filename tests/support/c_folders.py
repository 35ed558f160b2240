"""Laws that are exported as C, compiled, and called on many states at once, beside CasADi's own evaluation of them."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.bridges.c import CFolder, export
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Reference
from erugin.controllers.baselines import ComputedTorque
from erugin.controllers.status import tick_status
from erugin.robots.examples import four_bar
from erugin.scenarios.catalogue import seven_joint_arm, two_link_arm

from .arms import disc_program, three_link_arm
from .mechanisms import bar

Array = NDArray[np.float64]
Flags = NDArray[np.int32]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
COMPILERS = tuple(name for name in ("gcc", "clang") if shutil.which(name)) or ("cc",)
UNTOUCHED = -77.0
"""What is in u before a tick."""

DRIVER = """
#include "NAME.h"

void run(int rows, const double *p, const double *t, const double *q, const double *v, double *u, int *status);

void run(int rows, const double *p, const double *t, const double *q, const double *v, double *u, int *status)
{
    NAME_parameters parameters;
    int i;
    for (i = 0; i < UPPER_NP; ++i)
        parameters.value[i] = p[i];
    for (i = 0; i < rows; ++i)
        status[i] = NAME_tick(&parameters, t[i], q + i*UPPER_NQ, v + i*UPPER_NV, u + i*UPPER_NU);
}
"""


def two_link() -> Controller:
    controller = two_link_arm.two_link_arm_moving_obstacle.prepare({}).controller
    assert controller is not None
    return controller


def seven_joints() -> Controller:
    controller = seven_joint_arm.seven_joint_arm_on_a_sphere.prepare({}).controller
    assert controller is not None
    return controller


def computed_torque() -> Controller:
    arm = three_link_arm()
    return ComputedTorque(arm, Reference.of(arm, ca.vertcat(0.3, 0.5, -0.4) + 0.2 * (1 - ca.cos(3.0 * arm.t))))


def driven_four_bar() -> Controller:
    robot = four_bar(bar(0.4, 1.0), bar(1.2, 2.0), bar(0.9, 1.5), ground=(1.1, 0.0), inputs=("crank",))
    crank = holonomic(robot.q[0] - 2.0 * robot.t, perturbation=Baumgarte(10.0), name="crank")
    return ProgramController(Program(robot, [crank]), realization="actuated")


def ideal() -> Controller:
    return ProgramController(disc_program())


LAWS: dict[str, Callable[[], Controller]] = {
    "two-link field law": two_link,
    "seven-joint arm": seven_joints,
    "computed torque": computed_torque,
    "four-bar": driven_four_bar,
    "ideal": ideal,
}


@functools.cache
def controller_of(law: str) -> Controller:
    """A law of the table, made once."""
    return LAWS[law]()


def compiled(sources: Sequence[Path], target: Path, *flags: str, compiler: str = COMPILERS[0]) -> str:
    """Compile, without any warning; returns what the compiler says."""
    libraries = [] if "-c" in flags else ["-lm"]
    command = [compiler, *STRICT, *flags, *map(str, sources), "-o", str(target), *libraries]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    return answer.stderr


@dataclass(frozen=True, eq=False)
class CompiledLaw:
    """An exported law as a library.

    Attributes:
        controller: that was exported.
        written: what was written.
        library: loaded.
    """

    controller: Controller
    written: CFolder
    library: ctypes.CDLL

    @classmethod
    def of(cls, controller: Controller, folder: Path, *, saturate: bool = False) -> CompiledLaw:
        """Export and compile."""
        written = export(controller, folder / "exported", saturate=saturate)
        driver = folder / "driver.c"
        driver.write_text(DRIVER.replace("NAME", written.name).replace("UPPER", written.name.upper()), encoding="utf-8")
        target, source = folder / "law.so", written.folder / f"{written.name}.c"
        compiled([source, driver], target, "-O1", "-shared", "-fPIC", f"-I{written.folder}")
        return cls(controller, written, ctypes.CDLL(str(target)))

    def __call__(self, t: Array, q: Array, v: Array, p: Array) -> tuple[Array, Flags]:
        """Outputs and statuses, one row for each state."""
        rows = len(t)
        size = (
            self.controller.robot.coordinates.nv if self.controller.applies_force else self.controller.robot.u.numel()
        )
        u, status = np.full((rows, size), UNTOUCHED), np.zeros(rows, dtype=np.int32)
        arrays = [np.ascontiguousarray(array, dtype=np.float64) for array in (p, t, q, v)]
        given = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, u, status)]
        self.library.run(ctypes.c_int(rows), *given)
        return u, status


@functools.cache
def compiled_law(law: str) -> CompiledLaw:
    """A law of the table, exported and compiled once; what is loaded outlives its file."""
    with tempfile.TemporaryDirectory() as folder:
        return CompiledLaw.of(controller_of(law), Path(folder))


def expected(controller: Controller, t: Array, q: Array, v: Array, p: Array) -> tuple[Array, Flags]:
    """Outputs and statuses by CasADi's evaluation of the law and the judgement of Python."""
    law, c = controller.law, controller.robot.coordinates
    assert law is not None
    outputs = [ca.densify(law.output), ca.densify(law.relative_pivots)]
    function = ca.Function("law", [c.t, c.q, c.v, controller.parameters.symbols], outputs)
    found = function.call([ca.DM(t).T, ca.DM(q).T, ca.DM(v).T, ca.DM(p)])
    output, pivots = (np.array(each.full()).T for each in found)
    judged = [
        int(tick_status(bool(np.isfinite(u).all()), row, controller.tolerance))
        for u, row in zip(output, pivots, strict=True)
    ]
    return output, np.array(judged, dtype=np.int32)


def states(controller: Controller, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
    """Random times, coordinates and velocities, and parameters near the nominal ones."""
    c, rng = controller.robot.coordinates, np.random.default_rng(seed)
    p = controller.parameters.values()
    near = np.where(np.abs(p) == 1.0, p, p * rng.uniform(0.95, 1.05, p.size))
    times, q, v = rng.uniform(0.0, 10.0, rows), rng.uniform(-3.0, 3.0, (rows, c.nq)), rng.normal(0.0, 1.5, (rows, c.nv))
    return times, q, v, controller.parameters.values(near)


SAMPLED_DRIVER = """
#include "law.h"

void run(int rows, const double *t, const double *q, const double *v, double *u, int *status);

void run(int rows, const double *t, const double *q, const double *v, double *u, int *status)
{
    law_parameters parameters;
    MEMORY
    int i;
    law_parameters_nominal(&parameters);
    INITIAL
    for (i = 0; i < rows; ++i) {
        SAMPLE
        status[i] = law_tick(&parameters, POINTER t[i], q + i*LAW_NQ, v + i*LAW_NV, u + i*LAW_NU);
    }
}
"""


def sampled_in_c(
    controller: Controller, folder: Path, period: float, times: Array, q: Array, v: Array
) -> tuple[Array, NDArray[np.int32]]:
    """Outputs and statuses at samples, by the compiled export of a law that may have a memory."""
    export(controller, folder, period=period)
    driver = SAMPLED_DRIVER
    remembers = {"MEMORY": "law_memory memory;", "INITIAL": "law_memory_initial(&memory);", "POINTER": "&memory,"}
    remembers["SAMPLE"] = "law_sample(&parameters, t[i], q + i*LAW_NQ, v + i*LAW_NV, &memory);"
    for word, text in remembers.items():
        driver = driver.replace(word, text if controller.has_memory else "")
    (folder / "driver.c").write_text(driver)
    library = folder / "liblaw.so"
    flags = [*STRICT, "-O2", "-ffp-contract=off", "-fPIC", "-shared"]
    subprocess.run([COMPILERS[0], *flags, "driver.c", "law.c", "-o", library, "-lm"], cwd=folder, check=True)
    size = controller.robot.u.numel()
    u, status = np.zeros((len(times), size)), np.zeros(len(times), dtype=np.int32)
    pointers = [
        array.ctypes.data_as(ctypes.c_void_p)
        for array in (times, np.ascontiguousarray(q), np.ascontiguousarray(v), u, status)
    ]
    ctypes.CDLL(str(library)).run(len(times), *pointers)
    return u, status
