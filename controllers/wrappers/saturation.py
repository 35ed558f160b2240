"""Limits of the output."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ..controller import Controller
from .drive import Drive
from .entries import not_negative_entries, per_entry

Array = NDArray[np.float64]


class Saturation(Drive[None]):
    """u_i = min(max(c_i, lower_i), upper_i).

    While it cuts an output off, the status is LIMITED and the message says which one and by how much.

    Attributes:
        lower: least output, shape (n,).
        upper: greatest output, shape (n,).
    """

    def __init__(
        self, controller: Controller, limits: ArrayLike | None = None, *, lower: ArrayLike | None = None
    ) -> None:
        """Limit a law.

        Args:
            controller: what is limited.
            limits: greatest output, a number or shape (n,); infinity for none; ``robot.limits.effort`` if not given.
            lower: least output, likewise; the negative of the greatest if not given.

        Raises:
            ModelError: for a wrong shape, limits that leave no room, or none at all.
        """
        super().__init__(controller)
        what = "one for each output"
        if limits is None and lower is None:
            if self.applies_force or np.isinf(self.robot.limits.effort).all():
                told = "the law gives forces" if self.applies_force else f"{self.robot.name} declares no limits"
                raise ModelError(f"Saturation needs limits=: {told}, so that there are none to take from the robot")
            limits = self.robot.limits.effort
        if lower is None:
            self.upper = not_negative_entries("limits", np.inf if limits is None else limits, self.size, what)
            self.lower = -self.upper
        else:
            self.upper = per_entry("limits", np.inf if limits is None else limits, self.size, what)
            self.lower = per_entry("lower", lower, self.size, what)
        if not ((self.lower <= self.upper) & (self.lower < np.inf) & (self.upper > -np.inf)).all():
            raise ModelError(f"lower must not be above limits, nor infinite there, got {self.lower} and {self.upper}")
        self.reset()

    def shaped(self, own: None, t: float, command: Array) -> tuple[Array, str]:
        """The output within the limits."""
        output = np.minimum(np.maximum(command, self.lower), self.upper)
        over = np.flatnonzero(output != command)
        said = [
            f"{self.outputs[i]} would be {command[i]:.6g}, beyond its limit {output[i]:.6g} by "
            f"{abs(command[i] - output[i]):.3g}"
            for i in over
        ]
        return output, f"{'; '.join(said)}." if said else ""
