"""Report of ``erugin derive``: the papers' claims about deriving equations of motion, measured on this machine."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..robots.formulations import FORMULATIONS
from ..robots.hamiltonian import LegendreRow, compare_legendre, fewest_multiplications
from ..simulation.storage.atomic_file import write_whole
from ..views.style import label_axes, new_figure
from .derivation_costs import FAMILIES, PAPER_SECONDS, RIGID, Cost, derivation_costs

MARKERS = "osD^v"


def draw_derivation(family: str, costs: Sequence[Cost], rows: Sequence[LegendreRow], target: Path) -> None:
    """Draw three panels: time to derive, operations to evaluate, and the Legendre solvers.

    Args:
        family: name of the robot.
        costs: costs for several numbers of links.
        rows: results of the Legendre solvers; may be empty.
        target: path of the file.
    """
    figure = new_figure(12.0, 4.2)
    panels: list[Axes] = list(figure.subplots(1, 3, squeeze=False)[0])
    names = list(dict.fromkeys(cost.formulation for cost in costs))
    for name, marker in zip(names, itertools.cycle(MARKERS), strict=False):
        own = [cost for cost in costs if cost.formulation == name]
        links = [cost.links for cost in own]
        panels[0].loglog(links, [1e3 * cost.seconds for cost in own], marker=marker, markersize=4, label=name)
        panels[1].loglog(links, [cost.motion for cost in own], marker=marker, markersize=4, label=name)
    for solver, marker in zip(dict.fromkeys(row.solver for row in rows), itertools.cycle(MARKERS), strict=False):
        chosen = [row for row in rows if row.solver == solver]
        numbers = [row.n for row in chosen]
        panels[2].loglog(numbers, [row.multiplications for row in chosen], marker=marker, markersize=4, label=solver)
    titles = (f"{family}: deriving M and h", f"{family}: evaluating the acceleration", "Legendre transform of a chain")
    labels = ("time [ms]", "arithmetic operations", "multiplications per step")
    for axes, title, label in zip(panels, titles, labels, strict=True):
        axes.set_title(title, fontsize=10)
        label_axes(axes, label, xlabel="number of links")
        ticks = sorted({cost.links for cost in costs})
        axes.set_xticks(ticks, [str(n) for n in ticks])
        axes.minorticks_off()
    for axes in panels[1:]:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=8, frameon=False)
    figure.savefig(target)


COUNTS = (1, 2, 3, 5, 8, 12, 20, 30)
"""Numbers of links of the growth tables, up to the requested one."""

PICTURE = "derivation.png"
PAPER_LINKS = 3
ROUNDS = 9
FEW = 8
"""Largest number of links for which each derivation is timed ``ROUNDS`` times, otherwise once."""

NOISE = 1.25
"""Ratio of times below which this command cannot distinguish them."""

LEGENDRE_STEP, LEGENDRE_STEPS, LEGENDRE_TOLERANCE = 1e-3, 5, 1e-4


def derive(console: Console, family: str, links: int, up_to: int, out: Path, *, equations: bool) -> None:
    """Print the comparison, and draw it.

    Args:
        console: console to print on.
        family: key of ``FAMILIES``.
        links: number of links of the table of single methods.
        up_to: largest number of links of the growth tables.
        out: an existing folder for the picture.
        equations: True to print the equations for ``links`` links, too.

    Raises:
        ModelError: for an unknown robot or a number below one.
    """
    detail = derivation_costs(family, [links], rounds=ROUNDS)
    if equations:
        console.print(str(FAMILIES[family](links, FORMULATIONS[0]).equations()), markup=False, soft_wrap=True)
        console.print()
    console.print(f"{family}, {_links(links)}: M(q) and h(q, v) as expressions, ready to evaluate")
    console.print(methods(detail, family, links))
    if family == "exoskeleton" and links == PAPER_LINKS:
        console.print("(2015: Chigarev & Borisov's table 2, Mathematica)")
    counts = [n for n in COUNTS if n < up_to] + [up_to]
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("deriving", total=1.0)
        short = [n for n in counts if n <= FEW]
        growth = derivation_costs(family, short, rounds=ROUNDS)
        growth += derivation_costs(
            family,
            [n for n in counts if n > FEW],
            rounds=1,
            progress=lambda share: progress.update(task, completed=0.8 * share),
        )
        rows = compare_legendre(
            [n for n in counts if n > 1],
            link=RIGID,
            step=LEGENDRE_STEP,
            steps=LEGENDRE_STEPS,
            tolerance=LEGENDRE_TOLERANCE,
            angle=0.5,
        )
        progress.update(task, completed=1.0)
    console.print("\nMilliseconds to derive M and h")
    console.print(growth_table(growth, lambda cost: f"{1e3 * cost.seconds:.0f}"))
    console.print("\nOperations to evaluate M and h")
    console.print(growth_table(growth, lambda cost: str(cost.operations)))
    console.print("\nOperations to evaluate the acceleration")
    console.print(growth_table(growth, lambda cost: str(cost.motion)))
    if rows:
        console.print(
            f"\nLegendre transform of a falling chain to {LEGENDRE_TOLERANCE:g} rad/s, {LEGENDRE_STEPS} steps of "
            f"{LEGENDRE_STEP:g} s, each from the velocities of the last (* the error exceeds that; Factored eliminates "
            "along the chain): multiplications"
        )
        console.print(legendre_table(rows, lambda row: f"{row.multiplications:.0f}"))
        console.print("\nIterations per step")
        console.print(legendre_table(rows, lambda row: f"{row.iterations:.0f}"))
    console.print()
    for sentence in (*derivation_claims(detail, growth), *legendre_claims(rows)):
        console.print(f"- {sentence}", markup=False, soft_wrap=True)
    write_whole(out / PICTURE, lambda path: draw_derivation(family, growth, rows, path))
    console.print(f"{out}: {PICTURE}", markup=False, soft_wrap=True)


def methods(costs: Sequence[Cost], family: str, links: int) -> Table:
    """Build a table with one row per formulation, with the seconds of the paper where available.

    Args:
        costs: costs for one number of links.
        family: key of ``FAMILIES``.
        links: number of links.
    """
    papers = family == "exoskeleton" and links == PAPER_LINKS
    headings = ["formulation", "differentiated", "eliminated", "ready, ms", "× ÷ √", "+ −", "sin …"]
    table = Table(*headings, *(["2015, s"] if papers else []), box=None, pad_edge=False)
    formulations = {formulation.name: formulation for formulation in FORMULATIONS}
    for cost in costs:
        formulation = formulations[cost.formulation]
        row = [cost.formulation, formulation.differentiates, formulation.eliminates, f"{1e3 * cost.seconds:.1f}"]
        counts = cost.evaluation
        row += [str(counts.multiplications), str(counts.additions), str(counts.functions)]
        if papers:
            row.append(f"{PAPER_SECONDS[cost.formulation]:g}" if cost.formulation in PAPER_SECONDS else "–")
        table.add_row(*row)
    return table


def growth_table(costs: Sequence[Cost], cell: Callable[[Cost], str]) -> Table:
    """Build a table with one row per formulation and one column per number of links.

    Args:
        costs: costs for several numbers of links.
        cell: function that formats one entry.
    """
    links = list(dict.fromkeys(cost.links for cost in costs))
    table = Table("links", *map(str, links), box=None, pad_edge=False)
    for name in dict.fromkeys(cost.formulation for cost in costs):
        table.add_row(name, *(cell(cost) for cost in costs if cost.formulation == name))
    return table


def legendre_table(rows: Sequence[LegendreRow], cell: Callable[[LegendreRow], str]) -> Table:
    """Build a table with one row per solver and one column per number of links.

    Args:
        rows: results of ``compare_legendre``.
        cell: function that formats one entry.
    """
    links = list(dict.fromkeys(row.n for row in rows))
    table = Table("links", *map(str, links), box=None, pad_edge=False)
    for solver in dict.fromkeys(row.solver for row in rows):
        table.add_row(solver, *(cell(row) + ("" if row.accurate else "*") for row in rows if row.solver == solver))
    return table


def derivation_claims(detail: Sequence[Cost], growth: Sequence[Cost]) -> list[str]:
    """Compare the claims of [ChigarevBorisov2015]_ with the measurements, in sentences.

    Args:
        detail: costs for one number of links.
        growth: costs for several numbers of links.
    """
    four = [cost for cost in detail if cost.formulation in PAPER_SECONDS]
    fastest, slowest = min(four, key=lambda c: c.seconds), max(four, key=lambda c: c.seconds)
    recurrent = next(cost for cost in four if cost.formulation == "recurrent method")
    second = min(cost.seconds for cost in four if cost is not recurrent)
    apart = max(recurrent.seconds, second) / min(recurrent.seconds, second)
    held = "is within the noise" if apart < NOISE else "holds" if fastest is recurrent else "does not hold"
    times = {cost.formulation: f"{1e3 * cost.seconds:.1f} ms" for cost in (fastest, recurrent, slowest)}
    sentences = [
        "Chigarev & Borisov (2015): of their four methods the recurrent one is the fastest. At "
        f"{_links(recurrent.links)} this {held} here: {', '.join(f'{name} {ms}' for name, ms in times.items())}. Their "
        f"spread was a factor of 86, here it is {slowest.seconds / fastest.seconds:.1f}: nothing is simplified "
        "symbolically any more."
    ]
    last, first = max(cost.links for cost in growth), 8
    at_end = [cost for cost in growth if cost.links == last]
    at_start = {cost.formulation: cost for cost in growth if cost.links == first}
    if last > first and at_start:
        slopes = {
            c.formulation: math.log(c.operations / at_start[c.formulation].operations, last / first) for c in at_end
        }
        powers = [f"{name} n^{slope:.1f}" for name, slope in slopes.items()]
        sentences.append(
            "They describe the growth with the number of links as almost exponential. Here it is a power: the "
            f"operations of M and h grow from {first} to {last} links like {', '.join(powers)}."
        )
    least = min(at_end, key=lambda c: c.motion)
    sentences.append(
        f"At {_links(last)} the fewest operations for the acceleration are {least.motion} ({least.formulation}); "
        + ", ".join(f"{cost.formulation} {cost.motion}" for cost in at_end if cost is not least)
        + "."
    )
    return sentences


def legendre_claims(rows: Sequence[LegendreRow]) -> list[str]:
    """Compare the claims of [DunskayaPyatnitsky1996]_ about two iterative methods with the measurements, in sentences.

    Args:
        rows: results of ``compare_legendre``.
    """
    if not rows:
        return []
    last = max(row.n for row in rows)
    ends = {row.solver: row for row in rows if row.n == last}
    residuals, directions = ends["MinimalResiduals, residual"], ends["ConjugateDirections"]
    held = "holds" if residuals.multiplications < directions.multiplications else "does not hold"
    winners = fewest_multiplications(rows)
    return [
        "Dunskaya & Pyatnitsky (1996): minimal residuals beat conjugate directions, the more so the more links. At "
        f"{_links(last)} this {held} here: {residuals.multiplications:.0f} against {directions.multiplications:.0f} "
        f"multiplications per step; the condition number of A is {residuals.condition:.2g} there.",
        "Fewest multiplications of all: " + ", ".join(f"{winners[n]} at n = {n}" for n in winners) + ".",
    ]


def _links(n: int) -> str:
    return f"{n} link{'s' * (n != 1)}"
