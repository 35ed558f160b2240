"""Laws that are exported as C: what a tick costs, and how far its worst is from its usual time.

Each law is written by ``bridges.c.export``, compiled with ``-std=c99 -O2``, and asked at a million random states, five
times at each, every tick timed alone by the monotonic clock. The slowest of all first ticks has in it whatever else the
machine did meanwhile, "worst tick". The least of the five has not; a state that has taken more than 1.2 of the median
even so is asked two hundred times more. "Worst state" is the largest of what is left over the median, and tells how
much the work itself depends on the state.

    python benchmarks/bench_export_c.py [--small] [--write]
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import casadi as ca
from harness.rounds import number
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table

from erugin.bridges.c import CFolder, export
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Reference
from erugin.controllers.rivals import ComputedTorque
from erugin.robots import Link, planar_manipulator
from erugin.robots.examples.four_bar import four_bar
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.scenarios.scenario import Scenario
from erugin.symbolic.toolchain import Toolchain, find_toolchain

STATES, AGAIN = 1_000_000, 5
MAIN = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "law.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec*1e9 + (double)t.tv_nsec;
}

static int upwards(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static unsigned long long state = 88172645463325252ULL;

static double drawn(double low, double high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (high - low)*(double)(state >> 11)*0x1p-53;
}

static double least[STATES], sorted[STATES], first[STATES], kept;
static unsigned long long seeds[STATES];
static int fine;

/* The first and the least time of some ticks at the state that comes next. */
static void ask(const law_parameters *parameters, int again, double *one, double *shortest)
{
    double q[LAW_NQ], v[LAW_NV], u[LAW_NU] = {0.0};
    const double t = drawn(0.0, 10.0);
    int i;
    for (i = 0; i < LAW_NQ; ++i)
        q[i] = drawn(-3.0, 3.0);
    for (i = 0; i < LAW_NV; ++i)
        v[i] = drawn(-2.0, 2.0);
    for (i = 0; i < again; ++i) {
        const double began = now();
        const int status = law_tick(parameters, t, q, v, u);
        const double taken = now() - began;
        fine += status == LAW_OK;
        kept += u[0];
        if (!i)
            *one = taken;
        if (!i || taken < *shortest)
            *shortest = taken;
    }
}

int main(void)
{
    law_parameters parameters;
    double share, median, once, shortest;
    int i;
    law_parameters_nominal(&parameters);
    for (i = 0; i < 1000; ++i)
        ask(&parameters, AGAIN, &once, &shortest);
    fine = 0;
    for (i = 0; i < STATES; ++i) {
        seeds[i] = state;
        ask(&parameters, AGAIN, &first[i], &least[i]);
        sorted[i] = least[i];
    }
    share = fine/((double)AGAIN*STATES);
    qsort(sorted, STATES, sizeof(double), upwards);
    median = sorted[STATES/2];
    for (i = 0; i < STATES; ++i)
        if (least[i] > 1.2*median) {
            state = seeds[i];
            ask(&parameters, 40*AGAIN, &once, &shortest);
            if (shortest < least[i])
                least[i] = shortest;
        }
    qsort(least, STATES, sizeof(double), upwards);
    qsort(first, STATES, sizeof(double), upwards);
    printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g\\n", share, first[STATES/2], first[(int)(STATES*0.9999)],
           first[STATES - 1], median, least[STATES - 1], kept);
    return 0;
}
"""


def of(scenario: Scenario) -> Controller:
    """The controller of a scenario."""
    controller = scenario.prepare({}).controller
    if controller is None:
        raise ValueError(f"{scenario.name} has no controller")
    return controller


def computed_torque() -> Controller:
    """Of three links that swing."""
    arm = planar_manipulator([Link(0.4, 2.0, 0.2, 0.03), Link(0.35, 1.5, 0.15, 0.02), Link(0.3, 1.0, 0.1, 0.01)])
    return ComputedTorque(arm, Reference.of(arm, ca.vertcat(0.3, 0.5, -0.4) + 0.2 * (1 - ca.cos(3.0 * arm.t))))


def driven_four_bar() -> Controller:
    """A crank that turns evenly."""
    bars = [
        Link(length, mass, 0.4 * length, 0.11 * mass * length**2) for length, mass in ((0.4, 1), (1.2, 2), (0.9, 1))
    ]
    robot = four_bar(bars[0], bars[1], bars[2], ground=(1.1, 0.0), inputs=("crank",))
    crank = holonomic(robot.q[0] - 2.0 * robot.t, perturbation=Baumgarte(10.0), name="crank")
    return ProgramController(Program(robot, [crank]), realization="actuated")


LAWS: dict[str, Callable[[], Controller]] = {
    "computed torque, three links": computed_torque,
    "four-bar, crank driven": driven_four_bar,
    "two links, moving obstacle": lambda: of(two_link_arm_moving_obstacle),
    "seven joints on a sphere": lambda: of(seven_joint_arm_on_a_sphere),
}


def timed(controller: Controller, folder: Path, states: int) -> tuple[CFolder, int, list[float]]:
    """What was written, the stack that the compiler says a tick takes [bytes], and what the program printed."""
    toolchain = find_toolchain()
    if not isinstance(toolchain, Toolchain):
        raise RuntimeError(toolchain)
    written, main = export(controller, folder / "law"), folder / "main.c"
    main.write_text(MAIN, encoding="utf-8")
    flags = ["-std=c99", "-O2", "-ffp-contract=off", f"-DSTATES={states}", f"-DAGAIN={AGAIN}", f"-I{written.folder}"]
    objects = [folder / "law.o", folder / "main.o"]
    for source, target in zip((written.folder / "law.c", main), objects, strict=True):
        _run([*toolchain.command, *flags, "-fstack-usage", "-c", str(source), "-o", str(target)])
    _run([*toolchain.command, *map(str, objects), "-o", str(folder / "main"), "-lm"])
    frames = dict[str, int]()
    for line in (folder / "law.su").read_text(encoding="utf-8").splitlines():
        name, size, _ = line.split("\t")
        frames[name.rpartition(":")[2]] = int(size)
    pieces = [size for name, size in frames.items() if name.startswith("law_kernel_")]
    stack = sum(frames.get(name, 0) for name in ("law_tick", "law_tick_in", "law_kernel")) + max(pieces, default=0)
    return written, stack, list(map(float, _run([str(folder / "main")]).split()))


def main(given: Options) -> None:
    states, rows = 1000 if given.small else STATES, list[tuple[Cell, ...]]()
    for name in list(LAWS)[: 2 if given.small else None]:
        with tempfile.TemporaryDirectory() as folder:
            written, stack, (fine, median, rare, worst, usual, largest, _) = timed(LAWS[name](), Path(folder), states)
        if fine < 0.9:
            raise ArithmeticError(f"{name}: only {fine:.0%} of the states have an output")
        shares = [largest / usual, rare / median, worst / median]
        rows.append((name, written.operations, stack, number(median * 1e-3), *map(number, shares)))
    heads = ("law", "operations", "stack [bytes]", "tick [µs]", "worst state", "99.99 %", "worst tick")
    caption = f"{states:,} states, {AGAIN} ticks at each; the last three columns are multiples of the median."
    conclude(given, [Table("export-c", tuple(map(Column, heads)), tuple(rows), caption)])


def _run(command: list[str]) -> str:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise RuntimeError(f"{command[0]} failed ({answer.returncode}): {answer.stderr.strip()[-500:]}")
    return answer.stdout


if __name__ == "__main__":
    main(options(__doc__ or ""))
