"""Tables and pictures of the published comparison, written between marks in docs/comparison.md."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erugin.scenarios import Comparison
from erugin.scenarios.comparison import Estimate
from erugin.scenarios.comparison.outcomes import END_TIME, OK
from erugin.scenarios.comparison.paired import Paired
from erugin.scenarios.comparison.proportions import wilson
from erugin.scenarios.comparison.tables import duration, number
from erugin.simulation.storage.atomic_file import write_whole

DOCS = Path(__file__).resolve().parent.parent
PAGE, PICTURES = DOCS / "comparison.md", DOCS / "pictures"
OWN = "program control"
"""Name of the setup's own law; those of its variants begin with it."""
METRICS = ("error_rms", "error_max", "clearance", "effort", "variation")
ACCURACY = "error_rms"


def publish(
    comparison: Comparison,
    missing: Sequence[str] = (),
    harder: Mapping[str, Comparison] | None = None,
    longest: float = math.inf,
) -> None:
    """Write the results for one robot.

    Args:
        comparison: results of the laws whose studies are complete.
        missing: names of the other laws.
        harder: results under harder conditions, by description.
        longest: duration after which a run ends that has not arrived [s]; infinite for tasks without an end.
    """
    pending = f" Not run to the end yet: {', '.join(missing)}." if missing else ""
    stem = f"comparison_{comparison.name.replace('-', '_')}"
    metrics = [metric for metric in METRICS if metric in comparison.quantities]
    comparison.pareto("effort", ACCURACY).plot(PICTURES / f"{stem}_pareto.png")
    comparison.plot(PICTURES / f"{stem}.png", metrics)
    parts = (
        f"{len(comparison.seeds)} seeds for each law.{pending}",
        _medians(comparison, metrics, longest),
        _pairs(comparison),
        _variants(comparison),
        _conditions(harder or {}, longest),
        _rankings(comparison, metrics),
        f"![distribution of each metric](pictures/{stem}.png)",
        f"![effort against error](pictures/{stem}_pareto.png)",
    )
    section = "\n\n".join(filter(None, parts))
    page = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- begin {comparison.name} -->", f"<!-- end {comparison.name} -->"
    pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", flags=re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"{PAGE} has no marks {begin!r} and {end!r}")
    text = pattern.sub(lambda _: f"{begin}\n{section}\n{end}", page)
    write_whole(PAGE, lambda target: _write(target, text))


def _medians(comparison: Comparison, metrics: list[str], longest: float) -> str:
    """Table with a row for each law: rates of success, medians with intervals, least clearance, time of a tick."""
    rates = {name: rate for name, rate in comparison.rates.items() if name != "settled"}
    columns = [*metrics, "end_time"] if "end_time" in comparison.quantities else metrics
    ends, hits = math.isfinite(longest), "clearance" in comparison.quantities
    titles = ["law", *rates, *(["arrives"] if ends else [])]
    titles += [*(comparison.quantities[metric].label for metric in columns), *(["least clearance"] if hits else [])]
    lines = [[*titles, "tick"], ["---"] * (len(titles) + 1)]
    for law in comparison.controllers:
        shares = [_percent(rate.share(law)) for rate in rates.values()]
        shares += [_percent(_arrivals(comparison, law, longest))] if ends else []
        values = [_estimate(comparison.summary(metric, law).median) for metric in columns]
        values += [_least(comparison, law)] if hits else []
        tick = comparison.tick_times.get(law)
        lines.append([_label(law), *shares, *values, "–" if tick is None else duration(tick)])
    return _table(lines)


def _pairs(comparison: Comparison) -> str:
    """Table of program control beside each baseline: accuracy, effort and smoothness."""
    titles = [f"{OWN} beside", "error less in", "median difference [m]", "d_z", "effort less in", "variation less in"]
    touched = "clearance" in comparison.quantities
    titles += ["error less in, a touch being the worst"] if touched else []
    lines = [titles, ["---"] * len(titles)]
    for law in _rivals(comparison):
        error, effort, variation = (
            comparison.pair(metric, OWN, law).paired for metric in (ACCURACY, "effort", "variation")
        )
        effect = number(error.effect.value).replace("-", "−")
        shares = [_percent(each.chance) for each in (effort, variation)]
        if touched:
            first, second = (_untouched(comparison, name) for name in (OWN, law))
            shares.append(_percent(Paired.of(first, second, "less", comparison.confidence).chance))
        lines.append([law, _percent(error.chance), _estimate(error.difference), effect, *shares])
    return _table(lines)


def _variants(comparison: Comparison) -> str:
    """Table of all variants of program control beside each baseline; empty if there is one only."""
    variants = [law for law in comparison.controllers if law.startswith(OWN)]
    if len(variants) == 1:
        return ""
    lines = [["error less than that of", *variants], ["---"] * (1 + len(variants))]
    for law in _rivals(comparison):
        found = [comparison.pair(ACCURACY, variant, law).paired for variant in variants]
        lines.append([law, *(f"{_percent(each.chance)}; {_millimetres(each.difference.value)}" for each in found)])
    return f"{_table(lines)}\n\nShare of the pairs, and median difference."


def _conditions(harder: Mapping[str, Comparison], longest: float) -> str:
    """Table of all laws under harder conditions; empty without such conditions."""
    if not harder:
        return ""
    laws = dict.fromkeys(law for each in harder.values() for law in each.controllers)
    lines = [["law", *harder], ["---"] * (1 + len(harder))]
    for law in laws:
        lines.append([_label(law), *(_condition(each, law, longest) for each in harder.values())])
    seeds = " and ".join(dict.fromkeys(str(len(each.seeds)) for each in harder.values()))
    caption = (
        f"{seeds} seeds. Shares of the runs that arrive, and that stay clear; median error; least clearance of all "
        f"runs; share of the pairs in which the error of {OWN} is less."
    )
    return f"{_table(lines)}\n\n{caption}"


def _condition(comparison: Comparison, law: str, longest: float) -> str:
    if law not in comparison.controllers:
        return "–"
    parts: list[str] = []
    if math.isfinite(longest):
        parts.append(_short(_arrivals(comparison, law, longest)))
    if "clear" in comparison.rates:
        parts.append(_short(comparison.rates["clear"].share(law)))
    parts.append(_millimetres(comparison.summary(ACCURACY, law).median.value))
    if "clearance" in comparison.quantities:
        parts.append(_least(comparison, law))
    if law != OWN:
        parts.append(f"**{_short(comparison.pair(ACCURACY, OWN, law).paired.chance)}**")
    return ", ".join(parts)


def _rivals(comparison: Comparison) -> list[str]:
    return [law for law in comparison.controllers if not law.startswith(OWN)]


def _arrivals(comparison: Comparison, law: str, longest: float) -> Estimate:
    """Share of the runs that ended before the longest time, which are those that reached the end of the path."""
    results = comparison.results[law]
    arrived = np.asarray(results[OK], dtype=np.bool_) & (np.asarray(results[END_TIME]) < longest - 1e-6)
    return wilson(int(np.count_nonzero(arrived)), len(arrived), comparison.confidence)


def _untouched(comparison: Comparison, law: str) -> NDArray[np.float64]:
    """Error of each run, NaN for those that touch an obstacle."""
    return np.where(comparison.rates["clear"].flags[law], comparison.values(ACCURACY, law), np.nan)


def _least(comparison: Comparison, law: str) -> str:
    """Least clearance of all runs, those included that had to stop."""
    return _millimetres(float(np.nanmin(comparison.results[law]["clearance"])))


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


def _short(estimate: Estimate) -> str:
    return f"{100 * estimate.value:.3g} %"


def _millimetres(value: float) -> str:
    return f"{1e3 * value:.3g} mm".replace("-", "−") if math.isfinite(value) else "∞"


def _estimate(estimate: Estimate) -> str:
    return f"{number(estimate.value)} ({number(estimate.low)} … {number(estimate.high)})".replace("-", "−")


def _table(lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _write(target: Path, text: str) -> None:
    target.write_text(text, encoding="utf-8")
