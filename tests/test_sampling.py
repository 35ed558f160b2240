"""Distributions against SciPy's, and what they refuse."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from scipy import stats

from erugin.scenarios import Choice, Distribution, LogNormal, Normal, Scaled, Shifted, Uniform
from erugin.symbolic import ModelError

SHARES = np.array([1e-12, 0.01, 0.25, 0.5, 0.75, 0.99, 1.0 - 1e-12])
EACH: list[Distribution] = [
    Uniform(-2.0, 3.0),
    Normal(1.0, 0.5),
    LogNormal(2.0, 0.1),
    Choice((1.0, 5.0, 2.0)),
    Choice((1.0, 2.0), (3.0, 1.0)),
    Scaled(Uniform(0.9, 1.1)),
    Shifted(Normal(0.0, 0.01)),
]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (Uniform(-2.0, 3.0), stats.uniform(-2.0, 5.0)),
        (Normal(1.0, 0.5), stats.norm(1.0, 0.5)),
        (LogNormal(2.0, 0.1), stats.lognorm(0.1, scale=2.0)),
    ],
)
def test_quantiles_are_those_of_scipy(ours: Distribution, theirs: stats.rv_continuous) -> None:
    np.testing.assert_allclose(ours.quantile(SHARES), theirs.ppf(SHARES), rtol=1e-12, atol=1e-14)


def test_a_choice_takes_each_value_as_often_as_its_weight_says() -> None:
    shares = (np.arange(1000) + 0.5) / 1000
    even = Choice((1.0, 5.0, 2.0, 2.5)).quantile(shares)
    np.testing.assert_array_equal(np.unique(even, return_counts=True), [[1.0, 2.0, 2.5, 5.0], [250] * 4])
    weighted = Choice((1.0, 2.0, 7.0), (6.0, 0.0, 2.0)).quantile(shares)
    np.testing.assert_array_equal(np.unique(weighted, return_counts=True), [[1.0, 7.0], [750, 250]])


@pytest.mark.parametrize("distribution", EACH)
def test_quantiles_rise_keep_their_shape_and_stay_finite(distribution: Distribution) -> None:
    values = distribution.quantile(np.linspace(1e-16, 1.0 - 1e-16, 12).reshape(3, 4))
    assert values.shape == (3, 4)
    assert np.isfinite(values).all()
    if not isinstance(distribution, Choice):
        assert (np.diff(values.ravel()) >= 0.0).all()


def test_relative_distributions_go_about_the_nominal_value_and_others_do_not() -> None:
    share = np.array([0.25, 0.5])
    np.testing.assert_allclose(Scaled(Uniform(0.9, 1.1)).around(20.0, share), [19.0, 20.0])
    np.testing.assert_allclose(Shifted(Uniform(-2.0, 2.0)).around(20.0, share), [19.0, 20.0])
    np.testing.assert_array_equal(Uniform(0.0, 4.0).around(20.0, share), [1.0, 2.0])
    assert [each.is_relative for each in EACH] == [False] * 5 + [True] * 2


@pytest.mark.parametrize("distribution", EACH)
def test_a_distribution_is_a_value_that_can_be_sent(distribution: Distribution) -> None:
    copy = pickle.loads(pickle.dumps(distribution))
    assert copy == distribution
    assert hash(copy) == hash(distribution)
    with pytest.raises(AttributeError):
        distribution.low = 0.0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(1.0, 0.0), "low must not be above high, got low = 1 and high = 0"),
        (lambda: Uniform(0.0, math.inf), "high must be finite"),
        (lambda: Normal(0.0, 0.0), "deviation must be greater than zero"),
        (lambda: Normal(math.nan, 1.0), "mean must be finite"),
        (lambda: LogNormal(-1.0, 0.1), "median must be greater than zero"),
        (lambda: Choice(()), "at least one value"),
        (lambda: Choice("12"), "values of Choice must be a sequence"),  # type: ignore[arg-type]
        (lambda: Choice((1.0, 2.0), 3.0), "weights of a choice are numbers in a row"),  # type: ignore[arg-type]
        (lambda: Choice((1.0,), (1.0, 2.0)), "2 weights were given for 1 values"),
        (lambda: Choice((1.0, 2.0), (0.0, 0.0)), "at least one weight must be greater than zero"),
        (lambda: Choice((1.0, 2.0), (1.0, -1.0)), "a weight must not be negative"),
        (lambda: Scaled(Shifted(Uniform(0.0, 1.0))), "not relative itself"),
        (lambda: Shifted(0.1), "a distribution such as"),  # type: ignore[arg-type]
    ],
)
def test_bad_arguments_are_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize("share", [-0.1, 0.0, 1.0, 2.0, np.nan])
@pytest.mark.parametrize("kind", [Normal(0.0, 1.0), LogNormal(1.0, 0.3)])
def test_shares_without_a_finite_value_are_refused(kind: Distribution, share: float) -> None:
    with pytest.raises(ModelError, match="between 0 and 1"):
        kind.quantile(np.array([0.5, share]))
