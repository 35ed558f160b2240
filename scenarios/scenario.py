"""A scenario: a function that sets up a motion, with settings that are its arguments."""

from __future__ import annotations

import functools
import importlib
import inspect
import numbers
import os
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, get_args, get_origin

from ..symbolic.errors import ModelError, ParameterError, require_name, unknown_name
from .setup import Setup

Value = float | int | bool | str
PARAMETERS = "parameters"
"""The argument by which a scenario is told which parameters are set; others are set after it was built."""


class Build(Protocol):
    """Sets up a motion; every argument is named, and has a default."""

    __name__: str
    __module__: str
    __doc__: str | None

    def __call__(self, **settings: object) -> Setup:
        """The motion for some settings."""
        ...


@dataclass(frozen=True)
class Setting:
    """A choice of a scenario other than a parameter.

    Attributes:
        value: the default; it also fixes the type.
        meaning: what it is, with its unit.
        words: the allowed words, if the value is one.
    """

    value: Value
    meaning: str
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The default as the command line has it."""
        return ("yes" if self.value else "no") if isinstance(self.value, bool) else str(self.value)

    def check(self, name: str, value: object) -> Value:
        """The value itself, a whole number as a float where the default is one.

        Args:
            name: of the setting, for messages.
            value: from a program.

        Raises:
            ParameterError: if it is of another type than the default, or not one of the words.
        """
        if isinstance(self.value, str):
            return self._word(name, value)
        if isinstance(self.value, bool) or isinstance(value, bool):
            if isinstance(self.value, bool) and isinstance(value, bool):
                return value
            raise ParameterError(
                f"{name} must be {'True or False' if isinstance(self.value, bool) else 'a number'}, got {value!r}"
            )
        if isinstance(self.value, int):
            if not isinstance(value, numbers.Integral):
                raise ParameterError(f"{name} must be a whole number, got {value!r}")
            return int(value)
        if not isinstance(value, numbers.Real):
            raise ParameterError(f"{name} must be a number, got {value!r}")
        return float(value)

    def _word(self, name: str, value: object) -> str:
        if not isinstance(value, str):
            raise ParameterError(f"{name} must be a word, got {value!r}")
        if self.words and value not in self.words:
            raise ParameterError(f"{name} must be one of {', '.join(self.words)}, got {value!r}")
        return value

    def parse(self, name: str, text: str) -> Value:
        """The value that a text from the command line stands for.

        Args:
            name: of the setting, for messages.
            text: from the command line.

        Raises:
            ParameterError: if it is not a number, not a whole one, or not one of the words.
        """
        if isinstance(self.value, bool):
            if text not in ("yes", "no"):
                raise ParameterError(f"{name} must be yes or no, got {text!r}")
            return text == "yes"
        if isinstance(self.value, str):
            return self._word(name, text)
        if isinstance(self.value, int):
            try:
                return int(text)
            except ValueError as error:
                raise ParameterError(f"{name} must be a whole number, got {text!r}") from error
        return number(name, text)


@dataclass(frozen=True, eq=False)
class Scenario:
    """A named motion with settings. Made by :func:`scenario`; called with settings it gives the :class:`Setup`.

    Attributes:
        name: how the command line calls it.
        function: sets up the motion.
        settings: its arguments, by name.
    """

    name: str
    function: Callable[..., Setup]
    settings: Mapping[str, Setting]

    def __call__(self, *, parameters: Mapping[str, float] | None = None, **settings: Value) -> Setup:
        """The motion for some settings.

        Args:
            parameters: of plant and controllers that are not nominal, by name.
            settings: other than the default ones, by name.

        Raises:
            ParameterError: for an unknown name.
            ModelError: if the function gives no Setup; and whatever it raises itself.
        """
        for name in settings:
            if name not in self.settings:
                raise ParameterError(unknown_name(f"setting of {self.name}", name, list(self.settings)))
        told: dict[str, object] = {name: self.settings[name].check(name, value) for name, value in settings.items()}
        if PARAMETERS in inspect.signature(self.function).parameters:
            told[PARAMETERS] = dict(parameters or {})
        setup = self.function(**told)
        if not isinstance(setup, Setup):
            raise ModelError(f"scenario {self.name!r}{self._place} must return a Setup, got {_named(setup)}")
        return setup.with_parameters(parameters or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Imported where it is Erugin's own; of a user's, whose annotations may be unknown there, what was read."""
        module = self.function.__module__
        if module.partition(".")[0] == __name__.partition(".")[0]:
            return _imported, (module, self.function.__name__)
        return Scenario, (self.name, self.function, dict(self.settings))

    @classmethod
    def of(cls, name: str, function: Callable[..., Setup]) -> Scenario:
        """Read the settings from a function's arguments and docstring.

        Args:
            name: how the command line calls it.
            function: sets up a motion.

        Raises:
            ModelError: for an argument without a default, without a description, or of another type.
        """
        _require_name(name)
        described = _described(inspect.getdoc(function) or "")
        settings: dict[str, Setting] = {}
        try:
            arguments = inspect.signature(function, eval_str=True).parameters
        except NameError as error:
            raise ModelError(f"annotations of scenario {name!r} must be known when it is made: {error}") from error
        for argument, parameter in arguments.items():
            if argument == PARAMETERS:
                continue
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise ModelError(f"argument {argument!r} of scenario {name!r} is given by its name: leave out the /")
            value = parameter.default
            if value is inspect.Parameter.empty or not isinstance(value, bool | int | float | str):
                raise ModelError(
                    f"argument {argument!r} of scenario {name!r} needs a default that is a number, yes or no, or a word"
                )
            if argument not in described:
                raise ModelError(
                    f"argument {argument!r} of scenario {name!r} is not described in its docstring (Args:)"
                )
            words = get_args(parameter.annotation) if get_origin(parameter.annotation) is Literal else ()
            settings[argument] = Setting(value, described[argument], tuple(map(str, words)))
        return cls(name, function, types.MappingProxyType(settings))

    @functools.cached_property
    def _parameters(self) -> tuple[str, ...]:
        """Names of the parameters with its own settings."""
        return self().parameters

    @property
    def _place(self) -> str:
        """Where its function begins, in brackets; nothing if it has no lines of its own."""
        code = getattr(self.function, "__code__", None)
        if not isinstance(code, types.CodeType):
            return ""
        return f" ({os.path.basename(code.co_filename)}, line {code.co_firstlineno})"

    @property
    def summary(self) -> str:
        """One sentence: the phenomenon it shows."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        """The whole docstring up to its arguments: the phenomenon, and what to expect."""
        return re.split(r"^(?:Args|Returns|Raises):", inspect.getdoc(self.function) or "", flags=re.M)[0].strip()

    def prepare(self, given: Mapping[str, str]) -> Setup:
        """Set up from texts as the command line has them.

        Args:
            given: settings and parameters by name.

        Raises:
            ParameterError: for an unknown name, or a text that does not fit.
        """
        settings = {
            name: self.settings[name].parse(name, text) for name, text in given.items() if name in self.settings
        }
        parameters = {name: number(name, text) for name, text in given.items() if name not in self.settings}
        try:
            return self(parameters=parameters, **settings)
        except ParameterError as error:
            known = [*self.settings, *self._parameters] if parameters else []
            for name in parameters:
                if name not in known:
                    raise ParameterError(unknown_name(f"setting or parameter of {self.name}", name, known)) from error
            raise


def scenario(name: str) -> Callable[[Callable[..., Setup]], Scenario]:
    """Make a scenario of a function that sets up a motion.

    The arguments of the function are the scenario's settings: each has a default, which is a number, True or False, or
    a word, and is described in the docstring; the words of a ``Literal`` are the allowed ones. An argument
    ``parameters`` receives the parameters that are set by name. The first line of the docstring says what is shown.

    Args:
        name: how the command line calls it.

    Returns:
        A decorator.
    """
    _require_name(name)
    return lambda function: Scenario.of(name, function)


def number(name: str, text: str) -> float:
    """A text as a float; raises ParameterError if it is none.

    Args:
        name: of the value, for the message.
        text: from the command line.
    """
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{name} must be a number, got {text!r}") from error


def find(name: str, scenarios: Iterable[Scenario]) -> Scenario:
    """The scenario of this name; raises ModelError with the nearest names if there is none.

    Args:
        name: of a scenario.
        scenarios: to look in.
    """
    known = {each.name: each for each in scenarios}
    if name not in known:
        raise ModelError(unknown_name("scenario", name, list(known)))
    return known[name]


def _require_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ModelError(f'a scenario needs a name: write @scenario("name") before its function, got {name!r}')
    require_name("a scenario", name)


def _named(value: object) -> str:
    return "None" if value is None else f"something of type {type(value).__name__}"


def _imported(module: str, name: str) -> Scenario:
    found = getattr(importlib.import_module(module), name)
    assert isinstance(found, Scenario)
    return found


def _described(text: str) -> dict[str, str]:
    """What the section Args of a docstring says of each argument."""
    _, _, section = text.partition("\nArgs:\n")
    section = re.split(r"^\S", section, maxsplit=1, flags=re.M)[0]
    found = re.findall(r"^ {4}(\w+):\s*(.*(?:\n {5,}.*)*)", section, flags=re.M)
    return {name: re.sub(r"\s+", " ", words).strip() for name, words in found}
