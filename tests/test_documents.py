"""The snippets of the documents run, and their links exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from erugin.scenarios import Comparison

from .support.project import ROOT
from .support.python_code import snippets

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if snippets(page)], ids=lambda page: page.name)
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for snippet in snippets(page):
        exec(compile(snippet, page.name, "exec"), names)
    if page.name == "README.md":
        assert (tmp_path / "motion.png").read_bytes().startswith(b"\x89PNG")
        trajectory = names["trajectory"]
        assert getattr(trajectory, "ok") is True  # noqa: B009 - of an object known only by name
        found = names["found"]
        assert isinstance(found, Comparison)
        assert "# own 1, computed torque 2\n" in page.read_text(encoding="utf-8")
        assert found.ranking("clearance").text == "clearance: own 1, computed torque 2"
        # The disc stands elsewhere than where the motion was planned, and a third of the runs along it meets it.
        share = {name: found.rates["clear"].share(name).value for name in found.controllers}
        assert share == {"own": 1.0, "computed torque": pytest.approx(0.66, abs=0.05)}


def test_the_first_example_of_the_readme_has_at_most_12_statements() -> None:
    statements = ast.parse(snippets(ROOT / "README.md")[0]).body
    assert 1 < len(statements) <= 12


def test_links_to_files_lead_somewhere() -> None:
    found = {page: re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")) for page in PAGES}
    local = {page: [link for link in links if not re.match(r"[a-z]+:", link)] for page, links in found.items()}
    assert [(page.name, link) for page in local for link in local[page] if not (page.parent / link).exists()] == []
    assert len(local[ROOT / "README.md"]) > 5
