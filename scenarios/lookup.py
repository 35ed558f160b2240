"""Scenarios by name in the catalogue, or from a user's Python file.

The file is executed as a separate module; an error in it is reported with its line.
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
    """An error in a user's file; the message ends with the line that raised it."""


def load_file(path: Path) -> types.ModuleType:
    """Execute a Python file as a module of a unique name, which shadows no other module.

    Code under ``if __name__ == "__main__"`` is not executed. Modules beside the file can be imported; installed ones
    come first. The module's name is known in this process only: to send its functions to another process, pickle the
    module by value.

    Args:
        path: path of the file.

    Raises:
        UserFileError: if it is missing, not a file, not UTF-8, not Python, or raises any exception.
    """
    source = _read(path)
    file = path.resolve()
    name = f"erugin_user_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    with locate_errors(path):
        code = compile(source, str(file), "exec", dont_inherit=True)
    module = types.ModuleType(name)
    module.__file__ = str(file)
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    # Dataclasses and functions defined in the file look up their module here.
    sys.modules[name] = module
    linecache.checkcache(str(file))
    try:
        with locate_errors(path):
            exec(code, module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


@contextmanager
def locate_errors(path: Path | None) -> Generator[None]:
    """Add to exceptions raised inside the line of a user's file that raised them.

    Args:
        path: path of the user's file; None to change nothing.

    Raises:
        UserFileError: in place of an exception raised by a line of the file, or of a file in the same folder.
    """
    if path is None:
        yield
        return
    try:
        yield
    except UserFileError:
        raise
    except (Exception, SystemExit) as error:
        location = _location(error, path.resolve())
        if location is None:
            raise
        file, line, text = location
        message = f"{path if file == path.resolve() else path.with_name(file.name)}, line {line}: {_message(error)}"
        raise UserFileError(f"{message}\n    {text.strip()}" if text.strip() else message) from error


def _location(error: BaseException, path: Path) -> tuple[Path, int, str] | None:
    """Return the innermost line of the user's file, or of one in its folder, in a traceback: file, number and text."""
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        file = Path(error.filename)
        return (file, error.lineno, error.text or "") if file.parent == path.parent else None
    ours = Path(str(errors.__file__)).parents[1]
    location = None
    for frame in traceback.extract_tb(error.__traceback__):
        file = Path(frame.filename)
        if file == path or (file.parent == path.parent and ours not in file.parents):
            location = file, frame.lineno or 0, frame.line or ""
    return location


def _message(error: BaseException) -> str:
    if isinstance(error, EruginError):
        return message_with_notes(error)
    if isinstance(error, SystemExit):
        return "the file calls sys.exit when it is loaded: remove that line"
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
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not valid UTF-8: save the file as UTF-8"
            f"\n    {shown}"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UserFileError(f"{path}, line {line}: the file contains a null byte, so it is not a text file")
    return text


@dataclass(frozen=True, eq=False)
class ScenarioChoice:
    """A scenario, and the user's file that defines it.

    Attributes:
        scenario: the chosen scenario.
        file: path of the user's file; None for a scenario of the catalogue.
    """

    scenario: Scenario
    file: Path | None = None


def choose_scenario(word: str, name: str | None = None) -> ScenarioChoice:
    """Return a scenario of the catalogue, or of a file.

    Args:
        word: a name of the catalogue; or a path, which ends in ``.py`` or contains a separator.
        name: name of the scenario in the file; required if it has several.

    Raises:
        ModelError: for an unknown name, or ``name`` without a file.
        UserFileError: if the file cannot be loaded, or has no such scenario.
    """
    if not (word.endswith(".py") or "/" in word or os.sep in word):
        from .catalogue import SCENARIOS  # late, for its pictures bring matplotlib

        if name is not None:
            raise ModelError(f"--scenario chooses a scenario of a file, but {word!r} is not a file: omit --scenario")
        return ScenarioChoice(find(word, SCENARIOS))
    path = Path(word)
    own = scenarios_of(path)
    if name is None and len(own) > 1:
        raise UserFileError(f"{path} has several scenarios: choose one with --scenario: {', '.join(sorted(own))}")
    if name is not None and name not in own:
        raise UserFileError(f"{path}: {unknown_name('scenario', name, own)}")
    return ScenarioChoice(own[name] if name is not None else next(iter(own.values())), path)


def scenarios_of(path: Path) -> dict[str, Scenario]:
    """Return the scenarios defined in a file, by name; at least one.

    Args:
        path: path of the file.

    Raises:
        UserFileError: if the file cannot be loaded, two of its scenarios have the same name, or it has none.
    """
    module = load_file(path)
    scenarios: dict[str, Scenario] = {}
    for value in vars(module).values():
        if not isinstance(value, Scenario) or value.function.__module__ != module.__name__:
            continue
        if scenarios.setdefault(value.name, value) is not value:
            raise UserFileError(f"{path}: two scenarios are called {value.name!r}: rename one of them")
    if not scenarios:
        raise UserFileError(
            f'{path} has no scenario: put @scenario("name") before a function that returns a Setup; '
            "'erugin new FILE' writes an example to start from"
        )
    return scenarios
