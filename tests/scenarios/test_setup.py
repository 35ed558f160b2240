"""A setup runs what it says, with values of plant and controller, and under other laws."""

from __future__ import annotations

import math
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Baumgarte, EruginField, circle, follow, line, on_curve, tracking
from erugin.constraints.curves import Circle
from erugin.controllers import Program, ProgramController
from erugin.controllers.baselines import ComputedTorque
from erugin.robots import Link, Robot, planar_manipulator, with_scene
from erugin.scenarios import Measure, MeasuredValue, MotionTracking, Setup, compare, point_along, simulate
from erugin.simulation import Largest, Phase, PhasedTrajectory, Trajectory
from erugin.symbolic import EruginError, ModelError, ParameterError

DISC = circle((0.5, 0.9), 0.1, velocity=(0.1, 0.0), name="disc")


def arm() -> Robot:
    links = [Link(0.6, 2.5, 0.3, 0.075), Link(0.5, 1.8, 0.25, 0.0375)]
    return with_scene(planar_manipulator(links), DISC.parameters)


def law(robot: Robot) -> ProgramController:
    """The tip to go round a circle."""
    aim = ca.vertcat(0.6 + 0.2 * ca.cos(robot.t), 0.2 * ca.sin(robot.t))
    program = Program(robot, tracking(robot.points["tip"], aim, perturbation=Baumgarte(8.0)))
    return ProgramController(program, realization="actuated")


def setup(**more: object) -> Setup:
    robot = arm()
    known: dict[str, object] = {
        "clearance": DISC.functions(robot.points["tip"], robot.t),
        "metrics": {"torque": Largest(ca.norm_2(robot.u))},
    }
    make: type = Setup
    made = make(robot, law(robot), [-1.0, 1.6], [0.0, 0.0], **({"duration": 0.3, "step": 1e-3} | known | more))
    assert isinstance(made, Setup)
    return made


def ran(setup: Setup) -> Trajectory:
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion


def test_a_value_by_name_is_set_in_plant_and_law() -> None:
    heavy = setup().with_parameters({"m2": 2.5, "disc.x": 0.7, "trajectory.alpha": 5.0})
    assert dict(heavy.p) == {"m2": 2.5, "disc.x": 0.7}
    assert dict(heavy.controller_p) == {"m2": 2.5, "disc.x": 0.7, "trajectory.alpha": 5.0}
    motion = ran(heavy)
    assert heavy.controller is not None
    names, own = heavy.robot.parameters.names, heavy.controller.parameters.names
    assert motion.p[names.index("m2")] == motion.controller_p[own.index("m2")] == 2.5
    assert heavy.nominal["trajectory.alpha"] == 5.0
    assert heavy.nominal["m1"] == 2.5
    # A plant that the law does not know moves otherwise.
    only = setup(p={"m2": 2.5})
    assert np.abs(ran(only).q - motion.q).max() > 1e-3
    with pytest.raises(ParameterError, match=r"unknown parameter 'm3'. Did you mean 'm2' or 'm1'"):
        setup().with_parameters({"m3": 1.0})


def test_parameters_of_the_scene_are_the_plants_and_change_no_motion() -> None:
    near, far = setup(), setup().with_parameters({"disc.y": 3.0})
    motion, other = ran(near), ran(far)
    np.testing.assert_array_equal(motion.q, other.q)
    assert near.clearance is not None
    assert far.clearance is not None
    tip = motion.evaluate(near.robot.points["tip"])
    place = np.array([0.5, 0.9]) + motion.t[:, None] * [0.1, 0.0]
    np.testing.assert_allclose(motion.evaluate(near.clearance), np.linalg.norm(tip - place, axis=1) - 0.1, atol=1e-12)
    assert other.evaluate(far.clearance).min() > 1.9


def test_invalid_scenes_are_refused() -> None:
    robot = arm()
    assert with_scene(robot, DISC.parameters).parameters.names == robot.parameters.names
    with pytest.raises(ParameterError, match=r"two different parameters are called 'disc.x'"):
        with_scene(robot, circle((0.0, 0.0), 1.0, name="disc").parameters)
    bad: object = "disc"
    with pytest.raises(ModelError, match="must be a Parameters"):
        with_scene(robot, bad)  # type: ignore[arg-type]  # that is what is looked at
    with pytest.raises(ModelError, match="robot must be a Robot, got 'disc'"):
        with_scene(bad, DISC.parameters)  # type: ignore[arg-type]  # likewise


def test_a_disc_that_is_built_twice_is_another_disc() -> None:
    """A second controller with a disc of its own, of the same name and place, and what looks at the first one's."""
    robot = planar_manipulator([Link(0.6, 2.0, 0.3, 0.1)] * 2)
    tip = robot.points["tip"]

    def around(disc: Circle) -> ProgramController:
        # A field of its own too, but that shares nothing with others.
        field = EruginField(line((0.8, -0.6), (0.8, 0.6)), [disc], speed=0.2, margin=0.05)
        return ProgramController(Program(robot, follow(field, tip)), realization="actuated")

    first, second = circle((0.9, 0.0), 0.1, name="disc"), circle((0.9, 0.0), 0.1, name="disc")
    gap = first.functions(tip, robot.t)[0]
    message = (
        r"uses disc\.radius, .*disc\.x, disc\.y, which .* does not have: its own symbols of that name are different "
        r"objects, so these belong to another robot, curve or field\. Build each once, and pass the same object"
    )
    place = ([-1.2, 1.4], [0.0, 0.0])
    assert simulate(robot, around(first), *place, 0.05, step=1e-2, stop=-gap).ok
    with pytest.raises(ModelError, match=f"stop {message}"):
        simulate(robot, around(second), *place, 0.05, step=1e-2, stop=-gap)
    with pytest.raises(ModelError, match=f"the expression {message}"):
        simulate(robot, around(second), *place, 0.05, step=1e-2).evaluate(gap)
    seen = Setup(robot, around(first), *place, 0.05, 1e-2, clearance=gap)
    with pytest.raises(ModelError, match=f"metric 'clearance' {message}"):
        compare(seen, {"one": around(first), "two": around(second)}, seeds=1)
    with pytest.raises(ParameterError, match=r"called 'disc\.x'; to share one, build its owner once"):
        Program(robot, [on_curve(first, tip, name="a"), on_curve(second, tip, name="b")])


def test_the_same_motion_under_another_law() -> None:
    one = setup(controller_p={"trajectory.alpha": 5.0, "m1": 2.4})
    assert one.controller is not None
    baseline = MotionTracking(lambda s, reference: ComputedTorque(s.robot, reference, rate=5.0))(one)
    other = one.driven_by(baseline)
    assert dict(other.controller_p) == {"m1": 2.4}
    first, second = (
        ran(setup(controller_p={"trajectory.alpha": 5.0})),
        ran(one.driven_by(baseline).with_parameters({"m1": 2.5})),
    )
    # It follows what the program's law did with a wrong mass; with the right one it is given nothing to make up for.
    assert np.abs(first.q - second.q).max() < 0.05
    free = ran(one.driven_by(None))
    assert free.u.shape[1] == 0
    assert free.energy[-1] == pytest.approx(free.energy[0], abs=1e-9)


def test_a_baseline_along_the_motion_repeats_it() -> None:
    one = setup()
    motion = ran(one)
    baseline = MotionTracking(lambda s, reference: ComputedTorque(s.robot, reference, rate=8.0))
    np.testing.assert_allclose(ran(one.driven_by(baseline(one))).q, motion.q, atol=1e-4)

    seen: list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = []

    def look(s: Setup, reference: object) -> ProgramController:
        from erugin.controllers import Reference

        assert isinstance(reference, Reference)
        tip = ca.Function("tip", [s.robot.t, s.robot.p], [point_along(reference, "tip")])
        seen.append(np.array(tip.call([0.2, s.robot.parameters.values()])[0].full()[:, 0]))
        return law(s.robot)

    MotionTracking(look)(one)
    k = int(np.argmin(np.abs(motion.t - 0.2)))
    np.testing.assert_allclose(seen[0], motion.evaluate(one.robot.points["tip"])[k], atol=1e-4)
    with pytest.raises(ModelError, match="the setup has none, or phases"):
        MotionTracking(look)(one.driven_by(None))


def test_measures_and_metrics_are_listed() -> None:
    one = setup(measures={"end": Measure(lambda motion: motion.t[-1], "s", (0.2, 0.4)), "any": Measure(len)})
    motion = ran(one)
    end, length = one.measure(motion)
    assert (end.name, end.unit, end.expected) == ("end", "s", (0.2, 0.4))
    assert end.value == pytest.approx(0.3)
    assert (end.as_expected, length.as_expected, length.value) == (True, True, len(motion))
    assert not MeasuredValue("x", math.nan, "", (0.0, 1.0)).as_expected
    assert not MeasuredValue("x", 2.0, "", (0.0, 1.0)).as_expected
    assert motion.metrics["torque"] == pytest.approx(np.linalg.norm(motion.u, axis=1).max())


def test_phases_take_the_place_of_a_controller() -> None:
    robot = arm()
    phases = (Phase(law(robot), until=0.1, controller_p={"trajectory.alpha": 4.0}), Phase(None))
    one = Setup(robot, None, [-1.0, 1.6], [0.0, 0.0], 0.2, 1e-3, phases=phases)
    motion = one.run()
    assert isinstance(motion, PhasedTrajectory)
    assert one.nominal["trajectory.alpha"] == 4.0
    other = one.with_parameters({"trajectory.alpha": 6.0, "m1": 2.0})
    assert other.phases[0].controller_p == {"trajectory.alpha": 6.0, "m1": 2.0}
    assert dict(other.p) == {"m1": 2.0}
    with pytest.raises(ModelError, match="either a controller or phases"):
        Setup(robot, law(robot), [0.0, 0.0], [0.0, 0.0], 1.0, 1e-3, phases=phases)
    metrics = {"energy": Largest(robot.kinetic_energy)}
    with pytest.raises(ModelError, match="accepts no stop, metrics: "):
        Setup(robot, None, [0.0, 0.0], [0.0, 0.0], 1.0, 1e-3, phases=phases, stop=robot.t - 1, metrics=metrics)
    with pytest.raises(ModelError, match="has a controller for each"):
        one.driven_by(None)


def test_a_picture_is_drawn_of_the_motion(tmp_path: Path) -> None:
    def write(motion: Trajectory, path: Path) -> None:
        path.write_text(str(len(motion)), encoding="utf-8")

    one = setup(pictures={"length.txt": write})
    one.pictures["length.txt"](ran(one), tmp_path / "length.txt")
    assert (tmp_path / "length.txt").read_text(encoding="utf-8") == "301"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"measures": {"end": len}}, r"measure 'end' must be a Measure\(function, unit, expected\), got "),
        (
            {"pictures": {"error.png": None}},
            "picture 'error.png' must be a function of the motion and a file, got None",
        ),
        ({"pictures": {"../error.png": print}}, "must be a file name without a folder, got '../error.png'"),
        ({"q0": [0.0, 0.0, 0.0]}, r"q0 must have shape \(2,\), got shape \(3,\)"),
        ({"v0": 0.0}, r"v0 must have shape \(2,\), got shape \(\)"),
        ({"duration": 0.0}, "duration must be greater than zero, got 0.0"),
        ({"step": math.nan}, "step must be finite, got nan"),
        ({"robot": "arm"}, "robot must be a Robot, got 'arm'"),
        ({"controller": print}, "controller must be a Controller, got <built-in function print>"),
    ],
)
def test_arguments_of_another_kind_are_refused_when_it_is_made(more: dict[str, object], message: str) -> None:
    robot = arm()
    known: dict[str, object] = {"q0": [0.0, 0.0], "v0": [0.0, 0.0], "duration": 1.0, "step": 1e-3}
    make: type = Setup
    with pytest.raises(EruginError, match=message):
        make(**({"robot": robot, "controller": None} | known | more))


def test_a_measure_is_a_function_with_two_bounds_and_gives_one_number() -> None:
    bad: list[object] = [1e-6, (1.0, 0.0), (0.0,), (0.0, math.nan)]
    for expected in bad:
        with pytest.raises(ModelError, match=r"highest value (\(low, high\), got |must be a number, got NaN)"):
            Measure(len, "", expected)  # type: ignore[arg-type]  # that is what is looked at
    with pytest.raises(ModelError, match="a measure must be a function of the motion, got 3"):
        Measure(3)  # type: ignore[arg-type]  # likewise
    one = setup(duration=0.01, measures={"angles": Measure(lambda motion: motion.q)})
    with pytest.raises(ModelError, match=r"measure 'angles' must return one number, got an array of shape \(11, 2\)"):
        one.measure(ran(one))
    one = setup(duration=0.01, measures={"ending": Measure(lambda motion: motion.ending)})
    with pytest.raises(ModelError, match="measure 'ending' must return one number, got '"):
        one.measure(ran(one))
    one = setup(duration=0.01, measures={"time": Measure(lambda motion: motion.t[-1:])})
    assert one.measure(ran(one))[0].value == pytest.approx(0.01)
