"""Repetition of a single run of a study from its results."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...simulation.trajectory import Trajectory
from ...symbolic.errors import StudyError
from ..comparison.trial import Trial
from ..scenario import Scenario, find
from ..setup import Setup
from .identity import code_hash, text_of
from .job import Source, controller_of
from .result_folder import MANIFEST
from .results import Results

if TYPE_CHECKING:
    from .study import Study


@dataclass(frozen=True, eq=False)
class Rerun:
    """A run of a study, ready to be run again.

    Attributes:
        row: row of the results, by column.
        setup: the scenario with the run's settings; its parameters and start are those without randomization.
        trial: the run's controller on this setup.
        values: values of factors and randomized numbers that affect this controller's run, by name.
    """

    row: Mapping[str, Any]
    setup: Setup
    trial: Trial
    values: Mapping[str, float]

    def motion(self) -> Trajectory:
        """Simulate and return the motion with all samples, up to the end of the run."""
        return self.trial.motions(self._columns(), threads=1, count=1, every=1)[0]

    def results(self) -> Mapping[str, Any]:
        """Compute metrics and ending again, by name."""
        columns = self.trial.run(self._columns(), threads=1, count=1)
        return {name: column[0].item() for name, column in columns.items()}

    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {name: np.array([value]) for name, value in self.values.items()}


def rerun(results: Results, run: int, *, trust: bool = False) -> Rerun:
    """Build a run of a study again.

    Args:
        results: results of the study.
        run: index of the run.
        trust: True to allow executing code that is stored with the results, see :func:`load_study`.

    Raises:
        StudyError: if the run is not done yet, its code is not trusted, or scenario and controllers cannot be found.
        EruginError: whatever loading the user's file raises.
    """
    try:
        task = results.plan.task_of(run)
    except IndexError as error:
        raise StudyError(str(error)) from error
    table = results.task(task)
    row: dict[str, Any] = table.slice(table["run"].to_pylist().index(run), 1).to_pylist()[0]
    scenario, source = _sources(results, row["controller"], trust=trust)
    factors = results.manifest["factors"]
    settings = {name: row[name] for name, factor in factors.items() if factor["kind"] == "setting"}
    names = [name for name in (*factors, *results.manifest["varied"]) if name in row and name not in settings]
    setup = scenario(**settings)
    metrics = [name for name in results.metrics if row.get(name) is not None] or None
    ignored = tuple(name.removeprefix("law.") for name in names)
    trial = Trial.of(setup, row["controller"], controller_of(setup, source), metrics, ignored=ignored)
    values = {name: row[name] for name in names if row[name] is not None and trial.names.resolve(name)}
    return Rerun(row, setup, trial, values)


def load_study(results: Results, *, trust: bool = False) -> Study | None:
    """Load the study of some results from its user's file; None if it was not defined in a file.

    The file is executed if its code, and that of the files in its folder that it imports, still has the hash stored
    with the results. Otherwise only the copy stored with the results defines the study; its author is unknown, and it
    is executed on request only.

    Args:
        results: results of the study.
        trust: True to allow executing the copy that is stored with the results.

    Raises:
        StudyError: if the copy would have to be executed and is not trusted, or the file no longer defines this study.
        UserFileError: if the file cannot be loaded.
    """
    from ..lookup import load_file
    from .study import Study

    name, source = results.manifest["file"], results.manifest["source"]
    if source is None:
        return None
    file = Path(name)
    same = not needs_trust(results)
    if not (same or trust):
        changed = "has changed since, or a file that it imports has" if file.is_file() else "is missing"
        raise StudyError(
            f"the study is defined in {name!r}, which {changed}. The copy of its code in "
            f"{str(results.path / MANIFEST)!r} was not executed, because its author is unknown: read it there under "
            '"source", and if you trust it, pass --trust, or trust=True'
        )
    with tempfile.TemporaryDirectory(prefix="erugin-study-") as folder:
        if not same and text_of(file) != source:
            # The file has changed, or belongs to another machine: the stored copy is what was run.
            file = Path(folder) / file.name
            file.write_text(source, encoding="utf-8")
        try:
            module = load_file(file)
        finally:
            # The temporary folder is deleted: nothing must be imported from it.
            with contextlib.suppress(ValueError):
                sys.path.remove(str(Path(folder).resolve()))
        for each in vars(module).values():
            if isinstance(each, Study) and each.hash == results.manifest["hash"]:
                return each
    raise StudyError(
        f"{name!r} no longer defines the study of {str(results.path)!r}: files that it imports have changed, or the "
        "study was created interactively"
    )


def needs_trust(results: Results) -> bool:
    """Return True if the code of a study exists in its results only: its file is missing or has changed.

    Args:
        results: results of the study.
    """
    name = results.manifest["file"]
    return name is not None and (text_of(Path(name)) is None or code_hash(Path(name)) != results.manifest["code"])


def _sources(results: Results, controller: str, *, trust: bool) -> tuple[Scenario, Source]:
    """Return the scenario and the source of a controller."""
    study = load_study(results, trust=trust)
    if study is not None:
        return study.scenario, study.work.controllers[controller]
    entry = results.manifest["controllers"][controller]
    if entry["kind"] not in ("own", "rival"):
        raise StudyError(f"controller {controller!r} was {entry['text']}, and its code was not stored")
    from ..catalogue import SCENARIOS  # late, for its pictures bring matplotlib

    return find(results.manifest["scenario"]["name"], SCENARIOS), entry["name"]
