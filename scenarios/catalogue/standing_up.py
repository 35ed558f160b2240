"""A body of eleven links stands up from a crouch."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...controllers import ProgramController
from ...symbolic.arrays import positive
from ..scenario import scenario
from ..setup import Measure, Setup
from .drawn_motion import stand_pictures
from .rising import BALANCE, CONTACTS, MASS, Rising
from .rising_rivals import RIVALS, VARIED


@scenario("standing-up")
def standing_up(*, rise: float = 1.5, duration: float = 2.5, step: float = 1e-3) -> Setup:
    """A figure of eleven links stands up from a crouch on both feet, its centre of mass kept over them by the program.

    A man of 73 kg with the segments of de Leva; his feet are natural constraints that close a loop through the ground,
    and 22 drives do what 18 rows ask for, with the least effort. Expect no foot to be pulled, the centre of pressure
    within a centimetre of the balance, friction of less than 0.2, and in the end the weight on the ground, 716.13 N.

    Args:
        rise: time that it takes [s].
        duration: of the motion [s].
        step: of the integration and of the samples [s].
    """
    rising = Rising.of(positive("rise", rise))
    robot, (q0, v0) = rising.robot, rising.start()
    law = ProgramController(rising.program, realization="actuated")
    assert law.law is not None
    ground = rising.ground(law.law.output)
    torques = [i for i, name in enumerate(robot.input_names) if name.startswith("M")]
    weight = MASS * robot.nominal["g"]
    measures = {
        "rise of the centre of mass": Measure(lambda m: np.ptp(m.evaluate(rising.center[1])), "m", (0.342, 0.3425)),
        "force of the ground at the end": Measure(
            lambda m: m.evaluate(ground.upwards)[-1].sum(), "N", (weight - 0.01, weight + 0.01)
        ),
        "least upward force on a contact": Measure(lambda m: m.evaluate(ground.upwards).min(), "N", (28.0, 29.0)),
        "friction needed": Measure(lambda m: m.evaluate(ground.friction).max(), "", (0.18, 0.19)),
        "centre of pressure off the balance": Measure(
            lambda m: np.abs(m.evaluate(ground.pressure) - BALANCE).max(), "m", (0.006, 0.008)
        ),
        "largest torque in a joint": Measure(lambda m: np.abs(m.u[:, torques]).max(), "N m", (138.0, 140.0)),
        "off the program": Measure(lambda m: np.abs(m.deviation).max(), "m, rad", (0.0, 1e-9)),
    }
    drawn = stand_pictures([contact.name for contact in CONTACTS], ground, BALANCE)
    return Setup(
        *(robot, law, q0, v0, duration, step),
        measures=measures,
        pictures=drawn,
        error=ca.norm_2(ca.vertcat(rising.center[0], robot.points["end2"][1]) - rising.target),
        settled=0.01,
        unit="m",
        varied=VARIED,
        rivals=RIVALS,
    )
