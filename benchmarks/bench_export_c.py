"""Laws that are exported as C: what a tick costs, and how far its worst is from its usual time.

Each law is written by ``bridges.c.export``, compiled with ``-std=c99 -O2``, and called at a million random states, each
tick timed alone by the monotonic clock; then all over again, five times in all, so that no state follows itself.

- "Tick" is the median of the single ticks, with the clock's own time in it, about 25 ns.
- "By the clock" is the slowest single tick, and "over 3×" how many of a million single ticks take more than three
  medians: interrupts and other processes, for on this machine nothing keeps them away.
- "Three of five" is how many states take more than three medians in three passes or more: those of which the law
  itself is to blame. What strikes at random hits one at most so often.
- "Worst tick" is the slowest state by the least of its five times: how much the work depends on the state.
- "After other work" is the median of ticks before each of which 16 MiB of other memory are written: code and tables
  come from memory then. In a slow loop that is the usual tick.

- "Instructions" is the largest number of machine instructions of a tick over the median number, counted by Valgrind at
  a thousand states where that is installed. It uses no clock, and other load on the machine has no effect.

Times but the first, and instructions, are multiples of the median.

    python benchmarks/bench_export_c.py [--small] [--write]
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import casadi as ca
from harness.rounds import number
from harness.script import Options, conclude, options
from harness.table import Cell, Column, Table

from erugin.bridges.c import CFolder, export
from erugin.constraints import Baumgarte, holonomic
from erugin.controllers import Controller, Program, ProgramController, Reference
from erugin.controllers.baselines import ComputedTorque
from erugin.robots import Link, planar_manipulator
from erugin.robots.examples import four_bar
from erugin.scenarios import Scenario
from erugin.scenarios.catalogue import seven_joint_arm_on_a_sphere, two_link_arm_moving_obstacle
from erugin.symbolic.compiler import Compiler, find_compiler

STATES, PASSES, COLD = 1_000_000, 5, 300
MAIN = r"""
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

static double least[STATES], taken[STATES], sorted[STATES], cold[COLD], kept;
static unsigned char slow[STATES];
static volatile unsigned char other[16 << 20];
static int fine;

/* The time of one tick at the state that comes next. */
static double ask(const law_parameters *parameters)
{
    double q[LAW_NQ], v[LAW_NV], u[LAW_NU] = {0.0}, began, ended;
    const double t = drawn(0.0, 10.0);
    int i, status;
    for (i = 0; i < LAW_NQ; ++i)
        q[i] = drawn(-3.0, 3.0);
    for (i = 0; i < LAW_NV; ++i)
        v[i] = drawn(-2.0, 2.0);
    began = now();
    status = law_tick(parameters, t, q, v, u);
    ended = now();
    fine += status == LAW_OK;
    kept += u[0];
    return ended - began;
}

static double median_of(const double *times, int count)
{
    int i;
    for (i = 0; i < count; ++i)
        sorted[i] = times[i];
    qsort(sorted, (size_t)count, sizeof(double), upwards);
    return sorted[count/2];
}

int main(void)
{
    law_parameters parameters;
    double median, sum = 0.0, worst = 0.0;
    int i, pass, over = 0, often = 0;
    size_t k;
    law_parameters_nominal(&parameters);
    for (pass = 0; pass < PASSES; ++pass) {
        /* Other states first, so that caches hold what a tick needs. */
        for (i = 0; i < 1000; ++i)
            ask(&parameters);
        state = 88172645463325252ULL;
        fine = 0;
        for (i = 0; i < STATES; ++i)
            taken[i] = ask(&parameters);
        median = median_of(taken, STATES);
        sum += median;
        for (i = 0; i < STATES; ++i) {
            if (!pass || taken[i] < least[i])
                least[i] = taken[i];
            if (taken[i] > worst)
                worst = taken[i];
            slow[i] = (unsigned char)(slow[i] + (taken[i] > 3.0*median));
            over += taken[i] > 3.0*median;
        }
    }
    for (i = 0; i < STATES; ++i)
        often += slow[i] >= 3;
    printf("%.17g ", (double)fine/STATES);
    for (i = 0; i < COLD; ++i) {
        for (k = 0; k < sizeof other; k += 64)
            ++other[k];
        cold[i] = ask(&parameters);
    }
    median = median_of(least, STATES);
    printf("%.17g %.17g %.17g %.17g %d ", sum/PASSES, sorted[STATES - 1]/median, worst, 1e6*over/STATES/PASSES, often);
    printf("%.17g %.17g\n", median_of(cold, COLD), kept);
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
    """The exported folder, the stack of a tick reported by the compiler [bytes], and the output of the program."""
    toolchain = find_compiler()
    if not isinstance(toolchain, Compiler):
        raise RuntimeError(toolchain)
    written, main = export(controller, folder / "law"), folder / "main.c"
    main.write_text(MAIN, encoding="utf-8")
    flags = ["-std=c99", "-O2", "-ffp-contract=off", f"-DSTATES={states}", f"-DPASSES={PASSES}", f"-DCOLD={COLD}"]
    flags.append(f"-I{written.folder}")
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


def instructions(folder: Path) -> float | None:
    """Instructions of the longest tick over those of the usual one, by Valgrind; None without it."""
    valgrind, counts = shutil.which("valgrind"), folder / "counts"
    if valgrind is None:
        return None
    toolchain = find_compiler()
    if not isinstance(toolchain, Compiler):
        raise RuntimeError(toolchain)
    few = ["-std=c99", "-O2", "-DSTATES=100", "-DPASSES=1", "-DCOLD=1", f"-I{folder / 'law'}"]
    _run([*toolchain.command, *few, str(folder / "law.o"), str(folder / "main.c"), "-o", str(folder / "few"), "-lm"])
    counts.mkdir()
    watched = ["--toggle-collect=law_tick", "--dump-after=law_tick", f"--callgrind-out-file={counts}/count"]
    # Functions of the library are looked up before the first tick, not in it.
    _run([valgrind, "--tool=callgrind", *watched, str(folder / "few")], {"LD_BIND_NOW": "1"})
    totals = [re.search(r"^totals: (\d+)", file.read_text(), re.MULTILINE) for file in counts.iterdir()]
    found = [count for total in totals if total and (count := int(total[1]))]
    if len(found) < 1000:
        raise ArithmeticError(f"Valgrind counted {len(found)} ticks")
    return max(found) / statistics.median(found)


def main(given: Options) -> None:
    states, rows = 1000 if given.small else STATES, list[tuple[Cell, ...]]()
    for name in list(LAWS)[: 2 if given.small else None]:
        with tempfile.TemporaryDirectory() as folder:
            written, stack, found = timed(LAWS[name](), Path(folder), states)
            counted = instructions(Path(folder))
        fine, median, worst, slowest, over, often, cold, _ = found
        if fine < 0.9:
            raise ArithmeticError(f"{name}: only {fine:.0%} of the states have an output")
        row = (name, written.operations, stack, number(median * 1e-3), number(worst), number(slowest / median))
        last = "–" if counted is None else number(counted)
        rows.append((*row, round(over), round(often), number(cold / median), last))
    heads = ["law", "operations", "stack [bytes]", "tick [µs]", "worst tick", "by the clock", "over 3×"]
    heads += ["three of five", "after other work", "instructions"]
    caption = f"{states:,} states, {PASSES} passes; times but the first are multiples of the median."
    conclude(given, [Table("export-c", tuple(map(Column, heads)), tuple(rows), caption)])


def _run(command: list[str], also: Mapping[str, str] | None = None) -> str:
    surroundings = {**os.environ, **(also or {})}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=surroundings)
    if answer.returncode:
        raise RuntimeError(f"{command[0]} failed ({answer.returncode}): {answer.stderr.strip()[-500:]}")
    return answer.stdout


if __name__ == "__main__":
    main(options(__doc__ or ""))
