"""Lexicographic programmes of limits: random ones, some of them degenerate, their C code, and independent solutions."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from erugin.controllers.bounded.lexicographic import BoundedProblemData, LimitLevel
from erugin.symbolic.codegen.lexicographic import LexicographicInfo, LexicographicSizes, Sphere, lexicographic_block

from .c_folders import compiled

Array = NDArray[np.float64]
Reals = NDArray[np.floating[Any]]

KINDS = ("general", "integer", "duplicate", "parallel", "infinite", "fixed", "dependent")
"""Kinds of problems: random numbers; small integers, whose vertices are degenerate; the same rows several times; nearly
parallel rows; limits on one side or none; equal limits on both sides; a row of the program that depends on others."""

DRIVER = """
#include <stdio.h>

void decide(int count, const double *problems, double *answers);

void decide(int count, const double *problems, double *answers) {
  static const int read[] = {READ}, written[] = {WRITTEN};
  for (int k = 0; k < count; ++k) {
    const double *in[INPUTS];
    double *out[OUTPUTS];
    for (int i = 0; i < INPUTS; ++i) { in[i] = problems; problems += read[i]; }
    for (int i = 0; i < OUTPUTS; ++i) { out[i] = answers; answers += written[i]; }
    NAME(in, out);
  }
}

/* Numbers of problems on standard input, those of answers on standard output; in arrays of exactly their sizes. */
int main(void) {
  static const int read[] = {READ}, written[] = {WRITTEN};
  for (;;) {
    const double *in[INPUTS];
    double *out[OUTPUTS];
    static double problem[INPUTS][MOST], answer[OUTPUTS][MOST];
    for (int i = 0; i < INPUTS; ++i) {
      in[i] = problem[i] + MOST - read[i];
      if (fread(problem[i] + MOST - read[i], sizeof(double), (size_t)read[i], stdin) != (size_t)read[i]) return 0;
    }
    for (int i = 0; i < OUTPUTS; ++i) out[i] = answer[i] + MOST - written[i];
    NAME(in, out);
    for (int i = 0; i < OUTPUTS; ++i) fwrite(out[i], sizeof(double), (size_t)written[i], stdout);
  }
}
"""


def random_problem(rng: np.random.Generator, sizes: LexicographicSizes, kind: str) -> BoundedProblemData:
    """A problem in scaled inputs; the hard rows of limits can be satisfied."""
    n, k, hard = sizes.inputs, sizes.limits, sizes.levels[0]
    m = sum(map(len, sizes.groups))
    H = rng.normal(size=(n, n))
    H = H @ H.T + 0.1 * np.eye(n)
    H /= np.sqrt(np.outer(np.diag(H), np.diag(H)))
    rows, gain = rng.normal(size=(k, n)), rng.normal(size=(m, n))
    right = 3.0 * rng.normal(size=m) * 10.0 ** rng.uniform(-1.0, 1.0)
    low, high = -rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
    middle, width = rng.normal(size=k) * rng.uniform(0.0, 3.0), rng.uniform(0.0, 2.0, k)
    least, most = middle - width, middle + width
    if kind == "integer":
        rows, gain = rng.integers(-1, 2, (k, n)).astype(float), rng.integers(-2, 3, (m, n)).astype(float)
        right, low, high = (rng.integers(*span).astype(float) for span in ((-4, 5, m), (-2, 1, n), (0, 3, n)))
        least = rng.integers(-3, 2, k).astype(float)
        most = least + rng.integers(0, 3, k).astype(float)
    elif kind == "duplicate":
        rows[1:] = rows[:1] * rng.choice([1.0, -1.0, 2.0], (k - 1, 1))
        gain[1:] = gain[:1] * rng.choice([1.0, -1.0, 0.0, 2.0], (m - 1, 1))
        rows[rng.integers(k)] = np.eye(n)[rng.integers(n)]
    elif kind == "parallel":
        angle = 10.0 ** rng.uniform(-6.0, -2.0)
        rows[1:] = rows[:1] + angle * rng.normal(size=(k - 1, n))
        rows[-1] = np.eye(n)[0] + angle * rng.normal(size=n)
        gain[1:] = gain[:1] + 10.0 ** rng.uniform(-4.0, -2.0) * rng.normal(size=(m - 1, n))
    elif kind == "infinite":
        for array, far in ((low, -np.inf), (high, np.inf), (least, -np.inf), (most, np.inf)):
            array[rng.random(len(array)) < 0.5] = far
    elif kind == "fixed":
        for below, above in ((low, high), (least, most)):
            same = rng.random(len(below)) < 0.4
            below[same] = above[same]
    elif kind == "dependent" and m > 1:
        gain[-1] = rng.normal(size=m - 1) @ gain[:-1]
    inside = np.clip(rng.normal(size=n), low, high)
    least[:hard] = -np.inf
    most[:hard] = rows[:hard] @ inside + rng.uniform(0.0, 0.5, hard) * (rng.random(hard) < 0.7)
    one = np.ones
    return BoundedProblemData(
        input=np.full(n, np.nan),
        fit=np.array([1.0, 1.0, 1.0, 0.0]),
        low=low,
        high=high,
        scale=one(n),
        effort=H,
        rows=rows,
        least=least,
        most=most,
        row_scale=one(k),
        gain=gain,
        right=right,
        gain_scale=one(m),
        short=np.zeros(n + 1),
        total=np.zeros(1),
    )


def relaxed_levels(sizes: LexicographicSizes) -> tuple[LimitLevel, ...]:
    """Levels of the limits that may be exceeded."""
    ends = itertools.pairwise(np.cumsum(sizes.levels).tolist())
    return tuple(LimitLevel(f"limits {number}", np.arange(*span)) for number, span in enumerate(ends))


def numbers_of(problem: BoundedProblemData, hold: Array | None = None) -> Array:
    """Numbers of a problem as the C code reads them, matrices by columns."""
    hold = np.full(len(problem.low), np.nan) if hold is None else hold
    fields = [getattr(problem, field.name) for field in dataclasses.fields(problem)]
    return np.concatenate([np.ravel(array, order="F") for array in (*fields, hold)])


@dataclasses.dataclass(frozen=True, eq=False)
class Answer:
    """Answer of the C code to one problem."""

    u: Array
    missed: Array
    beyond: Array
    relaxed: Array
    pressing: Array
    info: LexicographicInfo


class CompiledLexicographic:
    """The C code of one size: strict, with other flags if wanted."""

    def __init__(
        self,
        sizes: LexicographicSizes,
        folder: Path,
        *flags: str,
        compiler: str = "cc",
        spheres: Sequence[Sphere] = (),
    ) -> None:
        self.sizes, self.folder, self._flags, self._compiler = sizes, folder, flags, compiler
        block = lexicographic_block(sizes, spheres)
        n, k = sizes.inputs, sizes.limits
        m = sum(map(len, sizes.groups))
        self.read = (n, 4, n, n, n, n * n, k * n, k, k, k, m * n, m, m, n + 1, 1, n)
        assert self.read == tuple(block.inputs.values())
        self.written = tuple(block.outputs.values())
        driver = DRIVER.replace("READ", ", ".join(map(str, self.read))).replace("NAME", block.name)
        driver = driver.replace("WRITTEN", ", ".join(map(str, self.written)))
        driver = driver.replace("INPUTS", str(len(self.read))).replace("OUTPUTS", str(len(self.written)))
        self.source = folder / "lexicographic.c"
        before = f"#define MOST {max(self.read + self.written)}"
        text = f"{before}\n{block.text}\n{driver}"
        self.source.write_text(text, encoding="utf-8")

    def compile(self, target: str, *flags: str) -> Path:
        """Compile without any warning."""
        compiled([self.source], self.folder / target, *self._flags, *flags, compiler=self._compiler)
        return self.folder / target

    def __call__(self, problems: Sequence[Array]) -> list[Answer]:
        """Solve problems, numbers as of :func:`numbers_of`."""
        library = self.folder / "lexicographic.so"
        if not library.exists():
            self.compile(library.name, "-shared", "-fPIC")
        given = np.concatenate(problems)
        assert given.size == len(problems) * sum(self.read)
        answers = np.full(len(problems) * sum(self.written), -77.0)
        decide = ctypes.CDLL(str(library)).decide
        decide(ctypes.c_int(len(problems)), ctypes.c_void_p(given.ctypes.data), ctypes.c_void_p(answers.ctypes.data))
        return self.answers(answers)

    def answers(self, numbers: Array) -> list[Answer]:
        """The answers in the numbers that were written."""
        ends = np.cumsum([0, *self.written]).tolist()
        found = []
        for row in numbers.reshape(-1, ends[-1]):
            u, missed, beyond, relaxed, pressing, info = (row[first:end] for first, end in itertools.pairwise(ends))
            found.append(Answer(u, missed, beyond, relaxed, pressing, LexicographicInfo(*info.tolist())))
        return found


def conditions_missed(problem: BoundedProblemData, sizes: LexicographicSizes, x: Array, near: float = 1e-8) -> float:
    """Conditions of optimality of all levels by nonnegative least squares: share of a slope that nothing balances.

    Infinite if a limit that can be kept is not.
    """
    n = sizes.inputs
    room = near * (1.0 + float(np.abs(x).max()))
    C = np.vstack([np.eye(n), problem.rows])
    low, high = np.concatenate([problem.low, problem.least]), np.concatenate([problem.high, problem.most])
    value, length = C @ x, np.maximum(1.0, np.linalg.norm(C, axis=1))
    excess = np.maximum(value - high, 0.0) - np.maximum(low - value, 0.0)
    excess[np.abs(excess) < room * length] = 0.0
    if excess[: n + sizes.levels[0]].any():
        return math.inf
    outward: list[Array] = []
    free: list[Array] = []

    def keep(kept: NDArray[np.intp]) -> None:
        """From here on these limits are kept, apart from those that are exceeded."""
        kept = kept[excess[kept] == 0.0]
        reached = room * length[kept]
        outward.extend(C[kept[np.abs(value - high)[kept] <= reached]])
        outward.extend(-C[kept[np.abs(value - low)[kept] <= reached]])

    def missed(slope: Array) -> float:
        columns = np.array([np.zeros(n), *outward, *free, *(-row for row in free)]).T
        lengths = np.linalg.norm(columns, axis=0)
        columns = columns / np.where(lengths > 0.0, lengths, 1.0)
        return float(nnls(columns, -slope / max(1.0, float(np.linalg.norm(slope))), maxiter=2000)[1])

    worst = 0.0
    keep(np.arange(n + sizes.levels[0]))
    for level in relaxed_levels(sizes):
        # No limit of a level balances the excess of others in it, or of an earlier level.
        rows = n + level.rows
        if excess[rows].any():
            worst = max(worst, missed(C[rows].T @ excess[rows]))
        keep(rows)
        free += list(C[rows[excess[rows] != 0.0]])
    for group in sizes.groups:
        G, r = problem.gain[list(group)], problem.right[list(group)]
        slope = G.T @ (G @ x - r)
        if np.linalg.norm(slope) > 1e-8 * (1.0 + np.linalg.norm(G.T @ r)):
            worst = max(worst, missed(slope))
        free += list(G)
    return max(worst, missed(problem.effort @ x))


def by_enumeration(problem: BoundedProblemData, sizes: LexicographicSizes) -> Reals:
    """The solution by trying all sets of active limits at each level; for tiny problems."""
    n, k, hard = sizes.inputs, sizes.limits, sizes.levels[0]
    soft = k - hard
    # Unknowns x and the excess s of each soft row: least ≤ rows x − s ≤ most.
    C = np.zeros((n + k, n + soft))
    C[:n, :n], C[n:, :n] = np.eye(n), problem.rows
    C[n + hard :, n:] = -np.eye(soft)
    low, high = np.concatenate([problem.low, problem.least]), np.concatenate([problem.high, problem.most])
    levels = [(np.eye(n + soft)[n - hard + level.rows], np.zeros(len(level.rows))) for level in relaxed_levels(sizes)]
    levels += [(np.pad(problem.gain[list(g)], ((0, 0), (0, soft))), problem.right[list(g)]) for g in sizes.groups]
    levels += [(np.pad(np.linalg.cholesky(problem.effort).T, ((0, 0), (0, soft))), np.zeros(n))]
    fixed, value = np.zeros((0, n + soft)), np.zeros(0)
    best: Reals = np.zeros(n + soft)
    for A, b in levels:
        best, least = np.full(n + soft, np.nan), math.inf
        for z in _candidates(A, b, fixed, value, C, low, high):
            cost = float(np.linalg.norm(A @ z - b))
            if cost < least:
                best, least = z, cost
        fixed, value = np.vstack([fixed, A]), np.concatenate([value, A @ best])
    return best[:n]


def _candidates(A: Reals, b: Reals, fixed: Reals, value: Reals, C: Array, low: Array, high: Array) -> Iterator[Reals]:
    """Feasible least squares |A z − b|² on each set of limits."""
    for sides in itertools.product((-1, 0, 1), repeat=len(C)):
        side = np.array(sides)
        bound = np.where(side > 0, high, low)[side != 0]
        if not np.isfinite(bound).all() or np.count_nonzero(side) + len(fixed) > 2 * A.shape[1]:
            continue
        E, e = np.vstack([fixed, C[side != 0]]), np.concatenate([value, bound])
        z = np.linalg.lstsq(E, e, rcond=1e-10)[0] if len(E) else np.zeros(A.shape[1])
        if len(E) and np.abs(E @ z - e).max() > 1e-8 * (1.0 + np.abs(e).max()):
            continue
        directions = np.eye(A.shape[1])
        if len(E):
            _, s, Vt = np.linalg.svd(E)
            directions = Vt[np.count_nonzero(s > 1e-10 * s[0]) :].T
        if directions.size:
            z = z + directions @ np.linalg.lstsq(A @ directions, b - A @ z, rcond=1e-10)[0]
        over = np.maximum(low - C @ z, C @ z - high)
        if over.max(initial=0.0) <= 1e-9 * (1.0 + np.abs(z).max()):
            yield z
