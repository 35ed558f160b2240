"""The judge of natural pivots on numbers made for it, and the pivots themselves."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Literal, cast

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from erugin.robots import Robot, assemble
from erugin.robots.examples import bricard_mechanism
from erugin.simulation.natural_rank import NaturalFinding, NaturalRank

from ..support.flat_linkages import flat, parallelogram
from ..support.mechanisms import crank_rocker, stephenson

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """As much of a robot as its judge looks at."""

    natural_rows: tuple[str, ...]
    redundant: Literal["refused", "least-norm"] = "refused"
    name: str = "rows"


class Judged:
    """A judge of one lane, as a record asks it: block by block."""

    def __init__(self, *rows: str, redundant: Literal["refused", "least-norm"] = "refused") -> None:
        self.rank, self.begun = NaturalRank(cast(Robot, Rows(rows, redundant)), 1e-3), False

    def add(self, pivots: Array, relative: Array) -> NaturalFinding:
        """Report of samples of shape (n, k), which the check of their extremes must not contradict."""
        if not self.begun:
            self.rank.start(relative[None, 0], ALL)
            self.begun = True
        calm = self.rank.are_regular(pivots[None], relative[None], ALL)[0]
        found = self.rank.find(pivots[None], relative[None], ALL)
        assert not calm or not (found.changed.any() or found.falls.any())
        self.rank.update(pivots[None], ALL)
        return found


ALL = slice(None)


def first_reported(pivots: Array, *blocks: int, redundant: Literal["refused", "least-norm"] = "refused") -> int | None:
    """First reported sample of relative pivots of shape (n, k), given in blocks."""
    found = Judged(*"abcdefgh"[: pivots.shape[1]], redundant=redundant)
    reported = [found.add(part, part) for part in np.split(pivots, list(blocks))]
    every = np.concatenate([(one.changed | one.falls)[0] for one in reported])
    return int(np.argmax(every)) if every.any() else None


STEPS = np.arange(-30.0, 30.0)
SLOPE = 0.02


@given(st.floats(0.0, 1.0), st.floats(-0.01, 0.01), st.floats(-1e-4, 1e-4))
def test_a_crossing_is_detected_in_the_step_before_it(phase: float, bend: float, twist: float) -> None:
    """D = d² with d linear, a little curved, or with a third power: none is missed, at most 1.6 steps ahead."""
    time = STEPS - phase
    left = time * (1.0 + bend * time + twist * time**2)
    reported = first_reported((SLOPE * left)[:, None] ** 2)
    assert reported is not None
    assert -1.6 < time[reported] <= 1e-9


@given(st.floats(0.0, 1.0), st.floats(0.65, 30.0))
def test_a_singularity_passed_at_a_distance_is_not_reported(phase: float, distance: float) -> None:
    """δ in units of s h; whatever the phase, 0.65 and more is let pass, 0.35 is not."""
    time = STEPS - phase
    assert first_reported(SLOPE**2 * (time**2 + distance**2)[:, None]) is None
    assert first_reported(SLOPE**2 * (time**2 + 0.35**2)[:, None]) is not None


@given(st.floats(0.0, 1.0))
def test_an_end_of_reach_is_detected_in_the_step_before_it(phase: float) -> None:
    """D proportional to the time left; samples behind the end are no numbers."""
    time = STEPS - phase
    pivots = np.where(time < 0.0, -SLOPE * time / 10.0, np.nan)[:, None]
    reported = first_reported(pivots)
    assert reported is not None
    assert -1.2 <= time[reported] <= 0.0


def test_a_large_pivot_may_fall_as_fast_as_it_likes() -> None:
    swing = 0.55 + 0.45 * np.cos(np.arange(200) * 1.9)
    assert swing.min() > 0.1
    assert first_reported(swing[:, None]) is None


@given(st.lists(st.integers(1, 59), max_size=6, unique=True).map(sorted), st.floats(0.0, 1.0), st.floats(0.0, 1.2))
def test_blocks_make_no_difference(blocks: list[int], phase: float, distance: float) -> None:
    pivots = SLOPE**2 * ((STEPS - phase) ** 2 + distance**2)[:, None]
    assert first_reported(pivots, *blocks) == first_reported(pivots)


def test_a_start_of_one_sample_makes_no_difference() -> None:
    """In the first step the extrapolation is linear, so a row that halves in it is reported, however large it is."""
    halving = np.array([1.0, 0.25, 0.2, 0.2])[:, None]
    assert first_reported(halving) == first_reported(halving, 1) == first_reported(halving, 1, 2) == 1


def test_a_zero_pivot_is_reported_and_a_nan_pivot_is_not() -> None:
    """Pivots after a zero one are NaN; where the first bad pivot is NaN, something else is wrong."""
    zero, good, none = 1e-11, 0.5, np.nan
    for rows, reported in (([good, zero], 1), ([zero, none], 1), ([none, zero], None), ([good, none], None)):
        assert first_reported(np.array([[good, good], rows])) == reported


def test_a_row_that_approaches_zero_slowly_is_reported_relative_to_its_scale_or_itself() -> None:
    """A quarter less by every step, it never points to zero; a single row has no other to be compared with."""
    creeping = 0.75 ** (2.0 * np.arange(60.0))[:, None]
    reported = int(np.argmax(creeping[:, 0] <= 1e-10))
    for relative in (creeping, np.ones_like(creeping)):
        found = Judged("rod").add(creeping, relative)
        assert not found.falls[0, :reported].any()
        assert found.changed[0].tolist() == [i >= reported for i in range(60)]


def test_rows_left_out_from_the_start_are_no_fall_of_rank() -> None:
    noise = np.array([1e-16, -1e-17, 3e-16, 0.0, -2e-15])
    steady = np.column_stack([np.full(5, 0.4), noise])
    assert first_reported(steady, redundant="least-norm") is None
    assert first_reported(steady) == 0
    assert first_reported(np.column_stack([np.full(5, 0.4), [*noise[:4], 1e-9]]), redundant="least-norm") == 4
    assert first_reported(np.column_stack([[0.4, 0.4, 0.4, 0.4, 1e-11], noise]), redundant="least-norm") == 4


def test_the_sentence_names_row_and_size() -> None:
    falling = np.column_stack([np.full(5, 0.5), np.array([0.5, 0.4, 0.3, 0.2, 0.1]) ** 2, np.full(5, 0.3)])
    found = Judged("pin[0]", "pin[1]", "bar").add(falling, falling)
    assert found.falls[0].tolist() == [False, False, False, False, True]
    message = found.sentence(0, 4)
    assert "natural row 'pin[1]' of rows" in message
    assert "outside 'pin[0]', is 0.1 of the largest row" in message
    assert "falls to zero in the next step" in message
    assert "steps of 0.001 s" in message


@functools.cache
def numbers(robot: Robot) -> ca.Function:
    factor = robot.natural_factor
    outputs = [robot.mass_matrix, robot.natural_form[0], factor.pivots, factor.relative_pivots]
    return ca.Function("numbers", [robot.q, robot.v, robot.p], outputs)


def place(name: str) -> tuple[Robot, Array]:
    if name == "four-bar":
        return crank_rocker(), assemble(crank_rocker(), [0.5, 0.5, 1.5], fixed=["crank"]).q
    if name == "six-bar":
        return stephenson(), np.linspace(0.3, 1.9, stephenson().coordinates.nq)
    if name == "third crank":
        return parallelogram(), flat(1.1, 0.0)[0]
    robot = bricard_mechanism()
    return robot, np.zeros(robot.coordinates.nq)


@pytest.mark.parametrize("name", ["four-bar", "six-bar", "third crank", "Bricard's"])
def test_pivots_are_what_is_left_of_rows_in_the_metric(name: str) -> None:
    """|row i outside the rows before it|² in M⁻¹ by NumPy's least squares, over the largest of its constraint."""
    robot, q = place(name)
    M, A, pivots, relative = (
        np.array(x.full()) for x in numbers(robot).call([q, np.zeros(robot.coordinates.nv), robot.parameters.values()])
    )
    rows = np.linalg.solve(np.linalg.cholesky(M), A.T).T
    left = [r - rows[:i].T @ np.linalg.lstsq(rows[:i].T, r, rcond=1e-9)[0] if i else r for i, r in enumerate(rows)]
    squares, lengths = np.sum(np.square(left), axis=1), np.sum(rows**2, axis=1)
    np.testing.assert_allclose(pivots[:, 0], squares, rtol=1e-9, atol=1e-12 * lengths.max())
    sizes = [k.residual(robot.coordinates).numel() for k in robot.natural]
    largest = np.concatenate([np.full(len(part), part.max()) for part in np.split(lengths, np.cumsum(sizes)[:-1])])
    np.testing.assert_allclose(relative[:, 0], squares / largest, rtol=1e-9, atol=1e-12)
    assert (squares[:2] > 1e-3).all()
