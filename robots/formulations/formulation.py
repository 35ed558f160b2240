"""The abstract formulation: from a tree of bodies to M and h."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from ..dynamics import Factor
from ..tree.tree import Tree


class Formulation(ABC):
    """A way to derive the equations of motion M(q) v̇ + h(q, v) = forces of a tree.

    h holds the velocity products and gravity; springs, dampers and drives are added by what builds the robot.
    """

    name: str
    """What the method is called in a table."""

    differentiates: str
    """What has to be differentiated to get M and h; a dash for nothing."""

    eliminates: str
    """What has to be eliminated on the way; a dash for nothing."""

    @abstractmethod
    def mass_matrix(self, tree: Tree) -> ca.SX:
        """M, shape (nv, nv).

        Args:
            tree: the bodies and joints.
        """

    @abstractmethod
    def bias(self, tree: Tree) -> ca.SX:
        """Velocity products and gravity: h, shape (nv,).

        Args:
            tree: the bodies and joints.
        """

    def factor(self, tree: Tree, mass_matrix: Callable[[], ca.SX]) -> Factor:
        """Factorized M.

        Args:
            tree: the bodies and joints.
            mass_matrix: derives M, for those who need it.
        """
        del tree
        return Ldl.of(mass_matrix())
