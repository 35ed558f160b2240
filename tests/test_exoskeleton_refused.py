"""Numbers of links that are no numbers, and a floating base that nothing determines, are refused."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import TelescopicLink, exoskeleton
from erugin.symbolic import ModelError

LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parents": ["a", 1]}, "parents must be whole numbers, got 'a'"),
        ({"parents": [0, 0.5]}, "parents must be whole numbers, got 0.5"),
        ({"parents": [None, 1]}, "parents must be whole numbers, got None"),
        ({"parents": [False, True]}, r"parents of exoskeleton must be .*whole number.*, got \[False, True\]"),
        ({"parents": 3}, "parents must be numbers of links, got 3"),
        ({"rigid": [1.0]}, "rigid must be whole numbers, got 1.0"),
        ({"rigid": [True]}, r"rigid of exoskeleton must be .*whole number.*, got \[True\]"),
        ({"rigid": "all"}, r"rigid of exoskeleton must be .*whole number.*, got 'all'"),
        ({"rigid": 1}, "rigid must be numbers of links, got 1"),
        ({"rigid": [1, 1]}, r"rigid must name each link once, got \(1, 1\)"),
    ],
)
def test_numbers_of_links(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        exoskeleton([LINK, LINK], **arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_numpy_integers_are_numbers() -> None:
    robot = exoskeleton([LINK, LINK], parents=np.array([0, 1]).tolist(), rigid=[np.int64(2)])  # type: ignore[list-item]
    assert len(robot.natural) == 1


@pytest.mark.parametrize("n", [1, 3])
def test_a_floating_pole_without_mass(n: int) -> None:
    """In line, the links can change their lengths and the pole its place so that no centre of mass moves."""
    with pytest.raises(ModelError, match="give pole_mass=, the hinge_mass of a link, or inertia_law='stretched'"):
        exoskeleton([LINK] * n, base="floating")
    hinged = TelescopicLink(1.0, 0.1, 0.5, 100.0, 0.5, hinge_mass=0.1)
    for robot in (
        exoskeleton([LINK] * n, base="floating", pole_mass=0.1),
        exoskeleton([LINK] * (n - 1) + [hinged], base="floating"),
        exoskeleton([LINK] * n, base="floating", inertia_law="stretched"),
    ):
        q = np.concatenate([[0.0, 0.0], np.full(n, 0.7), np.full(n, 0.5)])
        assert np.linalg.eigvalsh(robot.evaluate(robot.mass_matrix, q=q))[0] > 1e-4
