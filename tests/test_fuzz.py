"""Whatever is passed to a public function, it is taken, or refused by an error of Erugin's own.

Valid calls are harvested from the documents and from ``fuzzing``; then one argument at a time is replaced. For longer
runs set ERUGIN_FUZZ to the number of changes of each entry, ERUGIN_FUZZ_SEED to another seed and ERUGIN_FUZZ_SECONDS to
the seconds that each of the two processes has for them; ERUGIN_FUZZ_ONLY keeps to entries with that text in their
names.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from enum import Enum
from typing import Any

import pytest

from erugin.controllers.wrappers import Wrapper
from erugin.robots.hamiltonian import LegendreTransform, QuadraticForm
from erugin.scenarios import Distribution, Scenario
from erugin.simulation import Integrator, Metric

from .support.fuzzing import owner_of, public_entries
from .support.project import ROOT

PAGES = (
    "docs/robots.md docs/constraints.md docs/controllers.md docs/servo.md docs/robust.md docs/events.md "
    "docs/scenarios.md docs/integrators.md docs/coordinates.md docs/singular.md docs/casadi.md docs/c.md docs/fmi.md "
    "docs/python-control.md",
    "docs/two_wheel.md docs/bridges.md docs/comparisons.md docs/gymnasium.md docs/fields.md docs/acrobot.md "
    "docs/trajectories.md calls",
)
"""Two processes: pages that take seconds, and calls that no page shows."""

SHOWN_ELSEWHERE = {
    "erugin.scenarios.Results": "docs/studies.md",
    "erugin.scenarios.report.report": "docs/reports.md",
    "erugin.scenarios.report.write_report": "docs/reports.md",
    "erugin.controllers.servo.stable_inversion": "docs/servo.md",
    "erugin.controllers.servo.internal_dynamics": "docs/servo.md",
    "erugin.bridges.cross_check.compare_bridges": "docs/bridges.md",
}
"""Entries of which a single call takes too long, and the page that makes it."""

UNUSED = {
    "erugin.controllers.Controller.advance": "a law without memory takes nothing in",
    "erugin.controllers.ProgramController.advance": "likewise, unless it is bounded",
    "erugin.controllers.wrappers.Fallback.control": "it exists to handle the output of a broken sensor",
    "erugin.controllers.wrappers.Fallback.observe": "likewise",
    "erugin.controllers.wrappers.Fallback.advance": "likewise",
    "erugin.scenarios.comparison.Paired.of": "the metric of a run that failed is NaN, which loses against any other",
}
"""Methods that may be called with NaN, and why."""

PROTOCOL = frozenset(["evaluate", "first", "is_regular", "restore", "true_deviation"])
"""Methods of laws that the library calls with numbers and expressions that ``control`` and its like have checked."""

INNER = (Metric, Distribution, Integrator, Wrapper, QuadraticForm, LegendreTransform)
"""Of these the loops of the library call methods with arrays that they made themselves, of runs that have diverged too:
NaN goes through them as NaN."""


def fuzz(*arguments: str) -> tuple[list[dict[str, str]], set[str], Mapping[str, Any]]:
    """Findings of one process, the entries that it called, and its last report."""
    command = [sys.executable, "-P", "-m", "tests.support.fuzzing", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "MPLBACKEND": "agg"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    output = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert output[0]["failed"] == {}
    return [one for one in output if "kind" in one], set(output[0]["entries"]), output[-1]


def is_excused(finding: Mapping[str, str]) -> bool:
    """True if a method may be called with NaN, or return it."""
    if finding["entry"] in UNUSED:
        return finding["kind"] in ("accepted", "silent NaN")
    owner = owner_of(finding["entry"])
    inner = isinstance(owner, type) and issubclass(owner, INNER)
    return inner and (finding["kind"] == "silent NaN" or (finding["kind"] == "accepted" and "nan" in finding["change"]))


def complaints(findings: list[dict[str, str]]) -> list[str]:
    """Findings that are not excused, one a line."""
    return [
        f"{one['entry']}({one['parameter']} = {one['change']}): {one['kind']} {one['text']} {one['place']}"
        for one in findings
        if not is_excused(one) and not is_protocol(one["entry"])
    ]


def is_protocol(entry: str) -> bool:
    """True for methods of laws that only the library calls."""
    return entry.startswith("erugin.controllers.") and entry.rpartition(".")[2] in PROTOCOL


@pytest.mark.slow
def test_the_fuzzer_finds_what_is_planted() -> None:
    findings, entries, end = fuzz("0", "200", "60", "0/1", "planted")
    found = {(one["entry"].removeprefix("planted."), one["kind"]) for one in findings}
    assert found == {
        ("foreign", "AttributeError"),
        ("leaves", "SystemExit"),
        ("greedy", "MemoryError"),
        ("endless", "hang"),
        ("dies", "crash"),
        ("gullible", "accepted"),
        ("hollow", "silent NaN"),
    }
    assert "planted.sound" in entries
    assert end["judged"] == end["planned"]


@pytest.mark.foreign
def test_a_sample_of_changed_calls_is_refused_by_name() -> None:
    findings, entries, end = fuzz("1", "2", "60", "0/1", "calls")
    assert end["judged"] > 500
    assert len(entries) > 300
    assert not complaints(findings), "\n".join(complaints(findings))


@functools.cache
def run_in_two() -> tuple[list[dict[str, str]], set[str], int]:
    """Findings, entries and number of changed calls of two processes side by side."""
    seed = os.environ.get("ERUGIN_FUZZ_SEED", "0")
    count, seconds = os.environ.get("ERUGIN_FUZZ", "12"), os.environ.get("ERUGIN_FUZZ_SECONDS", "40")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda pages: fuzz(seed, count, seconds, "0/1", *pages.split()), PAGES))
    findings = [one for part in parts for one in part[0]]
    return findings, set().union(*(part[1] for part in parts)), sum(part[2]["judged"] for part in parts)


@pytest.mark.slow
def test_changed_calls_are_taken_or_refused_by_name() -> None:
    findings, _, judged = run_in_two()
    assert judged > 2000
    assert not complaints(findings), "\n".join(complaints(findings))


def reason_not_to_call(entry: str, value: object) -> str:
    """Why nothing can be changed in calls of an entry; empty if something can."""
    if isinstance(value, Scenario):
        return "a Scenario, of which Scenario.prepare is called"
    if isinstance(value, type) and issubclass(value, Enum | BaseException):
        return "values or an error"
    if inspect.isabstract(value) or getattr(value, "_is_protocol", False):
        return "abstract"
    if not inspect.isroutine(value) and not isinstance(value, type):
        return "an alias of types"
    if not inspect.signature(value).parameters:
        return "takes nothing"
    page = SHOWN_ELSEWHERE.get(entry, "")
    if page and entry.rpartition(".")[2] in (ROOT / page).read_text(encoding="utf-8"):
        return f"takes long, see {page}"
    return ""


@pytest.mark.slow
def test_every_public_entry_is_called() -> None:
    _, entries, _ = run_in_two()
    names = {name: value for name, value in public_entries().items() if not isinstance(owner_of(name), type)}
    assert len(names) > 400
    missing = [name for name, value in names.items() if name not in entries and not reason_not_to_call(name, value)]
    where = "tests/support/fuzzing.py, of a bridge in its row of tests/support/bridges.py"
    assert not missing, f"no call of {', '.join(missing)}: add one to a page of docs, or to {where}"
