"""Tasks on this machine: in threads of this process, or in a worker process for each thread.

A worker process is a separate Python interpreter that receives indices of tasks and returns their results. It ends when
the process that started it ends, in whatever way: its standard input is then closed.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Protocol

from ...symbolic.errors import StudyError
from .job import TaskOutcome, TaskRunner, compute_packed

LOOK = 0.2
"""Interval at which the waiting thread wakes up to handle Ctrl-C [s]."""


class Worker(Protocol):
    """Computes tasks, one at a time, in the thread that created it."""

    def compute(self, number: int) -> TaskOutcome:
        """Compute a task.

        Args:
            number: index of the task.
        """
        ...

    def close(self) -> None:
        """Release resources; no more tasks follow."""
        ...


class InThread:
    """Computes tasks in this process."""

    def __init__(self, runner: TaskRunner) -> None:
        """Store the runner.

        Args:
            runner: runner that all threads share.
        """
        self._runner = runner

    def compute(self, number: int) -> TaskOutcome:
        """Compute a task.

        Args:
            number: index of the task.
        """
        return self._runner.compute(number)

    def close(self) -> None:
        """Do nothing."""


class LocalTasks:
    """Tasks in flight, as many as there are workers; outcomes in the order in which they are ready."""

    def __init__(self, numbers: Iterator[int], workers: int, make: Callable[[], Worker]) -> None:
        """Start the threads.

        Args:
            numbers: indices of the tasks, consumed as workers become free.
            workers: number of workers.
            make: function that creates a worker, called once in each thread.
        """
        self._numbers, self._make = numbers, make
        self._guard, self._halt = threading.Lock(), threading.Event()
        # The queue is bounded: a worker that is ahead waits until its outcome is stored.
        self._ready: queue.Queue[TaskOutcome | BaseException | None] = queue.Queue(workers)
        self._threads = [threading.Thread(target=self._work, name=f"worker-{i}", daemon=True) for i in range(workers)]
        self._workers: list[Worker] = []
        self._ended = 0
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[TaskOutcome]:
        """Yield outcomes until all tasks are done.

        Raises:
            BaseException: whatever a task raises.
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
        self._join()

    def stop(self) -> list[TaskOutcome]:
        """Start no more tasks, wait for those of this process, and kill worker processes.

        Returns:
            The outcomes that were ready or became ready.
        """
        self._halt.set()
        for worker in list(self._workers):
            worker.close()
        ready: list[TaskOutcome] = []
        while self._ended < len(self._threads):
            one = self._ready.get()
            if one is None:
                self._ended += 1
            elif isinstance(one, TaskOutcome):
                ready.append(one)
        self._join()
        return ready

    def _join(self) -> None:
        # A thread is still running after its last outcome; the process must not exit before it ends.
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        worker: Worker | None = None
        try:
            worker = self._make()
            self._workers.append(worker)
            while not self._halt.is_set():
                with self._guard:
                    number = next(self._numbers, None)
                if number is None:
                    break
                self._ready.put(worker.compute(number))
        except BaseException as error:
            if not self._halt.is_set():
                self._halt.set()
                self._ready.put(error)
        finally:
            if worker is not None:
                worker.close()
            self._ready.put(None)


TRIES = 3
SIZE = struct.Struct("<Q")
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from erugin.scenarios.study.workers import serve; serve()"
)


class InProcess:
    """Computes tasks in a worker process, which is started again if it dies."""

    def __init__(self, packed: bytes) -> None:
        """Start the process.

        Args:
            packed: the job, packed by :meth:`~erugin.scenarios.study.job.Job.pack`.
        """
        self._packed = packed
        self._guard, self._closed = threading.Lock(), False
        self._process = self._start()

    def compute(self, number: int) -> TaskOutcome:
        """Compute a task.

        Args:
            number: index of the task.

        Raises:
            StudyError: if the worker dies repeatedly; and whatever the task raises.
        """
        endings: list[str] = []
        while len(endings) < TRIES:
            try:
                send(self._process.stdin, number)
                answer = receive(self._process.stdout)
            except (OSError, EOFError):
                endings.append(_ending(self._process.wait()))
                with self._guard:
                    _shut(self._process)
                    if self._closed:
                        raise StudyError("the worker was stopped") from None
                    self._process = self._start()
                continue
            if isinstance(answer, TaskOutcome):
                return answer
            assert isinstance(answer, BaseException)
            raise answer
        raise StudyError(
            f"task {number} ended its worker process {TRIES} times: {', '.join(endings)}. Check for too little memory "
            "(use fewer workers), or code that ends the process"
        )

    def close(self) -> None:
        """Kill the process."""
        with self._guard:
            self._closed = True
            self._process.kill()
            self._process.wait()
            _shut(self._process)

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        command: Sequence[str] = [sys.executable, "-c", PROGRAM, json.dumps([path or os.getcwd() for path in sys.path])]
        # A new session: Ctrl-C reaches all processes of a terminal, but only the main process should handle it.
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        # If the process dies at once, waiting for its first answer reports that.
        with contextlib.suppress(OSError):
            send(process.stdin, self._packed)
        return process


def send(stream: IO[bytes] | None, value: object) -> None:
    """Write a value to a pipe.

    Args:
        stream: pipe to another process of this program.
        value: any object that can be pickled.
    """
    assert stream is not None
    data = pickle.dumps(value)
    stream.write(SIZE.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes] | None) -> object:
    """Read a value from a pipe.

    Args:
        stream: pipe from another process of this program.

    Raises:
        EOFError: if the other process has ended.
    """
    assert stream is not None
    head = stream.read(SIZE.size)
    if len(head) < SIZE.size:
        raise EOFError
    (size,) = SIZE.unpack(head)
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return pickle.loads(data)


def serve() -> None:
    """Run the main loop of a worker process, which computes tasks until its input is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Output of a user's code must not be mixed with the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    try:
        packed = receive(questions)
        assert isinstance(packed, bytes)
        while True:
            number = receive(questions)
            assert isinstance(number, int)
            try:
                answer: object = compute_packed(packed, number)
            except StudyError as error:
                answer = error
            except Exception as error:
                answer = StudyError(f"task {number}: {type(error).__name__}: {error}")
            send(answers, answer)
    except (EOFError, OSError):
        os._exit(0)


def _shut(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            # Data that are not sent yet are lost with the process.
            with contextlib.suppress(OSError):
                stream.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"it exited with code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
