"""How often intervals contain what they should, counted on known distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from erugin.scenarios.comparison import Estimate
from erugin.scenarios.comparison.estimate import median, shift
from erugin.scenarios.comparison.paired import holm, signed_ranks, standardized
from erugin.scenarios.comparison.proportions import newcombe, tango, wilson

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Array]
TRIALS = 2000
CONFIDENCE = 0.9
SLACK = 4.0 * math.sqrt(CONFIDENCE * (1.0 - CONFIDENCE) / TRIALS)
"""Four standard errors of a share that is counted in so many trials."""


def normal(random: np.random.Generator, n: int) -> Array:
    return random.normal(0.4, 1.0, n)


def skewed(random: np.random.Generator, n: int) -> Array:
    return random.lognormal(0.0, 0.5, n)


def heavy(random: np.random.Generator, n: int) -> Array:
    return random.standard_cauchy(n)


def coverage(interval: Callable[[Array], Estimate], draw: Draw, n: int, truth: float) -> float:
    random = np.random.default_rng(12345)
    found = [interval(draw(random, n)) for _ in range(TRIALS)]
    return sum(not each.excludes(truth) for each in found) / TRIALS


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "truth"), [(normal, 0.4), (skewed, 1.0), (heavy, 0.0)])
@pytest.mark.parametrize("n", [12, 61, 400])
def test_the_median_is_covered_at_least_as_often_as_said(draw: Draw, truth: float, n: int) -> None:
    """Order statistics cannot be cut finely where there are few: exactly how often is a sum of binomial shares."""
    place = max(k for k in range(n) if stats.binom.cdf(k - 1, n, 0.5) <= (1.0 - CONFIDENCE) / 2.0)
    exact = 1.0 - 2.0 * stats.binom.cdf(place - 1, n, 0.5)
    assert exact >= CONFIDENCE
    assert coverage(lambda x: median(x, CONFIDENCE), draw, n, truth) == pytest.approx(exact, abs=SLACK)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "truth"), [(normal, 0.4), (heavy, 0.0)])
@pytest.mark.parametrize("n", [12, 200])
def test_the_shift_of_symmetric_differences_is_covered_as_often_as_said(draw: Draw, truth: float, n: int) -> None:
    share = coverage(lambda x: shift(x, CONFIDENCE), draw, n, truth)
    assert CONFIDENCE - SLACK < share < CONFIDENCE + SLACK + (0.02 if n < 50 else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "truth"),
    [(normal, 0.4), (skewed, math.exp(0.125) / math.sqrt((math.exp(0.25) - 1.0) * math.exp(0.25)))],
)
def test_the_standardized_difference_is_covered_as_often_as_said(draw: Draw, truth: float) -> None:
    """To first order: of skewed differences a little less often."""
    share = coverage(lambda x: standardized(x, CONFIDENCE), draw, 400, truth)
    assert CONFIDENCE - SLACK - (0.03 if draw is skewed else 0.0) < share < CONFIDENCE + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_shares_are_covered_as_often_as_said_on_average(n: int, share: float) -> None:
    """Wilson's interval is near its confidence, not above it everywhere: counts are whole."""
    random = np.random.default_rng(5)
    found = [wilson(int(k), n, CONFIDENCE) for k in random.binomial(n, share, TRIALS)]
    assert abs(sum(not each.excludes(share) for each in found) / TRIALS - CONFIDENCE) < SLACK + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("cells", [(0.5, 0.2, 0.1, 0.2), (0.9, 0.04, 0.03, 0.03), (0.2, 0.3, 0.3, 0.2)])
@pytest.mark.parametrize("n", [50, 400])
def test_paired_differences_of_shares_are_covered_as_often_as_said(
    cells: tuple[float, float, float, float], n: int
) -> None:
    random = np.random.default_rng(6)
    counts: list[tuple[int, int, int, int]] = [
        (int(a), int(b), int(c), int(d)) for a, b, c, d in random.multinomial(n, cells, TRIALS)
    ]
    truth = cells[1] - cells[2]
    squared = [newcombe(*each, CONFIDENCE) for each in counts]
    scored = [tango(each[1], each[2], n, CONFIDENCE) for each in counts]
    for found in (squared, scored):
        share = sum(not each.excludes(truth) for each in found) / TRIALS
        assert CONFIDENCE - SLACK - 0.02 < share < CONFIDENCE + SLACK + 0.06


@pytest.mark.slow
def test_holm_keeps_the_chance_of_any_false_finding_in_a_family() -> None:
    random = np.random.default_rng(7)
    false = sum(min(holm([signed_ranks(random.normal(size=20))[1] for _ in range(4)])) <= 0.1 for _ in range(1000))
    assert 0.04 < false / 1000 < 0.1 + 4.0 * math.sqrt(0.09 / 1000)
