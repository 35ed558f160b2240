"""Studies that are killed and resumed give the same bytes, in constant memory."""

from __future__ import annotations

import importlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from erugin.scenarios import Results
from erugin.scenarios.study.study import StoppedStudyError

from ...support.study_cases import FATAL, PENDULUM, PYTHON_LAW, data, finish, load, start

psutil: Any = importlib.import_module("psutil")  # has no types, or wrong ones


def wait_for(folder: Path, tasks: int, process: subprocess.Popen[str]) -> None:
    """Until so many tasks are done."""
    deadline = time.monotonic() + 60.0
    while len(data(folder)) < tasks:
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The pendulum's results without any interruption."""
    return data(load().run(tmp_path_factory.mktemp("whole") / "new", progress=False).path)


@pytest.mark.slow
def test_a_study_killed_at_any_instant_resumes_to_the_same_bytes(tmp_path: Path, whole: dict[str, bytes]) -> None:
    rng = random.Random(7)
    out, cut = tmp_path / "out", 0
    for _ in range(6):
        process = start("study", PENDULUM, "--out", out, "--resume", "--workers", "1")
        before = len(data(out))
        if cut < 3:
            wait_for(out, before + rng.randint(1, 12), process)
            time.sleep(0.01 * rng.random())
        else:
            time.sleep(2.0 * rng.random())
        process.kill()
        finish(process)
        # Whatever is there is whole, and what had been there stays.
        found = data(out)
        assert {name: whole[name] for name in found} == found
        assert len(found) >= before
        cut += before < len(found) < len(whole)
    assert cut >= 2
    code, _, errors = finish(start("study", PENDULUM, "--out", out, "--resume"))
    assert code == 0, errors
    assert data(out) == whole
    assert list((out / "writing").iterdir()) == []


def interrupted(folder: Path, whole: dict[str, bytes]) -> tuple[Path, int, str]:
    """Folder of an interrupted study, its exit code and output; on a busy machine it may have finished before."""
    for i in range(20):
        out = folder / f"out{i}"
        process = start("study", PENDULUM, "--out", out, "--workers", "1")
        while len(data(out)) < 3 and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        code, _, errors = finish(process)
        if code != 0:
            return out, code, errors
        assert data(out) == whole
    pytest.fail("all tasks were done before the signal, twenty times")


def test_control_c_ends_cleanly_and_says_how_to_resume(tmp_path: Path, whole: dict[str, bytes]) -> None:
    out, code, errors = interrupted(tmp_path, whole)
    assert code == 130
    assert "Traceback" not in errors
    reported = re.search(r"interrupted: (\d+) of 80 tasks are in .*out.*--resume", errors)
    assert reported is not None, errors
    found = data(out)
    assert int(reported[1]) == len(found)
    assert 3 <= len(found) < 80
    load().run(out, resume=True, progress=False)
    assert data(out) == whole


@pytest.mark.slow
def test_a_worker_process_that_dies_is_replaced(tmp_path: Path) -> None:
    uninterrupted = data(load(PYTHON_LAW).run(tmp_path / "whole", progress=False).path)
    out = tmp_path / "out"
    process = start("study", PYTHON_LAW, "--out", out, "--workers", "1")
    wait_for(out, 1, process)
    (worker,) = psutil.Process(process.pid).children()
    worker.kill()
    code, _, errors = finish(process)
    assert code == 0, errors
    assert data(out) == uninterrupted


def test_worker_processes_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("study", PYTHON_LAW, "--out", out, "--workers", "2")
    wait_for(out, 1, process)
    workers = psutil.Process(process.pid).children()
    assert len(workers) == 2
    # Ctrl-C in a terminal is for the process that can say how to go on.
    assert os.getpgid(process.pid) not in [os.getpgid(worker.pid) for worker in workers]
    process.kill()
    finish(process)
    gone, alive = psutil.wait_procs(workers, timeout=20.0)
    assert len(gone) == 2
    assert alive == []


@pytest.mark.slow
def test_a_task_that_ends_its_process_again_and_again_ends_the_study_by_name(tmp_path: Path) -> None:
    file = tmp_path / "fatal.py"
    file.write_text(FATAL, encoding="utf-8")
    with pytest.raises(StoppedStudyError, match=r"task 2 ended its worker process 3 times: it exited with code 3"):
        load(file).run(tmp_path / "out", workers=1, progress=False)
    assert Results.open(tmp_path / "out").missing == (2,)
    code, _, errors = finish(start("study", file, "--out", tmp_path / "out", "--resume", "--workers", "1"))
    assert code == 1
    assert "stopped: task 2" in errors
    assert "2 of 3 tasks are in" in errors
    assert os.listdir(tmp_path / "out" / "writing") == []


PROGRAM = """
import resource, sys
from pathlib import Path
from erugin.scenarios.lookup import load_file
from erugin.scenarios import Study

pendulum = load_file(Path(sys.argv[1])).pendulum
study = Study(pendulum, {"duration": [0.004]}, seeds=int(sys.argv[2]), runs_per_task=4, metrics=["error_rms"])
results = study.run(sys.argv[3], progress=False)
assert results.manifest["tasks"] == int(sys.argv[2]) // 4
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(seeds: int, folder: Path) -> float:
    """MiB that a process needs for a study of so many seeds."""
    program = f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM}"
    command = [sys.executable, "-c", program, str(PENDULUM), str(seeds), str(folder)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_tasks(tmp_path: Path) -> None:
    few, many = peak(200, tmp_path / "few"), peak(2400, tmp_path / "many")
    # Results alone would be some MiB more; the whole is about 200.
    assert many < few + 4.0
