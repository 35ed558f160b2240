"""Expressions as a function on NumPy arrays, through CasADi's buffers."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from .codegen.symbolic_function import SymbolicFunction
from .compiler import vector_width
from .errors import CompilerWarning, ModelError, ShapeError, caller_stacklevel
from .machine_code import load_machine_code

Array = NDArray[np.float64]

_DOUBLE = np.dtype(np.float64)

LONGEST_LOOP = 100_000
"""Evaluations in one of CasADi's loops: building a loop takes a kilobyte and some microseconds for each."""

SCALAR_WIDTH = 4
"""Largest number of angles whose sines one system computes at once: few models have more at the same time."""


_Call = tuple[tuple[tuple[str, Array], ...], Callable[[], None], list[Array]]
"""Arrays of the arguments by name, the evaluation, and views of the results in their public shapes."""

_Workspace = TypeVar("_Workspace")


class WorkspacePool(Generic[_Workspace]):
    """Work areas of a shared object, one for each call in progress, so that any number of threads may call it.

    An area is acquired, used by one call and released. If a call fails without releasing its area, a new one is built.
    Neither needs a lock, because the methods of a list are atomic.
    """

    def __init__(self, build: Callable[[], _Workspace]) -> None:
        """Start without areas.

        Args:
            build: function that builds an area when all others are in use.
        """
        self._build = build
        idle: list[_Workspace] = []
        self._pop, self.release = idle.pop, idle.append

    def __reduce__(self) -> tuple[type[WorkspacePool[_Workspace]], tuple[Callable[[], _Workspace]]]:
        """Copy without areas."""
        return WorkspacePool, (self._build,)

    def acquire(self) -> _Workspace:
        """Return an area that no other call uses; pass it to ``release`` when the call is done with it."""
        try:
            return self._pop()
        except IndexError:
            return self._build()


class Kernel:
    """A compiled function of named inputs and outputs.

    ``Function.__call__`` of CasADi converts every argument and costs tens of microseconds; a kernel writes its
    arguments into arrays that CasADi reads in place. With a C compiler the generated C runs, otherwise CasADi's virtual
    machine, with the same results; the first kernel that falls back warns with a CompilerWarning.

    Any number of threads may call one kernel: each call in progress has separate arrays. The functions that
    :meth:`bind` and :meth:`loop` return work on the caller's arrays and serve one thread at a time.

    Attributes:
        function: the CasADi function that is evaluated.
        compiled: True if it runs as machine code.
        inputs: shape of each input by name.
        outputs: shape of each output by name.
    """

    _warned = False

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, ca.SX],
        outputs: Mapping[str, ca.SX],
        *,
        compiled: bool | None = None,
    ) -> None:
        """Build the function.

        Args:
            name: a C identifier, used in generated code and messages.
            inputs: symbols by name.
            outputs: expressions in those symbols, by name.
            compiled: True to insist on machine code, False for the virtual machine, None for the best available.

        Raises:
            ModelError: if an input is not a symbol, an output uses a symbol that is not an input, or the name is not a
                C identifier; with ``compiled=True`` also if there is no compiler or it fails.
        """
        self._recipe = name, dict(inputs), dict(outputs), compiled
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*", name):
            raise ModelError(f"a kernel's name must be letters, digits and single underscores, got {name!r}")
        for key, symbol in inputs.items():
            if not symbol.is_valid_input() or not symbol.is_dense():
                raise ModelError(f"input {key!r} of kernel {name!r} must be full and consist of symbols, got {symbol}")
        self.inputs: dict[str, tuple[int, int]] = {key: symbol.shape for key, symbol in inputs.items()}
        self.outputs: dict[str, tuple[int, int]] = {key: expression.shape for key, expression in outputs.items()}
        # The prefix keeps the name apart from words that C, its libraries or CasADi reserve.
        self._expressions = SymbolicFunction(f"kernel_{name}", inputs, outputs)

        def require_own() -> None:
            known: dict[int, str] = {}
            for key, symbol in inputs.items():
                for i, element in enumerate(symbol.elements()):
                    owner = known.setdefault(element.element_hash(), f"{key}[{i}]")
                    if owner != f"{key}[{i}]":
                        raise ModelError(f"{key}[{i}] of kernel {name!r} is the same symbol as its {owner}")
            for key, expression in outputs.items():
                foreign = sorted({s.name() for s in ca.symvar(expression) if s.element_hash() not in known})
                if foreign:
                    raise ModelError(
                        f"output {key!r} of kernel {name!r} uses {', '.join(foreign)}, not among its inputs "
                        f"{list(inputs)}"
                    )

        external = None
        if compiled is False:
            require_own()
        else:
            external = self._load(name, self._expressions, require_own, insist=compiled is True)
        self.compiled = external is not None
        self.function = self._expressions.function(cse=True) if external is None else external
        self._calls = WorkspacePool(self._call)

    def __call__(self, *arguments: ArrayLike) -> tuple[Array, ...]:
        """Evaluate.

        Args:
            arguments: one per input, in order: a number for shape (1, 1), shape (n,) for a column, else (r, c).

        Returns:
            One new array per output: shape () for (1, 1), (n,) for a column, else (r, c).

        Raises:
            ShapeError: for a wrong number of arguments or a wrong shape.
        """
        if len(arguments) != len(self.inputs):
            raise ShapeError(f"expected {len(self.inputs)} arguments {list(self.inputs)}, got {len(arguments)}")
        call = self._calls.acquire()
        slots, evaluate, views = call
        for (key, target), argument in zip(slots, arguments, strict=True):
            # The usual argument needs no conversion, and checking it costs more than the evaluation.
            if type(argument) is np.ndarray and argument.shape == target.shape and argument.dtype is _DOUBLE:
                target[...] = argument
                continue
            if type(argument) is float and target.size == 1:
                target[0] = argument
                continue
            value = _numbers(key, argument)
            if value.shape != target.shape and not value.size == target.size == 1:
                raise ShapeError(f"{key} must have shape {_public_shape(self.inputs[key])}, got {value.shape}")
            target[...] = value.reshape(target.shape)
        evaluate()
        results = tuple([result.copy() for result in views])
        self._calls.release(call)
        return results

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the expressions; the function is built when it is first used."""
        return Kernel._unbuilt, self._recipe

    @classmethod
    def _unbuilt(
        cls,
        name: str,
        inputs: dict[str, ca.SX],
        outputs: dict[str, ca.SX],
        compiled: bool | None,
    ) -> Kernel:
        kernel = cls.__new__(cls)
        kernel._recipe = name, inputs, outputs, compiled
        return kernel

    def __copy__(self) -> Kernel:
        """Return the same kernel, because calls change nothing."""
        return self

    def __deepcopy__(self, memo: object) -> Kernel:
        """Return the same kernel."""
        return self

    def __getattr__(self, name: str) -> object:
        """Build the function of a kernel that was read from a pickle."""
        # Checked first, because another thread may build it meanwhile.
        built_before = "_calls" in self.__dict__
        if name in self.__dict__:
            return self.__dict__[name]
        if name.startswith("__") or "_recipe" not in self.__dict__ or built_before:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        key, inputs, outputs, compiled = self._recipe
        built = Kernel(key, inputs, outputs, compiled=compiled)
        self.__dict__.update(built.__dict__)
        return getattr(self, name)

    def bind(self, arguments: list[Array], results: list[Array]) -> Callable[[], None]:
        """Return a call without arguments that reads ``arguments`` and writes ``results`` in place, for inner loops.

        Args:
            arguments: float64 arrays, one per input, contiguous in column-major order.
            results: the same, one per output.

        Raises:
            ShapeError: if an array has the wrong size, type or order, or a result shares memory with another array.
        """
        return _bind(self.function, list(arguments), list(results))

    def loop(self, count: int, accumulated: int, arguments: list[Array], results: list[Array]) -> Callable[[], None]:
        """Return a call that evaluates the kernel ``count`` times, feeding its first outputs back as its first inputs.

        The loop runs inside CasADi, without Python between the steps, in pieces of at most 100,000 evaluations.

        Args:
            count: number of evaluations.
            accumulated: number of leading outputs that become the leading inputs of the next evaluation.
            arguments: float64 arrays, contiguous in column-major order: one column for accumulated inputs, ``count``
                columns for the others.
            results: the same, ``count`` columns each.

        Returns:
            A call that reads ``arguments`` and writes ``results`` in place.

        Raises:
            ShapeError: if a number is out of range, shapes differ, an array has the wrong size, type or order, or a
                result shares memory with another array.
        """
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            raise ShapeError(f"a loop needs at least one evaluation, got {count!r}")
        count = int(count)
        pairs = list(zip(self.inputs.items(), self.outputs.items(), strict=False))
        if not 0 <= accumulated <= len(pairs):
            raise ShapeError(f"at most {len(pairs)} outputs can become inputs, got {accumulated}")
        for (source, shape), (key, after) in pairs[:accumulated]:
            if shape != after:
                raise ShapeError(
                    f"{key} has shape {_public_shape(after)} and cannot become {source}, {_public_shape(shape)}"
                )
        return evaluation_loop(self.function, count, accumulated, list(arguments), list(results))

    @functools.cached_property
    def operations(self) -> int:
        """Number of scalar operations of one evaluation, equal ones counted once."""
        return self._expressions.tape().operations

    def _call(self) -> _Call:
        """Arrays for one call at a time, and the function that evaluates the kernel on them."""
        arguments = [_array(shape) for shape in self.inputs.values()]
        results = [_array(shape) for shape in self.outputs.values()]
        views = [
            result.reshape(_public_shape(shape), order="F")
            for shape, result in zip(self.outputs.values(), results, strict=True)
        ]
        return tuple(zip(self.inputs, arguments, strict=True)), self.bind(arguments, results), views

    @classmethod
    def _load(
        cls,
        name: str,
        expressions: SymbolicFunction,
        check: Callable[[], None],
        *,
        insist: bool,
    ) -> ca.Function | None:
        width = min(vector_width(), SCALAR_WIDTH)

        def write() -> str:
            # Not earlier: what is in the cache was checked when it was compiled.
            check()
            return expressions.external(width)

        identity = expressions.identity("external", width)
        loaded = load_machine_code(identity, write, lambda path: ca.external(expressions.name, str(path)), RuntimeError)
        if not isinstance(loaded, str):
            return loaded
        check()
        if insist:
            raise ModelError(f"kernel {name!r} cannot be compiled: {loaded}")
        if not Kernel._warned:
            Kernel._warned = True
            warnings.warn(
                f"kernels run in CasADi's virtual machine, several times slower: {loaded}",
                CompilerWarning,
                stacklevel=caller_stacklevel(),
            )
        return None


def evaluation_loop(
    function: ca.Function, count: int, accumulated: int, arguments: list[Array], results: list[Array]
) -> Callable[[], None]:
    """Return a call that evaluates a function ``count`` times, feeding its first outputs back as its first inputs.

    Args:
        function: function whose inputs and outputs are named as those of a kernel's function, ``i_…`` and ``o_…``.
        count: number of evaluations.
        accumulated: number of leading outputs that become the leading inputs of the next evaluation.
        arguments: as of :meth:`Kernel.loop`.
        results: likewise.

    Raises:
        ShapeError: if an array has the wrong size, type or order, or a result shares memory with another array.
    """
    times = [1 if i < accumulated else count for i in range(function.n_in())]
    sizes = [function.size1_in(i) * function.size2_in(i) * n for i, n in enumerate(times)]
    read = [(function.name_in(i)[2:], size) for i, size in enumerate(sizes)]
    made = [function.size1_out(i) * function.size2_out(i) * count for i in range(function.n_out())]
    written = [(function.name_out(i)[2:], size) for i, size in enumerate(made)]
    # Before anything is built: a loop whose arrays do not fit may be too long for any memory.
    _require_arrays(read, arguments, written, results, f" of {count} evaluations")
    name, runs = f"{function.name()}_loop", list[Callable[[], None]]()
    built: dict[int, ca.Function] = {}
    for first in range(0, count, LONGEST_LOOP):
        size = min(LONGEST_LOOP, count - first)
        if size not in built:
            # A map is built at once; a loop with feedback is unrolled, call by call.
            built[size] = function.mapaccum(name, size, accumulated) if accumulated else function.map(size)
        if size == count:
            return _bind(built[size], arguments, results)
        read_here = [_columns(array, count, first, size) for array in arguments[accumulated:]]
        carried = [_columns(array, count, first - 1, 1) for array in results[:accumulated]] if first else []
        written_here = [_columns(array, count, first, size) for array in results]
        runs.append(_bind(built[size], [*(carried or arguments[:accumulated]), *read_here], written_here))

    def run() -> None:
        for piece in runs:
            piece()

    return run


def _bind(function: ca.Function, arguments: list[Array], results: list[Array]) -> Callable[[], None]:
    read = [(function.name_in(i)[2:], function.size1_in(i) * function.size2_in(i)) for i in range(function.n_in())]
    written = [
        (function.name_out(i)[2:], function.size1_out(i) * function.size2_out(i)) for i in range(function.n_out())
    ]
    _require_arrays(read, arguments, written, results)
    buffer, evaluate = function.buffer()
    for i, array in enumerate(arguments):
        buffer.set_arg(i, array.reshape(-1, order="F").data)
    for i, array in enumerate(results):
        buffer.set_res(i, array.reshape(-1, order="F").data)
    bound = functools.partial(evaluate)
    # CasADi holds bare pointers: the call must keep alive what they point to.
    bound.keep_alive = (function, buffer, arguments, results)  # type: ignore[attr-defined]
    return bound


def _require_arrays(
    read: list[tuple[str, int]],
    arguments: list[Array],
    written: list[tuple[str, int]],
    results: list[Array],
    suffix: str = "",
) -> None:
    """Raise ShapeError for arrays that a call cannot read or write in place.

    Args:
        read: names of the arguments, and the number of entries of each.
        arguments: their arrays.
        written: names of the results, and the number of entries of each.
        results: their arrays.
        suffix: text after the names in a message.
    """
    if len(arguments) != len(read) or len(results) != len(written):
        raise ShapeError(
            f"expected {len(read)} arguments and {len(written)} results, got {len(arguments)} and {len(results)}"
        )
    sizes, arrays = [*read, *written], [*arguments, *results]
    for (key, size), array in zip(sizes, arrays, strict=True):
        if array.dtype != np.float64 or array.size != size or not (array.flags.f_contiguous and array.flags.aligned):
            raise ShapeError(
                f"{key}{suffix} must be a column-major float64 array of {size} numbers ({8 * size / 2**20:.3g} MiB), "
                f"got {array.dtype} of shape {array.shape}"
            )
    for i, array in enumerate(results):
        name = sizes[len(arguments) + i][0]
        if not array.flags.writeable:
            raise ShapeError(f"{name} is read-only and cannot receive a result")
        # A result would be read again as an argument, or be overwritten.
        for other, (key, _) in zip(arrays[: len(arguments) + i], sizes, strict=False):
            if np.may_share_memory(array, other):
                raise ShapeError(f"{name} shares memory with {key}; give each result a separate array")


def _columns(array: Array, count: int, first: int, size: int) -> Array:
    """Numbers of ``size`` evaluations from ``first`` on, out of ``count``, without copying."""
    each = array.size // count
    return array.reshape(-1, order="F")[first * each : (first + size) * each]


def _numbers(key: str, argument: ArrayLike) -> Array:
    try:
        value = np.asarray(argument)
        if value.dtype != np.float64:
            if value.dtype.kind not in "biuf":
                raise TypeError(f"of type {value.dtype}")
            value = value.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{key} must be real numbers, got {argument!r}") from error
    return value


def _array(shape: tuple[int, int]) -> Array:
    return np.zeros(shape[0] if shape[1] == 1 else shape, dtype=np.float64, order="F")


def _public_shape(shape: tuple[int, int]) -> tuple[int, ...]:
    if shape == (1, 1):
        return ()
    return (shape[0],) if shape[1] == 1 else shape
