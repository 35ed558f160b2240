"""Closed loops for the cross-check of all bridges, each with Erugin's own motion to compare with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...scenarios.scenario import Scenario
from ...scenarios.setup import Setup
from ...simulation.trajectory import Trajectory
from ...symbolic.errors import BridgeError

Array = NDArray[np.float64]
Motion = tuple[Array, Array]
"""Times, shape (N,) [s], and coordinates, shape (N, nq)."""
CASE_NAMES = ("two-link-arm-moving-obstacle", "seven-joint-arm-on-a-sphere")


@dataclass(frozen=True, eq=False)
class CrossCheckCase:
    """A closed loop with its reference motion.

    Attributes:
        name: name of the scenario.
        setup: robot, controller and initial state.
        watched: position of the compared point, in the robot's symbols, shape (2,) or (3,) [m].
        label: name of that point.
    """

    name: str
    setup: Setup
    watched: ca.SX
    label: str

    @property
    def controller(self) -> Controller:
        """Controller of the loop."""
        assert self.setup.controller is not None  # checked by build_case
        return self.setup.controller

    @functools.cached_property
    def reference(self) -> Trajectory:
        """Erugin's motion by RK4, with the controller evaluated at every stage."""
        found = self.setup.run()
        assert isinstance(found, Trajectory)
        return found

    @property
    def duration(self) -> float:
        """Duration of the reference motion [s]."""
        return float(self.reference.t[-1] - self.reference.t[0])

    def positions(self, q: Array) -> Array:
        """Positions of the watched point, shape (N, 2) or (N, 3) [m].

        Args:
            q: coordinates, shape (N, nq).
        """
        robot, p = self.setup.robot, self.setup.robot.parameters.values(self.setup.p)
        position = ca.Function("place", [robot.q, robot.p], [self.watched])
        found = np.asarray(position.map(len(q))(q.T, np.tile(p, (len(q), 1)).T), dtype=np.float64)
        return found.T

    def steps(self, step: float) -> tuple[int, float]:
        """Number of steps over the duration, and their length [s].

        Args:
            step: length of a step to be approached [s].
        """
        count = max(1, round(self.duration / step))
        return count, self.duration / count

    def run_steps(
        self,
        step: float,
        follow: Callable[[float, Array, float], Array],
        x: Array,
        coordinates: Callable[[Array], Array],
    ) -> Motion:
        """Run all steps in Python.

        Args:
            step: length of a step to be approached [s].
            follow: function of the time, the state and the length of a step that returns the state after it.
            x: initial state.
            coordinates: function of the state that returns the robot's coordinates, shape (nq,).
        """
        count, h = self.steps(step)
        found = [coordinates(x)]
        for k in range(count):
            x = follow(k * h, x, h)
            found.append(coordinates(x))
        return np.asarray(h * np.arange(count + 1), dtype=np.float64), np.array(found)


def build_case(scenario: Scenario, duration: float | None = None) -> CrossCheckCase:
    """Build the case of a scenario with a single controller.

    Args:
        scenario: a scenario of the catalogue, or a user's.
        duration: longest duration of the motion [s]; the scenario's own if not given.

    Raises:
        BridgeError: for a motion in phases, without a controller, or of a robot without points and frames.
    """
    setup = scenario() if duration is None else scenario(duration=duration)
    if setup.phases or setup.controller is None:
        raise BridgeError(f"{scenario.name} is not driven by a single controller, so other programs cannot run it")
    robot = setup.robot
    frames, points = list(robot.frames), list(robot.points)
    # The tip of an arm; else the tool frame of a hand; else the last point or frame.
    tools = [name for name in frames if name.endswith("tcp")]
    label = next((name for name in ["tip"][: "tip" in points] + tools + points[::-1] + frames[::-1]), "")
    if not label:
        raise BridgeError(f"{scenario.name}: {robot.name} has no point or frame that could be compared")
    watched = robot.points[label] if label in robot.points else robot.frames[label].position
    return CrossCheckCase(scenario.name, setup, watched, label)
