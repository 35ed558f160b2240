"""Tasks on a Dask cluster: a bounded number of them in flight, written down by the client."""

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


class Promise(Protocol):
    """What is asked of a future of Dask."""

    key: str
    status: str

    def add_done_callback(self, call: Callable[[Promise], None], /) -> None:
        """Call when it is done, whatever came of it."""
        ...

    def result(self, timeout: float) -> object:
        """What came of it."""
        ...


class Dask(Protocol):
    """What is asked of a client of Dask."""

    status: str
    scheduler: object

    def submit(self, function: Callable[..., object], *arguments: object, pure: bool) -> Promise:
        """Have something computed."""
        ...

    def cancel(self, futures: Sequence[Promise], *, force: bool) -> None:
        """Give it up."""
        ...

    def nthreads(self) -> Mapping[str, int]:
        """Threads of each worker."""
        ...

    def close(self, timeout: float) -> None:
        """End it."""
        ...


ANSWER = 5.0
"""Seconds within which a scheduler has to answer."""
LOOK = 0.5
AHEAD = 2
"""Tasks that are given out for each thread of the cluster: one that it computes, others that it need not wait for."""
PATIENCE = 15.0
"""Seconds without any worker after which that is told."""


@contextlib.contextmanager
def connected(address: str) -> Generator[Client]:
    """A client of a scheduler.

    Args:
        address: of the scheduler, such as ``tcp://10.0.0.1:8786``.

    Yields:
        The client; it is closed at the end.

    Raises:
        StudyError: if nobody answers there in time.
    """
    import_optional("distributed", "cluster")
    client = _client(address)
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            cast(Dask, client).close(timeout=2)


def _client(address: str) -> Client:
    from distributed import Client

    answers: queue.Queue[Client | Exception] = queue.Queue()

    def ask() -> None:
        try:
            make: Callable[..., Client] = Client
            answers.put(make(address, timeout=ANSWER, set_as_default=False))
        except Exception as error:
            answers.put(error)

    # Where somebody takes the call and says nothing, the client would wait for ever.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER + 1.0)
    except queue.Empty:
        answer = TimeoutError("it was called and did not answer")
    if isinstance(answer, Exception):
        raise StudyError(
            f"no Dask scheduler answers at {address!r} within {ANSWER:g} s: start one by 'dask scheduler', or look at "
            "the address"
        ) from answer
    return answer


class ClusterTasks:
    """Tasks in flight on a cluster; outcomes in the order in which they are ready."""

    def __init__(self, numbers: Iterator[int], client: Client, packed: bytes) -> None:
        """Nothing is sent yet.

        Args:
            numbers: of the tasks, asked for when there is room.
            client: of the cluster.
            packed: the job, by :meth:`~erugin.scenarios.study.job.Job.pack`.
        """
        self._numbers, self._client, self._packed = numbers, cast(Dask, client), packed
        self._ready: queue.Queue[Promise] = queue.Queue()
        self._flying: dict[str, tuple[int, Promise]] = {}
        self._threads, self._seen, self._told = 0, 0.0, False
        self._began = time.monotonic()
        # Asked now, for a client whose scheduler is gone does not know it any more.
        self._address = str(getattr(self._client.scheduler, "address", "its address"))

    def __iter__(self) -> Iterator[TaskOutcome]:
        """Outcomes, until all tasks are done.

        Raises:
            StudyError: if the scheduler is gone, a task ends its workers again and again, or a task raises anything.
        """
        self._fill()
        while self._flying:
            try:
                future = self._ready.get(timeout=LOOK)
            except queue.Empty:
                self._require_scheduler()
                self._fill()
                continue
            number = self._flying.pop(future.key)[0]
            outcome = self._outcome(future, number)
            self._fill()
            yield outcome

    @property
    def threads(self) -> int:
        """Of all workers of the cluster."""
        return max(1, self._count())

    def stop(self) -> list[TaskOutcome]:
        """Begin no more tasks, and give up those that are in flight.

        Returns:
            Nothing.
        """
        futures = [future for _, future in self._flying.values()]
        self._flying.clear()
        if self._client.status == "running":
            with contextlib.suppress(Exception):
                self._client.cancel(futures, force=True)
        return []

    def _fill(self) -> None:
        room = AHEAD * self.threads + 1 - len(self._flying)
        for _ in range(room):
            number = next(self._numbers, None)
            if number is None:
                return
            try:
                future = self._client.submit(compute_packed, self._packed, number, pure=False)
            except Exception as error:
                self._require_scheduler()
                raise StudyError(f"task {number} cannot be given to the cluster: {_said(error)}") from error
            self._flying[future.key] = number, future
            future.add_done_callback(self._ready.put)

    def _count(self) -> int:
        """Threads of the cluster, which may grow and shrink."""
        now = time.monotonic()
        if now - self._seen > 1.0:
            self._require_scheduler()
            try:
                self._threads, self._seen = sum(self._client.nthreads().values()), now
            except Exception as error:
                raise self._gone() from error
            if not self._threads and not self._told and now - self._began > PATIENCE:
                self._told = True
                warnings.warn(
                    StudyWarning(f"the scheduler at {self._address} has no workers yet: waiting for them"),
                    stacklevel=caller_stacklevel(),
                )
        return self._threads

    def _outcome(self, future: Promise, number: int) -> TaskOutcome:
        if future.status == "cancelled":
            raise self._gone()
        try:
            outcome = future.result(timeout=60.0)
        except Exception as error:
            self._require_scheduler()
            kind = type(error).__name__
            if kind in LOST:
                raise self._gone() from error
            if kind == "KilledWorker":
                raise StudyError(
                    f"task {number} ended its workers again and again: perhaps there is too little memory, or code "
                    "that ends the process"
                ) from error
            raise StudyError(
                f"task {number} failed on the cluster: {_said(error)}. Workers need the same erugin[cluster] as here"
            ) from error
        assert isinstance(outcome, TaskOutcome)
        return outcome

    def _require_scheduler(self) -> None:
        if self._client.status not in ("running", "newly-created"):
            raise self._gone()

    def _gone(self) -> StudyError:
        return StudyError(f"the scheduler at {self._address} is gone: see whether it runs")


LOST = ("CommClosedError", "FutureCancelledError", "CancelledError", "TimeoutError", "OSError")
"""Errors, by name, of those who talk to a scheduler that is not there any more."""


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
