"""Contract of every bridge: its BRIDGE, its lines of pyproject.toml and its row in the table of the tests.

What is missing is named with the file where it belongs, so that these tests are the list of what a new bridge needs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import erugin
from erugin.bridges.common.bridge import Bridge, discover_bridges

from ..support.bridges import ROWS
from ..support.project import ROOT, read_pyproject

NONE = {"common", "cross_check"}
"""Folders of the room that are no bridges."""
TABLE = "tests/support/bridges.py"
BRIDGES = [pytest.param(bridge, id=name) for name, bridge in discover_bridges().items()]


def test_every_folder_is_a_bridge() -> None:
    folders = {path.parent.name for path in (ROOT / "bridges").glob("*/__init__.py")} - NONE
    for name in sorted(folders - set(discover_bridges())):
        pytest.fail(f'bridges/{name}/__init__.py lacks BRIDGE = Bridge(__name__, carries="…", …), before check_exports')
    assert list(discover_bridges()) == sorted(folders)


@pytest.mark.parametrize("bridge", BRIDGES)
def test_every_bridge_has_a_row(bridge: Bridge) -> None:
    assert bridge.name in ROWS, f'{TABLE} lacks a row of ROWS: "{bridge.name}": Row(…)'
    row = ROWS[bridge.name]
    if "drive" in bridge.verbs:
        assert row.memory, f'{TABLE}: the row of "{bridge.name}" lacks memory=, as the bridge has drive'
        assert row.units, f'{TABLE}: the row of "{bridge.name}" lacks units=, as the bridge has drive'
    parts = {part for form in bridge.formats.values() for part in form.parts}
    if "plant" in parts:
        assert row.robots, f'{TABLE}: the row of "{bridge.name}" lacks robots=, as the bridge writes files of plants'
    if "law" in parts:
        assert row.laws, f'{TABLE}: the row of "{bridge.name}" lacks laws=, as the bridge writes files of laws'


def test_every_row_is_of_a_bridge() -> None:
    assert set(ROWS) <= set(discover_bridges()), f"{TABLE} has rows of bridges that are not there"


def requirements(extra: str) -> list[Requirement]:
    """All requirements of an extra of the project, those of the extras that it names among them."""
    extras: dict[str, list[str]] = read_pyproject()["project"]["optional-dependencies"]
    found: list[Requirement] = []
    for each in map(Requirement, extras.get(extra, [])):
        found += [one for other in each.extras for one in requirements(other)] if each.name == "erugin" else [each]
    return found


@pytest.mark.parametrize("bridge", BRIDGES)
def test_its_package_is_installed_by_its_extra_and_by_that_of_all_bridges(bridge: Bridge) -> None:
    if not bridge.package:
        assert not bridge.extra
    elif bridge.extra:
        line = f'{bridge.extra} = ["{bridge.package}>=…"]'
        assert bridge.package in {one.name for one in requirements(bridge.extra)}, f"pyproject.toml lacks {line}"
        message = f'pyproject.toml: the extra "bridges" lacks {bridge.extra}'
        assert bridge.package in {one.name for one in requirements("bridges")}, message
    else:
        needed = {Requirement(line).name for line in read_pyproject()["project"]["dependencies"]}
        assert bridge.package in needed, f'bridges/{bridge.name}/__init__.py: BRIDGE lacks extra="…"'


@pytest.mark.parametrize("bridge", BRIDGES)
def test_it_says_what_it_has(bridge: Bridge) -> None:
    assert bridge.verbs
    assert len(bridge.carries) <= 80 - 2 - max(map(len, discover_bridges()))
    check = bridge.cross_check
    if "simulate" in bridge.verbs:
        assert check is not None, f"bridges/{bridge.name}/__init__.py: BRIDGE lacks cross_check=, as it has simulate"
    if check is not None:
        assert check.run is not None or "simulate" in bridge.verbs
        assert check.runs_there
        assert check.scheme


def test_formats_have_one_name_each() -> None:
    names = [name for bridge in discover_bridges().values() for name in bridge.formats]
    assert len(names) == len(set(names))


def test_the_page_tells_what_the_bridges_tell() -> None:
    """Of those that it names: a page about a new bridge may come later."""
    page = (ROOT / "docs" / "bridges.md").read_text(encoding="utf-8")
    install = re.search(r"pip install 'erugin\[(\w+)\]' +# or ([\w, ]+); bridges installs all", page)
    assert install is not None
    assert {install[1], *install[2].split(", ")} <= {bridge.extra for bridge in discover_bridges().values()}
    rows = re.findall(r"^\| (\w+) \| \S+ \| \S+ \| [0-9.]+ \| (.*) \|$", page, re.MULTILINE)
    assert len(rows) >= 18
    for name, runs in rows:
        check = discover_bridges()[name].cross_check
        assert check is not None
        assert runs == f"{check.runs_there}; {check.scheme}", f"docs/bridges.md: the row of {name}"


LIST = """
import sys
sys.path.insert(0, {!r})
from erugin.bridges.common import bridge
print(bridge.__file__, *bridge.discover_bridges())
others = {{"pydrake", "fmpy", "gymnasium", "jax", "lxml", "mujoco", "pinocchio", "pybullet", "control"}}
print(*(others & set(sys.modules)))
"""


def test_bridges_are_found_in_a_zip_too_without_their_packages(tmp_path: Path) -> None:
    source, archive = Path(erugin.__path__[0]), tmp_path / "erugin.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for file in source.rglob("*.py"):
            target.write(file, Path("erugin") / file.relative_to(source))
    command: list[Any] = [sys.executable, "-P", "-c", LIST.format(str(archive))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120.0)
    found, others = done.stdout.splitlines()
    assert found.split() == [f"{archive}/erugin/bridges/common/bridge.py", *discover_bridges()]
    assert others == ""
