"""Quadratic programmes: data, solutions with their residuals, and solvers."""

from __future__ import annotations

import functools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.kernel import Kernel

Array = NDArray[np.float64]

ACCURACY = 1e-8
"""Share of the numbers that an optimality condition is made of by which an answer may miss it."""


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Least ½ xᵀHx + gᵀx with lower ≤ x ≤ upper and least ≤ A x ≤ most; H > 0, so that the answer is unique.

    Bounds may be infinite; two that are equal make an equation. The arrays are neither copied nor checked: a programme
    is made and solved within one tick.

    Attributes:
        H: shape (n, n), symmetric positive definite.
        g: shape (n,).
        A: shape (k, n).
        least: lower bounds of A x, shape (k,).
        most: upper bounds of A x, shape (k,).
        lower: lower bounds of x, shape (n,).
        upper: upper bounds of x, shape (n,).
    """

    H: Array
    g: Array
    A: Array
    least: Array
    most: Array
    lower: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class QpSolution:
    """What a solver says, to be believed only after :func:`misses`.

    Attributes:
        x: shape (n,).
        multipliers: of the bounds of x, then of those of A x, shape (n + k,): H x + g + (1 Aᵀ) multipliers = 0, above
            zero at an upper bound and below zero at a lower one.
    """

    x: Array
    multipliers: Array


class QpSolver(ABC):
    """A solver of strictly convex quadratic programmes."""

    @property
    def word(self) -> str:
        """How the last call ended, in the solver's own words; empty if it does not tell."""
        return ""

    @abstractmethod
    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        """The solver's answer; one that failed may hold any numbers.

        Args:
            program: what is solved.
            start: answer of a similar programme, from which the solver may start; it must not change the answer.
        """


def optimality_residual(program: QuadraticProgram, answer: QpSolution) -> float:
    """By how much an answer misses the conditions of optimality, as a share of what they are made of; NaN for NaN.

    They are H x + g + (1 Aᵀ) λ = 0, bounds kept, and for each bound λ = 0 or the bound reached, on the side that the
    sign of λ tells. For H > 0 they hold at the least value and nowhere else.

    Args:
        program: what was solved.
        answer: what the solver says.
    """
    A = program.A
    (missed,) = _optimality_conditions(*A.shape)(
        *(program.H, program.g, A if A.shape[1] > 1 else A[:, 0]),
        *(program.least, program.most, program.lower, program.upper, answer.x, answer.multipliers),
    )
    return float(missed)


def is_optimal(program: QuadraticProgram, answer: QpSolution) -> bool:
    """Whether an answer is one, to :data:`ACCURACY`.

    Args:
        program: what was solved.
        answer: what the solver says.
    """
    return optimality_residual(program, answer) <= ACCURACY


@functools.lru_cache(maxsize=64)
def _optimality_conditions(k: int, n: int) -> Kernel:
    """The conditions of optimality for one size."""
    H, A = ca.SX.sym("H", n, n), ca.SX.sym("A", k, n)
    g, x, lower, upper = (ca.SX.sym(name, n) for name in ("g", "x", "lower", "upper"))
    least, most, multipliers = ca.SX.sym("least", k), ca.SX.sym("most", k), ca.SX.sym("multipliers", n + k)
    slopes = ca.horzcat(ca.SX.eye(n), A.T)
    z, pushed = slopes.T @ x, slopes @ multipliers
    over, under = z - ca.vertcat(upper, most), ca.vertcat(lower, least) - z
    # Sums, in which no NaN gets lost.
    still, broken, loose = ca.sumsqr(H @ x + g + pushed), ca.SX(0), ca.SX(0)
    for i in range(n + k):
        broken = broken + ca.fmax(ca.fmax(over[i], under[i]), 0) ** 2
        # Where a multiplier pushes, the bound on its side must be reached: one of the two numbers vanishes.
        gap = ca.if_else(multipliers[i] > 0, over[i], under[i])
        loose = loose + ca.fmin(ca.fabs(gap), ca.fabs(multipliers[i])) ** 2
    missed = ca.sqrt(still / (1 + ca.sumsqr(g) + ca.sumsqr(multipliers)) + (broken + loose) / (1 + ca.sumsqr(x)))
    symbols = {"H": H, "g": g, "A": A, "least": least, "most": most, "lower": lower, "upper": upper}
    return Kernel("optimality", {**symbols, "x": x, "multipliers": multipliers}, {"missed": missed}, compiled=False)


OPTIONS: dict[str, dict[str, object]] = {
    "daqp": {"daqp": {"primal_tol": 1e-10, "dual_tol": 1e-12}},
    "qrqp": {
        "constr_viol_tol": 1e-10,
        "dual_inf_tol": 1e-10,
        "print_iter": False,
        "print_header": False,
        "print_info": False,
    },
}
"""The solvers that are known to be accurate enough, in the order of preference, and how they are called."""


@dataclass(frozen=True, eq=False)
class _BufferedFunction:
    """A CasADi function for one size, and the arrays that it reads and writes."""

    evaluate: Callable[[], None]
    buffer: ca.FunctionBuffer
    function: ca.Function
    arguments: dict[str, Array]
    results: dict[str, Array]


class _ThreadFunctions(threading.local):
    """The functions of a thread, and how its last call ended."""

    def __init__(self) -> None:
        """Begin with none; called in each thread."""
        self.bound: dict[tuple[int, int], _BufferedFunction] = {}
        self.last: _BufferedFunction | None = None
        self.raised = ""

    def __reduce__(self) -> tuple[type[_ThreadFunctions], tuple[()]]:
        """A copy begins with none."""
        return _ThreadFunctions, ()


class ConicSolver(QpSolver):
    """CasADi's ``conic``, called through its buffers.

    ``daqp``, a dual active-set method [Arnstrom2022]_, is taken where CasADi has it (since 3.6.6), else ``qrqp``, its
    own primal-dual active-set method. CasADi starts ``daqp`` anew at each call, so that only ``qrqp`` gains from a
    start.

    Attributes:
        name: which one is called.
    """

    def __init__(self, name: str | None = None) -> None:
        """Choose a solver.

        Args:
            name: ``"daqp"`` or ``"qrqp"``; the first that this CasADi has if not given.

        Raises:
            ModelError: for an unknown solver, or one that this CasADi does not have.
        """
        if name is not None and name not in OPTIONS:
            raise ModelError(unknown_name("solver of quadratic programmes", str(name), OPTIONS))
        wanted = list(OPTIONS) if name is None else [name]
        found = [one for one in wanted if ca.has_conic(one)]
        if not found:
            raise ModelError(
                f"CasADi {ca.__version__} has no solver {' or '.join(map(repr, wanted))}: install a newer one"
            )
        self.name = found[0]
        self._own = _ThreadFunctions()

    @property
    def word(self) -> str:
        """How the last call ended; empty in versions of CasADi whose buffers do not tell."""
        last = self._own.last
        if self._own.raised or last is None:
            return self._own.raised
        tell: Callable[[], dict[str, object]] | None = getattr(last.buffer, "stats", None)
        return "" if tell is None else f"{self.name}: {tell().get('return_status', '')}"

    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        """The solver's answer.

        Args:
            program: what is solved.
            start: answer of a similar programme.
        """
        size = program.A.shape
        own = self._own
        bound = own.bound.get(size) or self._bind(size)
        given, n = bound.arguments, size[1]
        given["h"][...], given["g"][:], given["a"][...] = program.H, program.g, program.A
        given["lba"][:], given["uba"][:] = program.least, program.most
        given["lbx"][:], given["ubx"][:] = program.lower, program.upper
        if start is None or (start.x.size, start.multipliers.size) != (n, n + size[0]):
            for key in ("x0", "lam_x0", "lam_a0"):
                given[key].fill(0.0)
        else:
            given["x0"][:] = start.x
            given["lam_x0"][:], given["lam_a0"][:] = start.multipliers[:n], start.multipliers[n:]
        # What is left of the call before must not pass for an answer.
        for result in bound.results.values():
            result.fill(np.nan)
        own.last, own.raised = bound, ""
        try:
            bound.evaluate()
        except RuntimeError as error:
            own.raised = str(error).strip().splitlines()[-1]
        told = bound.results
        return QpSolution(told["x"].copy(), np.concatenate((told["lam_x"], told["lam_a"])))

    def _bind(self, size: tuple[int, int]) -> _BufferedFunction:
        k, n = size
        sizes = {"h": ca.Sparsity.dense(n, n), "a": ca.Sparsity.dense(k, n)}
        function = ca.conic(f"erugin_{self.name}", self.name, sizes, {**OPTIONS[self.name], "error_on_fail": False})
        buffer, evaluate = function.buffer()
        arguments = {key: _array(function, i, "in") for i, key in enumerate(function.name_in())}
        results = {key: _array(function, i, "out") for i, key in enumerate(function.name_out())}
        for i, array in enumerate(arguments.values()):
            buffer.set_arg(i, array.reshape(-1, order="F").data)
        for i, array in enumerate(results.values()):
            buffer.set_res(i, array.reshape(-1, order="F").data)
        bound = _BufferedFunction(evaluate, buffer, function, arguments, results)
        self._own.bound[size] = bound
        return bound


def _array(function: ca.Function, i: int, side: str) -> Array:
    rows = function.size1_in(i) if side == "in" else function.size1_out(i)
    columns = function.size2_in(i) if side == "in" else function.size2_out(i)
    matrix = side == "in" and function.name_in(i) in ("h", "a")
    return np.zeros((rows, columns) if matrix else rows * columns, order="F")
