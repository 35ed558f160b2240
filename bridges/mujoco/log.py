"""The last samples of a motion that MuJoCo makes, for the error that ends it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.simulation_errors import SimulationError
from ..recorder import Recorder

if TYPE_CHECKING:
    from mujoco import MjModel

Array = NDArray[np.float64]
KEPT = 10_000
"""Samples at most."""


@dataclass(frozen=True, eq=False)
class Sample:
    """The state at one time, and the parameters of the law then."""

    t: float
    q: Array
    v: Array
    p: Array | None


class SampleLog:
    """Samples at whole steps; those that an integrator only tries in between are left out or replaced."""

    def __init__(self, model: MjModel) -> None:
        """Nothing yet.

        Args:
            model: MuJoCo's, whose timestep may be changed: the samples begin anew then.
        """
        self._model, self._step, self._start = model, float(model.opt.timestep), 0.0
        self._samples: deque[Sample] = deque(maxlen=KEPT)

    def add(self, t: float, q: Array, v: Array, p: Array | None = None) -> None:
        """Take in a state, which replaces all that were later.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: the law's parameters, shape (np,), if they change.
        """
        samples, h = self._samples, self._model.opt.timestep
        if h != self._step or (samples and t > samples[-1].t + 1.5 * h):
            self._step = h
            samples.clear()
        while samples and samples[-1].t >= t - 1e-6 * h:
            samples.pop()
        if not samples:
            self._start = t
        steps = (t - self._start) / h
        if abs(steps - round(steps)) < 1e-4:
            samples.append(Sample(t, q.copy(), v.copy(), None if p is None else p.copy()))

    def failure(
        self,
        robot: Robot,
        controller: Controller,
        error: Exception,
        *,
        p: Mapping[str, float] | ArrayLike | None,
        law_p: Array,
    ) -> SimulationError:
        """The error to be raised, with the samples so far.

        Args:
            robot: whose coordinates these are.
            controller: what drives it.
            error: what was raised after the last sample.
            p: the robot's parameters.
            law_p: the law's, shape (np,).
        """
        samples = list(self._samples)
        memory, t0 = controller.memory, samples[0].t if samples else 0.0
        room = max(1, len(samples))
        recorder = Recorder(robot, controller, step=self._step, samples=room, p=p, law_p=law_p, t0=t0)
        try:
            for sample in samples:
                if sample.p is not None:
                    recorder.observed(sample.p)
                recorder.tick(sample.q, sample.v)
        except SimulationError as found:
            return found
        except Exception as raised:
            return recorder.fail(raised)
        finally:
            # To tell of the samples they were gone through once more, which is not to change what it remembers.
            controller.memory = memory
        return recorder.fail(error)
