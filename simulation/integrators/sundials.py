"""SUNDIALS' multistep methods through CasADi, several samples at a time: common parts of CVODES and IDAS."""

from __future__ import annotations

import io
import re
import sys
import threading
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TextIO

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import NotConvergedError
from ..closed_loop import ClosedLoop
from .integrator import TOO_MANY_STEPS, Adaptive, Advance, StartRun, StepBlock, step_by_step

_LOCK = threading.RLock()


class StderrFilter(io.TextIOBase):
    """A stream that discards what one thread writes, and passes on what other threads write.

    Attributes:
        passes: True to pass on the text of that thread too.
    """

    def __init__(self, stream: TextIO) -> None:
        """Wrap a stream.

        Args:
            stream: stream to which text is passed on.
        """
        self.passes = False
        self._stream, self._thread = stream, threading.get_ident()

    def write(self, text: str) -> int:
        """Discard the text, or pass it on.

        Args:
            text: the text.
        """
        if self.passes or threading.get_ident() != self._thread:
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the wrapped stream."""
        self._stream.flush()


@contextmanager
def silenced_stderr() -> Generator[StderrFilter]:
    """Discard what this thread writes to ``sys.stderr`` inside the context; one thread at a time."""
    with _LOCK:
        before = sys.stderr
        stream = StderrFilter(before)
        sys.stderr = stream
        try:
            yield stream
        finally:
            sys.stderr = before


Array = NDArray[np.float64]


class CallbackForce(ca.Callback):
    """(t, x) → generalized force, shape (nv,), with derivatives by difference quotients.

    Attributes:
        act: function to call; set before each use.
        error: error that it raised; from then on the force is NaN, because errors cannot be raised through CasADi.
        silence: filter that suppresses CasADi's output but passes on the controller's.
    """

    def __init__(self, nx: int, nv: int) -> None:
        """Create a callback for given sizes.

        Args:
            nx: size of the state.
            nv: size of the force.
        """
        ca.Callback.__init__(self)
        self._nx, self._nv = nx, nv
        self.act: Callable[[float, Array], Array] | None = None
        self.error: BaseException | None = None
        self.silence: StderrFilter | None = None
        self.construct("called_force", {"enable_fd": True, "fd_method": "forward"})

    def get_n_in(self) -> int:
        """Return the number of inputs: time and state."""
        return 2

    def get_n_out(self) -> int:
        """Return the number of outputs: the force."""
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """Return the pattern of a scalar or a dense column.

        Args:
            i: index of the input.
        """
        return ca.Sparsity.dense(1 if i == 0 else self._nx, 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        """Return the pattern of a dense column.

        Args:
            i: index of the output.
        """
        return ca.Sparsity.dense(self._nv, 1)

    def eval(self, arg: Sequence[ca.DM]) -> list[ca.DM]:
        """Call the controller.

        Args:
            arg: t and x.
        """
        if self.error is None and self.act is not None and self.silence is not None:
            self.silence.passes = True
            try:
                return [ca.DM(self.act(float(arg[0]), arg[1].full()[:, 0]))]
            except BaseException as error:
                # Raised again when CasADi has returned.
                self.error = error
            finally:
                self.silence.passes = False
        return [ca.DM(np.full(self._nv, np.nan))]


REASONS = {
    "TOO_MUCH_WORK": TOO_MANY_STEPS,
    "TOO_MUCH_ACC": "its tolerances are below rounding errors: use looser ones",
    "ERR_FAIL": "its error stays above the tolerance at the shortest step: look for a singular position or a jump",
    "CONV_FAIL": "Newton's method does not converge at the shortest step: look for a singular position or a jump",
    "SETUP_FAIL": "the matrix of Newton's method is singular: look for dependent rows",
    "SOLVE_FAIL": "the matrix of Newton's method is singular: look for dependent rows",
    "FUNC": "the accelerations are not finite there",
    "RES": "the accelerations are not finite there",
    "NO_RECOVERY": "the accelerations are not finite there",
}
"""Explanation and remedy by part of SUNDIALS' error code."""


@dataclass(frozen=True, eq=False)
class MultistepProblem:
    """ẋ = f(t, x, z, p, F), 0 = g(t, x, z, p, F).

    Attributes:
        t: time, a symbol.
        x: state, shape (nx,).
        z: algebraic unknowns, shape (nz,).
        p: parameters of the plant, and of the controller if it is an expression.
        force: generalized force F of a controller that is called from Python, shape (nv,), or empty.
        rate: f.
        rest: g, shape (nz,).
        guess: z at the start, in the other symbols.
    """

    t: ca.SX
    x: ca.SX
    z: ca.SX
    p: ca.SX
    force: ca.SX
    rate: ca.SX
    rest: ca.SX
    guess: ca.SX


class Sundials:
    """One problem, compiled once for runs of any start, step and length."""

    def __init__(
        self,
        solver: Literal["cvodes", "idas"],
        problem: MultistepProblem,
        loop: ClosedLoop,
        options: Mapping[str, object],
    ) -> None:
        """Store the equations as functions.

        Args:
            solver: CasADi's name of the method.
            problem: the equations.
            loop: plant and controller.
            options: options of the method, with CasADi's names.
        """
        self._solver, self._loop = solver, loop
        self._options = {**options, "show_eval_warnings": False, "disable_internal_warnings": True}
        k, n = problem, problem.p.numel()
        s, given = ca.SX.sym("s"), ca.SX.sym("given", n + 2)
        # IDAS assumes ẋ = 0 at its start, and where that is wrong its own correction sometimes fails. In another time
        # s, with t = t₀ + h s²/(s + 1), the assumption is right, because dt/ds = 0 at s = 0.
        self._warped = k.z.numel() > 0
        time = given[n] + given[n + 1] * (s * s / (s + 1) if self._warped else s)
        pace = given[n + 1] * (s * (s + 2) / ((s + 1) * (s + 1)) if self._warped else 1.0)
        motion = ca.Function("motion", [k.t, k.x, k.z, k.p, k.force], [k.rate, k.rest], {"cse": True})
        rate, rest = motion.call([time, k.x, k.z, given[:n], k.force])
        self._time = ca.Function("time", [s, given], [time])
        self._equations = ca.Function(
            "equations", [s, k.x, k.z, given, k.force], [ca.densify(rate * pace), ca.densify(rest)], {"cse": True}
        )
        self._guess = ca.Function("guess", [k.t, k.x, k.p, k.force], [ca.densify(k.guess)], {"cse": True})
        self._called = CallbackForce(k.x.numel(), k.force.numel()) if k.force.numel() else None
        self._built: dict[int, ca.Function] = {}

    def start(self, p: Array, step: float, t0: float) -> Advance:
        """Return the advance of a run.

        A symbolic loop continues from one block of samples to the next without a restart. If that fails, or the state
        is corrected, or the controller is called from Python, the method restarts at each sample, and stops at the
        next.

        Args:
            p: parameters of plant and controller.
            step: interval between samples [s].
            t0: time of the first sample [s].
        """
        act = None if self._called is None else self._loop.force(p)
        numbers = np.concatenate([p[: self._time.size1_in(1) - 2], [0.0, step]])
        ahead: list[Array] = []

        def reach(t: float, x: Array, count: int) -> Array:
            """Return the states at the next samples, shape (count, nx)."""
            force = np.zeros(0)
            if self._called is not None and act is not None:
                self._called.act, self._called.error = act, None
                force = act(t, x)
            numbers[-2] = t
            guess = self._guess.call([t, x, numbers[:-2], force])[0]
            integrate = self._integrator(count)
            try:
                # IDAS prints its errors whatever its options.
                with silenced_stderr() as silent:
                    if self._called is not None:
                        self._called.silence = silent
                    found: Array = integrate(x0=x, z0=guess, p=numbers)["xf"].full().T
            except RuntimeError as error:
                raise self._raised() or self._failure(error) from error
            raised = self._raised()
            if raised is not None:
                raise raised
            return found

        def follow(t: float, x: Array) -> Array:
            return ahead.pop(0) if ahead else reach(t, x, 1)[0]

        one_by_one = step_by_step(self._loop.observer(p), follow, step, self._loop.corrector(p), t0)

        def advance(block: StepBlock, state: Array) -> None:
            ahead.clear()
            count = len(block) - int(block.last)
            if self._called is None and self._loop.correction is None and count > 1 and np.isfinite(state).all():
                try:
                    ahead.extend(reach(t0 + block.first * step, state, count))
                except NotConvergedError:
                    # Sample by sample, the samples before the failure are kept.
                    ahead.clear()
            one_by_one(block, state)

        return advance

    def _integrator(self, count: int) -> ca.Function:
        """Return the integrator for a number of samples: CasADi fixes the times of SUNDIALS, here counted in steps."""
        if count not in self._built:
            counts = np.arange(1.0, count + 1.0)
            times = (counts + np.sqrt(counts * (counts + 4.0))) / 2.0 if self._warped else counts
            problem = self._expressions() if self._called is None else self._calls(self._called)
            name, last = f"{self._solver}_{count}", times.tolist()
            self._built[count] = ca.integrator(name, self._solver, problem, 0.0, last, self._options)
        return self._built[count]

    def _expressions(self) -> Mapping[str, ca.SX]:
        s, x, z, given, force = self._equations.sx_in()
        rate, rest = self._equations.call([s, x, z, given, force])
        problem = {"t": s, "x": x, "p": given, "ode": rate}
        return problem | {"z": z, "alg": rest} if self._warped else problem

    def _calls(self, called: CallbackForce) -> Mapping[str, ca.MX]:
        s, x, z, given = (ca.MX.sym(f"in_{i}", self._equations.size1_in(i)) for i in range(4))
        force = called.call([self._time.call([s, given])[0], x])[0]
        rate, rest = self._equations.call([s, x, z, given, force])
        problem = {"t": s, "x": x, "p": given, "ode": rate}
        return problem | {"z": z, "alg": rest} if self._warped else problem

    def _raised(self) -> BaseException | None:
        """Return the error of the controller in the last call, if any."""
        return None if self._called is None else self._called.error

    def _failure(self, error: RuntimeError) -> NotConvergedError:
        found = re.search(r'returned "((?:CV|IDA)_\w+)"', str(error))
        if found is None:
            return NotConvergedError(f"{self._solver.upper()} gave up: {str(error).strip().splitlines()[-1]}")
        why = next((said for part, said in REASONS.items() if part in found[1]), "look into SUNDIALS' documentation")
        return NotConvergedError(f"{self._solver.upper()} gave up with {found[1]}: {why}")


@dataclass(frozen=True)
class Multistep(Adaptive):
    """Backward differentiation formulas of order 1 to 5, with adaptive steps [Hindmarsh2005]_.

    The order starts at 1 after each restart: every hundred samples, and at each sample if the state is projected or the
    controller is called from Python, whose derivative is then a difference quotient.

    Attributes:
        relative_tolerance: relative tolerance of the local error.
        absolute_tolerance: absolute tolerance of the local error.
        max_steps: largest number of internal steps between two samples.

    Raises:
        ModelError: for a number that is not positive.
    """

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """Build the equations; the first run of a length builds its integrator.

        Args:
            loop: plant and controller.
        """
        options = {
            "reltol": self.relative_tolerance,
            "abstol": self.absolute_tolerance,
            "max_num_steps": int(self.max_steps),
        }
        return Sundials(self._solver, self._problem(loop), loop, {**options, **self._options}).start

    @property
    @abstractmethod
    def _solver(self) -> Literal["cvodes", "idas"]:
        """CasADi's name of the method."""

    @property
    def _options(self) -> dict[str, object]:
        """Additional options."""
        return {}

    @abstractmethod
    def _problem(self, loop: ClosedLoop) -> MultistepProblem:
        """Return the equations to integrate."""


@dataclass(frozen=True, eq=False)
class MultistepSymbols:
    """Symbols of a closed loop's equations.

    Attributes:
        t: time.
        x: state, shape (nx,).
        p: parameters of the plant, and of the controller if it is an expression.
        unknown: force of a controller that is called from Python, shape (nv,), or empty.
        force: force on the plant in these symbols, shape (nv,).
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX
    unknown: ca.SX
    force: ca.SX

    @classmethod
    def of(cls, loop: ClosedLoop) -> MultistepSymbols:
        """Build the symbols of a loop.

        Args:
            loop: plant and controller.
        """
        symbolic, c = loop.symbolic(), loop.robot.coordinates
        if symbolic is not None:
            s = symbolic.symbols
            return cls(s.t, s.x, s.p, ca.SX(0, 1), symbolic.applied_force)
        unknown = ca.SX.sym("force", c.nv)
        return cls(c.t, ca.vertcat(c.q, c.v), loop.robot.p, unknown, unknown)
