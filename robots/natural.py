"""Natural constraints in acceleration form, and which of their rows depend on others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ..constraints.constraint import Constraint
from ..symbolic.coordinates import Coordinates
from ..symbolic.errors import ModelError
from ..symbolic.parameters import Parameters


def natural_form(natural: Sequence[Constraint], c: Coordinates, parameters: Parameters) -> tuple[ca.SX, ca.SX]:
    """A, shape (k, nv), and b, shape (k,), of A a = b.

    Args:
        natural: constraints that the world enforces.
        c: coordinates of the robot.
        parameters: of the robot; what the constraints use beyond them are gains, which become numbers.

    Raises:
        ModelError: for a constraint that is not affine in the accelerations.
    """
    forms = [constraint.acceleration_form(c) for constraint in natural]
    for constraint, form in zip(natural, forms, strict=True):
        if not form.is_affine:
            raise ModelError(
                f"natural constraint {constraint.name!r} is not affine in the accelerations: its reaction would have "
                "no one direction; impose it as a program constraint"
            )
    theta = ca.vertcat(ca.SX(0, c.nv), *(form.theta for form in forms))
    beta = ca.vertcat(ca.SX(0, 1), *(form.beta for form in forms))
    # Their gains are the world's, not a user's: they are numbers. What else they use are the robot's parameters.
    own = set(parameters.names)
    gains = [(s, f.parameters.nominal[n]) for f in forms for n, s in f.parameters if n not in own]
    symbols = ca.vertcat(ca.SX(0, 1), *(symbol for symbol, _ in gains))
    numbers = ca.SX(ca.DM([value for _, value in gains]))
    return ca.substitute(theta, symbols, numbers), ca.substitute(beta, symbols, numbers)


def always_on(owner: str, natural: Sequence[Constraint]) -> Sequence[Constraint]:
    """The same constraints, none of which may have a condition: the world's own are made and broken by impacts.

    Args:
        owner: the robot's name, for the message.
        natural: constraints that the world enforces.

    Raises:
        ModelError: for one with a condition.
    """
    for constraint in natural:
        if constraint.when is not None:
            raise ModelError(
                f"{owner}: natural constraint {constraint.name!r} has a condition; only program constraints are "
                "switched. Use a robot with it and one without, or contacts, and simulate one after the other"
            )
    return natural


def dependent_rows(A: NDArray[np.float64], sizes: Sequence[int] | None = None, tolerance: float = 1e-9) -> list[int]:
    """Places of the rows that depend on rows before them, or vanish.

    Args:
        A: natural rows at one state, shape (k, nv).
        sizes: how many rows each constraint has; one each if not given. Rows of one constraint share a unit: one that
            is nothing but rounding beside the others vanishes.
        tolerance: what is left of a row outside those before it, as a share of the longest of its constraint, that
            counts as nothing.
    """
    lengths = np.linalg.norm(A, axis=1)
    ends = np.cumsum([0, *([1] * len(A) if sizes is None else sizes)])
    for first, last in itertools.pairwise(ends):
        lengths[first:last] = lengths[first:last].max(initial=0.0)
    basis = np.zeros((0, A.shape[1]))
    dependent: list[int] = []
    for i, row in enumerate(A):
        left = row
        # Twice, because once leaves rounding errors along the basis.
        for _ in range(2):
            left = left - basis.T @ (basis @ left)
        rest = float(np.linalg.norm(left))
        if rest <= tolerance * lengths[i]:
            dependent.append(i)
        else:
            basis = np.vstack([basis, left / rest])
    return dependent
