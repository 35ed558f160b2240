"""One page about a study, which needs nothing but itself, and all that it says."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...symbolic.errors import StudyError
from ...symbolic.optional_dependencies import import_optional
from ..comparison.estimate import required_confidence
from ..study.results import Results
from .page_pictures import Group, groups, legend, word
from .page_tables import (
    Cell,
    Table,
    endings_table,
    left_out,
    medians_table,
    numeric,
    pairs_table,
    stops_table,
    whole,
    worst_table,
)
from .study_comparisons import StudyComparisons

READING = (
    "A run that had to stop, or has no finite metric, counts as worse than any other in medians and quartiles, and is "
    "left out of means. The place is what the intervals support, on the runs that all controllers have done."
)
SEVERAL_POINTS = (
    "All points are taken together. Runs with the same seed share what seeds vary at every point, so that they are not "
    "independent of each other: the intervals are too narrow by what the points have in common."
)
PAIRING = (
    "Median difference: of first − second, with the interval of order statistics. P(first better): share of pairs in "
    "which the first is better, ties by half, with Tango's interval. d_z: Cohen's, of pairs in which both are finite. "
    "Rank-biserial: of the signed ranks of first − second. p: of the signed-rank test after Holm, of all lines "
    "together."
)
ORDER = "Places that the intervals support for all pairs together; what they do not support is not said."


@dataclass(frozen=True, eq=False)
class Page:
    """What a page says.

    Attributes:
        title: of the page.
        summary: of the scenario.
        complete: whether all tasks are done.
        state: how much is done, as a sentence.
        description: of the scenario.
        facts: names and texts.
        described: tables of what was run.
        file: name of the user's file, or None.
        source: its text, or None.
        endings: how runs ended.
        stops: why they had to stop.
        reading: how medians are read.
        medians: of each metric and controller.
        left_out: which metrics are missing, and why.
        legend: name and line of each controller.
        pictures: in groups.
        pairing: how pairs are read.
        pairs: of controllers.
        order_told: how the order is read.
        orders: a sentence per metric.
        worst_told: what is in the table of worst cases.
        worst: the worst runs.
        footer: what made the page.
    """

    title: str
    summary: str
    complete: bool
    state: str
    description: str
    facts: tuple[tuple[str, str], ...]
    described: tuple[Table, ...]
    file: str | None
    source: str | None
    endings: Table
    stops: Table
    reading: tuple[str, ...]
    medians: Table
    left_out: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    pictures: tuple[Group, ...]
    pairing: tuple[str, ...]
    pairs: Table
    order_told: str
    orders: tuple[str, ...]
    worst_told: str
    worst: Table
    footer: str

    @classmethod
    def of(cls, gathered: StudyComparisons, path: Path) -> Page:
        """Say it.

        Args:
            gathered: the results.
            path: of the folder of results, as commands are to have it.
        """
        m, together = gathered.results.manifest, gathered.together
        scenario = m["scenario"]
        several = (SEVERAL_POINTS,) if m["points"] > 1 and m["seeds"]["count"] > 1 else ()
        if together is None:
            pairing: tuple[str, ...] = ("There are no runs that two controllers have both done: nothing to compare.",)
        else:
            pairing = (PAIRING, *several)
        return cls(
            title=f"Study {m['name']}",
            summary=scenario["summary"],
            complete=gathered.results.complete,
            state=_state(gathered),
            description=_flowing(scenario["description"].removeprefix(scenario["summary"]).strip()),
            facts=tuple(_facts(m)),
            described=tuple(_described(m)),
            file=m["file"],
            source=m["source"],
            endings=endings_table(gathered),
            stops=stops_table(gathered),
            reading=(READING, *several),
            medians=medians_table(gathered),
            left_out=tuple(left_out(gathered)),
            legend=tuple(legend(gathered)),
            pictures=tuple(groups(gathered)),
            pairing=pairing,
            pairs=Table.of("paired", "", [], []) if together is None else pairs_table(together),
            order_told=ORDER,
            orders=() if together is None else tuple(together.ranking(name).text for name in together.ranked),
            worst_told="The command builds the run again, simulates it, compares its metrics and draws its pictures.",
            worst=worst_table(gathered, path),
            footer=f"Erugin {m['versions']['erugin']}; study {m['hash']}",
        )


def _flowing(text: str) -> str:
    """A docstring's text without its line ends and marks of code; what is indented or a list stays as it is."""
    parts = [part.splitlines() for part in text.replace("``", "").split("\n\n")]
    flows = [all(line[:1] not in (" ", "-", "*") for line in lines) for lines in parts]
    return "\n\n".join((" " if flow else "\n").join(lines) for lines, flow in zip(parts, flows, strict=True))


def _state(gathered: StudyComparisons) -> str:
    m, results = gathered.results.manifest, gathered.results
    failed = len(gathered.endings)
    stopped = f"{failed:,} of them had to stop or could not begin"
    if results.complete:
        return f"Complete: {_of(m['runs'], 'run')} in {_of(m['tasks'], 'task')}; {stopped}."
    done = f"{results.done:,} of {_of(m['tasks'], 'task')} done, {gathered.done:,} of {_of(m['runs'], 'run')}"
    return f"Incomplete: {done}; {stopped}. What follows is of these runs."


def _of(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _facts(m: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    seeds, machine = m["seeds"], m["machine"]
    yield "scenario", f"{m['scenario']['name']}, of {m['scenario']['module']}"
    yield "hash of the study", m["hash"]
    points = f"{m['points']:,}" + (f", sampled by {m['sampler']}" if m["sampler"] else "")
    yield "points", points
    first = seeds.get("first")
    numbers = (
        f"{first} … {first + seeds['count'] - 1}" if first is not None else ", ".join(map(str, seeds["numbers"][:20]))
    )
    more = ", …" if first is None and seeds["count"] > 20 else ""
    yield "seeds", f"{seeds['count']:,}: {numbers}{more}"
    yield "runs", f"{m['runs']:,} in {m['tasks']:,} tasks"
    yield "begun", m["created"]
    yield "versions", ", ".join(f"{name} {text}" for name, text in m["versions"].items() if text)
    yield "machine", f"{machine['processor']}, {machine['cores']} cores; {machine['system']}"
    yield "compiler", str(machine["compiler"])


def _described(m: Mapping[str, Any]) -> Iterator[Table]:
    rows = [[Cell(name), Cell(each["text"])] for name, each in m["controllers"].items()]
    yield Table.of("controllers", "Controllers.", ["controller", "where it is from"], rows)
    if m["factors"]:
        factors = [
            [Cell(name), Cell(each["kind"]), Cell(_levels(each)), _count(each)] for name, each in m["factors"].items()
        ]
        yield Table.of(
            "factors", "What is varied from point to point.", ["factor", "kind", "levels", "number"], factors
        )
    if m["varied"]:
        drawn = [[Cell(name), Cell(text)] for name, text in m["varied"].items()]
        yield Table.of("varied", "What seeds vary, in the same way for all.", ["name", "distribution"], drawn)
    metrics = [
        [Cell(name), Cell(each["unit"] or "–"), Cell(each["meaning"]), Cell(_wish(each))]
        for name, each in m["metrics"].items()
    ]
    yield Table.of("measured", "Metrics.", ["metric", "unit", "meaning", "better"], metrics)


def _levels(factor: Mapping[str, Any]) -> str:
    if "levels" not in factor:
        return str(factor["distribution"])
    levels = factor["levels"]
    shown = ", ".join(map(word, levels[:20]))
    return shown if len(levels) <= 20 else f"{shown}, …"


def _count(factor: Mapping[str, Any]) -> Cell:
    return whole(len(factor["levels"])) if "levels" in factor else numeric(math.nan, "of the sampler")


def _wish(metric: Mapping[str, Any]) -> str:
    return "of own rows only" if metric["own"] else str(metric["better"])


def report(results: Results, *, confidence: float = 0.95, path: Path | None = None) -> str:
    """A page of HTML: what was run, how it ended, medians, plots, comparisons in pairs, and the worst cases.

    Styles, script and pictures are in it, nothing is fetched, and nothing that a study is called can become a part of
    the page: the page allows its own script and style only, by their hashes.

    Args:
        results: of the study; those that are done if it is not complete.
        confidence: of each interval.
        path: of the folder of results, as commands on the page are to have it; as it was opened if not given.

    Raises:
        StudyError: if no task is done yet, a file is damaged, or an extra is missing.
        ModelError: for a confidence that is none.
    """
    import_optional("jinja2", "study")
    import jinja2
    from markupsafe import Markup

    required_confidence(confidence)
    if not results.done:
        raise StudyError(f"no task of {str(results.path)!r} is done yet: there is nothing to report")
    style, script = _text("page.css"), _text("page.js")
    # Not autoescape by the file's name: everything that comes in is text.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    page = Page.of(StudyComparisons.of(results, confidence), results.path if path is None else path)
    return environment.from_string(_text("page.html")).render(
        page=page,
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def write_report(results: Results, target: Path, *, confidence: float = 0.95, path: Path | None = None) -> None:
    """Write the page, whole or not at all.

    Args:
        results: of the study.
        target: of the page.
        confidence: of each interval.
        path: of the folder of results, as commands on the page are to have it.

    Raises:
        StudyError: as of :func:`report`, or if the page cannot be written.
    """
    from ...simulation.storage.atomic_file import write_whole

    text = report(results, confidence=confidence, path=path)
    try:
        write_whole(target, lambda file: _write(file, text))
    except OSError as error:
        raise StudyError(f"cannot write {str(target)!r}: {error.strerror or error}") from error


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def _text(name: str) -> str:
    return files(str(__package__)).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """As a page's policy names what may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
