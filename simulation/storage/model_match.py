"""Checks that the robots and controllers passed for a loaded motion are those of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...symbolic.errors import EruginError, MotionFileError
from ..labels import Labels
from ..trajectory import values_along
from .file_format import FileContent

Array = NDArray[np.float64]
LOOKED_AT = 20
"""Largest number of samples whose energy is compared."""
AGREE = 1e-7
"""Largest relative difference of an energy from that of the file."""


@dataclass(frozen=True, eq=False)
class ModelMatch:
    """Robot and controller of one segment.

    Attributes:
        robot: the plant, or None.
        controller: the controller, or None.
    """

    robot: Robot | None
    controller: Controller | None

    def require(self, content: FileContent, labels: Labels) -> None:
        """Raise MotionFileError if robot or controller have other names or sizes than those of the file.

        Args:
            content: content of the file.
            labels: labels in the file.
        """
        if self.robot is None:
            return
        own = Labels.of(self.robot, self.controller)
        pairs: list[tuple[str, object, object]] = [
            ("robot", labels.robot, own.robot),
            ("coordinates", labels.coordinates, own.coordinates),
            ("velocities", labels.velocities, own.velocities),
            ("parameters", labels.parameters, own.parameters),
        ]
        if self.controller is not None:
            pairs += [
                ("controller", labels.controller, own.controller),
                ("inputs", labels.inputs, own.inputs),
                ("rows", labels.rows, own.rows),
                ("parameters of the controller", labels.controller_parameters, own.controller_parameters),
            ]
        for what, theirs, ours in pairs:
            if theirs != ours:
                raise MotionFileError(
                    f"{content.path}: the motion is not of the given robot and controller: {what} in the file: "
                    f"{_text(theirs)}; given: {_text(ours)}. Build them as they were, or load it without them"
                )

    def labels(self, labels: Labels) -> Labels | None:
        """Return the labels that a motion must store: None if robot and controller provide all of them.

        Args:
            labels: labels of the file.
        """
        complete = self.robot is not None and (self.controller is not None or not labels.controller)
        return None if complete else labels

    def require_energy(self, content: FileContent, samples: tuple[Array, Array, Array, Array], p: Array) -> None:
        """Raise MotionFileError if the robot's energies differ from the file's: another robot with the same names.

        Args:
            content: content of the file.
            samples: t, shape (n,), q, v, and T + V, shape (n,).
            p: the plant's parameters, shape (np,).
        """
        t, q, v, saved = samples
        robot = self.robot
        finite = np.isfinite(saved) & np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        indices = np.flatnonzero(finite)
        if robot is None or not len(indices):
            return
        indices = indices[np.unique(np.linspace(0, len(indices) - 1, LOOKED_AT).astype(int))]
        energies = ca.vertcat(robot.kinetic_energy, robot.potential_energy)
        try:
            found = values_along(
                robot, None, energies, t[indices, None], q[indices], v[indices], p[None], np.zeros((1, 0))
            )
        except EruginError as error:
            raise MotionFileError(f"{content.path}: {error}") from error
        scale = float(np.abs(found).max() + np.abs(saved[indices]).max())
        off = np.abs(found.sum(axis=1) - saved[indices])
        worst = int(np.argmax(np.where(np.isnan(off), np.inf, off)))
        if not off[worst] <= AGREE * scale:
            raise MotionFileError(
                f"{content.path}: the motion is not of the given robot: at t = {t[indices[worst]]:g} s its "
                f"energy is {saved[indices[worst]]:.9g}, but that of {robot.name!r} is {found[worst].sum():.9g}. "
                "Build the robot as it was, or load the motion without it"
            )


@dataclass(frozen=True, eq=False)
class ModelMatches:
    """Robots and controllers as passed by the user: one, or one for each segment.

    Attributes:
        content: content of the file.
        robot: one for all segments, or a sequence.
        controller: one for all segments, or a sequence.
    """

    content: FileContent
    robot: Robot | Sequence[Robot] | None
    controller: Controller | Sequence[Controller | None] | None

    @classmethod
    def of(
        cls,
        content: FileContent,
        robot: Robot | Sequence[Robot] | None,
        controller: Controller | Sequence[Controller | None] | None,
    ) -> ModelMatches:
        """Check the arguments.

        Args:
            content: content of the file.
            robot: a robot, several, or None.
            controller: a controller, several, or None.
        """
        robots = [robot] if isinstance(robot, Robot) or robot is None else robot
        laws = [controller] if isinstance(controller, Controller) or controller is None else controller
        if not isinstance(robots, Sequence) or not all(isinstance(each, Robot) for each in robots if robot is not None):
            raise MotionFileError(f"robot= must be a Robot, or a list of them, got {robot!r:.80}")
        if not isinstance(laws, Sequence) or not all(each is None or isinstance(each, Controller) for each in laws):
            raise MotionFileError(f"controller= must be a Controller, or a list of them, got {controller!r:.80}")
        if robot is None and controller is not None:
            raise MotionFileError("controller= requires robot=, the plant that it controlled")
        return cls(content, robot, controller)

    def only(self) -> ModelMatch:
        """Return the match for a motion in one segment."""
        return self.each(1)[0]

    def each(self, count: int) -> list[ModelMatch]:
        """Return the matches for each segment.

        Args:
            count: number of segments.
        """
        robot, law = self.robot, self.controller
        robots = [robot] * count if robot is None or isinstance(robot, Robot) else list(robot)
        controllers = [law] * count if law is None or isinstance(law, Controller) else list(law)
        for what, given in (("robots", robots), ("controllers", controllers)):
            if len(given) != count:
                raise MotionFileError(f"{self.content.path}: {len(given)} {what} were given for {count} segments")
        return [ModelMatch(robot, controller) for robot, controller in zip(robots, controllers, strict=True)]


def _text(value: object) -> str:
    text = repr(getattr(value, "names", value))
    return text if len(text) < 300 else f"{text[:300]}…"
