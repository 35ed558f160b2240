"""The scenario that the command line names: one of the catalogue, or of a user's file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ...symbolic.errors import ModelError, unknown_name
from ..scenario import Scenario, find
from .user_file import UserFileError, load_file, own_lines


@dataclass(frozen=True, eq=False)
class Chosen:
    """A scenario, and the user's file that it comes from.

    Attributes:
        scenario: what to run.
        file: where it is from; None if it is Erugin's own.
    """

    scenario: Scenario
    file: Path | None = None


def choose(word: str, name: str | None = None) -> Chosen:
    """The scenario of a name, or of a file.

    Args:
        word: a name of the catalogue; or a path, which ends in ``.py`` or holds a separator.
        name: which scenario of the file; needed if it has several.

    Raises:
        ModelError: for an unknown name, or a file's scenario asked for without a file.
        UserFileError: if something is wrong with the file, or it has no such scenario.
    """
    if not (word.endswith(".py") or "/" in word or os.sep in word):
        from ..catalogue import SCENARIOS  # late, for its pictures bring matplotlib

        if name is not None:
            raise ModelError(f"--scenario chooses one of a file's scenarios, and {word!r} is no file: leave it out")
        return Chosen(find(word, SCENARIOS))
    path = Path(word)
    own = scenarios_of(path)
    if name is None and len(own) > 1:
        raise UserFileError(f"{path} has several scenarios: choose one by --scenario: {', '.join(sorted(own))}")
    if name is not None and name not in own:
        raise UserFileError(f"{path}: {unknown_name('scenario', name, own)}")
    return Chosen(own[name] if name is not None else next(iter(own.values())), path)


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


__all__ = ["Chosen", "choose", "own_lines", "scenarios_of"]
