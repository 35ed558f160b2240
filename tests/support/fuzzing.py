# ruff: noqa: ANN401 - arguments and results of any type are handled
"""Calls of public functions with one argument changed: harvested from snippets, made in processes that may die.

A snippet is run with every public callable recorded. Then each recorded call is repeated with one of its arguments, or
one entry of an argument, replaced, in a fork with limits of time and memory. A line of JSON is printed per finding.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import importlib
import inspect
import io
import json
import math
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from erugin import EruginError

from .bridges import ROWS
from .project import ROOT, read_pyproject
from .relations import RELATIONS

PATIENCE = float(os.environ.get("ERUGIN_FUZZ_PATIENCE", "5"))
"""Seconds of processor time that a changed call may take, beside ten times what the original took."""

WAIT = 6.0
"""How many times as long it may take by the clock, for the machine may have other work, or the call may wait."""

ROOM = 2 << 30
"""Bytes that a fork may add to what it begins with."""

SLOW = 1.0
"""Seconds: calls that took longer are repeated with few changes only."""

OPEN: list[object] = []
"""What must not be closed while calls of its methods are repeated."""


@functools.cache
def public_entries() -> dict[str, Any]:
    """Public functions, classes and methods by their dotted names."""
    entries: dict[str, Any] = {}
    seen: set[int] = set()
    for package in read_pyproject()["tool"]["setuptools"]["packages"]:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", []):
            value = getattr(module, name)
            if id(value) in seen or not callable(value):
                continue
            seen.add(id(value))
            entries[f"{package}.{name}"] = value
            if not isinstance(value, type) or issubclass(value, enum.Enum | BaseException):
                continue
            for key, member in vars(value).items():
                inner = member.__func__ if isinstance(member, classmethod | staticmethod) else member
                if not key.startswith("_") and inspect.isfunction(inner) and not isinstance(inner, property):
                    entries[f"{package}.{name}.{key}"] = member
    return entries


@dataclass
class Call:
    """A call that worked.

    Attributes:
        entry: dotted name of what was called.
        function: what is called.
        arguments: by parameter; what stands in ``*args`` as a tuple.
        seconds: how long it took.
    """

    entry: str
    function: Callable[..., Any]
    arguments: inspect.BoundArguments
    seconds: float


@dataclass
class Recorder:
    """Keeps calls of public entries while it is installed.

    Attributes:
        most: calls kept of one entry.
        calls: what was kept, by entry.
    """

    most: int = 3
    calls: dict[str, list[Call]] = field(default_factory=dict)

    def wrap(self, entry: str, function: Callable[..., Any], cls: type | None = None) -> Callable[..., Any]:
        """A function that does the same and is recorded; of a constructor the call of the class is."""
        signature = inspect.signature(function)

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            kept = self.calls.setdefault(entry, [])
            # A constructor on behalf of a subclass is no call of the class.
            if len(kept) >= self.most or (cls is not None and type(args[0]) is not cls):
                return function(*args, **kwargs)
            args = tuple(_unrolled(value) for value in args)
            kwargs = {key: _unrolled(value) for key, value in kwargs.items()}
            bound = signature.bind(*args, **kwargs)
            given = {name: _copied(value) for name, value in bound.arguments.items()}
            called: Callable[..., Any] = function
            if cls is not None:
                called = cls
                given.pop(next(iter(given)))
            own = inspect.signature(called)
            bound = inspect.BoundArguments(own, given)
            began = time.perf_counter()
            result = function(*args, **kwargs)
            if all(_form(call.arguments) != _form(bound) for call in kept):
                kept.append(Call(entry, called, bound, time.perf_counter() - began))
            return result

        return recorded

    def install(self) -> None:
        """Record all public functions, constructors and methods, wherever a module of Erugin names them."""
        replaced: dict[int, Callable[..., Any]] = {}
        for entry, value in public_entries().items():
            if isinstance(value, type):
                if "__init__" in vars(value) and not issubclass(value, enum.Enum | BaseException):
                    setattr(value, "__init__", self.wrap(entry, value.__init__, value))  # noqa: B010 - a method
            elif "." in entry and inspect.isclass(owner := owner_of(entry)):
                name = entry.rpartition(".")[2]
                if isinstance(value, classmethod | staticmethod):
                    setattr(owner, name, type(value)(self.wrap(entry, value.__func__)))
                else:
                    setattr(owner, name, self.wrap(entry, value))
            elif inspect.isroutine(value) or hasattr(value, "cache_info"):
                replaced[id(value)] = self.wrap(entry, value)
                # The bare function too, by which modules of the same package know it.
                replaced[id(inspect.unwrap(value))] = replaced[id(value)]
        for module in [m for name, m in sys.modules.items() if name.startswith(("erugin", "tests.support."))]:
            for name, value in list(vars(module).items()):
                if id(value) in replaced:
                    setattr(module, name, replaced[id(value)])


def owner_of(entry: str) -> object:
    """The package or class that has an entry."""
    package, _, name = entry.rpartition(".")
    with contextlib.suppress(ImportError):
        return importlib.import_module(package)
    package, _, name = package.rpartition(".")
    return getattr(importlib.import_module(package), name)


def _unrolled(value: Any) -> Any:
    """Iterators as tuples, so that a call can be repeated."""
    return tuple(value) if isinstance(value, Iterator) and not isinstance(value, io.IOBase) else value


def _copied(value: Any) -> Any:
    if type(value) is list or type(value) is dict or type(value) is np.ndarray:
        return value.copy()
    return value


def _form(bound: inspect.BoundArguments) -> tuple[tuple[str, type, bool], ...]:
    return tuple(
        (key, type(value), value in ({}, [], ())) if type(value) in (dict, list, tuple) else (key, type(value), False)
        for key, value in bound.arguments.items()
    )


# Changes. Each pool says what replaces an argument, by a name that stays the same from run to run.


def strangers(objects: Mapping[str, Any]) -> dict[str, Any]:
    """Replacements for any argument."""
    mx = ca.MX.sym("m", 2)
    return {
        "nan": math.nan,
        "inf": math.inf,
        "-inf": -math.inf,
        "1e200": 1e200,
        "-1e200": -1e200,
        "1e-300": 1e-300,
        "0": 0,
        "-1": -1,
        "-0.5": -0.5,
        "2.5": 2.5,
        "10**12": 10**12,
        "10**400": 10**400,
        "True": True,
        "False": False,
        "None": None,
        "'2.0'": "2.0",
        "'nonsense'": "nonsense",
        "''": "",
        "lone surrogate": "a\ud800b",
        "NUL": "a\0b",
        "b'ab'": b"ab",
        "1j": 1j,
        "np.nan": np.float64("nan"),
        "np.True_": np.True_,
        "[]": [],
        "()": (),
        "{}": {},
        "set": {1, 2},
        "generator": (x for x in (1.0, 2.0)),
        "[None]": [None],
        "['0.1', '0.2']": ["0.1", "0.2"],
        "[[1], [2, 3]]": [[1.0], [2.0, 3.0]],
        "[[1, 2], [3, 4]]": [[1.0, 2.0], [3.0, 4.0]],
        "lists of lists": [[[1.0]]],
        "ones(17)": np.ones(17),
        "0-d": np.array(1.5),
        "empty": np.zeros(0),
        "(3, 0)": np.zeros((3, 0)),
        "complex array": np.array([1j, 2.0]),
        "object array": np.array([object(), None], dtype=object),
        "text array": np.array(["a", "b"]),
        "bool array": np.array([True, False]),
        "nan array": np.array([math.nan, 1.0]),
        "masked array": np.ma.array([1.0, 2.0], mask=[True, False]),
        "{'nonsense': 1.0}": {"nonsense": 1.0},
        "{None: 1}": {None: 1.0},
        "{1: nan}": {1: math.nan},
        "SX(2)": ca.SX.sym("foreign", 2),
        "SX": ca.SX.sym("foreign"),
        "SX(0, 1)": ca.SX(0, 1),
        "MX": mx,
        "DM nan": ca.DM([math.nan, 1.0]),
        "DM (2, 2)": ca.DM([[1.0, 2.0], [3.0, 4.0]]),
        "ca.Function": ca.Function("f", [mx], [mx]),
        "object()": object(),
        "a class": dict,
        "a module": math,
        "a function": lambda *args: None,
        "range": range(3),
        **objects,
    }


class Truth(enum.Enum):
    """Replacements for a number that must not be accepted."""

    NEVER = frozenset(
        {"nan", "np.nan", "True", "False", "np.True_", "'2.0'", "1j", "complex array", "text array", "nan array",
         "masked array", "bool array", "['0.1', '0.2']", "DM nan"}
    )  # fmt: skip


def alike(value: Any) -> dict[str, Any]:
    """Changes that keep what kind of thing an argument is."""
    changes: dict[str, Any] = {}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
        flat = value.ravel()
        for name, number in {"nan": math.nan, "inf": math.inf, "1e200": 1e200}.items():
            other = flat.copy()
            other[-1] = number
            changes[f"an entry {name}"] = other.reshape(value.shape)
        mask: Any = np.zeros(value.shape, dtype=bool)
        mask.flat[0] = True
        changes["masked"] = np.ma.array(value, mask=mask)
        changes["as texts"] = value.astype(str)
        changes["as bools"] = value.astype(bool)
        changes["complex"] = value + 1j
        changes["longer"] = np.concatenate([flat, [1.0]])
        changes["shorter"] = flat[:-1]
        changes["one more axis"] = value[None]
        changes["objects"] = value.astype(object)
        changes["negative"] = -np.abs(value) - 1.0
        changes["huge"] = np.full(value.shape, 1e200)
    elif isinstance(value, list | tuple) and value and type(value) in (list, tuple):
        kind = type(value)
        changes["shorter"] = value[:-1]
        changes["longer"] = kind([*value, value[-1]])
        changes["in a list"] = [value]
        changes["as a set"] = set(map(id, value))
        number = isinstance(value[0], float | int) and not isinstance(value[0], bool)
        others = {"nan": math.nan, "True": True, "'2.0'": "2.0", "1e200": 1e200} if number else {}
        for name, part in {**others, "None": None, "object()": object(), "nonsense": "nonsense"}.items():
            changes[f"an entry {name}"] = kind([part, *value[1:]])
    elif isinstance(value, Mapping) and value:
        key, first = next(iter(value.items()))
        number = isinstance(first, float | int) and not isinstance(first, bool)
        others = {"nan": math.nan, "True": True, "'2.0'": "2.0", "1e200": 1e200} if number else {}
        for name, part in {**others, "None": None, "object()": object(), "nonsense": "nonsense"}.items():
            changes[f"an entry {name}"] = {**value, key: part}
        changes["unknown name"] = {**value, "nonsense": first}
        changes["a key None"] = {**value, None: first}
        changes["pairs"] = list(value.items())
        changes["keys"] = list(value)
        changes["one less"] = dict(list(value.items())[1:])
    elif isinstance(value, ca.SX):
        changes["transposed"] = value.T
        changes["twice"] = ca.vertcat(value, value)
        changes["1/0"] = value / 0
        changes["with a foreign symbol"] = value + ca.SX.sym("foreign")
        changes["numbers"] = ca.SX.ones(*value.shape)
        changes["nan"] = value * math.nan
        changes["sparse"] = ca.SX(*value.shape)
    elif isinstance(value, str) and value:
        changes["upper"] = value.upper()
        changes["longer"] = value + "x"
        changes["3000"] = value * 3000
        changes["sum"] = "=1+1"
        changes["line"] = value + '\n<&>"'
    elif isinstance(value, int) and not isinstance(value, bool):
        changes["float"] = float(value)
        changes["text"] = str(value)
    return changes


@dataclass(frozen=True)
class Change:
    """One argument of one call replaced."""

    call: Call
    parameter: str
    name: str
    value: Any

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The passed value."""
        given = dict(self.call.arguments.arguments)
        if self.parameter.endswith("]"):
            key, place = self.parameter[:-1].split("[")
            old = given[key]
            given[key] = (
                {**old, place: self.value}
                if isinstance(old, dict)
                else (*old[: int(place)], self.value, *old[int(place) + 1 :])
            )
        else:
            given[self.parameter] = self.value
        bound = inspect.BoundArguments(self.call.arguments.signature, given)
        return bound.args, bound.kwargs

    @property
    def original(self) -> Any:
        """The replaced value."""
        return dict(_places(self.call))[self.parameter]


def _places(call: Call) -> Iterator[tuple[str, Any]]:
    """Names of what can be replaced in a call, and what stands there."""
    for name, value in call.arguments.arguments.items():
        kind = call.arguments.signature.parameters[name].kind
        if name in ("self", "cls"):
            continue
        if kind is inspect.Parameter.VAR_POSITIONAL:
            yield from ((f"{name}[{i}]", part) for i, part in enumerate(value))
        elif kind is inspect.Parameter.VAR_KEYWORD:
            yield from ((f"{name}[{key}]", part) for key, part in value.items())
        else:
            yield name, value
    bound = call.arguments.arguments
    for name, parameter in call.arguments.signature.parameters.items():
        if name not in bound and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            yield name, parameter.default


def changes(calls: Iterable[Call], objects: Mapping[str, Any], count: int, seed: int) -> list[Change]:
    """At most ``count`` changes of each entry, the same for the same seed."""
    found: list[Change] = []
    any_of = strangers(objects)
    by_entry: dict[str, list[Change]] = {}
    for call in calls:
        own = by_entry.setdefault(call.entry, [])
        for parameter, original in _places(call):
            own += [Change(call, parameter, name, value) for name, value in any_of.items()]
            own += [Change(call, parameter, name, value) for name, value in alike(original).items()]
    for entry, own in by_entry.items():
        chosen = random.Random(f"{seed} {entry}")
        chosen.shuffle(own)
        slow = min((change.call.seconds for change in own), default=0.0) > SLOW
        found += own[: max(1, count // 10) if slow else count]
    return found


# Verdicts.

RESULTS = frozenset(
    {
        "erugin.controllers.Analysis",
        "erugin.controllers.ConsistentVelocity",
        "erugin.controllers.Equilibrium",
        "erugin.controllers.servo.Feedforward",
        "erugin.controllers.servo.InternalDynamics",
        "erugin.controllers.servo.InvertedMotion",
        "erugin.controllers.Linearization",
        "erugin.controllers.LinearizedMotion",
        "erugin.controllers.Solution",
        "erugin.controllers.robust.ParameterEstimate",
        "erugin.robots.Assembly",
        "erugin.robots.Impact",
        "erugin.robots.equations.MotionEquation",
        "erugin.robots.hamiltonian.LegendreSolution",
        "erugin.simulation.Trajectories",
        "erugin.simulation.Trajectory",
    }
)
"""Records that the library makes; what has no value is NaN in them."""


class Hang(BaseException):
    """Raised by the alarm."""


def _numeric(value: Any) -> bool:
    if isinstance(value, list | tuple) and value:
        return all(map(_numeric, value))
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind == "f")
    return isinstance(value, float | int | np.number) and not isinstance(value, bool)


def _has_nan(value: Any, depth: int = 0) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return bool(np.isnan(value).any())
    if isinstance(value, tuple | list) and depth < 2:
        return any(_has_nan(part, depth + 1) for part in value)
    return False


def _accepts_anything(change: Change) -> bool:
    """True if the parameter accepts any object, or the entry is a record of results that checks nothing."""
    name = change.parameter.split("[")[0]
    annotation = str(change.call.arguments.signature.parameters[name].annotation)
    if annotation in ("object", "Any", "object | None"):
        return True
    owner = public_entries().get(change.call.entry)
    if change.call.entry.endswith(".of") or change.call.entry in RESULTS:
        owner = owner_of(change.call.entry) if change.call.entry.endswith(".of") else owner
        return dataclasses.is_dataclass(owner) and change.call.entry.removesuffix(".of") in RESULTS
    return isinstance(owner, type) and dataclasses.is_dataclass(owner) and not hasattr(owner, "__post_init__")


def wrong_value(change: Change) -> bool:
    """True if a number was replaced by something that is not a number."""
    flags = {"nan", "True", "'2.0'"}
    if change.name.startswith("an entry "):
        return change.name.removeprefix("an entry ") in flags
    if change.name in ("masked", "as texts", "as bools", "complex"):
        return True
    original = change.original
    annotation = str(change.call.arguments.signature.parameters[change.parameter.split("[")[0]].annotation)
    if "Literal[" in annotation and isinstance(original, str) and change.name in ("'nonsense'", "longer", "a class"):
        return True
    if change.name in ("object()", "a module") and type(original).__module__.startswith("erugin"):
        return True
    if isinstance(original, bool):
        return change.name in ("'nonsense'", "''", "2.5", "nan") or (
            change.name == "[]" and "Sequence" not in annotation
        )
    if "str" in annotation and change.name == "'2.0'":
        return False
    if isinstance(original, str):
        return change.name in ("nan", "True", "[]") or (change.name == "2.5" and "float" not in annotation)
    return _numeric(original) and change.name in Truth.NEVER.value


def judge(change: Change) -> dict[str, str] | None:
    """Finding of one change; None if all is well."""
    args, kwargs = change.arguments()
    message = {"entry": change.call.entry, "parameter": change.parameter, "change": change.name}
    limit = PATIENCE + 10.0 * change.call.seconds
    _set_alarms(limit)
    try:
        result = change.call.function(*args, **kwargs)
        _set_alarms(0.0)
    except EruginError:
        return None
    except Hang:
        return {**message, "kind": "hang", "text": f"not done after {limit:.0f} s", "place": _place()}
    except OSError as error:
        # What cannot be read or written is Python's to tell; the files of some calls are gone.
        return (
            None if error.filename else {**message, "kind": type(error).__name__, "text": str(error), "place": _place()}
        )
    except BaseException as error:
        with contextlib.suppress(TypeError):
            if isinstance(error, Warning | KeyboardInterrupt):
                return None
        return {**message, "kind": type(error).__name__, "text": str(error)[:160], "place": _place()}
    finally:
        _set_alarms(0.0)
    if wrong_value(change) and not _accepts_anything(change):
        return {**message, "kind": "accepted", "text": "", "place": ""}
    if _has_nan(result) and "nan" not in change.name and "inf" not in change.name and "1/0" not in change.name:
        return {**message, "kind": "silent NaN", "text": "", "place": ""}
    return None


def _set_alarms(limit: float) -> None:
    """Raise :class:`Hang` after so much processor time [s], or a multiple of it by the clock; never if zero."""
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, WAIT * limit)


def _place() -> str:
    """File and line of Erugin in which the error being handled was raised."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    own = [frame for frame in frames if "erugin" in frame.filename and "arguments.py" not in frame.filename]
    return f"{'/'.join(Path(own[-1].filename).parts[-3:])}:{own[-1].lineno}" if own else ""


# Processes.


def _work(todo: list[Change], begin: int, out: int, until: float) -> None:
    """In the fork: judge one change after the other, and write how far it is."""

    def stop(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    null = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(null, number)
    warnings.simplefilter("ignore")
    for i in range(begin, len(todo)):
        if time.monotonic() > until:
            break
        os.write(out, json.dumps({"at": i}).encode() + b"\n")
        try:
            finding = judge(todo[i])
        except Hang:
            finding = None
        if finding:
            os.write(out, json.dumps(finding).encode() + b"\n")
    os.write(out, b'{"done": true}\n')


def _processor_time(pid: int) -> float:
    """Of a process and of those that it waited for [s]."""
    values = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return sum(map(int, values[11:15])) / os.sysconf("SC_CLK_TCK")


def _wait(reader: int, pid: int, allowed: float) -> bool:
    """True if a process writes before it has used its processor time [s], or a multiple of it by the clock."""
    used, began = _processor_time(pid), time.monotonic()
    while not select.select([reader], [], [], 1.0)[0]:
        if _processor_time(pid) - used > allowed or time.monotonic() - began > WAIT * allowed:
            return False
    return True


def run(todo: list[Change], until: float, *, stall: float = 30.0) -> tuple[list[dict[str, str]], int]:
    """Findings of changes, each judged in a fork that is replaced when it dies; and how many were judged."""
    findings: list[dict[str, str]] = []
    at = 0
    while at < len(todo) and time.monotonic() < until:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(reader)
                _work(todo, at, writer, until)
            except BaseException as error:
                os.write(writer, json.dumps({"broken": repr(error)}).encode() + b"\n")
            finally:
                os._exit(0)
        os.close(writer)
        done, buffer, last = False, b"", at
        while True:
            allowed = stall + 20.0 * todo[last].call.seconds
            ready = _wait(reader, pid, allowed)
            chunk = os.read(reader, 1 << 16) if ready else b""
            if not chunk:
                break
            *lines, buffer = (buffer + chunk).split(b"\n")
            for line in lines:
                reported = json.loads(line)
                last = reported.get("at", last)
                done = done or "done" in reported
                if "broken" in reported:
                    raise AssertionError(reported["broken"])
                if "kind" in reported:
                    findings.append(reported)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        os.close(reader)
        _, code = os.waitpid(pid, 0)
        if done:
            at = len(todo)
            break
        change = todo[last]
        findings.append(
            {
                "entry": change.call.entry,
                "parameter": change.parameter,
                "change": change.name,
                "kind": "crash" if ready else "hang",
                "text": f"the process ended with {code}" if ready else f"no sign of life for {allowed:.0f} s",
                "place": "",
            }
        )
        at = last + 1
    return findings, at


def harvest(sources: Iterable[tuple[str, list[str]]]) -> dict[str, str]:
    """Run snippets, named, each source in names of its own; what went wrong in them, by name."""
    failed: dict[str, str] = {}
    for name, snippets in sources:
        module = types.ModuleType("__fuzz__")
        names: dict[str, Any] = vars(module)
        names["__name__"] = "__main__"
        try:
            for snippet in snippets:
                exec(compile(snippet, name, "exec"), names)
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def call_with_defaults() -> None:
    """Call everything public that needs no arguments."""
    for entry, value in public_entries().items():
        if inspect.isclass(value) and (issubclass(value, enum.Enum | BaseException) or inspect.isabstract(value)):
            continue
        if inspect.isclass(owner := owner_of(entry)):
            continue
        current = getattr(owner, entry.rpartition(".")[2])
        with contextlib.suppress(TypeError, ValueError):
            parameters = inspect.signature(current).parameters.values()
            if parameters and all(parameter.default is not parameter.empty for parameter in parameters):
                current()


def call_what_no_page_shows() -> None:
    """Small calls of what the documents do not show with their arguments."""
    from erugin import constraints as cs
    from erugin import controllers as ct
    from erugin import robots as rb
    from erugin import scenarios as sc
    from erugin import simulation as sm
    from erugin.bridges import cross_check as table
    from erugin.bridges.common.bridge import discover_bridges
    from erugin.constraints import solvers as ways
    from erugin.constraints import verification
    from erugin.controllers import baselines, multipliers, robust, servo
    from erugin.robots import equations, examples, hamiltonian, signals
    from erugin.robots.hamiltonian import canonical_form
    from erugin.robots.urdf import read_urdf
    from erugin.scenarios import catalogue, comparison, sampling
    from erugin.scenarios.sampling.seeded_values import seed_numbers
    from erugin.symbolic import codegen

    scenarios = {scenario.name: scenario for scenario in catalogue.SCENARIOS}

    link = rb.Link(length=1.0, mass=1.0, center=0.5, inertia=0.1)
    arm = rb.planar_manipulator([link, link])
    tip, x, y = arm.points["tip"], arm.points["tip"][0], arm.points["tip"][1]

    # Shapes, fields, constraints.
    disc = cs.circle((0.5, 0.5), 0.2, name="disc")
    box = cs.box((1.0, 0.0), (0.4, 0.2), rounding=0.05, name="box")
    plane = cs.half_space((0.0, -1.0), (0.0, 1.0))
    shapes = [
        disc, box, plane, cs.capsule((0.0, 0.0), (1.0, 0.0), 0.1), cs.ellipse((0.0, 1.0), (0.3, 0.2)),
        cs.superellipse((0.0, 1.0), (0.3, 0.2), 4.0), cs.polygon([(0, 0), (1, 0), (1, 1), (0, 1)]),
        cs.tube(cs.spline([(0, 0), (1, 0.2), (2, 0)]), 0.1), cs.complement(disc, name="outside"),
        cs.union(disc, box), cs.intersection(disc, plane), cs.difference(box, disc),
        cs.moving(disc, velocity=(0.1, 0.0), angular_velocity=0.1, about=(0.0, 0.0)),
        cs.time_varying(disc, rates={"radius": 0.01}),
        cs.parametric(lambda s, t: ca.vertcat(s, s**2), -1.0, 1.0, samples=20),
    ]  # fmt: skip
    place, time_ = ca.SX.sym("x", 2), ca.SX.sym("t")
    for shape in shapes:
        shape.functions(place, time_)
        with contextlib.suppress(Exception):
            shape.reference(time_)
            shape.extent(time_)
    field_ = cs.EruginField(
        cs.line((0, 0), (1, 0), name="way"), speed=0.2, margin=0.05, obstacles=[cs.circle((2.0, 0.1), 0.2, name="o")]
    )
    cs.preview(field_, (0.0, 0.05), 0.5, step=0.05)
    cs.choose_sides(field_, (0.0, 0.05), 0.5, step=0.05)
    cs.choose_side(field_, (0.0, 0.05), 0.5, step=0.05)
    cs.erugin_structure([disc], skew=lambda x, t: ca.SX([[0.0, 1.0], [-1.0, 0.0]]))
    for _, make in RELATIONS.values():
        make(arm)
    cs.on_curve(disc, tip)
    body = examples.quaternion_body(mass=1.0, inertia=np.diag([0.1, 0.1, 0.15]), center=(0.0, 0.0, 0.1))
    examples.heavy_top(mass=1.0, inertia=np.diag([0.1, 0.1, 0.05]), center=(0.0, 0.0, 0.1))
    frame = next(iter(body.frames.values()), None)
    if frame is not None:
        cs.orientation(frame.rotation, np.eye(3))
        cs.rolling(frame.rotation, frame.position, frame.position)
    cs.Linear([[4.0, 0.0], [0.0, 4.0]], [[4.0, 0.0], [0.0, 4.0]])
    cs.Nonlinear(lambda y, rate, gains: -gains["k"] * y, {"k": 2.0}, order=1)
    cs.Energies.quadratic([[1.0]], [[4.0]], [[4.0]])
    motion = cs.ConstrainedMotion(np.eye(2), np.zeros(2), np.array([[1.0, 0.0]]), np.array([0.5]))
    for way in (
        ways.Augmented(2.0),
        ways.SchurComplement(),
        ways.LeastNorm(),
        ways.Proximal(1e-7, 50),
        ways.UdwadiaPhohomsiri(),
    ):
        way.solve(motion)

    # Robots.
    motor = rb.DCMotor(1.0, 0.001, 0.05, 20.0, 1e-5, 1e-4)
    motor.circuit("motor", angle=ca.SX.sym("angle"), rate=ca.SX.sym("rate"))
    rb.with_drive(arm, "motor", along=arm.q[0], effort=10.0)
    rb.with_limits(arm, effort=10.0, speed=[3.0] * arm.v.numel(), upper={arm.coordinates.names[0]: 2.0})
    rb.without_rows(examples.pinocchio_four_bar(), [])
    rod = rb.Link(1.0, 1.0, 0.5, 1.0 / 12.0)
    examples.five_bar(rod, rod, rod, rod, ground=(1.5, 0.0))
    examples.flexible_joint_arm([link], stiffness=[120.0], rotor_inertia=[0.07])
    examples.motor_driven_arm([link], [motor])
    examples.redundant_chain([link])
    examples.spherical_pendulum(mass=1.0, length=1.0)
    examples.torn_oscillator((1.0, 1.0), (10.0, 10.0), (1.0, 1.0), width=0.1)
    examples.maxon_re40(gear_ratio=20.0)
    examples.iftomm_four_bars(2)
    examples.klann_leg(scale=1.0, line_density=1.0)
    examples.butterworth_ladder(3, resistance=50.0, cutoff=1000.0)
    examples.electric_circuit(
        {
            "coil": examples.Branch("a", examples.GROUND, inductance=1e-3),
            "condenser": examples.Branch("a", examples.GROUND, capacitance=1e-6),
        }
    )
    examples.body_posture(height=1.75, sex="male")
    examples.leg_posture(height=1.75, sex="male")
    examples.walker_posture((0.0, 0.7), 0.2, lean=0.0)
    hamiltonian.DenseForm(np.eye(2))
    hamiltonian.ProductForm(2, lambda z: 2.0 * z, hamiltonian.OperationCount(2, 0, 0))
    rb.Spring("joint1", "tip", 10.0, 0.5)
    canonical_form(arm)
    rb.combine({"left": arm, "right": rb.planar_manipulator([link, link])})
    limb = rb.TelescopicLink(1.0, 0.1, 0.5, 1000.0, 0.5)
    rb.spatial_exoskeleton([limb, limb])
    signals.Step(1.0, 0.1, 0.05)
    rows = hamiltonian.compare_legendre([2], link=link, step=0.01, steps=2, tolerance=1e-8, angle=0.1)
    hamiltonian.fewest_multiplications(rows)
    _ = hamiltonian.Cholesky(1e-13), hamiltonian.ConjugateDirections(1e-9), hamiltonian.MinimalResiduals(1e-9, None)
    examples.body_model(body_mass=70.0, height=1.75, sex="male", stiffness=1e4, damping=100.0)
    examples.leg(body_mass=70.0, height=1.75, sex="male", stiffness=1e4, damping=100.0, hip_load=50.0)

    # Programs and laws.
    program = ct.Program(arm, [cs.holonomic(x - 0.8, name="x"), cs.holonomic(y - 0.9, name="y")])
    q, v = (0.3, 0.9), (0.1, -0.1)
    for method in (multipliers.AugmentedMultipliers(2.0), multipliers.CanonicalMultipliers(),
    multipliers.LdlMultipliers(),
                   multipliers.ProximalMultipliers(1e-8, 4)):  # fmt: skip
        law = ct.ProgramController(program, realization="actuated", method=method)
        law.control(0.0, q, v)
        law.solve(0.0, q, v)
    ct.canonical_program(program)
    for direct in (multipliers.NullSpaceMultipliers(), multipliers.UdwadiaPhohomsiriMultipliers(1e-10)):
        ct.ProgramController(program, method=direct).solve(0.0, q, v)
    own = cs.Energies.quadratic([[1.0]], [[4.0]], [[4.0]])
    ct.canonical_deviations(ct.Program(arm, [cs.holonomic(x - 0.8, perturbation=own)]))
    ct.OpenLoop(arm, ca.vertcat(1.0, ca.sin(arm.t)))
    ct.traits(arm)
    reference = ct.Reference.through(arm, [0.0, 0.5, 1.0], [[0.1, 0.2], [0.3, 0.4], [0.5, 0.2]])
    ct.Reference.of(arm, ca.vertcat(ca.sin(arm.t), ca.cos(arm.t)))
    ct.Reference.at_rest(arm, np.array([0.1, 0.2]))
    baselines.SlidingMode(arm, reference)
    baselines.SlotineLi(arm, reference)
    robust.ultimate_bound(cs.Baumgarte(5.0), 0.1)
    ct.start_on(program, q, t=0.0, at=[(x, 0.8)])

    cs.implicit(lambda x, t: x[0] ** 2 + x[1] ** 2 - 1.0, 2, length=1.0)
    sc.point_along(reference, "tip")
    foot = rb.Contact("tip", normal=(0.0, 1.0))
    sm.Strike(rb.with_contacts(arm, [foot]), [foot], 0.5)
    sc.Study(scenarios["n-link-arm"], seeds=2)
    kernel = {"name": "law", "inputs": {"x": (2, 1)}, "outputs": {"y": (2, 1)}}
    symbols = ca.SX.sym("x", 2)
    tape = codegen.Tape.of(ca.Function("f", [symbols], [ca.sin(symbols)]))
    codegen.external_text(tape=tape, width=1, **kernel)  # type: ignore[arg-type]
    state = {name: ca.SX.sym(name) for name in ("t", "x", "p", "z", "w")}
    rate = codegen.Tape.of(ca.Function("rate", list(state.values()), [-state["p"] * state["x"]]))
    observed = codegen.Tape.of(ca.Function("observed", list(state.values()), [state["x"], -state["p"] * state["x"]]))
    codegen.rollout_text(rate, observed, None, None, ([[0.0]], [1.0], [0.0]), lanes=1, width=1)

    # Scenarios.
    for integrator in (sm.Euler(), sm.DOP853(), sm.CVODES(), sm.IDAS(), sm.Variational(), sm.GeneralizedAlpha(0.8),
                       sm.CanonicalEuler(hamiltonian.Cholesky())):  # fmt: skip
        with contextlib.suppress(EruginError):
            sm.simulate(arm, law, q, v, 0.02, step=0.01, integrator=integrator)
    trajectory = sm.simulate(arm, law, q, v, 0.05, step=0.01, metrics={
        "final": sm.Final(x), "mean": sm.Mean(x), "least": sm.Least(x), "rms": sm.RootMeanSquare(x),
        "var": sm.TotalVariation(x),
        "settling": sm.SettlingTime(x - 0.8, 0.1)})  # fmt: skip
    trajectory.evaluate(x)
    _ = sc.Normal(0.0, 1.0), sc.LogNormal(1.0, 0.1), sc.Choice((1.0, 2.0), (1.0, 3.0)), sc.Uniform(0.0, 1.0)
    _ = sm.Rebound(y, 0.5), sm.StateMap(arm.q, arm.v)
    sampling.LatinHypercube(8, 1)
    sampling.Sobol(8, 1)
    seed_numbers(3)
    comparison.Estimate(1.0, 0.5, 1.5)
    for row in ROWS.values():
        if row.calls is not None:
            OPEN.extend(row.calls(arm, law))
    # The row of PyBullet writes it.
    read_urdf("arm.urdf")
    rb.load_urdf("arm.urdf")
    saved = sm.simulate(arm, law, q, v, 0.05, step=0.01)
    sm.save_motion(saved, "motion.npz")
    sm.load_motion("motion.npz", robot=arm, controller=law)

    # Motions, equations, reports, bridges.
    wheels = rb.two_wheel_robot(
        wheel_radius=0.05, half_track=0.1, com_offset=0.02, platform_mass=2.0, platform_inertia=0.02, wheel_mass=0.1,
        wheel_inertia_axle=1e-4, wheel_inertia_diameter=1e-4)  # fmt: skip
    course = baselines.PlanarMotion(wheels, ca.vertcat(0.3 * wheels.t, ca.sin(0.3 * wheels.t)))
    for chaser in (
        baselines.DynamicFeedbackLinearization(course, rate=1.5, slowest=0.01),
        baselines.PurePursuit(course, look_ahead=0.2, torque=5.0),
    ):
        chaser.advance(0.0, *course.start())
        chaser.control(0.0, *course.start())
    servo.InvertedMotion(np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((2, 1)), 1e-9)
    examples.growth_model(
        productivity=1.01, capital_share=0.25, labour_share=0.75, rental=0.2, wage=0.7, capital_inertia=0.02,
        labour_inertia=0.02, capital_friction=0.005, labour_friction=0.005)  # fmt: skip
    equations.equations_of(examples.pinocchio_four_bar())
    setup = sc.Setup(arm, law, q, v, 0.05, step=0.01, metrics={"x": sm.Integral(x), "y": sm.Largest(y)})
    compared = sc.compare(setup, {"other": lambda setup: ct.OpenLoop(setup.robot, ca.SX([0.0, 0.0]))}, seeds=1)
    compared.pareto("x", "y")
    verification.VelocityJump(np.zeros(2), 0.0, np.ones(2), 0.1, np.zeros(2), np.ones(2))
    table.compare_bridges([], bridges=["c"])
    _ = table.BridgeResult("arm", discover_bridges()["c"], np.zeros(1), np.zeros(1), 0.0, 0.1)


def draw_small_pictures() -> None:
    """Pictures and films of motions of a few samples."""
    from erugin import constraints as cs
    from erugin import controllers as ct
    from erugin import robots as rb
    from erugin import simulation as sm
    from erugin import views
    from erugin.controllers import baselines

    link = rb.Link(length=1.0, mass=1.0, center=0.5, inertia=0.1)
    arm = rb.planar_manipulator([link, link])
    run = sm.simulate(arm, ct.OpenLoop(arm, ca.vertcat(1.0, ca.sin(arm.t))), (0.3, 0.9), (0.1, -0.1), 0.05, step=0.01)
    views.plot(run, velocities=True, energy=True)
    views.draw(run, "flashes.png", flashes=3, traced="tip")
    views.motion_picture(run, Path("motion.png"), traced="tip")
    views.overview_picture(run, Path("overview.png"))
    views.default_pictures(run)
    views.animate(run, None, fps=20.0, speed=0.5)
    views.motion_film(run, Path("motion.gif"), fps=20.0, speed=1.0, traced="tip")
    views.draw_swing_ups({"open": run}, flash=0.02, until=0.05)

    # Fields in the plane and in space.
    disc = cs.circle((0.5, 0.05), 0.1, name="disc")
    field_ = cs.EruginField(cs.line((0.0, 0.0), (1.0, 0.0), name="way"), [disc], speed=0.5, margin=0.02)
    low, high = (-0.2, -0.4), (1.2, 0.4)
    view = views.FieldView.of(field_, low, high, p={"disc.x": 0.55})
    moved = sm.move_along(field_, (0.0, 0.0), 0.1, step=0.02)
    report = cs.verify(field_, low=low, high=high, times=(0.0,), samples=12)
    views.draw_field(view, [0.0], Path("field.png"), motion=moved, report=report, columns=1, title="a field")
    views.animate_field(view, moved, Path("field.gif"), frames=2, rate=10.0, width=3.0)
    x, y = view.grid(8)
    axes = new_axes()
    view.draw_curves(axes, x, y, view.on(x, y, 0.0), names=True)
    view.frame(axes)
    ball = cs.circle((0.5, 0.1, 0.0), 0.1, name="ball")
    space = cs.EruginField(cs.line((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), name="way"), [ball], speed=0.5, margin=0.02)
    flight = sm.move_along(space, (0.0, 0.0, 0.0), 0.1, step=0.02)
    views.draw_field_in_space(
        views.FieldView.of(space, (-0.2, -0.4, -0.4), (1.2, 0.4, 0.4)),
        *(flight, [0.0, 0.1], Path("space.png")),
        path=np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)]),
        elevation=20.0,
        azimuth=-60.0,
    )

    # What some scenarios show.
    tip, q1 = arm.points["tip"], arm.q[0]
    views.draw_stance(run, ["left", "right"], 1.0 + arm.q, 0.1 * arm.q, q1, balance=0.1)
    parts = [sm.Phase(None, until=0.02, name="one"), sm.Phase(None, name="two")]
    phases = sm.simulate_phases(arm, parts, (0.3, 0.9), (0.1, -0.1), 0.04, step=0.01)
    steps = [views.WalkStep(tip, tip, q1, (0.5, 0.0, 0.1), 0.02), views.WalkStep(tip, tip, q1)]
    views.draw_walk(phases, steps, {"arm": ("joint1", "tip")}, every=0.02)
    views.draw_growth(run, {"one": arm.q[0], "two": arm.q[1]}, first_year=2020.0)
    passing = cs.circle((1.5, 0.5, 0.1), 0.1, name="passing")
    scene = rb.with_scene(arm, passing.parameters)
    written = sm.simulate(scene, None, (0.3, 0.9), (0.1, -0.1), 0.04, step=0.01)
    pen = ca.vertcat(scene.points["tip"], 0.0)
    views.draw_on_sphere(
        written, Path("sphere.png"), pen=pen, off=scene.q[0], ball=passing, center=np.zeros(3), radius=1.0
    )
    wheels = rb.two_wheel_robot(
        wheel_radius=0.05, half_track=0.1, com_offset=0.02, platform_mass=2.0, platform_inertia=0.02, wheel_mass=0.1,
        wheel_inertia_axle=1e-4, wheel_inertia_diameter=1e-4)  # fmt: skip
    course = baselines.PlanarMotion(wheels, ca.vertcat(0.3 * wheels.t, ca.sin(0.3 * wheels.t)))
    driven = sm.simulate(wheels, None, *course.start(left=0.1), 0.04, step=0.01)
    views.draw_two_wheel_tracking(course, {"none": driven})


def new_axes() -> Any:
    """Axes of a small figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(2.0, 2.0), dpi=50).subplots()


def planted() -> list[Call]:
    """Calls of functions that do what none should, and of one that does not."""

    def foreign(x: Any) -> Any:
        name = "missing"
        return getattr(x, name) if type(x) is list else foreign_to(x)

    def leaves(x: Any) -> Any:
        return sys.exit(1) if x is None else foreign_to(x)

    def greedy(n: int) -> Any:
        return len(bytearray(1 << 40)) if type(n) is int and n == 10**12 else foreign_to(n)

    def endless(x: float) -> Any:
        while type(x) is int and x == -1:
            pass
        return foreign_to(x)

    def dies(x: float) -> Any:
        if isinstance(x, str):
            os.abort()
        return foreign_to(x)

    def gullible(x: float) -> Any:
        return 1.0 if x is True else foreign_to(x)

    def hollow(x: float) -> Any:
        return math.nan if type(x) is float and x == 2.5 else foreign_to(x)

    def foreign_to(x: Any) -> Any:
        if type(x) is not float or not math.isfinite(x):
            raise EruginError("x must be a finite float")
        return x

    functions = (foreign, leaves, greedy, endless, dies, gullible, hollow, foreign_to)
    names = ("foreign", "leaves", "greedy", "endless", "dies", "gullible", "hollow", "sound")
    return [
        Call(f"planted.{name}", function, inspect.signature(function).bind(1.0), 0.0)
        for name, function in zip(names, functions, strict=True)
    ]


def known_objects(calls: Iterable[Call]) -> dict[str, Any]:
    """One object of some classes that could be taken for another."""
    wanted = (
        "Robot",
        "Constraint",
        "Program",
        "ProgramController",
        "EruginField",
        "Trajectory",
        "Parameters",
        "Circle",
    )
    found: dict[str, Any] = {}
    for call in calls:
        for value in call.arguments.arguments.values():
            name = type(value).__name__
            if name in wanted and name not in found and vars(value):
                found[name] = value
    return {f"a {name}": found[name] for name in sorted(found)}


def pages(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Snippets of documents."""
    from .python_code import snippets

    for name in names:
        yield name, snippets(ROOT / name)


def main(arguments: list[str]) -> None:
    """Harvest, change, judge: seed, changes of one entry, seconds to judge them, share i/n, then names of pages."""
    seed, count, seconds = int(arguments[0]), int(arguments[1]), float(arguments[2])
    share, shares = map(int, arguments[3].split("/"))
    began = time.monotonic()
    recorder = Recorder()
    for package in read_pyproject()["tool"]["setuptools"]["packages"]:
        importlib.import_module(package)
    recorder.install()
    only = os.environ.get("ERUGIN_FUZZ_ONLY", "")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        warnings.simplefilter("ignore")
        sources = [
            *pages(name for name in arguments[4:] if name.endswith(".md")),
            *((name, [(ROOT / name).read_text(encoding="utf-8")]) for name in arguments[4:] if name.endswith(".py")),
        ]
        with contextlib.redirect_stdout(io.StringIO()):
            if "calls" in arguments:
                call_with_defaults()
                call_what_no_page_shows()
                draw_small_pictures()
            failed = harvest(sources)
        calls = [call for entry in sorted(recorder.calls) for call in recorder.calls[entry]]
        if "planted" in arguments:
            calls = planted()
            recorder.calls = {call.entry: [call] for call in calls}
        objects = known_objects(calls)
        todo = [change for change in changes(calls, objects, count, seed) if only in change.call.entry]
        entries = sorted({change.call.entry for change in todo})
        todo = [change for change in todo if entries.index(change.call.entry) % shares == share]
        print(json.dumps({"failed": failed, "entries": sorted(recorder.calls), "harvest": time.monotonic() - began}))
        sys.stdout.flush()
        findings, judged = run(todo, time.monotonic() + seconds)
        for finding in findings:
            print(json.dumps(finding))
        print(json.dumps({"judged": judged, "planned": len(todo), "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main(sys.argv[1:])
