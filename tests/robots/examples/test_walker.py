"""Small example robots that entries of the catalogue move: the bob on a rod, and the body that walks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from erugin.robots.examples import cobb_douglas_economy, spherical_pendulum, walker, walker_posture
from erugin.robots.examples.linkages import hairer_wanner_angles
from erugin.symbolic import ModelError, ShapeError


@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_the_rod_of_a_pendulum_pulls_by_weight_and_centripetal_force(speed: float) -> None:
    """m g + m v²/l at the bottom, pulling; at the top it pushes by m g − m v²/l."""
    m, length, g = 1.7, 0.8, 9.81
    robot = spherical_pendulum(mass=m, length=length)
    for height, sign in ((-length, -1.0), (length, 1.0)):
        force = robot.evaluate(robot.reactions, q=[0.0, 0.0, height], v=[speed, 0.0, 0.0])
        assert_allclose(force, sign * m * g - m * speed**2 / length, rtol=1e-12)
    center = robot.evaluate(robot.points["bob"], q=[0.1, 0.2, -0.7])
    assert_allclose(center, [0.1, 0.2, -0.7])


def test_a_pendulum_without_mass_or_length_is_refused() -> None:
    with pytest.raises(ModelError, match="mass"):
        spherical_pendulum(mass=0.0, length=1.0)
    with pytest.raises(ModelError, match="length"):
        spherical_pendulum(mass=1.0, length=-1.0)


def test_the_walker_stands_in_its_posture() -> None:
    robot = walker()
    q = walker_posture((-0.2, 0.76), -0.4, lean=0.05)
    names = ("pole", "end2", "tip", "end3")
    foot, hip, other, head = (np.asarray(robot.evaluate(robot.points[name], q=q)) for name in names)
    assert_allclose(foot, [0.0, 0.0], atol=1e-15)
    assert_allclose(hip, [-0.2, 0.76], atol=1e-12)
    assert_allclose(other, [-0.4, 0.0], atol=1e-12)
    assert_allclose(head - hip, 0.6 * np.array([np.sin(0.05), np.cos(0.05)]), atol=1e-12)
    # Both knees are before the line from hip to foot.
    for knee, end in (("end1", foot), ("end4", other)):
        across = np.asarray(robot.evaluate(robot.points[knee], q=q)) - end
        assert across[0] * (hip - end)[1] - across[1] * (hip - end)[0] > 0.05
    assert_allclose(robot.evaluate(robot.mass_matrix[0, 0], q=q), 64.4)


def test_marginal_products_of_1899_are_those_of_cobb_and_douglas() -> None:
    """¼ and ¾ of 1.01, less the prices."""
    robot = cobb_douglas_economy()
    pull = -np.asarray(robot.evaluate(robot.bias, q=[100.0, 100.0], v=[0.0, 0.0]))
    assert_allclose(pull, [0.2525 - 0.2, 0.7575 - 0.7], atol=1e-12)


def test_the_book_has_seven_angles() -> None:
    assert_allclose(hairer_wanner_angles(np.zeros(7)), np.pi / 2 * np.array([0.0, -2.0, 1.0, 1.0, 0.0, -1.0, 1.0]))
    with pytest.raises(ShapeError, match="q must have shape"):
        hairer_wanner_angles([1.0, 2.0])
