"""What chance draws of disturbances and errors of measurement, as distributions for comparisons and studies."""

from __future__ import annotations

from collections.abc import Mapping

from ..controllers.wrappers import Measured
from ..robots.disturbed import Disturbance
from ..symbolic.errors import ModelError
from .sampling import Distribution, Uniform


def drawn(source: Disturbance | Measured) -> Mapping[str, Distribution]:
    """How seeds vary phases and frequencies, by the names of what is varied; for ``Setup.varied``.

    Those of a disturbance are parameters of the plant, ``plant.disturbance.x.phase1`` and so on; those of errors of
    measurement of the controller, ``law.noise.q1.phase1``. A seed gives every controller the same force and, where the
    names are the same, the same errors.

    Args:
        source: what :func:`~erugin.robots.disturbed` returns, or a controller that sees errors.

    Raises:
        ModelError: for anything else.
    """
    if isinstance(source, Disturbance):
        side = "plant"
    elif isinstance(source, Measured):
        side = "law"
    else:
        raise ModelError(f"drawn() takes a Disturbance or a Measured controller, got {source!r}")
    return {f"{side}.{name}": Uniform(low, high) for name, (low, high) in source.drawn.items()}
