"""The equations of an exoskeleton grow by the same amount with each link, and are ready without a compiler."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import Robot, TelescopicLink, exoskeleton
from erugin.robots.formulations import Formulation, Recurrent
from erugin.symbolic import Kernel

from .exoskeletons import Case, random_states
from .references import telescopic_bodies as truth

LINK = TelescopicLink(1.0, 0.1, 0.5, 100.0, 1.0, hinge_mass=0.1, damping=2.0)


def forward_dynamics(robot: Robot) -> Kernel:
    """The acceleration as a function for the virtual machine."""
    symbols = {"q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    return Kernel("forward", symbols, {"a": robot.acceleration}, compiled=False)


def instructions(n: int, formulation: Formulation | None = None) -> int:
    """Operations in the forward dynamics of a chain of n links."""
    robot = exoskeleton([LINK] * n, axial_drives=True, formulation=formulation)
    return forward_dynamics(robot).function.n_instructions()


@pytest.mark.parametrize("branched", [False, True])
def test_forward_dynamics_grow_linearly(branched: bool) -> None:
    """From 10 to 20 links as much is added as from 20 to 30, and from 10 to 40 within 2 % of three times that."""
    counts: list[int] = []
    for n in (10, 20, 30, 40):
        # Two links at each joint, as in a binary tree.
        parents = [i // 2 for i in range(n)] if branched else None
        robot = exoskeleton([LINK] * n, parents=parents, axial_drives=True)
        counts.append(forward_dynamics(robot).function.n_instructions())
    step = counts[1] - counts[0]
    assert 0 < step < 3000
    assert abs(counts[2] - counts[1] - step) <= 0.02 * step
    assert abs(counts[3] - counts[0] - 3 * step) <= 0.02 * 3 * step


def test_other_formulations_do_not_grow_linearly() -> None:
    """What the test above would not let pass."""
    small, middle, large = (instructions(n, Recurrent()) for n in (3, 6, 9))
    assert large - middle > 1.5 * (middle - small)


def test_eleven_links_are_ready_without_a_compiler() -> None:
    """22 coordinates: less than 2500 operations for the acceleration, in the virtual machine, and they are right."""
    case = Case(tuple(range(11)), hinges=True, damped=True)
    robot = case.robot()
    kernel = forward_dynamics(robot)
    assert not kernel.compiled
    assert robot.coordinates.nq == 22
    assert kernel.function.n_instructions() < 2500
    for q, v in random_states(case, seed=51, count=5):
        (a,) = kernel(q, v, np.zeros(11), robot.parameters.values())
        M, h = truth.mass_matrix(case.structure, q), truth.bias(case.structure, q, v)
        assert np.max(np.abs(M @ a + h)) <= 1e-12 * np.max(np.abs(M) @ np.abs(a) + np.abs(h))
