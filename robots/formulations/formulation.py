"""The abstract formulation: from a tree of bodies to M and h."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import casadi as ca

from ...symbolic.linear_algebra import Ldl
from ..dynamics import Factor
from ..tree.tree import Tree


class Formulation(ABC):
    """A method of deriving the equations of motion M(q) v̇ + h(q, v) = forces of a tree.

    h includes the velocity products and gravity; springs, dampers and drives are added when a robot is built.
    """

    name: str
    """Name of the method in tables."""

    differentiates: str
    """Quantities that are differentiated to derive M and h; a dash for none."""

    eliminates: str
    """Quantities that are eliminated; a dash for none."""

    @abstractmethod
    def mass_matrix(self, tree: Tree) -> ca.SX:
        """Derive M, shape (nv, nv).

        Args:
            tree: the bodies and joints.
        """

    @abstractmethod
    def bias(self, tree: Tree) -> ca.SX:
        """Derive h, velocity products and gravity, shape (nv,).

        Args:
            tree: the bodies and joints.
        """

    def factor(self, tree: Tree, mass_matrix: Callable[[], ca.SX]) -> Factor:
        """Factorize M.

        Args:
            tree: the bodies and joints.
            mass_matrix: function that derives M; called only if the method needs M.
        """
        del tree
        return Ldl.of(mass_matrix())
