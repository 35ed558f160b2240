"""Studies on a real Dask cluster: whoever is killed, going on makes the same bytes as if nothing had been."""

from __future__ import annotations

import importlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from erugin.scenarios import Results
from erugin.scenarios.study.cluster import connected
from erugin.scenarios.study.study import StoppedStudyError
from erugin.symbolic import StudyError

from ...support.study_cases import PENDULUM, PYTHON_LAW, data, finish, load, start

psutil: Any = importlib.import_module("psutil")  # has no types, or wrong ones

CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@dataclass(frozen=True)
class Cluster:
    """A scheduler in a process of its own, with worker processes.

    Attributes:
        address: of the scheduler.
        process: of the scheduler.
    """

    address: str
    process: Any

    def workers(self) -> list[Any]:
        """Processes that compute tasks."""
        return [each for each in self.process.children(recursive=True) if "spawn_main" in " ".join(each.cmdline())]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two workers."""
    file = tmp_path_factory.mktemp("cluster") / "cluster.py"
    file.write_text(CLUSTER, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe = subprocess.PIPE
    with (file.parent / "log").open("wb") as log:
        started = subprocess.Popen(
            [sys.executable, str(file)], stdin=pipe, stdout=pipe, stderr=log, text=True, env=environment
        )
        assert started.stdout is not None
        family: list[Any] = []
        try:
            address = started.stdout.readline().strip()
            process = psutil.Process(started.pid)
            family = process.children(recursive=True)
            yield Cluster(address, process)
        finally:
            if started.poll() is None:
                family = psutil.Process(started.pid).children(recursive=True)
                started.kill()
            started.communicate()
            for each in family:
                if each.is_running():
                    each.kill()
            psutil.wait_procs(family, timeout=20.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The pendulum's results without a cluster and without any interruption."""
    return data(load().run(tmp_path_factory.mktemp("whole") / "new", progress=False).path)


def wait_for(folder: Path, tasks: int) -> None:
    """Until so many tasks are done."""
    deadline = time.monotonic() + 240.0
    while len(data(folder)) < tasks:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_a_cluster_makes_the_same_bytes_whichever_worker_is_killed(
    cluster: Cluster, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    process = start("study", PENDULUM, "--out", tmp_path / "out", "--scheduler", cluster.address)
    wait_for(tmp_path / "out", 5)
    random.Random(3).choice(cluster.workers()).kill()
    code, output, errors = finish(process)
    assert code == 0, errors
    assert "240 runs, 0 of them had to stop" in output
    assert data(tmp_path / "out") == whole
    # Laws in Python, sent by value, on the same cluster.
    code, _, errors = finish(start("study", PYTHON_LAW, "--out", tmp_path / "law", "--scheduler", cluster.address))
    assert code == 0, errors
    alone = load(PYTHON_LAW).run(tmp_path / "alone", workers=1, progress=False)
    assert data(tmp_path / "law") == data(alone.path)


@pytest.mark.slow
def test_a_killed_client_resumes_to_the_same_bytes(cluster: Cluster, tmp_path: Path, whole: dict[str, bytes]) -> None:
    out = tmp_path / "out"
    process = start("study", PENDULUM, "--out", out, "--scheduler", cluster.address)
    wait_for(out, 4)
    process.kill()
    finish(process)
    found = data(out)
    assert {name: whole[name] for name in found} == found
    assert len(found) < len(whole)
    process = start("study", PENDULUM, "--out", out, "--scheduler", cluster.address, "--resume")
    wait_for(out, 40)
    process.send_signal(signal.SIGINT)
    code, _, errors = finish(process)
    assert code == 130
    assert "of 80 tasks are in" in errors
    with connected(cluster.address) as client:
        assert load().run(out, client=client, resume=True, progress=False).complete
    assert data(out) == whole


@pytest.mark.slow
def test_a_task_that_kills_workers_ends_the_study_by_name(cluster: Cluster, tmp_path: Path) -> None:
    from ...support.study_cases import FATAL

    file = tmp_path / "fatal.py"
    file.write_text(FATAL, encoding="utf-8")
    with (
        connected(cluster.address) as client,
        pytest.raises(StoppedStudyError, match="task 2 ended its workers repeatedly"),
    ):
        load(file).run(tmp_path / "out", client=client, progress=False)
    assert 2 in Results.open(tmp_path / "out").missing


@pytest.mark.parametrize(
    "address", [pytest.param("tcp://127.0.0.1:9", marks=pytest.mark.slow), "nonsense://x", "tcp://"]
)
def test_an_absent_scheduler_is_reported_with_its_address(address: str) -> None:
    with pytest.raises(StudyError, match=f"no Dask scheduler answers at '{address}' within"), connected(address):
        pass


@pytest.mark.slow
def test_a_host_that_does_not_answer_is_reported_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        code, _, errors = finish(start("study", PENDULUM, "--out", tmp_path / "out", "--scheduler", address))
    assert code == 2
    assert f"error: no Dask scheduler answers at '{address}' within 5 s" in errors
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_scheduler_that_is_killed_ends_the_study_by_name(
    cluster: Cluster, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    # It is the last that is done with this cluster.
    out = tmp_path / "out"
    process = start("study", PENDULUM, "--out", out, "--scheduler", cluster.address)
    wait_for(out, 5)
    cluster.process.kill()
    code, _, errors = finish(process)
    assert code == 1, errors
    assert f"stopped: the connection to the scheduler at {cluster.address} is lost" in errors
    found = data(out)
    assert 5 <= len(found) < len(whole)
    assert f"{len(found)} of 80 tasks are in" in errors
    assert load().run(out, resume=True, progress=False).complete
    assert data(out) == whole
