"""A compiled MuJoCo model from MJCF text or a file, the names of its parts, and the options that it disables."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError, BridgeWarning
from .versions import Flag, actuator_count, disable_bit, disabled_groups, missing_feature, require_mujoco
from .warning_monitor import installed_callback, without_warning_log

if TYPE_CHECKING:
    from mujoco import MjModel


def is_disabled(model: MjModel, flag: Flag) -> bool:
    """Return True if a model's options disable a feature.

    Args:
        model: the MjModel.
        flag: MuJoCo's name of the feature.
    """
    return bool(model.opt.disableflags & disable_bit(flag))


def actuator_is_enabled(model: MjModel, k: int) -> bool:
    """Return True unless the group of an actuator is disabled.

    Args:
        model: the MjModel.
        k: index of the actuator.
    """
    group = int(model.actuator_group[k])
    return not (0 <= group < 31 and disabled_groups(model) >> group & 1)


Array = NDArray[np.float64]

ROUNDING = 2.0**-50
"""Entries of a rotation below this are set to zero: MuJoCo stores rotations as quaternions."""
_SHOWN = 300
_HEAD = 65536


def compile_model(source: MjModel | str | os.PathLike[str]) -> MjModel:
    """Compile a model with MuJoCo.

    Args:
        source: a ``mujoco.MjModel``, MJCF text, or the path of a file.

    Raises:
        BridgeError: if there is no such file, if it is not MJCF, or if MuJoCo refuses it, with MuJoCo's reason.
        MissingPackageError: if MuJoCo is not installed.
    """
    mujoco = require_mujoco()
    if isinstance(source, mujoco.MjModel):
        return source  # type: ignore[no-any-return]
    if not isinstance(source, str | os.PathLike):
        raise BridgeError(
            f"source must be a mujoco.MjModel, MJCF text or the path of a file, got {source!r}; of an MjSpec pass "
            ".compile()"
        )
    file = os.fspath(source)
    is_text = file.lstrip().startswith("<")
    where = "the text" if is_text else file
    if not is_text and not Path(file).is_file():
        raise BridgeError(f"{file}: the file does not exist")
    try:
        _require_mjcf(where, file if is_text else Path(file).read_bytes()[:_HEAD].decode("utf-8", "replace"))
        with without_warning_log(mujoco) as messages, installed_callback(mujoco, None):
            model = mujoco.MjModel.from_xml_string(file) if is_text else mujoco.MjModel.from_xml_path(file)
    except BridgeError:
        raise
    except (ValueError, OSError) as error:
        reason = " ".join(str(error).split())[:_SHOWN]
        if later := missing_feature(reason):
            reason = f"{later}; {reason}"
        raise BridgeError(f"{where}: MuJoCo cannot read this model: {reason}") from error
    if messages:
        warnings.warn(
            f"{where}: MuJoCo warns: {'; '.join(' '.join(word.split()) for word in messages)}", BridgeWarning, 3
        )
    return model  # type: ignore[no-any-return]


def _require_mjcf(where: str, text: str) -> None:
    if "<robot" in text and "<mujoco" not in text.partition("<robot")[0]:
        raise BridgeError(f"{where}: this is URDF, not MJCF: load it with erugin.robots.load_urdf")
    if "<mujoco" not in text:
        binary = "; load a compiled model (.mjb) with mujoco.MjModel.from_binary_path" * ("\0" in text)
        raise BridgeError(f"{where}: this is not MJCF, which has the root <mujoco>{binary}")


class PartNames:
    """Names of the parts of a model; a part without a name is called by its kind and index.

    Attributes:
        model: the compiled model.
        bodies: name of each body.
        joints: name of each joint; that of its body if it has none.
        sites: name of each site.
        tendons: name of each tendon.
        actuators: name of each actuator.
        equalities: name of each equality constraint.
    """

    def __init__(self, model: MjModel) -> None:
        """Read the names.

        Args:
            model: the compiled model.
        """
        self.model = model
        self.bodies = _names(model.body, "body", model.nbody)
        own = [model.joint(j).name or self.bodies[int(model.jnt_bodyid[j])] for j in range(model.njnt)]
        self.joints = [
            name if own.count(name) == 1 or model.joint(j).name else f"{name}.{j}" for j, name in enumerate(own)
        ]
        self.sites = _names(model.site, "site", model.nsite)
        self.tendons = _names(model.tendon, "tendon", model.ntendon)
        self.actuators = _names(model.actuator, "actuator", actuator_count(model))
        self.equalities = _names(model.equality, "equality", model.neq)


def _names(part: Callable[[int], Any], kind: str, count: int) -> list[str]:
    return [str(part(i).name) or f"{kind} {i}" for i in range(count)]


def rotation_from_wxyz(quaternion: Array) -> Array:
    """Return the rotation of a quaternion (w, x, y, z), shape (3, 3); entries at the level of rounding are zero.

    Args:
        quaternion: quaternion, shape (4,).
    """
    w, x, y, z = np.asarray(quaternion, dtype=np.float64) / np.linalg.norm(quaternion)
    R = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    R[np.abs(R) < ROUNDING] = 0.0
    return R
