"""A program is made of the rows, parameters and names of its constraints, in order."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import (
    Baumgarte,
    EruginField,
    Exact,
    FirstOrder,
    follow,
    holonomic,
    line,
    nonholonomic,
    second_order,
)
from erugin.controllers import Program
from erugin.symbolic import Kernel, ParameterError

from ...support.constraint_forms import K, affine, field, joint, linear, task
from ...support.systems import ELBOW, ROBOT, TIP, A

Array = NDArray[np.float64]


def test_parameters_are_the_robots_then_the_constraints_in_order() -> None:
    program = Program(
        ROBOT,
        [
            holonomic(ROBOT.q[0] - K["task.reach"], parameters=K, perturbation=Baumgarte(2.0, 3.0), name="hold"),
            second_order(ROBOT.coordinates.a[0]),
            nonholonomic(ROBOT.v[1] - K["task.rate"], parameters=K, perturbation=FirstOrder(7.0), name="spin"),
        ],
    )
    own = ("task.reach", "task.rate", "hold.alpha", "hold.beta", "spin.rate")
    assert program.parameters.names == ROBOT.parameters.names + own
    assert tuple(program.nominal) == program.parameters.names
    assert [program.nominal[name] for name in own] == [0.4, 1.3, 2.0, 3.0, 7.0]
    assert program.p.shape == (len(program.nominal), 1)
    assert [program.p[i].name() for i in range(program.p.numel())] == list(program.parameters.names)
    assert program.rows == ("hold", "second_order", "spin")
    with pytest.raises(ParameterError, match=r"'hold\.beta' must be greater than zero, got 0\.0"):
        program.parameters.values({"hold.beta": 0.0})


def test_gains_are_symbols_that_a_study_may_change() -> None:
    program = Program(ROBOT, holonomic(ROBOT.q[0], perturbation=Baumgarte(2.0, 3.0)))
    kernel = Kernel("beta", {"q": ROBOT.q, "v": ROBOT.v, "p": program.p}, {"beta": program.beta}, compiled=False)
    for alpha, beta in ((2.0, 3.0), (5.0, 1.0)):
        values = program.parameters.values({"holonomic.alpha": alpha, "holonomic.beta": beta})
        y, rate = 0.7, -0.4
        actual = kernel([y, 0.0], [rate, 0.0], values)[0]
        assert float(actual) == pytest.approx(-2 * alpha * rate - beta**2 * y)


def test_constraints_of_one_name_are_numbered() -> None:
    w = field("line", 1)
    program = Program(
        ROBOT,
        [
            follow(w, TIP, perturbation=FirstOrder(1.0)),
            holonomic(ROBOT.q[0]),
            follow(w, ELBOW, perturbation=FirstOrder(2.0)),
            holonomic(ROBOT.q[1]),
            follow(w, TIP + ELBOW, perturbation=FirstOrder(3.0)),
        ],
    )
    assert program.rows == (
        *("follow[0]", "follow[1]", "holonomic", "follow2[0]", "follow2[1]"),
        *("holonomic2", "follow3[0]", "follow3[1]"),
    )
    gains = {name: value for name, value in program.nominal.items() if name.endswith(".rate")}
    assert gains == {"follow.rate": 1.0, "follow2.rate": 2.0, "follow3.rate": 3.0}
    # The field is shared: its parameters stand once, where it first occurs.
    shared = len(w.parameters)
    start = len(ROBOT.parameters)
    assert program.parameters.names[start : start + shared] == w.parameters.names
    assert len(set(program.parameters.names)) == len(program.parameters.names) == start + shared + 3 + 2 * 2


def test_rows_are_stacked_in_order() -> None:
    parts = [task(ROBOT), linear(ROBOT), affine(ROBOT)]
    whole = Program(ROBOT, (part for part in parts))
    alone = [Program(ROBOT, part) for part in parts]
    assert whole.constraints == tuple(parts)
    assert whole.theta.shape == (6, 2)
    c = ROBOT.coordinates

    def numbers(program: Program) -> Array:
        columns = ca.horzcat(program.theta, program.beta, program.deviation)
        inputs = {"t": c.t, "q": c.q, "v": c.v, "a": c.a, "p": program.p}
        kernel = Kernel("stack", inputs, {"columns": columns}, compiled=False)
        return kernel(0.3, [0.4, 1.1], [0.5, -0.6], [0.7, 0.8], program.parameters.values())[0].reshape(-1, 4)

    np.testing.assert_allclose(numbers(whole), np.vstack([numbers(part) for part in alone]), atol=1e-13)


def test_defaults() -> None:
    assert holonomic(ROBOT.q[0]).perturbation == Baumgarte()
    assert nonholonomic(ROBOT.v[0]).perturbation == FirstOrder()
    assert follow(field("line", 0), TIP).perturbation == FirstOrder()
    assert second_order(ROBOT.coordinates.a[0]).perturbation == Exact()
    assert [c.name for c in (joint(ROBOT), linear(ROBOT), affine(ROBOT), follow(field("line", 0), TIP))] == [
        *("holonomic", "nonholonomic", "second_order", "follow")
    ]


def test_fields_of_one_name_are_distinguished() -> None:
    other = EruginField(line((0, 0), (1, 1), name="path"), speed=1.0)
    with pytest.raises(ParameterError, match=r"two different parameters are called 'path.start_x'.*name="):
        Program(ROBOT, [follow(field("line", 0), TIP), follow(other, ELBOW)])


@pytest.mark.parametrize("names", [("a", "a", "a2"), ("a2", "a", "a")])
def test_a_number_never_repeats_a_given_name(names: Sequence[str]) -> None:
    program = Program(ROBOT, [second_order(A[i % 2], name=name) for i, name in enumerate(names)])
    assert len(set(program.rows)) == 3
