"""Every controller in machine code is what it is in CasADi's virtual machine."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.controllers import Controller
from erugin.symbolic import Kernel

from ..support.controller_cases import BUILDERS
from ..support.controller_cases.robots import CASES, RobotCase, robot_case
from ..support.kernels import use_no_compiler

pytestmark = [pytest.mark.compiled, pytest.mark.slow]
TICKS = 20


def ticks(cls: type[Controller], case: RobotCase) -> tuple[NDArray[np.float64], list[object]]:
    """Outputs along a given motion, shape (ticks, inputs), and the statuses."""
    controller = BUILDERS[cls](case)
    controller.reset()
    outputs, statuses = [], []
    for k in range(TICKS):
        t, q = k * case.step, case.q0 + k * case.step * case.v0
        controller.advance(t, q, case.v0)
        outputs.append(controller.control(t, q, case.v0))
        statuses.append(controller.observe(t, q, case.v0).status)
    return np.array(outputs), statuses


@pytest.mark.parametrize("cls", BUILDERS, ids=lambda cls: cls.__name__)
def test_ticks_of_machine_code_and_of_the_virtual_machine(
    cls: type[Controller], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(case for case in map(robot_case, CASES) if not cls.refusal(case.robot))
    loaded: list[str] = []

    def load(*arguments: Any) -> object:
        loaded.append(arguments[0])
        return load_machine_code(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(kernel, "load_machine_code", load)
        compiled, statuses = ticks(cls, case)
    use_no_compiler(monkeypatch)
    interpreted, expected = ticks(cls, case)
    assert loaded
    np.testing.assert_allclose(compiled, interpreted, rtol=0.0, atol=1e-9 * max(1.0, np.abs(interpreted).max()))
    assert statuses == expected
