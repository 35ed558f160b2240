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
    """A box within the bounds of the inputs, or within ±1 if actions are normalized.

    Args:
        task: whose actions they are.
    """
    low, high = task.low, task.high
    if task.normalized:
        low, high = -np.ones(len(low)), np.ones(len(high))
    return spaces.Box(low, high, dtype=np.float64)


def observation_space(task: EnvironmentTask, dictionary: bool) -> spaces.Space[Any]:
    """A flat box, or a dictionary of boxes by part.

    Args:
        task: what is seen.
        dictionary: which of the two.
    """
    if dictionary:
        # Gymnasium sorts the names of a plain dictionary.
        boxes = ((part.name, spaces.Box(part.low, part.high, dtype=np.float64)) for part in task.parts)
        return spaces.Dict(OrderedDict(boxes))
    low, high = (np.concatenate([getattr(part, end) for part in task.parts]) for end in ("low", "high"))
    return spaces.Box(low, high, dtype=np.float64)


def pack(task: EnvironmentTask, seen: Array, dictionary: bool) -> Any:  # noqa: ANN401 - of either space
    """An observation, or a batch of them, in its space.

    Args:
        task: what is seen.
        seen: shape (…, n), which no one else has.
        dictionary: whether it is split into its parts.
    """
    if not dictionary:
        return seen
    return {name: np.array(part) for name, part in task.named(seen).items()}


def describe_spaces(task: EnvironmentTask) -> dict[str, Any]:
    """Names and units for ``metadata``.

    Args:
        task: what is done and seen.
    """
    labels = [label for part in task.parts for label in part.labels]
    units = [unit for part in task.parts for unit in part.units]
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
    """What ``reset(options=…)`` sets.

    Args:
        options: as they were given.

    Raises:
        BridgeError: for an unknown option.
    """
    told = dict(options or {})
    unknown = [name for name in told if name not in RESET_OPTIONS]
    if unknown:
        raise BridgeError(f"unknown option {unknown[0]!r}: reset takes options={{'parameters': {{name: value}}}}")
    given: Mapping[str, float] = told.get("parameters") or {}
    return given
