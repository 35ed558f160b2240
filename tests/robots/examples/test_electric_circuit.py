"""Circuits in charges: nodal analysis, transients against SciPy, and invalid circuits."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import signal

from erugin.constraints import nonholonomic
from erugin.controllers import Program, ProgramController
from erugin.robots import Robot
from erugin.robots.examples import GROUND, Branch, butterworth_ladder, electric_circuit
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory
from erugin.symbolic import Kernel, ModelError

from ...support.constant_controller import Constant

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

BRIDGE = {
    "feed": Branch(GROUND, "a", inductance=0.02, resistance=3.0, source=True),
    "left": Branch("a", "b", capacitance=4e-3, resistance=1.0),
    "right": Branch("a", "c", inductance=0.03),
    "across": Branch("b", "c", inductance=0.05, resistance=2.0, capacitance=1e-3),
    "down": Branch("b", GROUND, inductance=0.01, resistance=5.0, source=True),
    "load": Branch("c", GROUND, resistance=4.0, capacitance=2e-2),
    "ring": Branch("c", "c", inductance=0.04, resistance=0.7, capacitance=3e-3),
}
MUTUAL = {("right", "across"): 0.02, ("down", "ring"): -0.015}


def bridge() -> Robot:
    return electric_circuit(BRIDGE, mutual=MUTUAL)


def incidence(branches: dict[str, Branch]) -> tuple[list[str], Array]:
    """Nodes but ground, and +1 where a branch leaves a node, −1 where it enters."""
    nodes = [n for n in dict.fromkeys(x for b in branches.values() for x in (b.start, b.end)) if n != GROUND]
    A = np.zeros((len(nodes), len(branches)))
    for k, branch in enumerate(branches.values()):
        for node, sign in ((branch.start, 1.0), (branch.end, -1.0)):
            if node != GROUND:
                A[nodes.index(node), k] += sign
    return nodes, A


def impedances(s: complex, branches: dict[str, Branch], mutual: dict[tuple[str, str], float]) -> Complex:
    names = list(branches)
    Z = np.zeros((len(names), len(names)), dtype=np.complex128)
    for k, branch in enumerate(branches.values()):
        Z[k, k] = s * (branch.inductance or 0.0) + (branch.resistance or 0.0)
        if branch.capacitance is not None:
            Z[k, k] += 1.0 / (s * branch.capacitance)
    for (one, two), M in mutual.items():
        i, j = names.index(one), names.index(two)
        Z[i, j] += s * M
        Z[j, i] += s * M
    return Z


@pytest.mark.parametrize("s", [2.0 + 40.0j, 300.0j, -5.0 + 3.0j, 1e4j])
def test_currents_and_potentials_are_those_of_nodal_analysis(s: complex) -> None:
    """Robot: (s M + R + S/s) i = e + Aᵀ μ with A i = 0. Nodal analysis: A Z⁻¹ Aᵀ v = −A Z⁻¹ e by hand."""
    robot = bridge()
    c = robot.coordinates
    parts = [robot.mass_matrix, ca.jacobian(robot.bias, c.v), ca.jacobian(robot.bias, c.q)]
    M, R, S = (robot.evaluate(part) for part in parts)
    B, A = robot.evaluate(robot.input_matrix), robot.evaluate(robot.natural_form[0])
    e = B @ np.array([10.0, -3.0 + 1.0j])
    zero = np.zeros((3, 3))
    found = np.linalg.solve(np.block([[s * M + R + S / s, -A.T], [A, zero]]), np.append(e, np.zeros(3)))

    nodes, hand = incidence(BRIDGE)
    assert [constraint.name for constraint in robot.natural] == nodes == ["a", "b", "c"]
    Y = np.linalg.inv(impedances(s, BRIDGE, MUTUAL))
    potentials = np.linalg.solve(hand @ Y @ hand.T, -hand @ Y @ e)
    currents = Y @ (e + hand.T @ potentials)
    np.testing.assert_allclose(found[:7], currents, rtol=0, atol=1e-12 * np.abs(currents).max())
    np.testing.assert_allclose(found[7:], potentials, rtol=0, atol=1e-12 * np.abs(potentials).max())


def test_every_branch_obeys_the_voltage_law_with_the_reactions_as_potentials() -> None:
    """v_a − v_b = L i̇ + R i + q/C − e, branch by branch, at states whose currents balance at the nodes."""
    robot, rng = bridge(), np.random.default_rng(8)
    nodes, A = incidence(BRIDGE)
    _, _, rows = np.linalg.svd(A)
    names = list(BRIDGE)
    for _ in range(20):
        q, u = rng.uniform(-1e-2, 1e-2, 7), rng.uniform(-10.0, 10.0, 2)
        i = rows[3:].T @ rng.normal(size=4)
        slope = robot.evaluate(robot.acceleration, q=q, v=i, u=u)
        potential = dict(zip(nodes, robot.evaluate(robot.reactions, q=q, v=i, u=u), strict=True)) | {GROUND: 0.0}
        np.testing.assert_allclose(A @ slope, 0.0, atol=1e-9)
        sources = {"feed": u[0], "down": u[1]}
        for k, (name, b) in enumerate(BRIDGE.items()):
            drop = (b.inductance or 0.0) * slope[k] + (b.resistance or 0.0) * i[k] - sources.get(name, 0.0)
            drop += 0.0 if b.capacitance is None else q[k] / b.capacitance
            for pair, M in MUTUAL.items():
                if name in pair:
                    drop += M * slope[names.index(pair[1 - pair.index(name)])]
            assert potential[b.start] - potential[b.end] == pytest.approx(drop, abs=1e-9)


def test_power_of_the_sources_is_stored_or_turned_into_heat() -> None:
    """d(T + V)/dt = u·i − Σ R i²; the potentials do no work."""
    robot, rng = bridge(), np.random.default_rng(4)
    c = robot.coordinates
    stored = ca.substitute(c.rate(robot.kinetic_energy + robot.potential_energy), c.a, robot.acceleration)
    kernel = Kernel("power", {"q": c.q, "v": c.v, "u": robot.u, "p": robot.p}, {"stored": stored}, compiled=False)
    _, _, rows = np.linalg.svd(incidence(BRIDGE)[1])
    resistances = np.array([branch.resistance or 0.0 for branch in BRIDGE.values()])
    for _ in range(20):
        q, i, u = rng.uniform(-1e-2, 1e-2, 7), rows[3:].T @ rng.normal(size=4), rng.uniform(-10.0, 10.0, 2)
        power = kernel(q, i, u, robot.parameters.values())[0]
        expected = u @ i[[0, 4]] - resistances @ i**2
        assert float(power) == pytest.approx(expected, abs=1e-10)


def test_names_and_units() -> None:
    robot = bridge()
    assert robot.coordinates.names[:2] == ("q_feed", "q_left")
    assert robot.coordinates.units == ("C",) * 7
    assert robot.input_names == ("u_feed", "u_down")
    assert robot.input_units == ("V", "V")
    assert robot.nominal["left.C"] == 4e-3
    assert robot.nominal["down.ring.M"] == -0.015


COIL = Branch(GROUND, "a", inductance=1.0, source=True)


def test_bad_branches() -> None:
    with pytest.raises(ModelError, match="the branch from 'a' to 'b' has no element"):
        Branch("a", "b")
    with pytest.raises(ModelError, match=r"capacitance \[F\] of the branch from 'a' to 'b' must be greater than zero"):
        Branch("a", "b", capacitance=0.0)
    with pytest.raises(ModelError, match=r"inductance .* must be finite, got nan"):
        Branch("a", "b", inductance=np.nan)
    with pytest.raises(ModelError, match="at least one branch"):
        electric_circuit({})


def test_a_loop_without_inductance_is_named() -> None:
    """Resistor and capacitor side by side: their common current has no second derivative to determine."""
    parts = {"coil": COIL, "C": Branch("a", GROUND, capacitance=1.0), "R": Branch("a", GROUND, resistance=1.0)}
    with pytest.raises(ModelError, match="current through 'C', 'R' is not determined"):
        electric_circuit(parts)
    parts["R"] = Branch("a", GROUND, resistance=1.0, inductance=1e-3)
    assert electric_circuit(parts).coordinates.nq == 3
    with pytest.raises(ModelError, match="current through 'alone'"):
        electric_circuit({"coil": COIL, "back": Branch("a", GROUND, resistance=1.0)} | {"alone": loop_of_a_resistor()})


def loop_of_a_resistor() -> Branch:
    return Branch(GROUND, GROUND, resistance=1.0)


def test_small_inductances_and_many_turns_are_no_loop_without_inductance() -> None:
    tiny = {"coil": Branch(GROUND, "a", inductance=1e-9), "C": Branch("a", GROUND, capacitance=1e-12)}
    assert electric_circuit(tiny).coordinates.nq == 2
    mixed = tiny | {"choke": Branch("a", GROUND, inductance=100.0)}
    assert electric_circuit(mixed).coordinates.nq == 3
    windings = {"coil": 1.0, "C": 1e5}
    assert electric_circuit(tiny, transformers={"core": windings}).coordinates.nq == 2


def test_a_part_without_ground_is_named() -> None:
    parts = {"coil": COIL, "back": Branch("a", GROUND, resistance=1.0), "far": Branch("b", "c", inductance=1.0)}
    with pytest.raises(ModelError, match="no path from 'b', 'c' to 'ground'"):
        electric_circuit(parts)


def test_mutual_inductances_of_no_coils() -> None:
    pair = {name: Branch(GROUND, GROUND, inductance=1.0, capacitance=1.0) for name in ("one", "two")}
    with pytest.raises(ModelError, match="the mutual inductances are too large"):
        electric_circuit(pair, mutual={("one", "two"): 1.1})
    traces = {name: Branch(GROUND, GROUND, inductance=1e-12, capacitance=1e-12) for name in ("one", "two")}
    with pytest.raises(ModelError, match="the mutual inductances are too large"):
        electric_circuit(traces, mutual={("one", "two"): 1.1e-12})
    with pytest.raises(ModelError, match=r"unknown branch 'tow'\. Did you mean 'two'"):
        electric_circuit(pair, mutual={("one", "tow"): 0.1})
    for mutual in ({("one", "one"): 0.1}, {("one", "two"): 0.1, ("two", "one"): 0.1}):
        with pytest.raises(ModelError, match="requires two different branches, each pair once"):
            electric_circuit(pair, mutual=mutual)
    pair["two"] = Branch(GROUND, GROUND, capacitance=1.0)
    with pytest.raises(ModelError, match="'two' has no inductance"):
        electric_circuit(pair, mutual={("one", "two"): 0.1})
    with pytest.raises(ModelError, match="unknown branch 'three'"):
        electric_circuit(pair, transformers={"core": {"one": 1.0, "three": 2.0}})


def test_bad_transformers() -> None:
    pair = {name: Branch(GROUND, "a", inductance=1.0) for name in ("one", "two")}
    for name, windings in (("core", {"one": 1.0}), ("core", {"one": 1.0, "two": 0.0}), ("a", {"one": 1.0, "two": 2.0})):
        with pytest.raises(ModelError, match=f"transformer '{name}' requires a name other than .* and at least two"):
            electric_circuit(pair, transformers={name: windings})


def test_a_redundant_transformer_is_refused() -> None:
    """Two branches in series carry the same current anyway: no voltage between the windings is determined."""
    series = {"there": COIL, "back": Branch("a", GROUND, inductance=1.0)}
    with pytest.raises(ModelError, match="already constrained by Kirchhoff's law"):
        electric_circuit(series, transformers={"core": {"there": 1.0, "back": -1.0}})


def test_perfectly_coupled_coils_alone_determine_one_current_only() -> None:
    """k = 1 is allowed where something else holds the difference, and refused where nothing does."""
    pair = {name: Branch(GROUND, GROUND, inductance=1.0, capacitance=1.0) for name in ("one", "two")}
    with pytest.raises(ModelError, match="current through 'one', 'two' is not determined"):
        electric_circuit(pair, mutual={("one", "two"): 1.0})


@pytest.mark.parametrize("order", [1, 2, 4, 0, -3])
def test_ladders_of_even_order_are_refused(order: int) -> None:
    with pytest.raises(ModelError, match="order must be 3, 5, 7"):
        butterworth_ladder(order, resistance=1.0, cutoff=1.0)


TIGHT = DOP853(1e-13, 1e-15)


def switched_on(robot: Robot, voltage: float, duration: float, samples: int) -> Trajectory:
    zero = np.zeros(robot.coordinates.nq)
    return simulate(robot, Constant(robot, voltage), zero, zero, duration, step=duration / samples, integrator=TIGHT)


def test_series_circuit_rings_when_switched_on() -> None:
    """L q̈ + R q̇ + q/C = U: q = C U (1 − e^{−δt}(cos ωt + δ/ω sin ωt)), δ = R/2L, ω² = 1/LC − δ²."""
    L, R, C, U = 0.1, 4.0, 1e-3, 12.0
    robot = electric_circuit({"loop": Branch(GROUND, GROUND, L, R, C, source=True)})
    motion = switched_on(robot, U, 0.5, 200)
    damping = R / (2 * L)
    omega = np.sqrt(1 / (L * C) - damping**2)
    ringing = np.cos(omega * motion.t) + damping / omega * np.sin(omega * motion.t)
    exact = C * U * (1 - np.exp(-damping * motion.t) * ringing)
    np.testing.assert_allclose(motion.q[:, 0], exact, rtol=0, atol=1e-11)
    assert motion.q[:, 0].max() > 1.3 * C * U


def test_coupled_circuits_beat_between_their_two_frequencies() -> None:
    """Equal LC circuits with coupling k = M/L: ω₀/√(1 ± k), so q₁ = ½ Q (cos ω₊t + cos ω₋t)."""
    L, C, k, Q = 2e-3, 5e-6, 0.1, 1e-4
    loops = {name: Branch(GROUND, GROUND, inductance=L, capacitance=C) for name in ("one", "two")}
    robot = electric_circuit(loops, mutual={("one", "two"): k * L})
    own = 1 / np.sqrt(L * C)
    motion = simulate(robot, None, [Q, 0.0], [0.0, 0.0], 100 / own, step=0.2 / own, integrator=DOP853(1e-13, 1e-18))
    waves = [np.cos(own / np.sqrt(1 + sign * k) * motion.t) for sign in (1.0, -1.0)]
    np.testing.assert_allclose(motion.q[:, 0], Q / 2 * (waves[0] + waves[1]), rtol=0, atol=1e-9 * Q)
    np.testing.assert_allclose(motion.q[:, 1], Q / 2 * (waves[0] - waves[1]), rtol=0, atol=1e-9 * Q)
    assert np.ptp(motion.energy) < 1e-10 * motion.energy[0]
    assert np.abs(motion.q[:, 1]).max() > 0.9 * Q


def test_an_ideal_transformer_shows_its_load_by_the_square_of_its_ratio() -> None:
    """The secondary has no inductance: its current is determined by that of the primary alone."""
    R, L, load, turns, U = 2.0, 0.3, 0.5, (100.0, 20.0), 10.0
    robot = electric_circuit(
        {
            "primary": Branch(GROUND, GROUND, inductance=L, resistance=R, source=True),
            "secondary": Branch(GROUND, GROUND, resistance=load),
        },
        transformers={"core": {"primary": turns[0], "secondary": turns[1]}},
    )
    motion = switched_on(robot, U, 0.2, 50)
    seen = R + (turns[0] / turns[1]) ** 2 * load
    exact = U / seen * (1 - np.exp(-seen * motion.t / L))
    np.testing.assert_allclose(motion.v[:, 0], exact, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.v[:, 1], -turns[0] / turns[1] * exact, rtol=0, atol=1e-10)
    volts_per_turn = float(robot.evaluate(robot.reactions, q=motion.q[-1], v=motion.v[-1], u=[U]))
    assert volts_per_turn == pytest.approx(load * motion.v[-1, 1] / turns[1], rel=1e-12)


@pytest.mark.parametrize("order", [3, 5, 7])
def test_a_butterworth_ladder_is_maximally_flat(order: int) -> None:
    """|2 v_load/u|² = 1/(1 + (ω/ω_c)^{2n}), Butterworth's formula, from below to far above the cut-off."""
    R, cutoff = 50.0, 2e5
    robot = butterworth_ladder(order, resistance=R, cutoff=cutoff)
    c = robot.coordinates
    parts = [robot.mass_matrix, ca.jacobian(robot.bias, c.v), ca.jacobian(robot.bias, c.q)]
    M, damping, S = (robot.evaluate(part) for part in parts)
    A, B = robot.evaluate(robot.natural_form[0]).reshape(-1, order), robot.evaluate(robot.input_matrix)
    right = np.append(B.ravel(), np.zeros(len(A)))
    for ratio in (0.1, 0.5, 0.9, 1.0, 1.3, 2.0):
        s = 1j * ratio * cutoff
        system = np.block([[s * M + damping + S / s, -A.T], [A, np.zeros((len(A), len(A)))]])
        gain = abs(2 * R * np.linalg.solve(system, right)[order - 1]) ** 2
        assert gain == pytest.approx(1 / (1 + ratio ** (2 * order)), rel=1e-10)


def test_step_response_of_the_ladder_is_that_of_scipys_filter() -> None:
    order, R, cutoff = 5, 1.0, 10.0
    robot = butterworth_ladder(order, resistance=R, cutoff=cutoff)
    motion = switched_on(robot, 2.0, 3.0, 300)
    numerator, denominator = signal.butter(order, cutoff, analog=True)
    _, exact = signal.step((numerator, denominator), T=motion.t)
    np.testing.assert_allclose(R * motion.v[:, -1], exact, rtol=0, atol=1e-11)
    # The multiplier of a node is its potential: that of the capacitor on it.
    for k in (50, 300):
        potentials = robot.evaluate(robot.reactions, q=motion.q[k], v=motion.v[k], u=[2.0])
        charges = [motion.q[k, 1] / robot.nominal["b2.C"], motion.q[k, 3] / robot.nominal["b4.C"]]
        np.testing.assert_allclose(potentials, charges, rtol=0, atol=1e-12)


def test_a_program_makes_the_load_current_a_sine() -> None:
    """The source must supply u = L i̇ + R i; an error of the start decays at the chosen rate."""
    L, R, amplitude, omega, rate = 0.5, 3.0, 2.0, 7.0, 20.0
    robot = electric_circuit({"coil": Branch(GROUND, GROUND, inductance=L, resistance=R, source=True)})
    wanted = amplitude * ca.sin(omega * robot.t)
    program = Program(robot, nonholonomic(robot.v[0] - wanted, name="sine"))
    controller = ProgramController(program, realization="actuated")
    controller_p = {"sine.rate": rate}
    motion = simulate(robot, controller, [0.0], [0.3], 1.0, step=0.01, integrator=TIGHT, controller_p=controller_p)
    current = amplitude * np.sin(omega * motion.t) + 0.3 * np.exp(-rate * motion.t)
    slope = amplitude * omega * np.cos(omega * motion.t) - 0.3 * rate * np.exp(-rate * motion.t)
    np.testing.assert_allclose(motion.v[:, 0], current, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.u[:, 0], L * slope + R * current, rtol=0, atol=1e-9)
