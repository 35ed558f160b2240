"""SUNDIALS' IDAS: backward differentiation for the equations of motion in implicit form, with the reactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import casadi as ca

from ...symbolic.errors import ModelError
from ..closed_loop import ClosedLoop
from .sundials import Multistep, MultistepProblem, MultistepSymbols


@dataclass(frozen=True)
class IDAS(Multistep):
    """Backward differentiation for q̇ = N v, v̇ = a, M a + h = F + Aᵀμ, A a = b [Hindmarsh2005]_.

    A differential-algebraic system of index 1 in (q, v; a, μ): A a = b are the natural constraints at the level of
    accelerations, with their perturbation equations in b, so that the motion is the same as with any other integrator.
    M and A enter Newton's matrix directly and sparsely, without a prior factorization; M may be singular. To keep
    positions and velocities on the constraints to rounding, wrap it: ``Projected(IDAS())``. The errors of a and μ are
    not controlled: they follow from q and v.

    Attributes:
        relative_tolerance: relative tolerance of the local error.
        absolute_tolerance: absolute tolerance of the local error.
        max_steps: largest number of internal steps between two samples.

    Raises:
        ModelError: for a number that is not positive.
    """

    @property
    def _solver(self) -> Literal["cvodes", "idas"]:
        return "idas"

    @property
    def _options(self) -> dict[str, object]:
        return {"suppress_algebraic": True, "calc_ic": False}

    def _problem(self, loop: ClosedLoop) -> MultistepProblem:
        """Build the equations.

        Raises:
            ModelError: if natural rows may depend on each other, because the reactions are then undetermined.
        """
        robot, i = loop.robot, MultistepSymbols.of(loop)
        if robot.redundant == "least-norm":
            raise ModelError(
                f"{robot.name}: IDAS solves for the reactions, which redundant natural constraints leave undetermined: "
                "use CVODES, Radau or Reduced, or omit the dependent rows with without_rows(robot, rows)"
            )
        A, b = robot.natural_form
        a, mu = ca.SX.sym("a", robot.coordinates.nv), ca.SX.sym("mu", b.numel())
        motion = robot.mass_matrix @ a + robot.bias - i.force - A.T @ mu
        rate = ca.vertcat(robot.coordinates.N @ robot.coordinates.v, a)
        guess = ca.vertcat(*robot.acceleration_under(i.force))
        return MultistepProblem(i.t, i.x, ca.vertcat(a, mu), i.p, i.unknown, rate, ca.vertcat(motion, A @ a - b), guess)
