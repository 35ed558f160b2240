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
"""Residual of an optimality condition that an answer may have, as a share of its terms."""


@dataclass(frozen=True, eq=False)
class QuadraticProgram:
    """Least ½ xᵀHx + gᵀx with lower ≤ x ≤ upper and least ≤ A x ≤ most; H > 0, so that the answer is unique.

    Bounds may be infinite; two equal ones form an equation. The arrays are neither copied nor checked: a programme is
    built and solved within one tick.

    Attributes:
        H: Hessian, symmetric positive definite, shape (n, n).
        g: gradient at x = 0, shape (n,).
        A: matrix of the rows, shape (k, n).
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
    """Answer of a solver, to be checked by :func:`optimality_residual`.

    Attributes:
        x: the solution, shape (n,).
        multipliers: multipliers of the bounds of x, then of A x, shape (n + k,): H x + g + (1 Aᵀ) multipliers = 0,
            positive at an upper bound and negative at a lower one.
    """

    x: Array
    multipliers: Array


class QpSolver(ABC):
    """A solver of strictly convex quadratic programmes."""

    @property
    def word(self) -> str:
        """Return status of the last call, as reported by the solver; empty if it reports none."""
        return ""

    @abstractmethod
    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        """Solve a programme; the answer may contain any numbers if the solver fails.

        Args:
            program: the programme to solve.
            start: answer of a similar programme, from which the solver may start; it must not change the answer.
        """


def optimality_residual(program: QuadraticProgram, answer: QpSolution) -> float:
    """Return the residual of the conditions of optimality, as a share of their terms; NaN for NaN.

    They are H x + g + (1 Aᵀ) λ = 0, all bounds satisfied, and for each bound λ = 0 or the bound active, on the side
    given by the sign of λ. For H > 0 they hold at the minimum and nowhere else.

    Args:
        program: the programme that was solved.
        answer: the solver's answer.
    """
    A = program.A
    (missed,) = _optimality_conditions(*A.shape)(
        *(program.H, program.g, A if A.shape[1] > 1 else A[:, 0]),
        *(program.least, program.most, program.lower, program.upper, answer.x, answer.multipliers),
    )
    return float(missed)


def is_optimal(program: QuadraticProgram, answer: QpSolution) -> bool:
    """True if an answer is optimal to :data:`ACCURACY`.

    Args:
        program: the programme that was solved.
        answer: the solver's answer.
    """
    return optimality_residual(program, answer) <= ACCURACY


@functools.lru_cache(maxsize=64)
def _optimality_conditions(k: int, n: int) -> Kernel:
    """Return the conditions of optimality for one size."""
    H, A = ca.SX.sym("H", n, n), ca.SX.sym("A", k, n)
    g, x, lower, upper = (ca.SX.sym(name, n) for name in ("g", "x", "lower", "upper"))
    least, most, multipliers = ca.SX.sym("least", k), ca.SX.sym("most", k), ca.SX.sym("multipliers", n + k)
    slopes = ca.horzcat(ca.SX.eye(n), A.T)
    z, pushed = slopes.T @ x, slopes @ multipliers
    over, under = z - ca.vertcat(upper, most), ca.vertcat(lower, least) - z
    # Sums, which preserve NaN.
    still, broken, loose = ca.sumsqr(H @ x + g + pushed), ca.SX(0), ca.SX(0)
    for i in range(n + k):
        broken = broken + ca.fmax(ca.fmax(over[i], under[i]), 0) ** 2
        # Complementarity: the multiplier or the gap to the bound on its side vanishes.
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
"""Solvers that are known to be accurate enough, in order of preference, with their options."""


@dataclass(frozen=True, eq=False)
class _BufferedFunction:
    """CasADi function for one size, and the arrays that it reads and writes."""

    evaluate: Callable[[], None]
    buffer: ca.FunctionBuffer
    function: ca.Function
    arguments: dict[str, Array]
    results: dict[str, Array]


class _ThreadFunctions(threading.local):
    """Functions of a thread, and the status of its last call."""

    def __init__(self) -> None:
        """Start without functions; called in each thread."""
        self.bound: dict[tuple[int, int], _BufferedFunction] = {}
        self.last: _BufferedFunction | None = None
        self.raised = ""

    def __reduce__(self) -> tuple[type[_ThreadFunctions], tuple[()]]:
        """Copy without functions."""
        return _ThreadFunctions, ()


class ConicSolver(QpSolver):
    """CasADi's ``conic``, called through its buffers.

    ``daqp``, a dual active-set method [Arnstrom2022]_, is used if CasADi has it (since 3.6.6), else ``qrqp``, CasADi's
    primal-dual active-set method. CasADi restarts ``daqp`` at each call, so only ``qrqp`` benefits from a start.

    Attributes:
        name: name of the solver that is called.
    """

    def __init__(self, name: str | None = None) -> None:
        """Choose a solver.

        Args:
            name: ``"daqp"`` or ``"qrqp"``; the first of them that this CasADi has if not given.

        Raises:
            ModelError: for an unknown solver, or one that this CasADi does not have.
        """
        if name is not None and name not in OPTIONS:
            raise ModelError(unknown_name("solver of quadratic programmes", str(name), OPTIONS))
        desired = list(OPTIONS) if name is None else [name]
        found = [one for one in desired if ca.has_conic(one)]
        if not found:
            raise ModelError(
                f"CasADi {ca.__version__} has no solver {' or '.join(map(repr, desired))}: install a newer version"
            )
        self.name = found[0]
        self._own = _ThreadFunctions()

    @property
    def word(self) -> str:
        """Return status of the last call; empty in versions of CasADi whose buffers do not report it."""
        last = self._own.last
        if self._own.raised or last is None:
            return self._own.raised
        stats: Callable[[], dict[str, object]] | None = getattr(last.buffer, "stats", None)
        return "" if stats is None else f"{self.name}: {stats().get('return_status', '')}"

    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        """Solve a programme.

        Args:
            program: the programme to solve.
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
        # Results of the previous call must not count as an answer.
        for result in bound.results.values():
            result.fill(np.nan)
        own.last, own.raised = bound, ""
        try:
            bound.evaluate()
        except RuntimeError as error:
            own.raised = str(error).strip().splitlines()[-1]
        results = bound.results
        return QpSolution(results["x"].copy(), np.concatenate((results["lam_x"], results["lam_a"])))

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
