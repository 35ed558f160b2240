"""Data sets and data frames hold every number of a motion, with its name and unit."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas
import pytest
import xarray

from erugin.constraints import holonomic
from erugin.controllers import Program, ProgramController
from erugin.scenarios import simulate
from erugin.simulation import Phase, PhasedTrajectory, load_motion, simulate_phases
from erugin.simulation.storage.data_frames import unique
from erugin.symbolic import EruginError

from ...support.motions import arm, batch, landing, law, phased, single

ARM = arm()
LAW = law(ARM)


def test_frame_has_a_column_for_each_number() -> None:
    run = single(ARM, LAW)
    frame = run.to_pandas()
    assert frame.index.name == "t"
    assert frame.index.to_numpy().tobytes() == run.t.tobytes()
    columns = {
        **{f"q.q{i + 1}": run.q[:, i] for i in range(2)},
        **{f"v.q{i + 1}": run.v[:, i] for i in range(2)},
        **{f"u.M{i + 1}": run.u[:, i] for i in range(2)},
        **{f"deviation.line[{i}]": run.deviation[:, i] for i in range(2)},
        **{f"pivots.line[{i}]": run.pivots[:, i] for i in range(2)},
        **{f"active.line[{i}]": run.active[:, i] for i in range(2)},
        "energy": run.energy,
        "status": run.status,
    }
    assert list(frame.columns) == list(columns)
    for name, values in columns.items():
        assert frame[name].dtype == values.dtype
        assert frame[name].to_numpy().tobytes() == values.tobytes()
    units = frame.attrs["units"]
    assert (units["t"], units["q.q1"], units["v.q2"], units["u.M1"], units["energy"]) == (
        *("s", "rad", "rad/s", "N m", "J"),
    )
    assert set(units) == {"t", *frame.columns}
    assert frame.attrs["parameters"]["m2"] == 1.8
    assert frame.attrs["metrics"] == dict(run.metrics)
    assert frame.attrs["ending"] == "the duration is over"


def test_frame_is_a_copy() -> None:
    run = single(ARM, None)
    frame, data = run.to_pandas(), run.to_xarray()
    frame.loc[:, "q.q1"] = 9.0
    data["q"][:] = 9.0
    assert run.q.max() < 9.0


def test_data_set_has_named_dimensions() -> None:
    run = single(ARM, LAW)
    data = run.to_xarray()
    assert dict(data.sizes)["time"] == len(run)
    assert data["q"].dims == ("time", "coordinate")
    assert data["q"].sel(coordinate="q2").values.tobytes() == run.q[:, 1].tobytes()
    assert data["u"].sel(input="M1").values.tobytes() == run.u[:, 0].tobytes()
    assert data["deviation"].dims == data["pivots"].dims == data["active"].dims == ("time", "row")
    assert data["velocity_unit"].sel(velocity="q1").item() == "rad/s"
    assert data["time"].attrs["units"] == "s"
    assert data["energy"].attrs["units"] == "J"
    assert float(data["p"].sel(parameter="l1")) == 0.6
    assert float(data["metrics"].sel(metric="square")) == run.metrics["square"]
    assert data.attrs["robot"] == ARM.name
    # Values between samples, by time.
    assert float(data["energy"].interp(time=0.105)) == pytest.approx(run.energy[10:12].mean())


def test_a_data_set_is_saved_as_netcdf(tmp_path: Path) -> None:
    data = single(ARM, LAW).to_xarray()
    data.to_netcdf(tmp_path / "run.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "run.nc", engine="scipy") as back:
        for name in ("q", "v", "u", "deviation", "energy", "p"):
            assert back[name].values.tobytes() == data[name].values.tobytes()
        assert [str(name) for name in back["coordinate"].values] == ["q1", "q2"]


def test_batch_has_lanes() -> None:
    runs = batch(ARM, LAW)
    data, frame = runs.to_xarray(), runs.to_pandas()
    assert data["q"].dims == ("lane", "sample", "coordinate")
    assert data["q"].values.tobytes() == runs.q.tobytes()
    assert data["p"].sel(parameter="m2").values.tolist() == [1.8, 1.7, 2.0]
    assert data["count"].values.tolist() == runs.count.tolist()
    assert data["ending"].values.tolist() == list(runs.endings)
    assert float(data["metrics"].sel(metric="last", lane=2)) == runs.metrics["last"][2]
    # Of a lane that ended early there are as many rows as samples.
    assert frame.groupby(level="lane").size().tolist() == runs.count.tolist()
    for lane, run in enumerate(runs):
        own = frame.loc[lane]
        assert isinstance(own, pandas.DataFrame)
        pandas.testing.assert_frame_equal(own, run.to_pandas(), check_exact=True)
    assert frame.attrs["parameters"]["m2"] == [1.8, 1.7, 2.0]


def test_phases_are_distinguished() -> None:
    run = phased(ARM, LAW)
    data, frame = run.to_xarray(), run.to_pandas()
    assert data["phase"].values.tolist() == frame["phase"].tolist() == run.phase.tolist()
    assert data["phase_name"].values.tolist() == ["free", "driven"]
    free, driven = run.segments
    # The first phase has no inputs and no rows.
    assert np.isnan(data["u"].values[: len(free)]).all()
    assert data["u"].values[len(free) :].tobytes() == driven.u.tobytes()
    assert frame["u.M1"].to_numpy()[len(free) :].tobytes() == driven.u[:, 0].tobytes()
    assert frame["active.line[0]"].dtype == bool
    assert not frame["active.line[0]"].to_numpy()[: len(free)].any()
    assert data["active"].values[len(free) :].all()
    assert data["q"].values.tobytes() == run.q.tobytes()
    assert frame["status"].dtype == np.int64
    assert frame.attrs["phases"] == ["free", "driven"]


def test_plants_of_phases_may_differ() -> None:
    _, _, run = landing()
    data = run.to_xarray()
    held = run.segments[1]
    assert float(data["p"].sel(parameter="foot.x")) == held.p[held.labels.parameters.index("foot.x")]
    assert float(data["p"].sel(parameter="m1")) == 1.0


def test_rows_of_two_programs_stand_side_by_side() -> None:
    def turned(i: int, name: str) -> ProgramController:
        return ProgramController(Program(ARM, [holonomic(ARM.q[i] - 0.3, name=name)]), realization="ideal")

    phases = [Phase(turned(0, "first"), 0.1), Phase(turned(1, "second"))]
    run = simulate_phases(ARM, phases, [0.3, 0.8], [0.0, 0.0], 0.2, step=0.01)
    frame = run.to_pandas()
    assert {"deviation.first", "deviation.second", "u.R (q1)"} <= set(frame.columns)
    assert frame["deviation.first"].isna().sum() == len(run.segments[1])
    assert frame["deviation.second"].isna().sum() == len(run.segments[0])


def test_loaded_motion_gives_the_same_data(tmp_path: Path) -> None:
    for run in (single(ARM, LAW), batch(ARM, LAW), phased(ARM, LAW)):
        run.save(tmp_path / "run.npz")
        loaded = load_motion(tmp_path / "run.npz")
        xarray.testing.assert_identical(loaded.to_xarray(), run.to_xarray())
        pandas.testing.assert_frame_equal(loaded.to_pandas(), run.to_pandas(), check_exact=True)


def test_names_that_occur_twice_get_numbers() -> None:
    assert unique(["a", "b", "a", "a 2", "a"]) == ("a", "b", "a 2", "a 2 2", "a 3")
    rows = [holonomic(ARM.q[i] - 0.3, name="row") for i in range(2)]
    run = simulate(ARM, ProgramController(Program(ARM, rows)), [0.3, 0.3], [0.0, 0.0], 0.05, step=0.01)
    frame = run.to_pandas()
    assert frame.columns.is_unique
    assert len([name for name in frame.columns if str(name).startswith("deviation.")]) == 2


def test_motion_without_segments() -> None:
    empty = PhasedTrajectory((), (), (), "nothing ran")
    assert len(empty.to_pandas()) == 0
    assert empty.to_xarray().sizes["time"] == 0


@pytest.mark.parametrize("package", ["pandas", "xarray"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    present = importlib.import_module

    def without(name: str, parent: str | None = None) -> ModuleType:
        if name == package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return present(name, parent)

    monkeypatch.setattr(importlib, "import_module", without)
    run = single(ARM, None)
    with pytest.raises(EruginError, match=rf"{package}.*pip install 'erugin\[data\]'") as caught:
        run.to_pandas() if package == "pandas" else run.to_xarray()
    assert isinstance(caught.value, ImportError)
