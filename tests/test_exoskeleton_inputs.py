"""The inputs of the exoskeleton: torques between neighbours, forces along the links, by the work that they do."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import Robot, TelescopicLink, exoskeleton

from .exoskeletons import BODY, CASES, Array, Case, built, label

LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


def input_matrix(robot: Robot) -> Array:
    """B, shape (nv, nu)."""
    q = np.ones(robot.coordinates.nq)
    return robot.evaluate(robot.input_matrix, q=q).reshape(robot.coordinates.nv, robot.u.numel())


def test_torques_and_forces_of_two_links() -> None:
    """Q = (M₁ − M₂, M₂, F₁, F₂), as in (2)."""
    robot = exoskeleton([LINK, LINK], axial_drives=True)
    assert robot.input_names == ("M1", "M2", "F1", "F2")
    assert robot.input_units == ("N m", "N m", "N", "N")
    forces = robot.evaluate(robot.input_matrix @ robot.u, u=[2.0, 7.0, 11.0, 13.0])
    np.testing.assert_array_equal(forces, [2.0 - 7.0, 7.0, 11.0, 13.0])


def test_no_forces_along_the_links_if_not_asked_for() -> None:
    robot = exoskeleton([LINK, LINK])
    assert robot.input_names == ("M1", "M2")
    np.testing.assert_array_equal(input_matrix(robot), [[1.0, -1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])


def test_a_joint_that_several_links_share() -> None:
    """Q_φi = M_i − Σ M_j over the links that begin at the end of link i: the trunk of a body carries three."""
    robot = exoskeleton([LINK] * 11, parents=BODY)
    torques = np.array([2.0**k for k in range(11)])
    forces = robot.evaluate(robot.input_matrix @ robot.u, q=np.ones(22), u=torques)
    M = dict(enumerate(torques, 1))
    expected = [M[1] - M[2], M[2] - M[3] - M[9], M[3] - M[4] - M[5] - M[7], M[4], M[5] - M[6], M[6], M[7] - M[8], M[8]]
    expected += [M[9] - M[10], M[10] - M[11], M[11]]
    np.testing.assert_array_equal(forces, np.concatenate([expected, np.zeros(11)]))


@pytest.mark.parametrize("case", CASES, ids=label)
def test_inputs_do_work_on_what_they_connect(case: Case) -> None:
    """Power = Σ M_i (φ̇_i − φ̇ of the link before) + Σ F_i l̇_i; nothing acts between a floating pole and the ground."""
    robot, n = built(case), len(case.parents)
    B, start = input_matrix(robot), 2 * case.floating
    rng = np.random.default_rng(5)
    names = [f"M{i}" for i, parent in enumerate(case.parents, 1) if parent or not case.floating]
    assert list(robot.input_names) == names + ([f"F{i}" for i in range(1, n + 1)] if case.drives else [])
    for _ in range(20):
        v, u = rng.uniform(-3.0, 3.0, robot.coordinates.nv), rng.uniform(-9.0, 9.0, robot.u.numel())
        turning, stretching = v[start : start + n], v[start + n :]
        power = 0.0
        for name, value in zip(robot.input_names, u, strict=True):
            i = int(name[1:]) - 1
            before = turning[case.parents[i] - 1] if case.parents[i] else 0.0
            power += value * (turning[i] - before if name[0] == "M" else stretching[i])
        assert abs(float(v @ B @ u) - power) <= 1e-12 * max(1.0, abs(power))
