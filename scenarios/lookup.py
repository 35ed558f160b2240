"""A scenario by its name in the catalogue, or from a user's Python file.

The file is run as a module of its own; an error in it is reported with its line there.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import sys
import traceback
import types
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..symbolic import errors
from ..symbolic.errors import EruginError, ModelError, message_with_notes, unknown_name
from .scenario import Scenario, find


class UserFileError(ModelError):
    """Something is wrong in a user's file; the message ends with the line that it comes from."""


def load_file(path: Path) -> types.ModuleType:
    """Run a Python file as a module of its own name, so that it stands in no other module's way.

    What is under ``if __name__ == "__main__"`` is not run. Modules beside the file can be imported; those that are
    installed come first. Functions of the module are found again by their module's name in this process only: to send
    them to another one, pickle the module by value.

    Args:
        path: of the file.

    Raises:
        UserFileError: if it is missing, no file, not UTF-8, no Python, or raises anything.
    """
    source = _read(path)
    place = path.resolve()
    name = f"erugin_user_{place.stem}_{hashlib.sha256(str(place).encode()).hexdigest()[:8]}"
    with own_lines(path):
        code = compile(source, str(place), "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = str(place)
    if str(place.parent) not in sys.path:
        sys.path.append(str(place.parent))
    # Where dataclasses and functions that are defined in it look for their module.
    sys.modules[name] = module
    linecache.checkcache(str(place))
    try:
        with own_lines(path):
            exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def own_lines(path: Path | None) -> Generator[None]:
    """Tell of anything that is raised inside with the line of a user's file that it comes from, if it has one there.

    Args:
        path: of the file; None to leave everything as it is.

    Raises:
        UserFileError: in place of what was raised by a line of the file, or of a file beside it.
    """
    if path is None:
        yield
        return
    try:
        yield
    except UserFileError:
        raise
    except (Exception, SystemExit) as error:
        where = _place(error, path.resolve())
        if where is None:
            raise
        file, line, text = where
        said = f"{path if file == path.resolve() else path.with_name(file.name)}, line {line}: {_said(error)}"
        raise UserFileError(f"{said}\n    {text.strip()}" if text.strip() else said) from error


def _place(error: BaseException, path: Path) -> tuple[Path, int, str] | None:
    """The last line of the user's file, or of one beside it, on the way to an error: file, number and text."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        file = Path(error.filename)
        return (file, error.lineno, error.text or "") if file.parent == path.parent else None
    ours = Path(str(errors.__file__)).parents[1]
    found = None
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        if file == path or (file.parent == path.parent and ours not in file.parents):
            found = file, frame.lineno or 0, frame.line or ""
    return found


def _said(error: BaseException) -> str:
    if isinstance(error, EruginError):
        return message_with_notes(error)
    if isinstance(error, SystemExit):
        return "the file ends the program (sys.exit), but it is to be loaded: take that line away"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return f"{type(error).__name__}: {message_with_notes(error)}" if message_with_notes(error) else type(error).__name__


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserFileError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        shown = data.splitlines()[line - 1].decode("utf-8", "backslashreplace").strip()
        raise UserFileError(
            f"{path}, line {line}: not UTF-8, byte 0x{data[error.start]:02x} has no meaning there: save it as UTF-8"
            f"\n    {shown}"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserFileError(f"{path}, line {line}: this is no text: it has a null byte there")
    return text


@dataclass(frozen=True, eq=False)
class ScenarioChoice:
    """A scenario, and the user's file that it comes from.

    Attributes:
        scenario: what to run.
        file: where it is from; None if it is Erugin's own.
    """

    scenario: Scenario
    file: Path | None = None


def choose_scenario(word: str, name: str | None = None) -> ScenarioChoice:
    """The scenario of a name, or of a file.

    Args:
        word: a name of the catalogue; or a path, which ends in ``.py`` or holds a separator.
        name: which scenario of the file; needed if it has several.

    Raises:
        ModelError: for an unknown name, or a file's scenario asked for without a file.
        UserFileError: if something is wrong with the file, or it has no such scenario.
    """
    if not (word.endswith(".py") or "/" in word or os.sep in word):
        from .catalogue import SCENARIOS  # late, for its pictures bring matplotlib

        if name is not None:
            raise ModelError(f"--scenario chooses one of a file's scenarios, and {word!r} is no file: leave it out")
        return ScenarioChoice(find(word, SCENARIOS))
    path = Path(word)
    own = scenarios_of(path)
    if name is None and len(own) > 1:
        raise UserFileError(f"{path} has several scenarios: choose one by --scenario: {', '.join(sorted(own))}")
    if name is not None and name not in own:
        raise UserFileError(f"{path}: {unknown_name('scenario', name, own)}")
    return ScenarioChoice(own[name] if name is not None else next(iter(own.values())), path)


def scenarios_of(path: Path) -> dict[str, Scenario]:
    """The scenarios that a file makes, by name; at least one.

    Args:
        path: of the file.

    Raises:
        UserFileError: if something is wrong with the file, two of its scenarios have one name, or it has none.
    """
    module = load_file(path)
    found: dict[str, Scenario] = {}
    for value in vars(module).values():
        if not isinstance(value, Scenario) or value.function.__module__ != module.__name__:
            continue
        if found.setdefault(value.name, value) is not value:
            raise UserFileError(f"{path}: two scenarios are called {value.name!r}: give one of them another name")
    if not found:
        raise UserFileError(
            f'{path} has no scenario: put @scenario("name") before a function that returns a Setup; '
            "'erugin new FILE' writes one to begin with"
        )
    return found
