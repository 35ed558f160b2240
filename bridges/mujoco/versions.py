"""What MuJoCo 4 has other names or more entries for than MuJoCo 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...symbolic.extras import require

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


@dataclass(frozen=True)
class Channels:
    """Where an actuator's controls and forces are; in MuJoCo 3 each has one of either.

    Attributes:
        controls: how many it has.
        control: place of the first in ``ctrl``.
        forces: how many it gives.
        force: place of the first in ``actuator_gear`` and among the rows of ``actuator_moment``.
    """

    controls: int
    control: int
    forces: int
    force: int

    @classmethod
    def of(cls, model: MjModel, k: int) -> Channels:
        """Those of an actuator.

        Args:
            model: MuJoCo's.
            k: number of the actuator.
        """
        if not hasattr(model, "actuator_ctrlnum"):
            return cls(1, k, 1, k)
        sizes, places = (model.actuator_ctrlnum, model.actuator_outnum), (model.actuator_ctrladr, model.actuator_outadr)
        return cls(int(sizes[0][k]), int(places[0][k]), int(sizes[1][k]), int(places[1][k]))


def first_forces(model: MjModel) -> NDArray[np.int64]:
    """Row of each actuator's first force in ``actuator_moment``, shape (nu,).

    Args:
        model: MuJoCo's.
    """
    return np.array([Channels.of(model, k).force for k in range(actuators(model))], dtype=np.int64)


def actuators(model: MjModel) -> int:
    """How many actuators a model has; in MuJoCo 4 ``nu`` counts their controls.

    Args:
        model: MuJoCo's.
    """
    return len(model.actuator_trntype)


def make_inertia(model: MjModel, data: MjData) -> None:
    """Reckon M, with the armature of tendons where MuJoCo knows of it.

    Args:
        model: MuJoCo's.
        data: with positions.
    """
    mujoco = require("mujoco", "mujoco")
    (mujoco.mj_makeM if hasattr(mujoco, "mj_makeM") else mujoco.mj_crb)(model, data)
