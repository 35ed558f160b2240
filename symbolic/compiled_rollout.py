"""Compiled rollouts: many systems ẋ = f(t, x, p, z) integrated side by side in one loop of machine code."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from .codegen.c_file import PARAMETER_INPUT, rollout_text
from .codegen.symbolic_function import SymbolicFunction
from .compiler import vector_width
from .errors import ModelError, OutOfMemoryError, ShapeError
from .kernel import SCALAR_WIDTH
from .machine_code import load_machine_code
from .runge_kutta import Tableau

Array = NDArray[np.float64]

NOTHING: Array = np.zeros((0, 0))
RATE, CORRECTED, SAMPLED = "march_rate", "march_corrected", "march_sampled"
_WHOLE, _REAL, _PLACE = ctypes.c_longlong, ctypes.c_double, ctypes.c_void_p
_Number = type[ctypes.c_longlong] | type[ctypes.c_double] | type[ctypes.c_void_p]
ARGUMENTS: tuple[_Number, ...] = (
    *(_PLACE, _WHOLE, _WHOLE, _WHOLE, _REAL, _REAL),
    *(_PLACE, _PLACE, _WHOLE, _PLACE, _PLACE, _PLACE, _PLACE, _PLACE),
)


@dataclass(frozen=True, eq=False)
class RolloutLoop:
    """A loop over steps for systems side by side, each a lane of vector instructions.

    No operation of one lane depends on another, and a lane has the same bits as a run of that system alone. What
    depends on the parameters alone is computed once per call. :meth:`compile` compiles it.

    Attributes:
        t: time, a symbol.
        x: state, shape (nx,).
        p: parameters, shape (np,).
        rate: ẋ, shape (nx,).
        recorded: expressions that are recorded before each step, by name, columns.
        correction: corrected state after each step, in the same symbols; None for no correction.
        tableau: the method.
        shared_parameters: pairs of indices in p whose values are the same in every system: what depends on either is
            then computed once, with the same bits.
        z: memory, which changes at the beginning of each step only, shape (nz,).
        sampled: z at the beginning of a step, of its value in the step before; what is recorded, the rate and the
            correction read the new one, shape (nz,).
        w: numbers drawn for each step, the same for all systems, which only ``sampled`` may read, shape (nw,).
    """

    t: ca.SX
    x: ca.SX
    p: ca.SX
    rate: ca.SX
    recorded: Mapping[str, ca.SX]
    correction: ca.SX | None
    tableau: Tableau
    shared_parameters: tuple[tuple[int, int], ...] = ()
    z: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    sampled: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    w: ca.SX = field(default_factory=lambda: ca.SX(0, 1))

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        states = {RATE: self.rate} if self.correction is None else {RATE: self.rate, CORRECTED: self.correction}
        reserved = sorted({RATE, CORRECTED, SAMPLED} & set(self.recorded))
        if reserved:
            raise ModelError(f"{reserved[0]!r} is reserved for the state; choose another name for what is recorded")
        known = {s.element_hash() for s in ca.symvar(ca.vertcat(self.t, self.x, self.p, self.z))}
        used = ca.veccat(*states.values(), *self.recorded.values())
        foreign = sorted({s.name() for s in ca.symvar(used) if s.element_hash() not in known})
        if foreign:
            raise ModelError(
                f"{', '.join(foreign)} must be in t, x, p or z to be used in a rate, a record or a correction"
            )
        known |= {s.element_hash() for s in ca.symvar(self.w)}
        foreign = sorted({s.name() for s in ca.symvar(self.sampled) if s.element_hash() not in known})
        if foreign:
            raise ModelError(f"{', '.join(foreign)} must be in t, x, p, z or w to be used in sampled")
        if self.sampled.numel() != self.z.numel():
            raise ModelError(f"sampled must have the shape of z, {self.z.shape}, got {self.sampled.shape}")
        for key, expression in states.items():
            if expression.shape != self.x.shape:
                raise ModelError(f"{key} must have the shape of x, {self.x.shape}, got {expression.shape}")

    def compile(self, lanes: int) -> CompiledRollout | str:
        """Return the compiled loop, or the reason why it cannot be compiled, as a clause.

        Args:
            lanes: systems side by side: 1, or as many numbers as the processor's vectors hold.

        Raises:
            ModelError: for another number of lanes.
        """
        width = vector_width()
        if lanes not in (1, width):
            raise ModelError(f"lanes must be 1 or {width} on this machine, got {lanes}")
        if lanes == 1:
            width = min(width, SCALAR_WIDTH)
        inputs = {"t": self.t, "x": self.x, "p": self.p, "z": self.z, "w": self.w}
        observed = {**self.recorded, RATE: self.rate}
        corrected = {} if self.correction is None else {CORRECTED: self.correction}
        sampled = {SAMPLED: self.sampled} if self.z.numel() else {}
        method = (self.tableau.a, self.tableau.b, self.tableau.c)

        same = {(PARAMETER_INPUT, other): (PARAMETER_INPUT, one) for one, other in self.shared_parameters}

        def write() -> str:
            return rollout_text(
                SymbolicFunction("rate", inputs, {RATE: self.rate}).tape().merge_inputs(same),
                SymbolicFunction("observe", inputs, observed).tape().merge_inputs(same),
                SymbolicFunction("correct", inputs, corrected).tape().merge_inputs(same) if corrected else None,
                SymbolicFunction("sample", inputs, sampled).tape().merge_inputs(same) if sampled else None,
                method,
                lanes=lanes,
                width=width,
            )

        identity = SymbolicFunction("march", inputs, observed | corrected | sampled).identity(
            lanes, width, method, self.shared_parameters
        )
        call = load_machine_code(identity, write, lambda path: ctypes.CDLL(str(path)).march, OSError, AttributeError)
        if isinstance(call, str):
            return call
        call.restype, call.argtypes = ctypes.c_int, ARGUMENTS
        sizes = (self.x.numel(), *(e.numel() for e in self.recorded.values()))
        memory = self.z.numel(), self.w.numel()
        return CompiledRollout(lanes, self.x.numel(), self.p.numel(), memory, sizes, call, self)


@dataclass(frozen=True, eq=False)
class CompiledRollout:
    """Machine code of a :class:`RolloutLoop`.

    Attributes:
        lanes: systems side by side.
        nx: size of a state.
        parameters: number of parameters.
        memory: sizes of z and w.
        sizes: sizes of x and of each output.
    """

    lanes: int
    nx: int
    parameters: int
    memory: tuple[int, int]
    sizes: tuple[int, ...]
    _call: Callable[..., int]
    _loop: RolloutLoop

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the expressions; they are compiled again when the pickle is read."""
        return _compile_again, (self._loop, self.lanes)

    def __deepcopy__(self, memo: object) -> CompiledRollout:
        """Return the same object, because runs change nothing in it."""
        return self

    def run(
        self,
        systems: NDArray[np.intp],
        first: int,
        t0: float,
        h: float,
        x: Array,
        p: Array,
        outputs: Sequence[Array],
        z: Array = NOTHING,
        w: Array = NOTHING,
    ) -> None:
        """Take one step for each sample of the outputs; may run in several threads at once, on different systems.

        Args:
            systems: indices of the rows that are advanced, shape (k,).
            first: index of the first step; its time is t0 + first h.
            t0: time at index 0 [s].
            h: step [s].
            x: states, shape (K, nx), advanced in place.
            p: parameters, shape (K, np), or (1, np) if all systems share them.
            outputs: x and the recorded values at the start of each step, shape (K, n, size) each, with any strides
                except that the numbers of one sample are contiguous.
            z: memories, shape (K, nz), updated in place; may be omitted without z.
            w: numbers drawn for each step from step 0 on, shape (n, nw) with n of at least first + steps; may be
                omitted without w.

        Raises:
            ShapeError: if arrays have other types, shapes or orders, or a system occurs twice.
            OutOfMemoryError: if there is no memory for the lanes.
        """
        if systems.dtype.kind not in "iu" or systems.ndim != 1:
            raise ShapeError(f"systems must be indices of rows, shape (k,), got {systems.dtype} of {systems.shape}")
        lanes = np.ascontiguousarray(systems, dtype=np.int64)
        steps = self._checked(lanes, x, p, outputs)
        self._check_memory(len(x), first + steps, z, w)
        count = len(outputs)
        # A size of zero leaves the pointer without meaning, and the strides too.
        pointers = (ctypes.c_void_p * count)(*(a.ctypes.data if a.size else None for a in outputs))
        by_lane = (ctypes.c_longlong * count)(*(a.strides[0] // 8 for a in outputs))
        by_step = (ctypes.c_longlong * count)(*(a.strides[1] // 8 for a in outputs))
        stride = 0 if len(p) == 1 else p.shape[1]
        where = lanes.ctypes.data, len(lanes), first, steps, t0, h, x.ctypes.data, p.ctypes.data, stride, z.ctypes.data
        if len(lanes) and steps and self._call(*where, w.ctypes.data, pointers, by_lane, by_step):
            raise OutOfMemoryError(
                f"the work areas of {self.lanes} systems of {self.nx} numbers side by side do not fit into memory: "
                "free memory, or run the systems one by one"
            )

    def _check_memory(self, rows: int, steps: int, z: Array, w: Array) -> None:
        """Check the memories and the numbers drawn for the steps."""
        nz, nw = self.memory
        for name, array, size, least in (("z", z, nz, rows), ("w", w, nw, steps)):
            if not size:
                continue
            if array.dtype != np.float64 or array.ndim != 2 or array.shape[1] != size or len(array) < least:
                raise ShapeError(f"{name} must have shape ({least}, {size}) of float64, got {array.shape}")
            if not (array.flags.c_contiguous and array.flags.aligned):
                raise ShapeError(f"{name} must be row-major and aligned")
        if nz and not z.flags.writeable:
            raise ShapeError("z must be writeable")

    def _checked(self, lanes: NDArray[np.int64], x: Array, p: Array, outputs: Sequence[Array]) -> int:
        """Check the arrays; return the number of steps."""
        for array in (x, p, *outputs):
            if array.dtype != np.float64 or not array.flags.aligned:
                raise ShapeError(f"arrays must be aligned float64, got {array.dtype}")
        if x.ndim != 2 or x.shape[1] != self.nx or p.shape not in ((len(x), self.parameters), (1, self.parameters)):
            raise ShapeError(
                f"x must have shape (K, {self.nx}), and p (K, {self.parameters}) or (1, {self.parameters}), got "
                f"{x.shape} and {p.shape}"
            )
        if not (x.flags.c_contiguous and p.flags.c_contiguous and x.flags.writeable):
            raise ShapeError("x and p must be row-major, and x writeable")
        rows = len(x)
        if lanes.size and not 0 <= lanes.min() <= lanes.max() < rows:
            raise ShapeError(f"systems must be rows 0 … {rows - 1}, got {lanes.min()} … {lanes.max()}")
        # Ascending numbers all differ, and checking that takes a tenth of the time of sorting them.
        if not (lanes[1:] > lanes[:-1]).all() and len(np.unique(lanes)) < len(lanes):
            raise ShapeError("systems must not contain an index twice: it would take each step twice")
        if len(outputs) != len(self.sizes):
            raise ShapeError(f"expected {len(self.sizes)} outputs, of sizes {self.sizes}, got {len(outputs)}")
        steps = outputs[0].shape[1] if outputs[0].ndim == 3 else 0
        for array, size in zip(outputs, self.sizes, strict=True):
            if array.shape != (rows, steps, size) or not array.flags.writeable:
                raise ShapeError(f"an output must be writeable and of shape {(rows, steps, size)}, got {array.shape}")
            if size > 1 and array.strides[2] != 8:
                raise ShapeError("the numbers of one sample must be contiguous; lay out outputs as (K, n, size)")
        return steps


def _compile_again(loop: RolloutLoop, lanes: int) -> CompiledRollout:
    found = loop.compile(lanes)
    if isinstance(found, str):
        raise ModelError(f"the loop of a pickle cannot be compiled here: {found}")
    return found
