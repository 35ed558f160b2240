"""Phases with feet that land and lift, and contacts that fail."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import cast

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.constraints import holonomic, nonholonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Contact, TelescopicLink, contact_force, exoskeleton, with_contacts
from erugin.simulation import DOP853, Phase, PhasedSimulationError, PhasedTrajectory, simulate_phases
from erugin.symbolic import EruginError, ModelError, ParameterError, ShapeError, StartWarning

from ...support.struts import (
    FALLING,
    INERTIA,
    LEFT,
    LENGTH,
    MASS,
    PHI,
    REST,
    RIGHT,
    SHOE,
    STIFFNESS,
    G,
    X,
    Y,
    on,
    strut,
    upright,
)

Array = NDArray[np.float64]


@functools.cache
def tumbling() -> PhasedTrajectory:
    """The left end falls to the ground, the right one follows, then both are let go."""
    robot = strut()
    phases = [
        Phase(None, until=-robot.points["pole"][1], name="fall"),
        Phase(None, until=-robot.points["tip"][1], name="left", robot=on(LEFT), contacts=(LEFT,)),
        Phase(None, until=0.9, name="both", robot=on(LEFT, RIGHT), contacts=(LEFT, RIGHT)),
        Phase(None, name="flight"),
    ]
    return simulate_phases(robot, phases, *FALLING, 1.0, step=5e-3, integrator=DOP853())


def momenta(q: Array, v: Array, about: Array) -> Array:
    """Momentum and angular momentum of the two bodies, from their places alone, shape (3,)."""
    along, across = np.array([np.cos(q[PHI]), np.sin(q[PHI])]), np.array([-np.sin(q[PHI]), np.cos(q[PHI])])
    place, speed = q[:2], v[:2]
    center = place + q[LENGTH] / 2 * along
    moving = speed + v[LENGTH] / 2 * along + q[LENGTH] / 2 * v[PHI] * across

    def turning(r: Array, p: Array) -> float:
        return float(r[0] * p[1] - r[1] * p[0])

    linear = SHOE * speed + MASS * moving
    angular = turning(place - about, SHOE * speed) + turning(center - about, MASS * moving) + INERTIA * v[PHI]
    return np.array([*linear, angular])


def test_each_foot_is_made_by_one_impact_and_let_go_without() -> None:
    motion = tumbling()
    assert motion.names == ("fall", "left", "both", "flight")
    assert [blow is not None for blow in motion.impacts] == [False, True, True, False]
    assert motion.ending == "the duration is over"
    assert motion.switches[2] == 0.9
    for before, after in zip(motion.segments, motion.segments[1:], strict=False):
        np.testing.assert_array_equal(after.q[0], before.q[-1])
    np.testing.assert_array_equal(motion.segments[3].v[0], motion.segments[2].v[-1])


def test_an_impact_takes_the_energy_of_the_lost_velocities_and_leaves_the_momenta_that_it_must() -> None:
    """Carnot; by Euler nothing turns about the foot that is struck; two feet give the momentum between them."""
    motion = tumbling()
    for k, foot in ((1, "left"), (2, "right")):
        before, after, blow = motion.segments[k - 1], motion.segments[k], motion.impacts[k]
        assert blow is not None
        q, lost = after.q[0], before.v[-1] - after.v[0]
        M = strut().evaluate(strut().mass_matrix, q=q)
        assert blow.energy_loss == pytest.approx(float(lost @ M @ lost) / 2, rel=1e-9)
        assert before.energy[-1] - after.energy[0] == pytest.approx(blow.energy_loss, rel=1e-9)
        assert blow.energy_loss > 0.1
        assert blow.by_constraint[foot][1] > 0.0
        place = q[:2]
        gained = momenta(q, after.v[0], place) - momenta(q, before.v[-1], place)
        impulse = np.sum([np.asarray(x) for x in blow.by_constraint.values()], axis=0)
        np.testing.assert_allclose(gained[:2], impulse, rtol=1e-9)
        if k == 1:
            assert abs(gained[2]) < 1e-12
            assert abs(momenta(q, after.v[0], place)[2]) > 1e-3
        else:
            # The left end is at this place: only the right one can turn the strut.
            reach = np.asarray(strut().evaluate(strut().points["tip"], q=q)) - place
            right = blow.by_constraint["right"]
            assert gained[2] == pytest.approx(float(reach[0] * right[1] - reach[1] * right[0]), rel=1e-9)


def test_what_stands_keeps_its_place_although_the_foot_has_drifted() -> None:
    """The place is that of the touch-down, to the last bit, through the second touch-down."""
    motion = tumbling()
    _, left, both, flight = motion.segments
    names = left.robot.parameters.names
    first = [left.p[names.index(name)] for name in LEFT.position_names]
    names = both.robot.parameters.names
    assert [both.p[names.index(name)] for name in LEFT.position_names] == first
    np.testing.assert_array_equal(first, motion.segments[0].q[-1, :2])
    drifted = np.abs(left.q[-1, :2] - first).max()
    assert 0.0 < drifted < 1e-6
    np.testing.assert_allclose(both.q[:, :2], np.tile(first, (len(both), 1)), atol=1e-6)
    assert "left.x" not in flight.robot.parameters.names


def test_between_the_impacts_energy_stays_and_in_the_air_the_centre_of_mass_falls_freely() -> None:
    motion = tumbling()
    for segment in motion.segments:
        assert np.ptp(segment.energy) < 1e-6
    flight = motion.segments[3]
    fall = np.array([momenta(q, v, np.zeros(2))[:2] for q, v in zip(flight.q, flight.v, strict=True)])
    expected = fall[0] - np.outer(flight.t - flight.t[0], [0.0, G * (MASS + SHOE)])
    np.testing.assert_allclose(fall, expected, atol=1e-8)


def test_a_foot_that_stands_from_the_beginning_is_not_struck() -> None:
    """Nor is one that stood before; one that was lifted in between is."""
    q0 = np.array([0.1, 0.0, np.pi / 2, REST - MASS * G / STIFFNESS / 2])
    air = Phase(None, until=0.1, name="air")
    phases = [
        Phase(None, until=0.05, name="first", robot=on(LEFT), contacts=(LEFT,)),
        Phase(None, until=0.07, name="second", robot=on(LEFT), contacts=(LEFT,)),
        air,
        Phase(None, name="again", robot=on(LEFT), contacts=(LEFT,)),
    ]
    motion = simulate_phases(strut(), phases, q0, np.zeros(4), 0.2, step=5e-3)
    assert [blow is not None for blow in motion.impacts] == [False, False, False, True]
    np.testing.assert_allclose(motion.segments[1].q[:, :2], np.tile([0.1, 0.0], (len(motion.segments[1]), 1)))
    # It is where it has come to in the air, not where it stood.
    now = motion.segments[3]
    place = [now.p[now.robot.parameters.names.index(name)] for name in LEFT.position_names]
    np.testing.assert_array_equal(place, now.q[0, :2])
    assert abs(place[1]) > 1e-4


def test_a_name_that_another_point_takes_is_another_foot() -> None:
    """Contacts are distinguished by point and name: the second is made at its own point."""
    other = Contact("tip", (0.0, 1.0), "left")
    robot = strut()
    flat = np.array([0.1, 0.0, 0.0, REST]), np.zeros(4)
    phases = [
        Phase(None, until=0.01, robot=on(LEFT), contacts=(LEFT,)),
        Phase(None, robot=on(other), contacts=(other,)),
    ]
    motion = simulate_phases(robot, phases, *flat, 0.02, step=1e-3)
    assert motion.impacts[1] is not None
    second = motion.segments[1]
    tip = second.evaluate(robot.points["tip"])
    np.testing.assert_allclose(tip, np.tile(tip[0], (len(second), 1)), atol=1e-9)
    assert tip[0, 0] == pytest.approx(0.1 + REST, abs=1e-3)


def test_points_and_parameters_may_be_those_of_the_phases_own_plant() -> None:
    """A heel that only the plant on it has; a heavier strut, which all phases and the impact feel."""
    robot = strut()
    heel = Contact("heel", (0.0, 1.0))
    shod = dataclasses.replace(robot, points={**robot.points, "heel": robot.q[:2] - ca.DM([0.0, 0.02])})
    plant = with_contacts(shod, [heel])
    phases = [Phase(None, until=0.02 - robot.q[1]), Phase(None, robot=plant, contacts=(heel,), name="on the heel")]
    motion = simulate_phases(robot, phases, *FALLING, 0.5, step=5e-3, p={"m1": 5.0})
    blow = motion.impacts[1]
    assert blow is not None
    lost = motion.segments[0].v[-1] - blow.velocity
    M = robot.evaluate(robot.mass_matrix, q=motion.segments[1].q[0], p={"m1": 5.0})
    assert blow.energy_loss == pytest.approx(float(lost @ M @ lost) / 2, rel=1e-9)
    assert motion.segments[1].p[plant.parameters.names.index("heel.y")] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize("called", [False, True])
def test_the_controller_gets_the_places_that_it_has(called: bool) -> None:
    """One whose model stands on the foot, and one that knows nothing of it."""
    fall = Phase(None, until=-strut().q[1])
    for model, names in ((on(LEFT), LEFT.position_names), (strut(), ())):
        law = upright(model, called=called)
        phases = [fall, Phase(law, robot=on(LEFT), contacts=(LEFT,), name="up", controller_p={"m1": 1.9})]
        motion = simulate_phases(strut(), phases, *FALLING, 0.4, step=5e-3)
        last = motion.segments[1]
        known = dict(zip(law.parameters.names, last.controller_p, strict=True))
        assert {name for name in known if name.startswith("left")} == set(names)
        assert known["m1"] == 1.9
        for i, name in enumerate(names):
            assert known[name] == last.q[0, i]


def test_with_the_foot_in_its_model_the_law_is_exact_from_the_impact_on() -> None:
    """y = (y₀ + (ẏ₀ + 8 y₀) t) e^(−8t) with what the impact left; without the foot in the model it is not."""
    fall = Phase(None, until=-strut().q[1])
    misses: list[float] = []
    for model in (on(LEFT), strut()):
        up = Phase(upright(model), robot=on(LEFT), contacts=(LEFT,))
        motion = simulate_phases(strut(), [fall, up], *FALLING, 0.8, step=2e-3, integrator=DOP853())
        last = motion.segments[1]
        t = last.t - last.t[0]
        y0, rate0 = last.q[0, PHI] - np.pi / 2, last.v[0, PHI]
        expected = (y0 + (rate0 + 8.0 * y0) * t) * np.exp(-8.0 * t)
        misses.append(float(np.abs(last.q[:, PHI] - np.pi / 2 - expected).max()))
    assert misses[0] < 1e-8
    assert misses[1] > 1e-2


def test_velocities_are_made_consistent_after_the_foot_is_down() -> None:
    """First the ground's impulse, then the program's, which the ground carries too."""
    robot = strut()
    level = ProgramController(Program(on(LEFT), nonholonomic(robot.v[PHI] - 0.7, name="turning")))
    phases = [
        Phase(None, until=-robot.q[1]),
        Phase(level, robot=on(LEFT), contacts=(LEFT,), velocities="consistent", name="turning"),
    ]
    motion = simulate_phases(robot, phases, *FALLING, 0.4, step=5e-3)
    blow, jump = motion.impacts[1], motion.jumps[1]
    assert blow is not None
    assert jump is not None
    assert jump.energy_before == pytest.approx(blow.energy_after, rel=1e-12)
    np.testing.assert_allclose(jump.velocity - jump.change, blow.velocity, atol=1e-12)
    v = motion.segments[1].v[0]
    np.testing.assert_allclose(v[[X, Y, PHI]], [0.0, 0.0, 0.7], atol=1e-12)
    # About the foot the program's own couple is the reaction of the ground and nothing else turns the strut.
    q = motion.segments[1].q[0]
    turned = momenta(q, v, q[:2])[2] - momenta(q, np.asarray(blow.velocity), q[:2])[2]
    assert turned == pytest.approx(float(jump.impulses[0]), rel=1e-9)


def test_a_phase_ends_where_the_ground_would_have_to_pull() -> None:
    """The centre of mass moves half as far as the spring, so the shoe hangs on twice the spring's force there."""
    force = contact_force(on(LEFT), LEFT, u=ca.SX.zeros(1))[1]
    q0 = np.array([0.0, 0.0, np.pi / 2, REST - 0.1])
    phases = [Phase(None, until=-force, robot=on(LEFT), contacts=(LEFT,), name="press"), Phase(None, name="hop")]
    motion = simulate_phases(strut(), phases, q0, np.zeros(4), 0.4, step=1e-3)
    assert motion.names == ("press", "hop")
    # m l̈/4 + m g/2 = −k (l − l₀), and (m + m_shoe) g + m l̈/2 = 0 on the ground.
    assert motion.segments[0].q[-1, LENGTH] == pytest.approx(REST + SHOE * G / (2 * STIFFNESS), abs=1e-7)
    assert motion.segments[1].q[:, 1].max() > 0.05


def test_a_failing_phase_hands_back_segments_and_impacts() -> None:
    """|x″| = … ends where the acceleration vanishes, in the phase after the touch-down."""
    robot = strut()
    rows = [second_order(robot.coordinates.a[PHI] ** 2 - (0.3 - robot.t), name="curved")]
    fading = ProgramController(Program(on(LEFT), rows), acceleration_guess=[0.0, 0.0, 1.0, 0.0])
    phases = [
        Phase(None, until=-robot.q[1], name="fall"),
        Phase(fading, until=0.5, robot=on(LEFT), contacts=(LEFT,), name="fading"),
        Phase(None, name="never"),
    ]
    with pytest.raises(PhasedSimulationError, match=r"phase 'fading': .*'curved'") as caught:
        simulate_phases(robot, phases, *FALLING, 1.0, step=2e-3)
    kept = caught.value.trajectory
    assert kept.names == ("fall", "fading")
    assert len(kept.segments) == len(kept.impacts) == len(kept.jumps) == 2
    assert kept.impacts[0] is None
    assert kept.impacts[1] is not None
    assert 0.28 < kept.t[-1] <= 0.3


def test_a_phase_that_cannot_start_returns_the_motion_before_it() -> None:
    """A rod of fixed length on two feet has a row too many: the impact is determined, the reactions are not."""
    link = TelescopicLink(MASS, INERTIA, 0.5, STIFFNESS, REST)
    rod = exoskeleton([link], base="floating", pole_mass=SHOE, rigid=True)
    first, both = with_contacts(rod, [LEFT]), with_contacts(rod, [LEFT, RIGHT])
    phases = [
        Phase(None, until=-rod.points["tip"][1], robot=first, contacts=(LEFT,), name="tip over"),
        Phase(None, robot=both, contacts=(LEFT, RIGHT), name="lie"),
    ]
    with pytest.raises(PhasedSimulationError, match=r"phase 'lie': .*depend") as caught:
        simulate_phases(rod, phases, [0.0, 0.0, 0.2, REST], np.zeros(4), 1.0, step=5e-3)
    kept = caught.value.trajectory
    assert kept.names == ("tip over",)
    assert kept.q[-1, PHI] == pytest.approx(0.0, abs=1e-9)
    assert caught.value.status is Status.FAILED
    # Rows that contradict each other in the instant of the impact.
    moving = dataclasses.replace(
        strut(), natural=(holonomic(strut().q[X] - 0.2 - 0.3 * strut().t, name="belt"),), name="on a belt"
    )
    phases = [
        Phase(None, until=-strut().q[1], name="fall"),
        Phase(None, robot=with_contacts(moving, [LEFT]), contacts=(LEFT,), name="clash"),
    ]
    with pytest.raises(PhasedSimulationError, match=r"phase 'clash': .* contradict each other: .*belt") as caught:
        simulate_phases(strut(), phases, *FALLING, 1.0, step=5e-3)
    assert caught.value.trajectory.names == ("fall",)
    assert caught.value.trajectory.impacts == (None,)


def run(*phases: Phase, p: Mapping[str, float] | ArrayLike | None = None) -> PhasedTrajectory:
    return simulate_phases(strut(), phases, *FALLING, 0.1, step=1e-2, p=p)


def land(contact: Contact = LEFT, **others: object) -> Phase:
    kept = {"robot": on(contact), "contacts": (contact,), "name": "land", **others}
    return Phase(cast("ProgramController | None", kept.pop("controller", None)), **kept)  # type: ignore[arg-type]


STRANGER = exoskeleton([TelescopicLink(MASS, INERTIA, 0.5, STIFFNESS, REST)], base="floating", pole_mass=SHOE)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Phase(None, contacts=(LEFT,)), ModelError, "require a robot with these contacts on"),
        (lambda: land(robot=strut()), ModelError, r"'left' is not active; .* Activate it with with_contacts"),
        (
            lambda: land(contacts=(RIGHT,)),
            ModelError,
            r"'right' is not active; the robot's natural constraints: 'left'",
        ),
        (lambda: land(contacts=LEFT), ModelError, "contacts must be a list of Contact"),
        (lambda: land(contacts=("left",)), ModelError, "contacts must be a list of Contact"),
        (lambda: land(contacts=(LEFT, LEFT)), ModelError, "contacts of 'land' must differ, got 'left', 'left'"),
        (lambda: land(robot="strut"), ModelError, "plant of 'land' must be a Robot or None, got 'strut'"),
        (
            lambda: run(land(robot=with_contacts(STRANGER, [LEFT]))),
            ModelError,
            "plant of 'land' must have the coordinates of strut",
        ),
        (
            lambda: run(land(), p=np.ones(9)),
            ModelError,
            r"p must be a mapping from names: .* 'land' .*left\.x, left\.y",
        ),
        (
            lambda: run(land(controller=upright(on(LEFT)), controller_p=np.ones(9))),
            ModelError,
            r"controller_p of 'land' must be a mapping from names",
        ),
        (
            lambda: run(Phase(None, until=0.05), land(), p={"left.x": 0.0}),
            ModelError,
            r"p must not contain left\.x: the motion sets the positions of the contacts of phase 'land'",
        ),
        (
            lambda: run(land(controller=upright(on(LEFT)), controller_p={"left.y": 0.0})),
            ModelError,
            r"controller_p of 'land' must not contain left\.y",
        ),
        (
            lambda: run(Phase(None, until=0.05), land(contacts=())),
            ParameterError,
            r"phase 'land': no value for left\.x, left\.y",
        ),
        (
            lambda: run(Phase(None, until=0.05), land(robot=on(LEFT, RIGHT))),
            ParameterError,
            r"phase 'land': no value for right\.x, right\.y",
        ),
        (
            lambda: run(Phase(None, until=0.05), land(controller=upright(on(RIGHT)))),
            ParameterError,
            r"phase 'land': no value for right\.x, right\.y",
        ),
        (
            lambda: run(Phase(None, until=0.05), land(controller_p={"m1": 1.0})),
            ParameterError,
            r"phase 'land': .*'m1'",
        ),
        (lambda: run(Phase(None), p=np.ones(3)), ShapeError, r"phase 'phase': .*\(3,\)"),
    ],
)
def test_bad_contacts_are_refused_before_anything_moves(
    make: Callable[[], object], error: type[EruginError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        make()
    assert not isinstance(caught.value, PhasedSimulationError)


def test_a_standing_foot_that_moves_at_the_start_is_reported() -> None:
    with pytest.warns(
        StartWarning,
        match=r"violates its natural constraint 'left\[0\]' at the start: the rate of the residual is 0\.3",
    ):
        run(land())


def test_a_law_without_the_places_may_have_its_whole_vector() -> None:
    law = upright(strut())
    numbers = law.parameters.values(None)
    motion = run(Phase(None, until=0.05), land(controller=law, controller_p=numbers))
    np.testing.assert_array_equal(motion.segments[1].controller_p, numbers)
