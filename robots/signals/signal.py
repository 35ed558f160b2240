"""The abstract signal: a function of time whose numbers are parameters, so that one compiled motion serves them all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.errors import ModelError
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.pickling import Picklable
from ...symbolic.validation import reals


@dataclass(frozen=True, eq=False)
class SignalExpressions:
    """A signal as expressions.

    Attributes:
        value: of each component, shape (k,).
        parameters: the signal's own.
        drawn: lowest and highest value, by name, of the parameters that chance draws evenly between them.
    """

    value: ca.SX
    parameters: Parameters = NO_PARAMETERS
    drawn: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def __post_init__(self) -> None:
        """Freeze the values."""
        object.__setattr__(self, "drawn", MappingProxyType(dict(self.drawn)))


class Signal(Picklable, ABC):
    """A function of time for a stated number of components, smooth enough for an integrator of order 4."""

    @abstractmethod
    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        """The signal with parameters of its own; two signals built under different names share nothing.

        Args:
            t: time [s].
            name: what the names of parameters begin with.
            components: a word for each component, part of the names of its parameters; a single one may be empty.

        Raises:
            ModelError: if the signal is made for another number of components.
        """


def parameter_name(name: str, component: str, what: str) -> str:
    """``disturbance.x.phase1``, or ``disturbance.phase1`` of a component without a word.

    Args:
        name: of the signal.
        component: its word.
        what: the quantity.
    """
    return ".".join(filter(None, (name, component, what)))


def sizes(what: str, value: ArrayLike) -> NDArray[np.float64]:
    """A number for all components, shape (), or one for each, shape (k,); finite.

    Args:
        what: names it in messages.
        value: what was given.

    Raises:
        ModelError: for anything else.
    """
    try:
        numbers = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what} must be a number, or one for each component, got {value!r}") from error
    if numbers.ndim > 1 or numbers.size == 0 or not np.isfinite(numbers).all():
        raise ModelError(f"{what} must be a finite number, or one for each component, got {value!r}")
    numbers.setflags(write=False)
    return numbers


def per_component(
    what: str, unit: str, value: NDArray[np.float64], name: str, components: tuple[str, ...]
) -> tuple[Parameters, ca.SX]:
    """A size as parameters: one for all components, or one for each; and the column of them, shape (k,).

    Args:
        what: the quantity, such as ``"amplitude"``.
        unit: said in the message.
        value: shape () or (k,).
        name: of the signal.
        components: a word for each.

    Raises:
        ModelError: for another number of values.
    """
    if value.ndim == 0:
        shared = Parameters.declare({parameter_name(name, "", what): float(value)})
        return shared, ca.repmat(shared.symbols, len(components), 1)
    if len(value) != len(components):
        words = ", ".join(repr(word) for word in components)
        raise ModelError(
            f"{name}: {what} must be a number{unit}, or {len(components)} of them for {words}; got {value.tolist()}"
        )
    own = {parameter_name(name, word, what): float(x) for word, x in zip(components, value, strict=True)}
    declared = Parameters.declare(own)
    return declared, declared.symbols
