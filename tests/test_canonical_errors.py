"""Robots that have no canonical form say so, and bad input is refused."""

from __future__ import annotations

import dataclasses

import casadi as ca
import pytest

from erugin.robots import Dynamics, lagrangian_system
from erugin.robots.hamiltonian import canonical_form
from erugin.symbolic import ModelError, Parameters, ShapeError

from .arms import two_link_arm


def test_a_singular_mass_matrix_has_no_canonical_form() -> None:
    """A body in the plane that turns by an angle given as (cos, sin): two coordinates for one degree of freedom."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    robot = lagrangian_system(q=q, v=v, T=(q[0] * v[1] - q[1] * v[0]) ** 2 / 2, name="redundant")
    with pytest.raises(ModelError, match=r"redundant has no canonical form.*mass matrix is singular"):
        canonical_form(robot)


def test_a_mass_matrix_that_does_not_belong_to_the_energy_is_refused() -> None:
    arm = two_link_arm()
    other = dataclasses.replace(
        arm,
        dynamics=Dynamics.given(1.01 * arm.mass_matrix, arm.bias, arm.kinetic_energy, arm.potential_energy),
    )
    with pytest.raises(ModelError, match="T and M must be of the same bodies"):
        canonical_form(other)


def test_a_potential_with_velocities_is_refused() -> None:
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    with pytest.raises(ModelError, match="magnetic: V must not depend on the velocities"):
        lagrangian_system(q=q, v=v, T=v**2 / 2, V=q * v, name="magnetic")
    plain = lagrangian_system(q=q, v=v, T=v**2 / 2, V=q**2 / 2, name="magnetic")
    given = Dynamics.given(plain.mass_matrix, plain.bias, plain.kinetic_energy, q * v)
    with pytest.raises(ModelError, match="magnetic: the potential energy depends on the velocities"):
        canonical_form(dataclasses.replace(plain, dynamics=given))


def test_parameters_without_values_do_not_stop_the_derivation() -> None:
    q, v = ca.SX.sym("q"), ca.SX.sym("v")
    m = ca.SX.sym("m")
    robot = lagrangian_system(q=q, v=v, p=Parameters(("m",), m, {}), T=m * v**2 / 2, V=q**2 / 2)
    form = canonical_form(robot)
    assert form.evaluate(form.hamiltonian, q=[0.5], momenta=[2.0], p={"m": 4.0}) == pytest.approx(0.5 + 0.125)


def test_missing_and_wrong_arguments_are_named() -> None:
    form = canonical_form(two_link_arm())
    with pytest.raises(ShapeError, match="depends on momenta: pass momenta="):
        form.evaluate(form.hamiltonian, q=[0.1, 0.2])
    with pytest.raises(ShapeError, match=r"momenta must have shape \(2,\)"):
        form.evaluate(form.hamiltonian, q=[0.1, 0.2], momenta=[1.0])
    with pytest.raises(ModelError, match="uses v_q1"):
        form.evaluate(form.momentum, q=[0.1, 0.2], momenta=[1.0, 2.0])
    assert form.evaluate(form.robot.mass_matrix, q=[0.1, 0.2]).shape == (2, 2)
