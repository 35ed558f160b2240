"""The tiers of the tests, and the fixtures that several files share.

``--tier quick`` is ``make test``: every room, with light packages and interpreted kernels. ``--tier rest`` is what
``make test-all`` runs after it; ``--tier all``, the default, is both. A test is beyond the quick tier

- by its folder or file, if FOREIGN lists it and LIGHT does not: it needs other programs or heavy packages;
- by a marker: ``slow`` (takes more than 2 s), ``sampled`` (all but the first parameters of a test), ``compiled`` (is
  about machine code), ``foreign`` (needs a package or data that the quick tier does not install).

In the quick tier the packages of HEAVY cannot be imported even where they are installed, so that the tier is the same
everywhere, and ERUGIN_CC is ``none``: kernels run in CasADi's virtual machine.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import hypothesis
import pytest

from erugin.symbolic.compiler import find_compiler

from .support.caches import cache, copier
from .support.command_line import terminal
from .support.processes import compiler

__all__ = ["cache", "compiler", "copier", "terminal"]

FOREIGN = (
    "benchmarks",
    "bridges",
    "cli/test_export.py",
    "cli/test_replay.py",
    "cli/test_study.py",
    "controllers/baselines/test_arm_laws_pinocchio.py",
    "robots/urdf/test_dynamics.py",
    "robots/urdf/test_joints.py",
    "robots/urdf/test_mimic.py",
    "scenarios/report",
    "scenarios/study",
    "simulation/storage/test_data_frames.py",
    "simulation/test_memory_limits.py",
    "test_claims.py",
)
LIGHT = ("bridges/casadi", "bridges/common/test_recorder.py", "bridges/python_control", "bridges/test_contract.py")
"""Folders and files in those that need no other program."""
MODELS = ("Panda", "seven joints", "seven-joint", "URDF", "urdf-")
"""What the identifiers of parameters hold that are robots of the package example-robot-data."""
HEAVY = (
    "cloudpickle",
    "distributed",
    "drake",
    "ecospy",
    "example_robot_data",
    "exudyn",
    "fmpy",
    "gymnasium",
    "jax",
    "jinja2",
    "mujoco",
    "pandas",
    "pinocchio",
    "psutil",
    "pyarrow",
    "pybullet",
    "pydrake",
    "selenium",
    "xarray",
)
HERE = Path(__file__).parent


class Unavailable(importlib.abc.MetaPathFinder):
    """Makes the packages of HEAVY as good as not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Refuse a heavy package."""
        if fullname.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(
                f"the quick tier has no {fullname}: mark the test foreign, or list its file in tests/conftest.py",
                name=fullname,
            )
        return None


for tier, examples in (("quick", 20), ("rest", 100), ("all", 100)):
    hypothesis.settings.register_profile(tier, max_examples=examples, deadline=None, derandomize=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--tier``."""
    parser.addoption("--tier", choices=("quick", "rest", "all"), default="all", help="the tests to run (default: all)")


def pytest_configure(config: pytest.Config) -> None:
    """Set up the quick tier before a kernel is built, and the number of random examples."""
    tier = str(config.getoption("--tier"))
    hypothesis.settings.load_profile(tier)
    if tier == "quick":
        os.environ["ERUGIN_CC"] = "none"
        find_compiler.cache_clear()
        sys.meta_path.insert(0, Unavailable())
        config.addinivalue_line("filterwarnings", "ignore:kernels run in CasADi's virtual machine")


def is_foreign(path: Path) -> bool:
    """True if FOREIGN lists a file or one of its folders, and LIGHT neither them nor what is in them."""
    place = path.relative_to(HERE).as_posix() if path.is_relative_to(HERE) else ""
    light = any(f"{place}/".startswith(f"{one}/") or one.startswith(f"{place}/") for one in LIGHT)
    return not light and any(f"{place}/".startswith(f"{one}/") for one in FOREIGN)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave foreign files out of the quick tier: not even imported."""
    return True if config.getoption("--tier") == "quick" and is_foreign(collection_path) else None


def is_beyond_quick(item: pytest.Item) -> bool:
    """True if a test is in the rest tier."""
    marked = any(item.get_closest_marker(name) for name in ("slow", "compiled", "foreign"))
    marked = marked or "compiler" in getattr(item, "fixturenames", ())
    return marked or is_foreign(item.path) or any(model in item.name.partition("[")[2] for model in MODELS)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Select the tests of the tier."""
    tier = config.getoption("--tier")
    if tier == "all":
        return
    beyond = [is_beyond_quick(item) for item in items]
    seen: set[str] = set()
    for i, item in enumerate(items):
        if item.get_closest_marker("sampled") and not beyond[i]:
            function = item.nodeid.partition("[")[0]
            beyond[i] = function in seen
            seen.add(function)
    chosen = [item for item, other in zip(items, beyond, strict=True) if other == (tier == "rest")]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail a test about machine code where there is no compiler, with the reason."""
    if item.get_closest_marker("compiled") and isinstance(found := find_compiler(), str):
        pytest.fail(f"the test is about machine code, and {found}", pytrace=False)
