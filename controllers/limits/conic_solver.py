"""Quadratic programmes by a solver that comes with CasADi."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import ModelError, unknown_name
from .quadratic_program import QpAnswer, QpSolver, QuadraticProgram

Array = NDArray[np.float64]

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
class _Bound:
    """A CasADi function for one size, and the arrays that it reads and writes."""

    evaluate: Callable[[], None]
    buffer: ca.FunctionBuffer
    function: ca.Function
    arguments: dict[str, Array]
    results: dict[str, Array]


class _Own(threading.local):
    """The functions of a thread, and how its last call ended."""

    def __init__(self) -> None:
        """Begin with none; called in each thread."""
        self.bound: dict[tuple[int, int], _Bound] = {}
        self.last: _Bound | None = None
        self.raised = ""

    def __reduce__(self) -> tuple[type[_Own], tuple[()]]:
        """A copy begins with none."""
        return _Own, ()


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
        self._own = _Own()

    @property
    def word(self) -> str:
        """How the last call ended; empty in versions of CasADi whose buffers do not tell."""
        last = self._own.last
        if self._own.raised or last is None:
            return self._own.raised
        tell: Callable[[], dict[str, object]] | None = getattr(last.buffer, "stats", None)
        return "" if tell is None else f"{self.name}: {tell().get('return_status', '')}"

    def solve(self, program: QuadraticProgram, start: QpAnswer | None = None) -> QpAnswer:
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
        return QpAnswer(told["x"].copy(), np.concatenate((told["lam_x"], told["lam_a"])))

    def _bind(self, size: tuple[int, int]) -> _Bound:
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
        bound = _Bound(evaluate, buffer, function, arguments, results)
        self._own.bound[size] = bound
        return bound


def _array(function: ca.Function, i: int, side: str) -> Array:
    rows = function.size1_in(i) if side == "in" else function.size1_out(i)
    columns = function.size2_in(i) if side == "in" else function.size2_out(i)
    matrix = side == "in" and function.name_in(i) in ("h", "a")
    return np.zeros((rows, columns) if matrix else rows * columns, order="F")
