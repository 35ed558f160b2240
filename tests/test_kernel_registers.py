"""A kernel leaves the vector registers as others want them: with nothing in their upper halves.

Code that was built without AVX, such as that of most wheels, takes half as long again while something is left there.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Link, planar_manipulator
from erugin.symbolic import Kernel
from erugin.symbolic.compiler import Compiler, find_compiler, processor_features

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
