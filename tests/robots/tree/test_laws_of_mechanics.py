"""Laws at random states: M > 0, Ṁ − 2C skew, energy kept, and reactions that do no work."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from erugin.constraints import holonomic, nonholonomic
from erugin.robots import Robot
from erugin.robots.tree import Floating
from erugin.scenarios import simulate
from erugin.simulation import DOP853, Trajectory

from ...support.probes import Probe
from ...support.references import tree_numpy
from ...support.references.tree_numpy import STENCIL, STEP, TreeData
from ...support.tree_families import FAMILIES, default, random_states, tree_of
from ...support.trees import TREES, State, assert_close, states

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


@pytest.mark.foreign
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


TIGHT = DOP853(1e-13, 1e-14)
DURATION = 10.0
FREE = (
    "manipulator-3-relative-horizontal",
    "manipulator-2-absolute-down",
    "exoskeleton-pinned",
    "exoskeleton-branched",
    "exoskeleton-stretched-in-space",
    "leg",
    "tree-floating base",
    "tree-two floating bodies",
    "tree-telescopes in the plane",
    "tree-everything",
    "urdf-ur5",
    "urdf-double-pendulum-in-flight",
)


def numbers(robot: Robot) -> dict[str, float]:
    """No resistances; springs that let the integrator take long steps; what nothing holds falls slowly."""
    changed: dict[str, float] = {}
    falls = any(re.search(r"^(x|h0|g0)$|^root", name) for name in (*robot.parameters.names, *robot.coordinates.names))
    for name, value in robot.nominal.items():
        if RESISTANCES.fullmatch(name):
            changed[name] = 0.0
        elif re.fullmatch(r"k\d+", name):
            changed[name] = 200.0
        elif falls and re.fullmatch(r"g\d?", name):
            changed[name] = value / 20.0
    return changed


def assert_energy_is_kept(motion: Trajectory) -> None:
    """To 1e-10 of the greatest kinetic energy, of which some must have been exchanged."""
    kinetic = motion.evaluate(motion.robot.kinetic_energy)
    assert motion.t[-1] == DURATION
    assert np.ptp(kinetic) > 0.2 * kinetic.max()
    assert np.abs(motion.energy - motion.energy[0]).max() <= 1e-10 * kinetic.max()


@pytest.mark.parametrize("name", FREE)
def test_free_motion_keeps_its_energy(name: str) -> None:
    robot = default(name)
    q, v, _ = next(random_states(robot, 5, 1))
    motion = simulate(robot, None, q, v, DURATION, step=0.05, integrator=TIGHT, p=numbers(robot))
    assert_energy_is_kept(motion)
    assert np.ptp(motion.q, axis=0).min() > 1e-2  # all of it moved
    for node in tree_of(robot).nodes:
        if isinstance(node.joint, Floating):
            at = [robot.coordinates.names.index(f"{node.name}{suffix}") for suffix in node.joint.suffixes[3:]]
            assert np.abs(np.linalg.norm(motion.q[:, at], axis=1) - 1.0).max() <= 1e-12


def test_a_torque_that_resists_takes_energy() -> None:
    """The check above would notice a damper of 0.01 N s/m."""
    robot = default("exoskeleton-pinned")
    q, v, _ = next(random_states(robot, 5, 1))
    p = numbers(robot) | {"d2": 0.01}
    motion = simulate(robot, None, q, v, DURATION, step=0.05, integrator=TIGHT, p=p)
    with pytest.raises(AssertionError):
        assert_energy_is_kept(motion)


class Case(NamedTuple):
    """A tree, the node that a constraint takes hold of, and the rows of the constraint by NumPy."""

    tree: str
    node: int
    kind: str


CASES = {
    "tip pinned in the plane": Case("parallel hinges", 3, "pin in the plane"),
    "skate": Case("plane, all joints", 3, "skate"),
    "body hung on a point": Case("floating base", 3, "pin"),
    "loop of telescopes": Case("telescopes in the plane", 3, "pin in the plane"),
    "skate in space": Case("everything", 4, "skate"),
}


@functools.cache
def constrained(label: str) -> tuple[Robot, State]:
    """The robot with its constraint, and a state that obeys it."""
    case = CASES[label]
    data = TREES[case.tree].data
    robot = TREES[case.tree].robot()
    state = next(states(data, seed=21))
    rows = rows_of(case, data)(state.q)
    v = state.v - np.linalg.pinv(rows) @ rows @ state.v
    frame = robot.frames[f"j{case.node}"]
    if case.kind == "skate":
        velocity = ca.jtimes(frame.position, robot.q, robot.coordinates.N @ robot.v)
        constraint = nonholonomic(ca.dot(frame.rotation[:, 1], velocity), name="skate")
    else:
        kept = 2 if case.kind == "pin in the plane" else 3
        place = robot.evaluate(frame.position, q=state.q)
        constraint = holonomic(frame.position[:kept] - ca.DM(place[:kept]), name="pin")
    return dataclasses.replace(robot, natural=(constraint,)), State(state.q, v, state.u)


def rows_of(case: Case, data: TreeData) -> Callable[[Array], Array]:
    """A(q), shape (k, nv), from the positions."""

    def rows(q: Array) -> Array:
        J = tree_numpy.frame_jacobian(data, q, case.node)[:3]
        if case.kind == "skate":
            rotation = tree_numpy.poses(data, q)[0][case.node].rotation
            return np.asarray(rotation[:, 1:2].T @ J)
        return J[:2] if case.kind == "pin in the plane" else J

    return rows


@pytest.mark.parametrize("label", CASES)
def test_accelerations_and_reactions_solve_the_whole_system(label: str) -> None:
    """(M, -Aᵀ; A, 0) (a; μ) = (B u - h; -dA/dt v), with every block from the positions."""
    case = CASES[label]
    robot, (q, v, u) = constrained(label)
    data = TREES[case.tree].data
    rows = rows_of(case, data)
    along = tree_numpy.kinematics(data, q) @ v
    A = rows(q)
    turning = sum(
        (w * (rows(q + s * STEP * along) - rows(q - s * STEP * along)) for s, w in STENCIL.items()), np.zeros_like(A)
    )
    k = len(A)
    M, h = tree_numpy.mass_matrix(data, q), tree_numpy.bias(data, q, v)
    whole = np.block([[M, -A.T], [A, np.zeros((k, k))]])
    right = np.append(u - h, -turning / STEP @ v)
    expected = np.linalg.solve(whole, right)
    assert_close(robot.evaluate(robot.acceleration, q=q, v=v, u=u), expected[:-k])
    assert_close(robot.evaluate(robot.reactions, q=q, v=v, u=u), expected[-k:])
    assert np.abs(expected[-k:]).max() > 0.1


@pytest.mark.parametrize("label", CASES)
def test_reactions_do_no_work(label: str) -> None:
    """The energy grows by the power of the inputs alone, though the reactions push."""
    robot, (q, v, u) = constrained(label)
    c = robot.coordinates
    energy = robot.kinetic_energy + robot.potential_energy
    growth = ca.jtimes(energy, ca.vertcat(c.q, c.v), ca.vertcat(c.N @ c.v, robot.acceleration))
    pushing = robot.natural_form[0].T @ robot.reactions
    pushes = robot.evaluate(pushing, q=q, v=v, u=u)
    size = float(np.abs(pushes) @ np.abs(v) + np.abs(u) @ np.abs(v))
    assert np.abs(pushes) @ np.abs(v) > 1.0
    assert abs(float(pushes @ v)) <= 1e-13 * size
    assert abs(float(robot.evaluate(growth, q=q, v=v, u=u)) - float(u @ v)) <= 1e-12 * size


@pytest.mark.parametrize("label", CASES)
def test_motion_under_constraints_keeps_its_energy(label: str) -> None:
    robot, (q, v, _) = constrained(label)
    slow = {f"g{i}": robot.nominal[f"g{i}"] / 20.0 for i in range(3)}
    motion = simulate(robot, None, q, v, DURATION, step=0.05, integrator=TIGHT, p=slow)
    assert_energy_is_kept(motion)
    deviation = motion.evaluate(robot.natural[0].residual(robot.coordinates))
    assert np.abs(deviation).max() <= 1e-9
