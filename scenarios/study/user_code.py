"""Which files a user's scenario and controllers come from."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import hashlib
import sys
import types
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...controllers.controller import Controller
from ..scenario import Scenario

OURS = __name__.partition(".")[0]
DEPTH = 4


def is_users(module: object) -> bool:
    """Whether a module is a file that is neither Erugin's nor an installed package's.

    Args:
        module: any.
    """
    file, name = getattr(module, "__file__", None), str(getattr(module, "__name__", ""))
    if not isinstance(file, str) or not file.endswith(".py") or name.partition(".")[0] == OURS:
        return False
    return not any(folder in Path(file).resolve().parents for folder in _installed())


def user_modules(values: Sequence[object]) -> tuple[types.ModuleType, ...]:
    """The user's modules that functions and classes are from, and those beside them that they import.

    Args:
        values: a scenario, functions that make controllers.
    """
    own = dict.fromkeys(name for value in values for name in _modules(value, DEPTH))
    first = [sys.modules[name] for name in own if name in sys.modules and is_users(sys.modules[name])]
    files = dict.fromkeys(file for module in first for file in with_imports(Path(str(module.__file__))))
    loaded = {Path(str(each.__file__)).resolve(): each for each in list(sys.modules.values()) if is_users(each)}
    beside = [loaded[file] for file in files if file in loaded]
    return tuple({id(module): module for module in [*first, *beside]}.values())


def with_imports(file: Path) -> tuple[Path, ...]:
    """A file and, as far as they stand beside it, those that it imports, and those that they import.

    Args:
        file: of Python.
    """
    found: dict[Path, None] = {}
    waiting = [file.resolve()]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found[one] = None
            waiting += [each for each in _imports(one) if each not in found]
    return tuple(found)


def code_hash(file: Path) -> str:
    """Hash of a file and of those beside it that it imports; comments and the way it is set out make no difference.

    Args:
        file: of Python.
    """
    whole = hashlib.sha256()
    for each in with_imports(file):
        text = text_of(each) or ""
        # If it has changed since it was imported and is no Python now, it differs from any that was as it is.
        with contextlib.suppress(SyntaxError, ValueError):
            text = ast.unparse(ast.parse(text))
        whole.update(text.encode() + b"\0")
    return whole.hexdigest()[:32]


def text_of(file: Path) -> str | None:
    """The text of a file, or None if it cannot be read.

    Args:
        file: of Python.
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
            place = file.parent.joinpath(*name.split("."))
            for each in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                if each.is_file():
                    yield each.resolve()


def _modules(value: object, depth: int) -> Iterator[str]:
    """Names of the modules that functions, classes and instances are from."""
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
    """What a function has bound, or None if it is nothing yet.

    Args:
        cell: of its closure.
    """
    try:
        return cell.cell_contents
    except ValueError:
        return None


@functools.cache
def _installed() -> tuple[Path, ...]:
    """Folders of Python's own modules and of installed ones."""
    import sysconfig  # late, for it reads how Python was built

    paths = sysconfig.get_paths()
    return tuple(Path(paths[key]).resolve() for key in ("stdlib", "platlib", "purelib"))
