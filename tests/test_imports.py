"""Imports go one way through the rooms, by relative imports only, without cycles and without heavy modules.

The sources are read, not run: an import inside a function or under TYPE_CHECKING counts for the direction too.
"""

import ast
import functools
import graphlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from .project import ROOT

ROOM_ORDER = ("symbolic", "constraints", "robots", "controllers", "simulation", "views", "scenarios", "bridges", "cli")
"""From the ground up: a room may import from itself and from those before it."""
TOP = "package"
UPWARD = {("erugin.simulation.trajectory", "erugin.views")}
"""Methods that users type, one line each, and the room that they hand themselves to."""
HEAVY = ("matplotlib", "control", "rich", "PIL", "lxml")


class Import(NamedTuple):
    """One name that a module imports: ``line``, the module, and the name in it (empty for ``import x``)."""

    line: int
    module: str
    name: str
    relative: bool
    deferred: bool


class Module(NamedTuple):
    """A source file as a module: its dotted name, whether it is a package, and what it imports."""

    name: str
    is_package: bool
    imports: tuple[Import, ...]


def module_name(root: Path, file: Path) -> str:
    """Dotted name that the file has once installed."""
    parts = list(file.relative_to(root).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(["erugin", *(parts[1:] if parts[0] == TOP else parts)])


def is_type_checking(test: ast.expr) -> bool:
    """Whether a condition is TYPE_CHECKING or typing.TYPE_CHECKING."""
    return "TYPE_CHECKING" in {getattr(test, "id", ""), getattr(test, "attr", "")}


def walk_imports(body: list[ast.stmt], package: str, deferred: bool = False) -> Iterator[Import]:
    """Every import below ``body``; deferred are those that do not run when the module is imported."""
    for statement in body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                yield Import(statement.lineno, alias.name, "", False, deferred)
        elif isinstance(statement, ast.ImportFrom):
            base = statement.module or ""
            if statement.level:
                parents = package.split(".")
                parents = parents[: len(parents) - (statement.level - 1)]
                base = ".".join([*parents, *([statement.module] if statement.module else [])])
            for alias in statement.names:
                yield Import(statement.lineno, base, alias.name, statement.level > 0, deferred)
        else:
            later = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
            later |= isinstance(statement, ast.If) and is_type_checking(statement.test)
            for field in ("body", "orelse", "finalbody"):
                yield from walk_imports(getattr(statement, field, []), package, deferred or (later and field == "body"))
            for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
                yield from walk_imports(part.body, package, deferred)


def read_modules(root: Path) -> dict[str, Module]:
    """All modules of the rooms by name."""
    modules: dict[str, Module] = {}
    for room in (*ROOM_ORDER, TOP):
        for file in sorted((root / room).rglob("*.py")):
            name, is_package = module_name(root, file), file.name == "__init__.py"
            package = name if is_package else name.rpartition(".")[0]
            tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
            modules[name] = Module(name, is_package, tuple(walk_imports(tree.body, package)))
    return modules


def find_room(module: str) -> str:
    """The room that a module lies in; ``package`` for ``erugin`` itself and anything in no room."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOM_ORDER else TOP


def wrong_directions(modules: dict[str, Module]) -> list[str]:
    """A sentence for each import that goes up the table, or is not relative."""
    order = (*ROOM_ORDER, TOP)
    found: list[str] = []
    for module in modules.values():
        for item in module.imports:
            full = f"{item.module}.{item.name}" if item.name else item.module
            if not item.relative:
                if item.module.split(".")[0] in {"erugin", *order}:
                    found.append(f"{module.name}:{item.line} imports {full} absolutely")
                continue
            # `from .. import robots` names a room, `from .. import __version__` something of the package.
            target = full if find_room(item.module) == TOP else item.module
            if item.module.split(".")[0] != "erugin":
                found.append(f"{module.name}:{item.line} leaves erugin")
            elif order.index(find_room(target)) > order.index(find_room(module.name)) and not (
                item.deferred and (module.name, f"erugin.{find_room(target)}") in UPWARD
            ):
                found.append(f"{module.name}:{item.line} imports {full}, which is above it")
    return found


def run_before(module: Module, modules: dict[str, Module]) -> set[str]:
    """Modules that must have run before ``module`` has, other than the packages that it lies in."""
    needed: set[str] = set()
    above = {module.name.rsplit(".", i)[0] for i in range(1, module.name.count(".") + 1)}
    for item in module.imports:
        if item.deferred or not item.relative:
            continue
        target = f"{item.module}.{item.name}"
        if target not in modules:
            target = item.module
            needed.add(target)
        # Importing a.b.c runs a and a.b first; those around the importing module are already on their way.
        needed |= {target.rsplit(".", i)[0] for i in range(target.count(".") + 1)} - above
    return needed - {module.name}


def find_cycle(modules: dict[str, Module]) -> list[str]:
    """Modules that import one another in a circle when they are loaded; empty if there are none."""
    graph = {name: run_before(module, modules) for name, module in modules.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def write_tree(root: Path, files: dict[str, str]) -> dict[str, Module]:
    """The rooms, empty but for some files, in a folder of their own."""
    for room in (*ROOM_ORDER, TOP):
        (root / room).mkdir()
        (root / room / "__init__.py").touch()
    for path, text in files.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return read_modules(root)


@functools.cache
def read_rooms() -> dict[str, Module]:
    """The modules of this repository."""
    return read_modules(ROOT)


def test_every_room_is_read() -> None:
    modules = read_rooms()
    assert {"erugin", *(f"erugin.{room}" for room in ROOM_ORDER)} <= modules.keys()
    assert len(modules) > 40
    assert sum(len(module.imports) for module in modules.values()) > 200


def test_imports_go_down_the_table() -> None:
    assert wrong_directions(read_rooms()) == []


def test_no_cycles() -> None:
    assert find_cycle(read_rooms()) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("symbolic/a.py", "from ..constraints import Constraint\n"),
        ("symbolic/a.py", "from .. import robots\n"),
        ("symbolic/a.py", "from .. import __version__\n"),
        ("symbolic/__init__.py", "from ..robots.robot import Robot\n"),
        ("constraints/a.py", "def f():\n    from ..scenarios import simulate\n"),
        ("robots/a.py", "if TYPE_CHECKING:\n    from ..controllers import Program\n"),
        ("robots/b/c.py", "from ...controllers.program import Program\n"),
        ("controllers/a.py", "try:\n    pass\nexcept ImportError:\n    from ..scenarios import simulate\n"),
        ("scenarios/a.py", "class A:\n    with x:\n        from ..bridges import mujoco\n"),
        ("scenarios/a.py", "match x:\n    case 1:\n        from ..bridges import mujoco\n"),
        ("robots/a.py", "import erugin.symbolic\n"),
        ("robots/a.py", "from erugin.symbolic import Kernel\n"),
        ("robots/a.py", "import numpy, symbolic.kernel\n"),
        ("robots/a.py", "from constraints import Constraint\n"),
        ("robots/a.py", "from package import __version__\n"),
        ("robots/a.py", "from ...elsewhere import x\n"),
    ],
)
def test_wrong_direction_is_caught(tmp_path: Path, path: str, text: str) -> None:
    found = wrong_directions(write_tree(tmp_path, {path: text}))
    assert len(found) == 1
    line = next(number for number, words in enumerate(text.splitlines(), 1) if "import " in words)
    assert found[0].startswith(f"{module_name(tmp_path, tmp_path / path)}:{line} ")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("constraints/a.py", "from ..symbolic import Kernel\nfrom . import follow\nimport numpy.constraints\n"),
        ("scenarios/plots/a.py", "from ...controllers import Program\nfrom ..plots.style import save\n"),
        ("bridges/a.py", "from .. import scenarios, symbolic\nimport mujoco\nimport symbolically\n"),
        ("package/__init__.py", "from .bridges import mujoco\nfrom . import symbolic\n"),
    ],
)
def test_right_direction_is_let_through(tmp_path: Path, path: str, text: str) -> None:
    assert wrong_directions(write_tree(tmp_path, {path: text})) == []


@pytest.mark.parametrize(
    ("files", "cycle"),
    [
        ({"robots/a.py": "from .b import x\n", "robots/b.py": "from .a import y\n"}, {"erugin.robots.a"}),
        ({"robots/a.py": "from . import b\n", "robots/b.py": "from . import a\n"}, {"erugin.robots.b"}),
        # The package runs its module, which wants a name that the package does not have yet.
        ({"robots/__init__.py": "from .a import A\n", "robots/a.py": "from . import B\n"}, {"erugin.robots"}),
        # A module of a folder wants another of the room, which wants the folder.
        (
            {
                "robots/f/__init__.py": "from .a import x\n",
                "robots/f/a.py": "from ..b import y\n",
                "robots/b.py": "from .f.c import z\n",
                "robots/f/c.py": "",
            },
            {"erugin.robots.f", "erugin.robots.b"},
        ),
    ],
)
def test_cycle_is_caught(tmp_path: Path, files: dict[str, str], cycle: set[str]) -> None:
    assert cycle <= set(find_cycle(write_tree(tmp_path, files)))


def _deferred(text: str) -> dict[str, str]:
    return {"robots/__init__.py": "from .a import A\n", "robots/a.py": text, "robots/b.py": "from .a import A\n"}


@pytest.mark.parametrize(
    "files",
    [
        _deferred("def f():\n    from .b import x\n"),
        _deferred("if typing.TYPE_CHECKING:\n    from .b import x\n"),
        _deferred("from ..symbolic import Kernel\n"),
    ],
)
def test_no_cycle_is_let_through(tmp_path: Path, files: dict[str, str]) -> None:
    assert find_cycle(write_tree(tmp_path, files)) == []


def run(code: str, *arguments: str) -> str:
    """Standard output of some code in a fresh interpreter, away from the repository's folders."""
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120.0).stdout


LOADED: Callable[[str], str] = "import sys, {}; print(*(m for m in sys.argv[1:] if m in sys.modules))".format


def test_rooms_load_without_heavy_modules() -> None:
    rooms = "erugin.scenarios, erugin.controllers, erugin.robots, erugin.constraints, erugin.bridges"
    assert run(LOADED(rooms), *HEAVY) == "\n"
    # The same question has another answer where a picture is drawn.
    assert set(run(LOADED("erugin.views.style"), *HEAVY).split()) >= {"matplotlib"}
