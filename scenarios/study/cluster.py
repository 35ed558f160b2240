"""Tasks on a Dask cluster: a bounded number of them in flight, with results stored by the client."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from ...symbolic.errors import StudyError, StudyWarning, caller_stacklevel
from ...symbolic.optional_dependencies import import_optional
from .job import TaskOutcome, compute_packed

if TYPE_CHECKING:
    from distributed import Client


class DaskFuture(Protocol):
    """The part of a Dask future that is used here."""

    key: str
    status: str

    def add_done_callback(self, call: Callable[[DaskFuture], None], /) -> None:
        """Register a function to call when the future is done, successfully or not."""
        ...

    def result(self, timeout: float) -> object:
        """Return the result, or raise the exception of the computation."""
        ...


class DaskClient(Protocol):
    """The part of a Dask client that is used here."""

    status: str
    scheduler: object

    def submit(self, function: Callable[..., object], *arguments: object, pure: bool) -> DaskFuture:
        """Submit a call to the cluster."""
        ...

    def cancel(self, futures: Sequence[DaskFuture], *, force: bool) -> None:
        """Cancel futures."""
        ...

    def nthreads(self) -> Mapping[str, int]:
        """Return the number of threads of each worker."""
        ...

    def close(self, timeout: float) -> None:
        """Close the client."""
        ...


ANSWER = 5.0
"""Time in which a scheduler has to answer [s]."""
LOOK = 0.5
"""Interval at which the scheduler is polled [s]."""
AHEAD = 2
"""Tasks in flight for each thread of the cluster: one that it computes, and one in reserve so that it never waits."""
PATIENCE = 15.0
"""Time without any worker after which a warning is issued [s]."""


@contextlib.contextmanager
def connected(address: str) -> Generator[Client]:
    """Connect a client to a scheduler.

    Args:
        address: address of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Yields:
        The client; it is closed at the end.

    Raises:
        StudyError: if no scheduler answers in time.
    """
    import_optional("distributed", "cluster")
    client = _client(address)
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            cast(DaskClient, client).close(timeout=2)


def _client(address: str) -> Client:
    from distributed import Client

    answers: queue.Queue[Client | Exception] = queue.Queue()

    def connect() -> None:
        try:
            make: Callable[..., Client] = Client
            answers.put(make(address, timeout=ANSWER, set_as_default=False))
        except Exception as error:
            answers.put(error)

    # If the other side accepts the connection but never answers, the client would wait forever.
    threading.Thread(target=connect, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER + 1.0)
    except queue.Empty:
        answer = TimeoutError("the connection was accepted, but there was no answer")
    if isinstance(answer, Exception):
        raise StudyError(
            f"no Dask scheduler answers at {address!r} within {ANSWER:g} s: start one with 'dask scheduler', or check "
            "the address"
        ) from answer
    return answer


class ClusterTasks:
    """Tasks in flight on a cluster; outcomes in the order in which they are ready."""

    def __init__(self, numbers: Iterator[int], client: Client, packed: bytes) -> None:
        """Store the arguments; tasks are submitted on iteration.

        Args:
            numbers: numbers of the tasks, consumed as tasks are submitted.
            client: client of the cluster.
            packed: the job, packed by :meth:`~erugin.scenarios.study.job.Job.pack`.
        """
        self._numbers, self._client, self._packed = numbers, cast(DaskClient, client), packed
        self._ready: queue.Queue[DaskFuture] = queue.Queue()
        self._in_flight: dict[str, tuple[int, DaskFuture]] = {}
        self._threads, self._counted_at, self._warned = 0, 0.0, False
        self._start = time.monotonic()
        # Read now, because a client that has lost its scheduler no longer knows its address.
        self._address = str(getattr(self._client.scheduler, "address", "its address"))

    def __iter__(self) -> Iterator[TaskOutcome]:
        """Yield outcomes until all tasks are done.

        Raises:
            StudyError: if the scheduler is lost, a task repeatedly kills its workers, or a task raises an exception.
        """
        self._fill()
        while self._in_flight:
            try:
                future = self._ready.get(timeout=LOOK)
            except queue.Empty:
                self._require_scheduler()
                self._fill()
                continue
            number = self._in_flight.pop(future.key)[0]
            outcome = self._outcome(future, number)
            self._fill()
            yield outcome

    @property
    def threads(self) -> int:
        """Number of threads of all workers, at least 1."""
        return max(1, self._count())

    def stop(self) -> list[TaskOutcome]:
        """Submit no more tasks, and cancel those in flight.

        Returns:
            An empty list.
        """
        futures = [future for _, future in self._in_flight.values()]
        self._in_flight.clear()
        if self._client.status == "running":
            with contextlib.suppress(Exception):
                self._client.cancel(futures, force=True)
        return []

    def _fill(self) -> None:
        room = AHEAD * self.threads + 1 - len(self._in_flight)
        for _ in range(room):
            number = next(self._numbers, None)
            if number is None:
                return
            try:
                future = self._client.submit(compute_packed, self._packed, number, pure=False)
            except Exception as error:
                self._require_scheduler()
                raise StudyError(f"task {number} cannot be submitted to the cluster: {_describe(error)}") from error
            self._in_flight[future.key] = number, future
            future.add_done_callback(self._ready.put)

    def _count(self) -> int:
        """Return the number of threads of the cluster, which may change."""
        now = time.monotonic()
        if now - self._counted_at > 1.0:
            self._require_scheduler()
            try:
                self._threads, self._counted_at = sum(self._client.nthreads().values()), now
            except Exception as error:
                raise self._lost() from error
            if not self._threads and not self._warned and now - self._start > PATIENCE:
                self._warned = True
                warnings.warn(
                    StudyWarning(f"the scheduler at {self._address} has no workers yet: waiting for them"),
                    stacklevel=caller_stacklevel(),
                )
        return self._threads

    def _outcome(self, future: DaskFuture, number: int) -> TaskOutcome:
        if future.status == "cancelled":
            raise self._lost()
        try:
            outcome = future.result(timeout=60.0)
        except Exception as error:
            self._require_scheduler()
            kind = type(error).__name__
            if kind in LOST:
                raise self._lost() from error
            if kind == "KilledWorker":
                raise StudyError(
                    f"task {number} ended its workers repeatedly: check for too little memory, or code that ends the "
                    "process"
                ) from error
            raise StudyError(
                f"task {number} failed on the cluster: {_describe(error)}. Workers require the same version of "
                "erugin[cluster] as this process"
            ) from error
        assert isinstance(outcome, TaskOutcome)
        return outcome

    def _require_scheduler(self) -> None:
        if self._client.status not in ("running", "newly-created"):
            raise self._lost()

    def _lost(self) -> StudyError:
        return StudyError(f"the connection to the scheduler at {self._address} is lost: check that it is running")


LOST = ("CommClosedError", "FutureCancelledError", "CancelledError", "TimeoutError", "OSError")
"""Names of the exceptions that a lost scheduler causes."""


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
