"""A worker process: a Python of its own that is told numbers of tasks and answers with their results.

It ends when whoever started it does, however that comes about: its input is then at an end.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO

from ...symbolic.errors import StudyError
from .job import Outcome, compute_packed

TRIES = 3
SIZE = struct.Struct("<Q")
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from erugin.scenarios.study.process import serve; serve()"
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

    def compute(self, number: int) -> Outcome:
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
            if isinstance(answer, Outcome):
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
