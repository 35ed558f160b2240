"""The arm of [DunskayaPyatnitsky1996]_ in canonical form, line by line against the printed equations with errata."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Link, Robot, planar_manipulator
from erugin.robots.hamiltonian import CanonicalForm, Cholesky, PlanarChain, canonical_form
from erugin.scenarios import simulate
from erugin.simulation import CanonicalEuler

from ...support.chains import GRAVITY, Chain, Comparison, random_states
from ...support.constant_controller import Constant
from ...support.references import dunskaya

Array = NDArray[np.float64]
SIZES = (1, 2, 3, 7)
BY_SIZE = pytest.mark.parametrize("n", SIZES)


@functools.cache
def links(n: int) -> tuple[Link, ...]:
    return tuple(Link(*link) for link in Chain(n, "absolute", "down").links)


@functools.cache
def robot(n: int) -> Robot:
    return planar_manipulator(links(n), angles="absolute", zero="down", gravity=GRAVITY)


@functools.cache
def form(n: int) -> CanonicalForm:
    return canonical_form(robot(n))


def arm(n: int) -> dunskaya.Arm:
    L, l, m, J = np.array([[link.length, link.center, link.mass, link.inertia] for link in links(n)]).T
    return dunskaya.Arm(L, l, m, J, GRAVITY)


@BY_SIZE
def test_energies_are_those_of_equation_3_5(n: int) -> None:
    kinetic, potential, constant = Comparison(1.0), Comparison(1.0), Comparison(1.0)
    for q, v, _ in random_states(n, seed=30):
        kinetic.add(robot(n).evaluate(robot(n).kinetic_energy, q=q, v=v), dunskaya.kinetic_energy(arm(n), q, v))
        potential.add(robot(n).evaluate(robot(n).potential_energy, q=q), dunskaya.potential_energy(arm(n), q))
        constant.add(robot(n).evaluate(form(n).constant, q=q), dunskaya.constant(arm(n), q))
    for comparison in (kinetic, potential, constant):
        comparison.conclude()


@BY_SIZE
def test_the_matrix_is_that_of_equation_3_10(n: int) -> None:
    matrix, of_chain = Comparison(0.1), Comparison(0.1)
    chain = PlanarChain(links(n), GRAVITY)
    for q, _, _ in random_states(n, seed=31):
        expected = dunskaya.matrix(arm(n), q)
        matrix.add(robot(n).evaluate(robot(n).mass_matrix, q=q), expected)
        of_chain.add(np.squeeze(chain.form(q).matrix()), np.squeeze(expected))
        assert not np.any(robot(n).evaluate(form(n).linear, q=q))
    matrix.conclude()
    of_chain.conclude()


@BY_SIZE
def test_without_the_erratum_in_equation_3_10_the_form_is_not_the_kinetic_energy(n: int) -> None:
    for q, v, _ in random_states(n, seed=32, count=5):
        truth = dunskaya.kinetic_energy(arm(n), q, v)
        assert dunskaya.kinetic_form(arm(n), q, v) == pytest.approx(truth, rel=1e-12)
        assert abs(dunskaya.kinetic_form(arm(n), q, v, first=1.0) - truth) > 0.1 * truth


@BY_SIZE
def test_momenta_and_their_rates_are_those_of_equation_3_8(n: int) -> None:
    momenta, rates, of_chain, product = Comparison(1.0), Comparison(10.0), Comparison(5.0), Comparison(1.0)
    velocities = Comparison(1.0)
    chain = PlanarChain(links(n), GRAVITY)
    for q, v, u in random_states(n, seed=33):
        p = dunskaya.momenta(arm(n), q, v)
        momenta.add(robot(n).evaluate(form(n).momentum, q=q, v=v), p)
        product.add(np.squeeze(chain.form(q).product(v)), np.squeeze(p))
        expected = dunskaya.momentum_rates(arm(n), q, v, u)
        rates.add(form(n).evaluate(form(n).momentum_rate, q=q, momenta=p, u=u), expected)
        free = dunskaya.momentum_rates(arm(n), q, v, np.zeros(n))
        of_chain.add(np.squeeze(chain.form(q).rate(v)), np.squeeze(free))
        velocities.add(form(n).evaluate(form(n).coordinate_rate, q=q, momenta=p), v)
    for comparison in (momenta, rates, of_chain, product, velocities):
        comparison.conclude()


@BY_SIZE
@pytest.mark.parametrize("driven", [False, True], ids=["free", "with torques"])
def test_the_integrator_steps_as_equation_3_8(n: int, driven: bool) -> None:
    """Thirty steps; the z of each sample solves the programme (3.2) there."""
    torques: Array = np.array([2.0, -2.0] * n)[:n] if driven else np.zeros(n)
    q, z, h = np.linspace(0.4, 0.9, n), np.linspace(-0.5, 0.5, n), 1e-3
    controller = Constant(robot(n), *torques) if driven else None
    motion = simulate(robot(n), controller, q, z, 30 * h, step=h, integrator=CanonicalEuler(Cholesky()))
    p = dunskaya.momenta(arm(n), q, z)
    for i in range(31):
        after, p, z = dunskaya.step(arm(n), q, p, torques, h)
        np.testing.assert_allclose(motion.q[i], q, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(motion.v[i], z, rtol=0.0, atol=1e-11)
        q = after
    assert np.abs(motion.q[-1] - motion.q[0]).max() > 1e-3
