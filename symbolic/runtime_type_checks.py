# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false
"""Checks of the arguments of public functions, constructors and methods against their own annotations.

Arguments that a body would not notice are refused before it runs: another class, a boolean for a number, a text for a
boolean, a word that is not allowed. If arguments make a body fail with an error that is not Erugin's, it is explained
afterwards by the arguments that do not fit. Numbers are left to the bodies, which know their units and ranges.
"""

from __future__ import annotations

import ast
import collections.abc
import contextlib
import enum
import functools
import importlib.util
import inspect
import os
import pathlib
import re
import sys
import types
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from .errors import (
    LONGEST_NAME,
    EruginError,
    ModelError,
    NotFiniteError,
    OutOfMemoryError,
    ShapeError,
    is_name,
    require_name,
)
from .validation import format_value, real_number, reals

Test = Callable[[Any], bool]

_TICK_SIGNATURES = (("self", "t", "q", "v"), ("self", "p"))
"""First parameters of methods that loops call at every tick, and that check their numbers themselves."""

_ABSENT = object()

_ARRAY_LIKE = frozenset(typing.get_args(ArrayLike))


class _Numbers:
    """Replacement for ``ArrayLike`` in annotations, which typing would expand into its many parts."""


@dataclass(frozen=True)
class _TypeCheck:
    """Values that an annotation allows.

    Attributes:
        text: completes "must be …".
        passes: test whether a value is passed to the body.
        fits: test whether a value matches the annotation.
        numeric: True if the value is an array of numbers.
        iterable: True if the value may be an iterator, which is read completely before it is checked.
        own: True if the value is an object of Erugin, or None; bodies may have their own messages for others, which
            are refused afterwards if a body did not check them.
    """

    text: str
    passes: Test
    fits: Test
    numeric: bool = False
    iterable: bool = False
    own: bool = False


def check_exports(namespace: dict[str, Any], *, but: Collection[str] = ()) -> None:
    """Make every public function and class of a package check its arguments.

    Args:
        namespace: ``globals()`` of the package, complete, with its ``__all__``.
        but: names of records that control ticks create, and that must not cost more.
    """
    for name in namespace["__all__"]:
        value = namespace[name]
        if name in but:
            continue
        if isinstance(value, type):
            _check_class(value)
        elif (inspect.isfunction(value) or hasattr(value, "cache_info")) and not hasattr(value, "__checked__"):
            guarded = _guard(value, value.__name__, value, sys.modules[value.__module__])
            namespace[name] = guarded
            # Also in its own module, so that a pickle finds it there under its name.
            setattr(sys.modules[value.__module__], value.__name__, guarded)


def _check_class(cls: type) -> None:
    """Replace the constructor and the public methods that a class defines itself, once."""
    if "__checked__" in vars(cls) or issubclass(cls, enum.Enum | BaseException | tuple) or _is_protocol(cls):
        return
    for key, member in list(vars(cls).items()):
        if key != "__init__" and key.startswith("_"):
            continue
        kind = type(member)
        function = member.__func__ if kind in (classmethod, staticmethod) else member
        if not inspect.isfunction(function) or getattr(function, "__isabstractmethod__", False):
            continue
        if key != "__init__" and tuple(inspect.signature(function).parameters)[:4] in _TICK_SIGNATURES:
            continue
        label = cls.__name__ if key == "__init__" else f"{cls.__name__}.{key}"
        guarded = _guard(function, label, cls, sys.modules[cls.__module__])
        setattr(cls, key, kind(guarded) if kind in (classmethod, staticmethod) else guarded)
    cls.__checked__ = True  # type: ignore[attr-defined]


def _is_protocol(cls: type) -> bool:
    return bool(getattr(cls, "_is_protocol", False))


def _guard(function: Callable[..., Any], label: str, owner: Any, module: types.ModuleType) -> Callable[..., Any]:  # noqa: ANN401
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    checks: list[tuple[int, Test]] | None = None
    by_name: dict[str, Test] = {}
    iterated: set[str] = set()
    owned: dict[str, tuple[int, Test]] = {}

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        nonlocal checks
        if checks is None:
            kinds = _type_checks(function, owner, module)
            by_name.update({name: kind.passes for name, kind in kinds.items()})
            iterated.update(name for name, kind in kinds.items() if kind.iterable)
            indices = {name: i for i, name in enumerate(names)}
            owned.update(
                (name, (indices.get(name, sys.maxsize), kind.fits))
                for name, kind in kinds.items()
                if kind.own and kind is not _NONE
            )
            checks = [
                (i, by_name[name]) for i, name in enumerate(names) if by_name.get(name, _anything) is not _anything
            ]
        if iterated and any(isinstance(value, collections.abc.Iterator) for value in (*args, *kwargs.values())):
            args = (
                tuple(_materialize(name, value, iterated) for name, value in zip(names, args, strict=False))
                + args[len(names) :]
            )
            kwargs = {name: _materialize(name, value, iterated) for name, value in kwargs.items()}
        for i, passes in checks:
            if i >= len(args):
                break
            if not passes(args[i]):
                raise _argument_error(
                    label, function, owner, names[i], _type_checks(function, owner, module)[names[i]], args[i]
                )
        for name, value in kwargs.items():
            if name in by_name and not by_name[name](value):
                raise _argument_error(label, function, owner, name, _type_checks(function, owner, module)[name], value)
        try:
            result = function(*args, **kwargs)
        except (EruginError, Warning):
            raise
        except Exception as error:
            if _is_called_by_erugin():
                raise
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            for name, kind in _type_checks(function, owner, module).items():
                if name in given and not kind.fits(given[name]):
                    raise _argument_error(label, function, owner, name, kind, given[name]) from error
            explained = _explain_failure(label, error, given) if _is_ours(error, module) else None
            if explained:
                raise explained from error
            raise
        for name, (i, fits) in owned.items():
            value = args[i] if i < len(args) else kwargs.get(name, _ABSENT)
            if value is not _ABSENT and not fits(value):
                raise _argument_error(label, function, owner, name, _type_checks(function, owner, module)[name], value)
        return result

    guarded.__checked__ = True  # type: ignore[attr-defined]
    return guarded


def _is_called_by_erugin() -> bool:
    """True if the failing call came from Erugin itself, where callers that expect errors of libraries catch them."""
    calling = inspect.currentframe()
    for _ in range(2):
        calling = None if calling is None else calling.f_back
    return calling is not None and _is_own(str(calling.f_globals.get("__name__", "")))


def _is_own(module: str) -> bool:
    return module.partition(".")[0] == _OWN


def _is_ours(error: Exception, module: types.ModuleType) -> bool:
    """True if Erugin failed, or a library; exceptions that users' functions raise are theirs."""
    own = {_OWN, module.__name__.partition(".")[0]}
    ours, trace = True, error.__traceback__
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
        # An error of the standard library is the fault of the frame that called it.
        if (package := _package(frame)) not in sys.stdlib_module_names:
            # The code of compiled modules has paths of the machine that built them.
            path = str(frame.f_globals.get("__file__") or frame.f_code.co_filename)
            ours = package in own or _INSTALLED.search(path) is not None
    return ours


def _package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


_OWN = __name__.partition(".")[0]
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")
"""Part of the path of an installed library."""


def _materialize(name: str, value: object, iterated: set[str]) -> object:
    return tuple(value) if name in iterated and isinstance(value, collections.abc.Iterator) else value


def _argument_error(
    label: str, function: Callable[..., Any], owner: object, name: str, kind: _TypeCheck, value: object
) -> EruginError:
    """Return the error for one argument, with its description from the docstring."""
    if name == "name":
        require_name(label, value)
    docs = (inspect.getdoc(described) or "" for described in (function, owner))
    found = re.search(rf"^ +{name}: (.+(?:\n {{8,}}.+)*)", "\n".join(docs), re.MULTILINE)
    meaning = f" ({name}: {' '.join(found[1].split())})" if found else ""
    error = ShapeError if kind.numeric else ModelError
    return error(f"{name} of {label} must be {kind.text}, got {format_value(value)}{meaning}")


_SIZES = re.compile(
    "dimension|broadcast|inhomogeneous|out of (bounds|range)|too many indices|did not match|shape|unsized|has no len"
    "|sparsit|number of (elements|rows|columns)|square|[0-9]-vector|scalar|argument 2 is (long|short)er",
    re.IGNORECASE,
)
"""Messages of NumPy and CasADi where sizes do not fit."""


_FUNCTION, _FREE = "Error in Function::Function", re.compile(r"since variables \[([^]]*)\] are free")
"""Messages of CasADi for symbols that are not inputs, and for inputs that are not symbols or occur twice."""

_RANGES = re.compile("math domain error|negative dimensions")
"""Messages of Python and NumPy for numbers outside a function's domain."""


def _explain_failure(label: str, error: Exception, given: Mapping[str, Any]) -> EruginError | None:
    """Explain a library's failure by numbers, sizes or names of fitting arguments; None for errors of another kind."""
    text = str(error).strip().splitlines()[-1:] or [""]
    whole = ", ".join(f"{k} = {v}" for k, v in given.items() if isinstance(v, float | int) and not isinstance(v, bool))
    if isinstance(error, MemoryError) or "Maximum allowed" in text[0] or "bad_alloc" in text[0]:
        return OutOfMemoryError(f"no room in memory for {label}{' with ' + whole if whole else ''}")
    if isinstance(error, ArithmeticError | np.linalg.LinAlgError) or _RANGES.search(text[0]):
        return NotFiniteError(f"{label} is undefined or overflows{' with ' + whole if whole else ''}: {text[0]}")
    if isinstance(error, KeyError) and len(error.args) == 1:
        for name, value in given.items():
            if isinstance(value, Mapping) and error.args[0] not in value:
                return ModelError(f"{name} of {label} has no {error.args[0]!r}; it has {format_value(list(value))}")
    if _FUNCTION in str(error):
        free = _FREE.search(str(error))
        cause = f"symbols that are not inputs: {' '.join(free[1].split())}" if free else text[0]
        return ModelError(f"{label} cannot make a function of its expressions: {cause}")
    sizes = [f"{name} {value.shape}" for name, value in given.items() if isinstance(value, ca.SX | np.ndarray)]
    sizes += [
        f"{name} {np.shape(value) if _is_array(value) else (len(value),)}"
        for name, value in given.items()
        if isinstance(value, list | tuple)
    ]
    wrong = isinstance(error, ValueError | IndexError | RuntimeError | NotImplementedError) or bool(
        re.search("unsized|has no len", text[0])
    )
    if sizes and wrong and _SIZES.search(str(error)):
        return ShapeError(f"{label} cannot combine arguments of the shapes {', '.join(sizes)}: {text[0]}")
    return None


def _type_checks(function: Callable[..., Any], owner: Any, module: types.ModuleType) -> dict[str, _TypeCheck]:  # noqa: ANN401
    """Checks of the annotated parameters, by name."""
    kinds: dict[str, _TypeCheck] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.annotation is inspect.Parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        hint = _evaluated(parameter.annotation, _namespaces(name, owner, module))
        kind = _ANYTHING if hint is None else _type_check(hint)
        if name == "name" and kind is not _ANYTHING:
            kind = _TypeCheck(kind.text, _may_be_name, kind.fits)
        if parameter.default is None and not kind.fits(None):
            kind = _either([kind, _NONE])
        kinds[name] = kind
    return kinds


def _namespaces(name: str, owner: Any, module: types.ModuleType) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Namespaces for the names in an annotation: a field is annotated in the module of the class that defines it."""
    yield vars(module)
    for base in getattr(owner, "__mro__", ()):
        if name in inspect.get_annotations(base) and base.__module__ in sys.modules:
            yield vars(sys.modules[base.__module__])


def _evaluated(annotation: object, namespaces: Iterator[dict[str, Any]]) -> Any:  # noqa: ANN401
    """Evaluate an annotation; None if it has a name of a package that is not loaded."""
    if not isinstance(annotation, str):
        return annotation
    for namespace in namespaces:
        with contextlib.suppress(NameError, AttributeError):
            return eval(annotation, {**namespace, "ArrayLike": _Numbers})
        with contextlib.suppress(NameError, AttributeError, OSError, TypeError):
            return eval(annotation, {**namespace, **_for_type_checkers(namespace["__name__"]), "ArrayLike": _Numbers})
    return None


@functools.cache
def _imports_for_type_checkers(module: str) -> tuple[ast.stmt, ...]:
    """Statements of a module that import for type checkers only."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return tuple(node for block in blocks for node in block.body)


def _for_type_checkers(module: str) -> dict[str, Any]:
    """Names that a module has for type checkers only, of packages that are loaded."""
    names: dict[str, Any] = {}
    for node in _imports_for_type_checkers(module):
        if isinstance(node, ast.Import):
            names.update({(n.asname or n.name): sys.modules[n.name] for n in node.names if n.name in sys.modules})
        elif isinstance(node, ast.ImportFrom):
            name = importlib.util.resolve_name("." * node.level + (node.module or ""), module.rpartition(".")[0])
            found = vars(sys.modules[name]) if name in sys.modules else {}
            names.update({(n.asname or n.name): found[n.name] for n in node.names if n.name in found})
    return names


def _anything(value: object) -> bool:
    return True


def _is_number(value: object) -> bool:
    try:
        real_number("", value)
    except ModelError:
        return isinstance(value, float | np.floating)
    return True


def _is_array(value: object) -> bool:
    try:
        reals("", value)
    except ShapeError:
        return False
    return True


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < 1 << 63


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _may_be_name(value: object) -> bool:
    """True for a name of any length, which bodies check, or for None; a decorator without a name gets a function."""
    if isinstance(value, str):
        return not value.strip() or is_name(value[:LONGEST_NAME])
    return value is None or callable(value) or (isinstance(value, int) and not isinstance(value, bool))


def _is_flag(value: object) -> bool:
    return isinstance(value, bool | np.bool_)


def _is_no_flag(value: object) -> bool:
    return not isinstance(value, bool | np.bool_)


def _may_be_number(value: object) -> bool:
    """False for what float() would convert to a number; the body reports what is wrong with the rest."""
    if isinstance(value, str | bytes):
        try:
            float(value)
        except ValueError:
            return True
        return False
    if isinstance(value, np.ndarray | ca.DM | ca.SX):
        return _is_number(value)
    return not isinstance(value, bool | np.bool_ | complex | list | tuple | dict | set)


def _may_be_whole(value: object) -> bool:
    return _may_be_number(value) and not (isinstance(value, float) and value != value)


def _is_unmasked(value: object) -> bool:
    return type(value) is not np.ma.MaskedArray or not np.ma.is_masked(value)


def _may_be_array(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiuO" and _is_unmasked(value)
    return not isinstance(value, bool | np.bool_ | complex)


def _may_be_path(value: object) -> bool:
    try:
        # Some surrogates represent bytes of a file's name that are not UTF-8.
        return isinstance(value, str) and value != "" and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _is_function(value: object) -> bool:
    """True if it may be callable; if the call fails, a class such as dict, or a casadi.Function, is to blame."""
    if isinstance(value, type):
        return value.__module__ != "builtins"
    return callable(value) and not isinstance(value, ca.Function)


def _is_none(value: object) -> bool:
    return value is None


_ANYTHING = _TypeCheck("anything", _anything, _anything)
_NONE = _TypeCheck("None", _is_none, _is_none, own=True)
_PATH = _TypeCheck("a path", _may_be_path, _may_be_path)
_NUMBERS = _TypeCheck("real numbers", _may_be_array, _is_array, numeric=True)
_SIMPLE: dict[object, _TypeCheck] = {
    Any: _ANYTHING,
    object: _ANYTHING,
    None: _NONE,
    type(None): _NONE,
    float: _TypeCheck("a number", _may_be_number, _is_number),
    int: _TypeCheck("a whole number", _may_be_whole, _is_whole),
    complex: _TypeCheck("a number", _is_no_flag, lambda value: isinstance(value, complex) or _is_number(value)),
    bool: _TypeCheck("True or False", _is_flag, _is_flag),
    str: _TypeCheck("a text", lambda value: value is None or _is_text(value), _is_text),
    _Numbers: _NUMBERS,
    ca.SX: _TypeCheck("a casadi.SX expression", _may_be_array, lambda value: isinstance(value, ca.SX)),
}


@functools.cache
def _type_check(hint: Any) -> _TypeCheck:  # noqa: ANN401 - an annotation can be any object
    """Check of the values that an annotation allows."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if dissolved := any("_SupportsArray" in str(part) for part in parts):
            parts = tuple(part for part in parts if part not in _ARRAY_LIKE)
        is_path = any((typing.get_origin(part) or part) in (os.PathLike, pathlib.Path) for part in parts)
        kinds = [_PATH if is_path and part is str else _type_check(part) for part in parts]
        return _either(kinds + [_NUMBERS] * dissolved)
    if origin is typing.Literal:
        return _one_of(parts)
    if origin is np.ndarray:
        return _array_of(typing.get_args(parts[-1]))
    if origin is typing.Annotated:
        return _type_check(parts[0])
    if isinstance(origin, type) and issubclass(origin, collections.abc.Mapping):
        return _mapping(*map(_type_check, parts))
    if origin is tuple and parts[-1:] != (...,):
        return _members([_type_check(part) for part in parts])
    if isinstance(origin, type) and issubclass(origin, collections.abc.Iterable) and parts:
        return _several(origin, _type_check(parts[0]))
    if isinstance(hint, typing.TypeVar):
        return _ANYTHING if hint.__bound__ is None else _type_check(hint.__bound__)
    return _of_class(origin or hint)


def _array_of(types_: tuple[Any, ...]) -> _TypeCheck:
    """Check for arrays of one type of entries; whole numbers are accepted as real ones."""
    entry = types_[0] if types_ and isinstance(types_[0], type) else object
    families = {"f": np.floating, "i": np.integer, "c": np.complexfloating, "b": np.bool_}
    code = next((letter for letter, family in families.items() if issubclass(entry, family)), "")
    kinds = {"f": "fiu", "i": "iu", "c": "cfiu"}.get(code, code)

    def fits(value: object) -> bool:
        return isinstance(value, np.ndarray) and (not kinds or value.dtype.kind in kinds) and _is_unmasked(value)

    words = {"f": " of real numbers", "i": " of whole numbers", "c": " of numbers", "b": " of truth values"}

    def passes(value: object) -> bool:
        # Arrays of objects may hold numbers of another class, such as ones that count operations.
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return True
        if isinstance(value, np.ndarray):
            return fits(value)
        return _is_array(value) if code == "f" else not isinstance(value, bool | np.bool_ | str | complex)

    return _TypeCheck(f"a NumPy array{words.get(code, '')}", passes, fits, numeric=True)


def _of_class(cls: object) -> _TypeCheck:
    """Check for instances of a class; for a protocol, for objects with its members."""
    if cls is collections.abc.Callable:
        return _TypeCheck("a Python function", _anything, _is_function)
    if not isinstance(cls, type) or cls is type:
        return _ANYTHING
    text = f"{'an' if cls.__name__[0] in 'AEIO' else 'a'} {cls.__name__}"
    if _is_protocol(cls):
        members = [key for key in vars(cls) if key == "__call__" or not key.startswith("_")]
        return _TypeCheck(text, _anything, lambda value: all(hasattr(value, key) for key in members))

    def fits(value: object) -> bool:
        return isinstance(value, cls)

    # Such as parameters or coordinates: they are stored, and another class would fail much later.
    return _TypeCheck(
        text, fits if cls.__module__.startswith(__package__ or "") else _anything, fits, own=_is_own(cls.__module__)
    )


def _one_of(words: tuple[object, ...]) -> _TypeCheck:
    """Check for one of some words."""

    def is_one(value: object) -> bool:
        return isinstance(value, str | int) and value in words

    return _TypeCheck(" or ".join(map(repr, words)), _anything, is_one)


def _either(kinds: list[_TypeCheck]) -> _TypeCheck:
    """Check for what one of several checks allows."""
    if any(kind is _ANYTHING for kind in kinds):
        return _ANYTHING
    passes, fits = [kind.passes for kind in kinds], [kind.fits for kind in kinds]
    # Beside a number, what else is allowed must not let a truth value through.
    flags = all(test(True) for test in passes) or any(test(True) for test in fits)
    return _TypeCheck(
        " or ".join(dict.fromkeys(kind.text for kind in kinds)),
        lambda value: (flags or _is_no_flag(value)) and any(test(value) for test in passes),
        lambda value: any(test(value) for test in fits),
        numeric=any(kind.numeric for kind in kinds),
        iterable=any(kind.iterable for kind in kinds),
        own=all(kind.own for kind in kinds),
    )


def _several(origin: type, member: _TypeCheck) -> _TypeCheck:
    """Check for a collection of members of one kind."""
    ordered = issubclass(origin, collections.abc.Sequence)
    numbers, kinds = member in (_SIMPLE[float], _SIMPLE[int]), "iuO" if member is _SIMPLE[int] else "fiuO"

    def passes(value: object) -> bool:
        if isinstance(value, list | tuple):
            return all(map(member.passes, value))
        if numbers and isinstance(value, str | bytes | np.ndarray):
            return isinstance(value, np.ndarray) and value.dtype.kind in kinds and _is_unmasked(value)
        return _is_unmasked(value)

    def fits(value: object) -> bool:
        if isinstance(value, np.ndarray):
            return value.ndim > 0 and all(map(member.fits, value.tolist()))
        if isinstance(value, str | bytes) or not isinstance(value, collections.abc.Collection):
            return False
        return not (ordered and not isinstance(value, collections.abc.Sequence)) and all(map(member.fits, value))

    return _TypeCheck(f"a sequence, each {member.text}", passes, fits, iterable=True)


def _members(members: list[_TypeCheck]) -> _TypeCheck:
    """Check for a tuple of known length."""

    def fits(value: object) -> bool:
        return (
            isinstance(value, tuple | list)
            and len(value) == len(members)
            and all(member.fits(part) for member, part in zip(members, value, strict=True))
        )

    return _TypeCheck(f"({', '.join(member.text for member in members)})", _is_unmasked, fits)


def _mapping(key: _TypeCheck = _ANYTHING, entry: _TypeCheck = _ANYTHING) -> _TypeCheck:
    """Check for a mapping."""

    def passes(value: object) -> bool:
        return not isinstance(value, collections.abc.Mapping) or all(map(entry.passes, value.values()))

    def fits(value: object) -> bool:
        return (
            isinstance(value, collections.abc.Mapping)
            and all(map(key.fits, value))
            and all(map(entry.fits, value.values()))
        )

    return _TypeCheck(f"a mapping from {key.text} to {entry.text}", passes, fits)
