"""A momentum observer around any law, which adds the force that its model lacks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import positive
from ..control_allocation import LeastEffortAllocation
from ..controller import Controller, Tick, Values
from ..law import Law
from ..status import Status
from ..traits import Trait
from ..wrappers.wrapper import Wrapper, law_inside, output_size
from .compensation import Compensation
from .disturbance_estimator import DisturbanceEstimator, Momentum

Array = NDArray[np.float64]


class DisturbanceObserver(Wrapper[Array]):
    """u = c − B⁺ r, c = law(t, q, v), r = L (M v − z), ż = Ṁ v + M â, M â + h = B u + Aᵀμ + r [DeLucaMattone2003]_.

    A generalized force d that the model does not contain, a payload or friction, gives r′ = L (d − r): without noise r
    converges to a constant d with the rate L, and the law inside acts on the robot of its model. B⁺ r are the inputs of
    least effort with the effect of r; a law whose output is a force R gets R − r. Only what moves the robot is found:
    natural reactions take up the rest of d.

    r is that of the momentum measured and of the output applied: what lies between law and machine, such as a delay or
    limits of the inputs, belongs into ``through``; otherwise r contains its effect, and grows while limits bind. A
    ProgramController with nothing between has its own argument ``robust``, which corrects the model, not the output.

    Attributes:
        controller: the law.
        inner: what is applied: the law with B⁺ r subtracted, in the wrappers of ``through``.
    """

    supports = frozenset({Trait.CLOSED_LOOPS, Trait.NONHOLONOMIC, Trait.OVERACTUATED, Trait.QUASI_VELOCITIES})

    accepts_any_number = False

    def __init__(
        self, controller: Controller, rate: float, *, through: Callable[[Controller], Controller] | None = None
    ) -> None:
        """Add an observer to a law.

        Args:
            controller: the law, for a robot with as many independent inputs as degrees of freedom.
            rate: L [1/s], the parameter ``observer.rate``; below 1/h for an interval h between samples. Half the rate
                of the law is a good start.
            through: function that returns wrappers around a law, such as ``lambda law: Saturation(law, 20.0)``: what
                lies between the law and the machine.

        Raises:
            ModelError: for another robot, a rate that is not positive, or a function that returns something else.
        """
        super().__init__(controller)
        self.check_supported(self.robot)
        self.controller = controller
        missing = Parameters.declare({f"missing.{name}": 0.0 for name in self.robot.coordinates.velocity_names})
        own = Parameters.declare({"rate": positive("rate", rate)}, "observer", ranges={"rate": Range.POSITIVE})
        self.parameters = Parameters.collect([controller.parameters, own])
        corrected = CorrectedLaw(controller, missing)
        self.inner = corrected if through is None else through(corrected)
        if (
            not isinstance(self.inner, Controller)
            or self.inner.robot is not self.robot
            or missing.names[0] not in self.inner.parameters.names
        ):
            raise ModelError(f"through must return wrappers around the law that it is given, got {self.inner!r}")
        estimator = DisturbanceEstimator(
            self.robot,
            Momentum(self.robot),
            own["observer.rate"],
            self.parameters,
            applies_force=controller.applies_force,
        )
        self._compensation = Compensation(self.inner, missing.symbols, estimator, after_sample=True)
        self.reset()

    @property
    def estimates(self) -> Mapping[str, float]:
        """r at the last sample, by velocity."""
        return self._compensation.estimates(self.memory)

    @property
    def initial_memory(self) -> object | None:
        """r = 0, which starts at the first sample."""
        return self._compensation.initial_memory

    def sampled_law(self, period: float) -> Law | None:
        """Return the law with its observer as expressions; None if the law inside has none.

        Args:
            period: time between samples [s].
        """
        law = self._compensation.sampled_law(law_inside(self.inner, period))
        return None if law is None else replace(law, linearizations=self.linearizations)

    @property
    def linearizations(self) -> tuple[tuple[str, ca.SX], ...]:
        """Those of the law inside, and r′ = −L r."""
        return (*self.controller.linearizations, ("observer", -self.parameters["observer.rate"]))

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law inside, and subtract r.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: r at the last sample, and memory of the law inside.
        """
        return self._compensation.evaluate(t, q, v, p, memory)

    def diagnose(self, t: float, q: ArrayLike, v: ArrayLike, p: Values = None) -> tuple[Status, str]:
        """Return status and message of the law inside.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters: nominal, overridden by name, or the whole vector.
        """
        return self.controller.diagnose(t, q, v, self.parameters.values(p)[: len(self.controller.parameters)])

    def show_memories(self) -> None:
        """Copy the memory of the law inside into that law."""
        self.inner.memory = self._compensation.parts(self.memory).inner
        if isinstance(self.inner, Wrapper):
            self.inner.show_memories()


class CorrectedLaw(Wrapper[None]):
    """u = c − B⁺ r, with r among the parameters, and the memory of the law inside."""

    supports = DisturbanceObserver.supports

    accepts_any_number = False

    def __init__(self, controller: Controller, missing: Parameters) -> None:
        """Correct a law.

        Args:
            controller: the law.
            missing: r, shape (nv,).
        """
        super().__init__(controller)
        self.parameters = Parameters.collect([controller.parameters, missing])
        r = missing.symbols
        self._change = r if self.applies_force else LeastEffortAllocation.of(self.robot).inputs(r)
        self.reset()

    @property
    def initial_memory(self) -> object | None:
        """Memory of the law inside before the first sample."""
        return self.inner.initial_memory

    def show_memories(self) -> None:
        """Copy the memory into the law inside."""
        self.inner.memory = self.memory
        if isinstance(self.inner, Wrapper):
            self.inner.show_memories()

    def sampled_law(self, period: float) -> Law | None:
        """Return the law as expressions; None if the law inside has none.

        Args:
            period: time between samples [s].
        """
        law = law_inside(self.inner, period)
        return None if law is None else replace(law, output=law.output - self._change)

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """Evaluate the law inside, and subtract B⁺ r.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            p: parameters, the whole vector.
            memory: memory of the law inside.
        """
        inner = self.inner
        tick = inner.evaluate(*inner.arguments(t, q, v, self._inner_parameters(p)), memory)
        return replace(tick, output=np.atleast_1d(self._kernel(t, q, v, p, tick.output)[0]))

    @functools.cached_property
    def _kernel(self) -> Kernel:
        c, command = self.robot.coordinates, ca.SX.sym("command", output_size(self))
        symbols = {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols, "command": command}
        return Kernel("corrected_output", symbols, {"output": command - self._change})
