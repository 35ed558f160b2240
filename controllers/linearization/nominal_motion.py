"""Nominal motions with their inputs, as samples."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, ShapeError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.validation import finite, vector
from ..reference import Reference

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline


Array = NDArray[np.float64]


RANK = 1e-10
"""A singular value counts as zero below this share of the largest."""


@dataclass(frozen=True, eq=False)
class NominalMotion:
    """Samples of a motion and of the inputs that drive it, such as a simulated or an optimal one.

    Attributes:
        robot: the robot that moves.
        t: increasing times, shape (N,) with N ≥ 2 [s].
        q: coordinates, shape (N, nq).
        v: velocities, shape (N, nv).
        u: inputs, shape (N, nu).

    Raises:
        ShapeError: for other shapes, or numbers that are not finite.
        ModelError: for times that do not increase.
    """

    robot: Robot
    t: Array
    q: Array
    v: Array
    u: Array

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        times = np.array(self.t, dtype=np.float64)
        if times.ndim != 1 or len(times) < 2:
            raise ShapeError(f"t of a motion must have shape (N,) with at least 2 samples, got {times.shape}")
        c = self.robot.coordinates
        for name, width in (("t", 0), ("q", c.nq), ("v", c.nv), ("u", self.robot.u.numel())):
            array = np.array(getattr(self, name), dtype=np.float64)
            expected = (len(times), width) if name != "t" else times.shape
            if array.shape != expected:
                raise ShapeError(f"{name} of a motion must have shape {expected}, got {array.shape}")
            vector(f"{name} of a motion", array.ravel(), array.size)
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        if not (np.diff(self.t) > 0.0).all():
            raise ModelError("the times of a motion must increase from sample to sample")

    def require_of(self, robot: Robot) -> None:
        """Raise ModelError unless it is a motion of this robot.

        Args:
            robot: the model that is to follow it.
        """
        if robot is not self.robot:
            raise ModelError(
                f"the motion belongs to the robot {self.robot.name}, not to the given {robot.name}: build both with "
                "the same robot object, or pass the samples to NominalMotion(robot, t, q, v, u)"
            )

    def at(self, t: float) -> tuple[Array, Array, Array]:
        """Return q, v and u at a time: q and v by cubic splines, u linear between samples; constant beyond the ends.

        Args:
            t: time [s].

        Raises:
            ModelError: for a time that is not finite.
        """
        time = min(max(finite("t", t), float(self.t[0])), float(self.t[-1]))
        state = np.asarray(self._state(time), dtype=np.float64)
        i = min(max(int(np.searchsorted(self.t, time)) - 1, 0), len(self.t) - 2)
        share = (time - self.t[i]) / (self.t[i + 1] - self.t[i])
        u = self.u[i] + share * (self.u[i + 1] - self.u[i])
        return state[: self.q.shape[1]], state[self.q.shape[1] :], np.asarray(u)

    @classmethod
    def at_rest(cls, robot: Robot, q: ArrayLike, u: ArrayLike, duration: float) -> NominalMotion:
        """Return a constant position as a motion.

        Args:
            robot: the robot.
            q: coordinates, shape (nq,).
            u: inputs that hold the position, shape (nu,).
            duration: length of the motion [s].
        """
        c = robot.coordinates
        place, inputs = vector("q", q, c.nq), vector("u", u, robot.u.numel())
        return cls(
            robot,
            np.array([0.0, duration]),
            np.array([place, place]),
            np.zeros((2, c.nv)),
            np.array([inputs, inputs]),
        )

    @classmethod
    def of_reference(
        cls, reference: Reference, times: ArrayLike, *, p: Mapping[str, float] | ArrayLike | None = None
    ) -> NominalMotion:
        """Return a reference with the inputs that follow it: M a + h = B u + Aᵀμ, u and μ of least norm.

        Args:
            reference: a motion of all coordinates.
            times: increasing times of the samples, shape (N,) [s].
            p: parameters of the robot and of the reference: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: if the inputs cannot follow it; the message gives the time and the missing force.
            ShapeError: for times of another shape or that are not finite.
        """
        if not isinstance(reference, Reference):
            raise ModelError(f"NominalMotion.of_reference requires a Reference, got {reference!r}")
        robot, t = reference.robot, vector("times", times, np.size(times))
        parameters = Parameters.collect([robot.parameters, reference.parameters])
        numbers = parameters.values(p)
        here = [robot.q, robot.v]
        terms = [robot.mass_matrix @ reference.a + robot.bias, robot.input_matrix, robot.natural_form[0].T]
        at = [ca.substitute(e, ca.vertcat(*here), ca.vertcat(reference.q, reference.v)) for e in terms]
        outputs = {"q": reference.q, "v": reference.v, "force": at[0], "reach": ca.vec(ca.horzcat(at[1], at[2]))}
        kernel = Kernel("followed", {"t": robot.t, "p": parameters.symbols}, outputs, compiled=False)
        nv, nu = robot.coordinates.nv, robot.u.numel()
        q, v, u = np.zeros((len(t), robot.coordinates.nq)), np.zeros((len(t), nv)), np.zeros((len(t), nu))
        for i, time in enumerate(t.tolist()):
            q[i], v[i], force, reach = map(np.atleast_1d, kernel(time, numbers))
            columns = reach.reshape(nv, -1, order="F")
            found = np.linalg.lstsq(columns, force, rcond=RANK)[0]
            lacks = np.abs(force - columns @ found)
            if lacks.max() > 1e-8 * max(1.0, float(np.abs(force).max())):
                worst = int(np.argmax(lacks))
                raise ModelError(
                    f"the inputs of {robot.name} cannot follow the reference: at t = {time:g} "
                    f"{robot.v[worst].name()} lacks {lacks[worst]:.4g} [N or N m]"
                )
            u[i] = found[:nu]
        return cls(robot, t, q, v, u)

    @functools.cached_property
    def _state(self) -> CubicSpline:
        from scipy.interpolate import CubicSpline  # a tenth of a second to import

        return CubicSpline(self.t, np.hstack([self.q, self.v]), axis=0)
