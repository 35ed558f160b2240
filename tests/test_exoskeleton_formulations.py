"""Every formulation gives d'Alembert's equations of exoskeletons with all that they may have."""

from __future__ import annotations

import functools

import casadi as ca
import numpy as np
import pytest

from erugin.robots import Robot
from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation, Recurrent
from erugin.symbolic import Kernel

from .chains import STATES, Comparison
from .exoskeletons import CASES, Array, Case, built, label, random_states
from .references import telescopic_bodies as truth

BY_CASE = pytest.mark.parametrize("case", CASES, ids=label)


@functools.cache
def expected(case: Case) -> list[tuple[Array, Array, Array, Array]]:
    """q, v, M and h at random states."""
    s = case.structure
    states = random_states(case, seed=1, count=STATES)
    return [(q, v, truth.mass_matrix(s, q), truth.bias(s, q, v)) for q, v in states]


def numbers(robot: Robot, *expressions: ca.SX) -> Kernel:
    """(q, v, u) → the expressions, with nominal parameters."""
    p = ca.SX(ca.DM(robot.parameters.values().tolist()))
    given = [ca.substitute(expression, robot.p, p) for expression in expressions]
    symbols = {"q": robot.q, "v": robot.v, "u": robot.u}
    return Kernel("numbers", symbols, {f"e{i}": e for i, e in enumerate(given)}, compiled=False)


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@BY_CASE
def test_agrees_with_d_alembert(case: Case, formulation: Formulation) -> None:
    robot = case.robot(formulation)
    kernel = numbers(robot, robot.mass_matrix, robot.bias)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v, M, h in expected(case):
        actual_mass, actual_bias = kernel(q, v, np.zeros(robot.u.numel()))
        mass.add(actual_mass, M)
        bias.add(actual_bias, h)
    mass.conclude()
    bias.conclude()


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("case", CASES[1:6], ids=label)
def test_acceleration_satisfies_d_alembert(case: Case, formulation: Formulation) -> None:
    """M a + h = B u with d'Alembert's M and h, to 1e-12 of the largest term, under random inputs."""
    robot = case.robot(formulation)
    kernel = numbers(robot, robot.acceleration, robot.input_matrix @ robot.u)
    rng = np.random.default_rng(3)
    fastest = 0.0
    for q, v, M, h in expected(case):
        a, Q = (np.atleast_1d(e) for e in kernel(q, v, rng.uniform(-20.0, 20.0, robot.u.numel())))
        terms = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(Q)
        assert np.max(np.abs(M @ a + h - Q)) <= 1e-12 * np.max(terms)
        fastest = max(fastest, float(np.max(np.abs(a))))
    assert fastest > 100.0


def test_the_default_is_the_articulated_recursion() -> None:
    default, named = CASES[2].robot(), CASES[2].robot(Articulated())
    robots = (default, named, CASES[2].robot(Recurrent()))
    counts = [numbers(robot, robot.acceleration).function.n_instructions() for robot in robots]
    assert counts[0] == counts[1] != counts[2]


@BY_CASE
def test_energies_and_points(case: Case) -> None:
    robot, s = built(case), case.structure
    count = len(s.rods)
    names = ["pole", *(f"{what}{i + 1}" for i in range(count) for what in ("joint", "center", "end"))]
    names.append("tip")
    assert set(robot.points) == set(names)
    kernel = numbers(robot, robot.kinetic_energy, robot.potential_energy, *(robot.points[name] for name in names))
    kinetic, potential, places = Comparison(1.0), Comparison(1.0), Comparison(0.3)
    for q, v in random_states(case, seed=5, count=STATES):
        T, V, *points = kernel(q, v, np.zeros(robot.u.numel()))
        kinetic.add(T, truth.energies(s, q, v)[0])
        potential.add(V, truth.energies(s, q, v)[1])
        known = truth.places(s, q)
        known["tip"] = known[f"end{count}"]
        for name, point in zip(names, points, strict=True):
            places.add(point, known[name])
    for comparison in (kinetic, potential, places):
        comparison.conclude()
