"""Named parameters: declared, joined, and turned into numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike

from erugin.symbolic import NO_PARAMETERS, EruginError, ParameterError, Parameters, Range, ShapeError


def arm() -> Parameters:
    """Four parameters of which one may be negative and one has no nominal value."""
    known = Parameters.declare(
        {"mass": 2.0, "length": 0.5, "offset": -0.1}, "arm", ranges={"mass": Range.POSITIVE, "length": Range.POSITIVE}
    )
    return Parameters.collect([known, Parameters(("payload",), ca.SX.sym("payload"), {})])


# Declaring -----------------------------------------------------------------------------------------------------------


def test_names_and_symbols_in_order() -> None:
    p = Parameters.declare({"radius": 0.1, "x": 1.0, "b": -2.0}, "disc")
    assert p.names == ("disc.radius", "disc.x", "disc.b")
    assert p.symbols.shape == (3, 1)
    assert [p.symbols[i].name() for i in range(3)] == list(p.names)
    assert dict(p.nominal) == {"disc.radius": 0.1, "disc.x": 1.0, "disc.b": -2.0}
    assert list(p.nominal) == list(p.names)
    assert len(p) == 3
    np.testing.assert_array_equal(p.values(), [0.1, 1.0, -2.0])


def test_names_without_a_prefix() -> None:
    assert Parameters.declare({"m1": 1, "m2": 2}).names == ("m1", "m2")
    assert Parameters.declare({"m1": 1}, ranges={"m1": Range.POSITIVE}).ranges == {"m1": Range.POSITIVE}


def test_symbols_are_found_by_name() -> None:
    p = Parameters.declare({"m1": 1.0, "m2": 2.0})
    for i, (name, symbol) in enumerate(p):
        assert name == p.names[i]
        assert symbol.element_hash() == p.symbols[i].element_hash() == p[name].element_hash()
    assert p["m1"].element_hash() != p["m2"].element_hash()
    with pytest.raises(ParameterError, match=r"unknown parameter 'm3'\. Did you mean .* Known: m1, m2\."):
        p["m3"]


def test_symbols_of_two_declarations_differ() -> None:
    one, two = Parameters.declare({"m": 1.0}), Parameters.declare({"m": 1.0})
    assert one["m"].element_hash() != two["m"].element_hash()


def test_values_are_frozen() -> None:
    given = {"m": 1.0}
    p = Parameters.declare(given)
    given["m"] = 5.0
    assert p.nominal["m"] == 1.0
    with pytest.raises(TypeError):
        p.nominal["m"] = 2.0  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    with pytest.raises(TypeError):
        p.ranges["m"] = Range.SIGN  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    values = p.values()
    values[0] = 7.0
    assert p.values()[0] == 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nominal_values_are_finite(value: float) -> None:
    with pytest.raises(ParameterError, match=rf"'arm\.mass' must be finite, got {value}"):
        Parameters.declare({"length": 1.0, "mass": value}, "arm")


@pytest.mark.parametrize(
    ("names", "count", "nominal", "message"),
    [
        (("a", "b"), 1, {}, "2 names were given for 1 symbols"),
        (("a", "b", "a", "c", "b"), 5, {}, "must differ; given more than once: a, b"),
        (("mass", "b"), 2, {"mas": 1.0}, r"unknown parameter 'mas'\. Did you mean 'mass'\? Known: b, mass\."),
    ],
)
def test_parts_that_do_not_fit(names: tuple[str, ...], count: int, nominal: Mapping[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Parameters(names, ca.SX.sym("x", count), nominal)


def test_ranges_must_be_of_known_names() -> None:
    with pytest.raises(EruginError, match="mas"):
        Parameters(("mass",), ca.SX.sym("mass"), {}, {"mas": Range.POSITIVE})
    with pytest.raises(EruginError, match="mas"):
        Parameters.declare({"mass": 1.0}, "arm", ranges={"mas": Range.POSITIVE})


# Joining -------------------------------------------------------------------------------------------------------------


def test_joined_in_order() -> None:
    one, two = Parameters.declare({"a": 1.0, "b": 2.0}), Parameters.declare({"x": 3.0}, "disc")
    joined = Parameters.collect([one, two])
    assert joined.names == ("a", "b", "disc.x")
    assert dict(joined.nominal) == {"a": 1.0, "b": 2.0, "disc.x": 3.0}
    assert joined["disc.x"].element_hash() == two["disc.x"].element_hash()
    assert Parameters.collect([two, one]).names == ("disc.x", "a", "b")


def test_shared_symbols_are_kept_once() -> None:
    one, two = Parameters.declare({"a": 1.0, "b": 2.0}), Parameters.declare({"x": 3.0})
    joined = Parameters.collect([one, two, one, Parameters.collect([two, one])])
    assert joined.names == ("a", "b", "x")
    assert joined.symbols.numel() == 3


def test_two_symbols_of_one_name_clash() -> None:
    one, two = Parameters.declare({"a": 1.0, "b": 2.0}, "disc"), Parameters.declare({"b": 2.0}, "disc")
    with pytest.raises(ParameterError, match=r"called 'disc\.b'; .*build its owner once.*pass the same object.*name="):
        Parameters.collect([one, two])


def test_ranges_are_kept_when_joined() -> None:
    joined = arm()
    assert joined.names == ("arm.mass", "arm.length", "arm.offset", "payload")
    assert joined.ranges == {"arm.mass": Range.POSITIVE, "arm.length": Range.POSITIVE}
    assert "payload" not in joined.nominal
    with pytest.raises(ParameterError, match=r"'arm\.length' must be greater than zero"):
        joined.values({"arm.length": -1.0, "payload": 1.0})


def test_nothing_joined() -> None:
    for empty in (Parameters.collect([]), NO_PARAMETERS, Parameters.declare({}), Parameters.collect([NO_PARAMETERS])):
        assert (empty.names, len(empty), empty.symbols.shape) == ((), 0, (0, 1))
        assert empty.values().shape == empty.values({}).shape == empty.values([]).shape == (0,)
        with pytest.raises(ParameterError, match=r"unknown parameter 'm'\. Known: none\."):
            empty.values({"m": 1.0})


# Numbers -------------------------------------------------------------------------------------------------------------


def test_numbers_from_nothing_from_names_and_from_a_vector() -> None:
    p = Parameters.declare({"a": 1.0, "b": 2.0, "c": 3.0})
    for given, expected in [
        (None, [1.0, 2.0, 3.0]),
        ({}, [1.0, 2.0, 3.0]),
        ({"c": 7, "a": -1.5}, [-1.5, 2.0, 7.0]),
        ([4, 5, 6], [4.0, 5.0, 6.0]),
        ((4, 5, 6), [4.0, 5.0, 6.0]),
        (np.array([4.0, 5.0, 6.0]), [4.0, 5.0, 6.0]),
    ]:
        values = p.values(given)
        assert values.dtype == np.float64
        np.testing.assert_array_equal(values, expected)


def test_a_vector_is_copied() -> None:
    given = np.array([1.0, 2.0])
    values = Parameters.declare({"a": 1.0, "b": 2.0}).values(given)
    values[0] = 9.0
    assert given[0] == 1.0


def test_missing_nominal_value() -> None:
    with pytest.raises(ParameterError, match=r"no value for payload: .*p="):
        arm().values()
    with pytest.raises(ParameterError, match="no value for payload"):
        arm().values({"arm.mass": 1.0})
    np.testing.assert_array_equal(arm().values({"payload": 3.0}), [2.0, 0.5, -0.1, 3.0])
    np.testing.assert_array_equal(arm().values([1.0, 2.0, 3.0, 4.0]), [1.0, 2.0, 3.0, 4.0])
    two = Parameters(("a", "b", "c"), ca.SX.sym("x", 3), {"b": 1.0})
    with pytest.raises(ParameterError, match="no value for a, c:"):
        two.values()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("arm.mas", "'arm.mass'"), ("arm.lenght", "'arm.length'"), ("Payload", "'payload'"), ("armmass", "'arm.mass'")],
)
def test_misspelt_name(name: str, hint: str) -> None:
    with pytest.raises(ParameterError) as caught:
        arm().values({"payload": 1.0, name: 1.0})
    message = str(caught.value)
    assert message.startswith(f"unknown parameter {name!r}. Did you mean {hint}")
    assert message.endswith("Known: arm.length, arm.mass, arm.offset, payload.")


def test_name_like_no_other() -> None:
    with pytest.raises(ParameterError) as caught:
        arm().values({"zzz": 1.0})
    assert str(caught.value) == "unknown parameter 'zzz'. Known: arm.length, arm.mass, arm.offset, payload."


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(value: float) -> None:
    p = Parameters.declare({"a": 1.0, "b": 2.0})
    with pytest.raises(ParameterError, match=f"'b' must be finite, got {value}"):
        p.values({"b": value})
    with pytest.raises(ShapeError, match=rf"p must be finite, but p\[1\] is {value}"):
        p.values([1.0, value])


@pytest.mark.parametrize("given", [[1.0], [1.0, 2.0, 3.0], [[1.0, 2.0]], [[1.0], [2.0]], 1.0, [], "ab", ["a", "b"]])
def test_vectors_of_another_shape(given: ArrayLike) -> None:
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        Parameters.declare({"a": 1.0, "b": 2.0}).values(given)


@pytest.mark.parametrize("given", ["2.5kg", None, [1.0, 2.0], 1j])
def test_values_by_name_that_are_no_numbers(given: float) -> None:
    with pytest.raises(EruginError, match=r"arm\.mass"):
        arm().values({"payload": 1.0, "arm.mass": given})


@pytest.mark.parametrize(
    ("allowed", "good", "bad", "words"),
    [
        (Range.ANY, [-1.0, 0.0, 1e300], [], "finite"),
        (Range.POSITIVE, [5e-324, 1.0, 1e300], [0.0, -0.0, -1.0], "greater than zero"),
        (Range.NOT_NEGATIVE, [0.0, -0.0, 1.0], [-5e-324, -1.0], "at least zero"),
        (Range.SIGN, [1.0, -1.0], [0.0, 0.5, 2.0, -1.0000001], r"\+1 or -1"),
    ],
)
def test_ranges(allowed: Range, good: list[float], bad: list[float], words: str) -> None:
    p = Parameters.declare({"first": 0.0, "gain": good[0]}, "a", ranges={"gain": allowed})
    for value in good:
        assert Parameters.declare({"gain": value}, ranges={"gain": allowed}).values() == [value]
        assert p.values({"a.gain": value})[1] == value
        assert p.values([0.0, value])[1] == value
    for value in bad:
        message = rf"'a\.gain' must be {words}, got {value}"
        with pytest.raises(ParameterError, match=message):
            Parameters.declare({"first": 0.0, "gain": value}, "a", ranges={"gain": allowed})
        with pytest.raises(ParameterError, match=message):
            p.values({"a.gain": value})
        with pytest.raises(ParameterError, match=message):
            p.values([0.0, value])


def test_what_others_do_not_have() -> None:
    own, other = Parameters.declare({"a": 1.0, "b": 2.0}), Parameters.declare({"a": 3.0})
    places, symbols = own.beyond(other)
    assert places == [1]
    assert symbols.element_hash() == own["b"].element_hash()
    # Nothing of one symbol is still a column.
    assert other.beyond(own)[1].shape == (0, 1)
