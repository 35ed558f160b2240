"""MuJoCo's numerical warnings as errors.

MuJoCo only warns of a bad state, and then resets it or continues with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import NotFiniteError

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


WARNING_MESSAGES = {
    "BADQPOS": "a coordinate is not finite or beyond 1e10",
    "BADQVEL": "a velocity is not finite or beyond 1e10",
    "BADQACC": "an acceleration is not finite or beyond 1e10",
    "BADCTRL": "a control is not finite or beyond 1e10",
    "INERTIA": "the inertia matrix is singular",
    "CNSTRFULL": "there is not enough memory for all constraints",
    "CONTACTFULL": "there is not enough memory for all contacts",
}


class WarningMonitor:
    """Monitor of MuJoCo's warnings, after which the state is no longer that of the motion."""

    def __init__(self, mujoco: ModuleType, model: MjModel) -> None:
        """Look up the kinds of warnings.

        Args:
            mujoco: the package.
            model: the MjModel.
        """
        self._mujoco, self._model = mujoco, model
        self._kinds = {int(getattr(mujoco.mjtWarning, f"mjWARN_{key}")): key for key in WARNING_MESSAGES}
        self._at = np.array(list(self._kinds))
        self.clear()

    def clear(self) -> None:
        """Reset the counts, for a new motion."""
        self._before: NDArray[np.int64] = np.zeros(int(self._at.max()) + 1, dtype=np.int64)
        self._bytes = b""

    def begin(self, data: MjData) -> None:
        """Count new warnings from now.

        Args:
            data: the MjData.
        """
        numbers = data.warning.number
        self._before, self._bytes = numbers.astype(np.int64), numbers.tobytes()

    def check(self, data: MjData) -> None:
        """Raise NotFiniteError if there is a new warning since the last check.

        Args:
            data: the MjData.

        Raises:
            NotFiniteError: for a new warning; the message names the joint or control.
        """
        now = data.warning.number
        numbers = now.tobytes()
        if numbers == self._bytes:
            return
        before, self._before, self._bytes = self._before, now.astype(np.int64), numbers
        new = [k for k in self._kinds if now[k] > before[k]]
        if new:
            reasons = "; ".join(f"{WARNING_MESSAGES[self._kinds[k]]}{self._where(k, data)}" for k in new)
            diverged = any(self._kinds[k].startswith("BAD") for k in new)
            advice = (
                "The motion has diverged: try a smaller timestep or smaller gains, or check masses, inertias and units"
                if diverged
                else "Give the model more memory (<size memory=…/>), or check its masses and inertias"
            )
            raise NotFiniteError(f"MuJoCo warns that {reasons}. {advice}")

    def _where(self, kind: int, data: MjData) -> str:
        key, info = self._kinds[kind], int(data.warning.lastinfo[kind])
        if key in ("BADQVEL", "BADQACC") and info < self._model.nv:
            return f" (joint {self._model.joint(int(self._model.dof_jntid[info])).name!r})"
        if key == "BADQPOS":
            joint = int(np.searchsorted(self._model.jnt_qposadr, info, side="right")) - 1
            return f" (joint {self._model.joint(joint).name!r})" if joint >= 0 else ""
        return f" (control {info})" if key == "BADCTRL" else ""


_LOCK = threading.RLock()


@contextmanager
def without_warning_log(mujoco: ModuleType) -> Generator[list[str]]:
    """Return a context in which MuJoCo does not write its warnings to a file in the working folder.

    MuJoCo has one callback of each kind for all threads: other threads wait until the context ends.

    Args:
        mujoco: the package.

    Yields:
        List of the warnings; it stays empty if another callback for warnings is installed.
    """
    messages: list[str] = []
    with _LOCK:
        if mujoco.get_mju_user_warning() is not None:
            yield messages
            return
        mujoco.set_mju_user_warning(messages.append)
        try:
            yield messages
        finally:
            mujoco.set_mju_user_warning(None)


@contextmanager
def installed_callback(mujoco: ModuleType, callback: Callable[[MjModel, MjData], None] | None) -> Generator[None]:
    """Return a context with a control callback of MuJoCo; the previous one is restored.

    Args:
        mujoco: the package.
        callback: function of a model and data; None for no callback, as MuJoCo does not compile models while a Python
            callback is installed.
    """
    with without_warning_log(mujoco):
        before = mujoco.get_mjcb_control()
        mujoco.set_mjcb_control(callback)
        try:
            yield
        finally:
            mujoco.set_mjcb_control(before)
