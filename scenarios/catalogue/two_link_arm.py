"""Two-link arm, moving obstacle: the tip goes along a path and round a disc that drifts across it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...constraints import Circle, EruginField, FirstOrder, Spline, choose_side, circle, follow, spline
from ...controllers import Program, ProgramController, start_on
from ...robots import Link, Robot, planar_manipulator
from ...symbolic.errors import ModelError, ParameterError
from ..plots.moving_obstacle import MovingObstaclePlots
from ..scenario import Measure, Scenario, Setting, Setup, Value
from ..simulate import Simulator
from ..trajectory import Trajectory


class TwoLinkArmMovingObstacle(Scenario):
    """Matukhina's two-link manipulator in Erugin's field of a path and a disc.

    The arm starts at rest on the path, so its deviation begins at the cruise speed and decays at ``follow.rate``.
    Expect the tip to leave the path for the disc, to keep ``field.margin`` from it, to come back, and to reach the end.
    """

    name = "two-link-arm-moving-obstacle"
    summary = "Two-link arm, moving obstacle: the tip follows a path and goes round a disc that drifts across it."
    settings: Mapping[str, Setting] = {
        "duration": Setting(14.0, "longest simulated time [s]; the run ends when the tip passes the end of the path"),
        "step": Setting(1e-3, "step of the integration and of the samples [s]"),
        "realization": Setting("actuated", "where the force comes from", ("actuated", "ideal")),
        "side": Setting("auto", "side of the path on which to pass the disc, seen along it", ("auto", "left", "right")),
    }

    path: Spline = spline([(0.78, -0.55), (0.72, -0.15), (0.84, 0.20), (0.66, 0.55), (0.28, 0.78)], name="path")

    @functools.cached_property
    def disc(self) -> Circle:
        """The obstacle."""
        return circle((1.20, 0.08), 0.11, velocity=(-0.07, 0.015), name="disc")

    @functools.cached_property
    def robot(self) -> Robot:
        """Point masses at the ends of massless rods."""
        return planar_manipulator([Link.point_mass(0.6, 2.5), Link.point_mass(0.5, 1.8)])

    @functools.cached_property
    def field(self) -> EruginField:
        """The velocity that the tip must have."""
        return EruginField(self.path, [self.disc], speed=0.18, margin=0.05, rounding=0.03)

    @functools.cached_property
    def program(self) -> Program:
        """Two nonholonomic program constraints."""
        return Program(self.robot, follow(self.field, self.robot.points["tip"], perturbation=FirstOrder(8.0)))

    @property
    def controller(self) -> ProgramController:
        """Torques that realise the program."""
        return self._controller

    @functools.cached_property
    def _controller(self) -> ProgramController:
        return ProgramController(self.program, realization="actuated")

    def build(self, settings: Mapping[str, Value], parameters: Mapping[str, float]) -> Setup:
        """At rest on the first point of the path; the side by :func:`choose_side`."""
        start, duration, step = self.path.at(0.0), float(settings["duration"]), float(settings["step"])
        own = {name: value for name, value in parameters.items() if name in self.field.parameters.names}
        given = {"left": -1, "right": 1}.get(str(settings["side"]))
        if given is not None and "field.side" in parameters:
            raise ParameterError("side= and field.side= say the same thing: give one of them")
        side = given or choose_side(self.field, start, min(duration, 30.0), step=0.01, p=own)
        values = {"field.side": float(side), **parameters}
        tip = self.robot.points["tip"]
        q0, v0 = start_on(self.program, [-1.3, 1.4], at=[(tip, start)], p=values)
        self._require_room(q0, {**self.controller.parameters.nominal, **values})
        ideal = settings["realization"] == "ideal"
        controller = ProgramController(self.program, realization="ideal") if ideal else self.controller
        simulator = Simulator(self.robot, controller, stop=self.path.progress(tip) - self.path.length)
        return Setup(simulator, q0, np.zeros_like(v0), duration, step, values)

    def _require_room(self, q0: NDArray[np.float64], values: Mapping[str, float]) -> None:
        """From rest the tip slips by |ψ(0)|/k before it moves with the field: the disc must be farther than that."""
        deviation = self.controller.solve(0.0, q0, [0.0, 0.0], values).deviation
        slip = float(np.linalg.norm(deviation)) / values["follow.rate"]
        gap = float(np.hypot(*(self.path.at(0.0) - [values["disc.x"], values["disc.y"]]))) - values["disc.radius"]
        if gap <= slip:
            raise ModelError(
                f"the disc is {gap:.3g} m from the start, but from rest the tip can slip {slip:.3g} m before it moves "
                "with the field: move the disc, or raise follow.rate"
            )

    def measure(self, trajectory: Trajectory) -> list[Measure]:
        """Tracking, deviation, clearance, torque and time."""
        tip = self.robot.points["tip"]
        f = trajectory.evaluate(self.field.functions(tip, self.robot.t))
        off = trajectory.evaluate(self.path.functions(tip, self.robot.t))
        reached = trajectory.ok and trajectory.evaluate(self.path.progress(tip))[-1] >= self.path.length
        deviation, span = np.abs(trajectory.deviation), trajectory.t[-1]
        late = trajectory.t > span / 2
        return [
            Measure("end of the path", f"reached at {span:.3f} s" if reached else f"not reached in {span:.3f} s"),
            Measure("tracking error, tip to program curve", f"{1e3 * np.sqrt(np.mean(f[:, 0] ** 2)):.3g} mm rms"),
            Measure("detour, tip to path", f"{1e3 * np.abs(off).max():.4g} mm at most"),
            Measure(
                "largest deviation |ψ|",
                f"{np.nanmax(deviation):.3g} m/s, {deviation[late].max(initial=0.0):.1e} in the second half",
            ),
            Measure(
                "least clearance to the disc",
                f"{1e3 * f[:, 1].min():.4g} mm" + " (it was entered)" * bool(f[:, 1].min() <= 0.0),
            ),
            Measure("largest torque", f"{np.nanmax(np.abs(trajectory.u)):.4g} N m"),
            Measure(
                "simulated / wall time", f"{span / max(trajectory.wall_time, 1e-9):.0f} ({trajectory.wall_time:.3f} s)"
            ),
        ]

    def pictures(self) -> Mapping[str, Callable[[Trajectory, Path], None]]:
        """Path, torques, deviations, field and animation."""
        return MovingObstaclePlots(
            self.field, self.robot.points["tip"], self.path.at(np.linspace(0, self.path.length, 300))
        ).all()
