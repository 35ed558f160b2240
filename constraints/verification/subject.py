"""What has to be known of a field to look at it."""

from __future__ import annotations

from typing import Protocol

import casadi as ca

from ...symbolic.parameters import Parameters
from ..curves import Curve


class Subject(Protocol):
    """A velocity field with functions that vanish on its curves, such as :class:`~erugin.constraints.EruginField`."""

    @property
    def name(self) -> str:
        """Shown in messages."""
        ...

    @property
    def dimension(self) -> int:
        """Number n of coordinates of the space."""
        ...

    @property
    def parameters(self) -> Parameters:
        """Its places, sizes and speeds, as symbols with nominal values."""
        ...

    @property
    def path(self) -> Curve:
        """What is to be followed."""
        ...

    @property
    def obstacles(self) -> tuple[Curve, ...]:
        """What is to be kept outside of."""
        ...

    @property
    def inside(self) -> tuple[Curve, ...]:
        """Boundaries of what is to be kept inside of."""
        ...

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The field w at place ``x`` and time ``t``, shape (n,) [m/s]."""
        ...

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The f_i at place ``x`` and time ``t``: the program curve's, then one per barrier [m]."""
        ...

    def structure(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """P, shape (n,), S, shape (n, n), and f = ∏ f_i of the literal structure at place ``x`` and time ``t``."""
        ...
