"""Exoskeletons in space obey d'Alembert's principle for particles, in every formulation."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from erugin.robots.formulations import FORMULATIONS, Articulated, Formulation

from .chains import STATES, Comparison
from .exoskeletons import Case, label
from .references import spatial_telescopic as truth
from .spatial_exoskeletons import CASES, Array, built, in_space, numbers, states

BY_CASE = pytest.mark.parametrize("case", CASES, ids=label)


@functools.cache
def expected(case: Case) -> list[tuple[Array, Array, Array, Array]]:
    """q, v, M and h at random states."""
    s = case.structure
    return [(q, v, truth.mass_matrix(s, q), truth.bias(s, q, v)) for q, v in states(case, seed=1, count=STATES)]


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@BY_CASE
def test_agrees_with_d_alembert(case: Case, formulation: Formulation) -> None:
    robot = in_space(case, formulation)
    kernel = numbers(robot, robot.mass_matrix, robot.bias)
    mass, bias = Comparison(0.1), Comparison(1.0)
    for q, v, M, h in expected(case):
        actual = kernel(q, v, np.zeros(robot.u.numel()))
        mass.add(actual[0], M)
        bias.add(actual[1], h)
    mass.conclude()
    bias.conclude()


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
@pytest.mark.parametrize("case", CASES[1:5], ids=label)
def test_accelerations_obey_d_alembert(case: Case, formulation: Formulation) -> None:
    """M a + h = B u with the M and h of the particles, to 1e-12 of the largest term, under random inputs."""
    robot = in_space(case, formulation)
    kernel = numbers(robot, robot.acceleration, robot.input_matrix @ robot.u)
    rng = np.random.default_rng(3)
    fastest = 0.0
    for q, v, M, h in expected(case):
        a, Q = kernel(q, v, rng.uniform(-20.0, 20.0, robot.u.numel()))
        terms = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(Q)
        assert np.max(np.abs(M @ a + h - Q)) <= 1e-12 * np.max(terms)
        fastest = max(fastest, float(np.max(np.abs(a))))
    assert fastest > 100.0


@BY_CASE
def test_energies_points_and_frames(case: Case) -> None:
    """Points by hand; a frame's axes are the link's, and its columns turn as the universal joint lets them."""
    robot, s = built(case), case.structure
    count = len(s.rods)
    where = {"pole": (-1, 0.0)}
    for i, rod in enumerate(s.rods):
        before = s.parents[i] - 1
        where |= {f"joint{i + 1}": (before, 1.0), f"center{i + 1}": (i, rod.ratio), f"end{i + 1}": (i, 1.0)}
    where["tip"] = where[f"end{count}"]
    assert set(robot.points) == set(robot.frames) == set(where)
    names = list(where)
    axes = [robot.frames[f"end{i + 1}"].rotation for i in range(count)]
    energies = (robot.kinetic_energy, robot.potential_energy)
    kernel = numbers(robot, *energies, *axes, *(robot.points[name] for name in names))
    kinetic, potential, places, turned = Comparison(1.0), Comparison(1.0), Comparison(0.3), Comparison(0.5)
    for q, v in states(case, seed=5, count=STATES):
        T, V, *rest = kernel(q, v, np.zeros(robot.u.numel()))
        known = truth.energies(s, q, v)
        kinetic.add(T, known[0])
        potential.add(V, known[1])
        for i, R in enumerate(rest[:count]):
            turned.add(R, truth.frame(s, q, i))
        for name, point in zip(names, rest[count:], strict=True):
            places.add(point, truth.place(s, q, *where[name]))
    for comparison in (kinetic, potential, places, turned):
        comparison.conclude()


def test_names() -> None:
    robot = in_space(CASES[4])
    assert robot.coordinates.names == ("x", "y", "z", *(f"{a}{i}" for a in ("phi", "psi", "l") for i in (1, 2, 3)))
    assert robot.coordinates.units == ("m",) * 3 + ("rad",) * 6 + ("m",) * 3
    assert robot.name == "spatial exoskeleton with 3 links"
    assert in_space(CASES[0]).name == "spatial exoskeleton with 1 link"
    assert robot.chain == ("pole", "end1", "end2", "end1", "end3")


def test_the_default_is_the_articulated_recursion() -> None:
    counts = [
        numbers(robot, robot.acceleration).function.n_instructions()
        for robot in (built(CASES[3]), in_space(CASES[3], Articulated()), in_space(CASES[3], FORMULATIONS[1]))
    ]
    assert counts[0] == counts[1] != counts[2]
