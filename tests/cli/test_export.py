"""``erugin export`` writes what its verbs write, and ``erugin bridges`` tells what there is."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
import warnings
from pathlib import Path

import fmpy
import mujoco
import numpy as np
import pytest

from erugin.bridges.casadi import load
from erugin.bridges.common.bridge import VERBS, Bridge, discover_bridges
from erugin.cli.commands.export import list_formats
from erugin.cli.main import main
from erugin.controllers import Status
from erugin.robots import Link, planar_manipulator
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle

from ..support.command_line import NAME

pytestmark = pytest.mark.usefixtures("terminal")


SIMPLE = """
from erugin.controllers import OpenLoop
from erugin.robots import Link, planar_manipulator, with_limits
from erugin.scenarios import Setup, scenario


@scenario("two-links")
def two_links(gain: float = 2.0) -> Setup:
    \"\"\"Two links under known torques.

    Args:
        gain: torque at the shoulder [N m].
    \"\"\"
    robot = planar_manipulator([Link(0.6, 2.5, 0.3, 0.1), Link(0.5, 1.8, 0.2, 0.1)])
    return Setup(robot, OpenLoop(robot, [gain, 0.5]), [0.3, 0.4], [0.0, 0.0], 1.0, 1e-3)


@scenario("weak")
def weak() -> Setup:
    \"\"\"The same with drives of 1 N m.\"\"\"
    robot = with_limits(two_links().robot, effort=1.0)
    return Setup(robot, OpenLoop(robot, [2.0, 0.5]), [0.3, 0.4], [0.0, 0.0], 1.0, 1e-3)


@scenario("free")
def free() -> Setup:
    \"\"\"The same without a drive.\"\"\"
    return Setup(two_links().robot, None, [0.3, 0.4], [0.0, 0.0], 1.0, 1e-3)
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A user's file."""
    path = tmp_path / "own.py"
    path.write_text(SIMPLE, encoding="utf-8")
    return str(path)


def export(file: str, *words: str, name: str = "two-links") -> int:
    return main(["export", file, "--scenario", name, *words])


def test_a_law_is_saved_and_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made" / "law.json"
    assert main(["export", NAME, "--to", "casadi", "--set", "m1=3.5", "--out", str(out)]) == 0
    output, errors = capsys.readouterr()
    assert errors == ""
    assert output == f"{out}: {out.stat().st_size:,} bytes\n"
    setup = two_link_arm_moving_obstacle()
    assert setup.controller is not None
    law = load(out, setup.robot)
    changed = {**setup.controller_p, "m1": 3.5}
    assert law.parameters.nominal == {**setup.controller.parameters.nominal, **changed}
    expected = setup.controller.control(0.1, setup.q0, setup.v0, changed)
    np.testing.assert_array_equal(law.control(0.1, setup.q0, setup.v0), expected)


def test_a_law_is_saved_with_the_limits_of_its_actuators(file: str, tmp_path: Path) -> None:
    out = tmp_path / "law.json"
    assert export(file, "--to", "casadi", "--saturate", "--out", str(out), name="weak") == 0
    law = load(out, planar_manipulator([Link(0.6, 2.5, 0.3, 0.1), Link(0.5, 1.8, 0.2, 0.1)]))
    tick = law.observe(0.0, [0.3, 0.4], [0.0, 0.0])
    np.testing.assert_array_equal(tick.output, [1.0, 0.5])
    assert tick.status is Status.LIMITED


def test_a_plant_is_exported_to_mujoco(file: str, tmp_path: Path) -> None:
    out = tmp_path / "arm.xml"
    assert export(file, "--to", "mjcf", "--set", "m2=4.25", "--out", str(out)) == 0
    model = mujoco.MjModel.from_xml_path(str(out))
    assert model.opt.timestep == 1e-3
    assert model.body_mass.tolist() == [0.0, 2.5, 4.25]


def test_a_plant_is_exported_to_urdf(file: str, tmp_path: Path) -> None:
    out = tmp_path / "arm.urdf"
    assert export(file, "--to", "urdf", "--set", "m2=4.25", "--out", str(out)) == 0
    assert 'value="4.25"' in out.read_text(encoding="utf-8")


def test_what_urdf_cannot_represent_is_left_out_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "crank.urdf"
    words = ["export", "slider-crank", "--to", "urdf", "--out", str(out)]
    assert main(words) == 2
    assert "'wrist pin': it closes a loop" in capsys.readouterr().err
    assert not out.exists()
    with warnings.catch_warnings():
        # The program tells of them.
        warnings.simplefilter("always")
        assert main([*words, "--ignore", "wrist pin"]) == 0
    assert "note: slider-crank: URDF cannot represent: natural constraint 'wrist pin'" in capsys.readouterr().err
    assert out.exists()


@pytest.mark.parametrize(
    ("words", "version", "inputs"),
    [
        ([], "3.0", 4),
        (["--fmi", "2.0", "--what", "plant"], "2.0", 2),
        (["--what", "loop"], "3.0", 0),
    ],
    ids=["law", "plant", "loop"],
)
def test_any_part_is_exported_as_an_fmu(file: str, tmp_path: Path, words: list[str], version: str, inputs: int) -> None:
    out = tmp_path / "arm.fmu"
    assert export(file, "--to", "fmu", "--out", str(out), "--set", "m1=3.5", *words) == 0
    description = fmpy.read_model_description(str(out))
    assert description.fmiVersion == version
    assert sum(variable.causality == "input" for variable in description.modelVariables) == inputs
    (mass,) = [variable for variable in description.modelVariables if variable.name == "m1"]
    assert float(mass.start or 0.0) == 3.5


@pytest.mark.parametrize("word", ["--c", "--to=c"])
def test_a_law_is_exported_as_c_and_its_folder_is_not_replaced_without_request(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    out = tmp_path / "c"
    assert export(file, word, "--out", str(out)) == 0
    names = sorted(path.name for path in out.iterdir())
    assert names == sorted(["CMakeLists.txt", "README.md", "main.c", "two_links.c", "two_links.h"])
    listed = [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == [str(out / name) for name in names]
    before = (out / "two_links.c").read_bytes()
    assert export(file, word, "--out", str(out), "--set", "gain=7") == 2
    assert "is not empty: choose another folder by --out, or replace it by --overwrite" in capsys.readouterr().err
    assert (out / "two_links.c").read_bytes() == before
    assert export(file, word, "--out", str(out), "--set", "gain=7", "--what", "loop", "--overwrite") == 0
    assert (out / "two_links_plant.h").exists()


def test_files_have_the_name_of_the_scenario_if_none_is_given(
    file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export(file, "--to", "mjcf") == 0
    assert export(file, "--to", "casadi") == 0
    assert sorted(path.name for path in Path("out").iterdir()) == ["two-links.json", "two-links.xml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--to", "dae"], "unknown format 'dae'. Known: c, casadi, fmu, mjcf, urdf."),
        (["--to", "urdf", "--what", "law"], "urdf supports plant, not the law: use --to fmu or --to c or --to casadi"),
        (["--to", "casadi", "--what", "loop"], "casadi supports law, not the loop: use --to fmu or --to c"),
        (["--to", "fmu", "--what", "robot"], "unknown part of a motion 'robot'"),
        (["--to", "c", "--fmi", "2.0"], "--fmi requires --to fmu, got --to c"),
        (["--to", "fmu", "--fmi", "1.0"], "unknown version of FMI '1.0'"),
        (["--to", "c", "--set", "m9=1"], "unknown setting or parameter of two-links 'm9'"),
        (["--to", "c", "--set", "m1=-1"], "parameter 'm1' must be greater than zero, got -1.0"),
        (
            ["--to", "fmu", "--ignore", "pin"],
            "--ignore requires --to mjcf or urdf, got --to fmu",
        ),
        (["--to", "casadi", "--saturate"], "saturate=True requires input limits, but"),
        (["--to", "fmu", "--what", "plant", "--saturate"], "--saturate limits the inputs of a law, not of a plant"),
        (["--to", "mjcf", "--out", "."], "'.' is a folder, but mjcf is a single file"),
    ],
)
def test_bad_arguments_are_reported_and_nothing_is_written(
    file: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export(file, *words) == 2
    output, errors = capsys.readouterr()
    assert message in errors
    assert output == ""
    assert [path.name for path in tmp_path.iterdir()] == ["own.py"]


@pytest.mark.parametrize(
    ("name", "words", "message"),
    [
        pytest.param(
            *("exoskeleton-steps", ["--c"]),
            "is a motion in phases ('on foot A', 'on foot B'), each with its own controller",
            marks=pytest.mark.slow,
        ),
        ("two-links-free", ["--c"], "free has no controller: export its plant, --to fmu --what plant or --to mjcf"),
        ("nothing", ["--c"], "unknown scenario 'nothing'"),
    ],
)
def test_a_motion_that_has_no_one_law_is_refused(
    file: str, capsys: pytest.CaptureFixture[str], name: str, words: list[str], message: str
) -> None:
    free = name == "two-links-free"
    assert (export(file, *words, name="free") if free else main(["export", name, *words])) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_plant_in_phases_can_be_exported(tmp_path: Path) -> None:
    out = tmp_path / "plant.fmu"
    assert main(["export", "exoskeleton-steps", "--to", "fmu", "--what", "plant", "--out", str(out)]) == 0
    assert fmpy.read_model_description(str(out)).modelExchange is not None


def test_the_format_must_be_given(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        export(file)
    assert ended.value.code == 2
    assert f"a format is required: --to {'|'.join(list_formats())}" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to_is_reported(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert export(file, "--to", "casadi", "--out", "/dev/null/law.json") == 2
    assert "cannot write to the folder '/dev/null'" in capsys.readouterr().err


def test_all_bridges_are_listed_with_their_verbs_and_versions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bridges"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == sorted(discover_bridges())
    # Two lines each, none of them broken.
    for bridge, first, second in zip(discover_bridges().values(), lines[::2], lines[1::2], strict=True):
        module = importlib.import_module(f"erugin.bridges.{bridge.name}")
        assert bridge.verbs
        assert set(bridge.verbs) == set(VERBS) & set(module.__all__)
        package = f" ({bridge.package} {importlib.metadata.version(bridge.package)})" if bridge.package else ""
        assert first.split(maxsplit=1)[1].rstrip() == f"{', '.join(bridge.verbs)}{package}"
        assert second.strip() == bridge.carries


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    missing = Bridge("erugin.bridges.mujoco", "nothing", "no-such-package", "pinocchio")
    assert missing.version is None
    monkeypatch.setattr("erugin.cli.commands.bridges.discover_bridges", lambda: {"mujoco": missing})
    assert main(["bridges"]) == 0
    assert "no-such-package is not installed: pip install 'erugin[pinocchio]'" in capsys.readouterr().out


def test_a_folder_for_nothing_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bridges", "--out", "nowhere"]) == 2
    assert "--out requires --compare" in capsys.readouterr().err


def test_the_program_has_the_commands_of_the_scenarios_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    output = capsys.readouterr().out
    assert all(f"\n    {word} " in output for word in ("run", "list", "study", "export", "bridges"))
    assert main(["list"]) == 0


def test_the_program_brings_no_other_program() -> None:
    code = (
        "import sys; from erugin.cli.main import main; main(['bridges']); "
        "print([name for name in ('mujoco', 'pydrake', 'pybullet', 'pinocchio', 'gymnasium', 'fmpy', 'jax', 'control', "
        "'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=120.0)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_package_of_bridges_brings_casadi_and_numpy_alone() -> None:
    code = (
        "import erugin.bridges, sys; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'casadi', 'numpy', 'scipy', 'matplotlib', 'rich', 'control', 'lxml', 'mujoco', 'jax', 'gymnasium'}))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, timeout=120.0)
    assert done.stdout.split() == ["casadi", "numpy"]
