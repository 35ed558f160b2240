"""A self-contained HTML report of a study."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...simulation.storage.atomic_file import write_whole
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
    "excluded from means. The rank is given as far as the intervals support it, on the runs that all controllers have "
    "done."
)
SEVERAL_POINTS = (
    "All points are combined. Runs with the same seed have the same randomization at every point and are not "
    "independent of each other, so that the intervals are too narrow."
)
PAIRING = (
    "Median difference: of first − second, with the interval of order statistics. P(first better): share of pairs in "
    "which the first is better, ties counted half, with Tango's interval. d_z: Cohen's, of pairs in which both are "
    "finite. Rank-biserial: of the signed ranks of first − second. p: of the signed-rank test, adjusted by Holm's "
    "method over all lines."
)
ORDER = "Ranks that the intervals support simultaneously for all pairs; an order that they do not support is not given."


@dataclass(frozen=True, eq=False)
class Page:
    """The content of a page.

    Attributes:
        title: title of the page.
        summary: summary of the scenario.
        complete: True if all tasks are done.
        state: completed share, as a sentence.
        description: description of the scenario.
        facts: properties of the study, as names and texts.
        tables: tables of controllers, factors, randomized numbers and metrics.
        file: name of the user's file, or None.
        source: text of the user's file, or None.
        endings: table of how runs ended.
        stops: table of the reasons why runs had to stop.
        reading: explanations of the table of medians.
        medians: table of the medians of each metric and controller.
        left_out: sentences on missing metrics.
        legend: name and line of each controller.
        pictures: pictures, in groups.
        pairing: explanations of the table of pairs.
        pairs: table of the pairs of controllers.
        order_note: explanation of the order.
        orders: order of the controllers, a sentence per metric.
        worst_note: explanation of the table of worst cases.
        worst: table of the worst runs.
        footer: version of Erugin and hash of the study.
    """

    title: str
    summary: str
    complete: bool
    state: str
    description: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[Table, ...]
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
    order_note: str
    orders: tuple[str, ...]
    worst_note: str
    worst: Table
    footer: str

    @classmethod
    def of(cls, gathered: StudyComparisons, path: Path) -> Page:
        """Build the content of the page.

        Args:
            gathered: results of the study.
            path: path of the folder of results, as shown in commands.
        """
        m, together = gathered.results.manifest, gathered.together
        scenario = m["scenario"]
        several = (SEVERAL_POINTS,) if m["points"] > 1 and m["seeds"]["count"] > 1 else ()
        if together is None:
            pairing: tuple[str, ...] = (
                "No two controllers have completed the same runs: there is nothing to compare.",
            )
        else:
            pairing = (PAIRING, *several)
        return cls(
            title=f"Study {m['name']}",
            summary=scenario["summary"],
            complete=gathered.results.complete,
            state=_state(gathered),
            description=_unwrap(scenario["description"].removeprefix(scenario["summary"]).strip()),
            facts=tuple(_facts(m)),
            tables=tuple(_definition_tables(m)),
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
            order_note=ORDER,
            orders=() if together is None else tuple(together.ranking(name).text for name in together.ranked),
            worst_note="The command builds the run again, simulates it, compares its metrics and draws its pictures.",
            worst=worst_table(gathered, path),
            footer=f"Erugin {m['versions']['erugin']}; study {m['hash']}",
        )


def _unwrap(text: str) -> str:
    """Return a docstring without line breaks and code marks; indented parts and lists keep their lines."""
    parts = [part.splitlines() for part in text.replace("``", "").split("\n\n")]
    flows = [all(line[:1] not in (" ", "-", "*") for line in lines) for lines in parts]
    return "\n\n".join((" " if flow else "\n").join(lines) for lines, flow in zip(parts, flows, strict=True))


def _state(gathered: StudyComparisons) -> str:
    m, results = gathered.results.manifest, gathered.results
    failed = len(gathered.endings)
    stopped = f"{failed:,} of them had to stop or could not start"
    if results.complete:
        return f"Complete: {_of(m['runs'], 'run')} in {_of(m['tasks'], 'task')}; {stopped}."
    done = f"{results.done:,} of {_of(m['tasks'], 'task')} done, {gathered.done:,} of {_of(m['runs'], 'run')}"
    return f"Incomplete: {done}; {stopped}. The page shows these runs."


def _of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _facts(m: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    seeds, machine = m["seeds"], m["machine"]
    yield "scenario", f"{m['scenario']['name']}, from {m['scenario']['module']}"
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
    yield "created", m["created"]
    yield "versions", ", ".join(f"{name} {text}" for name, text in m["versions"].items() if text)
    yield "machine", f"{machine['processor']}, {machine['cores']} cores; {machine['system']}"
    yield "compiler", str(machine["compiler"])


def _definition_tables(m: Mapping[str, Any]) -> Iterator[Table]:
    rows = [[Cell(name), Cell(each["text"])] for name, each in m["controllers"].items()]
    yield Table.of("controllers", "Controllers.", ["controller", "source"], rows)
    if m["factors"]:
        factors = [
            [Cell(name), Cell(each["kind"]), Cell(_levels(each)), _count(each)] for name, each in m["factors"].items()
        ]
        yield Table.of(
            "factors", "Factors, which differ between points.", ["factor", "kind", "levels", "number"], factors
        )
    if m["varied"]:
        distributions = [[Cell(name), Cell(text)] for name, text in m["varied"].items()]
        caption = "Numbers that seeds vary, in the same way for all points and controllers."
        yield Table.of("varied", caption, ["name", "distribution"], distributions)
    metrics = [
        [Cell(name), Cell(each["unit"] or "–"), Cell(each["meaning"]), Cell(_better(each))]
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
    return whole(len(factor["levels"])) if "levels" in factor else numeric(math.nan, "sampled")


def _better(metric: Mapping[str, Any]) -> str:
    return "between equal rows only" if metric["own"] else str(metric["better"])


def report(results: Results, *, confidence: float = 0.95, path: Path | None = None) -> str:
    """Build an HTML page: definition of the study, endings, medians, plots, pairwise comparisons, and worst cases.

    Styles, script and pictures are embedded, and nothing is fetched. Names of a study cannot inject code: the page
    allows its own script and style only, by their hashes.

    Args:
        results: results of the study, complete or not.
        confidence: confidence of each interval, in (0, 1).
        path: path of the folder of results, as shown in commands on the page; the path of ``results`` if not given.

    Raises:
        StudyError: if no task is done yet, a file is damaged, or an extra is missing.
        ModelError: for an invalid confidence.
    """
    import_optional("jinja2", "study")
    import jinja2
    from markupsafe import Markup

    required_confidence(confidence)
    if not results.done:
        raise StudyError(f"no task of {str(results.path)!r} is done yet: there is nothing to report")
    style, script = _text("page.css"), _text("page.js")
    # Autoescape regardless of the file name: all values are text.
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
    """Write the page to a file, either completely or not at all.

    Args:
        results: results of the study, complete or not.
        target: path of the page.
        confidence: confidence of each interval, in (0, 1).
        path: path of the folder of results, as shown in commands on the page; the path of ``results`` if not given.

    Raises:
        StudyError: as for :func:`report`, or if the page cannot be written.
    """
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
    """Return the hash of a text in the form used by a content security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"
