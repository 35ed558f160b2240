"""One controller on one setup, compiled once for any number of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...controllers.controller import Controller
from ...controllers.status import Status
from ...simulation.simulator import Simulator
from ...simulation.trajectories import Trajectories
from ...symbolic.errors import EruginError, ModelError, ParameterError, ShapeError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ..setup import MakeController, Setup
from .outcomes import END_TIME, ENDING, OK, STATUS
from .quantities import Quantity, StandardQuantities, parts_of
from .run_variables import RunVariable, RunVariables

Array = NDArray[np.float64]
Column = NDArray[Any]
MOST_SAMPLES = 2**62
"""Sampling interval of so many steps that only the first and the last sample are kept."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One controller on one setup, compiled once.

    Attributes:
        setup: plant, start, duration and tracking error.
        name: name of the controller.
        controller: the controller that drives the plant, or None.
        quantities: the computed metrics, by name.
        left_out: reasons why other metrics are not available, by name.
        simulator: compiled simulator of plant and controller.
        names: names of the numbers that can be randomized.
        controller_p: values of the controller's parameters that differ from the nominal ones, by name.
    """

    setup: Setup
    name: str
    controller: Controller | None
    quantities: Mapping[str, Quantity]
    left_out: Mapping[str, str]
    simulator: Simulator = field(repr=False)
    names: RunVariables = field(repr=False)
    controller_p: Mapping[str, float]

    @classmethod
    def of(
        cls,
        setup: Setup,
        name: str,
        controller: Controller | MakeController | None,
        metrics: Sequence[str] | None = None,
        *,
        ignored: Iterable[str] = (),
    ) -> Trial:
        """Build the controller and compile the simulator.

        The setup's parameter values apply to any controller that has parameters of these names.

        Args:
            setup: plant, start, duration and tracking error.
            name: name of the controller.
            controller: an instance, or a function that builds one for a setup.
            metrics: names of the metrics; all available ones if not given.
            ignored: names of parameters of other controllers of the same comparison, which are accepted as randomized
                numbers and have no effect here.

        Raises:
            ModelError: for a setup in phases, a source that builds no controller, or an unknown metric.
        """
        if setup.phases:
            raise ModelError(
                f"controller {name!r} cannot be compared on a setup with phases, each of which has its own "
                "controller: use a setup with one controller"
            )
        built = build_controller(setup, name, controller)
        standard = StandardQuantities(setup, built)
        quantities = standard.select(metrics)
        try:
            simulator = Simulator(
                setup.robot,
                built,
                integrator=setup.integrator,
                stop=setup.stop,
                metrics=dict(parts_of(quantities)) or None,
            )
        except EruginError as error:
            error.add_note(f"of controller {name!r}")
            raise
        left_out = {key: why for key, why in standard.left_out.items() if metrics is None or key in metrics}
        names = RunVariables(setup.robot, built, (*setup.parameters, *ignored))
        return cls(setup, name, built, quantities, left_out, simulator, names, _law_values(setup, built))

    def nominal(self, name: str) -> float:
        """Return the value of a number without randomization; of a parameter of both plant and law, the plant's.

        Args:
            name: name as in ``columns`` of :meth:`run`.

        Raises:
            ParameterError: for an unknown name, one that only other controllers have, or one without a value.
        """
        variables = self.names.resolve(name)
        if not variables:
            raise ParameterError(
                f"{name!r} has no nominal value: neither {self.setup.robot.name} nor controller {self.name!r} has such "
                "a parameter; give absolute values"
            )
        variable = variables[0]
        if variable.where in ("q0", "v0"):
            return float(np.asarray(self._start(variable.where), dtype=np.float64)[variable.index])
        plant = variable.where == "plant"
        values = self.setup.p if plant else self.controller_p
        nominal = (self.setup.robot.parameters if plant else self._law).nominal
        if variable.name not in values and variable.name not in nominal:
            raise ParameterError(f"{name!r} has no nominal value: give absolute values")
        return float(values[variable.name] if variable.name in values else nominal[variable.name])

    def run(
        self,
        columns: Mapping[str, Array],
        *,
        threads: int | None = None,
        count: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Mapping[str, Column]:
        """Simulate one run per row of the columns.

        The results of a run depend on its own row only, not on the other rows or the number of threads.

        Args:
            columns: values of the randomized numbers, by name, shape (n,) each.
            threads: number of threads; all available to this process if not given.
            count: number of runs n; by default the length of the columns, or 1 without columns.
            progress: called with the completed share, in [0, 1].

        Returns:
            Arrays by name, shape (n,) each: every metric; ``"status"``, the reason why a run had to stop, as a number
            of :class:`~erugin.controllers.Status`; ``"ok"``, True if it did not have to stop; ``"end_time"`` [s]; and
            ``"ending"``, the reason as a sentence.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            ShapeError: for columns of different lengths.
            SimulationInterrupted: on Ctrl-C.
        """
        motions = self.motions(columns, threads=threads, count=count, progress=progress)
        results: dict[str, Column] = {
            name: quantity.compute(motions.metrics) for name, quantity in self.quantities.items() if quantity.parts
        }
        results[END_TIME] = motions.end_time
        results[STATUS] = np.array(motions.failure, dtype=np.int64)
        results[OK] = motions.failure == int(Status.OK)
        results[ENDING] = np.array(motions.endings, dtype=np.str_)
        return results

    def motions(
        self,
        columns: Mapping[str, Array],
        *,
        threads: int | None = None,
        count: int | None = None,
        progress: Callable[[float], None] | None = None,
        every: int = MOST_SAMPLES,
    ) -> Trajectories:
        """Simulate the same runs and return their motions.

        Args:
            columns: values of the randomized numbers, by name, shape (n,) each.
            threads: number of threads; all available to this process if not given.
            count: number of runs n; by default the length of the columns, or 1 without columns.
            progress: called with the completed share, in [0, 1].
            every: every so many steps a sample is kept, and the first and the last; only these two if not given.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            ShapeError: for columns of different lengths.
            SimulationInterrupted: on Ctrl-C.
        """
        n = _length(columns, count)
        starts = {where: np.tile(np.asarray(self._start(where), dtype=np.float64), (n, 1)) for where in ("q0", "v0")}
        values: dict[str, dict[str, Any]] = {"plant": dict(self.setup.p), "law": dict(self.controller_p)}
        given: dict[RunVariable, str] = {}
        for name, column in columns.items():
            for variable in self.names.resolve(name):
                if variable in given:
                    raise ParameterError(f"{given[variable]!r} and {name!r} are the same number: vary one of them")
                given[variable] = name
                if variable.where in starts:
                    starts[variable.where][:, variable.index] = column
                else:
                    values[variable.where][variable.name] = np.asarray(column, dtype=np.float64)
        try:
            return self.simulator.run_batch(
                starts["q0"],
                starts["v0"],
                self.setup.duration,
                step=self.setup.step,
                p=values["plant"],
                controller_p=values["law"],
                threads=threads,
                progress=progress,
                every=every,
            )
        except EruginError as error:
            error.add_note(f"of controller {self.name!r}")
            raise

    @property
    def _law(self) -> Parameters:
        return NO_PARAMETERS if self.controller is None else self.controller.parameters

    def _start(self, where: str) -> ArrayLike:
        return self.setup.q0 if where == "q0" else self.setup.v0


def build_controller(setup: Setup, name: str, source: Controller | MakeController | None) -> Controller | None:
    """Return the controller for a setup, and build it if the source is a function.

    Args:
        setup: setup that the controller drives.
        name: name of the controller, for messages.
        source: an instance, a function that builds one, or None for no controller.

    Raises:
        ModelError: for any other source, and whatever the function raises.
    """
    if source is None or isinstance(source, Controller):
        return source
    if not callable(source):
        raise ModelError(
            f"controller {name!r} must be a Controller, or a function that builds one for a setup, got {source!r}"
        )
    try:
        built = source(setup)
    except EruginError as error:
        error.add_note(f"of controller {name!r}")
        raise
    if not isinstance(built, Controller):
        raise ModelError(f"the function for controller {name!r} must return a Controller, got {built!r}")
    return built


def _length(columns: Mapping[str, Array], count: int | None) -> int:
    sizes: dict[str, tuple[int, ...]] = {name: np.shape(column) for name, column in columns.items()}
    shapes: set[tuple[int, ...]] = {*sizes.values(), *(() if count is None else ((count,),))}
    shape: tuple[int, ...] = next(iter(shapes), (1,))
    if len(shapes) > 1 or len(shape) != 1 or shape[0] < 1:
        given = ", ".join(f"{name!r} has {size}" for name, size in sizes.items())
        runs = "" if count is None else f", for {count!r} runs"
        raise ShapeError(f"columns must have one shape, (n,) with n > 0{runs}; {given or 'there are no columns'}")
    return int(shape[0])


def _law_values(setup: Setup, controller: Controller | None) -> Mapping[str, float]:
    """Return the setup's values of a controller's parameters.

    A value set for the plant only, although the setup's own controller has the parameter too, is an intended error of
    the model; values of parameters that the own controller does not have apply to any other controller.
    """
    if controller is None:
        return {}
    own = () if setup.controller is None else setup.controller.parameters.names
    shared = {name: value for name, value in setup.p.items() if name not in own}
    values = shared | dict(setup.controller_p)
    return {name: value for name, value in values.items() if name in controller.parameters.names}
