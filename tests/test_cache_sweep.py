"""What is not used goes from the cache, and nothing that is not ours."""

from __future__ import annotations

import math
import time
from pathlib import Path

import pytest

from erugin.symbolic import ModelError
from erugin.symbolic.cache import cached_libraries, compiled_library, delete_libraries, prune_cache, size_limit
from erugin.symbolic.compiler import Compiler

from .caches import fill, make_old
from .processes import count_calls

MEBI = 2**20
HOUR, DAY = 3600.0, 86400.0

pytestmark = pytest.mark.usefixtures("cache")


def left(paths: list[Path]) -> list[bool]:
    return [path.exists() for path in paths]


def test_stored_tells_size_and_last_use(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 10 * DAY, 0.0)
    found = sorted(cached_libraries(cache), key=lambda one: one.used)
    assert [(one.path, one.size) for one in found] == [(path, 1000) for path in paths]
    assert found[1].used - found[0].used == pytest.approx(10 * DAY, abs=60.0)
    # To ask for one is to use it.
    compiled_library("0 ".ljust(1000), copier)
    assert min(one.used for one in cached_libraries(cache)) > time.time() - 60.0


def test_least_recently_used_goes_beyond_the_limit(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 5 * HOUR, 2 * HOUR, 4 * HOUR, 3 * HOUR)
    (cache / "swept").unlink()
    prune_cache(cache, 2500.0)
    assert left(paths) == [False, True, False, True]


def test_what_was_used_in_this_hour_stays(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 0.9 * HOUR, 2 * HOUR, 0.0)
    (cache / "swept").unlink()
    prune_cache(cache, 10.0)
    assert left(paths) == [True, False, True]


def test_what_is_long_unused_goes(cache: Path, copier: Compiler) -> None:
    paths = fill(copier, 91 * DAY, 89 * DAY)
    (cache / "swept").unlink()
    prune_cache(cache, math.inf)
    assert left(paths) == [False, True]


def test_sweeping_is_once_an_hour_and_after_compiling(
    cache: Path, copier: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", "0.0015")
    (path,) = fill(copier, 2 * HOUR)
    compiled_library("another".ljust(1000), copier)
    assert path.exists(), "it was swept when the first was compiled"
    for seconds in (0.9 * HOUR, 1.1 * HOUR):
        assert path.exists()
        make_old(cache / "swept", seconds)
        compiled_library(f"after {seconds}".ljust(1000), copier)
    assert not path.exists()
    assert len(list(cached_libraries(cache))) == 3


def others(cache: Path) -> list[Path]:
    """Files that are not ours, or may be at work."""
    zero = "0" * 32
    names = [f"zz/{zero}-{zero}.so", f"ab/{'G' * 32}-{zero}.so", "ab/readme", "ab/kernel.so", "notes.txt"]
    names += ["building-now/kernel.so", "building-1/x.o", "building-2/y.o"]
    for name in names:
        (cache / name).parent.mkdir(exist_ok=True)
        (cache / name).write_text("mine", encoding="utf-8")
        make_old(cache / name, 1000 * DAY)
    for i in (1, 2):
        make_old(cache / f"building-{i}", 1.1 * DAY)
    return [cache / name for name in names]


@pytest.mark.parametrize("clearing", [False, True])
def test_what_is_not_ours_stays(cache: Path, copier: Compiler, clearing: bool) -> None:
    paths, foreign = fill(copier, 91 * DAY, 0.0), others(cache)
    (cache / "swept").unlink()
    if clearing:
        gone = delete_libraries(cache)
        assert {one.path for one in gone} == set(paths)
        assert sum(one.size for one in gone) == 2000
    else:
        prune_cache(cache, math.inf)
    assert left(paths) == [False, not clearing]
    # Only what was left half-built a day ago.
    assert left(foreign) == [True] * 6 + [False] * 2
    assert list(cache.glob("building-*")) == [cache / "building-now"]


@pytest.mark.parametrize(("text", "size"), [("", 1024 * MEBI), ("2.5", 2.5 * MEBI), (" None ", math.inf)])
def test_limit(monkeypatch: pytest.MonkeyPatch, text: str, size: float) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", text)
    assert size_limit() == size


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", "1 GiB"])
def test_limit_that_is_none(tmp_path: Path, copier: Compiler, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("ERUGIN_CACHE_LIMIT", text)
    with pytest.raises(ModelError, match=f"above zero, or none, got {text!r}"):
        compiled_library("text", copier)
    assert count_calls(tmp_path / "copier") == 0
