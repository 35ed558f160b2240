"""``import erugin`` brings its rooms when they are used, and the rooms bring other packages when they are used."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.resources
import subprocess
import sys

import pytest

import erugin

from .project import ROOMS
from .test_imports import run

NAMES = [room for room in ROOMS if room != "package"]
LIST = "import sys{}; print(*sorted(sys.modules))"
KNOWN = {"casadi", "numpy", "erugin"}


def loaded(*modules: str) -> set[str]:
    """Names of all modules in a fresh interpreter that has imported some."""
    return set(run(LIST.format("".join(f", {module}" for module in modules))).split())


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
    assert package in run(f"{before}; {code}; print(*set(sys.modules) - before)").split()


@pytest.mark.parametrize("room", NAMES)
def test_rooms_are_attributes(room: str) -> None:
    lines = f"import sys, erugin; print('erugin.{room}' in sys.modules); print(erugin.{room}.__name__)"
    assert run(lines).split() == [str(room == "symbolic"), f"erugin.{room}"]
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
