"""Steps in reduced coordinates one by one: on every branch, near and in singular positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...robots.branch import Branch, LostBranchError
from ...robots.branch_acceleration import acceleration_along
from ...robots.branch_start import first_chart
from ...robots.chart import Chart
from ...robots.crossing import geometry, is_near, next_chart
from ...symbolic.errors import NotFiniteError
from ...symbolic.kernel import Kernel
from ..closed_loop import ClosedLoop

Array = NDArray[np.float64]


class ReducedStages:
    """What the steps of every run of a loop share."""

    def __init__(self, loop: ClosedLoop, halvings: int) -> None:
        """Prepare M and h.

        Args:
            loop: plant and controller.
            halvings: how often a step may be halved.
        """
        robot, c = loop.robot, loop.robot.coordinates
        self.loop, self.halvings = loop, halvings
        outputs = {"M": robot.mass_matrix, "h": robot.bias}
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": robot.p}
        self.dynamics = Kernel("reduced_dynamics", inputs, outputs, compiled=False)

    def start(self, branch: Branch, p: Array) -> ReducedSteps:
        """The steps of one run.

        Args:
            branch: that it is on.
            p: parameters of plant and controller.
        """
        return ReducedSteps(self, branch, self.loop.force(p))


class ReducedSteps:
    """The steps of one run.

    Attributes:
        branch: that the motion is on.
        chart: of the last step; None before the first.
    """

    def __init__(self, shared: ReducedStages, branch: Branch, force: Callable[[float, Array], Array]) -> None:
        """Begin without a chart.

        Args:
            shared: what runs share.
            branch: that the motion is on.
            force: of the controller, as a function of time and state.
        """
        self._shared, self._force = shared, force
        self._nq = shared.loop.robot.coordinates.nq
        self.branch = branch
        self.chart: Chart | None = None

    def chart_at(self, t: float, x: Array) -> Chart:
        """The chart of a state, continuing the one before.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).
        """
        q, v = x[: self._nq], x[self._nq :]
        if self.chart is None:
            self.chart = first_chart(self.branch, t, q, v)
        else:
            self.chart = next_chart(self.branch, self.chart, t, q, v)
        return self.chart

    def observer(self, p: Array) -> Callable[[float, Array], dict[str, Array]]:
        """What is recorded at t and x, in singular positions too.

        There the expressions of laws and of accelerations are 0/0: the output is what the controller says, and the
        deviation that of the acceleration along the branch.

        Args:
            p: parameters of plant and controller.
        """
        loop = self._shared.loop
        observe, controller = loop.observer(p), loop.driver
        if controller is None:
            return observe
        nq, own = self._nq, p[len(loop.robot.parameters) :]

        def told(t: float, x: Array) -> dict[str, Array]:
            values = observe(t, x)
            if not np.isfinite(x).all():
                return values
            q, v = x[:nq], x[nq:]
            chart = self.chart_at(t, x) if self.chart is None else self.chart
            if not is_near(self.branch, chart, t, q, v):
                return values
            if controller.robot.natural and controller.law is not None:
                seen = controller.observe(t, q, v, own)
                values |= {"output": seen.output, "pivots": seen.pivots, "relative_pivots": seen.relative_pivots}
            if values["deviation"].size:
                values["deviation"] = controller.deviation(t, q, v, self._slope(chart, t, x)[nq:], own)
            return values

        return told

    def follow(self, t: float, x: Array, step: float) -> Array:
        """The state one step later.

        Args:
            t: time [s].
            x: state (q, v), shape (nq + nv,).
            step: h [s].

        Raises:
            SingularProgramError: if the branch is lost however short the step.
            NotFiniteError: if a force or a mass is NaN or infinite.
        """
        if not np.isfinite(x).all():
            return x
        chart = self.chart_at(t, x) if self.chart is None else self.chart
        after, self.chart = self._over(chart, t, x, step, self._shared.halvings)
        return after

    def _over(self, chart: Chart, t: float, x: Array, step: float, halvings: int) -> tuple[Array, Chart]:
        try:
            return self._one(chart, t, x, step)
        except LostBranchError:
            if halvings == 0:
                raise
        half, chart = self._over(chart, t, x, step / 2, halvings - 1)
        return self._over(chart, t + step / 2, half, step / 2, halvings - 1)

    def _one(self, chart: Chart, t: float, x: Array, h: float) -> tuple[Array, Chart]:
        k1 = self._slope(chart, t, x)
        k2 = self._slope(chart, t + h / 2, x + h / 2 * k1)
        k3 = self._slope(chart, t + h / 2, x + h / 2 * k2)
        k4 = self._slope(chart, t + h, x + h * k3)
        ahead = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        end = geometry(self.branch, chart, t + h, ahead[: self._nq], ahead[self._nq :])
        following = next_chart(self.branch, chart, t + h, end.q, end.v, end)
        return np.concatenate([end.q, end.v]), following

    def _slope(self, chart: Chart, t: float, x: Array) -> Array:
        here = geometry(self.branch, chart, t, x[: self._nq], x[self._nq :])
        q, v, nv = here.q, here.v, len(here.v)
        p = self.branch.p
        M, h = self._shared.dynamics(t, q, v, p)
        M, h = M.reshape(nv, nv), np.atleast_1d(h)
        force = self._force(t, np.concatenate([q, v])) - h
        if not (np.isfinite(M).all() and np.isfinite(force).all()):
            raise NotFiniteError(
                f"{self.branch.manifold.robot.name}: a force or a mass is not finite at t = {t:g} s, q = "
                f"{np.array2string(q, precision=4)}"
            )
        a = acceleration_along(here, M, force, self.branch.manifold.robot.name)
        N = self.branch.kinematic_matrix(t, q)
        return np.concatenate([N @ v, a])
