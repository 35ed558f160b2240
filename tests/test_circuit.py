"""Circuits in charges: against nodal analysis at complex frequencies, and potentials as multipliers."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Robot
from erugin.robots.examples import GROUND, Branch, electric_circuit
from erugin.symbolic import Kernel

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
