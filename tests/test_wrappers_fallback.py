"""The law that takes over when another refuses: its parameters and memory, and what if it refuses as well."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller, ProgramController, Reference, Status
from erugin.controllers.baselines import PDGravity
from erugin.controllers.wrappers import Dropout, Fallback, SampleAndHold, Saturation
from erugin.scenarios import simulate
from erugin.simulation import SimulationError
from erugin.symbolic import (
    ModelError,
    NotFiniteError,
    NotFiniteInputError,
    ParameterError,
    ShapeError,
    SingularProgramError,
)

from .arms import disc_program
from .wrapped import Feedback, Signal, rail

Array = NDArray[np.float64]


def refusing(t: float) -> float:
    raise SingularProgramError(f"row 'a' vanishes at {t:g}")


def test_each_law_gets_its_own_parameters() -> None:
    """A program's law, beside a PD with gains of its own, in a run that varies both."""
    program = disc_program()
    robot = program.robot
    law = ProgramController(program, realization="actuated")
    pd = PDGravity(robot, Reference.at_rest(robot, [-0.9, 1.4]))
    both = Fallback(law, pd)
    assert both.parameters.names[: len(law.parameters)] == law.parameters.names
    assert both.parameters.names[len(law.parameters) :] == ("pd.rate", "pd.inertia_q1", "pd.inertia_q2")
    p = {"disc.radius": 0.2, "pd.rate": 5.0, "m1": 1.3}
    q, v = np.array([-0.8, 1.3]), np.array([0.1, -0.2])
    both.advance(0.0, q, v, p)
    mine = {name: p[name] for name in ("disc.radius", "m1")}
    np.testing.assert_array_equal(both.control(0.0, q, v, p), law.control(0.0, q, v, mine))
    a = np.array([0.3, 0.4])
    np.testing.assert_array_equal(both.deviation(0.0, q, v, a, p), law.deviation(0.0, q, v, a, mine))
    motion = simulate(robot, both, q, v, 0.05, step=0.01, controller_p=p)
    assert motion.ok
    assert np.isfinite(motion.deviation).all()
    # The other way round, what the program does not do is done by the PD with its gains.
    stretched = np.array([-0.8, 0.0])
    both = Fallback(ProgramController(program, realization="actuated", tolerance=1e-2), pd)
    both.advance(0.0, stretched, v, p)
    assert both.observe(0.0, stretched, v, p).status is Status.HELD
    theirs = {name: p[name] for name in ("pd.rate", "m1")}
    np.testing.assert_array_equal(both.control(0.0, stretched, v, p), pd.control(0.0, stretched, v, theirs))


def test_a_law_that_takes_over_tells_its_own_troubles() -> None:
    robot = rail()
    weak = Saturation(Signal(robot, lambda t: 3.0), 2.0)
    controller = Fallback(Signal(robot, refusing), weak)
    controller.advance(0.0, [0.0], [0.0])
    told = controller.observe(0.0, [0.0], [0.0])
    assert told.status is Status.HELD
    assert told.output[0] == 2.0
    assert told.message.startswith("Another law has taken over: row 'a' vanishes at 0 input 'u' would be 3")


@pytest.mark.parametrize("lost", [refusing, lambda t: np.nan])
def test_where_both_refuse_nothing_that_is_no_number_comes_out(lost: object) -> None:
    robot = rail()
    other = Signal(robot, lost)  # type: ignore[arg-type]
    controller = Fallback(Signal(robot, refusing), other)
    controller.advance(0.0, [0.0], [0.0])
    kind = SingularProgramError if lost is refusing else NotFiniteError
    for call in (controller.control, controller.observe):
        with pytest.raises(kind, match=r"row 'a' vanishes at 0\. The law that takes over refuses as well: "):
            call(0.0, [0.0], [0.0])


def test_a_sample_that_both_refuse_ends_a_run_unless_another_holds_and_both_go_on_after_it() -> None:
    """A broken sensor is nothing that another law can see through; its clock must go on all the same."""
    robot = rail()
    law, slow = Feedback(robot, [[1.0, 1.0]]), SampleAndHold(Feedback(robot, [[2.0, 2.0]]), 0.1)
    watched = Fallback(law, slow)
    with pytest.raises(SimulationError, match="The law that takes over refuses as well") as caught:
        simulate(robot, Dropout(watched, 0.2, seed=1), [1.0], [0.0], 2.0, step=0.1)
    assert caught.value.status is Status.NOT_FINITE
    motion = simulate(robot, Dropout(Fallback(watched), 0.2, seed=1), [1.0], [0.0], 2.0, step=0.1)
    held = np.flatnonzero(motion.status == Status.HELD)
    assert len(held) >= 2
    np.testing.assert_array_equal(motion.u[held], motion.u[held - 1])


def test_an_output_that_is_none_is_the_reason_where_there_is_nothing_to_hold() -> None:
    controller = Fallback(Signal(rail(), lambda t: np.nan))
    with pytest.raises(NotFiniteError, match=r"^at t = 1: the law gave an output that is not finite\. There is no"):
        controller.control(1.0, [0.0], [0.0])


def test_a_mistake_in_the_call_is_told_while_an_output_is_held() -> None:
    law = ProgramController(disc_program(), realization="actuated")
    controller = Fallback(law)
    q, v = [-0.9, 1.4], [0.0, 0.0]
    controller.advance(0.0, q, v)
    safe = law.control(0.0, q, v)
    controller.advance(0.1, [np.nan, 1.4], v)
    with pytest.raises(ShapeError) as caught:
        controller.control(0.1, [0.0], v)
    assert not isinstance(caught.value, NotFiniteInputError)
    with pytest.raises(ParameterError, match="unknown parameter 'masss'"):
        controller.control(0.1, q, v, {"masss": 1.0})
    np.testing.assert_array_equal(controller.control(0.1, [np.nan, 1.4], v), safe)


def test_a_law_cannot_take_over_from_itself() -> None:
    law: Controller = Feedback(rail(), [[1.0, 1.0]])
    with pytest.raises(ModelError, match="must be another one than the law that is watched"):
        Fallback(law, law)
