"""``erugin replay`` gives the numbers of the results again, and says so when it does not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from erugin.cli.main import main
from erugin.scenarios import Results
from erugin.scenarios.study.rerun import load_study, rerun
from erugin.scenarios.study.result_folder import BLANK, seal
from erugin.symbolic import StudyError
from erugin.views import stroboscope as defaults

from ..support.command_line import files
from ..support.report_study import baseline_study, draw, results
from ..support.study_cases import PENDULUM, load, rewrite_manifest

pytestmark = pytest.mark.usefixtures("terminal")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("study") / "results"
    results(place)
    return place


def test_a_run_comes_out_bit_for_bit_with_its_pictures(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Results.open(folder).task(4).slice(3, 1).to_pylist()[0]
    assert main(["replay", str(folder), "--task", "4", "--run", str(row["run"]), "--out", str(tmp_path), "--save"]) == 0
    output = capsys.readouterr().out
    assert "the numbers are those of the results, bit for bit" in output
    assert (
        f"run {row['run']} of task 4: controller {row['controller']}, point {row['point']}, seed {row['seed']}"
        in output
    )
    values = dict(line.split(maxsplit=1) for line in output.splitlines() if re.match(r"(plant|q0)\.", line))
    assert float(values["q0.x"]) == row["q0.x"]
    assert files(tmp_path) == ["motion.npz", "samples.txt"]


def test_pictures_of_the_scenarios_own_controller_are_drawn_of_it_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "default_pictures", lambda _: {"any.txt": draw})
    baseline_study.run(tmp_path / "results", progress=False)
    for task, drawn in ((0, ["gains.txt"]), (1, ["any.txt"])):
        out = tmp_path / str(task)
        assert main(["replay", str(tmp_path / "results"), "--task", str(task), "--out", str(out)]) == 0
        assert files(out) == drawn


def test_a_run_that_had_to_stop_stops_again_at_the_same_time(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Results.open(folder).failures.slice(0, 1).to_pylist()[0]
    assert main(["replay", str(folder), "--run", str(row["run"]), "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert row["ending"] in output
    assert "bit for bit" in output


def test_results_that_differ_are_reported_with_the_difference(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    other = tmp_path / "other"
    shutil.copytree(folder, other)
    file = other / "tasks" / "000000" / "000000000.parquet"
    table = pq.read_table(file)
    place = table.schema.get_field_index("error_rms")
    changed = table.set_column(place, table.schema.field(place), pa.array(1.01 * table["error_rms"].to_numpy()))
    sink = pa.BufferOutputStream()
    pq.write_table(changed.replace_schema_metadata({**table.schema.metadata, b"erugin.digest": BLANK.encode()}), sink)
    file.write_bytes(seal(sink.getvalue().to_pybytes()))
    assert main(["replay", str(other), "--task", "0", "--out", str(tmp_path / "out")]) == 1
    output, errors = capsys.readouterr()
    assert re.search(r"NOT the numbers of the results, differences up to 0\.0099 of error_rms", errors)
    assert "bit for bit" not in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a run is required: --task K for the first of a task, or --run R"),
        (["--task", "24"], "there is no task 24: the study has 24, the first is 0"),
        (["--task", "-1"], "there is no task -1"),
        (["--run", "360"], "there is no run 360"),
        (["--task", "2", "--run", "0"], "run 0 belongs to task 0, not to task 2"),
    ],
)
def test_runs_that_are_not_there(
    folder: Path, tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(folder), "--out", str(tmp_path), *words]) == 2
    assert message in capsys.readouterr().err


def test_a_task_that_is_not_done(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (other / "tasks" / "000000" / "000000003.parquet").unlink()
    assert main(["replay", str(other), "--task", "3", "--out", str(tmp_path / "out")]) == 2
    assert "task 3 is not done yet: continue the study with resume=True, or --resume" in capsys.readouterr().err


MARK = "\nfrom pathlib import Path\nPath({mark!r}).touch()\n"


def test_a_copy_of_the_code_is_executed_on_request_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mark, mine, out = tmp_path / "executed", tmp_path / "mine.py", tmp_path / "out"
    mine.write_text(PENDULUM.read_text(encoding="utf-8"), encoding="utf-8")
    found = load(mine).run(tmp_path / "results", progress=False)
    words = ["replay", str(found.path), "--task", "0", "--out", str(out)]
    kept, hostile = str(found.manifest["source"]), MARK.format(mark=str(mark))

    def refused(*message: str) -> None:
        assert main(words) == 2
        output = capsys.readouterr().err
        assert all(each in output for each in message), output
        assert not mark.exists()
        assert not out.exists() or files(out) == []

    # The copy was changed, and nothing else: the file that the user has made the study.
    rewrite_manifest(found.path, source=kept + hostile)
    assert load_study(Results.open(found.path)) is not None
    assert not mark.exists()
    # The file is gone, or is another one now.
    mine.unlink()
    refused(f"{str(mine)!r}, which is missing", "author is unknown", "--trust", str(found.path / "manifest.json"))
    mine.write_text(kept + "\nSPARE = 1\n", encoding="utf-8")
    refused(f"{str(mine)!r}, which has changed since", "author is unknown", "--trust")
    mine.unlink()
    # Without the digest nothing is read at all.
    manifest = found.path / "manifest.json"
    sealed = manifest.read_bytes()
    output = json.loads(sealed)
    for forged in (
        {**output, "digest": None},
        {key: each for key, each in output.items() if key not in ("hash", "code")},
    ):
        manifest.write_text(json.dumps(forged), encoding="utf-8")
        refused("is damaged, or was edited")
        assert main([*words, "--trust"]) == 2
        assert not mark.exists()
    manifest.write_bytes(sealed)
    capsys.readouterr()
    with pytest.raises(StudyError, match="author is unknown"):
        rerun(Results.open(found.path), 0)
    assert not mark.exists()
    rewrite_manifest(found.path, source=kept)
    assert load_study(Results.open(found.path), trust=True) is not None


def test_the_copy_of_a_moved_study_is_replayed_with_trust(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(PENDULUM.read_text(encoding="utf-8"), encoding="utf-8")
    load(mine).run(tmp_path / "results", progress=False)
    mine.unlink()
    words = ["replay", str(tmp_path / "results"), "--task", "3", "--out", str(tmp_path / "out")]
    assert main(words) == 2
    assert "--trust" in capsys.readouterr().err
    assert main([*words, "--trust"]) == 0
    output = capsys.readouterr().out
    assert f"code: the copy in {tmp_path / 'results'}, which was trusted" in output
    assert "bit for bit" in output
