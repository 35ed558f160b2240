"""Where contacts stand from phase to phase of a motion, and the blows by which they are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from ..robots.contact import Contact, places
from ..robots.impact import Impact, impact
from ..robots.robot import Robot
from ..symbolic.errors import ModelError
from .phase import Phase
from .simulate import Values

Array = NDArray[np.float64]
Stands = Mapping[Contact, Mapping[str, float]]
"""The contacts that are on, each with its place."""


def require_names(phases: Iterable[Phase], p: Values) -> None:
    """Refuse parameters among which the places of contacts cannot be put, or are already.

    Args:
        phases: in order.
        p: the plant's parameters.

    Raises:
        ModelError: for a whole vector where contacts bring parameters of their own, or a place that is passed.
    """
    for phase in phases:
        found = list(phase.places)
        law = [] if phase.controller is None else [x for x in found if x in phase.controller.parameters.names]
        for word, given, own in (("p", p, found), (f"law_p of {phase.name!r}", phase.law_p, law)):
            if not own or given is None:
                continue
            if not isinstance(given, Mapping):
                raise ModelError(
                    f"{word} must be given by name: the contacts of phase {phase.name!r} bring the parameters "
                    f"{', '.join(own)}; got a vector"
                )
            passed = [name for name in own if name in given]
            if passed:
                raise ModelError(
                    f"{word} must be without {', '.join(passed)}: where the contacts of phase {phase.name!r} stand, "
                    "the motion tells"
                )


def touch(
    robot: Robot, phase: Phase, t: float, q: Array, v: Array, p: Values, before: Stands | None
) -> tuple[Stands, Impact | None]:
    """Where the contacts of a phase stand, and the blow by which those were made that did not stand before.

    Args:
        robot: the motion's.
        phase: which begins.
        t: time [s].
        q: coordinates, shape (nq,).
        v: velocities before, shape (nv,).
        p: the plant's parameters without places.
        before: what stood in the phase before; None at the start of the motion, when nothing is made by a blow.

    Returns:
        The contacts that are on from now on; and the impact, None if none was made.

    Raises:
        ModelError: if the rows contradict each other in the impact.
    """
    if not phase.contacts:
        return {}, None
    plant, known = phase.plant(robot), dict(p) if isinstance(p, Mapping) else {}
    old = {contact: place for contact, place in (before or {}).items() if contact in phase.contacts}
    made = [contact for contact in phase.contacts if contact not in old]
    stands = {**old, **{contact: places(plant, [contact], q, t=t, p=known) for contact in made}}
    if before is None or not made:
        return stands, None
    return stands, impact(plant, q, v, made, t=t, p=known | merged(stands))


def merged(stands: Stands) -> dict[str, float]:
    """The places of all contacts that are on, by the names of their parameters.

    Args:
        stands: the contacts.
    """
    return {name: value for place in stands.values() for name, value in place.items()}


def with_places(phase: Phase, p: Values, law_p: Values, found: Mapping[str, float]) -> tuple[Values, Values]:
    """Parameters of plant and controller with the places of contacts among them.

    Args:
        phase: whose controller it is.
        p: the plant's.
        law_p: the controller's.
        found: the places by name; the controller gets those that it has.
    """
    if not found:
        return p, law_p
    names = () if phase.controller is None else phase.controller.parameters.names
    law = {name: value for name, value in found.items() if name in names}
    plant_p = {**(p if isinstance(p, Mapping) else {}), **found}
    return plant_p, {**law_p, **law} if isinstance(law_p, Mapping) else (law or law_p)
