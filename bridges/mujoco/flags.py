"""What a MuJoCo model switches off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...symbolic.extras import require

if TYPE_CHECKING:
    from mujoco import MjModel

Flag = Literal[
    "ACTUATION",
    "CLAMPCTRL",
    "CONSTRAINT",
    "CONTACT",
    "DAMPER",
    "EQUALITY",
    "FILTERPARENT",
    "FRICTIONLOSS",
    "GRAVITY",
    "LIMIT",
    "SPRING",
]


def disabled(model: MjModel, flag: Flag) -> bool:
    """Whether a model's options switch something off; the flag's bit differs between versions of MuJoCo.

    Args:
        model: MuJoCo's.
        flag: MuJoCo's name of it.
    """
    bit = getattr(require("mujoco", "mujoco").mjtDisableBit, f"mjDSBL_{flag}")
    return bool(model.opt.disableflags & int(bit))


def acts(model: MjModel, k: int) -> bool:
    """Whether the group of an actuator is not disabled.

    Args:
        model: MuJoCo's.
        k: number of the actuator.
    """
    group = int(model.actuator_group[k])
    return not (0 <= group < 31 and model.opt.disableactuator >> group & 1)
