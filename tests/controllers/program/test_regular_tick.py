"""The call of ``control`` whose kernel itself decides that its output may be applied."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from erugin.constraints import holonomic
from erugin.controllers import Law, Program, ProgramController, SymbolicController
from erugin.robots import Link, Robot, planar_manipulator
from erugin.symbolic import EruginError, NotFiniteError, SingularProgramError

from ...support.kernels import use_no_compiler


def arm_controller() -> ProgramController:
    robot = planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)] * 2)
    x, y = robot.points["tip"][0], robot.points["tip"][1]
    return ProgramController(Program(robot, [holonomic(x - 0.5, name="x"), holonomic(y - 0.2, name="y")]))


@pytest.fixture
def controller(monkeypatch: pytest.MonkeyPatch) -> ProgramController:
    use_no_compiler(monkeypatch)
    return arm_controller()


def test_output_is_that_of_solve_at_any_parameters(controller: ProgramController) -> None:
    rng = np.random.default_rng(0)
    nominal = controller.parameters.values()
    p = nominal.copy()
    for k in range(30):
        q, v, t = rng.uniform(0.3, 2.0, 2), rng.normal(size=2), float(k)
        p[:] = nominal * rng.uniform(0.8, 1.2, len(p))
        for given in (p, None, dict(zip(controller.parameters.names, p.tolist(), strict=True)), p.tolist(), None):
            found = controller.solve(t, q, v, given)
            np.testing.assert_array_equal(controller.control(t, q, v, given), found.force)
            np.testing.assert_array_equal(controller.control(int(t), q.tolist(), tuple(v), given), found.force)


def test_an_output_is_an_array_of_its_own(controller: ProgramController) -> None:
    first = controller.control(0.0, np.array([0.4, 0.9]), np.zeros(2))
    copy = first.copy()
    controller.control(0.0, np.array([0.6, 0.2]), np.ones(2))
    np.testing.assert_array_equal(first, copy)
    assert first.flags.writeable


@pytest.mark.parametrize(
    ("q", "v", "error"),
    [
        ([0.4, 0.0], [0.0, 0.0], SingularProgramError),
        ([np.nan, 0.3], [0.0, 0.0], NotFiniteError),
        ([0.4, 0.9], [np.inf, 0.0], NotFiniteError),
        ([0.4, 0.9], [1e200, 0.0], NotFiniteError),
        ([0.4, 0.9, 0.1], [0.0, 0.0], EruginError),
        ([0.4], [0.0, 0.0], EruginError),
    ],
)
def test_states_without_an_output_raise(
    controller: ProgramController, q: list[float], v: list[float], error: type[EruginError]
) -> None:
    with pytest.raises(error):
        controller.control(0.0, np.array(q), np.array(v))
    with pytest.raises(error):
        controller.control(0.0, np.array([[0.0, 1.0], q[:2]])[1, :] if len(q) == 2 else np.array(q), np.array(v))


def test_time_that_is_not_finite_raises(controller: ProgramController) -> None:
    with pytest.raises(NotFiniteError, match="t must be finite"):
        controller.control(float("nan"), np.array([0.4, 0.9]), np.zeros(2))


class Damping(SymbolicController):
    """u = −v/2."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot

    def build_law(self) -> Law:
        return Law(-0.5 * self.robot.v)


def test_numbers_whose_sum_overflows_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    use_no_compiler(monkeypatch)
    law = Damping(planar_manipulator([Link(0.5, 1.0, 0.25, 0.02)]))
    large = np.array([1.7e308])
    np.testing.assert_array_equal(law.control(0.0, large, large), [-0.85e308])
    with pytest.raises(NotFiniteError):
        law.control(0.0, np.array([np.nan]), large)


def test_threads_do_not_mix_their_numbers(controller: ProgramController) -> None:
    states = np.random.default_rng(1).uniform(0.3, 1.5, (8, 2))
    expected = [controller.control(0.0, q, q) for q in states]
    wrong: list[int] = []

    def call(i: int) -> None:
        for _ in range(300):
            if not np.array_equal(controller.control(0.0, states[i], states[i]), expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
