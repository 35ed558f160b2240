"""Tables of everything that stands behind an abstract base; what is missing from a table fails the test."""

from __future__ import annotations

import re

import casadi as ca
import numpy as np
import pytest

from erugin.constraints import Perturbation
from erugin.constraints.curves import Curve
from erugin.controllers import Controller, ProgramController, Status
from erugin.controllers.multipliers import (
    Capability,
    MultiplierMethod,
)
from erugin.controllers.program.program_controller import REALIZATIONS
from erugin.controllers.realization import Realization
from erugin.robots import Link, lagrangian_system
from erugin.robots.hamiltonian import (
    LegendreSolver,
    PlanarChain,
    QuadraticForm,
)
from erugin.scenarios import simulate
from erugin.simulation import Integrator, Projected
from erugin.symbolic import ModelError, NotFiniteError, NotFiniteInputError

from .support.arms import disc_program, two_link_arm
from .support.contracts import FORMS, METHODS, SOLVERS, concrete, require_rows
from .support.controller_cases import BUILDERS
from .support.controller_cases.robots import CASES, RobotCase, robot_case
from .support.integrators import ROWS, Row, name_of
from .support.kernels import use_no_compiler


@pytest.mark.foreign
@pytest.mark.parametrize(
    ("base", "known", "table"),
    [
        # Projected asks for natural constraints: test_projection and test_integrators measure its order.
        (Integrator, {type(row.method) for row in ROWS} | {Projected}, "ROWS of tests/support/integrators.py"),
        (LegendreSolver, {type(s) for s in SOLVERS}, "SOLVERS of tests/support/contracts.py"),
        (QuadraticForm, FORMS, "FORMS of tests/support/contracts.py"),
        (MultiplierMethod, {type(m) for m in METHODS}, "METHODS of tests/support/contracts.py"),
        (Realization, {type(r) for r in REALIZATIONS}, "REALIZATIONS of controllers/program/program_controller.py"),
        (Controller, set(BUILDERS), "BUILDERS of tests/support/controller_cases"),
    ],
    ids=lambda x: x.__name__ if isinstance(x, type) else "",
)
def test_nothing_is_left_out_of_the_tables(base: type, known: set[type], table: str) -> None:
    require_rows(table, concrete(base), known)


@pytest.mark.foreign
def test_no_concrete_class_is_subclassed() -> None:
    bases = (
        Integrator,
        LegendreSolver,
        QuadraticForm,
        MultiplierMethod,
        Realization,
        Controller,
        Perturbation,
    )
    for base in (*bases, Curve):
        for sub in concrete(base):
            assert not list(concrete(sub))


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_integrators_reproduce_a_pendulum(row: Row) -> None:
    """Against the period of the pendulum by the arithmetic–geometric mean.

    One of low order cannot come that near with a step that a test can wait for: its error must fall as its order says,
    and what extrapolation to step zero leaves over, by its order and one, or two if it is symmetric.
    """
    robot = two_link_arm()
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    pendulum = lagrangian_system(q=q, v=v, T=v**2 / 2, V=-ca.cos(q))
    a, b = 1.0, np.cos(0.5)
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2, np.sqrt(a * b)
    period = 2.0 * np.pi / a

    def miss(steps: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Distance of the state from its start after one period."""
        motion = simulate(pendulum, None, [1.0], [0.0], period, step=period / steps, integrator=row.method)
        return np.array([motion.q[-1, 0] - 1.0, motion.v[-1, 0]])

    order, coarse = row.order, miss(2000)
    if order == 0 or order >= 4:
        assert abs(coarse[0]) < max(1e-10, 10 * row.error)
        assert abs(coarse[1]) < max(1e-9, 10 * row.error)
    else:
        fine, finest = miss(4000), miss(8000)
        ratio = np.linalg.norm(coarse) / np.linalg.norm(fine)
        assert np.log2(ratio) == pytest.approx(order, abs=0.05)
        rest = [np.linalg.norm(2**order * y - x) / (2**order - 1) for x, y in ((coarse, fine), (fine, finest))]
        assert np.log2(rest[0] / rest[1]) == pytest.approx(order + 1 + row.symmetric, abs=0.1)
        assert rest[1] < 1e-3
    assert robot.coordinates.nq == 2


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: type(s).__name__)
def test_every_legendre_solver_reports_its_operations(solver: LegendreSolver) -> None:
    form = PlanarChain([Link(0.5, 1.0, 0.2, 1.0)] * 3, 9.81).form([0.1, 0.5, -0.4])
    solution = solver.solve(form, [1.0, -2.0, 0.5])
    assert solution.converged
    assert solution.residual < 1e-12
    assert solution.operations.multiplications > solution.operations.additions > 0
    np.testing.assert_allclose(solution.z, np.linalg.solve(form.matrix(), [1.0, -2.0, 0.5]), rtol=1e-11)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("realization", REALIZATIONS, ids=lambda r: r.name)
def test_every_method_supports_the_realizations_that_it_declares(
    method: MultiplierMethod, realization: Realization
) -> None:
    if not realization.applies_force and Capability.ACTUATED not in method.supports:
        with pytest.raises(ModelError, match="supports realization='ideal' only"):
            ProgramController(disc_program(), realization=realization.name, method=method)
        return
    controller = ProgramController(disc_program(), realization=realization.name, method=method)
    solution = controller.solve(0.0, [0.3, 0.8], [0.2, -0.1])
    assert solution.program_residual < 1e-10
    assert solution.motion_residual < 1e-10
    assert controller.applies_force is realization.applies_force


def served(cls: type[Controller]) -> list[RobotCase]:
    """The robots that a controller supports; of all others it says why."""
    cases = [robot_case(name) for name in CASES]
    for case in cases:
        if refusal := cls.unsupported_reason(case.robot):
            with pytest.raises(ModelError, match=re.escape(refusal)):
                BUILDERS[cls](case)
    return [case for case in cases if not cls.unsupported_reason(case.robot)]


def run_a_second(cls: type[Controller], case: RobotCase) -> None:
    """Check a motion under a controller."""
    controller = BUILDERS[cls](case)
    motion = simulate(case.robot, controller, case.q0, case.v0, 1.0, step=case.step)
    assert motion.t[-1] == pytest.approx(1.0)
    for values in (motion.q, motion.v, motion.u, motion.deviation):
        assert np.isfinite(values).all()
    assert all(Status(int(status)).is_safe for status in motion.status)
    assert np.abs(motion.u).max(initial=0.0) > 0.0


@pytest.mark.parametrize("cls", BUILDERS, ids=lambda cls: cls.__name__)
def test_every_controller_runs_a_second(cls: type[Controller], monkeypatch: pytest.MonkeyPatch) -> None:
    # A thousand steps cost less in the virtual machine than a compiler does.
    use_no_compiler(monkeypatch)
    run_a_second(cls, next(case for case in map(robot_case, CASES) if not cls.unsupported_reason(case.robot)))


@pytest.mark.slow
@pytest.mark.parametrize("cls", BUILDERS, ids=lambda cls: cls.__name__)
def test_every_controller_runs_a_second_on_every_robot_that_it_supports(
    cls: type[Controller], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_no_compiler(monkeypatch)
    for case in served(cls):
        run_a_second(cls, case)


@pytest.mark.parametrize("cls", BUILDERS, ids=lambda cls: cls.__name__)
def test_a_law_is_what_a_controller_returns_and_a_broken_sensor_is_refused(cls: type[Controller]) -> None:
    case = next(case for case in map(robot_case, CASES) if not cls.unsupported_reason(case.robot))
    controller = BUILDERS[cls](case)
    controller.reset()
    controller.advance(0.0, case.q0, case.v0)
    output = controller.control(0.0, case.q0, case.v0)
    assert np.isfinite(output).all()
    law = controller.law
    if law is not None:
        robot = controller.robot
        f = ca.Function("f", [robot.t, robot.q, robot.v, controller.parameters.symbols], [ca.densify(law.output)])
        expected = f.call([0.0, case.q0, case.v0, controller.parameters.values()])[0].full()[:, 0]
        np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        assert controller.memory is None
    for broken in (np.nan, np.inf):
        q, v = case.q0.copy(), case.v0.copy()
        q[0], v[-1] = broken, broken
        for state in ((q, case.v0), (case.q0, v)):
            before = controller.memory
            try:
                controller.advance(0.0, *state)
                given = controller.observe(0.0, *state)
            except (NotFiniteError, NotFiniteInputError):
                controller.memory = before
                continue
            # Only with the last safe output in its place, and a word about it.
            assert given.status is Status.HELD
            assert np.isfinite(given.output).all()
