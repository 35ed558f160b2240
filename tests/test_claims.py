"""Claims of README.md about this library and the installed others, and of pyproject.toml, are true."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import re
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement

from erugin import constraints
from erugin.constraints import Exact, Perturbation
from erugin.controllers import Controller, baselines

from .support.project import ROOT, read_pyproject

README = (ROOT / "README.md").read_text(encoding="utf-8")
HEADS = ("", "Erugin", "Pinocchio", "Drake", "MuJoCo", "Exudyn", "SymPy")
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905


def concrete(module: ModuleType, kind: type) -> list[type]:
    """Public classes of a kind that can be made."""
    found = (getattr(module, name) for name in module.__all__)
    return [each for each in found if inspect.isclass(each) and issubclass(each, kind) and not inspect.isabstract(each)]


def table() -> dict[str, dict[str, str]]:
    """Cells of the comparison with other libraries, by row and column."""
    part = README.partition("## What it does")[2].partition("## Speed")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    heads, *rows = ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines)
    assert tuple(head.split(" ")[0] for head in heads) == HEADS[1:]
    return {row[0]: dict(zip(HEADS[1:], row[1:], strict=True)) for row in rows}


def test_every_row_of_the_table_has_a_cell_for_each_library() -> None:
    rows = table()
    assert len(rows) > 25
    assert all(cell for row in rows.values() for cell in row.values())


def test_the_stated_number_of_perturbation_equations_is_right() -> None:
    # z = 0 is a row without an equation.
    count = len([each for each in concrete(constraints, Perturbation) if each is not Exact])
    assert f"{WORDS[count]} perturbation equations" in table()["deviations"]["Erugin"]


def test_the_stated_number_of_control_laws_is_right() -> None:
    count = len(concrete(baselines, Controller))
    assert table()["control laws to compare with"]["Erugin"].startswith(f"{count}, ")


def test_the_stated_agreement_with_other_programs_is_right() -> None:
    page = (ROOT / "docs" / "bridges.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| ([0-9.e+-]+) \| [0-9.e+-]+ \| [0-9.]+ \|", page, re.MULTILINE)
    assert len(rows) == 2 * len({name for name, _ in rows}) >= 18
    off = {name for name, apart in rows if float(apart) > 1e-10}
    assert off == {"pybullet"}
    message = table()["laws and robots for other programs"]["Erugin"]
    assert "to 1e-10 rad in all but PyBullet, 1e-3 rad off" in message
    assert all(float(apart) < 1.5e-3 for name, apart in rows if name == "pybullet")


def test_versions_of_others_are_those_that_are_looked_at() -> None:
    head = next(line for line in README.splitlines() if re.search(r"\| Erugin \d", line))
    packages = {"Pinocchio": "pin", "MuJoCo": "mujoco", "Exudyn": "exudyn", "SymPy": "sympy"}
    for name, package in packages.items():
        message = re.search(rf"\| {name} ([0-9.]+) \|", head)
        assert message is not None, name
        version = importlib.metadata.version(package)
        assert version == message[1] or version.startswith(f"{message[1]}."), (name, version)


def test_pinocchio_has_what_the_table_states_and_its_wheel_lacks_the_rest() -> None:
    pin: Any = importlib.import_module("pinocchio")
    assert "wheel from PyPI, which is built without CasADi, CppAD and SDF" in " ".join(README.split())
    assert pin.WITH_CPPAD is False
    assert pin.WITH_SDFORMAT is False
    with pytest.raises(ImportError):
        importlib.import_module("pinocchio.casadi")
    names = "JointLimitConstraintModel JointFrictionConstraintModel ADMMConstraintSolver PGSConstraintSolver lcaba"
    for name in (*names.split(), "contactInverseDynamics", "computeInverseDynamicsConstraintForces"):
        assert hasattr(pin, name), name
    for word in ("ADMM", "PGS"):
        assert word in table()["redundant rows"]["Pinocchio"]


def test_mujoco_has_the_integrators_and_equality_constraints_that_are_named() -> None:
    mujoco: Any = importlib.import_module("mujoco")

    def members(kind: type, prefix: str) -> set[str]:
        return {name.removeprefix(prefix).lower() for name in dir(kind) if name.startswith(prefix)}

    integrators = members(mujoco.mjtIntegrator, "mjINT_")
    assert table()["integrators"]["MuJoCo"] == f"{len(integrators)}, fixed step"
    # The distance is a number of old, which no file can name.
    flexes = {"flex": "edges", "flexvert": "vertices", "flexstrain": "strain"}
    kinds = members(mujoco.mjtEq, "mjEQ_") - {"distance"}
    message = table()["ready constraints"]["MuJoCo"]
    assert message == f"connect, weld, joint, tendon, flex ({', '.join(flexes.values())})"
    assert kinds == {"connect", "weld", "joint", "tendon", *flexes}
    assert {"dcmotor", "pid"} <= members(mujoco.mjtDyn, "mjDYN_")
    for field in ("actuator_delay", "sensor_delay", "sensor_interval"):
        assert hasattr(mujoco.MjModel, field), field


def test_drake_has_what_is_named() -> None:
    plant: Any = importlib.import_module("pydrake.multibody.plant").MultibodyPlant
    message = table()["ready constraints"]["Drake"]
    assert message == "discrete plants only: coupler, distance, ball, weld; tendon in C++"
    for name in ("AddCouplerConstraint", "AddDistanceConstraint", "AddBallConstraint", "AddWeldConstraint"):
        assert hasattr(plant, name), name
    assert not hasattr(plant, "AddTendonConstraint")
    where = {
        "pydrake.symbolic": ("ToLatex", "Expression"),
        "pydrake.systems.framework": ("WitnessFunction",),
        "pydrake.systems.controllers": (
            *("FiniteHorizonLinearQuadraticRegulator", "JointStiffnessController", "PidController"),
            *("InverseDynamicsController", "LinearQuadraticRegulator"),
        ),
        "pydrake.multibody.inverse_kinematics": ("DoDifferentialInverseKinematics",),
    }
    for module, names in where.items():
        for name in names:
            assert hasattr(importlib.import_module(module), name), name
    analysis: Any = importlib.import_module("pydrake.systems.analysis")
    assert "cenic" in analysis.GetIntegrationSchemes()


def test_exudyn_has_what_is_named() -> None:
    items: Any = importlib.import_module("exudyn.itemInterface")
    solver: Any = importlib.import_module("exudyn.solver")
    core: Any = importlib.import_module("exudyn")
    processing: Any = importlib.import_module("exudyn.processing")
    for name in ("ObjectConnectorCoordinateVector", "ObjectJointRollingDisc", "ObjectConnectorDistance"):
        assert hasattr(items, name), name
    arguments = inspect.signature(items.ObjectConnectorCoordinateVector.__init__).parameters
    assert {"constraintUserFunction", "jacobianUserFunction"} <= set(arguments)
    for name in ("ComputeLinearizedSystem", "ComputeSystemDegreeOfFreedom"):
        assert hasattr(solver, name), name
    for name in ("GeneralizedAlpha", "TrapezoidalIndex2", "RK44"):
        assert hasattr(core.DynamicSolverType, name), name
    assert hasattr(processing, "ParameterVariation")


def test_the_pythons_that_are_claimed_are_those_that_are_run() -> None:
    """``.ci/run`` uses the wheel with each Python that a classifier names."""
    project = read_pyproject()["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert claimed
    assert project["requires-python"] == f">={claimed[0]}"
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    found = re.search(r"claimed=\$\(sed -n '(.*?)' ", script)
    assert found is not None
    pattern = re.fullmatch(r"s/(.*)/\\1/p", found[1])
    assert pattern is not None
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    own = pattern[1].replace("\\(", "(").replace("\\)", ")").replace("\\.", r"\.")
    assert [match[1] for line in lines if (match := re.fullmatch(own, line))] == claimed


@pytest.mark.parametrize(("version", "wanted"), [("3.11", True), ("3.12", False), ("3.14", False)])
def test_pybullet_is_required_only_where_it_has_wheels(version: str, wanted: bool) -> None:
    extras = read_pyproject()["project"]["optional-dependencies"]

    def packages(extra: str, seen: frozenset[str] = frozenset()) -> set[str]:
        found: set[str] = set()
        for text in extras[extra]:
            one = Requirement(text)
            if one.marker is not None and not one.marker.evaluate({"python_version": version}):
                continue
            if one.name != "erugin":
                found.add(one.name)
            for other in one.extras if one.name == "erugin" else ():
                found |= packages(other, seen | {extra}) if other not in seen else set()
        return found

    for extra in ("bridges", "test"):
        assert ("pybullet" in packages(extra)) == wanted
    assert "pybullet" in packages("pybullet")
    assert {"drake", "mujoco", "pin", "jax"} <= packages("test")
