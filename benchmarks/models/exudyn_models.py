"""The four-bar linkage in Exudyn: plane bodies in redundant coordinates, four pins."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sizes import GRAVITY, GROUND, LINKAGE, State

# Without checks of ranges at every access, as its documentation advises for speed.
sys.__dict__["exudynFast"] = True
with contextlib.redirect_stdout(io.StringIO()):
    # It prints its version.
    exudyn: Any = importlib.import_module("exudyn")  # has no type information
    items: Any = importlib.import_module("exudyn.itemInterface")

Array = NDArray[np.float64]
Foreign = Any
"""An object of Exudyn's."""
TOLERANCE = 1e-10
"""Of its Newton iterations; the largest that keeps energy and motion as they are."""


class ExudynFourBar:
    """A system that is integrated from a start; built again for each run, because a run changes it.

    Args:
        start: absolute angles of crank, coupler and rocker, and their rates.
    """

    def __init__(self, start: State) -> None:
        exudyn.config.printToConsole = False
        self._start = start.q
        self._container = exudyn.SystemContainer()
        system = self._system = self._container.AddSystem()
        ground = system.AddObject(items.ObjectGround())
        along, across = _directions(start.q)
        pivots = np.array([[0.0, 0.0], LINKAGE[0].length * along[0], [GROUND, 0.0]])
        rates = np.array([[0.0, 0.0], LINKAGE[0].length * start.v[0] * across[0], [0.0, 0.0]])
        bodies: list[int] = []
        self._nodes: list[int] = []
        for i, link in enumerate(LINKAGE):
            place = pivots[i] + link.center * along[i]
            rate = rates[i] + link.center * start.v[i] * across[i]
            node = items.NodeRigidBody2D(
                referenceCoordinates=[*place, start.q[i]], initialVelocities=[*rate, start.v[i]]
            )
            self._nodes.append(system.AddNode(node))
            body = items.ObjectRigidBody2D(nodeNumber=self._nodes[-1], mass=link.mass, inertia=link.inertia)
            bodies.append(system.AddObject(body))
            weight = system.AddMarker(items.MarkerBodyMass(bodyNumber=bodies[-1]))
            system.AddLoad(items.LoadMassProportional(markerNumber=weight, loadVector=[0.0, -GRAVITY, 0.0]))
        crank, coupler, rocker = LINKAGE
        self._pin((ground, 0.0), (bodies[0], -crank.center))
        self._pin((bodies[0], crank.length - crank.center), (bodies[1], -coupler.center))
        self._pin((ground, GROUND), (bodies[2], -rocker.center))
        self._pin((bodies[1], coupler.length - coupler.center), (bodies[2], rocker.length - rocker.center))
        system.Assemble()

    def run(self, span: float, step: float) -> Array:
        """Integrate by the generalized-α method with index 3.

        Args:
            span: [s].
            step: [s].

        Returns:
            Angles and rates at each sample, shape (N, 6).
        """
        system = self._system
        kinds = (exudyn.OutputVariableType.Coordinates, exudyn.OutputVariableType.Coordinates_t)
        sensors = [
            system.AddSensor(items.SensorNode(nodeNumber=node, storeInternal=True, outputVariableType=kind))
            for kind in kinds
            for node in self._nodes
        ]
        system.Assemble()
        system.SolveDynamic(_settings(span, step), solverType=exudyn.DynamicSolverType.GeneralizedAlpha)
        states = np.column_stack([np.array(system.GetSensorStoredData(sensor))[:, 3] for sensor in sensors])
        # Coordinates of a node count from its place at the start.
        return np.asarray(states + np.concatenate([self._start, np.zeros(3)]))

    def _pin(self, *ends: tuple[int, float]) -> None:
        markers = [
            self._system.AddMarker(items.MarkerBodyPosition(bodyNumber=body, localPosition=[x, 0.0, 0.0]))
            for body, x in ends
        ]
        self._system.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))


def _settings(span: float, step: float) -> Foreign:
    with warnings.catch_warnings():
        # Some names are being changed; the old ones serve all versions.
        warnings.simplefilter("ignore", DeprecationWarning)
        settings = exudyn.SimulationSettings()
        settings.timeIntegration.numberOfSteps = round(span / step)
        settings.timeIntegration.endTime = span
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.timeIntegration.newton.relativeTolerance = TOLERANCE
        settings.timeIntegration.newton.absoluteTolerance = TOLERANCE
        settings.solutionSettings.writeSolutionToFile = False
        settings.solutionSettings.sensorsWritePeriod = step
    return settings


def _directions(angles: Array) -> tuple[Array, Array]:
    """Along and across each bar, shape (3, 2)."""
    c, s = np.cos(angles), np.sin(angles)
    return np.column_stack([c, s]), np.column_stack([-s, c])
