"""Conversion of a state space of mechanical form to a robot."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.families.lagrangian_system import lagrangian_system
from ...robots.robot import Robot
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.parameters import Parameters
from ...symbolic.validation import reals
from ..common.unit_mismatch import DEGREES, LENGTHS

if TYPE_CHECKING:
    import control


Array = NDArray[np.float64]
FORM_TOLERANCE = 1e-9
"""How far entries may be from what mechanical form has, relative to the largest of their matrix."""


def load(
    system: control.StateSpace,
    *,
    mass_matrix: ArrayLike | None = None,
    units: Sequence[str] | None = None,
    name: str | None = None,
) -> Robot:
    """Robot M q̈ + D q̇ + K q = B u of a ``control.StateSpace`` of mechanical form.

    With x = (q, v) that is A = [[0, I], [−M⁻¹K, −M⁻¹D]] and B = [[0], [M⁻¹B]]. A state space does not tell M: given, it
    must make M M⁻¹K symmetric, as forces of springs are; without, M is the identity, and masses are in the units of the
    forces. Forces of dampers and others linear in v need not be. States and inputs keep their names: those of the
    second half are the velocities, and are called ``v_`` and the name of the coordinate here.

    The entries of M, K, D and B are parameters, ``M[q1,q2]`` and so on, symmetric ones once. Outputs y = C x + D u are
    no part of a robot and are left out. A ``NonlinearIOSystem`` is a function that can be called and not looked into,
    of which no equations of motion can be made: it is refused.

    Args:
        system: in continuous time, with as many coordinates as velocities.
        mass_matrix: M, shape (n, n), symmetric and positive definite; the identity if not given.
        units: of the coordinates, n of them; none if not given.
        name: shown in messages; the system's if not given.

    Raises:
        BridgeError: for anything else, with what is not as it has to be.
        ModelError: for units that are no strings, or not n.
    """
    import control

    library: Any = control
    if isinstance(system, library.NonlinearIOSystem) and not isinstance(system, library.StateSpace):
        raise BridgeError(
            f"{system.name!r} is a NonlinearIOSystem: python-control can call its functions, but not tell their "
            "equations, of which a Robot is made. Linearize it (control.linearize) and load that, or write the robot "
            "down with lagrangian_system"
        )
    if not isinstance(system, library.StateSpace):
        raise BridgeError(f"a control.StateSpace of mechanical form is loaded, got {type(system).__name__}")
    given: Any = system
    label = str(given.name) if name is None else name
    if not given.isctime(strict=False) or (given.dt is not None and given.dt != 0):
        raise BridgeError(f"{label}: dt = {given.dt}, but a robot moves in continuous time: take the system before c2d")
    n, odd = divmod(int(given.nstates), 2)
    if odd or n == 0:
        raise BridgeError(
            f"{label}: a mechanical system has as many velocities as coordinates, but there are {given.nstates} states"
        )
    if units is not None and (isinstance(units, str) or not all(isinstance(unit, str) for unit in units)):
        raise ModelError(
            f"{label}: units are {n} strings, one for each coordinate, such as ['m', 'rad'], got {units!r}"
        )
    A, B = np.array(given.A, dtype=np.float64), np.array(given.B, dtype=np.float64)
    states = [str(key) for key in given.state_labels]
    _require_form(label, A, B, n, states)
    M = np.eye(n) if mass_matrix is None else reals("mass_matrix", mass_matrix)
    if M.shape != (n, n) or not np.isfinite(M).all():
        raise BridgeError(f"{label}: mass_matrix must have shape ({n}, {n}) and finite entries, got shape {M.shape}")
    if np.abs(M - M.T).max() > FORM_TOLERANCE * np.abs(M).max() or not np.linalg.eigvalsh((M + M.T) / 2).min() > 0.0:
        raise BridgeError(f"{label}: the mass matrix must be symmetric and positive definite, got {M.tolist()}")
    K, D, inputs = -M @ A[n:, :n], -M @ A[n:, n:], M @ B[n:]
    off = float(np.abs(K - K.T).max())
    if off > FORM_TOLERANCE * max(float(np.abs(K).max()), 1e-300):
        hint = "give mass_matrix=" if mass_matrix is None else _other_units(M, A[n:, :n], units)
        raise BridgeError(
            f"{label}: M M⁻¹K is not symmetric, by {off:.4g}, so that no springs have these forces with "
            f"{'M = 1' if mass_matrix is None else 'this M'}; {hint}"
        )
    return _robot(label, states[:n], [str(key) for key in given.input_labels], (M, K, D, inputs), units)


def _other_units(M: Array, A: Array, units: Sequence[str] | None) -> str:
    """In which units of the states the springs would be springs with this mass matrix, if in any."""
    of_q = list(units or ())
    lengths = {"": 1.0, **(LENGTHS if "m" in of_q else {})}
    angles = {"": 1.0, **({"angles in degrees": DEGREES} if "rad" in of_q else {})}
    for (far, length), (wide, angle) in itertools.product(lengths.items(), angles.items()):
        scales = np.array([{"m": length, "rad": angle}.get(unit, 1.0) for unit in of_q])
        if (far or wide) and len(scales) == len(M):
            K = M @ (A / scales[:, None] * scales)
            if np.abs(K - K.T).max() <= FORM_TOLERANCE * np.abs(K).max():
                words = ", ".join(word for word in (far, wide) if word)
                return f"it is with {words} in the system: write it in the units of the mass matrix"
    return "it may be another mass matrix"


def _require_form(label: str, A: Array, B: Array, n: int, states: Sequence[str]) -> None:
    off = A[:n] - np.hstack([np.zeros((n, n)), np.eye(n)])
    if np.abs(off).max() > FORM_TOLERANCE:
        i, j = divmod(int(np.argmax(np.abs(off))), 2 * n)
        raise BridgeError(
            f"{label}: in mechanical form states are coordinates and then their rates, A = [[0, I], …], but the rate "
            f"of {states[i]!r} has {A[i, j]:.4g} times {states[j]!r}; order the states so with "
            "control.similarity_transform"
        )
    if B.size and np.abs(B[:n]).max() > FORM_TOLERANCE * np.abs(B).max():
        k = int(np.argmax(np.abs(B[:n]).max(axis=1)))
        raise BridgeError(f"{label}: an input changes {states[k]!r} itself; forces act on velocities only")


def _robot(
    label: str,
    names: Sequence[str],
    input_names: Sequence[str],
    parts: tuple[Array, Array, Array, Array],
    units: Sequence[str] | None,
) -> Robot:
    M, K, D, B = parts
    values: dict[str, float] = {}
    for letter, whole in (("M", M), ("K", K)):
        values |= {
            f"{letter}[{a},{b}]": float(whole[i, j]) for i, a in enumerate(names) for j, b in enumerate(names) if i <= j
        }
    values |= {f"D[{a},{b}]": float(D[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)}
    values |= {f"B[{a},{b}]": float(B[i, j]) for i, a in enumerate(names) for j, b in enumerate(input_names)}
    p = Parameters.declare(values)

    def full(letter: str, columns: Sequence[str]) -> ca.SX:
        rows = [
            [p[f"{letter}[{a},{b}]"] if f"{letter}[{a},{b}]" in values else p[f"{letter}[{b},{a}]"] for b in columns]
            for a in names
        ]
        return ca.vertcat(*(ca.horzcat(*row) for row in rows))

    q, v = (ca.vertcat(*(ca.SX.sym(f"{head}{key}") for key in names)) for head in ("", "v_"))
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(key) for key in input_names))
    force = -full("D", names) @ v
    if input_names:
        force += full("B", input_names) @ u
    return lagrangian_system(
        q=q,
        v=v,
        p=p,
        u=u,
        T=v.T @ full("M", names) @ v / 2,
        V=q.T @ full("K", names) @ q / 2,
        Q=force,
        name=label,
        units=units,
    )
