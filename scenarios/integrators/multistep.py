"""SUNDIALS' multistep methods: what they share beside their equations."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import casadi as ca

from ..closed_loop import ClosedLoop
from .integrator import Adaptive, StartRun
from .sundials import Problem, Sundials


@dataclass(frozen=True)
class Multistep(Adaptive):
    """Backward differentiation formulas of order 1 to 5, with steps of their own [Hindmarsh2005]_.

    The order begins at 1 wherever it starts anew: every hundred samples, and at each sample where the state is
    projected or the controller is called from Python, whose derivative is a difference quotient then.

    Attributes:
        relative_tolerance: of the local error.
        absolute_tolerance: of the local error.
        max_steps: of its own between two samples.

    Raises:
        ModelError: for a number that is not positive.
    """

    def prepare(self, loop: ClosedLoop) -> StartRun:
        """The equations; the first run of a length builds what integrates over it.

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
        """Further options."""
        return {}

    @abstractmethod
    def _problem(self, loop: ClosedLoop) -> Problem:
        """The equations that are integrated."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """Symbols of a closed loop's equations.

    Attributes:
        t: time.
        x: state, shape (nx,).
        p: parameters of the plant, and of the controller if it is an expression.
        unknown: the force of a controller that is called from Python, shape (nv,), or nothing.
        force: what acts on the plant, in these symbols, shape (nv,).
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX
    unknown: ca.SX
    force: ca.SX

    @classmethod
    def of(cls, loop: ClosedLoop) -> Inputs:
        """Those of a loop.

        Args:
            loop: plant and controller.
        """
        symbolic, c = loop.symbolic(), loop.robot.coordinates
        if symbolic is not None:
            s = symbolic.symbols
            return cls(s.t, s.x, s.p, ca.SX(0, 1), symbolic.applied)
        unknown = ca.SX.sym("force", c.nv)
        return cls(c.t, ca.vertcat(c.q, c.v), loop.robot.p, unknown, unknown)
