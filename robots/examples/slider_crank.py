"""Slider-cranks."""

from __future__ import annotations

from collections.abc import Sequence

from ..mechanism import Closure, mechanism, with_inputs
from ..planar_linkage import Bar, Slider, planar_linkage
from ..planar_manipulator import Link
from ..robot import Robot


def slider_crank(
    crank: Link,
    rod: Link,
    slider_mass: float,
    *,
    offset: float,
    inputs: Sequence[str] = ("crank",),
    gravity: float = 9.81,
) -> Robot:
    """Crank and connecting rod in a chain from the origin, a slider on a guide along x, joined at the wrist pin.

    q = (crank, rod, slider): two absolute angles from x [rad] and the slider's place along x [m]. The natural
    constraint ``wrist pin`` holds ``rod.end`` on ``slider.end``; its reaction is the force [N] of the slider on the
    rod. The crank turns fully if it is shorter than the rod by more than the offset. With crank and rod equally long
    and no offset the slider can stop at the origin while the crank goes on: there the linkage is singular.

    Args:
        crank: from the origin.
        rod: from the crank's end.
        slider_mass: [kg].
        offset: height of the guide above the crank's pivot [m]; zero for a guide through it.
        inputs: which drives there are: ``"crank"`` and ``"rod"`` are torques, ``"slider"`` is a force along x, such as
            that of a gas on a piston.
        gravity: g along −y [m/s²]; the guide carries the slider.

    Raises:
        ModelError: for numbers out of their ranges, or an unknown input.
    """
    members: dict[str, Bar | Slider] = {
        "crank": Bar(crank, (0.0, 0.0)),
        "rod": Bar(rod, "crank.end"),
        "slider": Slider(slider_mass, (0.0, offset), 0.0),
    }
    chain = ("crank.base", "crank.end", "rod.end")
    bars = planar_linkage(members, gravity=gravity, chain=chain, name="slider-crank")
    pin = Closure("rod.end", "slider.end", "wrist pin")
    return with_inputs(mechanism(bars, [pin], name=bars.name), inputs)


def flores_slider_crank() -> Robot:
    """The slider-crank of a benchmark for joints with clearance [Flores2010]_, with an ideal guide.

    Crank 0.153 m, 0.038 kg, 7.4e-5 kg m²; rod 0.306 m, 0.038 kg, 5.9e-4 kg m²; slider 0.076 kg; centres of mass in the
    middle of the bars; g = 9.81 m/s². The benchmark starts with both bars along x, the crank at 150 rad/s.
    """
    crank, rod = Link(0.153, 0.038, 0.0765, 7.4e-5), Link(0.306, 0.038, 0.153, 5.9e-4)
    return slider_crank(crank, rod, 0.076, offset=0.0)
