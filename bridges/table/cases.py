"""What is run in every simulator: an arm by formulas, and a real one from its URDF file."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...scenarios.scenario import Scenario
from ...scenarios.setup import Setup
from ...scenarios.trajectory import Trajectory
from ...symbolic.errors import BridgeError

Array = NDArray[np.float64]
NAMES = ("two-link-arm-moving-obstacle", "seven-joint-arm-on-a-sphere")


@dataclass(frozen=True, eq=False)
class Case:
    """A closed loop, and how it moves here.

    Attributes:
        name: of the scenario.
        setup: robot, law and start.
        watched: the point whose places are compared, in the robot's symbols, shape (2,) or (3,) [m].
        label: what that point is called.
    """

    name: str
    setup: Setup
    watched: ca.SX
    label: str

    @functools.cached_property
    def reference(self) -> Trajectory:
        """The motion by RK4 here, with the law at every stage."""
        found = self.setup.run()
        assert isinstance(found, Trajectory)
        return found

    @property
    def duration(self) -> float:
        """Until its end here [s]."""
        return float(self.reference.t[-1] - self.reference.t[0])

    def places(self, q: Array) -> Array:
        """Where the point is, shape (N, 2) or (N, 3) [m].

        Args:
            q: coordinates, shape (N, nq).
        """
        robot, p = self.setup.robot, self.setup.robot.parameters.values(self.setup.p)
        place = ca.Function("place", [robot.q, robot.p], [self.watched])
        found = np.asarray(place.map(len(q))(q.T, np.tile(p, (len(q), 1)).T), dtype=np.float64)
        return found.T


def case(scenario: Scenario, duration: float | None = None) -> Case:
    """A scenario with one law, to be run elsewhere too.

    Args:
        scenario: of the catalogue, or a user's.
        duration: longest time of the motion [s]; the scenario's own if not given.

    Raises:
        BridgeError: for a motion in phases, without a law, or of a robot that has no point to be watched.
    """
    setup = scenario() if duration is None else scenario(duration=duration)
    if setup.phases or setup.controller is None:
        raise BridgeError(f"{scenario.name} is not driven by one law, so no other simulator can be given it")
    robot = setup.robot
    frames, points = list(robot.frames), list(robot.points)
    # The tip of an arm; else where a hand's tool is, or what was named last.
    tools = [name for name in frames if name.endswith("tcp")]
    label = next((name for name in ["tip"][: "tip" in points] + tools + points[::-1] + frames[::-1]), "")
    if not label:
        raise BridgeError(f"{scenario.name}: {robot.name} has no point whose places could be compared")
    watched = robot.points[label] if label in robot.points else robot.frames[label].position
    return Case(scenario.name, setup, watched, label)
