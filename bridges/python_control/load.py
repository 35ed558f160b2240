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
"""Tolerance of entries in mechanical form, relative to the largest of their matrix."""


def load(
    system: control.StateSpace,
    *,
    mass_matrix: ArrayLike | None = None,
    units: Sequence[str] | None = None,
    name: str | None = None,
) -> Robot:
    """Build the robot M q̈ + D q̇ + K q = B u from a ``control.StateSpace`` of mechanical form.

    With x = (q, v) that form is A = [[0, I], [−M⁻¹K, −M⁻¹D]] and B = [[0], [M⁻¹B]]. A state space does not determine M:
    a given M must make M M⁻¹K symmetric, as spring forces require; by default M is the identity, and masses are in the
    units of the forces. D need not be symmetric. States and inputs keep their names, except that the velocities, the
    second half of the states, are called ``v_`` and the name of the coordinate.

    The entries of M, K, D and B are parameters, ``M[q1,q2]`` and so on, with one for both symmetric entries. Outputs
    y = C x + D u are not part of a robot and are left out. A ``NonlinearIOSystem`` is refused: its functions can be
    called, but its equations of motion are not accessible.

    Args:
        system: state space in continuous time, with as many coordinates as velocities.
        mass_matrix: M, shape (n, n), symmetric and positive definite; the identity if not given.
        units: units of the n coordinates; without units if not given.
        name: name of the robot; the system's if not given.

    Raises:
        BridgeError: if the system is not of this form; the message names the entry or matrix at fault.
        ModelError: if units are not n strings.
    """
    import control

    library: Any = control
    if isinstance(system, library.NonlinearIOSystem) and not isinstance(system, library.StateSpace):
        raise BridgeError(
            f"{system.name!r} is a NonlinearIOSystem: python-control can call its functions, but does not know their "
            "equations, which a Robot requires. Linearize it (control.linearize) and load the result, or write the "
            "robot with lagrangian_system"
        )
    if not isinstance(system, library.StateSpace):
        raise BridgeError(f"system must be a control.StateSpace of mechanical form, got {type(system).__name__}")
    given: Any = system
    label = str(given.name) if name is None else name
    if not given.isctime(strict=False) or (given.dt is not None and given.dt != 0):
        raise BridgeError(f"{label}: dt = {given.dt}, but a robot moves in continuous time: load the system before c2d")
    n, odd = divmod(int(given.nstates), 2)
    if odd or n == 0:
        raise BridgeError(
            f"{label}: a mechanical system has as many velocities as coordinates, but there are {given.nstates} states"
        )
    if units is not None and (isinstance(units, str) or not all(isinstance(unit, str) for unit in units)):
        raise ModelError(
            f"{label}: units must be {n} strings, one for each coordinate, such as ['m', 'rad'], got {units!r}"
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
            f"{label}: M M⁻¹K is not symmetric, by {off:.4g}, so no springs have these forces with "
            f"{'M = 1' if mass_matrix is None else 'this M'}: {hint}"
        )
    return _robot(label, states[:n], [str(key) for key in given.input_labels], (M, K, D, inputs), units)


def _other_units(M: Array, A: Array, units: Sequence[str] | None) -> str:
    """Return a hint on the units of the states in which M M⁻¹K would be symmetric, if there are any."""
    of_q = list(units or ())
    lengths = {"": 1.0, **(LENGTHS if "m" in of_q else {})}
    angles = {"": 1.0, **({"angles in degrees": DEGREES} if "rad" in of_q else {})}
    for (far, length), (wide, angle) in itertools.product(lengths.items(), angles.items()):
        scales = np.array([{"m": length, "rad": angle}.get(unit, 1.0) for unit in of_q])
        if (far or wide) and len(scales) == len(M):
            K = M @ (A / scales[:, None] * scales)
            if np.abs(K - K.T).max() <= FORM_TOLERANCE * np.abs(K).max():
                words = ", ".join(word for word in (far, wide) if word)
                return f"it is symmetric with {words} in the system: write it in the units of the mass matrix"
    return "the mass matrix may belong to another system"


def _require_form(label: str, A: Array, B: Array, n: int, states: Sequence[str]) -> None:
    off = A[:n] - np.hstack([np.zeros((n, n)), np.eye(n)])
    if np.abs(off).max() > FORM_TOLERANCE:
        i, j = divmod(int(np.argmax(np.abs(off))), 2 * n)
        raise BridgeError(
            f"{label}: in mechanical form the states are the coordinates followed by their rates, A = [[0, I], …], but "
            f"the rate of {states[i]!r} has {A[i, j]:.4g} times {states[j]!r}: reorder the states with "
            "control.similarity_transform"
        )
    if B.size and np.abs(B[:n]).max() > FORM_TOLERANCE * np.abs(B).max():
        k = int(np.argmax(np.abs(B[:n]).max(axis=1)))
        raise BridgeError(f"{label}: an input changes {states[k]!r} directly, but forces act on velocities only")


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
