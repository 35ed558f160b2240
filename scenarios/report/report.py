"""One page about a study, which needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from ...symbolic.errors import StudyError
from ...symbolic.extras import require
from ..comparison.estimate import required_confidence
from ..study import Results
from .gathered import Gathered
from .page import Page


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
    require("jinja2", "study")
    import jinja2
    from markupsafe import Markup

    required_confidence(confidence)
    if not results.done:
        raise StudyError(f"no task of {str(results.path)!r} is done yet: there is nothing to report")
    style, script = _text("page.css"), _text("page.js")
    # Not autoescape by the file's name: everything that comes in is text.
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    page = Page.of(Gathered.of(results, confidence), results.path if path is None else path)
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
    from ..plots.style import write_whole

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
