"""The C compiler: found or reported missing, its libraries loaded or the reason given, its rounding and registers."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Link, planar_manipulator
from erugin.symbolic import Kernel, ModelError, machine_code
from erugin.symbolic.cache import delete_libraries
from erugin.symbolic.compiled_rollout import RolloutLoop
from erugin.symbolic.compiler import Compiler, find_compiler, processor_features, vector_width
from erugin.symbolic.machine_code import load_machine_code
from erugin.symbolic.runge_kutta import CLASSICAL

from ..support.compiled_rollouts import LANES, compile_march
from ..support.kernels import both
from ..support.processes import PROGRAM, build, environment, libraries, start, values_here, write_script

COUNT = 200


def products(a: ca.SX, b: ca.SX, c: ca.SX, d: ca.SX) -> ca.SX:
    """Of complex numbers (a, b) and (c, d): a difference and a sum of products, side by side."""
    return ca.vertcat(*(ca.vertcat(a[i] * c[i] - b[i] * d[i], a[i] * d[i] + b[i] * c[i]) for i in range(2)))


@pytest.mark.compiled
def test_complex_products_are_rounded_as_by_numpy() -> None:
    a, b, c, d = (ca.SX.sym(name, 2) for name in "abcd")
    kernel = Kernel("complex", {"a": a, "b": b, "c": c, "d": d}, {"e": products(a, b, c, d)}, compiled=True)
    rng = np.random.default_rng(0)
    for _ in range(COUNT):
        p, q, r, s = rng.normal(size=(4, 2))
        expected = np.column_stack([p * r - q * s, p * s + q * r]).ravel()
        np.testing.assert_array_equal(kernel(p, q, r, s)[0], expected)


@pytest.mark.compiled
@pytest.mark.parametrize("lanes", LANES)
def test_runs_round_them_likewise(lanes: int) -> None:
    t, x, p = ca.SX.sym("t"), ca.SX.sym("x", 4), ca.SX.sym("p", 4)
    reported = {"e": products(x[:2], x[2:], p[:2], p[2:])}
    march = compile_march(RolloutLoop(t, x, p, ca.SX.zeros(4), reported, None, CLASSICAL), lanes)
    rng = np.random.default_rng(1)
    states, numbers = rng.normal(size=(2, COUNT, 4))
    outputs = [np.zeros((COUNT, 1, 4)) for _ in range(2)]
    march.run(np.arange(COUNT), 0, 0.0, 1e-3, states, numbers, outputs)
    a, b, c, d = states[:, :2], states[:, 2:], numbers[:, :2], numbers[:, 2:]
    expected = np.stack([a * c - b * d, a * d + b * c], axis=2).reshape(COUNT, 4)
    np.testing.assert_array_equal(outputs[1][:, 0], expected)


WATCH = """
#include <immintrin.h>
typedef int (*Kernel)(const double **, double **, long long *, double *, int);
/* Bit 2 of the state components in use: the upper halves of the vector registers. */
static int used(void) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low >> 2) & 1;
}
int after(Kernel kernel, const double **arguments, double **results, long long *integers, double *numbers) {
  _mm256_zeroupper();
  if (kernel) kernel(arguments, results, integers, numbers, 0);
  return used();
}
int after_ours(void) {
  __asm__ volatile("vpcmpeqd %%ymm0, %%ymm0, %%ymm0" : : : "xmm0");
  int found = used();
  _mm256_zeroupper();
  return found;
}
"""


@pytest.fixture(scope="module")
def watch(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    toolchain = find_compiler()
    if not isinstance(toolchain, Compiler) or not {"avx2", "xgetbv1"} <= set(processor_features().split()):
        pytest.skip("needs a compiler, AVX2 and a processor that tells which of its registers are in use")
    path = tmp_path_factory.mktemp("watch") / "watch.so"
    flags = ["-O1", "-mavx2", "-fPIC", "-shared", "-x", "c", "-", "-o", str(path)]
    subprocess.run([*toolchain.command, *flags], input=WATCH, text=True, check=True)
    library = ctypes.CDLL(str(path))
    if library.after(None, None, None, None, None) or not library.after_ours():
        pytest.skip("the processor does not tell which of its registers are in use")
    return library


def loaded() -> set[str]:
    """Paths of the shared libraries in this process."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return {words[5] for words in (line.split(maxsplit=5) for line in lines) if words[-1].endswith(".so")}


@pytest.mark.compiled
@pytest.mark.parametrize("links", [1, 2, 7])
def test_upper_halves_of_registers_are_clear_after_a_kernel(links: int, watch: ctypes.CDLL) -> None:
    robot = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * links)
    inputs = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    before = loaded()
    kernel = Kernel(f"registers{links}", inputs, {"a": ca.densify(robot.acceleration)}, compiled=True)
    libraries = [ctypes.CDLL(path) for path in sorted(loaded() - before)]
    (function,) = [getattr(one, kernel.function.name()) for one in libraries if hasattr(one, kernel.function.name())]
    rng, one = np.random.default_rng(links), ctypes.c_double
    values = [*rng.uniform(-1.0, 1.0, (3, links)), np.array([*robot.nominal.values()])]
    for scale in (1.0, 1e7):
        # Large angles take another way, through the C library.
        values[0] = values[0] * scale
        arguments = (ctypes.POINTER(one) * 8)(*(x.ctypes.data_as(ctypes.POINTER(one)) for x in values))
        found = np.zeros(links)
        results = (ctypes.POINTER(one) * 8)(found.ctypes.data_as(ctypes.POINTER(one)))
        room = (ctypes.c_double * 10_000)()
        assert watch.after(function, arguments, results, (ctypes.c_longlong * 64)(), room) == 0
        np.testing.assert_allclose(found, np.atleast_1d(kernel(*values)[0]), rtol=1e-13)
        assert np.abs(found).max() > 0.1


ANSWER = "int answer(void) { return 42; }\n"


@pytest.fixture
def counted(cache: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The compiler that counts its calls, with a cache of its own."""
    monkeypatch.setattr(machine_code, "find_compiler", lambda: Compiler((str(compiler),), "1.0"))
    return compiler.parent / "calls"


def answer(path: Path) -> int:
    return int(ctypes.CDLL(str(path)).answer())


def test_text_is_written_only_if_there_is_no_library(counted: Path) -> None:
    written: list[str] = []

    def write() -> str:
        written.append(ANSWER)
        return ANSWER

    for identity, times in (("a", 1), ("a", 1), ("b", 2), ("a", 2)):
        assert load_machine_code(identity, write, answer, OSError) == 42
        assert len(written) == times
    assert len(counted.read_text(encoding="utf-8").splitlines()) == 2


def test_cache_that_is_cleared_before_the_library_is_loaded(cache: Path, counted: Path) -> None:
    asked: list[Path] = []

    def load(path: Path) -> int:
        asked.append(path)
        if len(asked) == 1:
            delete_libraries(cache)
        return answer(path)

    assert load_machine_code("a", lambda: ANSWER, load, OSError) == 42
    assert len(asked) == 2
    assert len(counted.read_text(encoding="utf-8").splitlines()) == 2
    assert len(libraries(cache)) == 1


def test_library_that_cannot_be_loaded_is_made_twice_and_not_kept(cache: Path, counted: Path) -> None:
    reason = load_machine_code("a", lambda: ANSWER, lambda path: ctypes.CDLL(str(path)).other, AttributeError)
    assert isinstance(reason, str)
    assert reason.startswith(
        f"the library made by {counted.parent / 'counting-cc'} cannot be loaded: undefined symbol: other"
    )
    assert len(counted.read_text(encoding="utf-8").splitlines()) == 2
    assert libraries(cache) == []


def test_other_errors_are_not_hidden(cache: Path, counted: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        load_machine_code("a", lambda: ANSWER, lambda path: 1 // 0, OSError)


def test_library_that_can_be_neither_loaded_nor_removed(
    cache: Path, counted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "read-only", str(path))

    def load(path: Path) -> int:
        monkeypatch.setattr(Path, "unlink", refuse)
        raise OSError(f"{path}: file too short")

    reason = load_machine_code("a", lambda: ANSWER, load, OSError)
    monkeypatch.undo()
    assert isinstance(reason, str)
    assert reason.endswith("cannot be loaded: file too short")


@pytest.mark.parametrize("flags", ["-fnonsense", "-c", "-march=x86-64 -lnosuchlibrary", "-DT=struct", "'"])
@pytest.mark.compiled
def test_flags_that_cannot_work_are_reported(tmp_path: Path, flags: str) -> None:
    compiled, _, (warned,) = build(tmp_path / "cache", ERUGIN_CFLAGS=flags)
    assert compiled == ["False"]
    reported = {
        "-fnonsense": "-fnonsense",
        "-c": "cannot be loaded: ",
        "'": 'ERUGIN_CFLAGS is "\'": No closing quotation',
    }
    assert reported.get(flags, "error" if "=struct" in flags else "nosuchlibrary") in warned
    assert len(warned) < 500
    assert libraries(tmp_path / "cache") == []


@pytest.mark.compiled
def test_flags_come_last_and_have_separate_libraries(tmp_path: Path, compiler: Path) -> None:
    plain, values, _ = build(tmp_path / "cache", 2, ERUGIN_CC=compiler)
    flagged, same, _ = build(tmp_path / "cache", 2, ERUGIN_CC=compiler, ERUGIN_CFLAGS="-O1 '-DWORD=two words'")
    assert (plain, flagged, values) == (["True"] * 2, ["True"] * 2, same)
    assert len(libraries(tmp_path / "cache")) == 4
    calls = [line for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines() if "-shared" in line]
    assert [line.find("-O1") > line.find("-O3") >= 0 for line in calls] == [False, False, True, True]
    assert all("-DWORD=two words" in line for line in calls[2:])


def test_words_are_part_of_the_key() -> None:
    plain = Compiler(("cc",), "1.0")
    keys = {
        one.key("text")
        for one in (
            *(plain, Compiler(("cc", "-O1"), "1.0"), Compiler(("cc",), "1.0", ("-O1",))),
            *(Compiler(("cc",), "1.1"), Compiler(("cc",), "1.0", ("-O1", "-g")), Compiler(("gcc",), "1.0")),
        )
    }
    assert len(keys) == 6
    assert plain.with_source(lambda: ANSWER).key("text") == plain.key("text") != plain.key("text ")


@pytest.fixture
def lanes() -> Iterator[None]:
    """The width of vectors, determined again before and after."""
    vector_width.cache_clear()
    yield
    vector_width.cache_clear()


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("text", ["1", " 2 ", "4", "8"])
def test_number_of_lanes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERUGIN_LANES", text)
    assert vector_width() == int(text)


@pytest.mark.usefixtures("lanes")
@pytest.mark.parametrize("text", ["0", "3", "16", "-1", "2.0", "x", "auto", "0x4", "４"])
def test_an_invalid_number_of_lanes_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERUGIN_LANES", text)
    x = ca.SX.sym("x")
    for _ in range(2):
        with pytest.raises(ModelError, match=f"ERUGIN_LANES must be 1, 2, 4 or 8, got '{text}'"):
            Kernel("wide", {"x": x}, {"y": x + 1})
    assert not Kernel("wide", {"x": x}, {"y": x + 1}, compiled=False).compiled


NAMES = ['a"b', "back\\slash", "??/", "new\nline", "%s", "é", "*/", "", "tab\t1", "{}", "a b", "0"]


@both
def test_names_of_inputs_and_outputs_may_be_anything(compiled: bool) -> None:
    symbols = {name: ca.SX.sym("x") for name in NAMES}
    kernel = Kernel("named", symbols, {name: i * x for i, (name, x) in enumerate(symbols.items())}, compiled=compiled)
    assert (list(kernel.inputs), list(kernel.outputs)) == (NAMES, NAMES)
    assert kernel.function.name_in() == [f"i_{name}" for name in NAMES]
    assert kernel.function.name_out() == [f"o_{name}" for name in NAMES]
    values = kernel(*np.arange(12.0))
    np.testing.assert_array_equal(values, np.arange(12.0) ** 2)


FOREIGN = """
import sys, warnings
import casadi as ca
from erugin.symbolic import Kernel, ModelError
warnings.simplefilter("error")
x, y = ca.SX.sym("x"), ca.SX.sym("elsewhere")
for compiled in (None, True, False):
    for attempt in range(2):
        try:
            Kernel("foreign", {"x": x}, {"z": x * y}, compiled=compiled)
        except ModelError as error:
            print(error)
"""


def test_a_foreign_symbol_is_reported_as_such_and_not_as_a_missing_compiler(tmp_path: Path) -> None:
    process = start(environment(tmp_path), 1, FOREIGN)
    output, errors = process.communicate(timeout=60.0)
    assert errors == ""
    assert len(output.splitlines()) == 6
    assert set(output.splitlines()) == {"output 'z' of kernel 'foreign' uses elsewhere, not among its inputs ['x']"}


def test_the_compiler_is_queried_in_any_language(tmp_path: Path) -> None:
    script = write_script(
        tmp_path / "cc",
        'printf "\\377\\376 cc 1.0\\n"; [ "$1" = --version ] || { printf "\\377 error: no\\n" >&2; exit 1; }',
    )
    compiled, _, (warned,) = build(tmp_path / "cache", ERUGIN_CC=script)
    assert compiled == ["False"]
    assert "error: no" in warned


def test_toolchain_here_has_a_version() -> None:
    toolchain = find_compiler()
    assert isinstance(toolchain, str) or (toolchain.version and Path(toolchain.command[0]).is_absolute())


@pytest.mark.parametrize("word", ["none", " None "])
def test_without_a_compiler_there_is_one_warning(tmp_path: Path, word: str) -> None:
    compiled, values, warned = build(tmp_path / "cache", 5, ERUGIN_CC=word)
    assert compiled == ["False"] * 5
    assert values == values_here(5)
    assert len(warned) == 1
    assert warned[0].startswith("True kernels run in CasADi's virtual machine")
    assert "compiler" in warned[0]
    assert not (tmp_path / "cache").exists()


@pytest.mark.compiled
def test_with_a_compiler_there_is_no_warning(tmp_path: Path) -> None:
    compiled, values, warned = build(tmp_path / "cache", 3)
    assert compiled == ["True"] * 3
    np.testing.assert_allclose([*map(float.fromhex, values)], [*map(float.fromhex, values_here(3))], rtol=1e-15)
    assert warned == []
    assert len(libraries(tmp_path / "cache")) == 3


def test_compiler_that_does_not_exist(tmp_path: Path) -> None:
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC="/nonexistent/cc")
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert "/nonexistent/cc" in warned[0]


@pytest.mark.parametrize("text", ["exit 1", "echo 'out of order' >&2; exit 1"])
def test_compiler_that_always_fails(tmp_path: Path, text: str) -> None:
    script = write_script(tmp_path / "broken-cc", text)
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC=script)
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert str(script) in warned[0]


def test_compiler_that_cannot_compile(tmp_path: Path) -> None:
    text = 'if [ "$1" = --version ]; then echo 1.0; exit 0; fi\ncat > /dev/null; echo "disk on fire" >&2; exit 1'
    script = write_script(tmp_path / "broken-cc", text)
    compiled, values, warned = build(tmp_path / "cache", 2, ERUGIN_CC=script)
    assert (compiled, values) == (["False", "False"], values_here(2))
    assert len(warned) == 1
    assert f"{script} failed: disk on fire" in warned[0]
    assert libraries(tmp_path / "cache") == []


def test_compiler_that_makes_rubbish(tmp_path: Path) -> None:
    script = write_script(tmp_path / "rubbish-cc", "cat > /dev/null; echo 1.0; exit 0")
    compiled, values, warned = build(tmp_path / "cache", 1, ERUGIN_CC=script)
    assert (compiled, values) == (["False"], values_here(1))
    assert len(warned) == 1
    assert str(script) in warned[0]
    assert len(warned[0]) < 500, "the reason is a sentence, not a page"


def test_words_for_a_compiler_that_cannot_be_split(tmp_path: Path) -> None:
    compiled, _, warned = build(tmp_path / "cache", 1, ERUGIN_CC="cc '")
    assert compiled == ["False"]
    assert len(warned) == 1


@pytest.mark.compiled
def test_compiler_may_have_words(tmp_path: Path, compiler: Path) -> None:
    compiled, _, warned = build(tmp_path / "cache", 1, ERUGIN_CC=f"'{compiler}' -DWORDS=1")
    assert (compiled, warned) == (["True"], [])
    assert "-DWORDS=1" in (tmp_path / "calls").read_text(encoding="utf-8")


INSISTENT = PROGRAM.replace("x[1]})", "x[1]}, compiled=True)")


def test_insisting_on_machine_code_without_a_compiler(tmp_path: Path) -> None:
    assert INSISTENT != PROGRAM
    process = start(environment(tmp_path / "cache", ERUGIN_CC="none"), 1, INSISTENT)
    _, errors = process.communicate(timeout=120.0)
    assert process.returncode == 1
    assert "ModelError: kernel 'k0' cannot be compiled: C compilers are disabled" in errors.splitlines()[-1]
