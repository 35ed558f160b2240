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
from .quantities import END_TIME, Quantity, StandardQuantities, parts_of
from .run_variables import RunVariable, RunVariables

Array = NDArray[np.float64]
Column = NDArray[Any]
MOST_SAMPLES = 2**62
"""Of so many samples one is kept: only the first and the last are."""
STATUS, OK, ENDING = "status", "ok", "ending"


@dataclass(frozen=True, eq=False)
class Trial:
    """One controller on one setup, compiled once.

    Attributes:
        setup: plant, start, duration and what is to be small.
        name: of the controller.
        controller: what drives the plant, or None.
        quantities: the metrics that are reckoned, by name.
        left_out: why some metrics are not, by name.
        simulator: plant and controller, compiled.
        names: of what can be varied.
        controller_p: the controller's parameters that are not nominal, by name.
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
        also: Iterable[str] = (),
    ) -> Trial:
        """Build and compile.

        The setup's own parameters hold for any controller that has parameters of these names.

        Args:
            setup: plant, start, duration and what is to be small.
            name: of the controller.
            controller: an instance, or a function that makes one for a setup.
            metrics: names of those to be reckoned; all that there are if not given.
            also: names of parameters of other controllers of the same comparison, which may be varied and go nowhere
                here.

        Raises:
            ModelError: for a setup in phases, what makes no controller, or an unknown metric.
        """
        if setup.phases:
            raise ModelError(
                f"controller {name!r} cannot be tried: the setup is a motion in phases, each with a controller of its "
                "own; compare on a setup with one controller"
            )
        built = build_controller(setup, name, controller)
        standard = StandardQuantities(setup, built)
        quantities = standard.chosen(metrics)
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
        names = RunVariables(setup.robot, built, (*setup.parameters, *also))
        return cls(setup, name, built, quantities, left_out, simulator, names, _law_values(setup, built))

    def nominal(self, name: str) -> float:
        """Value of what can be varied, without variation; of a parameter of both the plant's.

        Args:
            name: as in ``columns`` of :meth:`run`.

        Raises:
            ParameterError: for an unknown name, one that only other controllers have, or one without a value.
        """
        places = self.names.places(name)
        if not places:
            raise ParameterError(
                f"{name!r} has no value about which it could vary: neither {self.setup.robot.name} nor controller "
                f"{self.name!r} has it; give absolute values"
            )
        place = places[0]
        if place.where in ("q0", "v0"):
            return float(np.asarray(self._start(place.where), dtype=np.float64)[place.index])
        plant = place.where == "plant"
        values = self.setup.p if plant else self.controller_p
        nominal = (self.setup.robot.parameters if plant else self._law).nominal
        if place.name not in values and place.name not in nominal:
            raise ParameterError(f"{name!r} has no nominal value about which it could vary: give absolute values")
        return float(values[place.name] if place.name in values else nominal[place.name])

    def run(
        self,
        columns: Mapping[str, Array],
        *,
        threads: int | None = None,
        count: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Mapping[str, Column]:
        """Simulate, one run per row.

        The numbers of a run depend on its own row only, not on those beside it or on the number of threads.

        Args:
            columns: values by name of what is varied, shape (n,) each.
            threads: that may be used; all that this process may use if not given.
            count: number of runs, n; that of the columns if not given, 1 if there are none.
            progress: called with the share that is done, in [0, 1].

        Returns:
            By name, shape (n,) each: every metric; ``"status"``, why a run had to stop, as a number of
            :class:`~erugin.controllers.Status`; ``"ok"``, whether it had not to; ``"end_time"`` [s]; and ``"ending"``,
            the same as a sentence.

        Raises:
            ParameterError: for an unknown name, or a value out of its range.
            ShapeError: for columns of different lengths.
            SimulationInterrupted: on Ctrl-C.
        """
        motions = self.motions(columns, threads=threads, count=count, progress=progress)
        found: dict[str, Column] = {
            name: quantity.of(motions.metrics) for name, quantity in self.quantities.items() if quantity.parts
        }
        found[END_TIME] = motions.end_time
        found[STATUS] = np.array(motions.failure, dtype=np.int64)
        found[OK] = motions.failure == int(Status.OK)
        found[ENDING] = np.array(motions.endings, dtype=np.str_)
        return found

    def motions(
        self,
        columns: Mapping[str, Array],
        *,
        threads: int | None = None,
        count: int | None = None,
        progress: Callable[[float], None] | None = None,
        every: int = MOST_SAMPLES,
    ) -> Trajectories:
        """The same runs, as motions.

        Args:
            columns: values by name of what is varied, shape (n,) each.
            threads: that may be used; all that this process may use if not given.
            count: number of runs, n; that of the columns if not given, 1 if there are none.
            progress: called with the share that is done, in [0, 1].
            every: of so many samples one is kept, and the first and the last; only these two if not given.

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
            for place in self.names.places(name):
                if place in given:
                    raise ParameterError(f"{given[place]!r} and {name!r} are the same number: vary one of them")
                given[place] = name
                if place.where in starts:
                    starts[place.where][:, place.index] = column
                else:
                    values[place.where][place.name] = np.asarray(column, dtype=np.float64)
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
    """A controller for a setup.

    Args:
        setup: what it is to drive.
        name: of the controller, for messages.
        source: an instance, a function that makes one, or None for none.

    Raises:
        ModelError: for anything else, and whatever the function raises.
    """
    if source is None or isinstance(source, Controller):
        return source
    if not callable(source):
        raise ModelError(
            f"controller {name!r} must be a Controller, or a function that makes one for a setup, got {source!r}"
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
        told = ", ".join(f"{name!r} has {size}" for name, size in sizes.items())
        wanted = "" if count is None else f", for {count!r} runs"
        raise ShapeError(f"columns must have one shape, (n,) with n > 0{wanted}; {told or 'there are none'}")
    return int(shape[0])


def _law_values(setup: Setup, controller: Controller | None) -> Mapping[str, float]:
    """What the setup says of parameters that a controller has.

    What is set for the plant only, although the setup's own controller has it too, is an error of the model on purpose;
    what that controller does not have holds for any other.
    """
    if controller is None:
        return {}
    own = () if setup.controller is None else setup.controller.parameters.names
    shared = {name: value for name, value in setup.p.items() if name not in own}
    told = shared | dict(setup.controller_p)
    return {name: value for name, value in told.items() if name in controller.parameters.names}
