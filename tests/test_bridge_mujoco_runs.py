"""Motions of a driven MuJoCo model one after another, and beside each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.bridges.mujoco import ControlCallback, drive, load, match, simulate
from erugin.symbolic import ShapeError

from .bridge_mujoco import ARM, Q0, V0, Counting, arm, callback, model_of, remembered, started, state, swinging


class Idle(Counting):
    """It counts, and pushes nothing."""

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: object = None) -> NDArray[np.float64]:
        """No torques."""
        return np.zeros(2)


class Interrupted(Counting):
    """Ctrl-C comes in the middle of a step, once."""

    def control(self, t: float, q: ArrayLike, v: ArrayLike, p: object = None) -> NDArray[np.float64]:
        """As many torques as samples."""
        if 0.0052 < t < 0.0058 and not vars(self).get("came"):
            self.came = True
            raise KeyboardInterrupt
        return super().control(t, q, v, p)


def counting() -> ControlCallback:
    """A law that counts its samples, at the drives of the arm."""
    return drive(Counting(arm()), model_of(ARM))


def by_step(acting: ControlCallback, data: mujoco.MjData, count: int) -> None:
    """So many steps."""
    for _ in range(count):
        acting.step(data)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_data_that_are_reset_are_another_motion(steps: int) -> None:
    acting = counting()
    data = started(acting)
    for _ in range(2):
        mujoco.mj_resetData(acting.model, data)
        by_step(acting, data, steps)
        assert remembered(acting) == steps


def test_steps_go_on_where_a_run_ended() -> None:
    acting, other = counting(), counting()
    data, same = started(acting), started(other)
    acting.run(data, 0.01)
    assert remembered(acting) == 11
    by_step(acting, data, 3)
    by_step(other, same, 13)
    assert remembered(acting) == remembered(other) == 13
    assert np.array_equal(state(acting, data), state(other, same))
    acting.run(data, 0.01)
    assert remembered(acting) == 11
    acting.place(data, [0.3, 0.4], [0.0, 0.0])
    acting.step(data)
    assert remembered(acting) == 12
    acting.run(data, 0.01)
    assert acting.memory is not None
    acting.memory.reset()
    acting.step(data)
    assert remembered(acting) == 1


def test_steps_at_rest_are_samples_too() -> None:
    acting = drive(Idle(arm()), model_of(ARM.replace("-9.81", "0")), tolerance=None)
    data = started(acting, v=(0.0, 0.0))
    acting.run(data, 0.01)
    before = state(acting, data)
    by_step(acting, data, 3)
    assert np.array_equal(state(acting, data), before)
    assert remembered(acting) == 13


def test_parameters_change_on_the_way() -> None:
    written, given = (drive(swinging(arm()), model_of(ARM)) for _ in range(2))
    data, same = started(written), started(given)
    for acting, of in ((written, data), (given, same)):
        acting.step(of)
    before = np.array(data.ctrl)
    heavy = given.p * np.where(np.array(swinging(arm()).parameters.names) == "m1", 3.0, 1.0)
    written.p[:] = heavy
    given.p = heavy
    for acting, of in ((written, data), (given, same)):
        acting.step(of)
    assert np.array_equal(data.ctrl, same.ctrl)
    assert np.abs(data.ctrl - before).max() > 1.0
    with pytest.raises(ShapeError, match="p must have shape"):
        given.p = heavy[:-1]


def test_threads_do_not_take_each_others_callbacks() -> None:
    """MuJoCo has one control callback for all of them."""
    # While there is a callback MuJoCo compiles no model.
    starts = [(model_of(ARM), (0.1 * k, 0.9)) for k in range(4)]

    def moved(start: tuple[mujoco.MjModel, tuple[float, float]]) -> NDArray[np.float64]:
        model, q = start
        acting = drive(swinging(arm()), model)
        data = started(acting, q)
        by_step(acting, data, 150)
        return np.concatenate([state(acting, data), acting.run(data, 0.05).q[-1]])

    alone = [moved(start) for start in starts]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(moved, starts))
    np.testing.assert_array_equal(together, alone)
    assert mujoco.get_mjcb_control() is None


def test_models_are_read_and_simulated_while_there_is_a_callback() -> None:
    """MuJoCo itself then compiles none."""
    acting, law = drive(swinging(arm()), model_of(ARM)), swinging(arm())
    alone = simulate(arm(), law, Q0, V0, 0.05, step=1e-3)
    with callback(acting):
        assert match(load(ARM), acting.model).same
        beside = simulate(arm(), law, Q0, V0, 0.05, step=1e-3)
        assert mujoco.get_mjcb_control() is acting
    np.testing.assert_array_equal(beside.q, alone.q)


def test_a_step_that_is_interrupted_is_not_taken() -> None:
    acting, other = drive(Interrupted(arm()), model_of(ARM)), counting()
    data, same = started(acting), started(other)
    by_step(acting, data, 5)
    with pytest.raises(KeyboardInterrupt):
        acting.step(data)
    assert remembered(acting) == 5
    by_step(acting, data, 5)
    by_step(other, same, 10)
    assert remembered(acting) == 10
    assert np.array_equal(state(acting, data), state(other, same))
