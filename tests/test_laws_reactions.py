"""Reactions of natural constraints: what they must be, and that they do no work."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import Robot
from erugin.scenarios import simulate

from .references import tree_numpy
from .references.tree_numpy import STENCIL, STEP, TreeData
from .test_laws_energy import DURATION, TIGHT, assert_energy_is_kept
from .trees import TREES, State, assert_close, states

Array = NDArray[np.float64]


class Case(NamedTuple):
    """A tree, the node that a constraint takes hold of, and the rows of the constraint by NumPy."""

    tree: str
    node: int
    kind: str


CASES = {
    "tip pinned in the plane": Case("parallel hinges", 3, "pin in the plane"),
    "skate": Case("plane, all joints", 3, "skate"),
    "body hung on a point": Case("floating base", 3, "pin"),
    "loop of telescopes": Case("telescopes in the plane", 3, "pin in the plane"),
    "skate in space": Case("everything", 4, "skate"),
}


@functools.cache
def constrained(label: str) -> tuple[Robot, State]:
    """The robot with its constraint, and a state that obeys it."""
    case = CASES[label]
    data = TREES[case.tree].data
    robot = TREES[case.tree].robot()
    state = next(states(data, seed=21))
    rows = rows_of(case, data)(state.q)
    v = state.v - np.linalg.pinv(rows) @ rows @ state.v
    frame = robot.frames[f"j{case.node}"]
    if case.kind == "skate":
        velocity = ca.jtimes(frame.position, robot.q, robot.coordinates.N @ robot.v)
        constraint = nonholonomic(ca.dot(frame.rotation[:, 1], velocity), name="skate")
    else:
        kept = 2 if case.kind == "pin in the plane" else 3
        place = robot.evaluate(frame.position, q=state.q)
        constraint = holonomic(frame.position[:kept] - ca.DM(place[:kept]), name="pin")
    return dataclasses.replace(robot, natural=(constraint,)), State(state.q, v, state.u)


def rows_of(case: Case, data: TreeData) -> Callable[[Array], Array]:
    """A(q), shape (k, nv), from the positions."""

    def rows(q: Array) -> Array:
        J = tree_numpy.frame_jacobian(data, q, case.node)[:3]
        if case.kind == "skate":
            rotation = tree_numpy.poses(data, q)[0][case.node].rotation
            return np.asarray(rotation[:, 1:2].T @ J)
        return J[:2] if case.kind == "pin in the plane" else J

    return rows


@pytest.mark.parametrize("label", CASES)
def test_accelerations_and_reactions_solve_the_whole_system(label: str) -> None:
    """(M, -Aᵀ; A, 0) (a; μ) = (B u - h; -dA/dt v), with every block from the positions."""
    case = CASES[label]
    robot, (q, v, u) = constrained(label)
    data = TREES[case.tree].data
    rows = rows_of(case, data)
    along = tree_numpy.kinematics(data, q) @ v
    A = rows(q)
    turning = sum(
        (w * (rows(q + s * STEP * along) - rows(q - s * STEP * along)) for s, w in STENCIL.items()), np.zeros_like(A)
    )
    k = len(A)
    M, h = tree_numpy.mass_matrix(data, q), tree_numpy.bias(data, q, v)
    whole = np.block([[M, -A.T], [A, np.zeros((k, k))]])
    right = np.append(u - h, -turning / STEP @ v)
    expected = np.linalg.solve(whole, right)
    assert_close(robot.evaluate(robot.acceleration, q=q, v=v, u=u), expected[:-k])
    assert_close(robot.evaluate(robot.reactions, q=q, v=v, u=u), expected[-k:])
    assert np.abs(expected[-k:]).max() > 0.1


@pytest.mark.parametrize("label", CASES)
def test_reactions_do_no_work(label: str) -> None:
    """The energy grows by the power of the inputs alone, though the reactions push."""
    robot, (q, v, u) = constrained(label)
    c = robot.coordinates
    energy = robot.kinetic_energy + robot.potential_energy
    growth = ca.jtimes(energy, ca.vertcat(c.q, c.v), ca.vertcat(c.N @ c.v, robot.acceleration))
    pushing = robot.natural_form[0].T @ robot.reactions
    pushes = robot.evaluate(pushing, q=q, v=v, u=u)
    size = float(np.abs(pushes) @ np.abs(v) + np.abs(u) @ np.abs(v))
    assert np.abs(pushes) @ np.abs(v) > 1.0
    assert abs(float(pushes @ v)) <= 1e-13 * size
    assert abs(float(robot.evaluate(growth, q=q, v=v, u=u)) - float(u @ v)) <= 1e-12 * size


@pytest.mark.parametrize("label", CASES)
def test_motion_under_constraints_keeps_its_energy(label: str) -> None:
    robot, (q, v, _) = constrained(label)
    slow = {f"g{i}": robot.nominal[f"g{i}"] / 20.0 for i in range(3)}
    motion = simulate(robot, None, q, v, DURATION, step=0.05, integrator=TIGHT, p=slow)
    assert_energy_is_kept(motion)
    deviation = motion.evaluate(robot.natural[0].residual(robot.coordinates))
    assert np.abs(deviation).max() <= 1e-9
