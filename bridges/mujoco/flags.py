"""What a MuJoCo model switches off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .versions import Flag, disable_bit, disabled_groups

if TYPE_CHECKING:
    from mujoco import MjModel


def disabled(model: MjModel, flag: Flag) -> bool:
    """Whether a model's options switch something off.

    Args:
        model: MuJoCo's.
        flag: MuJoCo's name of it.
    """
    return bool(model.opt.disableflags & disable_bit(flag))


def acts(model: MjModel, k: int) -> bool:
    """Whether the group of an actuator is not disabled.

    Args:
        model: MuJoCo's.
        k: number of the actuator.
    """
    group = int(model.actuator_group[k])
    return not (0 <= group < 31 and disabled_groups(model) >> group & 1)
