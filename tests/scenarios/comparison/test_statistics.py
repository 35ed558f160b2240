"""Intervals and tests against SciPy and published figures, and their coverage."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from erugin.scenarios.comparison import Estimate, Paired
from erugin.scenarios.comparison.estimate import median, shift, signed_rank_distribution
from erugin.scenarios.comparison.paired import holm, signed_ranks, standardized
from erugin.scenarios.comparison.proportions import newcombe, tango, wilson
from erugin.symbolic import ModelError, ShapeError

Array = NDArray[np.float64]
INF = math.inf


def sample(n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_t(3, n) + 0.3


@pytest.mark.parametrize("n", [6, 7, 30, 101, 1000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_interval_of_the_median_is_that_of_scipys_quantile_test(n: int, confidence: float) -> None:
    x = sample(n)
    low, high = np.ravel(stats.quantile_test(x, p=0.5).confidence_interval(confidence)).tolist()
    low, high = -INF if math.isnan(low) else low, INF if math.isnan(high) else high
    assert median(x, confidence) == Estimate(float(np.median(x)), low, high)


def test_the_median_of_few_or_infinite_numbers() -> None:
    assert median(np.array([1.0, 2.0, 3.0]), 0.95) == Estimate(2.0, -INF, INF)
    assert median(np.full(20, INF), 0.95) == Estimate(INF, INF, INF)
    assert median(np.array([1.0] * 6 + [INF] * 6), 0.95) == Estimate(INF, 1.0, INF)
    assert math.isnan(median(np.zeros(0), 0.95).value)


@pytest.mark.parametrize("n", [5, 9, 20, 37, 50])
@pytest.mark.parametrize("confidence", [0.7, 0.9, 0.95])
def test_hodges_and_lehmanns_shift_is_the_median_of_walsh_averages_with_the_exact_interval(
    n: int, confidence: float
) -> None:
    """The interval is that of all shifts that SciPy's exact test does not reject."""
    x = sample(n)
    found = shift(x, confidence)
    walsh = np.sort(np.add.outer(x, x)[np.triu_indices(n)] / 2)
    assert found.value == pytest.approx(np.median(walsh), abs=1e-11)
    for end, inside in ((found.low, 1.0), (found.high, -1.0)):
        if math.isfinite(end):
            kept, rejected = (
                stats.wilcoxon(x - end - side * 1e-7, method="exact").pvalue for side in (inside, -inside)
            )
            assert kept > 1.0 - confidence >= rejected


def test_the_shift_of_many_is_found_without_all_averages() -> None:
    x = sample(2001)
    walsh = np.sort(np.add.outer(x, x)[np.triu_indices(2001)] / 2)
    found, n = shift(x, 0.95), 2001
    assert found.value == pytest.approx(np.median(walsh), abs=1e-11)
    half = 1.959964 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    expected = walsh[[round(n * (n + 1) / 4 - half), round(n * (n + 1) / 4 + half)]]
    np.testing.assert_allclose([found.low, found.high], expected, atol=1e-5)


@pytest.mark.parametrize("n", [12, 20, 60])
def test_an_end_of_the_shift_that_is_a_difference_of_equal_numbers_is_so_to_the_last_bit(n: int) -> None:
    """Whole differences have halves for averages: an end that should be 0 must not exclude it by rounding."""
    x = np.round(np.random.default_rng(0).normal(0.3, 1.0, n))
    found = shift(x, 0.95)
    assert [4 * found.value % 1, 2 * found.low % 1, 2 * found.high % 1] == [0.0, 0.0, 0.0]
    assert shift(np.full(n, 0.1), 0.95) == Estimate(0.1, 0.1, 0.1)


def test_the_signed_rank_distribution_is_counted_right() -> None:
    """n = 4: 16 sets of the ranks 1 to 4, by their sums."""
    assert (signed_rank_distribution(4) * 16).tolist() == [1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1]
    assert signed_rank_distribution(50).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 20), (10, 10), (500, 1000), (1, 1)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilsons_interval_is_scipys(k: int, n: int, confidence: float) -> None:
    ours, theirs = wilson(k, n, confidence), stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert ours.value == k / n


def test_paired_differences_of_shares_against_published_intervals() -> None:
    """[Fagerland2014]_: airway hyper-responsiveness (1, 1, 7, 12), and response to therapy (59, 6, 16, 80)."""
    found = newcombe(59, 6, 16, 80, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((-0.0621, -0.1186, -0.0046), abs=5e-5)
    found = tango(6, 16, 161, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((-0.0621, -0.1240, -0.0054), abs=5e-5)
    found = newcombe(1, 1, 7, 12, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((-0.286, -0.507, -0.026), abs=5e-4)
    found = tango(1, 7, 21, 0.95)
    assert (found.value, found.low, found.high) == pytest.approx((-0.286, -0.517, -0.026), abs=5e-4)


@pytest.mark.parametrize("counts", [(0, 0, 10), (10, 0, 10), (0, 7, 7), (3, 3, 100), (60, 20, 1000)])
def test_tangos_interval_is_what_the_score_test_does_not_reject(counts: tuple[int, int, int]) -> None:
    """Its test of Δ = 0 is McNemar's, (b − c)/√(b + c), and it mirrors."""
    wins, losses, n = counts
    found, mirrored = tango(wins, losses, n, 0.95), tango(losses, wins, n, 0.95)
    assert (found.low, found.high) == pytest.approx((-mirrored.high, -mirrored.low), abs=1e-12)
    assert -1.0 <= found.low <= found.value <= found.high <= 1.0
    rejected = wins + losses > 0 and abs(wins - losses) / math.sqrt(wins + losses) > 1.959964
    assert found.excludes(0.0) is rejected
    if wins == losses == 0:
        assert found.high == pytest.approx(1.959964**2 / (n + 1.959964**2), abs=1e-6)


def test_the_signed_rank_test_is_scipys_and_infinite_differences_are_the_largest() -> None:
    x = sample(40)
    biserial, p = signed_ranks(x)
    assert p == pytest.approx(stats.wilcoxon(x).pvalue, rel=1e-12)
    ranks = stats.rankdata(np.abs(x))
    assert biserial == pytest.approx((ranks[x > 0].sum() - ranks[x < 0].sum()) / ranks.sum(), rel=1e-12)
    large = np.where(np.abs(x) > 2.0, np.sign(x) * 1e9, x)
    assert signed_ranks(np.where(np.abs(x) > 2.0, np.sign(x) * INF, x)) == pytest.approx(signed_ranks(large))
    assert signed_ranks(np.zeros(5)) == (0.0, 1.0)
    assert signed_ranks(np.full(30, INF))[0] == 1.0


def test_the_standardized_difference_and_where_it_is_undefined() -> None:
    x = sample(200)
    assert standardized(x, 0.95).value == pytest.approx(x.mean() / x.std(ddof=1), rel=1e-12)
    assert standardized(np.zeros(10), 0.95) == Estimate(0.0, 0.0, 0.0)
    assert math.isnan(standardized(np.full(10, 0.3), 0.95).value)
    assert math.isnan(standardized(x[:2], 0.95).value)


def test_holms_adjustment_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_failures_are_the_worst_and_two_of_them_are_equal() -> None:
    first = np.array([1.0, np.nan, np.nan, 2.0, INF, 3.0])
    second = np.array([2.0, 1.0, np.nan, np.nan, INF, 3.0])
    found = Paired.of(first, second, "less", 0.5)
    assert (found.n, found.finite, found.wins, found.losses) == (6, 2, 2, 1)
    assert found.difference.value == 0.0
    assert found.chance.value == pytest.approx((2 + 0.5 * 3) / 6)
    assert found.shift.value == pytest.approx(-0.5)
    more = Paired.of(first, second, "more", 0.5)
    assert (more.wins, more.losses) == (1, 2)
    neither = Paired.of(first, second, "neither", 0.5)
    assert (neither.wins, neither.losses) == (0, 0)
    assert neither.difference.value == -0.5
    assert math.isnan(neither.chance.value)


def test_swapping_two_controllers_mirrors_everything() -> None:
    x, y = sample(60), sample(60, 1)
    x[3], y[7] = np.nan, np.nan
    one, other = Paired.of(x, y, "less", 0.95, family_size=3), Paired.of(y, x, "less", 0.95, family_size=3)
    assert (one.wins, one.losses, one.p) == (other.losses, other.wins, other.p)
    for name in ("difference", "shift", "effect"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a.value, a.low, a.high) == pytest.approx((-b.value, -b.high, -b.low), abs=1e-11)
    assert one.chance.low == pytest.approx(1.0 - other.chance.high, abs=1e-12)
    assert one.simultaneous.low < one.chance.low


def test_rounding_is_no_difference() -> None:
    x = sample(50)
    found = Paired.of(x, x * (1 + 1e-13), "less", 0.95)
    assert (found.wins, found.losses, found.difference, found.p) == (0, 0, Estimate(0.0, 0.0, 0.0), 1.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ShapeError, match="one shape"):
        Paired.of(np.zeros(3), np.zeros(4), "less", 0.95)
    for confidence in (0.0, 1.0, 95.0, math.nan):
        with pytest.raises(ModelError, match="confidence"):
            median(np.zeros(3), confidence)
        with pytest.raises(ModelError, match="confidence"):
            wilson(1, 3, confidence)


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
def test_intervals_of_the_median_have_at_least_the_stated_coverage(draw: Draw, truth: float, n: int) -> None:
    """Order statistics cannot be cut finely where there are few: exactly how often is a sum of binomial shares."""
    place = max(k for k in range(n) if stats.binom.cdf(k - 1, n, 0.5) <= (1.0 - CONFIDENCE) / 2.0)
    exact = 1.0 - 2.0 * stats.binom.cdf(place - 1, n, 0.5)
    assert exact >= CONFIDENCE
    assert coverage(lambda x: median(x, CONFIDENCE), draw, n, truth) == pytest.approx(exact, abs=SLACK)


@pytest.mark.slow
@pytest.mark.parametrize(("draw", "truth"), [(normal, 0.4), (heavy, 0.0)])
@pytest.mark.parametrize("n", [12, 200])
def test_intervals_of_the_shift_of_symmetric_differences_have_the_stated_coverage(
    draw: Draw, truth: float, n: int
) -> None:
    share = coverage(lambda x: shift(x, CONFIDENCE), draw, n, truth)
    assert CONFIDENCE - SLACK < share < CONFIDENCE + SLACK + (0.02 if n < 50 else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "truth"),
    [(normal, 0.4), (skewed, math.exp(0.125) / math.sqrt((math.exp(0.25) - 1.0) * math.exp(0.25)))],
)
def test_intervals_of_the_standardized_difference_have_the_stated_coverage(draw: Draw, truth: float) -> None:
    """To first order: of skewed differences a little less often."""
    share = coverage(lambda x: standardized(x, CONFIDENCE), draw, 400, truth)
    assert CONFIDENCE - SLACK - (0.03 if draw is skewed else 0.0) < share < CONFIDENCE + SLACK


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_intervals_of_shares_have_the_stated_coverage_on_average(n: int, share: float) -> None:
    """Wilson's interval is near its confidence, not above it everywhere: counts are whole."""
    random = np.random.default_rng(5)
    found = [wilson(int(k), n, CONFIDENCE) for k in random.binomial(n, share, TRIALS)]
    assert abs(sum(not each.excludes(share) for each in found) / TRIALS - CONFIDENCE) < SLACK + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("cells", [(0.5, 0.2, 0.1, 0.2), (0.9, 0.04, 0.03, 0.03), (0.2, 0.3, 0.3, 0.2)])
@pytest.mark.parametrize("n", [50, 400])
def test_intervals_of_paired_differences_of_shares_have_the_stated_coverage(
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
