"""One run of a study again, from what its results say of it."""

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
        row: what the results say of it, by column.
        setup: the scenario with the run's settings; its parameters and start are those without variation.
        trial: the run's controller on it.
        values: of what is varied, by name, as far as the controller's run has it.
    """

    row: Mapping[str, Any]
    setup: Setup
    trial: Trial
    values: Mapping[str, float]

    def motion(self) -> Trajectory:
        """The motion, with all its samples; one that had to stop as far as it came."""
        return self.trial.motions(self._columns(), threads=1, count=1, every=1)[0]

    def results(self) -> Mapping[str, Any]:
        """Its metrics and its ending by name, computed anew."""
        found = self.trial.run(self._columns(), threads=1, count=1)
        return {name: column[0].item() for name, column in found.items()}

    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {name: np.array([value]) for name, value in self.values.items()}


def rerun(results: Results, run: int, *, trust: bool = False) -> Rerun:
    """A run of a study, built again.

    Args:
        results: of the study.
        run: number of the run.
        trust: whether code that is kept with the results may be executed, as :func:`load_study` says.

    Raises:
        StudyError: if it is not done yet, could not begin, its code is not trusted, or scenario and controllers are not
            found again.
        EruginError: whatever is wrong with the file that they are from.
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
    also = tuple(name.removeprefix("law.") for name in names)
    trial = Trial.of(setup, row["controller"], controller_of(setup, source), metrics, also=also)
    values = {name: row[name] for name in names if row[name] is not None and trial.names.places(name)}
    return Rerun(row, setup, trial, values)


def load_study(results: Results, *, trust: bool = False) -> Study | None:
    """The study whose results these are, from its user's file as it was then; None if it has none.

    The file is executed where it stands if its code, and that of what it imports from beside it, has the hash that is
    written with the results. Otherwise only the copy that is kept with the results could make the study: anybody may
    have written it, and it is executed on request only.

    Args:
        results: of the study.
        trust: whether the copy that is kept with the results may be executed.

    Raises:
        StudyError: if the copy would have to be executed and is not trusted, or the file does not make this study any
            more.
        UserFileError: if something is wrong with it.
    """
    from ..lookup import load_file
    from .study import Study

    name, source = results.manifest["file"], results.manifest["source"]
    if source is None:
        return None
    file = Path(name)
    same = not needs_trust(results)
    if not (same or trust):
        changed = "has changed since, or what it imports has" if file.is_file() else "is not here"
        raise StudyError(
            f"the study is made by {name!r}, which {changed}, so that the copy of its code in "
            f"{str(results.path / MANIFEST)!r} would be executed, whose author is unknown: nothing was executed. Read "
            'the copy, which is called "source" there; if you would run it as a program of your own, give --trust, or '
            "trust=True"
        )
    with tempfile.TemporaryDirectory(prefix="erugin-study-") as folder:
        if not same and text_of(file) != source:
            # It has changed, or is of another machine: what was written down is what was run.
            file = Path(folder) / file.name
            file.write_text(source, encoding="utf-8")
        try:
            module = load_file(file)
        finally:
            # Nothing is to be imported from there when it is gone.
            with contextlib.suppress(ValueError):
                sys.path.remove(str(Path(folder).resolve()))
        for each in vars(module).values():
            if isinstance(each, Study) and each.hash == results.manifest["hash"]:
                return each
    raise StudyError(
        f"{name!r} does not make the study of {str(results.path)!r} any more: files that it imports have changed, or "
        "it was made by hand"
    )


def needs_trust(results: Results) -> bool:
    """Whether the code of a study is found in its results only: its file is not here any more, or has changed.

    Args:
        results: of the study.
    """
    name = results.manifest["file"]
    return name is not None and (text_of(Path(name)) is None or code_hash(Path(name)) != results.manifest["code"])


def _sources(results: Results, controller: str, *, trust: bool) -> tuple[Scenario, Source]:
    """The scenario, and where its controller is from."""
    study = load_study(results, trust=trust)
    if study is not None:
        return study.scenario, study.work.controllers[controller]
    told = results.manifest["controllers"][controller]
    if told["kind"] not in ("own", "rival"):
        raise StudyError(f"controller {controller!r} was {told['text']}, and its code was not kept")
    from ..catalogue import SCENARIOS  # late, for its pictures bring matplotlib

    return find(results.manifest["scenario"]["name"], SCENARIOS), told["name"]
