"""Continuity of bases."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import linalg

from erugin.constraints import align_basis, null_space
from erugin.symbolic import ModelError, ShapeError

Array = NDArray[np.float64]


def test_it_is_the_nearest_basis() -> None:
    rng = np.random.default_rng(10)
    for _ in range(20):
        old, new = null_space(rng.normal(size=(2, 6))), null_space(rng.normal(size=(2, 6)))
        rotation, _ = linalg.orthogonal_procrustes(new, old)
        np.testing.assert_allclose(align_basis(new, old), new @ rotation, atol=1e-13)


def test_a_turning_row_gives_no_jump_and_the_transported_basis() -> None:
    """A cone of rows with opening angle β: over one turn the basis comes back turned by the solid angle.

    Parallel transport on the sphere, 2π(1 − cos β): truth from the Gauss–Bonnet theorem.
    """
    opening, steps = 1.9, 4000
    turn = np.linspace(0.0, 2.0 * np.pi, steps + 1)
    rows = np.column_stack(
        [np.full(steps + 1, np.cos(opening)), np.sin(opening) * np.cos(turn), np.sin(opening) * np.sin(turn)]
    )
    first = basis = null_space(rows[:1], "recurrent")
    jumps, raw = list[float](), list[Array]()
    for row in rows[1:]:
        plain = null_space([row], "recurrent")
        raw.append(plain)
        after = align_basis(plain, basis)
        jumps.append(float(np.abs(after - basis).max()))
        basis = after
    assert max(jumps) < 2.0 * np.pi / steps
    holonomy = first.T @ basis
    angle = np.arctan2(holonomy[1, 0], holonomy[0, 0])
    expected = 2.0 * np.pi * (1.0 - np.cos(opening))
    assert (
        abs((angle - expected + np.pi) % (2.0 * np.pi) - np.pi) < 1e-5
        or abs((angle + expected + np.pi) % (2.0 * np.pi) - np.pi) < 1e-5
    )


def test_a_flip_of_sign_is_taken_out() -> None:
    """Where γ₀ changes its sign the recurrent basis jumps, its projector does not."""
    before, after = null_space([[1e-9, 1.0, 0.5]], "recurrent"), null_space([[-1e-9, 1.0, 0.5]], "recurrent")
    assert np.abs(after - before).max() > 0.5
    np.testing.assert_allclose(align_basis(after, before), before, atol=1e-8)


def test_bad_bases_are_named() -> None:
    with pytest.raises(ShapeError, match=r"one shape \(n, k\), got \(3, 1\) and \(3, 2\)"):
        align_basis(np.eye(3)[:, :1], np.eye(3)[:, :2])
    with pytest.raises(ModelError, match="turned by 90 degrees"):
        align_basis(np.eye(3)[:, :1], np.eye(3)[:, 1:2])
    with pytest.raises(ShapeError, match="must be finite"):
        align_basis(np.eye(3)[:, :1], np.full((3, 1), np.nan))
    assert align_basis(np.zeros((2, 0)), np.zeros((2, 0))).shape == (2, 0)
