"""Equal hashes for studies with equal results, in every process; different ones for any that may differ."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, ProgramController, Tick
from erugin.controllers.wrappers import Delay
from erugin.scenarios import Normal, Setup, Study, Uniform
from erugin.scenarios.sampling import LatinHypercube, Sobol

from ...support.study_cases import PENDULUM, load

Array = NDArray[np.float64]

STUDY = load()
OTHERS: dict[str, Study] = {
    "seeds": replace(STUDY, seeds=21),
    "seeds that are others": replace(STUDY, seeds=range(1, 21)),
    "metrics": replace(STUDY, metrics=["effort"]),
    "levels": replace(STUDY, factors={"duration": [0.04, 0.05], "plant.l1": [0.9, 1.0, 1.2]}),
    "settings": replace(STUDY, factors={"duration": [0.04, 0.06], "plant.l1": [0.9, 1.0, 1.1]}),
    "two factors": replace(STUDY, factors={"plant.l1": [0.9], "plant.m1": [1.0, 2.0]}),
    "two factors in another order": replace(STUDY, factors={"plant.m1": [1.0, 2.0], "plant.l1": [0.9]}),
    "controllers": replace(STUDY, controllers=["own"]),
    "order of controllers": replace(STUDY, controllers=["soft", "own"]),
    "what seeds vary": replace(STUDY, randomization={"q0.q1": Normal(0.0, 1.0)}),
    "how seeds vary it": replace(STUDY, randomization={"q0.q1": Normal(0.0, 2.0)}),
    "sampler": replace(STUDY, factors={"plant.l1": Uniform(0.9, 1.1)}, sampler=Sobol(4)),
    "another sampler": replace(STUDY, factors={"plant.l1": Uniform(0.9, 1.1)}, sampler=LatinHypercube(4)),
    "seed of the sampler": replace(STUDY, factors={"plant.l1": Uniform(0.9, 1.1)}, sampler=Sobol(4, 1)),
    "distribution": replace(STUDY, factors={"plant.l1": Uniform(0.9, 1.2)}, sampler=Sobol(4)),
}


def test_studies_that_differ_have_different_hashes() -> None:
    hashes = [study.hash for study in (STUDY, *OTHERS.values())]
    assert len(set(hashes)) == len(hashes)


def test_names_and_sizes_of_tasks_make_no_difference() -> None:
    assert replace(STUDY, name="other", runs_per_task=7).hash == STUDY.hash
    # Settings come before other factors, wherever they are given.
    assert replace(STUDY, factors=dict(reversed(list(STUDY.factors.items())))).hash == STUDY.hash


@pytest.mark.slow
def test_another_process_and_another_place_make_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "copied.py"
    file.write_text(f"# a comment\n\n\n{PENDULUM.read_text(encoding='utf-8')}", encoding="utf-8")
    program = (
        f"import sys; sys.path[:] = {sys.path!r}; from pathlib import Path; "
        "from erugin.scenarios.lookup import load_file; "
        f"print(load_file(Path({str(file)!r})).study.hash)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == STUDY.hash


def changed(tmp_path: Path, old: str, new: str) -> Study:
    """The pendulum's study with other code."""
    text = PENDULUM.read_text(encoding="utf-8")
    assert old in text
    file = tmp_path / "changed.py"
    file.write_text(text.replace(old, new), encoding="utf-8")
    return load(file)


@pytest.mark.parametrize(("old", "new"), [("0.3 * ca.sin", "0.4 * ca.sin"), ("law(3.0)", "law(4.0)")])
def test_other_code_makes_another_study(old: str, new: str, tmp_path: Path) -> None:
    assert changed(tmp_path, old, new).hash != STUDY.hash


def test_code_beside_the_file_belongs_to_it(tmp_path: Path) -> None:
    beside = tmp_path / "way_beside.py"
    hashes: list[str] = []
    for size in (0.3, 0.4, 0.3):
        beside.write_text(f"SIZE = {size}\n", encoding="utf-8")
        study = changed(tmp_path, "import casadi as ca\n", "import casadi as ca\nfrom way_beside import SIZE\n")
        hashes.append(study.hash)
        sys.modules.pop("way_beside")
    assert hashes[0] == hashes[2] != hashes[1]


def test_data_that_the_file_reads_belong_to_it(tmp_path: Path) -> None:
    hashes: list[str] = []
    for size in (0.3, 0.4, 0.3):
        np.save(tmp_path / "size.npy", np.array([size]))
        new = f"import casadi as ca\nimport numpy as np\nSIZE = np.load({str(tmp_path / 'size.npy')!r})\n"
        hashes.append(changed(tmp_path, "import casadi as ca\n", new).hash)
    assert hashes[0] == hashes[2] != hashes[1]


def made(rate: float, setup: Setup) -> ProgramController:
    """A controller with some gain."""
    assert setup.controller is not None
    return STUDY.work.controllers["soft"](setup)  # type: ignore[operator,misc,return-value]


def bound(rate: float) -> Callable[[Setup], ProgramController]:
    """A function with the gain inside."""
    return lambda setup: made(rate, setup)


def test_what_functions_have_bound_belongs_to_them() -> None:
    makers: list[Callable[[Setup], ProgramController]] = [
        bound(1.0),
        bound(2.0),
        functools.partial(made, 1.0),
        functools.partial(made, 2.0),
        bound(1.0),
    ]
    hashes = [replace(STUDY, controllers={"mine": maker}).hash for maker in makers]
    assert len(set(hashes)) == 4
    assert hashes[0] == hashes[4]


class Made:
    """Makes a controller, and keeps its gain to itself."""

    def __init__(self, rate: float) -> None:
        """Take the gain."""
        self._rate = rate

    def __call__(self, setup: Setup) -> ProgramController:
        """The controller."""
        return made(self._rate, setup)


class Slotted:
    """Makes a controller, and has no dictionary."""

    __slots__ = ("rate",)

    def __init__(self, rate: float) -> None:
        """Take the gain."""
        self.rate = rate

    def __call__(self, setup: Setup) -> ProgramController:
        """The controller."""
        return made(self.rate, setup)


def with_function(rate: float) -> Callable[[Setup], ProgramController]:
    """The gain is in a function of CasADi."""
    x = ca.SX.sym("x")
    return functools.partial(with_gain, ca.Function("gain", [x], [rate * x]))


def with_gain(gain: ca.Function, setup: Setup) -> ProgramController:
    """A controller with the gain of a function."""
    return made(float(np.asarray(gain(1.0)).item()), setup)


@pytest.mark.parametrize("make", [Made, Slotted, with_function])
def test_what_makers_keep_to_themselves_belongs_to_them(
    make: Callable[[float], Callable[[Setup], ProgramController]],
) -> None:
    hashes = [replace(STUDY, controllers={"mine": make(rate)}).hash for rate in (1.0, 2.0, 1.0)]
    assert hashes[0] == hashes[2] != hashes[1]


class Damping(Controller):
    """A law in Python that keeps its gain to itself."""

    def __init__(self, gain: float) -> None:
        """Take the gain [N m s]."""
        self.robot, self._gain = STUDY.scenario().robot, gain

    def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
        """The torque at one tick."""
        return Tick(-self._gain * np.asarray(v, dtype=np.float64))


def test_settings_of_controllers_belong_to_them_beside_their_law() -> None:
    setup = STUDY.scenario()
    assert setup.controller is not None
    late = [Delay(setup.controller, time) for time in (0.001, 0.002, 0.001)]
    for each in (late, [Damping(1.0), Damping(2.0), Damping(1.0)]):
        hashes = [replace(STUDY, controllers={"mine": controller}).hash for controller in each]
        assert hashes[0] == hashes[2] != hashes[1]
    controller = Damping(1.0)
    before = replace(STUDY, controllers={"mine": controller}).hash
    setup.controller.control(0.0, [0.0], [0.0])
    controller.control(0.0, [0.0], [0.0])
    assert replace(STUDY, controllers={"mine": controller}).hash == before


def test_controllers_are_identified_by_their_law() -> None:
    setup = STUDY.scenario()
    one, other = setup.controller, setup.baselines["soft"](setup)
    assert one is not None
    hashes = [replace(STUDY, controllers={"mine": each}).hash for each in (one, other, setup.baselines["soft"](setup))]
    assert hashes[0] != hashes[1] == hashes[2]
