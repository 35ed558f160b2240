"""Contents of an FMU: sources that compile anywhere, reproducible bytes, names and units of variables."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree.ElementTree import fromstring

import casadi as ca
import fmpy
import pytest
from fmpy.validation import validate_fmu
from hypothesis import given
from hypothesis import strategies as st

from erugin.bridges import fmi
from erugin.bridges.fmi import source_code as binary
from erugin.bridges.fmi.fmu_model import c_identifier, structured_name, unique_names
from erugin.bridges.fmi.model_assembly import closed_loop_model, controller_model, plant_model
from erugin.bridges.fmi.unit_definitions import Unit
from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot, lagrangian_system
from erugin.robots.examples import andrews_squeezer
from erugin.scenarios.catalogue import butterworth_ladder, two_link_arm_moving_obstacle
from erugin.symbolic import BridgeError, Parameters

from ...support.arms import two_link_arm

VERSIONS: tuple[fmi.Version, ...] = ("2.0", "3.0")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wsign-conversion", "-O1", "-fPIC")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def law(robot: Robot) -> ProgramController:
    return ProgramController(Program(robot, holonomic(robot.points["tip"] - ca.DM([0.7, 0.1]), name="tip")))


def call(*command: str, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A closed loop as an FMU of each version, unpacked."""
    robot = two_link_arm()
    folders: dict[str, Path] = {}
    for version in VERSIONS:
        folders[version] = tmp_path_factory.mktemp("fmu")
        path = folders[version] / "loop.fmu"
        fmi.export(law(robot), path, with_plant=robot, version=version, q0=[-0.5, 1.0], name="two-link arm")
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folders[version])
    return folders


def test_an_fmu_holds_description_machine_code_and_sources(unpacked: dict[str, Path]) -> None:
    places = {"2.0": "binaries/linux64", "3.0": "binaries/x86_64-linux"}
    for version, folder in unpacked.items():
        files = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()} - {"loop.fmu"}
        number = version[0]
        sources = {
            "model.h",
            "model.c",
            "core.h",
            "judge.c",
            "state.c",
            "core.c",
            f"fmi{number}.c",
            f"fmi{number}_api.h",
            f"fmi{number}_run.h",
            "buildDescription.xml",
        }
        sources |= {"fmi3_none.h"} if version == "3.0" else set()
        expected = {f"sources/{file}" for file in sources} | {
            f"{places[version]}/two_link_arm.so",
            "modelDescription.xml",
        }
        assert files == expected


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("version", VERSIONS)
def test_the_sources_compile_without_a_warning(unpacked: dict[str, Path], version: str, compiler: str) -> None:
    folder = unpacked[version] / "sources"
    unit = f"fmi{version[0]}.c"
    for file in (unpacked[version] / "modelDescription.xml", folder / "buildDescription.xml"):
        output = fromstring(file.read_text(encoding="utf-8")).iter()
        named = {element.get("name") for element in output if element.tag in ("File", "SourceFile")}
        assert named == ({unit} if version == "2.0" or file.parent == folder else set())
    call(compiler, *STRICT, "-c", unit, "-o", f"{compiler}.o", cwd=folder)
    assert all(name.startswith(f"two_link_arm_fmi{version[0]}") for name in shown(f"{compiler}.o", folder, version))


@pytest.mark.parametrize("version", VERSIONS)
def test_names_begin_with_the_models_but_not_in_a_library_that_is_loaded(
    unpacked: dict[str, Path], tmp_path: Path, version: str
) -> None:
    """As the standard has it: FMUs of sources can be linked together, and a loaded one has the standard's names."""
    folder, number = unpacked[version] / "sources", version[0]
    (macro,) = (
        element.get("name")
        for element in fromstring((folder / "buildDescription.xml").read_text(encoding="utf-8")).iter()
        if element.tag == "PreprocessorDefinition"
    )
    # What the build description and the standard's own headers say, what CMake says by itself, and another prefix.
    flags: dict[str, list[list[str]]] = {
        f"fmi{number}": [[f"-D{macro}"], [f"-DFMI{number}_OVERRIDE_FUNCTION_PREFIX"], ["-Dtwo_link_arm_EXPORTS"]],
        f"two_link_arm_fmi{number}": [[]],
        f"other_fmi{number}": [
            [f"-DFMI{number}_FUNCTION_PREFIX=other_"],
            [f"-DFMI{number}_OVERRIDE_FUNCTION_PREFIX", f"-DFMI{number}_ACTUAL_FUNCTION_PREFIX=other_"],
        ],
    }
    for begin, choices in flags.items():
        for each in choices:
            call("gcc", *STRICT, *each, "-O0", "-c", f"fmi{number}.c", "-o", str(tmp_path / "a.o"), cwd=folder)
            assert all(name.startswith(begin) for name in shown("a.o", tmp_path, version))


def shown(file: str, folder: Path, version: str) -> set[str]:
    """Names of all functions of FMI in an object file."""
    names = set(re.findall(r" T (\w+)", call("nm", file, cwd=folder)))
    assert len(names) == {"2.0": 44, "3.0": 75}[version]
    return names


@pytest.mark.parametrize("version", VERSIONS)
def test_the_functions_are_those_of_the_standards_own_headers(
    unpacked: dict[str, Path], tmp_path: Path, version: str
) -> None:
    """With the headers that come with FMPy in place of ours each definition must agree with its declaration there."""
    folder, number = tmp_path / "sources", version[0]
    shutil.copytree(unpacked[version] / "sources", folder)
    export = '#define FMI3_Export __attribute__((visibility("default")))\n' if version == "3.0" else ""
    own = f'{export}#include "fmi{number}Functions.h"\n#define NAMED(name) name\n#define EXPORTED FMI{number}_Export\n'
    (folder / f"fmi{number}_api.h").write_text(own, encoding="utf-8")
    headers = Path(fmpy.__file__ or "").parent / "c-code"
    assert (headers / f"fmi{number}Functions.h").is_file()
    call("gcc", *STRICT, f"-I{headers}", "-c", f"fmi{number}.c", "-o", "official.o", cwd=folder)
    declared = (headers / f"fmi{number}Functions.h").read_text(encoding="utf-8")
    wanted = set(re.findall(rf"FMI{number}_Export\s+fmi\w+TYPE\s+(fmi\w+);", declared))
    assert len(wanted) == {"2.0": 44, "3.0": 75}[version]
    assert set(re.findall(r" T (\w+)", call("nm", "official.o", cwd=folder))) == wanted


@pytest.mark.parametrize("version", VERSIONS)
def test_machine_code_shows_its_functions_and_nothing_else(unpacked: dict[str, Path], version: str) -> None:
    (library,) = (unpacked[version] / "binaries").rglob("*.so")
    output = call("nm", "--dynamic", str(library), cwd=unpacked[version])
    shown = set(re.findall(r" [A-TV-Z] (\w+)", output)) - {"_init", "_fini"}
    assert shown
    assert all(name.startswith(f"fmi{version[0]}") for name in shown)
    needed = {name.partition("@")[0] for name in re.findall(r" U (\S+)", output)}
    mathematics = {"sincos", "sin", "cos", "sqrt", "pow", "fmax", "fmin", "exp", "log", "tanh", "atan2", "ceil", "fabs"}
    text_and_memory = {
        "calloc",
        "malloc",
        "free",
        "memcpy",
        "memset",
        "memcmp",
        "strcmp",
        "strlen",
        "strcpy",
        "strncpy",
    }
    assert needed <= mathematics | text_and_memory | {"snprintf", "__stack_chk_fail"}
    # No number that all instances share can be written.
    call("gcc", *STRICT, "-c", f"fmi{version[0]}.c", "-o", "sizes.o", cwd=unpacked[version] / "sources")
    sizes = dict(
        re.findall(r"(\.data|\.bss)\s+(\d+)", call("size", "-A", "sizes.o", cwd=unpacked[version] / "sources"))
    )
    assert sizes == {".data": "0", ".bss": "0"}


CALLER = """
#include <math.h>
#include <stdio.h>
#include "fmi3.c"

static void logged(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category, fmi3String message)
{
    (void)environment, (void)category;
    printf("%d %s\\n", (int)status, message);
}

int main(void)
{
    fmi3Instance c = fmi3InstantiateCoSimulation("a", MODEL_TOKEN, "", 0, 1, 0, 0, NULL, 0, NULL, logged, NULL);
    fmi3Instance wrong = fmi3InstantiateCoSimulation("a", "{0}", "", 0, 1, 0, 0, NULL, 0, NULL, logged, NULL);
    const double bad[] = {NAN, INFINITY, -1e308, 1e308, 0.0, -0.0};
    fmi3FMUState state = NULL, other = NULL;
    unsigned char bytes[CORE_BYTES];
    fmi3Boolean flag[3];
    double last = 0.0;
    unsigned steps = 0;
    if (!c || wrong) {
        return 1;
    }
    fmi3EnterInitializationMode(c, 0, 0.0, 0.0, 0, 0.0);
    fmi3ExitInitializationMode(c);
    for (uint32_t reference = 0; reference < MODEL_VARIABLES + 2; ++reference) {
        for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
            double number = bad[k];
            fmi3GetFMUState(c, &state);
            fmi3SetFloat64(c, &reference, 1, &number, 1);
            fmi3GetFloat64(c, &reference, 1, &number, 1);
            for (int i = 0; i < 5; ++i) {
                steps += fmi3DoStep(c, last, 1e-3, 0, &flag[0], &flag[1], &flag[2], &last) == fmi3OK;
            }
            fmi3SerializeFMUState(c, state, bytes, sizeof bytes);
            fmi3DeserializeFMUState(c, bytes, sizeof bytes, &other);
            fmi3SetFMUState(c, other);
            fmi3GetFloat64(c, (const fmi3ValueReference[]){0}, 1, &last, 1);
        }
    }
    fmi3FreeFMUState(c, &state);
    fmi3FreeFMUState(c, &other);
    fmi3Reset(c);
    fmi3FreeInstance(c);
    printf("steps %u\\n", steps);
    return 0;
}
"""


def test_sanitizers_find_nothing(unpacked: dict[str, Path], tmp_path: Path) -> None:
    """Every variable is set to numbers of all kinds, and steps are taken and taken back."""
    folder = tmp_path / "sources"
    shutil.copytree(unpacked["3.0"] / "sources", folder)
    (folder / "main.c").write_text(CALLER, encoding="utf-8")
    flags = ["-std=c99", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    flags.append("-DFMI3_OVERRIDE_FUNCTION_PREFIX")
    call("gcc", *flags, "main.c", "-o", "main", "-lm", cwd=folder)
    output = call("./main", cwd=folder)
    assert "the instantiation token does not match that of this binary" in output
    assert "m1 must be finite, got nan" in output
    assert "unknown value reference" in output
    assert int(output.rpartition("steps ")[2]) > 100


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("first", "second"):
        robot = two_link_arm()
        fmi.export(robot, tmp_path / f"{name}.fmu")
        contents.append((tmp_path / f"{name}.fmu").read_bytes())
    assert contents[0] == contents[1]


def test_another_model_has_another_token(tmp_path: Path) -> None:
    robot = two_link_arm()
    tokens = {
        fmi.export(robot, tmp_path / "a.fmu", binary=False).token,
        fmi.export(robot, tmp_path / "b.fmu", binary=False, p={"m1": 3.0}).token,
        fmi.export(robot, tmp_path / "c.fmu", binary=False, step=1e-2).token,
    }
    assert len(tokens) == 3
    assert all(re.fullmatch(r"\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}", token) for token in tokens)


def test_units_bounds_and_start_values_are_described(unpacked: dict[str, Path]) -> None:
    description = fmpy.read_model_description(unpacked["2.0"] / "loop.fmu")
    variables = {variable.name: variable for variable in description.modelVariables}
    assert (variables["q.q1"].unit, variables["v.q1"].unit, variables["m1"].unit) == ("rad", "rad/s", "kg")
    assert (variables["g"].unit, variables["tip.alpha"].unit, variables["energy"].unit) == ("m/s2", "1/s", "J")
    assert float(variables["m1"].min or "nan") > 0.0
    assert float(variables["I1"].min or "nan") == 0.0
    assert variables["g"].min is None
    assert (variables["m1"].variability, variables["m1"].initial) == ("tunable", "exact")
    assert float(variables["q.q1"].start or "nan") == -0.5
    units = {unit.name: unit.baseUnit for unit in description.unitDefinitions}
    joule = units["J"]
    assert joule is not None
    assert (joule.kg, joule.m, joule.s, joule.rad) == (1, 2, -2, 0)


def test_what_cannot_be_compiled_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, path = two_link_arm(), tmp_path / "arm.fmu"
    path.write_text("what was there", encoding="utf-8")
    monkeypatch.setattr(binary, "find_compiler", lambda: "no C compiler is wanted")
    with pytest.raises(BridgeError, match="no C compiler is wanted; or pass binary=False"):
        fmi.export(robot, path)
    assert path.read_text(encoding="utf-8") == "what was there"
    fmu = fmi.export(robot, path, binary=False)
    assert fmu.binary == ""
    with zipfile.ZipFile(path) as archive:
        assert not any(name.startswith("binaries") for name in archive.namelist())
    assert [file.name for file in tmp_path.iterdir()] == ["arm.fmu"]


# FMI 2.0.4, section 2.2.9, and FMI 3.0, section 2.4.7.5.1.
NONDIGIT, DIGIT = "[a-zA-Z_]", "[0-9]"
QUOTED = r"'(?:[a-zA-Z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['\"?\\abfnrtv])+'"
PART = rf"(?:{NONDIGIT}(?:{NONDIGIT}|{DIGIT})*|{QUOTED})(?:\[{DIGIT}+(?:,{DIGIT}+)*\])?"
STRUCTURED = re.compile(rf"{PART}(?:\.{PART})*")


@given(st.text(max_size=12))
def test_any_name_becomes_one_that_the_standard_allows(name: str) -> None:
    assert STRUCTURED.fullmatch(structured_name(name))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("disc.x", "disc.x"),
        ("follow[0]", "follow[0]"),
        ("coupler pin[1]", "'coupler pin'[1]"),
        ("arm.2.q", "arm.'2'.q"),
        ("φ1", "'U+03C61'"),
        ("it's", "'itU+0027s'"),
        ("", "'_'"),
    ],
)
def test_names_stay_as_they_are_where_they_can(name: str, expected: str) -> None:
    assert structured_name(name) == expected


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "b[0]", "'c d'", "'c d'[1]", "time"]), max_size=12))
def test_names_differ(names: list[str]) -> None:
    found = unique_names(names)
    assert len(set(found)) == len(found) == len(names)
    assert all(STRUCTURED.fullmatch(name) for name in found)
    assert all(new == name for new, name in zip(found, names, strict=True) if names.count(name) == 1)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_descriptions_hold_any_name(version: fmi.Version, tmp_path: Path) -> None:
    """XML has no control characters, not even by their numbers."""
    names = ["\x01", "x\x1b'\"<&>", "]]>\ufffe", "\t\nx"]
    q, u = ca.vertcat(*map(ca.SX.sym, names)), ca.SX.sym("u", len(names))
    v = ca.vertcat(*(ca.SX.sym(f"v{name}") for name in names))
    p = Parameters.declare({"\x02": 1.0, "時間": 2.0})
    robot = lagrangian_system(q=q, v=v, p=p, T=ca.sumsqr(v) * ca.sumsqr(p.symbols) / 2, V=0, u=u, Q=u)
    law = ProgramController(Program(robot, [holonomic(q[0], name="\x03--")]), realization="actuated")
    fmu = fmi.export(law, tmp_path / "odd.fmu", with_plant=robot, version=version, name="odd")
    assert validate_fmu(str(fmu.path)) == []
    with fmi.Instance(fmu.path, {fmu.parameters[0].name: 3.0}) as instance:
        instance.step(0.0, 1e-3)
        assert instance.variables["q.'U+0001'"].description == "coordinate U+0001 of system"


def test_a_model_has_a_name_that_c_can_have() -> None:
    assert c_identifier("two-link arm, 2 m") == "two_link_arm_2_m"
    assert c_identifier("7 joints") == "model_7_joints"
    assert len(f"{c_identifier('arm ' * 100)}.so") < 255
    with pytest.raises(BridgeError, match="needs a name with letters or digits"):
        c_identifier("ψ")


@pytest.mark.parametrize(
    ("text", "name", "exponents", "factor"),
    [
        ("N m", "N.m", {"kg": 1, "m": 2, "s": -2}, 1.0),
        ("rad/s²", "rad/s2", {"rad": 1, "s": -2}, 1.0),
        ("kg m^2", "kg.m2", {"kg": 1, "m": 2}, 1.0),
        ("V", "V", {"kg": 1, "m": 2, "s": -3, "A": -1}, 1.0),
        ("kg/(m s²)", "kg/(m.s2)", {"kg": 1, "m": -1, "s": -2}, 1.0),
        ("1/min", "1/min", {"s": -1}, 1.0 / 60.0),
        ("A s/C", "A.s/C", {}, 1.0),
        ("goods/(worker year)", "goods/(worker.year)", None, 1.0),
    ],
)
def test_units_have_exponents_of_base_units(
    text: str, name: str, exponents: dict[str, int] | None, factor: float
) -> None:
    unit = Unit.of(text)
    assert unit is not None
    assert (unit.name, unit.exponents) == (name, exponents)
    assert unit.factor == pytest.approx(factor, rel=1e-15)
    if exponents is not None and factor == 1.0:
        again = Unit.of(Unit.of_exponents(exponents).name)
        assert again is not None
        assert again.exponents == exponents


def test_what_has_no_unit_has_none() -> None:
    assert Unit.of(" ") is None


def test_units_of_parameters_follow_from_the_equations() -> None:
    setup = two_link_arm_moving_obstacle()
    assert setup.controller is not None
    block = closed_loop_model(
        *(setup.robot, setup.controller, "arm"),
        q0=None,
        v0=None,
        p=None,
        controller_p=setup.controller_p,
        separate=(),
        step=1e-3,
    )
    arm = {f"{letter}{i}": unit for i in (1, 2) for letter, unit in zip("lmcI", ("m", "kg", "m", "kg.m2"), strict=True)}
    disc = {
        f"disc.{key}": unit
        for key, unit in zip(("x", "y", "radius", "vx", "vy"), ("m", "m", "m", "m/s", "m/s"), strict=True)
    }
    field = {"speed": "m/s", "attraction": "1/s", "side": "", "margin": "m", "limit": "m/s"}
    field |= {"approach": "1/s", "swirl": "1", "clock": "1/s", "departure": "s"}
    expected = arm | {"g": "m/s2"} | disc | {f"field.{key}": unit for key, unit in field.items()}
    expected |= {"field.side_disc": "", "follow.rate": "1/s"}
    assert {parameter.name: parameter.unit for parameter in block.parameters} == expected


def test_units_of_a_linkage_and_of_a_circuit() -> None:
    squeezer = plant_model(andrews_squeezer(), "squeezer", q0=None, v0=None, p=None, step=1e-3)
    units = {parameter.name: parameter.unit for parameter in squeezer.parameters}
    assert {unit for name, unit in units.items() if name.endswith(".mass")} == {"kg"}
    assert {unit for name, unit in units.items() if name.endswith(".inertia")} == {"kg.m2"}
    assert (units["spring.stiffness"], units["spring.rest_length"]) == ("N/m", "m")
    ladder = plant_model(butterworth_ladder().robot, "ladder", q0=None, v0=None, p=None, step=1e-3)
    measured = {"L": "H", "C": "F", "R": "Ohm"}
    assert all(parameter.unit == measured[parameter.name[-1]] for parameter in ladder.parameters)


def test_no_unit_is_inferred_where_the_equations_contradict_themselves() -> None:
    """A potential of k x and k x² at once gives k no unit, and a wrong one would be worse than none."""
    q, v, p = ca.SX.sym("x"), ca.SX.sym("v"), ca.SX.sym("p", 2)
    parameters = Parameters(("m", "k"), p, {"m": 1.0, "k": 2.0})
    units: list[list[str]] = []
    for V in (p[1] * q**2 / 2, p[1] * q + p[1] * q**2):
        robot = lagrangian_system(q=q, v=v, p=parameters, T=p[0] * v**2 / 2, V=V, units=["m"])
        block = plant_model(robot, "slider", q0=None, v0=None, p=None, step=1e-3)
        units.append([parameter.unit for parameter in block.parameters])
    assert units == [["kg", "N/m"], ["", ""]]


def test_the_law_alone_has_units_too() -> None:
    robot = two_link_arm()
    law = ProgramController(Program(robot, holonomic(robot.points["tip"] - ca.DM([0.7, 0.1]), name="tip")))
    block = controller_model(law, "law", q0=None, v0=None, p=None, step=1e-3)
    units = {parameter.name: parameter.unit for parameter in block.parameters}
    assert (units["m1"], units["I2"], units["tip.alpha"], units["tip.beta"]) == ("kg", "kg.m2", "1/s", "1/s")
