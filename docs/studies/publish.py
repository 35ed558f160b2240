"""Tables and pictures of the published comparison, written between marks in docs/comparison.md."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from erugin.scenarios import Comparison
from erugin.scenarios.comparison import Estimate
from erugin.scenarios.comparison.tables import duration, number
from erugin.simulation.storage.atomic_file import write_whole

DOCS = Path(__file__).resolve().parent.parent
PAGE, PICTURES = DOCS / "comparison.md", DOCS / "pictures"
OWN = "program control"
METRICS = ("error_rms", "error_max", "clearance", "effort", "variation")
ACCURACY = "error_rms"


def publish(comparison: Comparison, missing: Sequence[str] = ()) -> None:
    """Write the results for one robot.

    Args:
        comparison: results of the laws whose studies are complete.
        missing: names of the other laws.
    """
    pending = f" Not run to the end yet: {', '.join(missing)}." if missing else ""
    stem = f"comparison_{comparison.name.replace('-', '_')}"
    metrics = [metric for metric in METRICS if metric in comparison.quantities]
    comparison.pareto("effort", ACCURACY).plot(PICTURES / f"{stem}_pareto.png")
    comparison.plot(PICTURES / f"{stem}.png", metrics)
    section = "\n\n".join(
        (
            f"{len(comparison.seeds)} seeds for each law.{pending}",
            _medians(comparison, metrics),
            _pairs(comparison),
            _rankings(comparison, metrics),
            f"![distribution of each metric](pictures/{stem}.png)",
            f"![effort against error](pictures/{stem}_pareto.png)",
        )
    )
    page = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {comparison.name} -->", f"<!-- end {comparison.name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", flags=re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"{PAGE} has no marks {begin!r} and {end!r}")
    text = pattern.sub(lambda _: f"{begin}\n{section}\n{end}", page)
    write_whole(PAGE, lambda target: _write(target, text))


def _medians(comparison: Comparison, metrics: list[str]) -> str:
    """Table with a row for each law: rates of success, medians with intervals, time of a tick."""
    rates = {name: rate for name, rate in comparison.rates.items() if name != "settled"}
    columns = [*metrics, "end_time"] if "end_time" in comparison.quantities else metrics
    titles = ["law", *rates, *(comparison.quantities[metric].label for metric in columns), "tick"]
    lines = [titles, ["---"] * len(titles)]
    for law in comparison.controllers:
        shares = [_percent(rate.share(law)) for rate in rates.values()]
        values = [_estimate(comparison.summary(metric, law).median) for metric in columns]
        lines.append([_label(law), *shares, *values, duration(comparison.tick_times[law])])
    return _table(lines)


def _pairs(comparison: Comparison) -> str:
    """Table of program control beside each baseline: accuracy and effort."""
    lines = [["program control beside", "error less in", "median difference [m]", "d_z", "effort less in"]]
    lines.append(["---"] * len(lines[0]))
    for law in comparison.controllers[1:]:
        error, effort = (comparison.pair(metric, OWN, law).paired for metric in (ACCURACY, "effort"))
        chances = [_percent(found.chance) for found in (error, effort)]
        lines.append(
            [law, chances[0], _estimate(error.difference), number(error.effect.value).replace("-", "−"), chances[1]]
        )
    return _table(lines)


def _rankings(comparison: Comparison, metrics: list[str]) -> str:
    """List of the rankings that the intervals support."""
    rankings = [comparison.ranking(metric).text for metric in metrics]
    lines = [f"- {text}." for text in rankings]
    return "\n".join(["Ranks that the intervals of all pairs support simultaneously:", "", *lines])


def _label(law: str) -> str:
    return f"**{law}**" if law == OWN else law


def _percent(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "–"
    return f"{100 * estimate.value:.3g} % ({100 * estimate.low:.3g} … {100 * estimate.high:.3g})"


def _estimate(estimate: Estimate) -> str:
    return f"{number(estimate.value)} ({number(estimate.low)} … {number(estimate.high)})".replace("-", "−")


def _table(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _write(target: Path, text: str) -> None:
    target.write_text(text, encoding="utf-8")
