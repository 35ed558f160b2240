"""Exoskeletons in space, chains and trees, with all that they may have, and random states of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.robots import Robot, spatial_exoskeleton
from erugin.robots.formulations import Formulation
from erugin.symbolic import Kernel

from .exoskeletons import Case, link_of

Array = NDArray[np.float64]

CASES = (
    Case((0,)),
    Case((0,), floating=True, hinges=True, damped=True, stretched=True, drives=True),
    Case((0, 1), hinges=True, damped=True, drives=True),
    Case((0, 1, 2), stretched=True, hinges=True, damped=True),
    Case((0, 1, 1), floating=True, hinges=True, damped=True, drives=True),
    Case((0, 0, 0), floating=True, hinges=True, stretched=True),
    Case((0, 0, 1, 1, 2), floating=True, hinges=True, drives=True),
)


def in_space(case: Case, formulation: Formulation | None = None, *, gravity: float = 9.81) -> Robot:
    """The robot under test."""
    s = case.structure
    law: Literal["constant", "stretched"] = "stretched" if s.stretched else "constant"
    return spatial_exoskeleton(
        [link_of(rod) for rod in s.rods],
        parents=s.parents,
        base="floating" if s.floating else "pinned",
        pole_mass=s.pole_mass or None,
        axial_drives=case.drives,
        gravity=gravity,
        inertia_law=law,
        formulation=formulation,
    )


@functools.cache
def built(case: Case) -> Robot:
    """The robot of ``case``, once for all tests."""
    return in_space(case)


def states(case: Case, seed: int, count: int) -> Iterator[tuple[Array, Array]]:
    """All over the place but near ψ = ±π/2; lengths from half to one and a half of the rest length."""
    rng = np.random.default_rng(seed)
    s = case.structure
    n, rest = len(s.rods), np.array([rod.rest for rod in s.rods])
    for _ in range(count):
        pole = rng.uniform(-2.0, 2.0, 3 * s.floating)
        phi, psi = rng.uniform(-np.pi, np.pi, n), rng.uniform(-1.3, 1.3, n)
        yield (
            np.concatenate([pole, phi, psi, rest * rng.uniform(0.5, 1.5, n)]),
            rng.uniform(-3.0, 3.0, pole.size + 3 * n),
        )


def numbers(robot: Robot, *expressions: ca.SX) -> Kernel:
    """(q, v, u) → the expressions, with nominal parameters."""
    p = ca.SX(ca.DM(robot.parameters.values().tolist()))
    given = [ca.substitute(expression, robot.p, p) for expression in expressions]
    symbols = {"q": robot.q, "v": robot.v, "u": robot.u}
    return Kernel("numbers", symbols, {f"e{i}": e for i, e in enumerate(given)}, compiled=False)
