"""Curves that cannot be are refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import casadi as ca
import pytest

from erugin.constraints import circle, implicit, line, parametric, spline
from erugin.symbolic import ModelError, ShapeError

FOREIGN = ca.SX.sym("foreign")
BAD: tuple[tuple[str, Callable[[], object], str], ...] = (
    ("line: one point", lambda: line((1, 2), (1, 2), name="a"), r"'a': start and end coincide at \(1\.0, 2\.0\)"),
    ("line: dimensions", lambda: line((1, 2), (1, 2, 3), name="a"), r"'a': the start has 2 coordinates, the end 3"),
    ("line: too short", lambda: line((1,), (2,), name="a"), r"start of 'a' must have at least two coordinates"),
    ("line: nan", lambda: line((1, 2), (1, math.nan), name="a"), r"end of 'a'\[1\] must be finite, got nan"),
    ("line: inf", lambda: line((math.inf, 2), (1, 2), name="a"), r"start of 'a'\[0\] must be finite, got inf"),
    ("line: no points", lambda: line(cast(tuple[float], 1), (1, 2), name="a"), r"start of 'a' must be a sequence"),
    ("circle: radius 0", lambda: circle((0, 0), 0, name="a"), r"radius of 'a' must be greater than zero, got 0"),
    ("circle: negative", lambda: circle((0, 0), -0.5, name="a"), r"radius of 'a' must be greater than zero, got -0\.5"),
    ("circle: nan", lambda: circle((0, 0), math.nan, name="a"), r"radius of 'a' must be finite, got nan"),
    ("circle: centre", lambda: circle((0, math.inf), 1, name="a"), r"center of 'a'\[1\] must be finite, got inf"),
    (
        "circle: velocity",
        lambda: circle((0, 0), 1, velocity=(1, 2, 3), name="a"),
        r"'a': the centre has 2 coordinates, the velocity 3",
    ),
    ("circle: drift nan", lambda: circle((0, 0), 1, velocity=(0, math.nan), name="a"), r"velocity of 'a'\[1\].*nan"),
    ("spline: two points", lambda: spline([(0, 0), (1, 1)], name="a"), r"'a' needs at least 3 points.*\(2, 2\)"),
    ("spline: on a line", lambda: spline([(0,), (1,), (2,)], name="a"), r"'a' needs.*at least 2 coordinates.*\(3, 1\)"),
    ("spline: repeated", lambda: spline([(0, 0), (1, 1), (1, 1)], name="a"), r"'a': points 1 and the next coincide"),
    ("spline: nan", lambda: spline([(0, 0), (1, math.nan), (2, 1)], name="a"), r"'a': every point must be finite.*nan"),
    (
        "implicit: foreign symbol",
        lambda: implicit(lambda x, _: x[0] - FOREIGN, 2, length=1, name="a"),
        r"'a' uses foreign: declare them with parameters=",
    ),
    (
        "implicit: too many rows",
        lambda: implicit(lambda x, _: x, 2, length=1, name="a"),
        r"'a': the equation must return a column of 1 to 1",
    ),
    (
        "implicit: a matrix",
        lambda: implicit(lambda x, _: x.T, 3, length=1, name="a"),
        r"'a': the equation must return a column of 1 to 2",
    ),
    (
        "implicit: a number",
        lambda: implicit(lambda x, t: cast(ca.SX, 1.0), 2, length=1, name="a"),
        r"'a': the equation must return a column.*got 1\.0",
    ),
    ("implicit: length 0", lambda: implicit(lambda x, _: x[0], 2, length=0, name="a"), r"length of 'a'.*got 0"),
    ("implicit: length nan", lambda: implicit(lambda x, _: x[0], 2, length=math.nan, name="a"), r"length of 'a'.*nan"),
    (
        "implicit: in one dimension",
        lambda: implicit(lambda x, _: x[0], 1, length=1, name="a"),
        r"'a' needs a space of at least 2 dimensions, got 1",
    ),
    ("spline: ragged", lambda: spline([(0, 0), (1,), (2, 3)], name="a"), r"'a'"),
    ("spline: words", lambda: spline(cast(list[tuple[float]], [("x", 0), (1, 0), (2, 3)]), name="a"), r"'a'"),
    ("implicit: no dimension", lambda: implicit(lambda x, _: x[0], 0, length=1, name="a"), r"'a'"),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [pytest.param(make, message, id=label) for label, make, message in BAD],
)
def test_bad_input_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises((ModelError, ShapeError), match=message):
        make()


def test_samples_must_follow_the_bends() -> None:
    """From too few of them Newton's method finds the foot of another branch, without a sign of it."""

    def oval(s: ca.SX, t: ca.SX) -> ca.SX:
        return ca.vertcat(ca.cos(s), 0.5 * ca.sin(s))

    with pytest.raises(ModelError, match=r"'egg' turns by .* rad between the samples at s = .* at least samples=\d+"):
        parametric(oval, 0.0, 2.0 * math.pi, samples=6, name="egg")
    with pytest.raises(ModelError, match="round the corner"):
        parametric(lambda s, t: ca.vertcat(s**2, s**3), -1.0, 1.0)
    with pytest.raises(ModelError, match=r"samples of 'parametric' must be a whole number of at least 2, got 2\.5"):
        parametric(oval, 0.0, 1.0, samples=2.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(ModelError, match="the path must be a function"):
        parametric("oval", 0.0, 1.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
