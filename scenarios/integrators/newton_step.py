"""Newton's method on the equations of one step of an implicit integrator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import NotConvergedError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel

Array = NDArray[np.float64]
ITERATIONS = 25
TOLERANCE = 1e-14
"""What may be left of a step in the coordinates, beside the largest of them or one of their units."""
ROUNDING = 1e-10
"""Changes below this share that do not shrink any more are taken for rounding errors of an ill-conditioned step."""
WORTH_COMPILING = 12_000
"""Operations of the equations and their slope beyond which they run in the virtual machine."""


@dataclass(frozen=True, eq=False)
class Equations:
    """Expressions that are evaluated as numbers, and go into larger ones.

    Attributes:
        name: of the kernel.
        inputs: symbols by name.
        outputs: expressions in them, by name.
    """

    name: str
    inputs: Mapping[str, ca.SX]
    outputs: Mapping[str, ca.SX]

    @classmethod
    def of_residual(cls, name: str, inputs: Mapping[str, ca.SX], residual: ca.SX) -> Equations:
        """What must vanish, and its slope in the first of the inputs.

        Args:
            name: of the kernel.
            inputs: the unknowns, shape (n,), then whatever else the equations use, by name.
            residual: what must vanish, shape (n,).
        """
        unknowns = next(iter(inputs.values()))
        return cls(name, inputs, {"residual": residual, "slope": ca.jacobian(residual, unknowns)})

    @functools.cached_property
    def function(self) -> ca.Function:
        """For expressions."""
        outputs = [ca.densify(output) for output in self.outputs.values()]
        return ca.Function(self.name, list(self.inputs.values()), outputs, {"cse": True})

    @functools.cached_property
    def kernel(self) -> Kernel:
        """For numbers; machine code if that is not too much of it."""
        worth = self.function.n_instructions() <= WORTH_COMPILING
        outputs = {key: ca.densify(output) for key, output in self.outputs.items()}
        return Kernel(self.name, self.inputs, outputs, compiled=None if worth else False)


class NewtonStep:
    """The equations of the steps of one run, solved one after the other.

    Attributes:
        given: what the equations are given besides the unknowns, by name; written in place before each step.
        z: the unknowns, shape (n,): the guess, then the solution. The first of them are velocities, by which the
            coordinates move during the step.
    """

    def __init__(self, equations: Equations, velocities: int, who: str, force: tuple[str, float] | None = None) -> None:
        """Bind the arrays.

        Args:
            equations: from :meth:`Equations.of_residual`.
            velocities: how many of the unknowns are velocities.
            who: the plant's name, for messages.
            force: name of the input that is a force from outside, if there is one, and the slope in it of the first
                equations, as many as there are velocities: a multiple of the identity.
        """
        kernel = equations.kernel
        arrays = [np.zeros(r if c == 1 else (r, c), order="F") for r, c in kernel.inputs.values()]
        self.given = dict(zip(kernel.inputs, arrays, strict=True))
        self.z = arrays[0]
        n = len(self.z)
        self._residual, self._slope = np.zeros(n), np.zeros((n, n), order="F")
        self._run = kernel.bind(arrays, [self._residual, self._slope])
        self._k, self._who, self._force = velocities, who, force
        self._secant = np.zeros((velocities, velocities))
        self._asked: Array | None = None

    def solve(
        self,
        t: float,
        step: float,
        size: float,
        plain: Array,
        *,
        ask: Callable[[Array], Array] | None = None,
        basis: Array | None = None,
    ) -> None:
        """Solve for the unknowns from the guess that they hold, or if that leads nowhere from a plain one.

        A force from outside is asked for in each iteration. Its derivative is not known: a secant estimate of it, kept
        from step to step, stands in its place, so that the iteration converges where the force is stiff; the second
        time it is taken by differences.

        Args:
            t: time at the start of the step, for messages [s].
            step: h [s].
            size: what changes of the coordinates are compared with: the largest of them.
            plain: the other guess, shape (n,).
            ask: the force from outside for the unknowns, if there is one.
            basis: orthonormal columns, shape (n, k): the unknowns move within them only, and of the equations the
                combinations by them are met. All, if not given.

        Raises:
            NotConvergedError: if the iteration does not end.
            SingularProgramError: if the slope is singular.
            NotFiniteError: if the equations hold a number that is not finite.
        """
        try:
            self._iterate(t, step, size, ask, basis)
        except (NotConvergedError, NotFiniteError, SingularProgramError):
            # Extrapolation leads astray where a motion has just turned, and so does a secant.
            self.z[:] = plain
            if ask is not None:
                self._difference(ask)
            self._iterate(t, step, size, ask, basis)

    def _iterate(
        self, t: float, step: float, size: float, ask: Callable[[Array], Array] | None, basis: Array | None
    ) -> None:
        k, unit, before, moved, iteration = self._k, max(1.0, size), 0.0, np.inf, 0
        # From one step to the next a force changes for other reasons too.
        self._asked = None
        # A secant takes some iterations before it leads anywhere.
        patience = 1 if ask is None else 3
        for iteration in range(ITERATIONS):
            if ask is not None:
                self._take(ask(self.z))
            self._run()
            change = self._change(t, basis)
            self.z -= change
            moved = step * float(np.abs(change[:k]).max())
            if not moved < np.inf:
                raise NotFiniteError(
                    f"{self._who}: a number is not finite in the equations of the step after t = {t:g} s"
                )
            rate = min(1.0, moved / before) if before > 0.0 else float(moved > 0.0)
            if moved * rate <= TOLERANCE * unit or (iteration >= patience and rate > 0.5 and moved <= ROUNDING * unit):
                return
            if ask is None and iteration and moved > before:
                # Where it comes to after that may be another motion: the other way in which a linkage closes.
                break
            before = moved
        raise NotConvergedError(
            f"{self._who}: after {iteration + 1} iterations of Newton's method in the step after t = {t:g} s the "
            f"coordinates still change by {moved:.2g}, and the equations miss by "
            f"{float(np.abs(self._residual).max()):.2g}. Take shorter steps than {step:g} s; or look for a force or a "
            "law that jumps there, or grows without bound as at the end of a mechanism's reach"
        )

    def _change(self, t: float, basis: Array | None) -> Array:
        slope, residual = self._slope, self._residual
        if self._force is not None and self._secant.any():
            slope = slope.copy()
            slope[: self._k, : self._k] += self._force[1] * self._secant
        try:
            if basis is None:
                return np.asarray(np.linalg.solve(slope, residual), dtype=np.float64)
            return np.asarray(basis @ np.linalg.solve(basis.T @ slope @ basis, basis.T @ residual), dtype=np.float64)
        except np.linalg.LinAlgError as error:
            raise SingularProgramError(
                f"{self._who}: in the step after t = {t:g} s natural constraints depend on each other, or inertia is "
                "missing: Newton's method has a singular matrix. Take integrator=Reduced(), which goes through "
                "singular positions; shorter steps; or another start"
            ) from error

    def _difference(self, ask: Callable[[Array], Array]) -> None:
        """The derivative of the force by differences, where the estimate has led nowhere."""
        here, there = ask(self.z), self.z.copy()
        for i in range(self._k):
            there[i] += 1e-6 * max(1.0, abs(self.z[i]))
            self._secant[:, i] = (ask(there) - here) / (there[i] - self.z[i])
            there[i] = self.z[i]
        self._secant[~np.isfinite(self._secant)] = 0.0

    def _take(self, force: Array) -> None:
        """Hand a force over, and better the estimate of its derivative by the change since the last one (Broyden)."""
        assert self._force is not None
        held = self.given[self._force[0]]
        at = self.z[: self._k]
        if self._asked is not None:
            moved = at - self._asked
            square = float(moved @ moved)
            if square > 0.0:
                self._secant += np.outer((force - held - self._secant @ moved) / square, moved)
        self._asked = at.copy()
        held[:] = force
