"""SUNDIALS' IDAS: backward differentiation for the equations of motion as they stand, with the reactions in them."""

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
    accelerations, with their perturbation equations in b, so that the motion is the one that every other integrator
    finds. M and A enter Newton's matrix as they are, sparse, and nothing is factorized beforehand; M may be singular.
    To hold the positions and velocities to rounding, wrap it: ``Projected(IDAS())``. The errors of a and μ are not
    tested: they follow from q and v.

    Attributes:
        relative_tolerance: of the local error.
        absolute_tolerance: of the local error.
        max_steps: of its own between two samples.

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
        """The equations.

        Raises:
            ModelError: if natural rows may depend on each other: the reactions are not determined then.
        """
        robot, i = loop.robot, MultistepSymbols.of(loop)
        if robot.redundant == "least-norm":
            raise ModelError(
                f"{robot.name}: IDAS solves for the reactions, which redundant natural constraints leave undetermined: "
                "take CVODES, Radau or Reduced, or leave the dependent rows out with without_rows(robot, rows)"
            )
        A, b = robot.natural_form
        a, mu = ca.SX.sym("a", robot.coordinates.nv), ca.SX.sym("mu", b.numel())
        motion = robot.mass_matrix @ a + robot.bias - i.force - A.T @ mu
        rate = ca.vertcat(robot.coordinates.N @ robot.coordinates.v, a)
        guess = ca.vertcat(*robot.acceleration_under(i.force))
        return MultistepProblem(i.t, i.x, ca.vertcat(a, mu), i.p, i.unknown, rate, ca.vertcat(motion, A @ a - b), guess)
