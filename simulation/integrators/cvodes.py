"""SUNDIALS' CVODES: backward differentiation for the closed loop's differential equations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca

from ..closed_loop import ClosedLoop
from .sundials import Multistep, MultistepProblem, MultistepSymbols


@dataclass(frozen=True)
class CVODES(Multistep):
    """Backward differentiation for ẋ = f(t, x), for long stiff motions [Hindmarsh2005]_.

    It takes many cheap steps where :class:`Radau` takes few expensive ones: each costs an evaluation or two, and the
    matrix of Newton's method, ∂f/∂x from the expressions, is reused while it converges. The accelerations are solved
    for beforehand, by the factor of M and of the natural constraints' rows; :class:`IDAS` solves for them by Newton's
    method.

    Attributes:
        relative_tolerance: relative tolerance of the local error.
        absolute_tolerance: absolute tolerance of the local error.
        max_steps: largest number of internal steps between two samples.

    Raises:
        ModelError: for a number that is not positive.
    """

    @property
    def _solver(self) -> Literal["cvodes", "idas"]:
        return "cvodes"

    def _problem(self, loop: ClosedLoop) -> MultistepProblem:
        i, c = MultistepSymbols.of(loop), loop.robot.coordinates
        symbolic = loop.symbolic()
        rate = ca.vertcat(c.N @ c.v, loop.robot.acceleration_under(i.force)[0]) if symbolic is None else symbolic.rate
        nothing = ca.SX(0, 1)
        return MultistepProblem(i.t, i.x, nothing, i.p, i.unknown, rate, nothing, nothing)
