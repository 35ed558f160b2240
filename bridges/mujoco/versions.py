"""Differences between the versions of MuJoCo from 3.0 on: names, data layouts, and features that older ones lack.

Nothing else in this bridge asks which version is installed.
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
    """Such a matrix, shape (rows, width).

    Args:
        values: of the entries.
        first: place of the first entry of each row.
        count: entries of each row.
        columns: of the entries.
        width: number of columns.
    """
    # Some versions give these lists the shape of the matrix.
    values, columns = np.ravel(values), np.ravel(columns)
    A = np.zeros((len(first), width))
    for row, start, size in zip(A, first, count, strict=True):
        row[columns[start : start + size]] = values[start : start + size]
    return A


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


def version_numbers(version: str) -> tuple[int, ...]:
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


def require_mujoco() -> ModuleType:
    """MuJoCo.

    Raises:
        MissingPackageError: if it is not installed, or is older than the oldest that is known here.
    """
    mujoco = import_optional("mujoco", "mujoco")
    if version_numbers(mujoco.__version__) < version_numbers(OLDEST):
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
    bits = require_mujoco().mjtDisableBit
    passive = flag in ("DAMPER", "SPRING") and not hasattr(bits, f"mjDSBL_{flag}")
    return int(getattr(bits, "mjDSBL_PASSIVE" if passive else f"mjDSBL_{flag}"))


def has_newton_bug(model: MjModel) -> bool:
    """Whether constraints of a model may be solved by Newton's method with the wrong factors of MuJoCo 4.0.0.

    They are wrong where the Jacobian of the constraints is sparse: by the model's option, or from 60 velocities on.

    Args:
        model: MuJoCo's.
    """
    mujoco = require_mujoco()
    if version_numbers(mujoco.__version__) != version_numbers(WRONG_HESSIAN) or not mujoco.mj_isSparse(model):
        return False
    meets = (model.geom_contype | model.geom_conaffinity).any()
    held = model.neq or meets or model.jnt_limited.any() or model.tendon_limited.any()
    rubs = model.dof_frictionloss.any() or model.tendon_frictionloss.any()
    return model.opt.solver == mujoco.mjtSolver.mjSOL_NEWTON and bool(held or rubs)


def use_dense_solver(model: MjModel) -> None:
    """Have constraints of a model solved with dense rows.

    Args:
        model: MuJoCo's; its option is changed.
    """
    model.opt.jacobian = require_mujoco().mjtJacobian.mjJAC_DENSE


def disabled_groups(model: MjModel) -> int:
    """Bits of the groups of actuators that are switched off; MuJoCo 3.0.0 has no such option.

    Args:
        model: MuJoCo's.
    """
    return int(getattr(model.opt, "disableactuator", 0))


def field_entry(model: MjModel, field: str, k: int, otherwise: float = 0.0) -> Any:  # noqa: ANN401
    """Entry of a field of a model, or what a version that lacks the field does instead.

    Args:
        model: MuJoCo's.
        field: its name.
        k: of which part.
        otherwise: the entry where there is no such field.
    """
    return getattr(model, field)[k] if hasattr(model, field) else otherwise


def field_is_set(model: MjModel, field: str, k: int) -> bool:
    """Whether a field that not all versions have is set.

    Args:
        model: MuJoCo's.
        field: its name.
        k: of which part.
    """
    return bool(np.any(field_entry(model, field, k)))


def connects_bodies(model: MjModel, k: int) -> bool:
    """Whether a ``connect`` or a ``weld`` holds bodies, and not sites, which MuJoCo 3.2.3 and later can.

    Args:
        model: MuJoCo's.
        k: number of the equality constraint.
    """
    return int(field_entry(model, "eq_objtype", k, BODY)) == BODY


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


def actuator_gravity_compensation(model: MjModel, data: MjData) -> Array:
    """What drives give by themselves to make up for gravity, shape (nv,); before MuJoCo 3.1.4 none can.

    Args:
        model: MuJoCo's.
        data: with positions.
    """
    if not hasattr(model, "jnt_actgravcomp"):
        return np.zeros(model.nv)
    return np.asarray(data.qfrc_gravcomp * (model.jnt_actgravcomp[model.dof_jntid] != 0), dtype=np.float64)


def compute_mass_matrix(model: MjModel, data: MjData) -> None:
    """Reckon M, with the armature of tendons where MuJoCo knows of it.

    Args:
        model: MuJoCo's.
        data: with positions.
    """
    mujoco = require_mujoco()
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
class ActuatorChannels:
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
    def of(cls, model: MjModel, k: int) -> ActuatorChannels:
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
    return np.array([ActuatorChannels.of(model, k).force for k in range(actuator_count(model))], dtype=np.int64)


def actuator_count(model: MjModel) -> int:
    """How many actuators a model has; in later versions ``nu`` counts their controls.

    Args:
        model: MuJoCo's.
    """
    return len(model.actuator_trntype)


@dataclass(frozen=True)
class Feature:
    """Something that not every MuJoCo from 3.0 on has.

    Attributes:
        what: it is, in words that go on after "MuJoCo 3.1.6 has no".
        since: the first version that has it.
    """

    what: str
    since: str

    @property
    def missing(self) -> str:
        """A sentence that says so; empty if the MuJoCo that is installed has it, or none is installed."""
        try:
            version = str(importlib.import_module("mujoco").__version__)
        except ImportError:
            # What is written without MuJoCo is for a current one.
            return ""
        if version_numbers(version) >= version_numbers(self.since):
            return ""
        return f"MuJoCo {version} has no {self.what} ({self.since} or later has)"


TENDON_ARMATURE = Feature("armature of tendons", "3.3.1")
FLOATING_RK4 = Feature("RK4 of fourth order for bodies that float", "4.0")
DIAGEXACT = Feature("flag diagexact", "3.9")
CENTRIPETAL_CONNECT = Feature("centripetal acceleration in connect and weld", "3.7")
SITE_EQUALITIES = Feature("connect and weld of sites", "3.2.3")
SITE_SOFTNESS = Feature("right softness of connected sites", "3.2.5")

MJCF_FEATURES = {
    "actuatorfrclimited": Feature("bounds on drives of tendons", "3.3.1"),
    "actuatorfrcrange": Feature("bounds on drives of tendons", "3.3.1"),
    "actuatorgravcomp": Feature("gravity that drives make up for", "3.1.4"),
    "actuatorgroupdisable": Feature("groups of actuators that are disabled", "3.0.1"),
    "armature": TENDON_ARMATURE,
    "damper": Feature("flag damper; its flag passive has springs and dampers at once", "3.3.6"),
    "diagexact": DIAGEXACT,
    "orientation": Feature("actuators of several forces", "3.11"),
    "site1": SITE_EQUALITIES,
    "spring": Feature("flag spring; its flag passive has springs and dampers at once", "3.3.6"),
}
"""Attributes and elements of MJCF that an older reader does not know."""


def missing_feature(reason: str) -> str:
    """A sentence on the attribute or element that MuJoCo does not know, if a later version does; else empty.

    Args:
        reason: what MuJoCo says of a file.
    """
    found = re.search(r"unrecognized (?:attribute|element)[^']*'(\w+)'", reason)
    feature = MJCF_FEATURES.get(found[1]) if found else None
    return feature.missing if feature else ""
