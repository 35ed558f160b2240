"""What makes up the results of a study, as text of which a hash is taken: equal hashes, equal results."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import cast

import casadi as ca
import numpy as np

from ...controllers.controller import Controller
from ..scenario import Scenario
from .user_code import OURS, code_hash, contents, is_users, text_of

DEPTH = 8


def digest(parts: Mapping[str, object]) -> str:
    """A hash of what :func:`told` says of each part.

    Args:
        parts: by name.
    """
    text = "\n".join(f"{name}: {told(value)}" for name, value in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def told(value: object, depth: int = DEPTH) -> str:
    """A text that is equal for equal things, also in another process: no addresses, no order of sets.

    Functions are told by the code of their module and what they have bound, Erugin's own by its version too.

    Args:
        value: anything.
        depth: how deep attributes are looked into.
    """
    match value:
        case None | bool() | int() | float() | str() | bytes() | range():
            return repr(value)
        case np.ndarray():
            return f"array({value.dtype}, {value.shape}, {hashlib.sha256(value.tobytes()).hexdigest()})"
        case np.generic():
            return repr(cast(object, value.item()))
        case ca.SX() | ca.DM():
            return _expression(value)
        case ca.Function():
            return f"function {hashlib.sha256(value.serialize().encode()).hexdigest()}"
        case Mapping():
            return (
                "{"
                + ", ".join(
                    f"{told(key, depth)}: {told(each, depth)}"
                    for key, each in cast(Mapping[object, object], value).items()
                )
                + "}"
            )
        case set() | frozenset():
            return "{" + ", ".join(sorted(told(each, depth) for each in cast(frozenset[object], value))) + "}"
        case Sequence():
            return "[" + ", ".join(told(each, depth) for each in cast(Sequence[object], value)) + "]"
        case Scenario():
            return f"scenario {value.name!r} {told(value.function, depth)}"
        case functools.partial():
            return f"partial({told([value.func, list(value.args), value.keywords], depth)})"
        case types.MethodType():
            return f"method({told([value.__self__, value.__func__], depth)})"
        case types.FunctionType():
            return _function(value, depth)
        case types.ModuleType():
            return f"module {value.__name__}"
        case type():
            return f"class {value.__qualname__} {_source(value.__module__)}"
        case Controller():
            return _controller(value, depth)
        case _:
            return _instance(value, depth)


def _function(function: Callable[..., object], depth: int) -> str:
    assert isinstance(function, types.FunctionType)
    if depth == 0:
        return f"function {function.__qualname__}"
    bound = [contents(cell) for cell in function.__closure__ or ()]
    given = [function.__defaults__, function.__kwdefaults__]
    text = f"function {function.__qualname__} {_source(function.__module__)} {_code(function.__code__)}"
    return f"{text} {told([bound, given], depth - 1)}"


def _code(code: types.CodeType) -> str:
    constants = [_code(each) if isinstance(each, types.CodeType) else _constant(each) for each in code.co_consts]
    parts = repr((code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars))
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


def _constant(value: object) -> str:
    return repr(sorted(map(repr, cast(frozenset[object], value)))) if isinstance(value, frozenset) else repr(value)


@functools.cache
def _installed_version() -> str:
    return version(OURS)


def _source(name: str) -> str:
    """What is known of a module's code."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if name.partition(".")[0] == OURS:
        # Of what it imports from Erugin the version tells.
        code = hashlib.sha256((text_of(Path(file)) or "").encode()).hexdigest()[:32] if isinstance(file, str) else ""
        return f"of {name} {_installed_version()} {code}"
    if not is_users(module) or not isinstance(file, str):
        return f"of {name}"
    # Data that the file has read are not in its text.
    held = cast(Mapping[str, object], vars(module))
    read = {key: cast(object, each) for key, each in sorted(held.items()) if isinstance(each, np.ndarray | ca.DM)}
    return f"code {code_hash(Path(file))} {told(read)}"


def _controller(controller: Controller, depth: int) -> str:
    text = f"controller {told(type(controller), depth)} {told(dict(controller.parameters.nominal), depth)}"
    law = "" if controller.law is None else _expression(controller.law.output)
    return f"{text} {law} {_instance(controller, depth)}"


def _expression(expression: ca.SX | ca.DM) -> str:
    if isinstance(expression, ca.DM):
        return told(expression.full())
    function = ca.Function("told", ca.symvar(expression), [expression])
    return f"expression {hashlib.sha256(function.serialize().encode()).hexdigest()}"


def _instance(value: object, depth: int) -> str:
    """Its class and its attributes."""
    name = f"instance of {told(type(value), depth)}"
    return f"{name} {told(_attributes(value), depth - 1)}" if depth else name


def _attributes(value: object) -> dict[str, object]:
    """What makes an instance what it is, by name."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    slots = [name for kind in type(value).__mro__ for name in _texts(kind.__dict__.get("__slots__", ()))]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)} | dict(
        getattr(value, "__dict__", {})
    )
    return {name: each for name, each in sorted(found.items()) if not _is_made(value, name, each)}


def _texts(slots: str | Sequence[str]) -> Sequence[str]:
    return (slots,) if isinstance(slots, str) else slots


def _is_made(value: object, name: str, each: object) -> bool:
    """Whether an attribute is reckoned from the others when it is asked for, as kernels of controllers are."""
    if isinstance(getattr(type(value), name, None), functools.cached_property):
        return True
    inner = type(each).__module__.partition(".")[0] == OURS
    return name.startswith("_") and inner and not dataclasses.is_dataclass(each) and not isinstance(each, Controller)
