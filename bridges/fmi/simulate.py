"""A closed loop as an FMU, run by FMPy."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...robots.robot import Robot
from ...scenarios.trajectory import Trajectory
from ...symbolic.arrays import finite, positive, step_count
from ...symbolic.errors import BridgeError
from ...symbolic.extras import require
from ..recorder import Recorder
from .export import Version, export
from .instance import Instance

Values = Mapping[str, float] | ArrayLike | None


def simulate(
    robot: Robot,
    controller: Controller | None,
    q0: ArrayLike,
    v0: ArrayLike,
    duration: float,
    *,
    step: float,
    p: Values = None,
    law_p: Values = None,
    t0: float = 0.0,
    version: Version = "3.0",
) -> Trajectory:
    """Run the FMU of a plant and its law in FMPy; arguments and record are those of ``erugin.scenarios.simulate``.

    The law is inside the FMU and acts at all stages of a step, as it does here. The law here is asked once for each
    sample that the FMU gives, for the record.

    Args:
        robot: the plant.
        controller: what drives it, with a symbolic law; None for a free motion.
        q0: coordinates at the start, shape (nq,).
        v0: velocities at the start, shape (nv,).
        duration: [s].
        step: of communication, and of RK4 inside [s]; made a little smaller if it does not divide the duration.
        p: the plant's parameters: nominal, overridden by name, or the whole vector.
        law_p: the controller's parameters, likewise.
        t0: time of the start [s].
        version: of FMI.

    Raises:
        BridgeError: for a law that cannot become an FMU, or a start that the FMU refuses.
        ShapeError, ModelError, ParameterError: for bad input.
        SimulationError: if the FMU or the law has to stop; the trajectory so far is attached.
        MissingPackageError: if FMPy is not installed.
    """
    require("fmpy", "fmi")
    span, begin = positive("duration", duration), finite("t0", t0)
    steps = step_count(span, step)
    h = span / steps
    recorder = Recorder(robot, controller, step=h, samples=steps + 1, p=p, law_p=law_p, t0=begin)
    with tempfile.TemporaryDirectory(prefix="erugin-fmu-") as folder:
        path = Path(folder) / "loop.fmu"
        if controller is None:
            fmu = export(robot, path, version=version, q0=q0, v0=v0, p=p, step=h)
        else:
            fmu = export(controller, path, version=version, with_plant=robot, q0=q0, v0=v0, p=law_p, plant_p=p, step=h)
        states, nq = [state.name for state in fmu.states], robot.coordinates.nq
        with Instance(path, t0=begin) as instance:
            for k, t in enumerate(recorder.times()):
                x = instance.get(states)
                recorder.tick(x[:nq], x[nq:])
                if k < steps:
                    try:
                        instance.step(t, h)
                    except BridgeError as error:
                        raise recorder.fail(error) from error
    return recorder.trajectory()
