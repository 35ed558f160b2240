"""Whatever is done to a URDF file, it is read, or refused by an error of Erugin's own."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from erugin.robots import Robot, load_urdf
from erugin.robots.urdf import UrdfError
from erugin.symbolic import EruginError

from ...support.urdf import ARM

WHOLE = ARM.encode()
WORDS = sorted({*ARM.replace(">", " > ").replace('"', ' " ').split(), "nan", "-1", "0", "1e999", "", "é", "\0", "&lt;"})

mutation = st.one_of(
    st.tuples(st.just("cut"), st.integers(0, len(WHOLE)), st.just(b"")),
    st.tuples(st.just("put"), st.integers(0, len(WHOLE)), st.binary(max_size=8)),
    st.tuples(st.just("put"), st.integers(0, len(WHOLE)), st.sampled_from(WORDS).map(str.encode)),
    st.tuples(st.just("drop"), st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("word"), st.integers(0, 500), st.sampled_from(WORDS).map(str.encode)),
)


def mutate(data: bytes, how: tuple[str, int, bytes]) -> bytes:
    """Cut off, insert, drop some bytes, or replace a word."""
    kind, place, what = how
    if kind == "cut":
        return data[:place]
    if kind == "put":
        return data[:place] + what + data[place:]
    if kind == "drop":
        return data[:place] + data[place + len(what) :]
    words = data.split(b'"')
    words[place % len(words)] = what
    return b'"'.join(words)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "robot.urdf"


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(mutations=st.lists(mutation, min_size=1, max_size=4))
@example(mutations=[])
def test_a_changed_file_loads_or_is_refused_by_name(path: Path, mutations: list[tuple[str, int, bytes]]) -> None:
    data = WHOLE
    for how in mutations:
        data = mutate(data, how)
    path.write_bytes(data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outcome: Robot | EruginError = load_urdf(path)
        except EruginError as error:
            outcome = error
    if isinstance(outcome, Robot):
        # What was let in has equations of motion.
        q = np.full(outcome.coordinates.nq, 0.5)
        assert np.isfinite(outcome.evaluate(outcome.mass_matrix, q=q)).all()
    else:
        assert isinstance(outcome, UrdfError)
        assert str(outcome).startswith(str(path))


@settings(
    max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused_by_name(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(UrdfError):
        load_urdf(path)
