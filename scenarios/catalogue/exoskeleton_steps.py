"""An exoskeleton with links of variable length makes two steps over two rocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...constraints import Baumgarte, EruginField, FirstOrder, circle, follow, spline, tracking
from ...controllers import Program, ProgramController, start_on
from ...robots import Contact, Robot, contact_force, required_friction, with_contacts, with_inputs
from ...robots.examples.walker import FEET, SHIN, THIGH, TRUNK, walker, walker_posture
from ...simulation.hybrid.phase import Phase
from ...simulation.phased_trajectory import PhasedTrajectory
from ..scenario import scenario
from ..setup import Draw, Measure, Setup
from .pictures import motion_pictures

STEP, SPEED, HEIGHT, LEAN = 0.4, 0.45, 0.76, 0.05
"""Length of a step [m], speed [m/s] and height [m] of the hip, lean of the trunk [rad]."""
ROCK, MARGIN = 0.07, 0.02
"""Radius of a rock, and clearance that the foot keeps from it [m]."""
ROCK_AT = {"A": -0.15, "B": 0.55}
"""x of the rock while this foot is in support [m]."""
UNTIL = {"A": 0.1, "B": 0.5}
"""x that the other foot must have passed before it may touch down [m]."""
ARCH = ((-0.4, 0.0), (-0.25, 0.07), (0.0, 0.09), (0.25, 0.07), (0.42, -0.03))
"""Path of the swing foot without a rock, relative to the foot in support [m]."""


@dataclass(frozen=True, eq=False)
class Stance:
    """A phase of the walk with one leg in support.

    Attributes:
        name: name of the foot on the ground, A or B.
        robot: the plant with this foot on the ground and the drives of this phase.
        foot: contact of the foot on the ground.
        swing: position of the other foot, shape (2,) [m].
        rock: centre of the rock that the other foot steps over [m].
        program: program with as many rows as degrees of freedom and drives.
        controller: controller that realises the program.
    """

    name: str
    robot: Robot
    foot: Contact
    swing: ca.SX
    rock: tuple[float, float]
    program: Program
    controller: ProgramController

    @property
    def phase(self) -> Phase:
        """The phase, which ends when the other foot touches down."""
        down = ca.fmin(-self.swing[1], self.swing[0] - UNTIL[self.name])
        return Phase(self.controller, until=down, name=f"on foot {self.name}", robot=self.robot, contacts=(self.foot,))

    @property
    def clearance(self) -> ca.SX:
        """Distance of the other foot from the rock [m]."""
        return ca.norm_2(self.swing - ca.DM(self.rock)) - ROCK

    @property
    def output(self) -> ca.SX:
        """Inputs of the plant as the controller computes them, shape (nu,)."""
        law = self.controller.law
        assert law is not None
        return law.output

    @property
    def force(self) -> ca.SX:
        """Force of the ground on the foot, x and y [N]."""
        return contact_force(self.robot, self.foot, u=self.output)

    @property
    def friction(self) -> ca.SX:
        """Coefficient of friction that the foot requires."""
        return required_friction(self.robot, self.foot, u=self.output)

    @property
    def pressure(self) -> ca.SX:
        """Distance from the foot to the centre of pressure along x [m]."""
        ankle = self.robot.input_names.index(f"ankle {self.name}")
        return self.output[ankle] / self.force[1]


def stance(walker: Robot, name: str) -> Stance:
    """Build a stance: hip and trunk move at constant speed, links keep their lengths, the other foot clears a rock.

    The program has ten rows for the ten degrees of freedom with one foot on the ground, and ten drives realise it.

    Args:
        walker: the robot without contacts, with all its drives.
        name: name of the foot on the ground, A or B.
    """
    other, first = ("B", 0.0) if name == "A" else ("A", STEP)
    inputs = [label for label in walker.input_names if label != f"ankle {other}"]
    robot = with_contacts(with_inputs(walker, inputs), [FEET[name]], perturbation=Baumgarte(30.0))
    q, swing, rock = _named(robot), robot.points[FEET[other].point], (ROCK_AT[name], 0.03)
    arch = spline([(first + x, y) for x, y in ARCH])
    field = EruginField(arch, [circle(rock, ROCK, name="rock")], speed=1.0, margin=MARGIN, side=-1, avoidance="detour")
    lengths = ca.vertcat(*(q[f"l{i}"] for i in range(1, 6)))
    hip = ca.vertcat(-STEP / 2 + SPEED * robot.t, HEIGHT)
    program = Program(
        robot,
        [
            tracking(robot.points["end2"], hip, perturbation=Baumgarte(10.0), name="hip"),
            tracking(q["phi3"], [np.pi / 2 - LEAN], perturbation=Baumgarte(10.0), name="trunk"),
            tracking(lengths, [SHIN, THIGH, TRUNK, THIGH, SHIN], perturbation=Baumgarte(20.0), name="lengths"),
            follow(field, swing, perturbation=FirstOrder(15.0), name="swing foot"),
        ],
    )
    return Stance(name, robot, FEET[name], swing, rock, program, ProgramController(program, realization="actuated"))


def _named(robot: Robot) -> dict[str, ca.SX]:
    return {name: robot.q[i] for i, name in enumerate(robot.coordinates.names)}


PARTS = {"leg A": ("pole", "end1", "end2"), "leg B": ("end2", "end4", "tip"), "trunk": ("end2", "end3")}


def walk_pictures(stances: Sequence[Stance]) -> dict[str, Draw]:
    """Build the pictures: postures with ground forces, plots over time, and an animation.

    Args:
        stances: stances of the walk, in order.
    """

    def walk_picture(motion: PhasedTrajectory, target: Path) -> None:
        from ...views.ground_forces import WalkStep, draw_walk
        from ...views.style import save_figure

        steps = [WalkStep(each.swing, each.force, each.pressure, (*each.rock, ROCK), MARGIN) for each in stances]
        save_figure(draw_walk(motion, steps[: len(motion.segments)], PARTS), target)

    every = motion_pictures(9)
    return {"walk.png": walk_picture, "overview.png": every["overview.png"], "animation.gif": every["animation.gif"]}


@scenario("exoskeleton-steps")
def exoskeleton_steps(*, duration: float = 3.0, step: float = 1e-3) -> Setup:
    """An exoskeleton with links of variable length steps over a rock, touches down with an impact, and steps again.

    Hip, trunk and the lengths of the links follow a program, the swing foot follows Erugin's field around the rock; the
    foot in support is a natural constraint: a point, with a drive at its ankle. Expect the margin to the rock kept, a
    touch-down that costs a joule, friction below 0.25, and a centre of pressure farther out than a human foot reaches.

    Args:
        duration: longest time of the motion [s]; it ends with the second touch-down.
        step: step of the integration and of the samples [s].
    """
    body = walker()
    stances = [stance(body, name) for name in "AB"]
    places = dict.fromkeys(stances[0].foot.position_names, 0.0)
    guess = walker_posture((-STEP / 2, HEIGHT), -STEP, lean=LEAN)
    q0, v0 = start_on(stances[0].program, guess, at=[(stances[0].swing, [-STEP, 0.0])], p=places)

    def along(motion: PhasedTrajectory, expression: Callable[[Stance], ca.SX]) -> NDArray[np.float64]:
        pairs = zip(motion.segments, stances, strict=False)
        return np.concatenate([segment.evaluate(expression(each)) for segment, each in pairs])

    def stride(motion: PhasedTrajectory) -> float:
        ends = [segment.evaluate(each.swing)[-1, 0] for segment, each in zip(motion.segments, stances, strict=False)]
        return float(ends[-1] - ends[0])

    measures = {
        "least clearance to a rock": Measure(lambda m: along(m, lambda s: s.clearance).min(), "m", (MARGIN, 0.021)),
        "distance between touch-downs": Measure(stride, "m", (STEP - 2e-3, STEP + 2e-3)),
        "energy lost in the impact": Measure(
            lambda m: sum(impact.energy_loss for impact in m.impacts if impact is not None), "J", (0.9, 0.96)
        ),
        "least upward force of the ground": Measure(lambda m: along(m, lambda s: s.force)[:, 1].min(), "N", (540, 570)),
        "friction needed": Measure(lambda m: along(m, lambda s: s.friction).max(), "", (0.2, 0.22)),
        "distance from foot to centre of pressure": Measure(
            lambda m: np.abs(along(m, lambda s: s.pressure)).max(), "m", (0.25, 0.27)
        ),
    }
    phases = tuple(each.phase for each in stances)
    pictures = walk_pictures(stances)
    return Setup(body, None, q0, v0, duration, step, phases=phases, measures=measures, pictures=pictures)
