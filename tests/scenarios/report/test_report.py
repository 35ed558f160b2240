"""Reports of studies: what stands on the page, and what becomes of hostile names, unfinished studies and bad input."""

from __future__ import annotations

import html
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from erugin.cli.main import main
from erugin.scenarios import Results
from erugin.scenarios.report import report, write_report
from erugin.scenarios.report.page_pictures import curves
from erugin.scenarios.report.study_comparisons import StudyComparisons
from erugin.symbolic import StudyError

from ...support.report_study import HOSTILE, IMAGE, results
from ...support.study_cases import rewrite_manifest

pytestmark = pytest.mark.usefixtures("terminal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study") / "it's here"
    results(place)
    return place


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return report(Results.open(folder))


def without_tasks(folder: Path, target: Path, kept: range) -> Results:
    """A copy of results of which only some tasks are done."""
    shutil.copytree(folder, target)
    for number in range(24):
        if number not in kept:
            (target / "tasks" / "000000" / f"{number:09d}.parquet").unlink()
    return Results.open(target)


def table(page: str, name: str) -> list[list[str]]:
    """Texts of a table's cells."""
    found = re.search(rf'<table class="sortable" id="{name}">(.*?)</table>', page, re.DOTALL)
    assert found is not None
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in row] for row in cells]


def test_the_page_lists_the_runs_and_their_endings(folder: Path, page: str) -> None:
    opened = Results.open(folder)
    failed = opened.failures.num_rows
    assert 20 < failed < 180
    assert f"Complete: 360 runs in 24 tasks; {failed} of them had to stop or could not start." in page
    for text in (opened.manifest["hash"], opened.manifest["machine"]["processor"], "numpy " + np.__version__):
        assert html.escape(text) in page
    ended = {row[0]: row for row in table(page, "ended")[1:]}
    assert set(ended) == {"slow", HOSTILE, IMAGE}
    rows = opened.to_pandas()
    for name, row in ended.items():
        own = rows[rows["controller"] == name]
        assert row[1:3] == [str(len(own)), str((~own["ok"]).sum())]
    stops = table(page, "stops")[1:]
    assert sum(int(row[2]) for row in stops) == failed
    assert {row[1] for row in stops} == {"DIVERGED"}
    assert all("diverged" in row[4] for row in stops)
    assert "def sled_on_ice" in page


def test_medians_are_those_of_all_runs_with_failures_as_the_worst(folder: Path, page: str) -> None:
    rows = Results.open(folder).to_pandas()
    cells = {(row[0], row[1]): row for row in table(page, "metrics")[1:]}
    for name in ("slow", HOSTILE, IMAGE):
        own = rows[rows["controller"] == name]
        error = np.where(own["ok"], own["error_rms"], np.inf)
        expected, row = float(np.median(error)), cells["error_rms", name]
        shown = f"{expected:.3g}".replace("inf", "∞")
        assert row[2].startswith(f"{shown} [")
        assert row[6] == f"{np.isfinite(error).sum()} of 120"
        mean = float(error[np.isfinite(error)].mean())
        assert float(row[5]) == pytest.approx(mean, rel=5e-3)


def test_pairs_are_of_the_same_point_and_seed(folder: Path, page: str) -> None:
    rows = Results.open(folder).to_pandas()
    rows["error"] = np.where(rows["ok"], rows["error_rms"], np.inf)
    wide = rows.pivot(index=["point", "seed"], columns="controller", values="error")
    cells = {tuple(row[:3]): row for row in table(page, "paired")[1:]}
    first, second = wide["slow"].to_numpy(), wide[IMAGE].to_numpy()
    alike = np.isclose(first, second, rtol=1e-9, atol=0.0)
    wins, losses = (np.count_nonzero((a < b) & ~alike) for a, b in ((first, second), (second, first)))
    assert cells["error_rms", "slow", IMAGE][3] == f"{wins} : {losses}"
    assert "on 120 pairs" in page


def test_worst_cases_have_a_command_that_finds_them(folder: Path, page: str) -> None:
    opened = Results.open(folder)
    cases = table(page, "cases")[1:]
    assert {row[0] for row in cases} == {"slow", HOSTILE, IMAGE}
    assert any(row[1] == "had to stop, DIVERGED" for row in cases)
    rows = opened.to_pandas().set_index("run")
    for row in cases:
        run = int(row[3])
        assert rows.loc[run, "controller"] == row[0]
        assert rows.loc[run, "task"] == int(row[4])
        assert row[7].endswith(f"here' --task {row[4]} --run {row[3]}")
    finite = rows[(rows["controller"] == "slow") & rows["ok"]]["error_rms"]
    reported = [row for row in cases if row[0] == "slow" and row[1] == "largest error_rms"]
    assert int(reported[0][3]) == finite.idxmax()


def test_names_that_are_markup_stay_text(page: str) -> None:
    assert HOSTILE not in page
    assert IMAGE not in page
    assert "<b>its spring</b>" not in page.split("<details>")[0]
    assert html.escape(HOSTILE) in page.replace("&#39;", "&#x27;")
    assert page.count("<script>") == 1
    assert page.count("<title>") == 1


def test_the_page_needs_nothing_but_itself(page: str) -> None:
    shown = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert not re.search(r"(?:src|href|action)=\"(?!data:|#)", shown)
    assert "url(" not in shown
    assert "@import" not in shown
    assert "default-src 'none'" in page
    assert len(re.findall(r"<figure>", page)) > 8


def test_equal_results_give_equal_pages(folder: Path, page: str) -> None:
    assert report(Results.open(folder)) == page


def test_an_unfinished_study_is_marked_and_compares_the_runs_that_all_laws_have(folder: Path, tmp_path: Path) -> None:
    opened = without_tasks(folder, tmp_path / "some", range(6))
    page = report(opened)
    assert "Incomplete: 6 of 24 tasks done, 90 of 360 runs" in page
    # Four tasks of the first controller, and two of the second: the first half of its points.
    assert "on 30 pairs" in page
    alone = without_tasks(folder, tmp_path / "few", range(2))
    page = report(alone)
    assert "No two controllers have completed the same runs" in page
    none = without_tasks(folder, tmp_path / "none", range(0))
    with pytest.raises(StudyError, match=r"no task of .* is done yet: there is nothing to report"):
        report(none)


def test_levels_and_parts_of_what_is_varied(folder: Path) -> None:
    gathered = StudyComparisons.of(Results.open(folder), 0.95)
    rows = Results.open(folder).to_pandas()
    (slow, *_) = curves(gathered, "error_rms", "plant.s")
    assert slow.at == (0.0, 5.0, 30.0)
    own = rows[(rows["controller"] == "slow") & (rows["plant.s"] == 5.0)]
    assert slow.medians[1].value == pytest.approx(np.median(np.where(own["ok"], own["error_rms"], np.inf)))
    assert curves(gathered, "error_rms", "fine")[0].words == ("no", "yes")
    drawn = curves(gathered, "error_rms", "q0.x")[0]
    assert len(drawn.at) == 8
    assert np.all(np.diff(drawn.at) > 0)


def test_the_command_writes_the_page_whole_or_not_at_all(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "page.html"
    assert main(["report", str(folder), "--out", str(target)]) == 0
    assert str(target) in capsys.readouterr().out
    before = target.read_text(encoding="utf-8")
    assert before.startswith("<!DOCTYPE html>")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StudyError, match="No space left on device"):
        write_report(Results.open(folder), target)
    assert [file.name for file in target.parent.iterdir()] == ["page.html"]
    assert target.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{folder}/nowhere"], "there is no such folder"),
        (["{folder}", "--confidence", "1.5"], "confidence must lie between 0 and 1"),
        (["{folder}", "--out", "/proc/page.html"], "cannot write to the folder '/proc'"),
    ],
)
def test_bad_input_is_refused(folder: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", *(word.format(folder=folder) for word in words)]) == 2
    assert message in capsys.readouterr().err


def test_dollars_make_no_formulas_and_line_ends_of_docstrings_are_removed(folder: Path, tmp_path: Path) -> None:
    results = without_tasks(folder, tmp_path / "copy", range(2))
    metrics, scenario = results.manifest["metrics"], results.manifest["scenario"]
    metrics["error_rms"]["unit"] = r"$\frac{$"
    scenario["description"] = "What ``x``\nis.\n\n- one\n- two"
    rewrite_manifest(results.path, metrics=metrics, scenario=scenario)
    page = report(Results.open(results.path))
    assert r"error_rms [$\frac{$]" in page
    assert "What x is.\n\n- one\n- two" in page
