"""Compiled exported laws: no warning, no allocation, no loop, no foreign function, no undefined behaviour."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import casadi as ca
import pytest

from erugin.bridges.c import CFolder, export
from erugin.bridges.c.syntax import FUNCTIONS
from erugin.controllers import OpenLoop
from erugin.robots import lagrangian_system
from erugin.symbolic import NO_PARAMETERS

from ...support.c_folders import COMPILERS, LAWS, STRICT, compiled, controller_of

CPP = tuple(name for name in ("g++", "clang++") if shutil.which(name)) or ("c++",)
CALL = re.compile(r"\s(?:callq?|bl|jal)\s+[0-9a-f]+ <(law_\w+)>|R_\w+\s+(\w+)(?:-0x4)?$", re.MULTILINE)
MORE = [f"-W{word}" for word in ("shadow", "conversion", "sign-conversion", "double-promotion", "strict-prototypes")]
MORE += [f"-W{word}" for word in ("missing-prototypes", "cast-qual", "undef", "vla", "switch-default")]
LIBRARY = {name for name, _ in FUNCTIONS.values()} | {"sincos"}
"""math.h, and what GCC makes of a sine and a cosine of the same angle."""

HOSTILE = """
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "law.h"

static unsigned long long state = 88172645463325252ULL;

static unsigned long long drawn(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Any bits at all, or a number of usual size, or one of those at the edges. */
static double odd(void)
{
    static const double edges[] = {0.0, -0.0, 1e308, -1e308, 5e-324, 1e-160, 1e160, NAN, INFINITY, -INFINITY};
    unsigned long long bits = drawn();
    double x;
    switch (drawn() % 8) {
    case 0:
        memcpy(&x, &bits, sizeof x);
        return x;
    case 1:
        return edges[bits % 10];
    default:
        return (double)(bits % 6000001) * 1e-6 - 3.0;
    }
}

int main(void)
{
    int i, k, counts[16] = {0};
    for (k = 0; k < 3000; ++k) {
        law_parameters parameters;
        double q[LAW_NQ], v[LAW_NV], u[LAW_NU];
        law_parameters_nominal(&parameters);
        if (LAW_NP && k % 3 == 0)
            parameters.value[drawn() % LAW_NP] = odd();
        (void)law_check_parameters(&parameters);
        for (i = 0; i < LAW_NQ; ++i)
            q[i] = odd();
        for (i = 0; i < LAW_NV; ++i)
            v[i] = odd();
        i = law_tick(&parameters, odd(), q, v, u);
        if (i == LAW_OK) {
            int j;
            for (j = 0; j < LAW_NU; ++j)
                if (!isfinite(u[j]))
                    return 1;
        }
        ++counts[i];
    }
    for (i = -2; i < 20; ++i)
        if (!law_status_text(i) || !law_parameter_range(i))
            return 1;
    for (i = 0; i < 16; ++i)
        printf("%d ", counts[i]);
    return 0;
}
"""


def exported(law: str, folder: Path) -> CFolder:
    return export(controller_of(law), folder / "exported")


def disassembled(source: Path, folder: Path) -> dict[str, list[str]]:
    """Instructions of each function: address, and what is done."""
    target = folder / "law.o"
    compiled([source], target, "-O0", "-c")
    text = subprocess.run(
        ["objdump", "-dr", "--no-show-raw-insn", str(target)], capture_output=True, text=True, check=True
    ).stdout
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if head := re.fullmatch(r"[0-9a-f]+ <(\w+)>:", line):
            found[head[1]] = []
        elif found and line.strip():
            found[list(found)[-1]].append(line.strip())
    return found


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("law", ["computed torque", "four-bar", "ideal"])
@pytest.mark.parametrize("optimized", ["-O0", "-O2"])
def test_each_compiler_takes_it_without_a_warning(compiler: str, law: str, optimized: str, tmp_path: Path) -> None:
    written = exported(law, tmp_path)
    sources = [written.folder / "main.c", written.folder / "law.c"]
    compiled(sources, tmp_path / "main", optimized, compiler=compiler)
    answer = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=False)
    # At zero coordinates an arm is stretched out: a law that cannot serve there says so.
    assert "u " in answer.stdout or "M1 = " in answer.stdout or "no output" in answer.stdout
    assert answer.returncode == ("no output" in answer.stdout)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_more_warnings_find_nothing_either_even_without_parameters_or_rows(compiler: str, tmp_path: Path) -> None:
    q, v, u = ca.SX.sym("x"), ca.SX.sym("v_x"), ca.SX.sym("u")
    cart = lagrangian_system(q=q, v=v, p=NO_PARAMETERS, T=v**2 / 2, u=u, Q=u)
    for law in (OpenLoop(cart, [2.5]), controller_of("ideal")):
        written = export(law, tmp_path / "x", with_plant=law.robot, overwrite=True)
        for name in ("law.c", "law_plant.c", "main.c"):
            compiled([written.folder / name], tmp_path / "x.o", "-c", *MORE, compiler=compiler)


@pytest.mark.parametrize("compiler", CPP)
@pytest.mark.parametrize("standard", ["c++98", "c++17"])
def test_the_header_is_one_of_cpp_too(compiler: str, standard: str, tmp_path: Path) -> None:
    written = export(controller_of("four-bar"), tmp_path / "x", with_plant=controller_of("four-bar").robot)
    user = tmp_path / "user.cpp"
    user.write_text('#include "law_plant.h"\nint place() { return LAW_NQ; }\n', encoding="utf-8")
    flags = [f"-std={standard}", *STRICT[1:], f"-I{written.folder}", "-c", str(user), "-o", str(tmp_path / "user.o")]
    answer = subprocess.run([compiler, *flags], capture_output=True, text=True, check=False)
    assert not answer.returncode, answer.stderr


@pytest.mark.parametrize("law", LAWS)
def test_only_the_math_library_is_required_and_nothing_shared_is_written(law: str, tmp_path: Path) -> None:
    written = exported(law, tmp_path)
    target = tmp_path / "law.o"
    compiled([written.folder / "law.c"], target, "-O0", "-c", "-fno-pic")
    symbols = subprocess.run(["nm", str(target)], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = [line.split()[-2:] for line in symbols]
    asked = {name for kind, name in kinds if kind == "U"}
    assert asked <= LIBRARY, asked - LIBRARY
    assert {kind for kind, _ in kinds} <= {"T", "t", "R", "r", "U"}


@pytest.mark.parametrize("law", ["computed torque", "four-bar", "ideal"])
def test_no_instruction_of_a_law_runs_twice_in_a_tick(law: str, tmp_path: Path) -> None:
    written = exported(law, tmp_path)
    functions = disassembled(written.folder / "law.c", tmp_path)
    pieces = {name: lines for name, lines in functions.items() if re.fullmatch(r"law_kernel_\d+", name)}
    assert sum(map(len, pieces.values())) >= written.operations
    # A jump within a function goes forward, so that no instruction is reached twice.
    for name, lines in (*pieces.items(), ("law_kernel", functions["law_kernel"])):
        for line in lines:
            if jump := re.match(rf"([0-9a-f]+):\s.*\s([0-9a-f]+) <{name}\+", line):
                assert int(jump[2], 16) > int(jump[1], 16), line
    # Each piece is called once, in its turn, and calls nothing but functions of math.h.
    called = {
        name: [one or other for one, other in CALL.findall("\n".join(lines))] for name, lines in functions.items()
    }
    assert called["law_kernel"] == [f"law_kernel_{i}" for i in range(len(pieces))]
    assert called["law_tick_in"] == ["law_kernel"]
    assert called["law_tick"] == ["law_tick_in"]
    assert {name for piece in pieces for name in called[piece]} <= LIBRARY


def test_the_stack_that_is_needed_is_known(tmp_path: Path) -> None:
    for law in ("computed torque", "ideal"):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        written = exported(law, folder)
        compiled([written.folder / "law.c"], folder / "law.o", "-O1", "-c", "-fstack-usage")
        rows = [line.split("\t") for line in (folder / "law.su").read_text(encoding="utf-8").splitlines()]
        assert {row[2] for row in rows} == {"static"}
        used = {row[0].rpartition(":")[2]: int(row[1]) for row in rows}
        assert f"{8 * written.work} bytes" in (written.folder / "law.h").read_text(encoding="utf-8")
        assert 8 * written.work <= used["law_tick"] <= 8 * written.work + 256
        assert sum(used.values()) < 64 * 1024


@pytest.mark.parametrize("compiler", COMPILERS[:1])
@pytest.mark.parametrize("law", ["computed torque", "four-bar", "two-link field law"])
def test_sanitizers_find_nothing_whatever_comes_in(compiler: str, law: str, tmp_path: Path) -> None:
    written = exported(law, tmp_path)
    main = tmp_path / "hostile.c"
    main.write_text(HOSTILE, encoding="utf-8")
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{written.folder}")
    compiled([written.folder / "law.c", main], tmp_path / "hostile", *flags, compiler=compiler)
    answer = subprocess.run([tmp_path / "hostile"], capture_output=True, text=True, check=False)
    assert not answer.returncode, answer.stderr
    counts = list(map(int, answer.stdout.split()))
    assert sum(counts) == 3000
    assert counts[0] > 100
    assert counts[8] > 100
