"""The exoskeleton of two links is that of [ChigarevBorisov2015]_, by its printed equations (2) to (6)."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots import TelescopicLink, exoskeleton
from erugin.robots.formulations import FORMULATIONS, Formulation
from erugin.symbolic import Kernel

from .chains import Comparison
from .references import chigarev_borisov as paper

STATES = 120
NAMES = ("phi1", "phi2", "l1", "l2")


def random_values(rng: np.random.Generator) -> dict[str, float]:
    """Numbers for everything that the paper's equations hold."""
    values = {f"m{i}": rng.uniform(0.5, 5.0) for i in (1, 2)} | {f"I{i}": rng.uniform(0.01, 0.3) for i in (1, 2)}
    values |= {f"n{i}": rng.uniform(0.1, 0.9) for i in (1, 2)} | {f"k{i}": rng.uniform(10.0, 900.0) for i in (1, 2)}
    values |= {f"l{i}0": rng.uniform(0.3, 1.2) for i in (1, 2)} | {f"M{i}": rng.uniform(-30.0, 30.0) for i in (1, 2)}
    return values | {"g": rng.uniform(1.0, 12.0)}


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=lambda f: f.name)
def test_the_printed_equations(formulation: Formulation) -> None:
    """M, h, B u, and (3) to (6) along the acceleration, for random parameters too: one robot serves them all."""
    link = TelescopicLink(mass=1.0, inertia=1.0, center_ratio=0.5, stiffness=1.0, rest_length=1.0)
    robot = exoskeleton([link, link], formulation=formulation)
    assert robot.coordinates.names == NAMES
    assert robot.input_names == ("M1", "M2")
    outputs = {
        "M": robot.mass_matrix,
        "h": robot.bias,
        "Q": robot.input_matrix @ robot.u - robot.bias,
        "a": robot.acceleration,
    }
    symbols = {"t": robot.t, "q": robot.q, "v": robot.v, "u": robot.u, "p": robot.p}
    kernel = Kernel("printed", symbols, outputs, compiled=False)
    mass, bias, forces, motion = (Comparison(1.0) for _ in range(4))
    rng = np.random.default_rng(7)
    for _ in range(STATES):
        values = random_values(rng)
        p = robot.parameters.values(
            {**{k: x for k, x in values.items() if k in robot.parameters.names}, **rests(values)}
        )
        q = np.concatenate([rng.uniform(-np.pi, np.pi, 2), rng.uniform(0.2, 1.5, 2)])
        v, u = rng.uniform(-4.0, 4.0, 4), np.array([values["M1"], values["M2"]])
        M, h, Q, a = kernel(0.0, q, v, u, p)
        mass.add(M, paper.mass_matrix(*q, *(values[key] for key in ("m1", "m2", "n1", "n2", "I1", "I2"))))
        bias.add(h, paper.bias(q, v, values))
        # Velocity products are no part of (2).
        forces.add(Q + paper.velocity_forces(q, v, values), paper.generalised_forces(q, values))
        motion.add(M @ a, paper.generalised_forces(q, values) - paper.velocity_forces(q, v, values))
        terms = np.abs(M) @ np.abs(a) + np.abs(h) + np.abs(u).max()
        assert (np.abs(paper.left_side(q, v, a, values)) <= 1e-12 * terms.max()).all()
    for comparison in (mass, bias, forces, motion):
        assert comparison.count >= 100
        comparison.conclude()


def rests(values: dict[str, float]) -> dict[str, float]:
    """The rest lengths by the robot's names for them."""
    return {"L1": values["l10"], "L2": values["l20"]}
