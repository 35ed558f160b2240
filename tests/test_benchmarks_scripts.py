"""Every benchmark that writes tables runs from end to end with its smallest sizes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = {
    "bench_compile": ("compile", "reach"),
    "bench_count": ("count",),
    "bench_derivation": ("derivation", "forward-dynamics"),
    "bench_environments": ("environments", "reach"),
    "bench_export_c": ("export-c",),
    "bench_four_bar": ("four-bar", "reach"),
    "bench_import": ("import", "import-parts", "reach"),
    "bench_rollout": ("rollout", "rollout-threads", "reach"),
    "bench_study": ("study", "reach"),
    "bench_tick": ("tick-chain", "tick-rows", "tick-robots", "reach"),
}


def test_every_script_that_writes_is_run_here() -> None:
    writing = {path.stem for path in (ROOT / "benchmarks").glob("bench_*.py") if "conclude(given" in path.read_text()}
    assert writing == set(SCRIPTS)


def test_every_table_has_its_place_on_the_page() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    marks = re.findall(r"<!-- table: (.*?) -->\n(?:.*\n)*?<!-- end -->", page)
    assert sorted(marks) == sorted({"machine", *(name for names in SCRIPTS.values() for name in names)})


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs_and_writes_its_tables(script: str, tmp_path: Path) -> None:
    names = ("machine", *SCRIPTS[script])
    page = tmp_path / "benchmarks.md"
    page.write_text("".join(f"<!-- table: {name} -->\n<!-- end -->\n" for name in names), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / f"{script}.py"), "--small", "--rounds", "1"]
    path = os.pathsep.join(filter(None, [str(ROOT / "benchmarks"), *sys.path]))
    run = subprocess.run(
        [*command, "--write", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    text = page.read_text(encoding="utf-8")
    assert "doubles a vector" in text
    for name in SCRIPTS[script]:
        rows = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
        assert rows is not None
        assert len(re.findall(r"^\|.*\|$", rows[1], re.MULTILINE)) >= 3
        assert (tmp_path / "measured" / f"{name}.csv").stat().st_size > 20
    for picture in re.findall(r"\]\((pictures/.*?)\)", text):
        assert (tmp_path / picture).stat().st_size > 10_000
