"""The abstract signal: a function of time whose values are parameters, so that one compiled motion serves all."""

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
        value: value of each component, shape (k,).
        parameters: parameters of the signal.
        random_ranges: lowest and highest value, by name, of the parameters that are uniformly random between them.
    """

    value: ca.SX
    parameters: Parameters = NO_PARAMETERS
    random_ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def __post_init__(self) -> None:
        """Freeze the values."""
        object.__setattr__(self, "random_ranges", MappingProxyType(dict(self.random_ranges)))


class Signal(Picklable, ABC):
    """A function of time with one or more components, smooth enough for an integrator of order 4."""

    @abstractmethod
    def build(self, t: ca.SX, name: str, components: tuple[str, ...]) -> SignalExpressions:
        """Build the signal and its parameters; signals built under different names share no parameters.

        Args:
            t: time [s].
            name: prefix of the parameter names.
            components: name of each component, part of its parameter names; a single one may be empty.

        Raises:
            ModelError: if the signal has values for another number of components.
        """


def parameter_name(name: str, component: str, quantity: str) -> str:
    """Return ``disturbance.x.phase1``, or ``disturbance.phase1`` for a component without a name.

    Args:
        name: name of the signal.
        component: name of the component; may be empty.
        quantity: name of the quantity.
    """
    return ".".join(filter(None, (name, component, quantity)))


def sizes(quantity: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a finite number for all components, shape (), or one for each, shape (k,).

    Args:
        quantity: name of the quantity in messages.
        value: number or numbers to check.

    Raises:
        ModelError: if the value is anything else.
    """
    try:
        numbers = reals("value", value)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{quantity} must be a number, or one for each component, got {value!r}") from error
    if numbers.ndim > 1 or numbers.size == 0 or not np.isfinite(numbers).all():
        raise ModelError(f"{quantity} must be a finite number, or one for each component, got {value!r}")
    numbers.setflags(write=False)
    return numbers


def per_component(
    what: str, unit: str, value: NDArray[np.float64], name: str, components: tuple[str, ...]
) -> tuple[Parameters, ca.SX]:
    """Declare a quantity as one parameter for all components or one for each, and return their column, shape (k,).

    Args:
        what: name of the quantity, such as ``"amplitude"``.
        unit: unit, for the message.
        value: values, shape () or (k,).
        name: name of the signal.
        components: name of each component.

    Raises:
        ModelError: for a wrong number of values.
    """
    if value.ndim == 0:
        shared = Parameters.declare({parameter_name(name, "", what): float(value)})
        return shared, ca.repmat(shared.symbols, len(components), 1)
    if len(value) != len(components):
        names = ", ".join(repr(word) for word in components)
        raise ModelError(
            f"{name}: {what} must be a number{unit}, or {len(components)} of them for {names}; got {value.tolist()}"
        )
    own = {parameter_name(name, word, what): float(x) for word, x in zip(components, value, strict=True)}
    declared = Parameters.declare(own)
    return declared, declared.symbols
