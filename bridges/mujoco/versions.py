"""What versions of MuJoCo from 3.0 on name otherwise; nothing else here asks which one it is, but for `features`."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import MissingPackageError
from ...symbolic.extras import require
from .sparse import dense_rows

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

Array = NDArray[np.float64]
OLDEST = "3.0"
WRONG_HESSIAN = "4.0.0"
"""Its sparse Cholesky factorization gives the Newton solver wrong steps and accelerations; 4.0.1 has it right."""
BODY = 1
"""MuJoCo's number of the kind of object that a body is."""

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


def numbers(version: str) -> tuple[int, ...]:
    """Of a version, to be compared: ``"3.3.1"`` or ``"3.3.1.dev2"`` → (3, 3, 1).

    Args:
        version: as packages tell it.
    """
    found: list[int] = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        found.append(int(part))
    return tuple(found)


def loaded() -> ModuleType:
    """MuJoCo.

    Raises:
        MissingPackageError: if it is not installed, or is older than the oldest that is known here.
    """
    mujoco = require("mujoco", "mujoco")
    if numbers(mujoco.__version__) < numbers(OLDEST):
        raise MissingPackageError(
            f"MuJoCo {OLDEST} or later is needed here, and {mujoco.__version__} is installed: "
            "pip install --upgrade 'erugin[mujoco]'"
        )
    return mujoco


def disable_bit(flag: Flag) -> int:
    """Of what an option switches off; before MuJoCo 3.3.6 springs and dampers went off together.

    Args:
        flag: MuJoCo's name of it.
    """
    bits = loaded().mjtDisableBit
    passive = flag in ("DAMPER", "SPRING") and not hasattr(bits, f"mjDSBL_{flag}")
    return int(getattr(bits, "mjDSBL_PASSIVE" if passive else f"mjDSBL_{flag}"))


def wrong_newton(model: MjModel) -> bool:
    """Whether constraints of a model may be solved by Newton's method with the wrong factors of MuJoCo 4.0.0.

    They are wrong where the Jacobian of the constraints is sparse: by the model's option, or from 60 velocities on.

    Args:
        model: MuJoCo's.
    """
    mujoco = loaded()
    if numbers(mujoco.__version__) != numbers(WRONG_HESSIAN) or not mujoco.mj_isSparse(model):
        return False
    meets = (model.geom_contype | model.geom_conaffinity).any()
    held = model.neq or meets or model.jnt_limited.any() or model.tendon_limited.any()
    rubs = model.dof_frictionloss.any() or model.tendon_frictionloss.any()
    return model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON and bool(held or rubs)


def solve_densely(model: MjModel) -> None:
    """Have constraints of a model solved with dense rows.

    Args:
        model: MuJoCo's; its option is changed.
    """
    model.opt.jacobian = loaded().mjtJacobian.mjJAC_DENSE


def disabled_groups(model: MjModel) -> int:
    """Bits of the groups of actuators that are switched off; MuJoCo 3.0.0 has no such option.

    Args:
        model: MuJoCo's.
    """
    return int(getattr(model.opt, "disableactuator", 0))


def entry(model: MjModel, field: str, k: int, otherwise: float = 0.0) -> Any:  # noqa: ANN401
    """Entry of a field of a model, or what a version that lacks the field does instead.

    Args:
        model: MuJoCo's.
        field: its name.
        k: of which part.
        otherwise: the entry where there is no such field.
    """
    return getattr(model, field)[k] if hasattr(model, field) else otherwise


def is_set(model: MjModel, field: str, k: int) -> bool:
    """Whether a field that not all versions have is set.

    Args:
        model: MuJoCo's.
        field: its name.
        k: of which part.
    """
    return bool(np.any(entry(model, field, k)))


def holds_bodies(model: MjModel, k: int) -> bool:
    """Whether a ``connect`` or a ``weld`` holds bodies, and not sites, which MuJoCo 3.2.3 and later can.

    Args:
        model: MuJoCo's.
        k: number of the equality constraint.
    """
    return int(entry(model, "eq_objtype", k, BODY)) == BODY


def is_data_of(data: MjData, model: MjModel) -> bool:
    """Whether data are of a model; of those of MuJoCo 3.0.0, which do not tell, whether they have its sizes.

    No function of MuJoCo is called: in MuJoCo 3 what a callback raises after one ends the process.

    Args:
        data: MuJoCo's.
        model: likewise.
    """
    if hasattr(data, "model"):
        return data.model is model
    parts = data.qpos, data.qvel, data.ctrl, data.act, data.xpos, data.geom_xpos, data.site_xpos, data.mocap_pos
    sizes = model.nq, model.nv, model.nu, model.na, model.nbody, model.ngeom, model.nsite, model.nmocap
    return all(len(part) == size for part, size in zip(parts, sizes, strict=True))


def actuated_gravity(model: MjModel, data: MjData) -> Array:
    """What drives give by themselves to make up for gravity, shape (nv,); before MuJoCo 3.1.4 none can.

    Args:
        model: MuJoCo's.
        data: with positions.
    """
    if not hasattr(model, "jnt_actgravcomp"):
        return np.zeros(model.nv)
    return np.asarray(data.qfrc_gravcomp * (model.jnt_actgravcomp[model.dof_jntid] != 0), dtype=np.float64)


def make_inertia(model: MjModel, data: MjData) -> None:
    """Reckon M, with the armature of tendons where MuJoCo knows of it.

    Args:
        model: MuJoCo's.
        data: with positions.
    """
    mujoco = loaded()
    (mujoco.mj_makeM if hasattr(mujoco, "mj_makeM") else mujoco.mj_crb)(model, data)


def moments(model: MjModel, data: MjData) -> Array:
    """Generalized force of a unit of each force of the actuators, shape (forces, nv); dense before MuJoCo 3.2.5.

    Args:
        model: MuJoCo's.
        data: with transmissions.
    """
    if not hasattr(data, "moment_rowadr"):
        return np.array(data.actuator_moment, dtype=np.float64).reshape(-1, model.nv)
    rows = data.moment_rowadr, data.moment_rownnz, data.moment_colind
    return dense_rows(data.actuator_moment, *rows, model.nv)


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
    """How many actuators a model has; in later versions ``nu`` counts their controls.

    Args:
        model: MuJoCo's.
    """
    return len(model.actuator_trntype)
