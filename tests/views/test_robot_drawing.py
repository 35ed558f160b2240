"""Pictures of robots: the skeleton, its position, and every family in one picture."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from erugin.robots import (
    Closure,
    Link,
    Robot,
    TelescopicLink,
    assemble,
    lagrangian_system,
    load_urdf,
    mechanism,
    planar_manipulator,
    spatial_exoskeleton,
)
from erugin.robots.examples import (
    altmann_heiland_crane,
    andrews_squeezer,
    bricard_mechanism,
    butterworth_ladder,
    flores_slider_crank,
    heavy_top,
    iftomm_four_bars,
    khalil_suspension,
    klann_leg,
    quaternion_body,
    turtlebot3_burger,
)
from erugin.simulation import PhasedTrajectory, Simulator, Trajectory, load_motion
from erugin.symbolic import ModelError
from erugin.views import default_pictures, motion_picture
from erugin.views.robot_drawing import MotionPostures, spread
from erugin.views.skeleton import Skeleton
from erugin.views.stroboscope import motion_figure

from ..support.motions import arm, landing, phased

ARM = """<robot name="two">
  <link name="base">BASE</link>
  <link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 0.2"/><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"/>
  <joint name="shoulder" type="continuous"><origin xyz="0 0 0.3"/><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/></joint>
  <joint name="elbow" type="continuous"><origin xyz="0 0 0.5"/><parent link="upper"/><child link="lower"/>
    <axis xyz="1 0 0"/></joint>
  <joint name="wrist" type="fixed"><origin xyz="0 0 0.4"/><parent link="lower"/><child link="hand"/></joint>
</robot>"""


def still(robot: Robot, q: ArrayLike, v: ArrayLike | None = None) -> Trajectory:
    """A few samples of a free motion."""
    nv = robot.coordinates.nv
    return Simulator(robot).run(q, np.zeros(nv) if v is None else v, 4e-3, step=1e-3)


def urdf_arm(folder: Path, base: str = "fixed") -> Robot:
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (folder / "two.urdf").write_text(ARM.replace("BASE", mass if base == "floating" else ""))
    return load_urdf(folder / "two.urdf", base="floating" if base == "floating" else "fixed")


def lines_of(robot: Robot, q: ArrayLike) -> list[np.ndarray]:
    places = MotionPostures.of(still(robot, q))
    assert places is not None
    return [corners for corners, _ in places.postures(2)[0].lines]


def test_arm_is_drawn_along_its_joints() -> None:
    (chain,) = lines_of(arm(), [0.0, np.pi / 2])
    np.testing.assert_allclose(chain, [[0.0, 0.0], [0.6, 0.0], [0.6, 0.5]], atol=1e-15)


def test_tree_is_drawn_from_joint_to_joint_and_to_what_is_fixed(tmp_path: Path) -> None:
    """The numbers are those of the URDF file: shoulder at 0.3 m, elbow 0.5 m and hand 0.9 m further."""
    robot = urdf_arm(tmp_path)
    assert not robot.chain
    skeleton = Skeleton.of(robot)
    assert skeleton is not None
    assert skeleton.name == "hand"
    drawn = {tuple(np.round(corners.ravel(), 9)) for corners in lines_of(robot, [np.pi / 2, 0.0])}
    # The base link lies at the origin and never moves; the upper arm points along x.
    assert any(line[:3] == (0.0, 0.0, 0.0) and line[-3:] == (0.0, 0.0, 0.3) for line in drawn)
    assert any(line[:3] == (0.0, 0.0, 0.3) and line[-3:] == (0.5, 0.0, 0.3) for line in drawn)
    assert any(line[:3] == (0.5, 0.0, 0.3) and line[-3:] == (0.9, 0.0, 0.3) for line in drawn)


def test_floating_body_hangs_on_nothing(tmp_path: Path) -> None:
    robot = urdf_arm(tmp_path, "floating")
    skeleton = Skeleton.of(robot)
    assert skeleton is not None
    assert skeleton.still == ()
    places = MotionPostures.of(still(robot, [5.0, 6.0, 7.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]))
    assert places is not None
    # Nothing is drawn at the origin of the world.
    assert (places.limits[0] > 3.0).all()


@pytest.mark.parametrize(
    ("make", "guess"),
    [
        (flores_slider_crank, [0.5, -0.5, 0.4]),
        (andrews_squeezer, [-0.06, 0.0, 0.45, 0.22, 0.49, -0.22, 1.23]),
        (lambda: iftomm_four_bars(2), [1.6, 0.1, 1.6, 0.1, 1.6]),
    ],
)
def test_loops_are_drawn_closed(make: Callable[[], Robot], guess: list[float]) -> None:
    """The line goes through the end of every member, and through every place at which one hangs on the ground."""
    robot = make()
    q = assemble(robot, guess).q
    (chain,) = lines_of(robot, q)
    for name in robot.coordinates.names:
        end = robot.evaluate(robot.points[f"{name}.end"], q=q)
        assert np.abs(chain - end).sum(axis=1).min() < 1e-9, name
        base = robot.points[f"{name}.base"]
        if name != "slider":
            assert np.abs(chain - robot.evaluate(base, q=q)).sum(axis=1).min() < 1e-9, name


def test_bricard_returns_to_the_ground() -> None:
    (chain,) = lines_of(bricard_mechanism(), [0.0] * 5)
    assert chain.shape == (6, 3)
    np.testing.assert_allclose(np.linalg.norm(np.diff(chain, axis=0), axis=1), 1.0)
    np.testing.assert_allclose(chain[-1], [0.0, 0.0, 1.0], atol=1e-12)


def test_wheels_stand_on_both_sides_of_the_platform() -> None:
    robot = turtlebot3_burger(form="reduced")
    places = MotionPostures.of(still(robot, [1.0, 2.0, 0.3, 0.0, 0.0], [0.2, 0.0]))
    assert places is not None
    posture = places.postures(2)[0]
    wheels = [corners for corners, kind in posture.lines if kind == "wheel"]
    along = np.array([np.cos(0.3), np.sin(0.3)])
    for corners, name in zip(wheels, ("right wheel", "left wheel"), strict=True):
        np.testing.assert_allclose(corners.mean(axis=0), robot.evaluate(robot.points[name], q=[1.0, 2.0, 0.3, 0, 0]))
        np.testing.assert_allclose(corners[1] - corners[0], 2 * robot.nominal["wheel_radius"] * along)
    assert places.name == "axle"


def test_body_shows_its_axes() -> None:
    half = np.sqrt(0.5)
    places = MotionPostures.of(still(heavy_top(1.0, np.eye(3), center=[0.0, 0.0, 0.3]), [half, 0.0, 0.0, half]))
    assert places is not None
    ((origin, axes),) = places.postures(2)[0].triads
    # A quarter of a turn about z brings x to y.
    np.testing.assert_allclose(origin, 0.0)
    np.testing.assert_allclose(axes, [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], atol=1e-12)


def test_limits_of_the_axes_contain_everything_visible() -> None:
    run = Simulator(arm()).run([0.3, 0.8], [0.0, 0.0], 1.0, step=1e-2)
    places = MotionPostures.of(run)
    assert places is not None
    low, high = places.limits
    tip = run.evaluate(run.robot.points["tip"])
    assert (tip > low).all()
    assert (tip < high).all()
    # A motion along a line is not squeezed into one.
    ball = MotionPostures.of(still(khalil_suspension(), [0.01, 0.0]))
    assert ball is not None
    low, high = ball.limits
    assert ((high - low) > 0.25 * (high - low).max()).all()


def test_parts_that_fly_away_do_not_decide_what_is_seen() -> None:
    run = Simulator(arm()).run([0.3, 0.8], [0.0, 0.0], 0.5, step=1e-2)
    robot = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 2)
    broken = dataclasses.replace(run, status=np.where(np.arange(len(run)) > 45, 2, 0))
    places, whole = MotionPostures.of(broken), MotionPostures.of(run)
    assert places is not None
    assert whole is not None
    np.testing.assert_array_equal(places.limits, whole.limits)
    slider = lagrangian_system(
        q=(q := ca.SX.sym("s")), v=(v := ca.SX.sym("w")), T=v**2 / 2, points={"end": ca.vertcat(q, 0)}, chain=("end",)
    )
    steady = Simulator(slider).run([1.0], [1.0], 1.0, step=0.1)
    s = steady.q.copy()
    s[-2:] = [[1e9], [np.nan]]
    flown = MotionPostures.of(dataclasses.replace(steady, q=s, status=np.array([0] * 9 + [2, 2])))
    assert flown is not None
    assert flown.limits[1].max() < 3.0
    with pytest.raises(ModelError, match="no sample"):
        MotionPostures.of(dataclasses.replace(steady, q=np.full((11, 1), np.nan)))
    assert robot.chain


def test_instants_are_spread_in_time() -> None:
    t = np.array([0.0, 0.1, 0.2, 0.2, 0.3, 1.0])
    assert spread(t, 3) == [0, 4, 5]
    # Of two samples of one time the later one is that after the switch.
    assert spread(t, 6) == [0, 3, 4, 5]
    assert spread(np.array([2.0]), 5) == [0]


def families(folder: Path) -> dict[str, Trajectory]:
    rod = TelescopicLink(1.0, 0.05, 0.5, 5e3, 0.4)
    chain = planar_manipulator([Link(0.3, 1.0, 0.15, 0.01)] * 3)
    looped = mechanism(chain, [Closure("tip", (0.5, 0.0))])
    klann = klann_leg(scale=0.05, line_density=2.0)
    return {
        "arm": still(chain, [0.1, 0.2, 0.3]),
        "loop": still(looped, assemble(looped, [1.0, -1.5, -0.5]).q),
        "klann": still(klann, assemble(klann, [0.9] * klann.coordinates.nq).q),
        "telescopic": still(spatial_exoskeleton([rod, rod]), [-1.2, -1.3, 0.1, 0.2, 0.4, 0.4]),
        "two-wheel": still(turtlebot3_burger(form="reduced"), [0.0] * 5, [0.2, 0.5]),
        "urdf": still(urdf_arm(folder), [0.3, 0.4]),
        "quaternion": still(quaternion_body(1.0, np.eye(3), center=[0.1, 0.0, 0.2]), [0.0] * 3 + [1.0] + [0.0] * 3),
        "crane": still(altmann_heiland_crane(), [0.0, 2.0, 0.4]),
        "circuit": still(butterworth_ladder(3, resistance=50.0, cutoff=1e3), [1e-6, 2e-6, 0.0]),
    }


def test_every_family_has_pictures(tmp_path: Path) -> None:
    for name, run in families(tmp_path).items():
        assert list(default_pictures(run)) == ["overview.png", "motion.png", "animation.gif"], name
        figure = motion_figure(run, flashes=3)
        assert isinstance(figure, Figure)
        labels = [label for axes in figure.axes for label in (axes.get_xlabel(), axes.get_ylabel())]
        assert sum("[" in label for label in labels) >= 2, name


def test_picture_is_written(tmp_path: Path) -> None:
    motion_picture(phased(arm(), None), tmp_path / "motion.png")
    assert (tmp_path / "motion.png").read_bytes().startswith(b"\x89PNG")
    still(arm(), [0.1, 0.2]).draw(tmp_path / "motion.svg", flashes=2)
    assert b"<svg" in (tmp_path / "motion.svg").read_bytes()


def test_phases_of_different_plants_are_one_motion() -> None:
    _, _, run = landing()
    places = MotionPostures.of(run)
    assert places is not None
    postures = places.postures(5)
    assert [round(posture.t, 3) for posture in postures] == [0.0, 0.05, 0.1, 0.15, 0.2]
    tip = run.evaluate(run.segments[0].robot.points["tip"])
    np.testing.assert_allclose(postures[-1].way, tip)


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    run = still(arm(), [0.1, 0.2])
    with pytest.raises(ModelError, match="at least 2"):
        run.draw(flashes=1)
    run.save(tmp_path / "run.npz")
    loaded = load_motion(tmp_path / "run.npz")
    assert isinstance(loaded, Trajectory)
    assert list(default_pictures(loaded)) == ["overview.png"]
    with pytest.raises(ModelError, match="no sample"):
        motion_figure(PhasedTrajectory((), (), (), "nothing ran"))
