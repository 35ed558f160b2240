"""What a simulation records anyway, as the source of a metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..controllers.controller import Controller
from ..controllers.status import Status
from ..symbolic.errors import ModelError
from .window import Window

Array = NDArray[np.float64]
What = Literal["deviation", "energy", "not_ok"]


@dataclass(frozen=True)
class Recorded:
    """A number that is recorded at every sample, in place of a metric's expression.

    Attributes:
        what: ``"deviation"``, the Euclidean norm of the deviations of all rows; ``"energy"``, T + V [J]; ``"not_ok"``,
            1 where the controller's status is not OK and 0 where it is.

    Raises:
        ModelError: for another word.
    """

    what: What

    def __post_init__(self) -> None:
        """Check."""
        if self.what not in get_args(What):
            raise ModelError(f"what is recorded must be one of {', '.join(get_args(What))}; got {self.what!r}")

    def require(self, name: str, controller: Controller | None) -> None:
        """Raise ModelError if there is no such number in a run.

        Args:
            name: of the metric, for the message.
            controller: what drives the run, or None.
        """
        if self.what == "deviation" and (controller is None or not controller.rows):
            who = "nothing drives the motion" if controller is None else f"{type(controller).__name__} tells of no rows"
            raise ModelError(f"metric {name!r} is of deviations, but {who}")

    def values(self, window: Window) -> Array:
        """The numbers of a window's lanes, shape (k, n).

        Args:
            window: samples of runs side by side.
        """
        recorded = window.data["status" if self.what == "not_ok" else self.what]
        if len(window.lanes) != len(recorded):
            recorded = recorded[window.lanes]
        if self.what == "energy":
            return np.ascontiguousarray(recorded[:, :, 0])
        if self.what == "not_ok":
            # A symbolic law has no status of its own: what is not OK ends the run.
            return np.asarray((recorded != int(Status.OK)).any(axis=2), dtype=np.float64)
        total = np.zeros(recorded.shape[:2])
        # Row by row, so that the sum does not depend on how many lanes there are.
        for i in range(recorded.shape[2]):
            total += recorded[:, :, i] * recorded[:, :, i]
        return np.asarray(np.sqrt(total), dtype=np.float64)
