"""Numbers for the parameters of a law's own model."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from ..controllers.controller import Controller

Values = Mapping[str, float] | ArrayLike | None


def model_values(controller: Controller, p: Values = None) -> dict[str, float]:
    """What the model of a law is built with: the values that the law has under the same names.

    Args:
        controller: the law.
        p: its parameters: nominal, overridden by name, or the whole vector.

    Raises:
        ParameterError, ShapeError: for numbers that the law cannot have.
    """
    own = controller.parameters
    known = dict(zip(own.names, own.values(p).tolist(), strict=True))
    return {name: known[name] for name in controller.robot.parameters.names if name in known}
