"""Phases with contacts that fail, and those that are refused before anything moves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np
import pytest
from numpy.typing import ArrayLike

from erugin.constraints import holonomic, second_order
from erugin.controllers import Program, ProgramController, Status
from erugin.robots import Contact, TelescopicLink, exoskeleton, with_contacts
from erugin.simulation import Phase, PhasedSimulationError, PhasedTrajectory, simulate_phases
from erugin.symbolic import EruginError, ModelError, ParameterError, ShapeError, StartWarning

from .struts import FALLING, INERTIA, LEFT, MASS, PHI, REST, RIGHT, SHOE, STIFFNESS, X, on, strut, upright


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


def test_a_phase_that_cannot_begin_hands_back_what_was() -> None:
    """A rod of fixed length on two feet has a row too many: the impact can be told, the reactions cannot."""
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
        (lambda: Phase(None, contacts=(LEFT,)), ModelError, "contacts, but no robot on which they are on"),
        (lambda: land(robot=strut()), ModelError, r"'left' is not on; .* Switch it on with standing"),
        (lambda: land(contacts=(RIGHT,)), ModelError, r"'right' is not on; its natural constraints are 'left'"),
        (lambda: land(contacts=LEFT), ModelError, "contacts must be a list of Contact"),
        (lambda: land(contacts=("left",)), ModelError, "contacts must be a list of Contact"),
        (lambda: land(contacts=(LEFT, LEFT)), ModelError, "contacts of 'land' must differ, got 'left', 'left'"),
        (lambda: land(robot="strut"), ModelError, "plant of 'land' must be a Robot or None, got 'strut'"),
        (
            lambda: run(land(robot=with_contacts(STRANGER, [LEFT]))),
            ModelError,
            "plant of 'land' must have the coordinates of strut",
        ),
        (lambda: run(land(), p=np.ones(9)), ModelError, r"p must be given by name: .* 'land' .*left\.x, left\.y"),
        (
            lambda: run(land(controller=upright(on(LEFT)), controller_p=np.ones(9))),
            ModelError,
            r"controller_p of 'land' must be given by name",
        ),
        (
            lambda: run(Phase(None, until=0.05), land(), p={"left.x": 0.0}),
            ModelError,
            r"p must be without left\.x: where the contacts of phase 'land' stand",
        ),
        (
            lambda: run(land(controller=upright(on(LEFT)), controller_p={"left.y": 0.0})),
            ModelError,
            r"controller_p of 'land' must be without left\.y",
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


def test_a_foot_that_stands_from_the_beginning_and_moves_is_told() -> None:
    with pytest.warns(
        StartWarning, match=r"starts off its natural constraint 'left\[0\]', which, in its rate, is 0\.3"
    ):
        run(land())


def test_a_law_without_the_places_may_have_its_whole_vector() -> None:
    law = upright(strut())
    numbers = law.parameters.values(None)
    motion = run(Phase(None, until=0.05), land(controller=law, controller_p=numbers))
    np.testing.assert_array_equal(motion.segments[1].controller_p, numbers)
