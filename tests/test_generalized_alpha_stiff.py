"""The generalized-α method where motions are stiff: IFToMM's flyball governor, stiff oscillators, short steps."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.robots import Frame, lagrangian_system, tree_system
from erugin.robots.tree import WORLD, Body, Node, Prismatic, Revolute, Tree
from erugin.scenarios import simulate
from erugin.simulation import RK4, GeneralizedAlpha, SimulationError, Simulator, Variational
from erugin.simulation.integrators.generalized_alpha import AlphaEquations
from erugin.simulation.numeric_loop import close_loop
from erugin.symbolic import Parameters

from .flyball_governor import AXLE, BALL, COUPLER, END, PUBLISHED, ROD, SLIDER, G, governor, start

Array = NDArray[np.float64]


def test_the_governor_is_the_tree_of_bodies_of_the_benchmark() -> None:
    """M of the model by hand beside that of boxes and points on hinges and a slide."""
    eye, zero = ca.SX(ca.DM.eye(3)), ca.SX(ca.DM.zeros(3))
    across, along = COUPLER
    nodes = [
        Node(
            name="shaft",
            parent=WORLD,
            placement=Frame(eye, zero),
            joint=Revolute((0.0, 0.0, 1.0)),
            bodies=(
                Body(
                    name="shaft", mass=ca.SX(ROD), center=zero, inertia=ca.SX(ca.diag(ca.DM([0, 0, ROD * 2e-4 / 12])))
                ),
            ),
        ),
        Node(
            name="slider",
            parent=0,
            placement=Frame(eye, zero),
            joint=Prismatic((0.0, 0.0, 1.0)),
            bodies=(Body(name="slider", mass=ca.SX(SLIDER), center=zero, inertia=SLIDER * 0.02 / 12 * eye),),
        ),
    ]
    for side, name in ((1.0, "alpha1"), (-1.0, "alpha2")):
        rod = Body(
            name=name,
            mass=ca.SX(ROD),
            center=ca.SX(ca.DM([side * 0.5, 0, 0])),
            inertia=ca.diag(ca.SX(ca.DM([along, across, across]))),
        )
        ball = Body(name=f"ball {name}", mass=ca.SX(BALL), center=ca.SX(ca.DM([side, 0, 0])), inertia=ca.SX(3, 3))
        hinge = Frame(eye, ca.SX(ca.DM([side * AXLE, 0, 1])))
        nodes.append(Node(name=name, parent=0, placement=hinge, joint=Revolute((0.0, side, 0.0)), bodies=(rod, ball)))
    tree = tree_system(Tree(tuple(nodes), ca.SX(ca.DM([0, 0, -G]))), parameters=Parameters.declare({}))
    q = np.array([0.3, 0.4, 0.6, 0.9])
    robot = governor()
    np.testing.assert_allclose(robot.evaluate(robot.mass_matrix, q=q), tree.evaluate(tree.mass_matrix, q=q), atol=1e-14)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_the_governor_follows_the_published_curve(step: float) -> None:
    """10 s of the benchmark; 1e-2 s is eighty times the time constant of the dampers, and RK4 fails below 1e-3 s."""
    motion = simulate(governor(), None, *start(), 10.0, step=step, integrator=GeneralizedAlpha())
    height = np.interp(list(PUBLISHED), motion.t, motion.q[:, 1])
    np.testing.assert_allclose(height, list(PUBLISHED.values()), atol=3e-3)
    miss = np.abs(motion.q[-1] - END).max()
    assert miss < (4e-3 if step > 5e-3 else 4e-5)


def test_an_explicit_method_of_order_4_blows_up_at_half_that_step() -> None:
    with pytest.raises(SimulationError, match="run away") as caught:
        simulate(governor(), None, *start(), 10.0, step=5e-4, integrator=RK4())
    assert caught.value.trajectory.t[-1] < 0.1


@pytest.mark.parametrize("method", [GeneralizedAlpha(), Variational()])
def test_springs_without_mass_behind_loops_that_close(method: GeneralizedAlpha | Variational) -> None:
    """The same motion as a stiff closed chain whose mass matrix is singular: of order 2, and on the loops."""
    robot, (q, v) = governor(springs_as_coordinates=True), start(springs_as_coordinates=True)
    truth = simulate(governor(), None, *start(), 0.5, step=5e-5, integrator=RK4(), every=10_000)
    simulator = Simulator(robot, integrator=method)
    runs = [simulator.run(q, v, 0.5, step=step) for step in (2e-3, 1e-3, 5e-4)]
    misses = [[np.abs(x[-1, :4] - y[-1]).max() for x, y in ((run.q, truth.q), (run.v, truth.v))] for run in runs]
    table = np.array(misses)
    np.testing.assert_allclose(np.log2(table[:-1] / table[1:]), 2.0, atol=0.2)
    assert table[-1, 0] < 2e-6
    loops = runs[-1].evaluate(ca.vertcat(*(k.residual(robot.coordinates) for k in robot.natural)))
    assert np.abs(loops).max() < 1e-14


@pytest.mark.parametrize("radius", [0.0, 0.5, 0.8, 1.0])
def test_what_is_too_fast_shrinks_by_the_spectral_radius(radius: float) -> None:
    """A spring of 1e10 N/m on 1 kg beside steps of 10 ms: a thousand radians per step, and nothing else."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(q=q, v=v, p=Parameters.declare({}), T=v**2 / 2, V=1e10 * q**2 / 2)
    method = GeneralizedAlpha(radius)
    motion = simulate(robot, None, [1e-6], [0.0], 0.6, step=1e-2, integrator=method)
    assert method.amplification(1e5j * 1e-2) == pytest.approx(radius, abs=0.02)
    size = np.abs(motion.q[:, 0])
    if radius == 0.0:
        assert size[-1] < 1e-20
    else:
        # The three eigenvalues nearly coincide there, which lets it swell before it shrinks.
        late = np.log(size[-1] / size[-21]) / 20
        assert late == pytest.approx(np.log(radius), abs=0.12)


@pytest.mark.parametrize(("stiffness", "damping"), [(400.0, 3.0), (1e6, 10.0), (4.0, 0.1)])
def test_amplification_is_that_of_its_steps(stiffness: float, damping: float) -> None:
    """The ratio of amplitudes far into a decay, against the spectral radius at the complex pair."""
    q, v = ca.SX.sym("x"), ca.SX.sym("v")
    robot = lagrangian_system(
        q=q, v=v, p=Parameters.declare({}), T=v**2 / 2, V=stiffness * q**2 / 2, D=damping * v**2 / 2
    )
    method, step, steps = GeneralizedAlpha(0.8), 0.02, 400
    motion = simulate(robot, None, [1.0], [0.0], steps * step, step=step, integrator=method)
    root = complex(np.roots([1.0, damping, stiffness])[0])
    radius = method.amplification(root * step)
    # Of a pair r e^{±iθ} the square x_k² − x_{k+1} x_{k−1} is a multiple of r^{2k}.
    x = motion.q[:, 0]
    square = x[1:-1] ** 2 - x[2:] * x[:-2]
    found = (square[300] / square[100]) ** (1 / 400)
    assert found == pytest.approx(radius, rel=2e-3)
    assert radius < 1.0


def test_the_equations_of_a_step_are_conditioned_alike_however_short_it_is() -> None:
    """Condition number of the slope; in accelerations and multipliers it would grow like 1/h⁴ [Bottasso2007]_."""
    robot, (q, v) = governor(springs_as_coordinates=True), start(springs_as_coordinates=True)
    equations = AlphaEquations.of(close_loop(robot, None, None))
    z, rest = np.concatenate([v, np.zeros(2)]), np.zeros(6)
    alpha, p = np.array(GeneralizedAlpha().coefficients), robot.parameters.values()

    def condition(h: float) -> float:
        return float(np.linalg.cond(equations.newton.kernel(z, 0.0, h, alpha, q, v, rest, rest, p)[1]))

    # Where the springs are not stiff beside the step any more.
    short = [condition(h) for h in (1e-7, 1e-8, 1e-9)]
    assert max(short) < 1.05 * min(short)
    assert condition(1e-3) < 1e7
