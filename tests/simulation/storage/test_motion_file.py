"""Files that are damaged, foreign, of another time or hostile are refused by name, and nothing else happens."""

from __future__ import annotations

import copy
import functools
import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.simulation import load_motion
from erugin.symbolic import MotionFileError

from ...support.motions import AnyMotion, arm, batch, bits, landing, law, read_arrays, single

Arrays = dict[str, NDArray[np.generic]]
ODD: tuple[Any, ...] = (None, True, -1, 0, 10**30, 1.5, "", "x" * 40, [], [None], [[]], {}, {"names": 3}, ["a", 2])
SEEDS = 300


@functools.cache
def motion(kind: str) -> AnyMotion:
    robot = arm()
    if kind == "landing":
        return landing()[2]
    return single(robot, law(robot)) if kind == "single" else batch(robot, law(robot))


@pytest.fixture(params=["single", "batch", "landing"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[AnyMotion, Path]:
    made = motion(request.param)
    made.save(tmp_path / "whole.npz")
    return made, tmp_path / "whole.npz"


def parts(path: Path) -> tuple[dict[str, Any], Arrays]:
    arrays = read_arrays(path)
    header = json.loads(arrays.pop("header").tobytes())
    assert isinstance(header, dict)
    return header, arrays


def write(path: Path, header: object, arrays: Arrays) -> None:
    data = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **{"header": data, **arrays})  # type: ignore[arg-type]


def tampered(path: Path, change: Callable[[dict[str, Any], Arrays], None]) -> Path:
    header, arrays = parts(path)
    change(header, arrays)
    target = path.with_name("tampered.npz")
    write(target, header, arrays)
    return target


def test_what_was_not_changed_is_loaded(whole: tuple[AnyMotion, Path]) -> None:
    made, path = whole
    assert bits(load_motion(tampered(path, lambda header, arrays: None))) == bits(made)


def test_cut_off_anywhere(whole: tuple[AnyMotion, Path], tmp_path: Path) -> None:
    _, path = whole
    data, cut = path.read_bytes(), tmp_path / "cut.npz"
    for end in [*range(200), *range(200, len(data), len(data) // 150), len(data) - 1]:
        cut.write_bytes(data[:end])
        with pytest.raises(MotionFileError, match=r"cut\.npz"):
            load_motion(cut)


def test_damaged_anywhere(whole: tuple[AnyMotion, Path], tmp_path: Path) -> None:
    """A changed byte is noticed, or it is one that means nothing, such as a date in the archive."""
    made, path = whole
    data, changed, noticed = path.read_bytes(), tmp_path / "changed.npz", 0
    for seed in range(SEEDS):
        dice = random.Random(seed)
        broken = bytearray(data)
        # Half of the time where the archive tells of itself, at its end.
        places = range(len(data) - 600, len(data)) if seed % 2 else range(len(data))
        for _ in range(dice.choice([1, 1, 2, 30])):
            broken[dice.choice(places)] = dice.randrange(256)
        changed.write_bytes(broken)
        try:
            loaded = load_motion(changed)
        except MotionFileError:
            noticed += 1
        else:
            assert bits(loaded) == bits(made)
    assert noticed > SEEDS // 2


def test_every_flipped_bit_is_noticed_or_means_nothing(whole: tuple[AnyMotion, Path], tmp_path: Path) -> None:
    made, path = whole
    data, changed, noticed = path.read_bytes(), tmp_path / "changed.npz", 0
    for place in random.Random(1).sample(range(8 * len(data)), SEEDS):
        broken = bytearray(data)
        broken[place // 8] ^= 1 << place % 8
        changed.write_bytes(broken)
        try:
            assert bits(load_motion(changed)) == bits(made)
        except MotionFileError:
            noticed += 1
    assert noticed > SEEDS // 2


def places_of(header: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    if isinstance(header, dict):
        return [path, *(place for key in header for place in places_of(header[key], (*path, key)))]
    if isinstance(header, list):
        return [path, *(place for i in range(len(header)) for place in places_of(header[i], (*path, i)))]
    return [path]


def mutate(dice: random.Random, header: dict[str, Any], arrays: Arrays) -> str:
    """Change one thing of the header or one of the arrays; gives what was done."""
    if dice.random() < 0.6:
        place = dice.choice(places_of(header)[1:])
        inside: Any = header
        for key in place[:-1]:
            inside = inside[key]
        if dice.random() < 0.3:
            del inside[place[-1]]
            return f"without {place}"
        inside[place[-1]] = copy.deepcopy(dice.choice(ODD))
        return f"{place} = {inside[place[-1]]!r}"
    name = dice.choice(sorted(arrays))
    array = arrays[name]
    kinds: tuple[Callable[[], NDArray[np.generic] | None], ...] = (
        lambda: None,
        lambda: array[:-1] if array.ndim else array.reshape(1),
        lambda: array[..., None],
        lambda: array.astype(np.float32),
        lambda: np.asfortranarray(np.concatenate([array.reshape(-1, 1)] * 2, axis=1)),
        lambda: array.astype(np.str_),
        lambda: np.zeros((0, *array.shape[1:]), dtype=array.dtype),
        lambda: array.astype(">f8"),
    )
    new = dice.choice(kinds)()
    del arrays[name]
    if new is not None:
        arrays[name] = new
    return f"{name} of {array.dtype} and {array.shape} is {None if new is None else (new.dtype, new.shape)}"


def test_changed_content(whole: tuple[AnyMotion, Path]) -> None:
    """A change with a correct checksum is refused, or the file is a valid motion."""
    made, path = whole
    refused = 0
    for seed in range(SEEDS):
        header, arrays = parts(path)
        done = mutate(random.Random(seed), header, arrays)
        changed = path.with_name("changed.npz")
        write(changed, header, arrays)
        try:
            loaded = load_motion(changed)
        except MotionFileError:
            refused += 1
        else:
            assert type(loaded) is type(made), done
            loaded.save(path.with_name("again.npz"))
    assert refused > SEEDS // 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header, arrays: header.update(version=2), "version 2"),
        (lambda header, arrays: header.update(version="1"), "version '1'"),
        (lambda header, arrays: header.update(format="something else"), "not a motion file"),
        (lambda header, arrays: header.update(kind="film"), "unknown kind 'film'"),
        (lambda header, arrays: arrays.pop("q"), "'q' is missing"),
        (lambda header, arrays: arrays.update(q=arrays["q"][:-1]), r"'q' must be of float64 and shape \(51, 2\)"),
        (lambda header, arrays: arrays.update(extra=np.zeros(2)), "'extra'"),
        (lambda header, arrays: header["motion"]["parameters"].pop(), "'p' must be"),
        (lambda header, arrays: header["motion"]["notes"].append("more"), "note_times"),
    ],
)
def test_errors_of_a_file_are_named(
    change: Callable[[dict[str, Any], Arrays], None], message: str, tmp_path: Path
) -> None:
    motion("single").save(tmp_path / "whole.npz")
    with pytest.raises(MotionFileError, match=message):
        load_motion(tampered(tmp_path / "whole.npz", change))


class Trap:
    """Its pickle writes a file when it is read."""

    sprung: Path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.sprung,)


def test_pickles_are_never_read(tmp_path: Path) -> None:
    trap = Trap()
    trap.sprung = tmp_path / "sprung"
    motion("single").save(tmp_path / "whole.npz")

    def change(header: dict[str, Any], arrays: Arrays) -> None:
        arrays["q"] = np.array([trap, None], dtype=object)

    with pytest.raises(MotionFileError, match="objects are never read"):
        load_motion(tampered(tmp_path / "whole.npz", change))
    assert not (tmp_path / "sprung").exists()
    # The trap works: NumPy with allow_pickle springs it.
    with np.load(tmp_path / "tampered.npz", allow_pickle=True) as file:
        assert file["q"].dtype == object
    assert (tmp_path / "sprung").exists()


def test_archives_that_swell_are_refused(tmp_path: Path) -> None:
    motion("single").save(tmp_path / "whole.npz")
    header, _ = parts(tmp_path / "whole.npz")
    data = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez_compressed(tmp_path / "bomb.npz", header=data, q=np.zeros(10**7))
    assert (tmp_path / "bomb.npz").stat().st_size < 10**5
    with pytest.raises(MotionFileError, match="compressed"):
        load_motion(tmp_path / "bomb.npz")
    # Two names for the same bytes.
    with zipfile.ZipFile(tmp_path / "twice.npz", "w") as archive:
        archive.writestr("header.npy", b"0" * 1000)
        again = copy.copy(archive.infolist()[0])
        again.filename = "other.npy"
        archive.filelist.append(again)
        archive.NameToInfo["other.npy"] = again
    with pytest.raises(MotionFileError, match="exceed the file"):
        load_motion(tmp_path / "twice.npz")


@pytest.mark.parametrize("shape", ["(1000000000000000,)", "(0, 1000000000000000)", "(51, 3)", "(-1,)", "x"])
def test_sizes_that_are_not_there_are_refused(shape: str, tmp_path: Path) -> None:
    motion("single").save(tmp_path / "whole.npz")
    _, arrays = parts(tmp_path / "whole.npz")
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with zipfile.ZipFile(tmp_path / "sizes.npz", "w") as archive:
        archive.writestr("q.npy", b"\x93NUMPY\x01\x00\x76\x00" + text.encode() + arrays["q"].tobytes())
    with pytest.raises(MotionFileError, match=r"'q' (is|has)"):
        load_motion(tmp_path / "sizes.npz")


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"t,q\n0,1\n", b"PK\x05\x06" + bytes(18), b"\x80\x04\x95", bytes(10_000), "☃".encode() * 99],
)
def test_foreign_files_are_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "foreign.npz").write_bytes(data)
    with pytest.raises(MotionFileError, match=r"foreign\.npz"):
        load_motion(tmp_path / "foreign.npz")


def test_other_archives_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", q=np.zeros((3, 2)))
    with pytest.raises(MotionFileError, match="no header"):
        load_motion(tmp_path / "other.npz")
    deep = np.frombuffer(b"[" * 100_000, dtype=np.uint8)
    np.savez(tmp_path / "deep.npz", header=deep)
    with pytest.raises(MotionFileError, match="header cannot be read"):
        load_motion(tmp_path / "deep.npz")
    np.savez(tmp_path / "nan.npz", header=np.frombuffer(b'{"version": NaN}', dtype=np.uint8))
    with pytest.raises(MotionFileError, match="header cannot be read"):
        load_motion(tmp_path / "nan.npz")
    with warnings.catch_warnings():
        # Python warns that the name is there twice, which is what is wanted.
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / "double.npz", "w") as archive:
            for _ in range(2):
                file = io.BytesIO()
                np.lib.format.write_array(file, np.zeros(3), version=(1, 0))
                archive.writestr("q.npy", file.getvalue())
    with pytest.raises(MotionFileError, match="twice"):
        load_motion(tmp_path / "double.npz")


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.npz", tmp_path):
        with pytest.raises(MotionFileError, match="no such file"):
            load_motion(path)
