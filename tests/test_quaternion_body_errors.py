"""Bodies that cannot be are refused with a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike

from erugin.robots import Robot
from erugin.robots.examples import heavy_top, quaternion_body
from erugin.symbolic import ModelError, ParameterError

Maker = Callable[..., Robot]

makers = pytest.mark.parametrize("make", [quaternion_body, heavy_top])


@makers
@pytest.mark.parametrize(
    ("inertia", "message"),
    [
        (np.diag([1.0, 2.0, 3.1]), r"principal moments are 1, 2 and 3\.1 kg m².*greater than the sum"),
        (np.diag([1.0, 2.0, -1.0]), "principal moments are -1, 1 and 2 kg m², but no body has a negative one"),
        (np.diag([0.0, 1.0, 1.0]), "must be positive definite"),
        ([[1.0, 0.1, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]], "must be a symmetric matrix"),
        (np.ones(3), r"shape \(3, 3\)"),
        (np.diag([1.0, np.nan, 1.0]), "finite"),
        ("heavy", "must be numbers"),
    ],
    ids=["triangle", "negative", "rod", "unsymmetric", "vector", "nan", "word"],
)
def test_an_inertia_that_no_body_has(make: Maker, inertia: ArrayLike, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make(1.0, inertia, center=(0.0, 0.0, 0.1))


@makers
def test_other_numbers_out_of_range(make: Maker) -> None:
    with pytest.raises(ModelError, match=r"mass .* must be greater than zero, got 0"):
        make(0.0, np.eye(3), center=(0.0, 0.0, 0.1))
    with pytest.raises(ModelError, match=r"center must have shape \(3,\)"):
        make(1.0, np.eye(3), center=(0.0, 0.1))
    with pytest.raises(ModelError, match=r"center\[1\] .* must be finite, got inf"):
        make(1.0, np.eye(3), center=(0.0, np.inf, 0.1))
    with pytest.raises(TypeError, match="center"):
        make(1.0, np.eye(3))
    robot = make(1.0, np.eye(3), center=(0.0, 0.0, 0.1))
    with pytest.raises(ParameterError, match="'m' must be greater than zero"):
        robot.evaluate(robot.mass_matrix, q=np.ones(robot.coordinates.nq), p={"m": -1.0})


@makers
def test_a_flat_body_is_allowed(make: Maker) -> None:
    """A thin disc: the moment across equals the sum of the others."""
    assert make(1.0, np.diag([0.1, 0.1, 0.2]), center=(0.0, 0.0, 0.1)).nominal["Izz"] == 0.2
