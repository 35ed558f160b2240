"""A study cut into tasks: what is sent to whoever computes some of them, and what comes back."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...symbolic.errors import StudyError
from ..comparison.trial import OK
from .plan import Plan
from .tables import Columns, encoded
from .user_code import user_modules
from .work import Work, Workshop


@dataclass(frozen=True)
class Outcome:
    """What came of a task.

    Attributes:
        task: its number.
        data: the file of its results.
        runs: how many.
        failed: how many of them had to stop, or could not begin.
        seconds: that it took [s].
        worker: where.
    """

    task: int
    data: bytes
    runs: int
    failed: int
    seconds: float
    worker: str


@dataclass(frozen=True, eq=False)
class Job:
    """All that is needed to compute any task of a study.

    Attributes:
        work: what is run.
        plan: which runs make up each task.
        columns: of the results.
        identity: hash of the study.
    """

    work: Work
    plan: Plan
    columns: Columns
    identity: str

    def pack(self) -> bytes:
        """All of it as bytes, with the code of the user's own modules.

        Raises:
            StudyError: if something in it cannot be sent to another process.
        """
        import cloudpickle  # type: ignore[import-untyped]  # late, for it is an extra

        modules = user_modules([self.work.scenario, *self.work.controllers.values()])
        registered = [
            module for module in modules if module.__name__ not in cloudpickle.list_registry_pickle_by_value()
        ]
        try:
            for module in registered:
                cloudpickle.register_pickle_by_value(module)
            # Expressions that functions use keep their symbols in common.
            with ca.global_pickle_context():
                return bytes(cloudpickle.dumps(self))
        except Exception as error:
            raise StudyError(
                f"the study cannot be sent to another process ({type(error).__name__}: {error}): make scenario and "
                "controllers by functions of a file of your own"
            ) from error
        finally:
            for module in registered:
                cloudpickle.unregister_pickle_by_value(module)


class Bench:
    """Computes tasks of a job in this process; several threads may use it."""

    def __init__(self, job: Job, workshop: Workshop | None = None) -> None:
        """Nothing is built yet.

        Args:
            job: whose tasks.
            workshop: whose trials are used, if some are compiled already.
        """
        self.job = job
        self._workshop = workshop or Workshop(job.work)

    def compute(self, number: int) -> Outcome:
        """A task from start to end.

        Args:
            number: of the task.

        Raises:
            StudyError: if its results have other columns than those of the study, or this machine has no room.
        """
        began, job = time.perf_counter(), self.job
        try:
            found = self._workshop.run(job.plan, number)
        except (MemoryError, OSError) as error:
            raise StudyError(
                f"task {number}: there is no room on {socket.gethostname()}: {error or 'memory'}"
            ) from error
        strange = sorted(found.keys() - set(job.columns.names))
        if strange:
            raise StudyError(
                f"task {number} has {', '.join(map(repr, strange))}, which the first settings do not have: name "
                "metrics= and varied= that all have"
            )
        data = encoded(found, job.columns, job.identity)
        failed = int(np.count_nonzero(~found[OK].astype(np.bool_)))
        return Outcome(number, data, len(found[OK]), failed, time.perf_counter() - began, here())


def here() -> str:
    """Which thread of which process of which machine this is."""
    return f"{socket.gethostname()}/{os.getpid()}/{threading.current_thread().name}"


_benches: OrderedDict[str, Bench] = OrderedDict()
_guard = threading.Lock()


def compute_packed(packed: bytes, number: int) -> Outcome:
    """A task of a job that was sent to this process; what is compiled for it is kept for the next.

    Args:
        packed: by :meth:`Job.pack`.
        number: of the task.
    """
    key = hashlib.sha256(packed).hexdigest()
    with _guard:
        if key not in _benches:
            import cloudpickle  # late, for it is an extra

            with ca.global_unpickle_context():
                job = cloudpickle.loads(packed)
            assert isinstance(job, Job)
            _benches[key] = Bench(job)
            if len(_benches) > 2:
                _benches.popitem(last=False)
        bench = _benches[key]
    return bench.compute(number)
