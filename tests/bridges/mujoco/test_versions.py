"""MuJoCo 3.0 has all that is used of it, and what it cannot do is refused or reported by name and version."""

from __future__ import annotations

import ast
import dataclasses
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import casadi as ca
import mujoco
import numpy as np
import pytest

import erugin.bridges.mujoco as bridge
from erugin.bridges.mujoco import ControlCallback, drive, export, load, match, simulate
from erugin.bridges.mujoco.versions import (
    CENTRIPETAL_CONNECT,
    DIAGEXACT,
    FLOATING_RK4,
    MJCF_FEATURES,
    TENDON_ARMATURE,
    version_numbers,
)
from erugin.bridges.mujoco.warning_monitor import WARNING_MESSAGES
from erugin.robots import planar_manipulator
from erugin.symbolic import BridgeError, BridgeWarning, MissingPackageError

from ...support.mjcf import LINKS, LOOPS, TELESCOPES, floating_robot, robot, with_forces
from ...support.mujoco_arm import ARM, arm, model_of, swinging
from ...support.project import ROOT

LIST = (ROOT / "tests" / "support" / "references" / "mujoco_3_0_0.txt").read_text(encoding="utf-8")
PARTS = [line.partition(": ") for line in LIST.replace("\n    ", " ").splitlines()]
KNOWN = {owner: frozenset(names.split()) for owner, _, names in PARTS}
OWNERS = {
    "mujoco": (mujoco, "mujoco"),
    "model": (mujoco.MjModel, "MjModel"),
    "data": (mujoco.MjData, "MjData"),
    "opt": (mujoco.MjOption, "MjOption"),
    "warning": (mujoco.MjWarningStat, "MjWarningStat"),
    "mjtState": (mujoco.mjtState, "mjtState"),
}
"""What stands before a name that is looked at: of the running MuJoCo, and of 3.0.0."""


def last(node: ast.expr) -> str:
    """The last identifier of an expression such as ``self._model``, without an underscore before it."""
    found = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return found.removeprefix("_")


def younger(tree: ast.AST) -> Iterator[str]:
    """Names of MuJoCo that 3.0.0 has not, and attributes of its parts that are accessed by a string."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and last(node.value) in OWNERS:
            owner, name = OWNERS[last(node.value)]
            if hasattr(owner, node.attr) and node.attr not in KNOWN[name]:
                yield f"{name}.{node.attr}"
        if isinstance(node, ast.Call) and last(node.func) in ("getattr", "hasattr") and last(node.args[0]) in OWNERS:
            yield ast.unparse(node)


def test_names_that_not_all_versions_have_are_in_one_file() -> None:
    folder = Path(bridge.__file__).parent
    found = {file.name: list(younger(ast.parse(file.read_text(encoding="utf-8")))) for file in folder.glob("*.py")}
    assert "hasattr(model, 'actuator_ctrlnum')" in found.pop("versions.py")
    assert {name: names for name, names in found.items() if names} == {}
    assert {f"mjWARN_{key}" for key in WARNING_MESSAGES} <= KNOWN["mjtWarning"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("self._mujoco.mj_makeM(model, data)", "mujoco.mj_makeM"),
        ("joints.model.tendon_armature[k]", "MjModel.tendon_armature"),
        ("getattr(names.model, field)", "getattr(names.model, field)"),
    ],
)
def test_a_name_that_3_0_lacks_is_found(line: str, name: str) -> None:
    owner = mujoco if name.startswith("mujoco") else mujoco.MjModel
    # An older MuJoCo does not have it either, except what is accessed by a string.
    is_known = "(" in name or hasattr(owner, name.partition(".")[2])
    assert list(younger(ast.parse(line))) == ([name] if is_known else [])


@pytest.fixture
def oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo says of itself that it is 3.0.0."""
    monkeypatch.setattr(mujoco, "__version__", "3.0.0")


def words(node: ET.Element, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Each attribute in a document, after the path of its element as in the list."""
    where = ("body",) if node.tag in ("body", "worldbody") else path
    yield from (("/".join(where) or "mujoco", attribute) for attribute in node.attrib)
    for child in node:
        yield from words(child, (*where, child.tag))


@pytest.mark.usefixtures("oldest")
@pytest.mark.parametrize("name", [*LOOPS, "Panda", "floating base"])
def test_what_is_written_for_3_0_is_the_same_robot_in_its_words(name: str) -> None:
    own = robot(name)
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        text = export(own)
    strange = [f"{part} {word}" for part, word in words(ET.fromstring(text)) if word not in KNOWN[f"<{part}>"]]
    assert strange == []
    found = match(own, model_of(text))
    assert found.same, str(found)
    assert found.mass < 1e-12
    assert found.bias < 1e-12
    assert len(load(text).natural) == len(
        [line for line in text.splitlines() if "relpose" in line or "polycoef" in line]
    )
    assert any(CENTRIPETAL_CONNECT.missing in str(warning.message) for warning in reported) == (name in LOOPS)


@pytest.mark.usefixtures("oldest")
@pytest.mark.parametrize("name", list(TELESCOPES))
def test_what_follows_a_length_is_refused_for_3_0(name: str) -> None:
    with pytest.raises(
        BridgeError,
        match=r"l1\.link 1.* follow a length, which requires a newer MuJoCo: MuJoCo 3\.0\.0 has no armature of tendons",
    ):
        export(robot(name))


@pytest.mark.usefixtures("oldest")
def test_rotors_across_joints_are_refused_for_3_0_and_can_be_left_out() -> None:
    own = planar_manipulator(LINKS[:2])
    geared = with_forces(own, ca.SX.zeros(2), ca.SX(ca.DM([[0.3, 0.1], [0.1, 0.2]])))
    with pytest.raises(
        BridgeError, match=r"a rotor of q1 and q2: MuJoCo 3\.0\.0 has no armature of tendons \(requires 3"
    ):
        export(geared)
    with pytest.warns(BridgeWarning, match="cannot represent: a rotor of q1 and q2"):
        text = export(geared, ignore=["rotor of q1 and q2"])
    assert "<tendon>" not in text


@pytest.mark.usefixtures("oldest")
def test_an_error_of_second_order_is_reported() -> None:
    message = r"MuJoCo 3\.0\.0 has no fourth-order RK4 for floating bodies \(requires 4\.0 or later\)"
    q0 = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3])
    with pytest.warns(BridgeWarning, match=message):
        simulate(floating_robot(), None, q0, np.zeros(7), 0.01, step=0.005)
    simulate(floating_robot(), None, q0, np.zeros(7), 0.01, step=0.005, integrator="Euler")


def test_the_version_that_can_read_a_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # No version knows this one.
    monkeypatch.setitem(MJCF_FEATURES, "colour", TENDON_ARMATURE)
    strange = ARM.replace('name="second"', 'colour="red" name="second"')
    with pytest.raises(BridgeError, match=r"cannot read this model: .*unrecognized attribute: 'colour'"):
        load(strange)
    monkeypatch.setattr(mujoco, "__version__", "3.2.7")
    with pytest.raises(
        BridgeError, match=r"model: MuJoCo 3\.2\.7 has no armature of tendons \(requires 3\.3\.1 or later\); XML"
    ):
        load(strange)


def test_an_older_mujoco_is_refused_with_the_command_that_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    model, law = model_of(ARM), swinging(arm())
    monkeypatch.setattr(mujoco, "__version__", "2.3.7")
    uses: list[Callable[[], object]] = [
        lambda: load(ARM),
        lambda: match(arm(), model),
        lambda: drive(law, model),
        lambda: simulate(arm(), law, np.zeros(2), np.zeros(2), 0.1, step=0.01),
    ]
    for use in uses:
        with pytest.raises(
            MissingPackageError, match=r"3\.0 or later is required, but 2\.3\.7 is installed: pip install --up"
        ):
            use()


def test_versions_are_compared_by_their_numbers() -> None:
    assert (
        version_numbers("3.10.0")
        > version_numbers("3.9")
        > version_numbers("3.8.1")
        >= version_numbers("3.8.1.dev20260511")
        == (3, 8, 1)
    )
    since = {
        feature: version_numbers(feature.since)
        for feature in (CENTRIPETAL_CONNECT, DIAGEXACT, TENDON_ARMATURE, FLOATING_RK4, *MJCF_FEATURES.values())
    }
    here = version_numbers(mujoco.__version__)
    assert all(bool(feature.missing) == (here < first) for feature, first in since.items())


@pytest.mark.parametrize(
    ("version", "jacobian", "solver", "held", "wrong"),
    [
        ("4.0.0", "sparse", "Newton", True, True),
        ("4.0.0", "dense", "Newton", True, False),
        ("4.0.0", "auto", "Newton", True, False),
        ("4.0.0", "sparse", "CG", True, False),
        ("4.0.0", "sparse", "Newton", False, False),
        ("4.0.1", "sparse", "Newton", True, False),
        ("3.14.0", "sparse", "Newton", True, False),
    ],
)
def test_the_wrong_newton_solver_of_4_0_0_triggers_a_warning_where_it_would_be_used(
    version: str, jacobian: str, solver: str, held: bool, wrong: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = swinging(arm())
    text = export(law.robot, limits=False)
    option = f'<option jacobian="{jacobian}" solver="{solver}"/>'
    model = model_of(text.replace("<worldbody>", f"{option}<worldbody>", 1))
    if held:
        model.dof_frictionloss[0] = 1e-12
    monkeypatch.setattr(mujoco, "__version__", version)
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        drive(law, model, tolerance=None)
    assert any("mjJAC_DENSE, or upgrade MuJoCo" in str(each.message) for each in reported) == wrong


def test_a_simulation_does_not_use_the_wrong_newton_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    real = ControlCallback.run

    def run(self: ControlCallback, data: mujoco.MjData, duration: float) -> object:
        seen.append(mujoco.mj_isSparse(self.model))
        return real(self, data, duration)

    monkeypatch.setattr(ControlCallback, "run", run)
    monkeypatch.setattr(mujoco, "__version__", "4.0.0")
    far = np.full(61, 3.0)
    chain = planar_manipulator([LINKS[0]] * 61)
    chain = dataclasses.replace(chain, limits=dataclasses.replace(chain.limits, lower=-far, upper=far))
    simulate(chain, None, np.full(61, 0.01), np.zeros(61), 1e-3, step=1e-3, limits=True)
    assert seen == [0]
