"""Checks before a run: the parts of a loop, natural constraints at the start, gains, and the longest stable step.

Problems of the natural constraints are reported before the run, not by its ending.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..constraints.solvability import ConstrainedMotion, solvability
from ..controllers.controller import Controller
from ..robots.natural_constraints import dependent_rows
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, StartWarning, caller_stacklevel
from ..symbolic.kernel import Kernel
from ..symbolic.kernel_map import evaluate_each
from ..symbolic.parameters import NO_PARAMETERS, Parameters
from .closed_loop import require_controller
from .integrators.integrator import Integrator

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

MISFIT = 1e-6
"""Residual, or rate of one, above which a start does not satisfy a constraint: assembly leaves less."""

CONTRADICTION = 1e-2
"""Disagreement of rows, relative or in m/s² and rad/s², that is a contradiction; more than a misfit of 1e-6 causes."""

WORTH_A_LOOK = 1e-6
"""Share of the longest row below which the independent part of a row is examined; far above the rank tolerance."""


def require_parts(
    robot: Robot, controller: Controller | None, integrator: Integrator | None, stop: ca.SX | None
) -> None:
    """Raise ModelError for arguments from which no loop can be built.

    Args:
        robot: the plant.
        controller: the controller, or None for free motion.
        integrator: the integrator; None for the default.
        stop: stop condition; a scalar expression in time, coordinates, velocities and parameters, or None.
    """
    if not isinstance(robot, Robot):
        raise ModelError(f"the plant must be a Robot, got {robot!r}")
    if controller is not None:
        require_controller(controller)
    if integrator is not None and not isinstance(integrator, Integrator):
        raise ModelError(f"integrator must be an Integrator, such as RK4() or Reduced(), got {integrator!r}")
    if stop is None:
        return
    if not isinstance(stop, ca.SX) or stop.shape != (1, 1):
        given = f"shape {stop.shape}" if isinstance(stop, ca.SX) else repr(stop)
        raise ModelError(f"stop must be a scalar expression, got {given}")
    robot.require_own_symbols("stop", stop, controller.parameters if controller else NO_PARAMETERS)
    if ca.depends_on(stop, ca.vertcat(robot.u, robot.coordinates.a)):
        raise ModelError("stop may use time, coordinates, velocities and parameters, not inputs or accelerations")


class NaturalCheck:
    """Numerical check of a robot's natural constraints.

    Where rows depend on others, A M⁻¹ Aᵀ is singular: its pivots are rounding errors, and so are the reactions. Where a
    constraint is violated, its stabilisation corrects it by forces that no mechanism has.
    """

    def __init__(self, robot: Robot, *, dependent: bool = False) -> None:
        """Build the kernel of A and of the residuals.

        Args:
            robot: the robot, with natural constraints.
            dependent: True if rows may depend on others.
        """
        c = robot.coordinates
        self._dependent = dependent
        self._robot = robot
        residuals = [constraint.residual(c) for constraint in robot.natural]
        self._sizes = [residual.numel() for residual in residuals]
        rates = [
            c.rate(residual) if constraint.order == 0 else ca.SX.zeros(residual.numel())
            for constraint, residual in zip(robot.natural, residuals, strict=True)
        ]
        values = [
            ca.SX.zeros(residual.numel()) if constraint.order == 2 else residual
            for constraint, residual in zip(robot.natural, residuals, strict=True)
        ]
        A, b = robot.natural_form
        outputs = {"A": A, "b": b, "value": ca.vertcat(*values), "rate": ca.vertcat(*rates)}
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        if not dependent:
            moved = {"slope": c.N @ c.v, "pivots": robot.natural_factor.pivots}
            self._extrapolation = Kernel("natural_moved", inputs, moved, compiled=False)
        self._kernel = Kernel("natural_rows", inputs, outputs, compiled=False)

    def check(self, x: Array, p: Array, t: float = 0.0, *, batch: bool = False) -> None:
        """Check the states in which runs start.

        Args:
            x: states (q, v), shape (lanes, nq + nv).
            p: parameters of the robot, shape (lanes, np).
            t: time [s].
            batch: True to name the lane in messages.

        Raises:
            ModelError: if rows are dependent; a constraint that is violated issues a
                :class:`~erugin.symbolic.errors.StartWarning`.
        """
        robot, c = self._robot, self._robot.coordinates
        k = len(robot.natural_rows)
        rows, right, value, rate = self._each(self._kernel, t, x, p)
        # The entries of matrices are in column-major order.
        rows = rows.reshape(-1, c.nv, k).transpose(0, 2, 1)
        known = np.asarray(np.isfinite(rows).all(axis=(1, 2)), dtype=np.bool_)
        for lane in np.flatnonzero(known & self._may_depend(rows, known)).tolist():
            self._check_rows(rows[lane], right[lane], f"lane {lane}: " if batch else "")
        for what, misses in (("residual", value), ("rate of the residual", rate)):
            off = np.where(known[:, None], np.abs(misses), 0.0)
            lanes = np.flatnonzero((off > MISFIT).any(axis=1))
            if len(lanes):
                lane, worst = int(lanes[0]), int(np.argmax(off[lanes[0]]))
                who = f"lane {lane}, first of {len(lanes)} such: {robot.name}" if batch else robot.name
                warnings.warn(
                    f"{who} violates its natural constraint {robot.natural_rows[worst]!r} at the start: the {what} is "
                    f"{misses[lane, worst]:.3g} instead of 0 and will decay by the constraint's perturbation equation. "
                    "assemble and assemble_velocities compute a consistent start",
                    StartWarning,
                    stacklevel=caller_stacklevel(),
                )
                return

    def previous_pivots(self, x: Array, p: Array, t: float, step: float) -> Array | None:
        """Return the pivots of the rows one step before the states, extrapolated backwards, shape (lanes, k).

        Return None if rows may depend on others.

        Args:
            x: states (q, v), shape (lanes, nq + nv).
            p: parameters of the robot, shape (lanes, np).
            t: time [s].
            step: h [s].
        """
        if self._dependent:
            return None
        nq = self._robot.coordinates.nq
        slope = self._each(self._extrapolation, t, x, p)[0]
        back = np.column_stack([x[:, :nq] - step * slope, x[:, nq:]])
        return self._each(self._extrapolation, t - step, back, p)[1]

    def _each(self, kernel: Kernel, t: float, x: Array, p: Array) -> list[Array]:
        nq = self._robot.coordinates.nq
        return evaluate_each(kernel, [np.full((len(x), 1), t), x[:, :nq], x[:, nq:], p])

    def _may_depend(self, rows: Array, known: Flags) -> Flags:
        """True for lanes to examine row by row: a pivot of QR is the part of a row independent of those before."""
        finite = np.where(known[:, None, None], rows, 0.0)
        k, n = finite.shape[1:]
        if k > n:
            return known
        left = np.abs(np.diagonal(np.linalg.qr(finite.transpose(0, 2, 1), mode="r"), axis1=1, axis2=2))
        longest = np.sqrt(np.square(finite).sum(axis=2)).max(axis=1)
        return np.asarray((left <= WORTH_A_LOOK * longest[:, None]).any(axis=1), dtype=np.bool_)

    def _check_rows(self, rows: Array, right: Array, who: str) -> None:
        robot = self._robot
        found = [robot.natural_rows[i] for i in dependent_rows(rows, self._sizes)]
        if found and robot.redundant == "refused" and not self._dependent:
            raise ModelError(
                f"{who}{robot.name}: at the start, natural constraints depend on those before them, or vanish: "
                f"{', '.join(map(repr, found))}. Start from another position if this one is singular; if they are "
                "redundant everywhere, omit them with without_rows(robot, rows), or keep them, with reactions of "
                'least norm, by mechanism(..., redundant="least-norm"): neither changes the motion'
            )
        if found and robot.redundant == "least-norm" and np.isfinite(right).all():
            self._require_agreement(rows, right, who)

    def _require_agreement(self, rows: Array, right: Array, who: str) -> None:
        """Raise ModelError if dependent rows require different accelerations."""
        robot, n = self._robot, self._robot.coordinates.nv
        one_state = ConstrainedMotion(np.eye(n), np.zeros(n), rows, right, self._sizes, robot.natural_rows)
        known = solvability(one_state, consistency=CONTRADICTION)
        wrong = [f"{d.row!r} by {d.contradiction:.3g}" for d in known.dependences if not d.consistent]
        if wrong:
            raise ModelError(
                f"{who}{robot.name}: at the start, natural constraints contradict each other: {', '.join(wrong)}: no "
                "motion satisfies them all. Start where they are satisfied, or remove one of them"
            )


ROUNDING = 1e-7
"""Relative to the largest entry of a state matrix: the error of a double eigenvalue is the root of rounding."""


class StepLimit:
    """Check that gains make deviations decay, and that the integrator reproduces the decay at the given step.

    Both follow from the linearization at zero, with the largest gains where they depend on time: saturating equations,
    and smoothed finite-time ones, are steepest there.
    """

    def __init__(
        self, linearizations: Sequence[tuple[str, ca.SX]], parameters: Parameters, integrator: Integrator
    ) -> None:
        """Build the state matrices of the perturbation equations as a function of the gains.

        Args:
            linearizations: name of each constraint and the state matrix of its perturbation equation.
            parameters: parameters of the controller, including the gains.
            integrator: the integrator.
        """
        self._names = [name for name, matrix in linearizations if matrix.numel()]
        matrices = {f"A{i}": matrix for i, (_, matrix) in enumerate(linearizations) if matrix.numel()}
        symbols = parameters.symbols
        self._kernel = Kernel("linearizations", {"p": symbols}, matrices, compiled=False)
        together = ca.vertcat(ca.SX(0, 1), *map(ca.vec, matrices.values()))
        self._gains = [i for i in range(len(parameters)) if ca.depends_on(together, symbols[i])]
        self._integrator = integrator

    def check(self, p: Array, step: float, *, batch: bool = False) -> None:
        """Raise ModelError for unstable gains, or for a step that is too long, with the longest stable step.

        Args:
            p: parameters of the controller, shape (lanes, number of them).
            step: h [s].
            batch: True to name the lane in messages.
        """
        # Parameters that vary in a batch are seldom gains.
        lanes = np.unique(p[:, self._gains], axis=0, return_index=True)[1] if len(p) > 1 and self._gains else [0]
        for lane in sorted(map(int, lanes)):
            self._check_one(p[lane], step, f"lane {lane}: " if batch else "")

    def _check_one(self, p: Array, step: float, who: str) -> None:
        for name, matrix in zip(self._names, self._kernel(p), strict=True):
            A = np.atleast_2d(matrix)
            eigenvalues = np.linalg.eigvals(A).astype(np.complex128)
            if (eigenvalues.real > ROUNDING * float(np.abs(A).max())).any():
                raise ModelError(
                    f"{who}the perturbation equation of {name!r} is unstable with these parameters: its eigenvalues "
                    f"are {np.array2string(eigenvalues, precision=6)}; choose gains for which every real part is "
                    "negative"
                )
            if (eigenvalues.real < 0.0).all() and self._growth(eigenvalues, step) > 1.0:
                low, high = 0.0, step
                while high - low > 1e-3 * high:
                    middle = (low + high) / 2
                    low, high = (middle, high) if self._growth(eigenvalues, middle) <= 1.0 else (low, middle)
                longest = float(f"{low:.2g}")
                if self._growth(eigenvalues, longest) > 1.0:
                    # Rounded up beyond the limit: that step would be rejected too.
                    longest -= 10.0 ** (math.floor(math.log10(low)) - 1)
                raise ModelError(
                    f"{who}a step of {step:g} s is too long for the perturbation equation of {name!r}: "
                    f"{type(self._integrator).__name__} multiplies its deviation by "
                    f"{self._growth(eigenvalues, step):.3g} per step. Use at most {longest:.2g} s, or slower gains"
                )

    def _growth(self, eigenvalues: NDArray[np.complex128], step: float) -> float:
        return max(self._integrator.amplification(complex(value) * step) for value in eigenvalues)
