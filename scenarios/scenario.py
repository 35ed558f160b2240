"""Scenarios: functions that set up a motion; their arguments are the settings."""

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
"""Argument that passes the given parameter values to a scenario's function; they are set on its Setup in any case."""


class Build(Protocol):
    """A function that sets up a motion; every argument is a keyword with a default."""

    __name__: str
    __module__: str
    __doc__: str | None

    def __call__(self, **settings: object) -> Setup:
        """Set up the motion."""
        ...


@dataclass(frozen=True)
class Setting:
    """An argument of a scenario, as opposed to a parameter of its plant or controller.

    Attributes:
        value: the default; it also fixes the type.
        meaning: description, with the unit.
        choices: the allowed words, if the value is one.
    """

    value: Value
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The default as typed on the command line."""
        return ("yes" if self.value else "no") if isinstance(self.value, bool) else str(self.value)

    def check(self, name: str, value: object) -> Value:
        """Return the value in the type of the default.

        Args:
            name: name of the setting, for messages.
            value: value passed in Python.

        Raises:
            ParameterError: if its type differs from the default's, or it is not one of the choices.
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
        if self.choices and value not in self.choices:
            raise ParameterError(f"{name} must be one of {', '.join(self.choices)}, got {value!r}")
        return value

    def parse(self, name: str, text: str) -> Value:
        """Convert a text from the command line.

        Args:
            name: name of the setting, for messages.
            text: text from the command line.

        Raises:
            ParameterError: if it is not a number, not a whole number where one is required, or not one of the choices.
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
    """A named motion with settings, made by :func:`scenario`; calling it with settings returns a :class:`Setup`.

    Attributes:
        name: name on the command line.
        function: function that sets up the motion.
        settings: arguments of the function, by name.
    """

    name: str
    function: Callable[..., Setup]
    settings: Mapping[str, Setting]

    def __call__(self, *, parameters: Mapping[str, float] | None = None, **settings: Value) -> Setup:
        """Set up the motion.

        Args:
            parameters: values of parameters of plant and controllers that differ from the nominal ones, by name.
            settings: values of settings that differ from the defaults, by name.

        Raises:
            ParameterError: for an unknown name.
            ModelError: if the function does not return a Setup; and whatever it raises itself.
        """
        for name in settings:
            if name not in self.settings:
                raise ParameterError(unknown_name(f"setting of {self.name}", name, list(self.settings)))
        given: dict[str, object] = {name: self.settings[name].check(name, value) for name, value in settings.items()}
        if PARAMETERS in inspect.signature(self.function).parameters:
            given[PARAMETERS] = dict(parameters or {})
        setup = self.function(**given)
        if not isinstance(setup, Setup):
            raise ModelError(f"scenario {self.name!r}{self._location} must return a Setup, got {_describe(setup)}")
        return setup.with_parameters(parameters or {})

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle Erugin's own scenarios by name, and a user's by its fields, for its annotations may be unavailable."""
        module = self.function.__module__
        if module.partition(".")[0] == __name__.partition(".")[0]:
            return _imported, (module, self.function.__name__)
        return Scenario, (self.name, self.function, dict(self.settings))

    @classmethod
    def of(cls, name: str, function: Callable[..., Setup]) -> Scenario:
        """Read the settings from a function's arguments and docstring.

        Args:
            name: name on the command line.
            function: function that sets up a motion.

        Raises:
            ModelError: for an argument without a default, without a description, or of an unsupported type.
        """
        _require_name(name)
        described = _argument_descriptions(inspect.getdoc(function) or "")
        settings: dict[str, Setting] = {}
        try:
            arguments = inspect.signature(function, eval_str=True).parameters
        except NameError as error:
            raise ModelError(
                f"the annotations of scenario {name!r} must be defined before its function: {error}"
            ) from error
        for argument, parameter in arguments.items():
            if argument == PARAMETERS:
                continue
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise ModelError(
                    f"argument {argument!r} of scenario {name!r} must accept a keyword: remove the / after it"
                )
            value = parameter.default
            if value is inspect.Parameter.empty or not isinstance(value, bool | int | float | str):
                raise ModelError(
                    f"argument {argument!r} of scenario {name!r} must have a default: a number, True or False, or a "
                    "text"
                )
            if argument not in described:
                raise ModelError(
                    f"argument {argument!r} of scenario {name!r} is not described in its docstring: add it under Args:"
                )
            choices = get_args(parameter.annotation) if get_origin(parameter.annotation) is Literal else ()
            settings[argument] = Setting(value, described[argument], tuple(map(str, choices)))
        return cls(name, function, types.MappingProxyType(settings))

    @functools.cached_property
    def _parameters(self) -> tuple[str, ...]:
        """Names of the parameters with the default settings."""
        return self().parameters

    @property
    def _location(self) -> str:
        """File and first line of the function, in brackets; empty if it has no code object."""
        code = getattr(self.function, "__code__", None)
        if not isinstance(code, types.CodeType):
            return ""
        return f" ({os.path.basename(code.co_filename)}, line {code.co_firstlineno})"

    @property
    def summary(self) -> str:
        """First line of the docstring: the phenomenon that the scenario shows."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        """The docstring up to its arguments: the phenomenon, and what to expect."""
        return re.split(r"^(?:Args|Returns|Raises):", inspect.getdoc(self.function) or "", flags=re.M)[0].strip()

    def prepare(self, given: Mapping[str, str]) -> Setup:
        """Set up the motion from texts of the command line.

        Args:
            given: settings and parameters, by name.

        Raises:
            ParameterError: for an unknown name, or a text that cannot be converted.
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
    a text, and is described in the docstring; an annotation ``Literal`` lists the allowed texts. An argument
    ``parameters`` receives the given parameter values by name. The first line of the docstring is the summary.

    Args:
        name: name on the command line.

    Returns:
        A decorator.
    """
    _require_name(name)
    return lambda function: Scenario.of(name, function)


def number(name: str, text: str) -> float:
    """Convert a text to a float; raises ParameterError if it is not a number.

    Args:
        name: name of the value, for the message.
        text: text from the command line.
    """
    try:
        return float(text)
    except ValueError as error:
        raise ParameterError(f"{name} must be a number, got {text!r}") from error


def find(name: str, scenarios: Iterable[Scenario]) -> Scenario:
    """Return the scenario of this name; raises ModelError with the nearest names if it is unknown.

    Args:
        name: name of a scenario.
        scenarios: scenarios to search.
    """
    known = {each.name: each for each in scenarios}
    if name not in known:
        raise ModelError(unknown_name("scenario", name, list(known)))
    return known[name]


def _require_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ModelError(f'a scenario needs a name: write @scenario("name") before its function, got {name!r}')
    require_name("a scenario", name)


def _describe(value: object) -> str:
    return "None" if value is None else f"an object of type {type(value).__name__}"


def _imported(module: str, name: str) -> Scenario:
    imported = getattr(importlib.import_module(module), name)
    assert isinstance(imported, Scenario)
    return imported


def _argument_descriptions(text: str) -> dict[str, str]:
    """Descriptions of the arguments, by name, from the section Args of a docstring."""
    _, _, section = text.partition("\nArgs:\n")
    section = re.split(r"^\S", section, maxsplit=1, flags=re.M)[0]
    entries = re.findall(r"^ {4}(\w+):\s*(.*(?:\n {5,}.*)*)", section, flags=re.M)
    return {name: re.sub(r"\s+", " ", description).strip() for name, description in entries}
