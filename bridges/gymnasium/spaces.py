"""Action and observation spaces, with the names and units of their components."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError
from .task import EnvironmentTask

Array = NDArray[np.float64]
RESET_OPTIONS = ("parameters", "reset_mask")


def action_space(task: EnvironmentTask) -> spaces.Box:
    """Return a box within the bounds of the inputs, or within ±1 if actions are normalized.

    Args:
        task: task of the environment.
    """
    low, high = task.low, task.high
    if task.normalized:
        low, high = -np.ones(len(low)), np.ones(len(high))
    return spaces.Box(low, high, dtype=np.float64)


def observation_space(task: EnvironmentTask, dictionary: bool) -> spaces.Space[Any]:
    """Return a flat box, or a dictionary of boxes by part.

    Args:
        task: task of the environment.
        dictionary: True for the dictionary.
    """
    if dictionary:
        # Gymnasium sorts the names of a plain dictionary.
        boxes = ((term.name, spaces.Box(term.low, term.high, dtype=np.float64)) for term in task.terms)
        return spaces.Dict(OrderedDict(boxes))
    low, high = (np.concatenate([getattr(term, end) for term in task.terms]) for end in ("low", "high"))
    return spaces.Box(low, high, dtype=np.float64)


def pack(task: EnvironmentTask, observation: Array, dictionary: bool) -> Any:  # noqa: ANN401 - of either space
    """Return an observation, or a batch of them, as an element of its space.

    Args:
        task: task of the environment.
        observation: complete observations, shape (…, n); not copied.
        dictionary: True to split it into its parts.
    """
    if not dictionary:
        return observation
    return {name: np.array(term) for name, term in task.named(observation).items()}


def describe_spaces(task: EnvironmentTask) -> dict[str, Any]:
    """Return the names and units for ``metadata``.

    Args:
        task: task of the environment.
    """
    labels = [label for term in task.terms for label in term.labels]
    units = [unit for term in task.terms for unit in term.units]
    acts = list(task.actions.units)
    if task.normalized:
        bounds = zip(task.low, task.high, acts, strict=True)
        acts = [f"share of {low:g} … {high:g} {unit}".rstrip() for low, high, unit in bounds]
    return {
        "render_fps": max(1, round(1.0 / task.period)),
        "period": task.period,
        "steps_per_period": task.substeps,
        "action_names": list(task.actions.names),
        "action_units": acts,
        "observation_names": labels,
        "observation_units": units,
    }


def reset_parameters(options: Mapping[str, Any] | None) -> Mapping[str, float]:
    """Return the parameters that ``reset(options=…)`` sets, by name.

    Args:
        options: options of ``reset``.

    Raises:
        BridgeError: for an unknown option.
    """
    given = dict(options or {})
    unknown = [name for name in given if name not in RESET_OPTIONS]
    if unknown:
        raise BridgeError(f"unknown option {unknown[0]!r}: use options={{'parameters': {{name: value}}}}")
    parameters: Mapping[str, float] = given.get("parameters") or {}
    return parameters
