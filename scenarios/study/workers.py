"""Tasks on this machine: threads of this process, or each with a worker process of its own.

A worker process is a Python of its own that receives numbers of tasks and answers with their results. It ends when
whoever started it does, however that comes about: its input is then at an end.
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
"""Seconds between looks of the thread that waits, so that Ctrl-C is seen at once."""


class Maker(Protocol):
    """Computes tasks, one at a time, in the thread that made it."""

    def compute(self, number: int) -> TaskOutcome:
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

    def __init__(self, bench: TaskRunner) -> None:
        """Nothing is built yet.

        Args:
            bench: that all threads share.
        """
        self._bench = bench

    def compute(self, number: int) -> TaskOutcome:
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
        self._ready: queue.Queue[TaskOutcome | BaseException | None] = queue.Queue(workers)
        self._threads = [threading.Thread(target=self._work, name=f"worker-{i}", daemon=True) for i in range(workers)]
        self._makers: list[Maker] = []
        self._ended = 0
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[TaskOutcome]:
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
        self._join()

    def stop(self) -> list[TaskOutcome]:
        """Begin no more tasks; wait for what this process computes, give up what others do.

        Returns:
            What was ready or became so.
        """
        self._halt.set()
        for maker in list(self._makers):
            maker.close()
        left: list[TaskOutcome] = []
        while self._ended < len(self._threads):
            one = self._ready.get()
            if one is None:
                self._ended += 1
            elif isinstance(one, TaskOutcome):
                left.append(one)
        self._join()
        return left

    def _join(self) -> None:
        # A thread that has handed in its last outcome is still running; the process must not end under it.
        for thread in self._threads:
            thread.join()

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


TRIES = 3
SIZE = struct.Struct("<Q")
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from erugin.scenarios.study.workers import serve; serve()"
)


class InProcess:
    """Computes tasks in a process of its own, and in another one if that dies."""

    def __init__(self, packed: bytes) -> None:
        """Start it.

        Args:
            packed: the job, by :meth:`~erugin.scenarios.study.job.Job.pack`.
        """
        self._packed = packed
        self._guard, self._closed = threading.Lock(), False
        self._process = self._start()

    def compute(self, number: int) -> TaskOutcome:
        """A task from start to end.

        Args:
            number: of the task.

        Raises:
            StudyError: if its worker dies again and again; and what the task raised.
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
            f"task {number} ended its worker process {TRIES} times: {', '.join(endings)}. Perhaps there is too little "
            "memory, take fewer workers, or code that ends the process"
        )

    def close(self) -> None:
        """End the process, whatever it is doing."""
        with self._guard:
            self._closed = True
            self._process.kill()
            self._process.wait()
            _shut(self._process)

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        command: Sequence[str] = [sys.executable, "-c", PROGRAM, json.dumps([path or os.getcwd() for path in sys.path])]
        # Ctrl-C goes to all of a terminal's processes, and it is for who started this one.
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        # If it dies at once, that is told when the first answer is waited for.
        with contextlib.suppress(OSError):
            send(process.stdin, self._packed)
        return process


def send(stream: IO[bytes] | None, value: object) -> None:
    """Write a value.

    Args:
        stream: a pipe to another process of this program.
        value: anything.
    """
    assert stream is not None
    data = pickle.dumps(value)
    stream.write(SIZE.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes] | None) -> object:
    """Read a value.

    Args:
        stream: a pipe from another process of this program.

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
    """What the worker process does: answer until there is nobody who asks."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What a user's code prints must not come between the answers.
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
            # What was not sent yet cannot be.
            with contextlib.suppress(OSError):
                stream.close()


def _ending(code: int) -> str:
    if code >= 0:
        return f"it ended by itself with code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
