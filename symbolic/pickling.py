"""Expressions in pickles: the same symbols, the same operations, each once.

CasADi pickles an expression alone at most, with new symbols, so that q in one attribute of a robot would not be the q
in another. Here an expression is a choice of nodes from batches. A batch holds the operations that the expressions
pickled before it do not have, and refers to theirs. Because a pickle writes each object once, whatever is shared when
it is written is shared when it is read.

A symbol keeps its identity between pickles, too: the results of a worker process are in the symbols of the process that
sent the robot to it.
"""

from __future__ import annotations

import copyreg
import functools
import importlib
import marshal
import operator
import sys
import threading
import uuid
import weakref
from array import array
from collections.abc import Callable, Mapping, Sequence
from types import CellType, FunctionType, MappingProxyType
from typing import Any, SupportsIndex, cast

import casadi as ca

from .errors import ModelError

STRIDE = 40
"""One in so many batches of a chain lists all that it depends on, so that no pickle descends deeper than this."""

CONSTANT, SYMBOL = ca.OP_CONST, ca.OP_PARAMETER


class _Symbol:
    """A symbol with a key that is unique among all processes."""

    depth: int = 0
    sources: tuple[_Source, ...] = ()

    def __init__(self, key: bytes, symbol: ca.SX) -> None:
        self.key, self.values, self.indices = key, (symbol,), {symbol.element_hash(): 0}
        _BY_HASH[symbol.element_hash()] = self

    @property
    def symbols(self) -> frozenset[_Symbol]:
        """Itself."""
        return frozenset([self])

    def __reduce__(self) -> tuple[object, ...]:
        return _symbol, (self.key, self.values[0].name())


class _Batch:
    """Operations on nodes of other sources and on each other."""

    depth: int
    symbols: frozenset[_Symbol]

    def __init__(
        self,
        sources: tuple[_Source, ...],
        written: tuple[object, ...],
        values: Sequence[ca.SX],
        hashes: Sequence[int] = (),
    ) -> None:
        self.sources, self.written, self.values = sources, written, values
        self.indices = {key: k for k, key in enumerate(hashes)}
        self.depth = 1 + max((source.depth for source in sources), default=0)
        self.symbols = frozenset[_Symbol]().union(*(source.symbols for source in sources))

    def __reduce__(self) -> tuple[object, ...]:
        below = dict[int, _Source]()
        if self.depth % STRIDE == 0:
            waiting = list(self.sources)
            while waiting:
                one = waiting.pop()
                if id(one) not in below:
                    below[id(one)] = one
                    waiting += one.sources
        # In this order, none has to wait for what it depends on.
        order = sorted(below.values(), key=lambda source: source.depth)
        return _batch, (order, self.sources, *self.written)


_Source = _Symbol | _Batch

_LOCK = threading.RLock()
_SYMBOLS: weakref.WeakValueDictionary[bytes, _Symbol] = weakref.WeakValueDictionary()
_BY_HASH: weakref.WeakValueDictionary[int, _Symbol] = weakref.WeakValueDictionary()


class _Known(threading.local):
    """Batches of the pickles that this thread is writing, by the hashes of their nodes."""

    def __init__(self) -> None:
        self.batches: weakref.WeakValueDictionary[int, _Batch] = weakref.WeakValueDictionary()


_KNOWN = _Known()


def _symbol(key: bytes, name: str) -> _Symbol:
    """Return the symbol of that key if it is known in this process, else a new one."""
    with _LOCK:
        known = _SYMBOLS.get(key)
        if known is None:
            known = _SYMBOLS[key] = _Symbol(key, ca.SX.sym(name))
        return known


def _symbol_of(node: ca.SX) -> _Symbol:
    with _LOCK:
        known = _BY_HASH.get(node.element_hash())
        if known is None:
            key = uuid.uuid4().bytes
            known = _SYMBOLS[key] = _Symbol(key, node)
        return known


def _batch(
    below: Sequence[_Source], sources: tuple[_Source, ...], taken: array[int], steps: array[int], numbers: array[float]
) -> _Batch:
    """Rebuild the nodes of a batch.

    Args:
        below: sources that had to be read first.
        sources: sources that it refers to.
        taken: index of a source and index in it, for each node that is taken from one.
        steps: code and two operands of each operation: the nodes taken come first, -1 for no operand; for a constant
            its index in ``numbers``.
        numbers: the constants.
    """
    values = [sources[i].values[k] for i, k in zip(taken[::2], taken[1::2], strict=True)]
    first = len(values)
    for code, a, b in zip(steps[::3], steps[1::3], steps[2::3], strict=True):
        if code == CONSTANT:
            values.append(ca.SX(numbers[a]))
        else:
            values.append(ca.SX.unary(code, values[a]) if b < 0 else ca.SX.binary(code, values[a], values[b]))
    return _Batch(sources, (taken, steps, numbers), values[first:])


class _PickleWriter:
    """Writer of nodes into a pickle: those that a source has are taken from it, the others make a new batch."""

    def __init__(self) -> None:
        self._references: dict[int, int] = {}
        self._sources: dict[int, tuple[int, _Source]] = {}
        self._taken = array("i")
        self._steps: list[tuple[int, int, int | None]] = []
        self._own: list[ca.SX] = []
        self._numbers = array("d")

    def add(self, whole: ca.SX) -> None:
        """Give a node, and those that it is made of, a reference: ~k is the k-th of the new ones."""
        known = self._references
        waiting: list[tuple[ca.SX, int, list[int] | None]] = [(whole, whole.element_hash(), None)]
        while waiting:
            node, key, operands = waiting[-1]
            if key in known:
                waiting.pop()
                continue
            if operands is not None:
                waiting.pop()
                first, *second = (known[each] for each in operands)
                self._put(node, key, (node.op(), first, second[0] if second else None))
                continue
            code = node.op()
            source = _symbol_of(node) if code == SYMBOL else _KNOWN.batches.get(key)
            if source is not None:
                number, _ = self._sources.setdefault(id(source), (len(self._sources), source))
                known[key] = len(self._taken) // 2
                self._taken.extend((number, source.indices[key]))
            elif code == CONSTANT:
                self._put(node, key, (code, len(self._numbers), None))
                self._numbers.append(float(node))
            else:
                count = node.n_dep()
                if code < 0 or count not in (1, 2):
                    raise ModelError(
                        f"the expression {str(node)[:80]} calls a function that is not made of scalar operations, and "
                        "cannot be pickled: use functions without never_inline, and pickle the controller in place of "
                        "the expressions of its law within limits"
                    )
                below = [node.dep(i) for i in range(count)]
                operands = [each.element_hash() for each in below]
                waiting[-1] = node, key, operands
                waiting += [(each, k, None) for each, k in zip(below, operands, strict=True) if k not in known]

    def _put(self, node: ca.SX, key: int, step: tuple[int, int, int | None]) -> None:
        self._references[key] = ~len(self._own)
        self._own.append(node)
        self._steps.append(step)

    def write(self, nodes: Sequence[ca.SX]) -> tuple[tuple[_Source, ...], array[int]]:
        """Return the sources, and the index of a source and the index in it for each node."""
        for node in nodes:
            self.add(node)
        sources = tuple(source for _, source in self._sources.values())
        count = len(self._taken) // 2
        indices = array("i")
        for node in nodes:
            k = self._references[node.element_hash()]
            indices.extend(self._taken[2 * k : 2 * k + 2] if k >= 0 else (len(sources), ~k))
        if not self._own:
            return sources, indices
        steps = array("i")
        for code, *operands in self._steps:
            steps.append(code)
            for one in operands:
                steps.append(-1 if one is None else one if one >= 0 or code == CONSTANT else count + ~one)
        hashes = [key for key, k in self._references.items() if k < 0]
        batch = _Batch(sources, (self._taken, steps, self._numbers), self._own, hashes)
        _KNOWN.batches.update(dict.fromkeys(batch.indices, batch))
        return (*sources, batch), indices


def _reduced(expression: ca.SX) -> tuple[Callable[..., ca.SX], tuple[Any, ...]]:
    """Reduce an expression for a pickle."""
    sources, indices = _PickleWriter().write(expression.nonzeros())
    _keep(expression, sources)
    sparsity = expression.sparsity()
    pattern = None if sparsity.is_dense() else (array("i", sparsity.colind()), array("i", sparsity.row()))
    return _expression, (sources, indices, expression.shape, pattern)


def _expression(
    sources: tuple[_Source, ...],
    indices: array[int],
    shape: tuple[int, int],
    pattern: tuple[array[int], array[int]] | None,
) -> ca.SX:
    """Rebuild an expression.

    Args:
        sources: sources of its entries.
        indices: index of a source and index in it, for each entry that is not structurally zero, column by column.
        shape: rows and columns.
        pattern: ends of the columns and rows of the entries; None for a full matrix.
    """
    entries = ca.vertcat(ca.SX(0, 1), *(sources[i].values[k] for i, k in zip(indices[::2], indices[1::2], strict=True)))
    sparsity = ca.Sparsity.dense(*shape) if pattern is None else ca.Sparsity(*shape, list(pattern[0]), list(pattern[1]))
    expression = ca.SX(sparsity, entries)
    _keep(expression, sources)
    return expression


def _keep(expression: ca.SX, sources: Sequence[_Source]) -> None:
    """Keep the keys of its symbols as long as the expression."""
    expression._erugin_symbols = frozenset[_Symbol]().union(*(s.symbols for s in sources))  # type: ignore[attr-defined]


def _mapping(content: Mapping[object, object]) -> MappingProxyType[object, object]:
    return MappingProxyType(dict(content))


def _reduced_mapping(
    content: MappingProxyType[Any, Any],
) -> tuple[Callable[..., MappingProxyType[Any, Any]], tuple[Any]]:
    return _mapping, (dict(content),)


class Picklable:
    """Base of objects that hold functions, so that they can be pickled.

    A pickle refers to a function of a module by its name. A function that one of Erugin's own functions has made is
    pickled with its code and its closure. Any other function cannot be found by a name, and is refused.
    """

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """Reduce as usual, but refuse an object whose class is defined inside a function."""
        if "<locals>" not in type(self).__qualname__:
            return super().__reduce_ex__(protocol)
        reduced: Any = super().__reduce_ex__(protocol)
        return _instance, (_Local(type(self)),), *reduced[2:]

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes, with functions in a form that a pickle can hold."""
        return {key: _packed(value, f"{key} of {type(self).__name__}") for key, value in self.__dict__.items()}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Restore the attributes."""
        self.__dict__.update({key: _unpacked(value) for key, value in state.items()})


class _Local:
    """A class that is defined inside a function."""

    def __init__(self, kind: type[object]) -> None:
        self.kind = kind

    def __deepcopy__(self, memo: object) -> _Local:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        raise ModelError(
            f"an object of the class {self.kind.__qualname__!r} cannot be pickled, because the class is defined inside "
            f"a function: move it to the top level of the module {self.kind.__module__!r}"
        )


def _instance(local: _Local) -> object:
    return object.__new__(local.kind)


class _Function:
    """A function in a pickle."""

    def __init__(self, function: FunctionType, owner: str) -> None:
        self.function, self.owner = function, owner

    def __call__(self, *arguments: object) -> object:
        """Call the function; it exists only because a ``partial`` requires something callable."""
        return self.function(*arguments)

    def __deepcopy__(self, memo: object) -> _Function:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        f = self.function
        found: object = sys.modules.get(f.__module__)
        for name in f.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is f:
            return _Function, (f, self.owner)
        code = f.__code__
        if f.__module__.split(".")[0] != __name__.split(".")[0]:
            raise ModelError(
                f"{self.owner} cannot be pickled: {f.__qualname__!r}, line {code.co_firstlineno} of "
                f"{code.co_filename}, has no name at the top level of a module: define it there with def"
            )
        closed = [_packed(cell.cell_contents, self.owner) for cell in f.__closure__ or ()]
        given = _packed((f.__defaults__, f.__kwdefaults__), self.owner)
        return _function, (f.__module__, marshal.dumps(code), self.owner), (closed, given), None, None, _complete


def _function(module: str, code: bytes, owner: str) -> _Function:
    """Rebuild a function that one of Erugin's own has made, without its closure."""
    read = marshal.loads(code)
    cells = tuple(CellType() for _ in read.co_freevars)
    return _Function(FunctionType(read, vars(importlib.import_module(module)), read.co_name, None, cells), owner)


def _complete(packed: _Function, state: tuple[list[object], tuple[Any, Any]]) -> None:
    function, (closed, given) = packed.function, state
    for cell, content in zip(function.__closure__ or (), closed, strict=True):
        cell.cell_contents = _unpacked(content)
    function.__defaults__, function.__kwdefaults__ = cast("tuple[Any, Any]", _unpacked(given))


_CACHED = type(functools.cache(int))


class _Cached:
    """A function with a cache, which is not pickled."""

    def __init__(self, function: object, parameters: Any) -> None:  # noqa: ANN401 - of functools
        self.function, self.parameters = function, parameters


_PACKED: weakref.WeakValueDictionary[int, _Function] = weakref.WeakValueDictionary()
"""By the id of the function, which each of them keeps alive: a pickle writes each function once."""


def _packed(value: object, owner: str) -> object:
    def pack(each: object) -> object:
        cached: Any = each
        if _is_a(each, _CACHED) and "<locals>" in cached.__wrapped__.__qualname__:
            return _Cached(_packed(cached.__wrapped__, owner), cached.cache_parameters())
        if not isinstance(each, FunctionType):
            return each
        known = _PACKED.get(id(each))
        if known is None:
            known = _PACKED[id(each)] = _Function(each, owner)
        return known

    return _changed(value, pack)


def _unpacked(value: object) -> object:
    def unpack(each: object) -> object:
        if isinstance(each, _Cached):
            function = cast("Callable[..., object]", _unpacked(each.function))
            return cast("object", functools.lru_cache(**each.parameters)(function))
        return each.function if isinstance(each, _Function) else each

    return _changed(value, unpack)


def _changed(value: Any, change: Callable[[object], object]) -> Any:  # noqa: ANN401 - whatever an object may hold
    """Return the same object if nothing in it changes, so that what is shared stays shared."""
    changed: Any = change(value)
    if changed is not value:
        return changed
    if type(value) in (tuple, list):
        parts = [_changed(each, change) for each in value]
        return value if all(map(operator.is_, parts, value)) else type(value)(parts)
    if type(value) in (dict, MappingProxyType):
        named = {key: _changed(each, change) for key, each in value.items()}
        return value if all(named[key] is value[key] for key in named) else type(value)(named)
    return _changed_partial(value, change) if _is_a(value, functools.partial) else value


def _is_a(value: object, kind: type[Any]) -> bool:
    return type(value) is kind


def _changed_partial(value: functools.partial[Any], change: Callable[[object], object]) -> object:
    function, arguments, keywords = (_changed(part, change) for part in (value.func, value.args, value.keywords))
    same = function is value.func and arguments is value.args and keywords is value.keywords
    return value if same else functools.partial(function, *arguments, **keywords)


def register_picklers() -> None:
    """Register expressions and read-only mappings with ``pickle`` and ``copy``."""
    copyreg.pickle(ca.SX, _reduced)
    copyreg.pickle(MappingProxyType, _reduced_mapping)
