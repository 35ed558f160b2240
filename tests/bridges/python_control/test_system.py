"""python-control: linearization, perturbation equations, and plants in foreign units."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from typing import Any

import casadi as ca
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from erugin.bridges import python_control
from erugin.bridges.python_control import drive, export, export_linearization, export_loop, export_perturbations
from erugin.bridges.python_control.io_system import signal_names
from erugin.constraints import Baumgarte, FirstOrder, holonomic, nonholonomic, second_order
from erugin.controllers import Controller, Program, Tick, Trait, linearize
from erugin.controllers.baselines import BrysonWeights, Lqr
from erugin.robots import Robot, assemble
from erugin.scenarios import simulate
from erugin.simulation import DOP853
from erugin.symbolic import BridgeError, ModelError, NotFiniteError, ParameterError

from ...support.arms import disc_program, two_link_arm
from ...support.controller_cases.programs import program_controller
from ...support.controller_cases.robots import CASES, robot_case
from ...support.linearized_robots import cart_pole, linkage
from ...support.simulator_cases import START, chain, tracking, tracking_controller

Array = NDArray[np.float64]
control: Any = importlib.import_module("control")


def plant(robot: Robot, scales: ArrayLike, worth: float = 1.0, **params: float) -> Any:  # noqa: ANN401
    """ẋ' = S ẋ of a robot at x = S⁻¹ x', driven by so many times its inputs, as a function that anyone could write."""
    own: Any = python_control.export(robot)
    S, values = np.asarray(scales, dtype=np.float64), {**own.params, **params}

    def changed(t: float, x: Array, u: Array, given: Mapping[str, float]) -> Array:
        return np.asarray(S * own.dynamics(t, x / S, worth * np.asarray(u), values))

    return control.nlsys(changed, None, states=own.state_labels, inputs=own.input_labels, outputs=len(S), name="plant")


DEGREES = 180.0 / np.pi


@pytest.mark.parametrize(
    ("scales", "worth", "params", "message"),
    [
        ([DEGREES] * 4, 1.0, {}, "the model's accelerations are 57.3 × the robot's in rad: angles in degrees?"),
        ([1.0] * 4, 1e-3, {}, "the effect of M1, M2 is 0.001 × the robot's: masses in g, or M1, M2 in 0.001 N m?"),
        ([1.0] * 4, 1.0, {"g": 0.0}, "the model's gravity is 0 × the robot's: gravity absent, or not set?"),
        ([1.0] * 4, 1.0, {"g": -9.81}, "the model's gravity is -1 × the robot's: gravity of the other sign?"),
    ],
)
def test_a_plant_of_python_control_in_another_unit_is_refused(
    scales: list[float], worth: float, params: dict[str, float], message: str
) -> None:
    python_control.drive(tracking(chain()), plant(chain(), [1.0] * 4))
    with pytest.raises(
        BridgeError, match=rf"not the same robot: .*{re.escape(message)} Erugin's units are kg, m, s, rad"
    ):
        python_control.drive(tracking(chain()), plant(chain(), scales, worth, **params))


def test_a_state_space_in_mm_and_degrees_is_recognized() -> None:
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [np.array([[-3.0, 1.0], [1.0, -2.0]]), -0.1 * np.eye(2)]])
    B, S = np.array([[0.0], [0.0], [1.0], [0.0]]), np.diag([1e3, DEGREES] * 2)
    signals = {"states": ["x", "turn", "v_x", "v_turn"], "inputs": ["F"]}
    own = python_control.load(control.ss(A, B, np.eye(4), 0, **signals), units=["m", "rad"])
    other = control.ss(S @ A @ np.linalg.inv(S), S @ B, np.eye(4), 0, **signals)
    found = python_control.match(own, other)
    assert "1000 × the robot's in m and 57.3 × the robot's in rad: lengths in mm, angles in degrees?" in found.units
    assert python_control.match(own, control.ss(A, B, np.eye(4), 0, **signals)).same


def test_a_mass_matrix_in_other_units_than_its_system_is_reported() -> None:
    M, K, S = np.diag([2.0, 0.1]), np.array([[300.0, 1.0], [1.0, 2.0]]), np.diag([1e3, DEGREES])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-S @ np.linalg.solve(M, K) @ np.linalg.inv(S), np.zeros((2, 2))]])
    system = control.ss(A, np.eye(4)[:, 2:], np.eye(4), 0, states=["x", "turn", "v_x", "v_turn"], name="odd")
    with pytest.raises(BridgeError, match="it is symmetric with lengths in mm, angles in degrees in the system: write"):
        python_control.load(system, mass_matrix=M, units=["m", "rad"])
    with pytest.raises(BridgeError, match="the mass matrix may belong to another system"):
        python_control.load(system, mass_matrix=M)
    with pytest.raises(BridgeError, match="the mass matrix may belong to another system"):
        python_control.load(system, mass_matrix=np.array([[2.0, 0.3], [0.3, 0.1]]), units=["m", "rad"])


def test_another_plant_of_python_control_is_no_other_unit() -> None:
    found = python_control.match(chain(), plant(chain(), [1.0] * 4, m1=3.3))
    assert not found.same
    assert found.units == ""
    for gravity in (9.81e-3, 9.81e-2, 1.62):
        assert python_control.match(chain(), plant(chain(), [1.0] * 4, g=gravity)).units == ""
    mixed = python_control.match(chain(), plant(chain(), [DEGREES, DEGREES, 1.0, 1.0]))
    assert "the rate of q1 is" in str(mixed)
    assert "57.3 times as much: is it given in the unit of its velocity?" in str(mixed)


def test_what_is_no_plant_of_the_robot_is_refused() -> None:
    with pytest.raises(BridgeError, match=r"missing: q1, q2.*those of the system 'pole': x\[0\], x\[1\]"):
        python_control.match(chain(), control.ss([[0, 1], [-1, 0]], [[0], [1]], np.eye(2), 0, name="pole"))
    with pytest.raises(BridgeError, match=r"has dt = 0.01: compare the plant in continuous time"):
        python_control.match(chain(), python_control.export(chain(), dt=0.01))
    with pytest.raises(BridgeError, match="a system of python-control, got Robot"):
        python_control.match(chain(), chain())  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("mass", "length", "gravity", "message"),
    [
        (1.0, 1e3, 1e3, "is 1e-06 × the robot's: lengths in mm, or M1, M2 in 1e-06 N m?"),
        (1.0, 1e2, 1e2, "is 0.0001 × the robot's: lengths in cm, or M1, M2 in 0.0001 N m?"),
        (1e3, 1e3, 1e3, "is 1e-09 × the robot's: lengths in mm and masses in g, or M1, M2 in 1e-09 N m?"),
        (1.0, 1e3, 1.0, "the model's gravity is 1 × the robot's: lengths in mm, gravity in m/s²?"),
        (1e3, 1e2, 1.0, "lengths in cm, gravity in m/s², masses in g, or M1, M2 in 0.001 N m?"),
    ],
)
def test_the_length_unit_of_a_plant_that_turns_is_inferred_from_its_moments(
    mass: float, length: float, gravity: float, message: str
) -> None:
    own = {"l": length, "c": length, "g": gravity, "m": mass, "I": mass * length**2}
    params = {name: value * own[name[0]] for name, value in chain().nominal.items()}
    assert message in python_control.match(chain(), plant(chain(), [1.0] * 4, **params)).units


def test_parameters_and_rates_that_do_not_fit_are_refused() -> None:
    own = python_control.export(chain())
    assert not python_control.match(chain(), own, params={"m1": 3.3}).same
    assert python_control.match(chain(), own, p={"m1": 3.3}, params={"m1": 3.3}).same
    with pytest.raises(BridgeError, match=r"unknown parameter of the system '\w+' 'm3'\..*Known: .*m1, m2"):
        python_control.match(chain(), own, params={"m3": 3.3})
    signals: dict[str, Any] = {"states": own.state_labels, "inputs": own.input_labels, "outputs": 4, "name": "short"}
    with pytest.raises(BridgeError, match=r"'short' returns rates of shape \(3,\) for 4 states"):
        python_control.match(chain(), control.nlsys(lambda t, x, u, p: np.zeros(3), None, **signals))


@pytest.mark.parametrize("units", [[1, 2], ["m", None], "mm"])
def test_units_that_are_no_strings_are_refused(units: Any) -> None:  # noqa: ANN401
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    system = control.ss(A, np.eye(4)[:, 2:], np.eye(4), 0, name="pair")
    with pytest.raises(
        ModelError,
        match=r"units (must be 2 strings, one for each coordinate|of load must be a sequence, each a text).*, got",
    ):
        python_control.load(system, units=units)


EXACT = {"solve_ivp_method": "DOP853", "solve_ivp_kwargs": {"rtol": 1e-11, "atol": 1e-12}}


@pytest.mark.parametrize("realization", ["actuated", "ideal"])
def test_a_closed_loop_moves_as_in_a_simulation(realization: str) -> None:
    robot, controller = tracking_controller(realization)
    system = export_loop(robot, controller)
    t = np.linspace(0.0, 1.0, 51)
    changed = {"m1": 3.0, "model.l2": 0.45, "track.alpha": 4.0}
    found = control.input_output_response(system, t, 0.0, START, params=changed, **EXACT)
    law = {"l2": 0.45, "track.alpha": 4.0}
    motion = simulate(
        robot,
        controller,
        START[:2],
        START[2:],
        1.0,
        step=0.02,
        integrator=DOP853(1e-11, 1e-12),
        p={"m1": 3.0},
        controller_p=law,
    )
    np.testing.assert_allclose(found.states.T, np.hstack([motion.q, motion.v]), rtol=0, atol=1e-8)
    nominal = control.input_output_response(system, t, 0.0, START, **EXACT)
    assert np.abs(nominal.states - found.states).max() > 1e-3
    assert system.state_labels == ["q1", "q2", "v_q1", "v_q2"]


@pytest.mark.parametrize("realization", ["actuated", "ideal"])
def test_robot_and_controller_are_interconnected_by_their_names(realization: str) -> None:
    robot, controller = tracking_controller(realization)
    plant = export(robot, driven_by="forces" if realization == "ideal" else "inputs", name="plant")
    law = drive(controller, name="law")
    assert law.nstates == 0
    whole = control.interconnect([plant, law], inputs=[], outputs=plant.output_labels)
    t = np.linspace(0.0, 1.0, 51)
    changed = {"m1": 3.0, "track.beta": 15.0}
    found = control.input_output_response(whole, t, 0.0, START, params=changed, **EXACT)
    motion = simulate(
        robot,
        controller,
        START[:2],
        START[2:],
        1.0,
        step=0.02,
        integrator=DOP853(1e-11, 1e-12),
        p={"m1": 3.0},
        controller_p=changed,
    )
    np.testing.assert_allclose(found.outputs.T, np.hstack([motion.q, motion.v]), rtol=0, atol=1e-8)


def test_a_mechanism_and_a_law_called_from_python() -> None:
    """Natural constraints are obeyed by the system itself; a controller without a law is called."""

    class Brake(Controller):
        """u = −3 v₁."""

        supports = frozenset(Trait)

        def __init__(self, robot: Robot) -> None:
            self.robot = robot

        def evaluate(self, t: float, q: Array, v: Array, p: Array, memory: object | None) -> Tick:
            return Tick(-3.0 * np.atleast_1d(np.asarray(v, dtype=np.float64))[:1])

    robot = linkage()
    q0 = assemble(robot, [0.8, 0.7, 1.5], tolerance=1e-14).q
    start = np.concatenate([q0, np.zeros(3)])
    system = export_loop(robot, Brake(robot), outputs={"pin": robot.points["coupler.end"]})
    assert system.output_labels == ["pin_0", "pin_1"]
    t = np.linspace(0.0, 0.4, 21)
    found = control.input_output_response(system, t, 0.0, start, **EXACT)
    motion = simulate(robot, Brake(robot), q0, np.zeros(3), 0.4, step=0.02, integrator=DOP853(1e-11, 1e-12))
    np.testing.assert_allclose(found.states[:3].T, motion.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.outputs.T, motion.evaluate(robot.points["coupler.end"]), rtol=0, atol=1e-8)
    whole = control.interconnect(
        [export(robot, name="plant"), drive(Brake(robot), name="brake")],
        inputs=[],
        outputs=export(robot).output_labels,
    )
    joined = control.input_output_response(whole, t, 0.0, start, **EXACT)
    np.testing.assert_allclose(joined.outputs[:3].T, motion.q, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", CASES)
def test_every_robot_controller_and_closed_loop_is_a_system(name: str) -> None:
    """Of the contract test: ẋ of each, joined or in one, is N v and the robot's own acceleration."""
    case = robot_case(name)
    robot, c = case.robot, case.robot.coordinates
    controller = program_controller(case)
    plant, law = export(robot), drive(controller)
    assert (plant.nstates, plant.ninputs, plant.noutputs) == (c.nq + c.nv, robot.u.numel(), c.nq + c.nv)
    assert not set(plant.input_labels) & set(plant.output_labels)
    assert law.input_labels == plant.output_labels
    assert law.output_labels == plant.input_labels
    x = np.concatenate([case.q0, case.v0])
    u = controller.control(0.0, case.q0, case.v0)
    rate = robot.evaluate(ca.vertcat(c.N @ c.v, robot.acceleration), q=case.q0, v=case.v0, u=u)
    scale = 1e-10 * max(1.0, float(np.abs(rate).max()))
    np.testing.assert_allclose(law.output(0.0, [], x), u, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(plant.dynamics(0.0, x, u), rate, rtol=0, atol=scale)
    loop = export_loop(robot, controller)
    np.testing.assert_allclose(loop.dynamics(0.0, x, []), rate, rtol=0, atol=scale)


def test_its_numerical_linearization_is_ours() -> None:
    """``control.linearize`` by forward differences of 1e-6 has as many digits as that leaves."""
    robot, q, v, u = two_link_arm(), np.array([0.3, 0.8]), np.array([0.5, -1.0]), np.array([2.0, 1.0])
    outputs = {"tip": robot.points["tip"]}
    theirs = control.linearize(export(robot, outputs=outputs), np.concatenate([q, v]), u)
    ours = export_linearization(linearize(robot, q, v, u, outputs=outputs))
    for name in "ABCD":
        mine, other = np.asarray(getattr(ours, name)), np.asarray(getattr(theirs, name))
        np.testing.assert_allclose(mine, other, rtol=0, atol=2e-5 * max(1.0, float(np.abs(other).max())))
    assert ours.state_labels == ["q1", "q2", "v_q1", "v_q2"]
    assert ours.input_labels == ["M1", "M2"]
    assert ours.output_labels == ["tip_0", "tip_1"]


def test_a_state_space_has_the_methods_of_one() -> None:
    """A regulated cart-pole: its poles, and the step of a disturbing force, which ends where the gain says."""
    robot = cart_pole()
    regulator = Lqr(robot, [0.0, 0.0], weights=BrysonWeights({"angle": 0.1}, {"force": 4.0}))
    system = export_linearization(linearize(robot, [0.0, 0.0], controller=regulator, outputs={"place": robot.q[0]}))
    np.testing.assert_allclose(np.sort_complex(system.poles()), np.sort_complex(regulator.poles), rtol=1e-7)
    info = control.step_info(system)
    # At rest beside the middle the regulator's force −K₁ x balances the disturbance.
    assert info["SteadyStateValue"] == pytest.approx(1.0 / regulator.gain[0, 0], rel=1e-6)
    magnitude, _, omega = control.frequency_response(system, np.array([1e-4, 3.0]))
    assert magnitude[0] == pytest.approx(1.0 / abs(regulator.gain[0, 0]), rel=1e-4)
    assert magnitude[1] == pytest.approx(abs(system(3.0j)), rel=1e-12)
    assert len(omega) == 2


def test_perturbation_equations_row_by_row() -> None:
    """ÿ + 2ζω ẏ + ω² y = d: poles, damping, overshoot e^(−πζ/√(1−ζ²)) and resonance of the textbook."""
    robot, zeta, omega = two_link_arm(), 0.4, 5.0
    track = holonomic(robot.q, perturbation=Baumgarte(zeta * omega, omega), name="track")
    system = export_perturbations(Program(robot, track))
    assert system.state_labels == ["track_0", "track_1", "track_0_rate", "track_1_rate"]
    assert system.input_labels == ["d_track_0", "d_track_1"]
    frequencies, damping, _ = control.damp(system, doprint=False)
    np.testing.assert_allclose(frequencies, omega)
    np.testing.assert_allclose(damping, zeta)
    row = system["track_1", "d_track_1"]
    info = control.step_info(row, T=np.linspace(0, 5, 5001))
    assert info["Overshoot"] == pytest.approx(100 * np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2)), rel=1e-3)
    assert info["SteadyStateValue"] == pytest.approx(1 / omega**2)
    # The rows do not disturb each other.
    assert abs(system["track_0", "d_track_1"](1j)) == 0.0
    magnitude, _, _ = control.frequency_response(row, np.array([omega]))
    assert magnitude[0] == pytest.approx(1 / (2 * zeta * omega**2))
    slower = export_perturbations(Program(robot, track), p={"track.beta": 2.0})
    assert np.abs(slower.poles()).max() < 5.0


def test_programs_of_mixed_order_and_the_bode_plot() -> None:
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    robot = two_link_arm()
    rows = (
        holonomic(robot.q[0], perturbation=Baumgarte(3.0, 4.0), name="place"),
        nonholonomic(robot.v[1], perturbation=FirstOrder(6.0), name="speed"),
    )
    system = export_perturbations(Program(robot, rows))
    assert system.state_labels == ["place", "place_rate", "speed"]
    np.testing.assert_allclose(np.sort_complex(system.poles()), [-6, -3 - np.sqrt(7) * 1j, -3 + np.sqrt(7) * 1j])
    assert export_perturbations(disc_program()).nstates == 2
    lines = control.bode_plot(system["speed", "d_speed"])
    assert lines.axes.size >= 2
    importlib.import_module("matplotlib.pyplot").close("all")
    free = second_order(robot.coordinates.a[0] - 1.0, name="push")
    with pytest.raises(ModelError, match="all rows of the program are of order 2"):
        export_perturbations(Program(robot, free))
    with pytest.raises(ModelError, match=r"program must be a Program, .* pass its \.program"):
        export_perturbations(tracking_controller()[1])  # type: ignore[arg-type]


def test_what_python_control_cannot_hold_is_refused() -> None:
    robot = two_link_arm()
    driven, controller = tracking_controller()
    with pytest.raises(ModelError, match="driven_by must be"):
        export(robot, driven_by="torque")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"output 'M' must be a scalar or a column of SX, got shape \(2, 2\)"):
        export(robot, outputs={"M": robot.mass_matrix})
    with pytest.raises(ModelError, match=r"output 'high' must be a scalar or a column of SX, got 1\.0"):
        export(robot, outputs={"high": 1.0})  # type: ignore[dict-item]
    with pytest.raises(ModelError, match="outputs must be expressions by name"):
        export(robot, outputs=["tip"])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="robot must be a Robot"):
        export(controller)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="controller must be a Controller"):
        drive(robot)  # type: ignore[arg-type]
    for dt in (-0.1, np.nan, True):
        with pytest.raises(
            ModelError, match=r"dt must be the time between samples|dt of export must be a number, got True"
        ):
            export(robot, dt=dt)
    with pytest.raises(ModelError, match="output 'a' must not depend on u"):
        export_loop(driven, controller, outputs={"a": driven.u[0]})
    plant = export(robot)
    with pytest.raises(ParameterError, match="'m1' must be greater than zero"):
        plant.dynamics(0.0, np.zeros(4), np.zeros(2), params={"m1": -1.0})
    with pytest.raises(NotFiniteError, match="A number is not finite"):
        plant.dynamics(0.0, np.zeros(4), np.array([np.nan, 0.0]))


def test_names_that_become_the_same_signal_are_reported() -> None:
    with pytest.raises(ModelError, match=r"different names, but in python-control 'tip\[0\]', 'tip\.0' become"):
        signal_names(["tip[0]", "tip.0", "other"])
