"""What cannot be built in space is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from erugin.robots import Link, TelescopicLink, spatial_exoskeleton
from erugin.scenarios import simulate
from erugin.symbolic import ModelError, ParameterError, ShapeError

LINK = TelescopicLink(mass=1.0, inertia=0.1, center_ratio=0.5, stiffness=100.0, rest_length=0.5)


@pytest.mark.parametrize(
    ("links", "options", "message"),
    [
        ([], {}, "at least one link, got none"),
        ([Link(1.0, 1.0, 0.5, 0.1)], {}, "made of telescopic links, got Link"),
        (5.0, {}, "made of telescopic links, got 5.0"),
        ([LINK], {"base": "free"}, "base must be one of 'pinned', 'floating', got 'free'"),
        ([LINK], {"inertia_law": "elastic"}, "inertia_law must be one of 'constant', 'stretched', got 'elastic'"),
        ([LINK] * 2, {"parents": (0,)}, "2 links need 2 parents, got 1"),
        ([LINK] * 2, {"parents": (0, 2)}, "link 2 must begin at the end of an earlier link, 1 to 1, or at the pole"),
        ([LINK] * 2, {"parents": (-1, 0)}, "link 1 must begin"),
        ([LINK] * 2, {"rigid": [3]}, "rigid must name links from 1 to 2, got 3"),
        ([LINK], {"gravity": np.nan}, "gravity must be finite, got nan"),
        ([LINK], {"gravity": "down"}, "gravity must be a number, got 'down'"),
        ([LINK], {"base": "floating", "pole_mass": -1.0}, r"pole_mass \[kg\] must not be negative, got -1.0"),
    ],
)
def test_bad_arguments(links: Any, options: dict[str, Any], message: str) -> None:  # noqa: ANN401 - wrong on purpose
    with pytest.raises(ModelError, match=message):
        spatial_exoskeleton(links, **options)


def test_parameters_keep_their_ranges() -> None:
    robot = spatial_exoskeleton([LINK])
    with pytest.raises(ParameterError, match="'m1' must be greater than zero"):
        robot.evaluate(robot.mass_matrix, q=[0.0, 0.0, 0.5], p={"m1": 0.0})
    with pytest.raises(ShapeError, match=r"q must have shape \(3,\)"):
        robot.evaluate(robot.mass_matrix, q=[0.0, 0.5])


def test_a_pole_without_mass_cannot_fly() -> None:
    """The only mass stays while pole and length change: the pole, or the far end, needs a mass of its own."""
    with pytest.raises(ModelError, match="move its massless pole while no matter moves"):
        spatial_exoskeleton([LINK], base="floating")
    heavy = spatial_exoskeleton([LINK], base="floating", pole_mass=0.1)
    motion = simulate(heavy, None, np.array([0.0, 0.0, 0.0, 0.3, 0.2, 0.5]), np.zeros(6), 0.1, step=0.01)
    assert motion.ok
