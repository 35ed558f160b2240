"""Results on disk: whole files only, one writer, and nothing of another study is ever touched."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from erugin.scenarios import Results, Study
from erugin.scenarios.study.result_folder import Folder, write_atomically
from erugin.scenarios.study.study import StoppedStudyError
from erugin.symbolic import ModelError, StudyError, StudyWarning

from ...support.study_cases import PENDULUM, data, finish, load, rewrite_manifest, start


def small() -> Study:
    """Four tasks of three runs."""
    return Study(load().scenario, {"plant.l1": [0.9, 1.1]}, seeds=6, runs_per_task=3, metrics=["error_rms"])


@contextmanager
def no_file_larger_than(size: int) -> Generator[None]:
    """Writing more into a file of this process fails."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_study_resumes_with_the_missing_tasks(tmp_path: Path) -> None:
    whole = small().run(tmp_path / "whole", progress=False)
    part = small().run(tmp_path / "part", progress=False)
    for number in (0, 2):
        part.folder.file(number).unlink()
    kept = part.folder.file(1).stat().st_mtime_ns
    assert part.missing == (0, 2)
    assert not part.complete
    assert part.done == 2
    assert part.table(["task"])["task"].unique().to_pylist() == [1, 3]
    with pytest.raises(StudyError, match="task 2 is not done yet"):
        part.task(2)
    assert small().run(tmp_path / "part", progress=False, resume=True).complete
    assert data(tmp_path / "part") == data(tmp_path / "whole")
    assert part.folder.file(1).stat().st_mtime_ns == kept
    assert set(whole.timings()) == {0, 1, 2, 3}


def test_existing_results_are_not_resumed_without_request(tmp_path: Path) -> None:
    small().run(tmp_path / "new", progress=False)
    before = data(tmp_path / "new")
    with pytest.raises(StudyError, match=r"already contains results of this study: continue with .* --resume"):
        small().run(tmp_path / "new", progress=False)
    assert data(tmp_path / "new") == before


@pytest.mark.parametrize("resume", [False, True])
def test_results_of_another_study_are_never_overwritten(resume: bool, tmp_path: Path) -> None:
    small().run(tmp_path / "new", progress=False)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(
        StudyError, match=r"results of another study, 'pendulum': it differs in seeds.*never overwritten"
    ):
        replace(small(), seeds=7).run(tmp_path / "new", progress=False, resume=resume)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_a_folder_with_anything_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("Chapter 1", encoding="utf-8")
    with pytest.raises(StudyError, match="contains files that are not results of a study: give an empty folder"):
        small().run(tmp_path, progress=False, resume=True)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_folder_with_a_manifest_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "writing").mkdir()
    mine = {"manifest.json": '{"name": "an extension"}', "lock": "yale", "writing/novel.txt": "It was a dark night"}
    for name, text in mine.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match="has format None"):
        small().run(tmp_path, progress=False, resume=True)
    found = {file.relative_to(tmp_path).as_posix(): file.read_text() for file in tmp_path.rglob("*") if file.is_file()}
    assert found == mine


def test_results_are_read_by_those_whom_the_users_mask_lets(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        small().run(tmp_path / "new", progress=False)
    finally:
        os.umask(before)
    modes = {file.stat().st_mode & 0o777 for file in (tmp_path / "new").rglob("*.*") if file.is_file()}
    assert modes == {0o600}


def test_a_file_in_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with pytest.raises(StudyError, match="is a file: give a folder"):
        small().run(tmp_path / "file", progress=False)
    with pytest.raises(StudyError, match="cannot"):
        small().run(tmp_path / "file" / "inside", progress=False)
    assert (tmp_path / "file").read_text(encoding="utf-8") == "text"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StudyError, match=r"cannot write to the folder .*: Permission denied"):
        small().run(tmp_path / "new", progress=False)


def test_two_studies_cannot_write_to_one_folder_at_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "new")
    reported = rf"another process is writing .* \(process {os.getpid()} on "
    with folder.begin({"format": 1, "hash": "a"}, resume=False), pytest.raises(StudyError, match=reported):
        small().run(tmp_path / "new", progress=False)
    assert not (tmp_path / "new" / "tasks").exists()


def test_what_was_killed_while_writing_is_cleared_away(tmp_path: Path) -> None:
    small().run(tmp_path / "new", progress=False)
    before = data(tmp_path / "new")
    for name in ("tmpabc", "tmpdef"):
        (tmp_path / "new" / "writing" / name).write_bytes(b"half of a fi")
    Folder(tmp_path / "new").file(3).unlink()
    small().run(tmp_path / "new", progress=False, resume=True)
    assert data(tmp_path / "new") == before
    assert list((tmp_path / "new" / "writing").iterdir()) == []


def test_a_folder_whose_manifest_was_not_written_yet_is_taken(tmp_path: Path) -> None:
    (tmp_path / "new" / "writing").mkdir(parents=True)
    (tmp_path / "new" / "writing" / "tmpabc").write_text('{"form', encoding="utf-8")
    (tmp_path / "new" / "lock").touch()
    assert small().run(tmp_path / "new", progress=False).complete


def test_a_full_disk_ends_the_study_by_name_and_leaves_whole_files(tmp_path: Path) -> None:
    study = replace(small(), seeds=400, runs_per_task=200)
    whole = study.run(tmp_path / "whole", progress=False)
    sizes = [whole.folder.file(number).stat().st_size for number in range(4)]
    manifest = (tmp_path / "whole" / "manifest.json").stat().st_size
    # There is room for the manifest and for no task.
    assert manifest < min(sizes)
    with no_file_larger_than((manifest + min(sizes)) // 2), pytest.raises(StoppedStudyError) as stopped:
        study.run(tmp_path / "full", progress=False)
    assert "cannot write" in str(stopped.value)
    assert "File too large" in str(stopped.value)
    assert "0 of 4 tasks are in" in str(stopped.value)
    assert "--resume" in str(stopped.value)
    assert data(tmp_path / "full") == {}
    assert list((tmp_path / "full" / "writing").iterdir()) == []
    assert study.run(tmp_path / "full", progress=False, resume=True).complete
    assert data(tmp_path / "full") == data(tmp_path / "whole")


def test_a_disk_that_fills_up_keeps_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Path] = []

    def write(target: Path, content: bytes, place: Path) -> None:
        if len(written) == 3:
            raise StudyError(f"cannot write {str(target)!r}: {os.strerror(28)}")
        write_atomically(target, content, place)
        written.append(target)

    monkeypatch.setattr("erugin.scenarios.study.result_folder.write_atomically", write)
    with pytest.raises(StoppedStudyError, match=r"No space left on device. 2 of 4 tasks are in"):
        small().run(tmp_path / "new", progress=False, workers=1)
    monkeypatch.undo()
    assert Results.open(tmp_path / "new").done == 2
    small().run(tmp_path / "whole", progress=False)
    small().run(tmp_path / "new", progress=False, resume=True)
    assert data(tmp_path / "new") == data(tmp_path / "whole")


def test_results_of_other_versions_are_resumed_with_a_warning(tmp_path: Path) -> None:
    small().run(tmp_path / "new", progress=False)
    rewrite_manifest(
        tmp_path / "new", versions={**Results.open(tmp_path / "new").manifest["versions"], "casadi": "3.0.0"}
    )
    with pytest.warns(StudyWarning, match=r"started with other versions or on another machine: casadi 3\.0\.0 is now"):
        small().run(tmp_path / "new", progress=False, resume=True)


def test_the_size_of_tasks_stays_what_it_was(tmp_path: Path) -> None:
    before = small().run(tmp_path / "new", progress=False)
    before.folder.file(1).unlink()
    after = replace(small(), runs_per_task=5).run(tmp_path / "new", progress=False, resume=True)
    assert after.table(["run"])["run"].to_pylist() == list(range(12))
    assert after.manifest["runs_per_task"] == [3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot read"),
        ('{"format": 99}', "has format 99, but this version of Erugin reads format 1"),
        ("[]", "has format None"),
        ('{"format": 1}', r"manifest\.json' is damaged, or was edited"),
        ('{"format": 1, "digest": "sha256:' + 64 * "0" + '"}', r"manifest\.json' is damaged, or was edited"),
        ("", "cannot read"),
        ("[" * 100_000, "cannot read"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_reported(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=message):
        Results.open(tmp_path)
    with pytest.raises(StudyError, match=message):
        small().run(tmp_path, progress=False, resume=True)


def test_folders_without_results_are_reported(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"does not contain results of a study: it has no manifest\.json"):
        Results.open(tmp_path)
    with pytest.raises(StudyError, match="does not contain results of a study: there is no such folder"):
        Results.open(tmp_path / "none")


def test_damaged_and_foreign_files_are_reported(tmp_path: Path) -> None:
    results = small().run(tmp_path / "new", progress=False)
    other = replace(small(), seeds=9).run(tmp_path / "other", progress=False)
    file = results.folder.file(1)
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(
        StudyError, match=r"000000001\.parquet' is damaged: .*with resume=True, or --resume.*task 1 again"
    ):
        results.table()
    file.write_bytes(other.folder.file(1).read_bytes())
    with pytest.raises(StudyError, match="belongs to another study"):
        results.table()


def hurt_manifest(folder: Path) -> None:
    file = folder / "manifest.json"
    file.write_bytes(file.read_bytes().replace(b'"tasks": 4', b'"tasks": 3'))


def copy(folder: Path, source: str, target: str) -> None:
    place = folder / "tasks" / target
    place.parent.mkdir(exist_ok=True)
    place.write_bytes((folder / "tasks" / source).read_bytes())


ONE, TWO, BESIDE = "000000/000000001.parquet", "000000/000000002.parquet", "000000/000000001 (copy).parquet"


@pytest.mark.parametrize(
    ("damage", "damaged", "message"),
    [
        (lambda folder, _: (folder / "tasks" / ONE).write_bytes(b""), 1, "000000001.parquet.*is damaged"),
        (lambda folder, _: os.truncate(folder / "tasks" / ONE, 700), 1, "000000001.parquet.*is damaged"),
        (lambda folder, _: copy(folder, ONE, TWO), 2, "000000002.parquet.*is named after task 2"),
        (
            lambda folder, other: copy(other, ONE, f"{folder}/tasks/{ONE}"),
            1,
            "000000001.parquet.*belongs to another study",
        ),
        (
            lambda folder, _: copy(folder, ONE, BESIDE),
            None,
            r"000000/000000001 \(copy\).parquet.*does not belong to any task",
        ),
        (
            lambda folder, _: copy(folder, ONE, "000000/000000004.parquet"),
            None,
            "000000/000000004.parquet.*does not belong to any task",
        ),
        (
            lambda folder, _: copy(folder, ONE, "000001/000000001.parquet"),
            None,
            "000001/000000001.parquet.*does not belong to any task",
        ),
        (lambda folder, _: hurt_manifest(folder), None, r"manifest\.json.*is damaged"),
        (lambda folder, _: (folder / "manifest.json").unlink(), None, ""),
    ],
    ids=[
        "empty",
        "truncated",
        "over another",
        "of another study",
        "copy",
        "number",
        "shelf",
        "manifest",
        "no manifest",
    ],
)
def test_what_is_damaged_is_named_never_used_and_computed_again(
    damage: Callable[[Path, Path], object],
    damaged: int | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = small().run(tmp_path / "whole", progress=False)
    other = replace(small(), metrics=["error_max"]).run(tmp_path / "other", progress=False)
    shutil.copytree(whole.path, tmp_path / "hurt")
    damage(tmp_path / "hurt", other.path)
    manifest = json.loads((tmp_path / "hurt" / "manifest.json").read_bytes()) if message else {}
    if manifest.get("tasks") == 4:
        results = Results.open(tmp_path / "hurt")
        if damaged is None:
            (stranger,) = results.foreign_files
            assert re.search(message, f"{stranger} does not belong to any task")
            assert results.table().equals(whole.table())
            assert results.complete
        else:
            assert results.foreign_files == ()
            assert set(results.damaged) == {damaged}
            assert not results.complete
            with pytest.raises(StudyError, match=f"{message}.*task {damaged} again"):
                results.table()
            with pytest.raises(StudyError, match=message):
                results.task(damaged)
    else:
        with pytest.raises(StudyError, match=message or "it has no manifest.json"):
            Results.open(tmp_path / "hurt")
    capsys.readouterr()
    again = small().run(tmp_path / "hurt", resume=True)
    notes = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note: ")]
    assert len(notes) == bool(message)
    assert re.search(message, "".join(notes))
    assert data(again.path) == data(whole.path)
    assert again.complete
    assert again.manifest["tasks"] == 4
    # Nothing is lost: what stood in the way is still there.
    assert len(list((tmp_path / "hurt").glob("set-aside/*"))) == bool(message)


def test_a_manifest_is_restored_beside_results_of_the_same_study_only(tmp_path: Path) -> None:
    small().run(tmp_path / "new", progress=False)
    hurt_manifest(tmp_path / "new")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*.*") if file.is_file()}
    with pytest.raises(StudyError, match="is damaged, or was edited"):
        small().run(tmp_path / "new", progress=False)
    with pytest.raises(StudyError, match="is damaged, or was edited"):
        replace(small(), seeds=7).run(tmp_path / "new", progress=False, resume=True)
    assert {file: file.read_bytes() for file in tmp_path.rglob("*.*") if file.is_file()} == before


def values(folder: Path) -> tuple[object, ...]:
    """All that is read of a folder of results."""
    results = Results.open(folder)
    manifest = {name: value for name, value in results.manifest.items() if name != "created"}
    return results.table().to_pylist(), manifest, results.missing


@pytest.mark.slow
def test_every_flipped_bit_is_found_or_changes_nothing(tmp_path: Path) -> None:
    whole = small().run(tmp_path / "new", progress=False)
    expected, seconds, rng = values(whole.path), dict(whole.timings()), random.Random(3)
    found: dict[str, int] = dict.fromkeys(("parquet", "json", "jsonl", "lock"), 0)
    files = [file for file in sorted(whole.path.rglob("*")) if file.is_file()]
    assert {file.suffix[1:] or file.name for file in files} == set(found)
    for file in files:
        good = file.read_bytes()
        for place in rng.sample(range(8 * len(good)), min(200, 8 * len(good))):
            hurt = bytearray(good)
            hurt[place // 8] ^= 1 << place % 8
            file.write_bytes(hurt)
            try:
                assert values(whole.path) == expected
                assert seconds.items() >= whole.timings().items()
            except StudyError:
                found[file.suffix[1:]] += 1
        file.write_bytes(good)
    assert found["parquet"] == 800
    assert found["json"] == 200
    assert values(whole.path) == expected


@pytest.mark.slow
def test_the_command_restores_a_damaged_folder(tmp_path: Path) -> None:
    out, rng = tmp_path / "out", random.Random(5)
    code, _, errors = finish(start("study", PENDULUM, "--out", out))
    assert code == 0, errors
    whole = data(out)
    hurt = rng.sample(sorted(whole), 5)
    for name, of in itertools.pairwise(hurt):
        content = bytearray(whole[name])
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        (out / "tasks" / name).write_bytes(rng.choice([bytes(content), b"", whole[of], whole[name][:900]]))
    code, _, errors = finish(start("study", PENDULUM, "--out", out, "--resume"))
    assert code == 0, errors
    assert errors.count("and its task is computed again: moved to ") == 4
    assert data(out) == whole


def test_results_are_read_by_any_reader_of_parquet(tmp_path: Path) -> None:
    results = small().run(tmp_path / "new", progress=False)
    table = pq.read_table(tmp_path / "new" / "tasks")
    assert table.num_rows == 12
    assert table.column_names == results.table().column_names
    assert [part.num_rows for part in results.batches(["run"])] == [3] * 4
    assert len(results.to_pandas(["error_rms", "seed"]).columns) == 2


READING = """
import os, sys
import pyarrow.acero, pyarrow.compute, pyarrow.parquet
from erugin.scenarios import Results
before = set(os.listdir("/proc/self/task"))
results = Results.open(sys.argv[1])
results.table(where=pyarrow.compute.field("ok")), list(results.batches(["seed"])), results.complete
results.pairs("error_rms", results.controllers[0], results.controllers[0])
print(len(set(os.listdir("/proc/self/task")) - before))
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by /proc")
def test_reading_results_starts_no_threads_that_could_outlive_the_interpreter(tmp_path: Path) -> None:
    small().run(tmp_path / "new", progress=False)
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", READING, str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True, env=alone, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("0\n", "", 0)


def test_unknown_columns_metrics_and_controllers_are_refused(tmp_path: Path) -> None:
    results = small().run(tmp_path / "new", progress=False)
    with pytest.raises(ModelError, match=r"unknown column 'sed'. Did you mean 'seed'"):
        results.table(["sed"])
    with pytest.raises(ModelError, match=r"unknown metric 'error_rsm'. Did you mean 'error_rms'"):
        results.pairs("error_rsm", "own", "own")
    with pytest.raises(ModelError, match="unknown controller 'soft'"):
        results.pairs("error_rms", "own", "soft")
