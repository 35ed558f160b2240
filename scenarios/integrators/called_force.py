"""The force of a controller that is called from Python, as a function that CasADi can call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .silence import Silence

Array = NDArray[np.float64]


class CalledForce(ca.Callback):
    """(t, x) → generalized force, shape (nv,), with derivatives by difference quotients.

    Attributes:
        act: what is called; set before each use.
        error: what it raised; from then on the force is NaN, for nothing can be raised through CasADi.
        silence: what keeps CasADi's own words off the screen, which the controller's pass.
    """

    def __init__(self, nx: int, nv: int) -> None:
        """Tell CasADi the sizes.

        Args:
            nx: numbers of a state.
            nv: numbers of a force.
        """
        ca.Callback.__init__(self)
        self._nx, self._nv = nx, nv
        self.act: Callable[[float, Array], Array] | None = None
        self.error: BaseException | None = None
        self.silence: Silence | None = None
        self.construct("called_force", {"enable_fd": True, "fd_method": "forward"})

    def get_n_in(self) -> int:
        """Time and state."""
        return 2

    def get_n_out(self) -> int:
        """The force."""
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """A number, or a full column.

        Args:
            i: which input.
        """
        return ca.Sparsity.dense(1 if i == 0 else self._nx, 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        """A full column.

        Args:
            i: which output.
        """
        return ca.Sparsity.dense(self._nv, 1)

    def eval(self, arg: Sequence[ca.DM]) -> list[ca.DM]:
        """Call the controller.

        Args:
            arg: t and x.
        """
        if self.error is None and self.act is not None and self.silence is not None:
            self.silence.heard = True
            try:
                return [ca.DM(self.act(float(arg[0]), arg[1].full()[:, 0]))]
            except BaseException as error:
                # Told again when CasADi has come back.
                self.error = error
            finally:
                self.silence.heard = False
        return [ca.DM(np.full(self._nv, np.nan))]
