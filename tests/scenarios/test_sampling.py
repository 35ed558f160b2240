"""Distributions against SciPy's, and the draws of a seed."""

from __future__ import annotations

import hashlib
import math
import pickle

import numpy as np
import pytest
from scipy import stats

from erugin.scenarios import Choice, Distribution, LogNormal, Normal, Scaled, Shifted, Uniform, sample
from erugin.scenarios.sampling.seeded_values import block, seed_numbers, shares
from erugin.symbolic import ModelError, ParameterError

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


def test_a_choice_draws_each_value_with_its_weight() -> None:
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
        (lambda: Choice((1.0, 2.0), 3.0), "weights of a Choice must be a sequence of numbers"),  # type: ignore[arg-type]
        (lambda: Choice((1.0,), (1.0, 2.0)), "got 2 weights for 1 values"),
        (lambda: Choice((1.0, 2.0), (0.0, 0.0)), "at least one weight must be greater than zero"),
        (lambda: Choice((1.0, 2.0), (1.0, -1.0)), "a weight must not be negative"),
        (lambda: Scaled(Shifted(Uniform(0.0, 1.0))), "that is not relative"),
        (lambda: Shifted(0.1), "requires a distribution that is not relative"),  # type: ignore[arg-type]
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


UNIT = Uniform(0.0, 1.0)
MANY = 20_000


def test_blocks_are_those_of_numpys_philox() -> None:
    key = 0x123456789ABCDEF0, 0xFEDCBA9876543210
    counters = [1, 2, 3, 2**32 + 1, 2**63 + 5]
    theirs = [np.random.Philox(key=key[0] | key[1] << 64, counter=c - 1).random_raw(4) for c in counters]
    np.testing.assert_array_equal(np.stack(block(key, np.array(counters, dtype=np.uint64)), axis=1), theirs)


def test_a_share_is_the_upper_bits_of_the_block_under_the_hash_of_the_name() -> None:
    key = int.from_bytes(hashlib.blake2b(b"plant.m1", digest_size=16).digest(), "little")
    raw = int(np.random.Philox(key=key, counter=41).random_raw(1)[0])
    assert shares("plant.m1", np.array([42], dtype=np.uint64))[0] == ((raw >> 12) + 0.5) / 2**52


def test_the_numbers_never_change() -> None:
    reported = shares("m1", np.array([0, 1, 2, 12345678901], dtype=np.uint64))
    expected = ["0x1.959e8015b736dp-1", "0x1.f9b3939f92672p-2", "0x1.2ba1ea844691bp-1", "0x1.f2da28aa3b46ap-2"]
    assert [value.hex() for value in reported.tolist()] == expected
    columns = sample({"a": UNIT, "ä.b": Uniform(-1.0, 3.0)}, 2)
    assert [value.hex() for value in columns["a"].tolist()] == ["0x1.c22b3ead040dbp-1", "0x1.b44b9e4f20931p-1"]
    assert [value.hex() for value in columns["ä.b"].tolist()] == ["0x1.3154938a67890p-3", "0x1.9855b61932f82p+0"]


def test_a_value_depends_on_its_name_and_seed_only() -> None:
    varied = {"a": UNIT, "b": Normal(0.0, 1.0), "c": LogNormal(1.0, 0.1)}
    whole = sample(varied, 100)
    some = sample({"c": varied["c"], "b": varied["b"]}, [70, 3, 70])
    for name in some:
        np.testing.assert_array_equal(some[name], whole[name][[70, 3, 70]])
    parts = [sample(varied, range(first, first + 25)) for first in range(0, 100, 25)]
    for name in varied:
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), whole[name])


def test_values_are_even_and_independent_between_names_and_seeds() -> None:
    names = ["m1", "m2", "plant.m1", "law.m1", "q0.x"]
    columns = np.array([shares(name, np.arange(MANY, dtype=np.uint64)) for name in names])
    assert columns.min() > 0.0
    assert columns.max() < 1.0
    # Six looks at what chance does; each would fail once in ten thousand keys.
    for column in columns:
        assert stats.kstest(column, "uniform").pvalue > 1e-4
        lag = stats.pearsonr(column[:-1], column[1:]).statistic
        assert abs(lag) < 4.0 / np.sqrt(MANY)
    across = np.asarray(np.corrcoef(columns))[np.triu_indices(len(names), 1)]
    assert np.abs(across).max() < 4.5 / np.sqrt(MANY)
    counts = np.histogram2d(columns[0], columns[1], bins=10, range=[[0, 1], [0, 1]])[0].ravel()
    assert stats.chisquare(counts).pvalue > 1e-4


def test_relative_distributions_need_the_nominal_value() -> None:
    varied = {"m1": Scaled(UNIT)}
    np.testing.assert_array_equal(sample(varied, 5, lambda name: 3.0)["m1"], 3.0 * sample({"m1": UNIT}, 5)["m1"])
    with pytest.raises(ParameterError, match="the distribution of 'm1' is relative to its nominal value"):
        sample(varied, 5)


@pytest.mark.parametrize("seeds", [0, -1, [], [-1], [0.5], [[1]], True, [2**63], "12", [1, [2]]])
def test_what_is_no_seeds_is_refused(seeds: object) -> None:
    with pytest.raises(ModelError, match="seeds must be their number"):
        seed_numbers(seeds)  # type: ignore[arg-type]


def test_what_is_no_distribution_is_refused() -> None:
    with pytest.raises(ModelError, match="the distribution of 'm1' must be a Distribution"):
        sample({"m1": 1.0}, 3)  # type: ignore[dict-item]


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(ModelError, match=r"distributions must be a mapping by name, .*, got \[Uniform"):
        sample([UNIT], 3)  # type: ignore[arg-type]  # as a user might
