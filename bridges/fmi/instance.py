"""An FMU instance in FMPy, with variables by name and errors that contain the FMU's messages."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ...symbolic.errors import BridgeError, ModelError, unknown_name
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.validation import finite
from .unit_definitions import BASE, Unit

if TYPE_CHECKING:
    import fmpy.model_description
    from fmpy.model_description import ScalarVariable


Array = NDArray[np.float64]
LOG_LINES = 10


class Instance:
    """An FMU for co-simulation, unpacked into a temporary folder and initialized; to be used by ``with``.

    After the ``with`` block, or after :meth:`close`, its memory is freed: every method except ``close`` raises
    BridgeError. Calls from several threads are serialized.

    Attributes:
        path: path of the FMU.
        variables: variables of the FMU, by name.
        units: units that the FMU defines, by name.
        version: version of FMI, ``"2.0"`` or ``"3.0"``.
    """

    def __init__(
        self, path: str | os.PathLike[str], values: Mapping[str, float] | None = None, *, t0: float = 0.0
    ) -> None:
        """Unpack, load and initialize the FMU.

        Args:
            path: path of the FMU.
            values: start values of parameters, inputs and states, by name; those of the FMU if not given.
            t0: time of the start [s].

        Raises:
            BridgeError: for an FMU that cannot be read or is not for co-simulation, an unknown name, or a value that
                the FMU rejects.
            MissingPackageError: if FMPy is not installed.
        """
        fmpy, t0 = import_optional("fmpy", "fmi"), _number("t0", t0)
        self.path = os.fspath(path)
        # Messages of the last call only, for its error: an FMU may log much that is not an error.
        self._messages = messages = deque[str](maxlen=LOG_LINES)
        # An instance is not thread-safe, and ctypes releases Python's own lock during its calls.
        self._lock = threading.RLock()

        # Not a method: the FMU's reference to it would prevent this instance from being collected.
        def log(*arguments: object) -> None:
            """Store the message, the last argument in either version of FMI."""
            message = arguments[-1]
            messages.append(message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message))

        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="erugin-fmu-"))
            try:
                description = fmpy.read_model_description(self.path)
                fmpy.extract(self.path, folder)
                if description.coSimulation is None:
                    raise BridgeError(f"{self.path} is not for co-simulation")
                self._fmu: Any = fmpy.instantiate_fmu(
                    folder, description, "CoSimulation", debug_logging=True, logger=log
                )
            except BridgeError:
                raise
            except Exception as error:  # FMPy has no exception class of its own
                raise BridgeError(f"{self.path} cannot be loaded by FMPy: {self._reason(error)}") from error
            stack.callback(self._fmu.freeInstance)
            # Without close(): when the instance is collected, or at the end of the process.
            self._finalizer = weakref.finalize(self, stack.close)
            self.version: str = description.fmiVersion
            self.variables: Mapping[str, ScalarVariable] = MappingProxyType(
                {variable.name: variable for variable in description.modelVariables}
            )
            self.units: Mapping[str, Unit] = MappingProxyType(
                {unit.name: _unit(unit) for unit in description.unitDefinitions}
            )
            given = {} if values is None else dict(values)
            if self.version == "2.0":
                self._call("setupExperiment", startTime=t0)
                self.set(given)
                self._call("enterInitializationMode")
            else:
                self.set(given)
                self._call("enterInitializationMode", startTime=t0)
            self._call("exitInitializationMode")
            self._finalizer.detach()
            self._finalizer = weakref.finalize(self, stack.pop_all().close)

    def __enter__(self) -> Self:
        self._require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Free the instance and remove its folder; a second call has no effect."""
        with self._lock:
            self._finalizer()

    def set(self, values: Mapping[str, float]) -> None:
        """Set parameters or inputs.

        Args:
            values: name of each variable → value.

        Raises:
            BridgeError: for an unknown name, or a value that is not a finite number or that the FMU rejects.
        """
        references = self._references(values)
        numbers = [_number(name, value) for name, value in values.items()]
        if references:
            self._call("setReal" if self.version == "2.0" else "setFloat64", references, numbers)

    def get(self, names: Iterable[str]) -> Array:
        """Return the values of variables.

        Args:
            names: names of variables.

        Returns:
            The values in the order of the names, shape (number of names,).

        Raises:
            BridgeError: for an unknown name, or if the FMU cannot compute a value in its state.
        """
        references = self._references(names)
        return np.array(self._call("getReal" if self.version == "2.0" else "getFloat64", references))

    def unit(self, name: str) -> Unit | None:
        """Unit of a variable, its own or that of its type; None if it has none.

        Args:
            name: name of the variable.

        Raises:
            BridgeError: for an unknown name.
        """
        self._references([name])
        variable = self.variables[name]
        declared = variable.declaredType
        label = variable.unit or (None if declared is None else declared.unit)
        return None if not label else self.units.get(label, Unit(label, None))

    def step(self, t: float, span: float) -> None:
        """Advance the FMU in time.

        Args:
            t: current time [s].
            span: step [s].

        Raises:
            BridgeError: if the step fails.
        """
        now, step = _number("t", t), _number("span", span)
        self._call("doStep", currentCommunicationPoint=now, communicationStepSize=step)

    def save(self) -> bytes:
        """Return the complete state, for :meth:`restore` of any instance of the same FMU.

        Raises:
            BridgeError: if the FMU cannot serialize its state.
        """
        old = self.version == "2.0"
        with self._lock:
            state = self._call("getFMUstate" if old else "getFMUState")
            try:
                return bytes(self._call("serializeFMUstate" if old else "serializeFMUState", state))
            finally:
                self._call("freeFMUstate" if old else "freeFMUState", state)

    def restore(self, saved: bytes) -> None:
        """Restore a saved state.

        Args:
            saved: the result of :meth:`save`.

        Raises:
            BridgeError: if it is not a state of this FMU.
        """
        old = self.version == "2.0"
        with self._lock:
            state = self._call("deSerializeFMUstate" if old else "deserializeFMUState", saved)
            try:
                self._call("setFMUstate" if old else "setFMUState", state)
            finally:
                self._call("freeFMUstate" if old else "freeFMUState", state)

    def _references(self, names: Iterable[str]) -> list[int]:
        self._require_open()
        found: list[int] = []
        for name in names:
            if name not in self.variables:
                raise BridgeError(unknown_name("variable of the FMU", name, self.variables))
            found.append(self.variables[name].valueReference)
        return found

    def _call(self, name: str, *arguments: object, **named: object) -> Any:  # noqa: ANN401 - FMPy has no types
        with self._lock:
            self._require_open()
            self._messages.clear()
            try:
                return getattr(self._fmu, name)(*arguments, **named)
            except Exception as error:  # FMPy raises plain exceptions too
                raise BridgeError(f"the FMU reports: {self._reason(error)}") from error

    def _require_open(self) -> None:
        if not self._finalizer.alive:
            raise BridgeError(
                f"the instance of {self.path} is closed, and its memory is freed: use it inside its with block, or "
                "create another Instance"
            )

    def _reason(self, error: Exception) -> str:
        return "; ".join(self._messages) or str(error)


def _number(name: str, value: float) -> float:
    try:
        return finite(name, value)
    except ModelError as error:
        raise BridgeError(str(error)) from error


def _unit(unit: fmpy.model_description.Unit) -> Unit:
    base = unit.baseUnit
    if base is None:
        return Unit(unit.name, None)
    return Unit(unit.name, {name: int(getattr(base, name)) for name in BASE}, float(base.factor))
