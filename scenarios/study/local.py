"""Tasks on this machine: threads of this process, or each with a worker process of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Protocol

from .job import Bench, Outcome

LOOK = 0.2
"""Seconds between looks of the thread that waits, so that Ctrl-C is seen at once."""


class Maker(Protocol):
    """Computes tasks, one at a time, in the thread that made it."""

    def compute(self, number: int) -> Outcome:
        """A task from start to end.

        Args:
            number: of the task.
        """
        ...

    def close(self) -> None:
        """Nothing more is asked of it."""
        ...


class InThread:
    """Computes tasks in this process."""

    def __init__(self, bench: Bench) -> None:
        """Nothing is built yet.

        Args:
            bench: that all threads share.
        """
        self._bench = bench

    def compute(self, number: int) -> Outcome:
        """A task from start to end.

        Args:
            number: of the task.
        """
        return self._bench.compute(number)

    def close(self) -> None:
        """Nothing to do."""


class LocalTasks:
    """Tasks in flight, as many as there are workers; outcomes in the order in which they are ready."""

    def __init__(self, numbers: Iterator[int], workers: int, make: Callable[[], Maker]) -> None:
        """Start.

        Args:
            numbers: of the tasks, asked for when a worker is free.
            workers: how many.
            make: what computes tasks, once for each worker.
        """
        self._numbers, self._make = numbers, make
        self._guard, self._halt = threading.Lock(), threading.Event()
        # A worker that is ahead waits until what it has made is written down.
        self._ready: queue.Queue[Outcome | BaseException | None] = queue.Queue(workers)
        self._threads = [threading.Thread(target=self._work, name=f"worker-{i}", daemon=True) for i in range(workers)]
        self._makers: list[Maker] = []
        self._ended = 0
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[Outcome]:
        """Outcomes, until all tasks are done.

        Raises:
            BaseException: whatever a task raised.
        """
        while self._ended < len(self._threads):
            try:
                one = self._ready.get(timeout=LOOK)
            except queue.Empty:
                continue
            if one is None:
                self._ended += 1
            elif isinstance(one, BaseException):
                raise one
            else:
                yield one

    def stop(self) -> list[Outcome]:
        """Begin no more tasks; wait for what this process computes, give up what others do.

        Returns:
            What was ready or became so.
        """
        self._halt.set()
        for maker in list(self._makers):
            maker.close()
        left: list[Outcome] = []
        while self._ended < len(self._threads):
            one = self._ready.get()
            if one is None:
                self._ended += 1
            elif isinstance(one, Outcome):
                left.append(one)
        for thread in self._threads:
            thread.join()
        return left

    def _work(self) -> None:
        maker: Maker | None = None
        try:
            maker = self._make()
            self._makers.append(maker)
            while not self._halt.is_set():
                with self._guard:
                    number = next(self._numbers, None)
                if number is None:
                    break
                self._ready.put(maker.compute(number))
        except BaseException as error:
            if not self._halt.is_set():
                self._halt.set()
                self._ready.put(error)
        finally:
            if maker is not None:
                maker.close()
            self._ready.put(None)
