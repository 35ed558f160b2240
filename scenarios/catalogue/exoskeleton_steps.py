"""An exoskeleton with links of variable length makes two steps over two rocks."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers import start_on
from ...robots.examples.walker import walker, walker_posture
from ..phased_trajectory import PhasedTrajectory
from ..scenario import scenario
from ..setup import Measure, Setup
from .drawn_walk import walk_pictures
from .walking import HEIGHT, LEAN, MARGIN, STEP, Stance, stance


@scenario("exoskeleton-steps")
def exoskeleton_steps(*, duration: float = 3.0, step: float = 1e-3) -> Setup:
    """An exoskeleton with links of variable length steps over a rock, touches down with an impact, and steps again.

    Hip, trunk and the lengths of the links follow a program, the foot in the air follows Erugin's field round the rock;
    the standing foot is a natural constraint: a point, and a drive at its ankle. Expect the margin to the rock kept, a
    touch-down that costs a joule, friction below 0.25, and a centre of pressure farther out than a human foot reaches.

    Args:
        duration: longest time of the motion [s]; it ends with the second touch-down.
        step: of the integration and of the samples [s].
    """
    body = walker()
    stances = [stance(body, name) for name in "AB"]
    places = dict.fromkeys(stances[0].foot.places, 0.0)
    guess = walker_posture((-STEP / 2, HEIGHT), -STEP, lean=LEAN)
    q0, v0 = start_on(stances[0].program, guess, at=[(stances[0].swing, [-STEP, 0.0])], p=places)

    def along(motion: PhasedTrajectory, of: Callable[[Stance], ca.SX]) -> NDArray[np.float64]:
        pairs = zip(motion.segments, stances, strict=False)
        return np.concatenate([segment.evaluate(of(now)) for segment, now in pairs])

    def stride(motion: PhasedTrajectory) -> float:
        ends = [segment.evaluate(now.swing)[-1, 0] for segment, now in zip(motion.segments, stances, strict=False)]
        return float(ends[-1] - ends[0])

    measures = {
        "least clearance to a rock": Measure(lambda m: along(m, lambda s: s.clearance).min(), "m", (MARGIN, 0.021)),
        "from touch-down to touch-down": Measure(stride, "m", (STEP - 2e-3, STEP + 2e-3)),
        "energy lost in the impact": Measure(
            lambda m: sum(blow.energy_loss for blow in m.impacts if blow is not None), "J", (0.9, 0.96)
        ),
        "least upward force of the ground": Measure(lambda m: along(m, lambda s: s.force)[:, 1].min(), "N", (540, 570)),
        "friction needed": Measure(lambda m: along(m, lambda s: s.friction).max(), "", (0.2, 0.22)),
        "foot needed for the centre of pressure": Measure(
            lambda m: np.abs(along(m, lambda s: s.pressure)).max(), "m", (0.25, 0.27)
        ),
    }
    phases = tuple(now.phase for now in stances)
    drawn = walk_pictures(stances)
    return Setup(body, None, q0, v0, duration, step, phases=phases, measures=measures, pictures=drawn)
