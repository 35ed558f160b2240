"""A motion that is saved and loaded is the same to the last bit, with its robot or without."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import erugin
from erugin.robots import Link, planar_manipulator
from erugin.scenarios import simulate
from erugin.simulation import PhasedTrajectory, SimulationError, Trajectories, Trajectory, load_motion
from erugin.symbolic import EruginError, ModelError, MotionFileError

from ...support.motions import AnyMotion, arm, batch, bits, landing, law, phased, read_arrays, single, with_odd_bits

ARM = arm()
LAW = law(ARM)
EMPTY = PhasedTrajectory((), (), (), "nothing ran")


@functools.cache
def motion(kind: str) -> AnyMotion:
    makers: dict[str, Callable[[], AnyMotion]] = {
        "single": lambda: single(ARM, LAW),
        "free": lambda: single(ARM, None),
        "long": lambda: simulate(ARM, None, [0.1, 0.2], [0.0, 0.0], 1.0, step=1e-3),
        "odd": lambda: with_odd_bits(single(ARM, LAW)),
        "one sample": lambda: batch(ARM, LAW)[1],
        "batch": lambda: batch(ARM, LAW),
        "phased": lambda: phased(ARM, LAW),
        "landing": lambda: landing()[2],
        "bouncing": lambda: dataclasses.replace(
            landing()[2], events=("touches", None), accumulation=np.nextafter(0.2, 1.0).item()
        ),
        "empty": lambda: EMPTY,
    }
    return makers[kind]()


KINDS = ("single", "free", "long", "odd", "one sample", "batch", "phased", "landing", "bouncing", "empty")


@pytest.mark.parametrize("kind", KINDS)
def test_every_bit_comes_back(kind: str, tmp_path: Path) -> None:
    before = motion(kind)
    before.save(tmp_path / "run.npz")
    after = load_motion(tmp_path / "run.npz")
    assert type(after) is type(before)
    assert bits(after) == bits(before)
    # Saved again it is the same file.
    after.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "run.npz").read_bytes()


def test_arrays_have_the_names_of_the_first_format(tmp_path: Path) -> None:
    """Files of the first release stay readable, whatever the attributes are called since."""
    motion("single").save(tmp_path / "run.npz")
    names = {name.rpartition("/")[2] for name in read_arrays(tmp_path / "run.npz")}
    assert {"t", "q", "v", "u", "deviation", "energy", "pivots", "active", "status", "p", "law_p"} <= names


def test_bits_distinguish_motions() -> None:
    """The comparison of the test above is one: it sees a sign of zero, a type, a name and a text."""
    run = motion("single")
    assert isinstance(run, Trajectory)
    q = run.q.copy()
    q[3, 0] = np.nextafter(q[3, 0], 9.0)
    for other in (
        dataclasses.replace(run, q=q),
        dataclasses.replace(run, wall_time=-run.wall_time),
        dataclasses.replace(run, ending="otherwise"),
        dataclasses.replace(run, metrics={**run.metrics, "square": -0.0}),
        dataclasses.replace(run, named=dataclasses.replace(run.labels, rows=("a", "b"))),
    ):
        assert bits(other) != bits(run)


def test_arrays_are_read_only_and_numpy_reads_them(tmp_path: Path) -> None:
    run = motion("odd")
    assert isinstance(run, Trajectory)
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    for name in ("t", "q", "active", "status", "p"):
        assert not getattr(loaded, name).flags.writeable
    arrays = read_arrays(tmp_path / "run.npz")
    assert arrays["q"].tobytes() == run.q.tobytes()
    assert b'"erugin":"' + erugin.__version__.encode() + b'"' in arrays["header"].tobytes()


def test_robot_and_controller_bring_back_everything(tmp_path: Path) -> None:
    run = motion("single")
    assert isinstance(run, Trajectory)
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz", robot=ARM, controller=LAW)
    assert loaded.named is None
    assert (loaded.robot, loaded.controller) == (ARM, LAW)
    tip = ARM.points["tip"]
    assert loaded.evaluate(tip).tobytes() == run.evaluate(tip).tobytes()
    # Of a robot that was built again, too; without the controller its names are still known.
    other = Trajectory.load(tmp_path / "run.npz", robot=arm())
    assert other.evaluate(other.robot.points["tip"]).tobytes() == run.evaluate(tip).tobytes()
    assert other.rows == run.rows == ("line[0]", "line[1]")


def test_without_robot_it_is_plotted_and_not_evaluated(tmp_path: Path) -> None:
    run = motion("single")
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    assert len(loaded.plot(energy=True).axes) == 4
    for ask in (lambda: loaded.robot, lambda: loaded.evaluate(ARM.q[0]), lambda: loaded.draw()):
        with pytest.raises(ModelError, match="robot="):
            ask()
    with pytest.raises(ModelError, match="robot="):
        loaded.animate(tmp_path / "run.gif")
    assert not (tmp_path / "run.gif").exists()


def test_batch_keeps_its_lanes(tmp_path: Path) -> None:
    run = motion("batch")
    assert isinstance(run, Trajectories)
    run.save(tmp_path / "run.npz")
    loaded = Trajectories.load(tmp_path / "run.npz", robot=ARM, controller=LAW)
    assert len({int(n) for n in loaded.count}) > 1
    for before, after in zip(run, loaded, strict=True):
        assert bits(before) == bits(after)
    assert loaded.evaluate(ARM.points["tip"]).tobytes() == run.evaluate(ARM.points["tip"]).tobytes()


def test_phases_have_separate_plants(tmp_path: Path) -> None:
    free, held, run = landing()
    run.save(tmp_path / "run.npz")
    loaded = PhasedTrajectory.load(tmp_path / "run.npz", robot=[free, held])
    assert loaded.impacts[1] is not None
    assert bits(loaded) == bits(run)
    tip = free.points["tip"]
    assert loaded.evaluate(tip).tobytes() == run.evaluate(tip).tobytes()
    with pytest.raises(MotionFileError, match="parameters"):
        PhasedTrajectory.load(tmp_path / "run.npz", robot=free)
    with pytest.raises(MotionFileError, match="3 robots were given for 2 segments"):
        PhasedTrajectory.load(tmp_path / "run.npz", robot=[free, held, held])


def test_run_that_failed_hands_back_what_can_be_saved(tmp_path: Path) -> None:
    with pytest.raises(SimulationError) as caught:
        simulate(ARM, law(ARM), [0.0, 0.0], [0.0, 0.0], 1.0, step=1e-2)
    run = caught.value.trajectory
    run.save(tmp_path / "run.npz")
    loaded = Trajectory.load(tmp_path / "run.npz")
    assert bits(loaded) == bits(run)
    assert not loaded.ok


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (planar_manipulator([Link.point_mass(0.6, 2.5)]), "robot"),
        (dataclasses.replace(arm(), name="another"), "another"),
        (planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)], zero="down"), "energy"),
        (planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)], angles="absolute"), "energy"),
        ("an arm", "must be a Robot"),
    ],
)
def test_other_robot_is_refused_by_name(other: object, message: str, tmp_path: Path) -> None:
    motion("single").save(tmp_path / "run.npz")
    with pytest.raises(MotionFileError, match=message):
        load_motion(tmp_path / "run.npz", robot=other)  # type: ignore[arg-type]


def test_other_controller_is_refused_by_name(tmp_path: Path) -> None:
    motion("single").save(tmp_path / "run.npz")
    motion("free").save(tmp_path / "free.npz")
    with pytest.raises(MotionFileError, match="controller= requires robot="):
        load_motion(tmp_path / "run.npz", controller=LAW)
    with pytest.raises(MotionFileError, match="controller in the file: ''"):
        load_motion(tmp_path / "free.npz", robot=ARM, controller=LAW)
    with pytest.raises(MotionFileError, match="must be a Controller"):
        load_motion(tmp_path / "run.npz", robot=ARM, controller="law")  # type: ignore[arg-type]


def test_other_kind_is_refused(tmp_path: Path) -> None:
    motion("batch").save(tmp_path / "run.npz")
    with pytest.raises(MotionFileError, match="this is a Trajectories, not a Trajectory"):
        Trajectory.load(tmp_path / "run.npz")


def test_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = motion("single")
    run.save(tmp_path / "run.npz")
    before = (tmp_path / "run.npz").read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(MotionFileError, match="No space left on device"):
        motion("batch").save(tmp_path / "run.npz")
    assert (tmp_path / "run.npz").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]
    with pytest.raises(EruginError, match="cannot be written"):
        run.save(tmp_path / "nowhere" / "run.npz")


def test_array_of_another_type_is_not_rounded(tmp_path: Path) -> None:
    run = motion("single")
    assert isinstance(run, Trajectory)
    rough = dataclasses.replace(run, energy=run.energy.astype(np.float32))
    with pytest.raises(MotionFileError, match="'energy' is an array of float32"):
        rough.save(tmp_path / "run.npz")
    assert not list(tmp_path.iterdir())
