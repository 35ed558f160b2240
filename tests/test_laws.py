"""Laws that every robot made of a tree obeys at any state: M > 0, Ṁ - 2C skew, the powers balance."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from .probes import Probe
from .references import tree_numpy
from .tree_families import FAMILIES, default, random_states
from .trees import TREES, assert_close, states

Array = NDArray[np.float64]

STATES = 4
RESISTANCES = re.compile(r"d\d+|.*\.(damping|friction)|friction_speed")
# One chain of each length says enough here: other angles and zeros are other coordinates of the same motion.
NAMES = [name for name in FAMILIES if not re.fullmatch(r"manipulator-[124567]-.*|manipulator-3-.*-down", name)]


class Sample(NamedTuple):
    """Values at one state."""

    M: Array
    Rate: Array
    C: Array
    h: Array
    rest: Array
    slope: Array
    resistance: Array
    kinetic: Array
    growth: Array
    inputs: Array
    v: Array


@functools.cache
def samples(name: str) -> list[Sample]:
    """Everything that the laws are about, at random states."""
    robot = default(name)
    c = robot.coordinates
    still = ca.substitute(robot.bias, c.v, ca.SX.zeros(c.nv))
    resisting = ca.vertcat(ca.SX(0, 1), *(s for key, s in robot.parameters if RESISTANCES.fullmatch(key)))
    free = ca.substitute(robot.bias, resisting, ca.SX.zeros(resisting.numel()))
    a = robot.dynamics.factor.solve(robot.input_matrix @ robot.u - robot.bias)
    energy = robot.kinetic_energy + robot.potential_energy
    outputs = {
        "M": robot.mass_matrix,
        "Rate": ca.reshape(ca.jtimes(ca.vec(robot.mass_matrix), c.q, c.N @ c.v), c.nv, c.nv),
        "C": robot.coriolis_matrix,
        "h": robot.bias,
        "rest": still,
        "slope": c.N.T @ ca.gradient(robot.potential_energy, c.q),
        "resistance": robot.bias - free,
        "kinetic": robot.kinetic_energy,
        "growth": ca.jtimes(energy, ca.vertcat(c.q, c.v), ca.vertcat(c.N @ c.v, a)),
        "inputs": robot.input_matrix @ robot.u,
    }
    # Robots from files often have dampers of strength zero.
    probe = Probe(robot, outputs, {key: 1.3 for key in robot.parameters.names if RESISTANCES.fullmatch(key)})
    return [Sample(v=state.v, **probe(state)) for state in random_states(robot, 11, STATES)]


def test_the_dampers_are_found() -> None:
    def has_dampers(name: str) -> bool:
        return any(RESISTANCES.fullmatch(key) for key in default(name).parameters.names)

    damped = {name for name in NAMES if any(np.abs(s.resistance).max() > 0.1 for s in samples(name))}
    assert damped == {name for name in NAMES if has_dampers(name)}
    assert len(damped) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_mass_matrix_is_symmetric_positive_definite_and_the_metric_of_energy(name: str) -> None:
    for s in samples(name):
        assert_close(s.M, s.M.T, 1e-14)
        assert np.linalg.eigvalsh(s.M)[0] > 0.0
        np.linalg.cholesky(s.M)
        assert_close(s.kinetic, np.array([s.v @ s.M @ s.v / 2.0]), 1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_rate_of_mass_less_twice_coriolis_is_skew(name: str) -> None:
    largest = 0.0
    for s in samples(name):
        K = s.Rate - 2.0 * s.C
        scale = max(float(np.abs(s.Rate).max()), float(np.abs(s.C).max()), float(np.abs(s.M).max()))
        assert np.abs(K + K.T).max() <= 1e-13 * scale
        largest = max(largest, float(np.abs(K).max()))
    assert (largest > 1e-2) == (name != "tree-slides")


@pytest.mark.parametrize("name", NAMES)
def test_bias_is_coriolis_and_gravity_and_resistance(name: str) -> None:
    """h = C v + ∂V/∂q + resistance, of which C v alone is quadratic in v."""
    for s in samples(name):
        scale = max(np.abs(x).max() for x in (s.h, s.rest, s.C @ s.v, s.resistance))
        assert np.abs(s.C @ s.v + s.slope + s.resistance - s.h).max() <= 1e-12 * scale
        assert_close(s.rest, s.slope, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_energy_grows_by_the_power_of_the_inputs_less_that_of_the_resistances(name: str) -> None:
    """Along the motion that no natural constraint disturbs."""
    for s in samples(name):
        power = float(s.v @ (s.inputs - s.resistance))
        parts = [np.abs(s.v) @ np.abs(x) for x in (s.inputs, s.resistance, s.h)]
        assert abs(float(s.growth[0]) - power) <= 1e-12 * max(parts)


@pytest.mark.parametrize("name", [name for name, tree in TREES.items() if "floating" not in tree.kinds])
def test_coriolis_matrix_is_that_of_christoffel(name: str) -> None:
    """C_ij = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) v_k, from the positions by NumPy, where v = q'."""
    robot, data = default(f"tree-{name}"), TREES[name].data
    for q, v, _ in states(data, seed=7, count=3):
        slope = tree_numpy.metric_slope(data, q)
        terms = np.einsum("kij,k->ij", slope, v) + np.einsum("jik,k->ij", slope, v) - np.einsum("ijk,k->ij", slope, v)
        C = robot.evaluate(robot.coriolis_matrix, q=q, v=v)
        scale = float(np.abs(tree_numpy.mass_matrix(data, q)).max() * np.abs(v).max())
        assert np.abs(C.reshape(terms.shape) - terms / 2.0).max() <= 1e-11 * scale
