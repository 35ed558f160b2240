"""Imports go one way through the rooms, packages are listed, and no file holds a path of one machine."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import importlib.metadata
import importlib.resources
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import erugin

from . import conftest
from .support.project import ROOMS, ROOT, read_pyproject
from .support.python_code import run_python

MACHINE_PATH = re.compile(r"(^|[^A-Za-z0-9_.])/(home|root|srv|opt|work|mnt)/[a-z]", re.MULTILINE)


def list_files(root: Path) -> list[Path]:
    """Files under version control; without Git, as in a source distribution, all but hidden and built ones."""
    if (root / ".git").exists():
        try:
            command = ["git", "-C", str(root), "ls-files", "-z"]
            names = subprocess.run(command, capture_output=True, check=True, timeout=60.0).stdout.decode().split("\0")
            return [root / name for name in names if name and (root / name).is_file()]
        except (OSError, subprocess.SubprocessError):
            pass
    built = re.compile(r"\..*|build|dist|out|__pycache__|.*\.egg-info|PKG-INFO")
    return [
        file
        for file in sorted(root.rglob("*"))
        if file.is_file() and not any(built.fullmatch(part) for part in file.relative_to(root).parts)
    ]


def machine_paths(files: list[Path]) -> list[str]:
    """Places in text files that hold a path of somebody's machine."""
    found: list[str] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for match in MACHINE_PATH.finditer(text):
            found.append(f"{file}:{text.count(chr(10), 0, match.start(2)) + 1}")
    return found


def test_no_paths_of_a_machine() -> None:
    files = list_files(ROOT)
    assert {ROOT / "pyproject.toml", ROOT / "robots" / "robot.py"} <= set(files)
    assert machine_paths(files) == []


def test_paths_of_a_machine_are_caught(tmp_path: Path) -> None:
    roots = ("home", "root", "srv", "opt", "work", "mnt")
    (tmp_path / "bad.txt").write_text("".join(f"\nsee '/{name}/somebody'" for name in roots), encoding="utf-8")
    (tmp_path / "first.txt").write_text("/" + "home/somebody", encoding="utf-8")
    (tmp_path / "good.txt").write_text("https://x.org/" + "home/a, ../" + "work/b, /usr/lib, /home/", encoding="utf-8")
    (tmp_path / "binary").write_bytes(b"\xff/" + b"home/somebody")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "a.txt").write_text("/" + "home/somebody", encoding="utf-8")
    found = [place.removeprefix(f"{tmp_path}/") for place in machine_paths(list_files(tmp_path))]
    assert found == [*(f"bad.txt:{line}" for line in range(2, 8)), "first.txt:1"]


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
    """True if a condition is TYPE_CHECKING or typing.TYPE_CHECKING."""
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


LOADED: Callable[[str], str] = "import sys, {}; print(*(m for m in sys.argv[1:] if m in sys.modules))".format


def test_rooms_load_without_heavy_modules() -> None:
    rooms = "erugin.scenarios, erugin.controllers, erugin.robots, erugin.constraints, erugin.bridges"
    assert run_python(LOADED(rooms), *HEAVY) == "\n"
    # The same question has another answer where a picture is drawn.
    assert set(run_python(LOADED("erugin.views.style"), *HEAVY).split()) >= {"matplotlib"}


NAMES = [room for room in ROOMS if room != "package"]
LIST = "import sys{}; print(*sorted(sys.modules))"
KNOWN = {"casadi", "numpy", "erugin"}


def loaded(*modules: str) -> set[str]:
    """Names of all modules in a fresh interpreter that has imported some."""
    return set(run_python(LIST.format("".join(f", {module}" for module in modules))).split())


def packages(modules: set[str]) -> set[str]:
    """The packages that they belong to, without those of Python itself."""
    return {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)


def test_erugin_alone_brings_symbols_only() -> None:
    found = loaded("erugin")
    assert "erugin.symbolic" in found
    assert not {f"erugin.{room}" for room in NAMES if room != "symbolic"} & found
    # It takes as long as a fifth of NumPy, and only the version needs it.
    assert "importlib.metadata" not in found


def test_rooms_bring_casadi_and_numpy_only() -> None:
    """No SciPy, matplotlib, control, SymPy, lxml, rich or anything else that they can use."""
    light = [f"erugin.{room}" for room in NAMES if room not in ("views", "cli")]
    rooms = loaded(*light)
    assert {*light} <= rooms
    given = packages(loaded("casadi", "numpy"))
    assert KNOWN - {"erugin"} <= given
    assert packages(rooms) - given == {"erugin"}
    # What is absent above is there to be imported.
    for package in ("scipy", "matplotlib", "control", "rich"):
        assert importlib.metadata.version(package)


@pytest.mark.parametrize(
    ("code", "package"),
    [
        ("erugin.constraints.spline([(0, 0), (1, 1), (2, 0)])", "scipy.interpolate"),
        ("erugin.constraints.Baumgarte(2.0, 3.0).certificate()", "control"),
        ("import erugin.views.style", "matplotlib"),
        ("import erugin.cli.main", "rich"),
    ],
)
def test_use_brings_what_it_needs(code: str, package: str) -> None:
    before = "import sys, erugin; erugin.scenarios; before = set(sys.modules)"
    assert package in run_python(f"{before}; {code}; print(*set(sys.modules) - before)").split()


@pytest.mark.parametrize("room", NAMES)
def test_rooms_are_attributes(room: str) -> None:
    lines = f"import sys, erugin; print('erugin.{room}' in sys.modules); print(erugin.{room}.__name__)"
    assert run_python(lines).split() == [str(room == "symbolic"), f"erugin.{room}"]
    assert getattr(erugin, room) is importlib.import_module(f"erugin.{room}")


def test_names_are_listed() -> None:
    assert set(dir(erugin)) == {*NAMES, "EruginError", "__version__"} == set(erugin.__all__)


def test_version_is_looked_up() -> None:
    assert erugin.__version__ == importlib.metadata.version("erugin")


def test_name_that_does_not_exist() -> None:
    assert not hasattr(erugin, "robts")
    command = [sys.executable, "-P", "-c", "import erugin; erugin.robts"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120.0)
    assert done.stderr.splitlines()[-1].startswith("AttributeError: module 'erugin' has no attribute 'robts'")
    with pytest.raises(ImportError, match="cannot import name 'robts'"):
        exec("from erugin import robts")


def find_packages(root: Path) -> dict[str, str]:
    """Package name → folder, for every folder of the rooms that holds a source file."""
    folders = {file.parent for room in ROOMS for file in (root / room).rglob("*.py")}
    parts = {folder: folder.relative_to(root).parts for folder in folders}
    return {
        ".".join(["erugin", *(names[1:] if names[0] == "package" else names)]): "/".join(names)
        for names in parts.values()
    }


def test_lists_of_packages_match_the_folders() -> None:
    folders = find_packages(ROOT)
    setuptools = read_pyproject()["tool"]["setuptools"]
    assert len(folders) > 10
    for name, folder in folders.items():
        assert name in setuptools["packages"], f'pyproject.toml, [tool.setuptools] packages lacks "{name}",'
        assert name in setuptools["package-dir"], f'pyproject.toml, package-dir lacks "{name}" = "{folder}"'
    assert sorted(setuptools["packages"]) == sorted(folders)
    assert setuptools["package-dir"] == folders
    for folder in folders.values():
        assert (ROOT / folder / "__init__.py").is_file(), f"{folder} is not a package"


def test_a_folder_that_is_missing_from_the_list_is_detected(tmp_path: Path) -> None:
    for path in ("package/__init__.py", "robots/legs/hip.py", "robots/__pycache__/robot.pyc", "docs/conf.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    assert find_packages(tmp_path) == {"erugin": "package", "erugin.robots.legs": "robots/legs"}


def test_every_package_is_installed() -> None:
    for name in read_pyproject()["tool"]["setuptools"]["packages"]:
        assert importlib.import_module(name).__name__ == name


def test_types_are_shipped() -> None:
    assert importlib.resources.files("erugin").joinpath("py.typed").is_file()
    assert "Typing :: Typed" in read_pyproject()["project"]["classifiers"]


def test_there_is_one_version() -> None:
    version = read_pyproject()["project"]["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?(dev|a|b|rc)\d+)?", version)
    assert erugin.__version__ == importlib.metadata.version("erugin") == version
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [version]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert version in re.findall(r"^## \[(.*?)\]", changelog, re.MULTILINE)


def test_what_is_left_out_of_the_quick_tests_is_there() -> None:
    listed = (*conftest.FOREIGN, *conftest.LIGHT)
    assert [place for place in listed if not (ROOT / "tests" / place).exists()] == []


def test_the_quick_tests_install_nothing_heavy() -> None:
    extras = read_pyproject()["project"]["optional-dependencies"]
    wanted = [*read_pyproject()["project"]["dependencies"], *extras["quick"], *extras["urdf"]]
    names = {re.split(r"[^A-Za-z0-9_-]", one)[0] for one in wanted} - {"erugin"}
    assert len(names) > 8
    assert not {name.replace("-", "_") for name in names} & set(conftest.HEAVY)
