"""Contents and name of an exported folder, and refusals."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from erugin.bridges.c import export
from erugin.bridges.c.export import write_folder
from erugin.bridges.c.syntax import RESERVED, comment, constants, identifier, law_identifier, string
from erugin.constraints import holonomic, second_order
from erugin.controllers import Controller, ControlLimits, Program, ProgramController
from erugin.controllers.bounded import ConicSolver
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import lagrangian_system
from erugin.symbolic import BridgeError, BridgeWarning, ModelError, ParameterError, Parameters, ShapeError

from ...support.arms import two_link_arm
from ...support.c_folders import compiled, controller_of

WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@given(st.text(max_size=90))
def test_a_law_of_any_name_has_one_that_c_takes(name: str) -> None:
    word = law_identifier(name)
    assert WORD.fullmatch(word)
    assert word.lower() not in RESERVED
    assert len(f"{word}_plant_parameters_nominal") <= 63


@given(st.lists(st.text(max_size=8), max_size=8))
def test_constants_are_identifiers_and_differ(names: list[str]) -> None:
    found = constants("LAW_P_", names)
    assert len(set(found)) == len(names)
    assert all(WORD.fullmatch(word) for word in found)


def test_names_read_like_what_they_stand_for() -> None:
    assert identifier("disc.x", "x") == "disc_x"
    assert identifier("φ₁", "x") == "phi1"
    assert constants("L_", ["a", "A", "a_2", "q[0]", "?"]) == ("L_A", "L_A_3", "L_A_2", "L_Q_0", "L_X")
    assert law_identifier("two-link arm") == "two_link_arm"
    assert law_identifier("double") == "double_law"
    assert law_identifier("Math") == "Math_law"
    assert law_identifier("x") == "x_law"
    assert law_identifier("3 arms") == "law_3_arms"


@given(st.text(max_size=40))
def test_comments_and_strings_hold_any_text(text: str) -> None:
    message = comment(text)
    assert not re.search(r"\*/|/\*|\?\?|\\|[\n\r]", message)
    quoted = string(text)
    plain = re.sub(r"\\[0-7]{3}", "", quoted[1:-1])
    assert not re.search(r'["\\?]', plain)
    octal = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), quoted[1:-1])
    assert octal.encode("latin-1").decode() == text


def test_hostile_names_of_signals_and_parameters_compile(tmp_path: Path) -> None:
    names = ["int", 'x"; */ #error', "x'; /* #error", "a??/", "ü\\", "\u202egnol"]
    q = ca.vertcat(*(ca.SX.sym(name) for name in names))
    v = ca.vertcat(*(ca.SX.sym(f"v_{name}") for name in names))
    p = Parameters.declare({name: 1.0 + i for i, name in enumerate(["double", "*/", "\\", "a.b", "a_b"])})
    u = ca.SX.sym("u", len(names))
    robot = lagrangian_system(q=q, v=v, p=p, T=ca.sumsqr(v) * ca.sumsqr(p.symbols) / 2, V=0, u=u, Q=u)
    law = ProgramController(Program(robot, [holonomic(q, name="all")]), realization="actuated")
    with pytest.warns(BridgeWarning, match="'double'"):
        written = export(law, tmp_path / "x", name="double", with_plant=robot)
    assert written.name == "double_law"
    assert written.renamed["a.b"] != written.renamed.get("a_b", ("DOUBLE_LAW_P_A_B",))
    files = [written.folder / name for name in written.files if name.endswith(".c")]
    compiled(files, tmp_path / "main", "-O0")


@pytest.mark.parametrize("name", ["thirteen_char", "X"])
def test_names_keep_apart_in_c_as_the_standard_promises_it(name: str, tmp_path: Path) -> None:
    """31 characters of a name between files, and beside macros of the system's headers."""
    law = controller_of("four-bar")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BridgeWarning)
        written = export(law, tmp_path / "x", name=name, with_plant=law.robot)
    objects = [tmp_path / "law.o", tmp_path / "plant.o"]
    for target, source in zip(objects, (f"{written.name}.c", f"{written.name}_plant.c"), strict=True):
        compiled([written.folder / source], target, "-c", "-O0")
    output = subprocess.run(["nm", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    shared = set(re.findall(r" [TRD] (\w+)", output))
    assert len(shared) >= 15
    assert len({word[:31] for word in shared}) == len(shared)
    user = tmp_path / "user.c"
    user.write_text(
        f'#include <unistd.h>\n#include "{written.name}_plant.h"\nint one(void);\nint one(void) {{ return 1; }}\n'
    )
    compiled([user], tmp_path / "user.o", "-c", f"-I{written.folder}")


def test_files_are_those_that_are_documented(tmp_path: Path) -> None:
    law = controller_of("four-bar")
    written = export(law, tmp_path / "x", name="bars")
    assert sorted(written.files) == ["CMakeLists.txt", "README.md", "bars.c", "bars.h", "main.c"]
    assert sorted(path.name for path in written.folder.iterdir()) == sorted(written.files)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    readme = (written.folder / "README.md").read_text(encoding="utf-8")
    assert "bars_tick(parameters, t, q_.data()" in readme
    assert not re.search(r"NAME|UPPER|STOPPED|DRIVEN", readme)
    assert all(len(line) <= 120 for line in readme.splitlines())
    again = export(law, tmp_path / "y", name="bars")
    for name in written.files:
        assert (written.folder / name).read_bytes() == (again.folder / name).read_bytes()


def test_a_coordinate_and_its_velocity_are_both_named_where_c_has_no_such_name(tmp_path: Path) -> None:
    angle, rate, u = ca.SX.sym("φ"), ca.SX.sym("φ"), ca.SX.sym("u")
    wheel = lagrangian_system(q=angle, v=rate, p=Parameters.declare({"J": 1.0}), T=rate**2 / 2, u=u, Q=u)
    law = ProgramController(Program(wheel, [holonomic(angle, name="still")]), realization="actuated")
    written = export(law, tmp_path / "x")
    assert written.renamed["φ"] == ("LAW_Q_PHI", "LAW_V_PHI")
    readme = " ".join((written.folder / "README.md").read_text(encoding="utf-8").split())
    assert "`φ` is `LAW_Q_PHI`, `φ` is `LAW_V_PHI`" in readme


def test_ros2_claims_efforts_of_joints_by_their_names_in_the_robot_description(tmp_path: Path) -> None:
    written = export(controller_of("seven-joint arm"), tmp_path / "x")
    readme = (written.folder / "README.md").read_text(encoding="utf-8")
    joints = ", ".join(f'"panda_joint{i}"' for i in range(1, 8))
    assert f'("outputs", {{{joints}}})' in readme
    other = export(controller_of("computed torque"), tmp_path / "y").folder / "README.md"
    assert '("outputs", {law_output_names, law_output_names + LAW_NU})' in other.read_text(encoding="utf-8")
    # What has been set before the controller is configured counts, and what is safe is written whenever no output is.
    configured = readme[readme.index("on_configure") :]
    assert configured.index("get_parameter(law_parameter_names[i])") < configured.index("law_check_parameters")
    update = readme[readme.index("return_type update(") : readme.index("private:")]
    assert "return return_type::ERROR" not in update
    assert update.count("fail()") == 3


def test_only_an_exported_folder_is_replaced_and_only_on_request(tmp_path: Path) -> None:
    law, folder = controller_of("computed torque"), tmp_path / "x"
    folder.mkdir()
    export(law, folder)
    with pytest.raises(BridgeError, match=r"not empty.*overwrite=True"):
        export(law, folder)
    nominal = (folder / "law.c").read_text(encoding="utf-8")
    export(law, folder, p={"m1": 9.0}, overwrite=True)
    assert (folder / "law.c").read_text(encoding="utf-8") != nominal
    (folder / "thesis.tex").touch()
    with pytest.raises(BridgeError, match=r"contains 'thesis\.tex', not among"):
        export(law, folder, overwrite=True)
    with pytest.raises(BridgeError, match="is a file"):
        export(law, folder / "thesis.tex")
    with pytest.raises(BridgeError, match="does not exist: create it first"):
        export(law, tmp_path / "none" / "x")


def test_a_folder_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x"
    write_folder(target, {"a": "1", "b": "2"}, overwrite=False)
    usual = Path.write_text

    def failing(path: Path, text: str, **words: str) -> int:
        if path.name == "b":
            raise OSError(28, "No space left on device")
        return usual(path, text, **words)

    monkeypatch.setattr(Path, "write_text", failing)
    with pytest.raises(OSError, match="No space"):
        write_folder(target, {"a": "3", "b": "4"}, overwrite=True)
    assert {path.name: path.read_text(encoding="utf-8") for path in target.iterdir()} == {"a": "1", "b": "2"}
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def bounded(solver: ConicSolver | None = None) -> Controller:
    arm = two_link_arm()
    limits = ControlLimits.of(arm, effort=10.0)
    program = Program(arm, [holonomic(arm.q[0])])
    return ProgramController(program, realization="bounded", limits=limits, solver=solver)


def nonlinear() -> Controller:
    arm = two_link_arm()
    a = arm.coordinates.a
    return ProgramController(Program(arm, [second_order(a[0] ** 3 + a[0] - arm.q[1])]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SampleAndHold(controller_of("ideal"), period=0.01),
            "SampleAndHold.*use the ProgramController inside",
        ),
        (
            lambda: SampleAndHold(bounded(), period=0.01),
            "SampleAndHold.*period=, .*the ProgramController inside",
        ),
        (
            lambda: SampleAndHold(bounded(solver=ConicSolver()), period=0.01),
            "neither can the ProgramController inside it: its programme of limits is solved in Python",
        ),
        (bounded, "it has a memory from sample to sample, which requires period="),
        (lambda: bounded(solver=ConicSolver()), "solved in Python: leave out solver=.*realization='actuated'"),
        (nonlinear, "affine in the accelerations"),
        (lambda: None, "only a Controller can be written as C, got None"),
    ],
)
def test_laws_that_cannot_be_written_are_refused_with_what_to_try(
    make: Callable[[], Controller], message: str, tmp_path: Path
) -> None:
    with pytest.raises(BridgeError, match=message):
        export(make(), tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_bad_arguments(tmp_path: Path) -> None:
    law, x = controller_of("computed torque"), tmp_path / "x"
    with pytest.raises(ParameterError, match="unknown parameter 'mass'"):
        export(law, x, p={"mass": 1.0})
    with pytest.raises(ParameterError, match="m1"):
        export(law, x, p={"m1": -1.0})
    with pytest.raises(ShapeError, match="q0"):
        export(law, x, q0=np.zeros(2))
    with pytest.raises(BridgeError, match="no effort limits"):
        export(law, x, saturate=True)
    with pytest.raises(BridgeError, match="is a force, not inputs"):
        export(controller_of("ideal"), x, saturate=True)
    with pytest.raises(BridgeError, match="the name of a law in C must be text"):
        export(law, x, name=" ")
    with pytest.raises(BridgeError, match=r"coordinates of the plant .* in the same order: q1, q2, q3; got q1, q2"):
        export(law, x, with_plant=two_link_arm())
    c, arm = law.robot.coordinates, law.robot
    turned = dataclasses.replace(c, names=c.names[::-1])
    with pytest.raises(BridgeError, match=r"in the same order: .*got q3, q2, q1"):
        export(law, x, with_plant=dataclasses.replace(arm, coordinates=turned))
    with pytest.raises(ModelError, match="step must be greater than zero"):
        export(law, x, step=0.0)
    with pytest.raises(BridgeError, match="with_plant"):
        export(law, x, plant_p={"m1": 1.0})
    assert not list(tmp_path.iterdir())
