"""Differences between the versions of MuJoCo from 3.0 on: names, data layouts, and features that older ones lack.

No other module of this bridge depends on the version.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import MissingPackageError
from ...symbolic.optional_dependencies import import_optional

if TYPE_CHECKING:
    from mujoco import MjData, MjModel


Array = NDArray[np.float64]


def dense_rows(
    values: Array, first: NDArray[np.int32], count: NDArray[np.int32], columns: NDArray[np.int32], width: int
) -> Array:
    """Return a matrix in compressed rows as a dense one, shape (rows, width).

    Args:
        values: values of the entries.
        first: index of the first entry of each row.
        count: number of entries of each row.
        columns: column of each entry.
        width: number of columns.
    """
    # In some versions these lists have the shape of the matrix.
    values, columns = np.ravel(values), np.ravel(columns)
    A = np.zeros((len(first), width))
    for row, start, size in zip(A, first, count, strict=True):
        row[columns[start : start + size]] = values[start : start + size]
    return A


OLDEST = "3.0"
WRONG_HESSIAN = "4.0.0"
"""Version whose sparse Cholesky factorization gives the Newton solver wrong accelerations; fixed in 4.0.1."""
BODY = 1
"""MuJoCo's object type of bodies."""

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


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a version for comparisons: ``"3.3.1"`` or ``"3.3.1.dev2"`` → (3, 3, 1).

    Args:
        version: version of a package.
    """
    found: list[int] = []
    for part in version.split("."):
        if not part.isdecimal():
            break
        found.append(int(part))
    return tuple(found)


def require_mujoco() -> ModuleType:
    """Import MuJoCo.

    Raises:
        MissingPackageError: if it is not installed, or older than the oldest supported version.
    """
    mujoco = import_optional("mujoco", "mujoco")
    if version_numbers(mujoco.__version__) < version_numbers(OLDEST):
        raise MissingPackageError(
            f"MuJoCo {OLDEST} or later is required, but {mujoco.__version__} is installed: "
            "pip install --upgrade 'erugin[mujoco]'"
        )
    return mujoco


def disable_bit(flag: Flag) -> int:
    """Return the bit that disables a feature; before MuJoCo 3.3.6 springs and dampers share one.

    Args:
        flag: MuJoCo's name of the feature.
    """
    bits = require_mujoco().mjtDisableBit
    passive = flag in ("DAMPER", "SPRING") and not hasattr(bits, f"mjDSBL_{flag}")
    return int(getattr(bits, "mjDSBL_PASSIVE" if passive else f"mjDSBL_{flag}"))


def has_newton_bug(model: MjModel) -> bool:
    """Return True if constraints of a model may be solved with the wrong Newton factorization of MuJoCo 4.0.0.

    It is wrong if the Jacobian of the constraints is sparse: by the model's option, or from 60 velocities.

    Args:
        model: the MjModel.
    """
    mujoco = require_mujoco()
    if version_numbers(mujoco.__version__) != version_numbers(WRONG_HESSIAN) or not mujoco.mj_isSparse(model):
        return False
    collides = (model.geom_contype | model.geom_conaffinity).any()
    constrained = model.neq or collides or model.jnt_limited.any() or model.tendon_limited.any()
    has_friction = model.dof_frictionloss.any() or model.tendon_frictionloss.any()
    return model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON and bool(constrained or has_friction)


def use_dense_solver(model: MjModel) -> None:
    """Set a model's option to solve constraints with a dense Jacobian.

    Args:
        model: the MjModel, which is changed.
    """
    model.opt.jacobian = require_mujoco().mjtJacobian.mjJAC_DENSE


def disabled_groups(model: MjModel) -> int:
    """Return the bits of disabled groups of actuators; MuJoCo 3.0.0 has no such option.

    Args:
        model: the MjModel.
    """
    return int(getattr(model.opt, "disableactuator", 0))


def field_entry(model: MjModel, field: str, k: int, otherwise: float = 0.0) -> Any:  # noqa: ANN401
    """Return an entry of a field of a model, or a default in versions without the field.

    Args:
        model: the MjModel.
        field: name of the field.
        k: index of the part.
        otherwise: default in versions without the field.
    """
    return getattr(model, field)[k] if hasattr(model, field) else otherwise


def field_is_set(model: MjModel, field: str, k: int) -> bool:
    """Return True if a field that not all versions have is not zero.

    Args:
        model: the MjModel.
        field: name of the field.
        k: index of the part.
    """
    return bool(np.any(field_entry(model, field, k)))


def connects_bodies(model: MjModel, k: int) -> bool:
    """Return True if a ``connect`` or ``weld`` is between bodies, False for sites (MuJoCo 3.2.3 or later).

    Args:
        model: the MjModel.
        k: index of the equality constraint.
    """
    return int(field_entry(model, "eq_objtype", k, BODY)) == BODY


def is_data_of(data: MjData, model: MjModel) -> bool:
    """Return True if data belong to a model; in MuJoCo 3.0.0, where they do not record it, if they have its sizes.

    Calls no function of MuJoCo: in MuJoCo 3 an exception of a callback after such a call ends the process.

    Args:
        data: the MjData.
        model: the MjModel.
    """
    if hasattr(data, "model"):
        return data.model is model
    parts = data.qpos, data.qvel, data.ctrl, data.act, data.xpos, data.geom_xpos, data.site_xpos, data.mocap_pos
    sizes = model.nq, model.nv, model.nu, model.na, model.nbody, model.ngeom, model.nsite, model.nmocap
    return all(len(part) == size for part, size in zip(parts, sizes, strict=True))


def actuator_gravity_compensation(model: MjModel, data: MjData) -> Array:
    """Return the gravity compensation by actuators, shape (nv,); zero before MuJoCo 3.1.4, which has none.

    Args:
        model: the MjModel.
        data: MjData with computed positions.
    """
    if not hasattr(model, "jnt_actgravcomp"):
        return np.zeros(model.nv)
    return np.asarray(data.qfrc_gravcomp * (model.jnt_actgravcomp[model.dof_jntid] != 0), dtype=np.float64)


def compute_mass_matrix(model: MjModel, data: MjData) -> None:
    """Compute M in the data, with the armature of tendons where MuJoCo has it.

    Args:
        model: the MjModel.
        data: MjData with computed positions.
    """
    mujoco = require_mujoco()
    (mujoco.mj_makeM if hasattr(mujoco, "mj_makeM") else mujoco.mj_crb)(model, data)


def actuator_moments(model: MjModel, data: MjData) -> Array:
    """Return the generalized force per unit of each actuator force, shape (forces, nv); dense before MuJoCo 3.2.5.

    Args:
        model: the MjModel.
        data: MjData with computed transmissions.
    """
    if not hasattr(data, "moment_rowadr"):
        return np.array(data.actuator_moment, dtype=np.float64).reshape(-1, model.nv)
    rows = data.moment_rowadr, data.moment_rownnz, data.moment_colind
    return dense_rows(data.actuator_moment, *rows, model.nv)


@dataclass(frozen=True)
class ActuatorChannels:
    """Indices of an actuator's controls and forces; in MuJoCo 3 it has one of each.

    Attributes:
        controls: number of its controls.
        control: index of the first in ``ctrl``.
        forces: number of its forces.
        force: index of the first in ``actuator_gear`` and among the rows of ``actuator_moment``.
    """

    controls: int
    control: int
    forces: int
    force: int

    @classmethod
    def of(cls, model: MjModel, k: int) -> ActuatorChannels:
        """Return the indices of an actuator.

        Args:
            model: the MjModel.
            k: index of the actuator.
        """
        if not hasattr(model, "actuator_ctrlnum"):
            return cls(1, k, 1, k)
        sizes, addresses = (
            (model.actuator_ctrlnum, model.actuator_outnum),
            (model.actuator_ctrladr, model.actuator_outadr),
        )
        return cls(int(sizes[0][k]), int(addresses[0][k]), int(sizes[1][k]), int(addresses[1][k]))


def first_forces(model: MjModel) -> NDArray[np.int64]:
    """Return the row of each actuator's first force in ``actuator_moment``, shape (nu,).

    Args:
        model: the MjModel.
    """
    return np.array([ActuatorChannels.of(model, k).force for k in range(actuator_count(model))], dtype=np.int64)


def actuator_count(model: MjModel) -> int:
    """Return the number of actuators of a model; in later versions ``nu`` counts their controls.

    Args:
        model: the MjModel.
    """
    return len(model.actuator_trntype)


@dataclass(frozen=True)
class Feature:
    """A feature that not every MuJoCo from 3.0 on has.

    Attributes:
        what: name of the feature, for messages such as "MuJoCo 3.1.6 has no …".
        since: the first version that has it.
    """

    what: str
    since: str

    @property
    def missing(self) -> str:
        """Sentence on the missing feature; empty if the installed MuJoCo has it, or none is installed."""
        try:
            version = str(importlib.import_module("mujoco").__version__)
        except ImportError:
            # Files written without MuJoCo are for a current version.
            return ""
        if version_numbers(version) >= version_numbers(self.since):
            return ""
        return f"MuJoCo {version} has no {self.what} (requires {self.since} or later)"


TENDON_ARMATURE = Feature("armature of tendons", "3.3.1")
FLOATING_RK4 = Feature("fourth-order RK4 for floating bodies", "4.0")
DIAGEXACT = Feature("flag diagexact", "3.9")
CENTRIPETAL_CONNECT = Feature("centripetal acceleration in connect and weld", "3.7")
SITE_EQUALITIES = Feature("connect and weld of sites", "3.2.3")
SITE_SOFTNESS = Feature("correct softness of connected sites", "3.2.5")

MJCF_FEATURES = {
    "actuatorfrclimited": Feature("bounds on drives of tendons", "3.3.1"),
    "actuatorfrcrange": Feature("bounds on drives of tendons", "3.3.1"),
    "actuatorgravcomp": Feature("gravity compensation by actuators", "3.1.4"),
    "actuatorgroupdisable": Feature("groups of actuators that are disabled", "3.0.1"),
    "armature": TENDON_ARMATURE,
    "damper": Feature("flag damper; its flag passive disables springs and dampers together", "3.3.6"),
    "diagexact": DIAGEXACT,
    "orientation": Feature("actuators of several forces", "3.11"),
    "site1": SITE_EQUALITIES,
    "spring": Feature("flag spring; its flag passive disables springs and dampers together", "3.3.6"),
}
"""Attributes and elements of MJCF that older versions do not know."""


def missing_feature(reason: str) -> str:
    """Return a sentence on an attribute or element that only a later MuJoCo knows; empty for other errors.

    Args:
        reason: MuJoCo's error message for a file.
    """
    found = re.search(r"unrecognized (?:attribute|element)[^']*'(\w+)'", reason)
    feature = MJCF_FEATURES.get(found[1]) if found else None
    return feature.missing if feature else ""
