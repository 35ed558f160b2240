"""Identity of a study: a hash of everything that determines its results, including the user's source files.

Equal hashes mean equal results.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import cast

import casadi as ca
import numpy as np

from ...controllers.controller import Controller
from ..scenario import Scenario

OURS = __name__.partition(".")[0]
CODE_DEPTH = 4


def is_users(module: object) -> bool:
    """Return True if a module is a file that belongs neither to Erugin nor to an installed package.

    Args:
        module: a module, or None.
    """
    file, name = getattr(module, "__file__", None), str(getattr(module, "__name__", ""))
    if not isinstance(file, str) or not file.endswith(".py") or name.partition(".")[0] == OURS:
        return False
    return not any(folder in Path(file).resolve().parents for folder in _installed())


def user_modules(values: Sequence[object]) -> tuple[types.ModuleType, ...]:
    """Return the user's modules that define functions and classes, and those in their folders that they import.

    Args:
        values: a scenario, and controllers or functions that build them.
    """
    own = dict.fromkeys(name for value in values for name in _modules(value, CODE_DEPTH))
    first = [sys.modules[name] for name in own if name in sys.modules and is_users(sys.modules[name])]
    files = dict.fromkeys(file for module in first for file in with_imports(Path(str(module.__file__))))
    loaded = {Path(str(each.__file__)).resolve(): each for each in list(sys.modules.values()) if is_users(each)}
    beside = [loaded[file] for file in files if file in loaded]
    return tuple({id(module): module for module in [*first, *beside]}.values())


def with_imports(file: Path) -> tuple[Path, ...]:
    """Return a file and the files in its folder that it imports, directly or indirectly.

    Args:
        file: a Python file.
    """
    visited: dict[Path, None] = {}
    waiting = [file.resolve()]
    while waiting:
        one = waiting.pop()
        if one not in visited:
            visited[one] = None
            waiting += [each for each in _imports(one) if each not in visited]
    return tuple(visited)


def code_hash(file: Path) -> str:
    """Return the hash of a file and of those in its folder that it imports; comments and layout make no difference.

    Args:
        file: a Python file.
    """
    whole = hashlib.sha256()
    for each in with_imports(file):
        text = text_of(each) or ""
        # A file that was changed after its import and is not valid Python any more is hashed as it is.
        with contextlib.suppress(SyntaxError, ValueError):
            text = ast.unparse(ast.parse(text))
        whole.update(text.encode() + b"\0")
    return whole.hexdigest()[:32]


def text_of(file: Path) -> str | None:
    """Return the text of a file, or None if it cannot be read.

    Args:
        file: a Python file.
    """
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None


def _imports(file: Path) -> Iterator[Path]:
    try:
        tree = ast.parse(text_of(file) or "")
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            # from . import x, from .x import y, from x import y
            names = [node.module] if node.module else [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            path = file.parent.joinpath(*name.split("."))
            for each in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
                if each.is_file():
                    yield each.resolve()


def _modules(value: object, depth: int) -> Iterator[str]:
    """Yield the names of the modules that define functions, classes and instances."""
    if depth == 0:
        return
    if isinstance(value, functools.partial):
        for each in (value.func, *value.args, *value.keywords.values()):
            yield from _modules(each, depth - 1)
    elif isinstance(value, Scenario):
        yield from _modules(value.function, depth - 1)
    elif isinstance(value, types.FunctionType):
        yield value.__module__
        for cell in value.__closure__ or ():
            yield from _modules(contents(cell), depth - 1)
    elif isinstance(value, type):
        yield value.__module__
    elif value is not None:
        yield type(value).__module__
        if dataclasses.is_dataclass(value) and not isinstance(value, Controller):
            for part in dataclasses.fields(value):
                yield from _modules(getattr(value, part.name), depth - 1)


def contents(cell: types.CellType) -> object:
    """Return the value of a closure's cell, or None if it is empty.

    Args:
        cell: cell of a function's closure.
    """
    try:
        return cell.cell_contents
    except ValueError:
        return None


@functools.cache
def _installed() -> tuple[Path, ...]:
    """Return the folders of Python's standard library and of installed packages."""
    import sysconfig  # late, because it reads the build configuration

    paths = sysconfig.get_paths()
    return tuple(Path(paths[key]).resolve() for key in ("stdlib", "platlib", "purelib"))


DIGEST_DEPTH = 8


def digest(parts: Mapping[str, object]) -> str:
    """Return a hash of the :func:`fingerprint` of each part.

    Args:
        parts: values, by name.
    """
    text = "\n".join(f"{name}: {fingerprint(value)}" for name, value in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(value: object, depth: int = DIGEST_DEPTH) -> str:
    """Return a text that is equal for equal values, also in another process: no addresses, no order of sets.

    Functions are identified by the code of their module and their bound values, Erugin's own also by its version.

    Args:
        value: any object.
        depth: number of levels of attributes to include.
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
                    f"{fingerprint(key, depth)}: {fingerprint(each, depth)}"
                    for key, each in cast(Mapping[object, object], value).items()
                )
                + "}"
            )
        case set() | frozenset():
            return "{" + ", ".join(sorted(fingerprint(each, depth) for each in cast(frozenset[object], value))) + "}"
        case Sequence():
            return "[" + ", ".join(fingerprint(each, depth) for each in cast(Sequence[object], value)) + "]"
        case Scenario():
            return f"scenario {value.name!r} {fingerprint(value.function, depth)}"
        case functools.partial():
            return f"partial({fingerprint([value.func, list(value.args), value.keywords], depth)})"
        case types.MethodType():
            return f"method({fingerprint([value.__self__, value.__func__], depth)})"
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
    return f"{text} {fingerprint([bound, given], depth - 1)}"


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
    """Return a text that identifies the code of a module."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if name.partition(".")[0] == OURS:
        # The version identifies what the module imports from Erugin.
        code = hashlib.sha256((text_of(Path(file)) or "").encode()).hexdigest()[:32] if isinstance(file, str) else ""
        return f"of {name} {_installed_version()} {code}"
    if not is_users(module) or not isinstance(file, str):
        return f"of {name}"
    # Data that the file reads from the disk are not in its text.
    attributes = cast(Mapping[str, object], vars(module))
    data = {key: cast(object, each) for key, each in sorted(attributes.items()) if isinstance(each, np.ndarray | ca.DM)}
    return f"code {code_hash(Path(file))} {fingerprint(data)}"


def _controller(controller: Controller, depth: int) -> str:
    text = (
        f"controller {fingerprint(type(controller), depth)} {fingerprint(dict(controller.parameters.nominal), depth)}"
    )
    law = "" if controller.law is None else _expression(controller.law.output)
    return f"{text} {law} {_instance(controller, depth)}"


def _expression(expression: ca.SX | ca.DM) -> str:
    if isinstance(expression, ca.DM):
        return fingerprint(expression.full())
    function = ca.Function("told", ca.symvar(expression), [expression])
    return f"expression {hashlib.sha256(function.serialize().encode()).hexdigest()}"


def _instance(value: object, depth: int) -> str:
    """Return the fingerprint of an instance: its class and its attributes."""
    name = f"instance of {fingerprint(type(value), depth)}"
    return f"{name} {fingerprint(_attributes(value), depth - 1)}" if depth else name


def _attributes(value: object) -> dict[str, object]:
    """Return the attributes that define an instance, by name."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    slots = [name for kind in type(value).__mro__ for name in _texts(kind.__dict__.get("__slots__", ()))]
    attributes = {name: getattr(value, name) for name in slots if hasattr(value, name)} | dict(
        getattr(value, "__dict__", {})
    )
    return {name: each for name, each in sorted(attributes.items()) if not _is_derived(value, name, each)}


def _texts(slots: str | Sequence[str]) -> Sequence[str]:
    return (slots,) if isinstance(slots, str) else slots


def _is_derived(value: object, name: str, each: object) -> bool:
    """Return True if an attribute is computed on demand from the others, as kernels of controllers are."""
    if isinstance(getattr(type(value), name, None), functools.cached_property):
        return True
    inner = type(each).__module__.partition(".")[0] == OURS
    return name.startswith("_") and inner and not dataclasses.is_dataclass(each) and not isinstance(each, Controller)
