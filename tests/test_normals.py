"""Normal frames and tangents are orthogonal and oriented, in any dimension."""

from __future__ import annotations

import functools
import math

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import spline
from erugin.constraints.curves.path_geometry import normal_frame, reference_axis
from erugin.symbolic import Kernel, ModelError

from .curves import any_direction, tangent_of_numbers


@functools.cache
def frame_kernel(n: int, axis: int) -> Kernel:
    """``normal_frame`` in n dimensions with a given reference axis."""
    tangent = ca.SX.sym("tangent", n)
    return Kernel("frame", {"tangent": tangent}, {"N": normal_frame(tangent, axis)}, compiled=False)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_normal_frames_are_orthonormal_and_oriented(n: int) -> None:
    rng = np.random.default_rng(n)
    for axis in [sign * (i + 1) for i in range(n) for sign in (1, -1)]:
        reference = math.copysign(1.0, axis) * np.eye(n)[abs(axis) - 1]
        checked = 0
        while checked < 8:
            tangent = any_direction(n, float(rng.uniform()))
            if n > 2 and tangent @ reference < -0.9:
                continue
            N = frame_kernel(n, axis)(tangent)[0].reshape(n, n - 1)
            np.testing.assert_allclose(N.T @ N, np.eye(n - 1), atol=1e-12)
            np.testing.assert_allclose(N.T @ tangent, 0.0, atol=1e-12)
            assert np.linalg.det(np.column_stack([N, tangent])) == pytest.approx(1.0)
            # The frame and the generalized cross product agree on what is ahead.
            np.testing.assert_allclose(tangent_of_numbers(N.T), tangent, atol=1e-12)
            checked += 1


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_the_tangent_of_any_jacobian(n: int) -> None:
    """Orthogonal to every gradient, as long as their volume, and turning over with any one of them."""
    rng = np.random.default_rng(n)
    for _ in range(20):
        J = rng.normal(size=(n - 1, n))
        tangent = tangent_of_numbers(J)
        np.testing.assert_allclose(J @ tangent, 0.0, atol=1e-12 * np.abs(tangent).max())
        assert float(tangent @ tangent) == pytest.approx(float(np.linalg.det(J @ J.T)))
        assert np.linalg.det(np.vstack([J, tangent])) == pytest.approx(float(tangent @ tangent))
        flipped = J * np.where(np.arange(n - 1) == 0, -1.0, 1.0)[:, None]
        np.testing.assert_allclose(tangent_of_numbers(flipped), -tangent, atol=1e-12 * np.abs(tangent).max())


@pytest.mark.parametrize("n", [3, 4, 5])
def test_the_best_axis_is_the_one_farthest_from_opposite(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        # Directions within some 60° of a random one.
        tangents = any_direction(n, float(rng.uniform())) + 0.25 * rng.normal(size=(30, n))
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        axis = reference_axis("path", tangents)
        worst = {s * (i + 1): (s * tangents[:, i]).min() for i in range(n) for s in (1, -1)}
        assert worst[axis] == max(worst.values())
        assert worst[axis] > -0.95


def test_no_axis_orients_tangents_in_all_directions() -> None:
    everywhere = np.vstack([np.eye(3), -np.eye(3)])
    with pytest.raises(ModelError, match=r"'loop' turns so far.*split it"):
        reference_axis("loop", everywhere)
    assert reference_axis("loop", everywhere[:-1]) in (3, -3)
    # In the plane every direction has a normal.
    assert reference_axis("loop", np.vstack([np.eye(2), -np.eye(2)])) == 1
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 2, 1), (0, 2, 0), (0, 3, 0), (0, 3, 1)]
    with pytest.raises(ModelError, match="'knot' turns so far"):
        spline([*corners, (-1, 3, 1), (-1, 2, 1), (-1, 2, 0)], name="knot")
