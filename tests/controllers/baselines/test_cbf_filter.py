"""The obstacle filter: it keeps what it promises, does nothing where nothing is needed, and says what it cannot."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from erugin.constraints import circle
from erugin.controllers import ProgramController, Reference, Status
from erugin.controllers.baselines import BarrierFunction, CbfFilter, ComputedTorque, OperationalSpace, PDGravity
from erugin.controllers.bounded import QpSolution, QpSolver, QuadraticProgram
from erugin.controllers.wrappers import SampleAndHold
from erugin.robots import Limits, Robot
from erugin.scenarios import simulate
from erugin.simulation import SimulationError, Simulator, Trajectory
from erugin.symbolic import ModelError, NotConvergedError

from ...support.arms import disc_program, two_link_arm
from ...support.point_masses import MASS, point_mass
from ...support.urdf import seven_joint_arm

Array = NDArray[np.float64]
GAMMA = 4.0
GOAL, REST = np.array([4.0, 0.0]), np.zeros(2)


@pytest.fixture(scope="module")
def mass() -> Robot:
    return point_mass()


def discs(robot: Robot, swirl: float = 0.0) -> list[BarrierFunction]:
    """Two discs that drift."""
    shapes = [
        circle((2.0, 0.3), 0.6, velocity=(-0.1, 0.05), name="one"),
        circle((3.0, -1.5), 0.5, velocity=(0.0, 0.3), name="two"),
    ]
    return [BarrierFunction.outside(robot, robot.q, shape, margin=0.05, swirl=swirl) for shape in shapes]


@pytest.fixture(scope="module")
def filtered(mass: Robot) -> CbfFilter:
    return CbfFilter(PDGravity(mass, Reference.at_rest(mass, GOAL), rate=1.5), discs(mass), rate=GAMMA)


def scene(rng: np.random.Generator) -> dict[str, float]:
    """Positions and velocities of two discs; the first drifts across the path."""
    given: dict[str, float] = {}
    for name, x in (("one", 1.5), ("two", 3.0)):
        given |= {f"{name}.x": x + rng.uniform(-0.3, 0.3), f"{name}.y": rng.uniform(-0.6, 0.6)}
        given |= {f"{name}.vx": rng.uniform(-0.2, 0.1), f"{name}.vy": rng.uniform(-0.3, 0.3)}
        given |= {f"{name}.radius": rng.uniform(0.2, 0.5)}
    return given


def values(law: CbfFilter, motion: Trajectory, p: dict[str, float] | None = None) -> Array:
    """h of each barrier at each sample, shape (N, m)."""
    rows = zip(motion.t, motion.q, motion.v, strict=True)
    return np.array([law.values(float(t), q, v, p) for t, q, v in rows])


def test_drifting_discs_are_never_entered(mass: Robot, filtered: CbfFilter) -> None:
    rng, hit = np.random.default_rng(0), 0
    simulator, bare = Simulator(mass, filtered), simulate(mass, filtered.inner, REST, REST, 3.0, step=1e-2)
    for _ in range(6):
        given = scene(rng)
        motion = simulator.run(REST, REST, 3.0, step=1e-2, controller_p=given)
        assert values(filtered, motion, given).min() > -1e-9
        assert motion.ok
        hit += int(values(filtered, bare, given).min() < 0.0)
    # Without the filter the straight way leads through one of them more often than not.
    assert hit > 3


def by_hand(t: float, x: Array, v: Array, p: dict[str, float]) -> tuple[Array, Array, Array]:
    """Normals n, right sides b of n·a ≥ b, and h, of the two discs, by paper and pencil."""
    normals, right, heights = list[Array](), list[float](), list[float]()
    for name in ("one", "two"):
        u = np.array([p[f"{name}.vx"], p[f"{name}.vy"]])
        d = x - np.array([p[f"{name}.x"], p[f"{name}.y"]]) - u * t
        size, w = float(np.hypot(*d)), v - u
        n = d / size
        h, rate = size - p[f"{name}.radius"] - 0.05, float(n @ w)
        normals.append(n)
        heights.append(h)
        right.append(-float(w @ w - rate**2) / size - 2 * GAMMA * rate - GAMMA**2 * h)
    return np.array(normals), np.array(right), np.array(heights)


def test_the_input_is_the_solution_of_the_quadratic_programme(filtered: CbfFilter) -> None:
    """Against the dual problem, solved by Lawson and Hanson's non-negative least squares in SciPy."""
    rng, seen = np.random.default_rng(8), np.zeros(3, dtype=np.int64)
    for _ in range(200):
        p = dict(filtered.parameters.nominal) | scene(rng) | {"one.y": 0.7, "two.x": 1.8, "two.y": -0.7}
        t, x, v = float(rng.uniform(0, 1)), rng.uniform([0.8, -0.1], [1.6, 0.1]), rng.uniform([0, -0.2], [3, 0.2])
        normals, right, heights = by_hand(t, x, v, p)
        np.testing.assert_allclose(filtered.values(t, x, v, p), heights, atol=1e-8)
        nominal = filtered.inner.control(t, x, v)
        # min ½ m |a − a₀|² with n·a ≥ b: a = a₀ + nᵀλ/m, λ ≥ 0 least of ½ λᵀ K λ − r λ.
        K, r = normals @ normals.T / MASS, right - normals @ nominal / MASS
        L = np.linalg.cholesky(K)
        pushes = nnls(L.T, np.linalg.solve(L, r))[0]
        expected = nominal + normals.T @ pushes
        size = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(filtered.control(t, x, v, p), expected, atol=1e-7 * size)
        seen[np.count_nonzero(pushes)] += 1
    assert (seen > 10).all()


def test_where_nothing_is_needed_the_nominal_input_is_handed_on_as_it_is(filtered: CbfFilter) -> None:
    for q in ([0.0, 0.0], [-1.0, 1.0]):
        given = filtered.control(0.0, q, [0.1, 0.1])
        assert np.array_equal(given, filtered.inner.control(0.0, q, [0.1, 0.1]))
    assert not np.array_equal(
        filtered.control(0.0, [1.2, 0.2], [1.0, 0.0]), filtered.inner.control(0.0, [1.2, 0.2], [1, 0])
    )


def test_an_arm_approaches_a_barrier_by_its_equation() -> None:
    """While it is active, ḧ + 2 γ ḣ + γ² h = 0, by differences of h along the motion of an arm past a drifting disc."""
    arm = two_link_arm()
    tip = arm.points["tip"]
    q0 = np.array([-0.9, 1.4])
    start = arm.evaluate(tip, q=q0)
    disc = circle(start + np.array([-0.05, 0.25]), 0.08, velocity=(0.0, -0.02), name="disc")
    nominal = OperationalSpace(arm, tip, start + np.array([-0.1, 0.5]), rate=3.0)
    law = CbfFilter(nominal, BarrierFunction.outside(arm, tip, disc, margin=0.01), rate=GAMMA)
    step = 2e-3
    motion = simulate(arm, law, q0, REST, 4.0, step=step)
    assert motion.ok
    assert np.linalg.norm(motion.deviation[-1]) < 5e-3
    h = values(law, motion)[:, 0]
    assert h.min() > 0.0
    bend, slope = (h[2:] - 2 * h[1:-1] + h[:-2]) / step**2, (h[2:] - h[:-2]) / (2 * step)
    condition = bend + 2 * GAMMA * slope + GAMMA**2 * h[1:-1]
    asked = np.array([nominal.control(t, q, v) for t, q, v in zip(motion.t, motion.q, motion.v, strict=True)])
    changed = np.abs(motion.u - asked).max(axis=1) > 1e-9
    # Differences straddle the instants at which it comes on and goes off.
    inner = changed[1:-1] & changed[2:] & changed[:-2]
    assert np.count_nonzero(inner) > 100
    assert np.abs(condition[inner]).max() < 1e-3
    assert condition[~changed[1:-1]].min() > -1e-2


@pytest.mark.slow
def test_a_goal_straight_behind_a_disc_needs_a_swirl(mass: Robot) -> None:
    """The filter alone comes to rest in front of it [Reis2021]; with a swirl it goes around on the given side."""
    disc = circle((2.0, 0.0), 0.6, name="disc")
    nominal = PDGravity(mass, Reference.at_rest(mass, GOAL), rate=1.5)
    ends = {}
    for swirl, side in ((0.0, 1), (0.7, 1), (0.7, -1)):
        barrier = BarrierFunction.outside(mass, mass.q, disc, margin=0.05, swirl=swirl, side=side)
        motion = simulate(mass, CbfFilter(nominal, barrier, rate=GAMMA), REST, REST, 10.0, step=2e-2)
        assert motion.ok
        assert (np.hypot(*(motion.q - [2.0, 0.0]).T) > 0.65 - 1e-9).all()
        ends[swirl, side] = motion.q
    np.testing.assert_allclose(ends[0.0, 1][-1], [1.35, 0.0], atol=1e-3)
    for side in (1, -1):
        assert np.hypot(*(ends[0.7, side][-1] - GOAL)) < 1e-3
        # The normal points back at the mass: its left is below.
        assert np.sign(ends[0.7, side][:, 1].sum()) == -side


def test_walls_that_close_are_both_named_and_the_middle_is_held(mass: Robot) -> None:
    t, x = mass.t, mass.q[0]
    walls = [BarrierFunction("left wall", x - 0.5 * t), BarrierFunction("right wall", 1.0 - 0.5 * t - x)]
    law = CbfFilter(PDGravity(mass, Reference.at_rest(mass, [0.4, 0.0]), rate=3.0), walls, rate=GAMMA)
    motion = simulate(mass, law, [0.4, 0.0], REST, 2.0, step=1e-2)
    limited = motion.status == Status.LIMITED
    assert limited.any()
    assert not limited[0]
    # They meet at t = 1; before that there is no acceleration that is gentle to both.
    first = motion.t[limited][0]
    assert 0.5 < first <= 1.0
    message = " ".join(text for _, text in motion.notes)
    assert "'left wall' cannot be satisfied" in message
    assert "'right wall' cannot be satisfied" in message
    after = motion.q[motion.t > 1.7]
    np.testing.assert_allclose(after[:, 0], 0.5, atol=1e-2)


def test_inputs_stay_within_their_bounds_and_missed_barriers_are_reported(mass: Robot) -> None:
    bounded = replace(mass, limits=Limits(np.full(2, -np.inf), np.full(2, np.inf), np.full(2, np.inf), np.full(2, 3.0)))
    wall = BarrierFunction("wall", 1.0 - bounded.q[0])
    law = CbfFilter(PDGravity(bounded, Reference.at_rest(bounded, [3.0, 0.0]), rate=3.0), wall, rate=GAMMA)
    reported = law.observe(0.0, [0.9, 0.0], [2.0, 0.0])
    assert reported.status is Status.LIMITED
    assert reported.output[0] == -3.0
    # a = −1.5 in place of −2 γ v̇ … : ḧ + 2γḣ + γ²h = 1.5 − 16 + 1.6.
    assert reported.message.startswith("Barrier 'wall' is approached too fast: -0.4")
    assert "barrier 'wall' cannot be satisfied: its condition is violated by 12.9" in reported.message
    motion = simulate(bounded, law, [0.0, 0.0], [0.0, 0.0], 3.0, step=5e-3)
    assert np.abs(motion.u).max() <= 3.0
    assert "Input 'f_0' is limited to 3 instead of" in " ".join(text for _, text in motion.notes)
    free = CbfFilter(law.inner, wall, rate=GAMMA, bounded=False)
    assert free.control(0.0, [0.9, 0.0], [2.0, 0.0])[0] == pytest.approx(-MASS * (2 * GAMMA * 2.0 - GAMMA**2 * 0.1))


def test_a_start_inside_is_reported_and_left(mass: Robot, filtered: CbfFilter) -> None:
    motion = simulate(mass, filtered, [1.6, 0.3], [0.0, 0.0], 3.0, step=5e-3)
    h = values(filtered, motion)[:, 0]
    assert h[0] < -0.2
    assert motion.status[0] == Status.LIMITED
    assert "'one_barrier' is violated" in motion.notes[0][1]
    assert motion.status[-1] == Status.OK
    assert h[-1] > -1e-6


def test_a_barrier_out_of_the_inputs_reach_is_reported(mass: Robot) -> None:
    """In the middle between two walls that push nowhere, h = x² − 1 and its slope is zero: γ² h = −16 is missed."""
    nominal = PDGravity(mass, Reference.at_rest(mass, REST), rate=3.0)
    reported = CbfFilter(nominal, BarrierFunction("walls", mass.q[0] ** 2 - 1.0), rate=GAMMA).observe(0.0, REST, REST)
    assert reported.status is Status.LIMITED
    assert "its condition is violated by 16" in reported.message
    assert np.isfinite(reported.output).all()


def test_velocities_and_forces_may_be_filtered_too() -> None:
    """A bound on the tip's speed, kept around a program whose ideal force is applied."""
    arm = two_link_arm()
    law = ProgramController(disc_program(arm))
    speed = arm.coordinates.rate(arm.points["tip"])
    limit = BarrierFunction("speed", 0.12**2 - ca.sumsqr(speed))
    filtered = CbfFilter(law, limit, rate=20.0)
    assert filtered.applies_force
    assert filtered.rows == law.rows
    q0 = np.array([-1.0935, 1.1286])
    motion = simulate(arm, filtered, q0, [0.0, 0.0], 1.0, step=1e-3)
    bare = simulate(arm, law, q0, [0.0, 0.0], 1.0, step=1e-3)
    assert bare.evaluate(ca.norm_2(speed)).max() > 0.14
    fastest = motion.evaluate(ca.norm_2(speed)).max()
    assert 0.119 < fastest < 0.12 + 1e-9
    assert motion.deviation.shape == bare.deviation.shape


@pytest.mark.foreign
def test_joint_limits_become_barriers() -> None:
    robot = seven_joint_arm()
    barriers = BarrierFunction.joint_limits(robot, margin=0.05)
    assert len(barriers) == 14
    q = np.clip(np.zeros(7), robot.limits.lower, robot.limits.upper)
    heights = [float(robot.evaluate(barrier.value, q=q)) for barrier in barriers]
    expected = np.column_stack([q - robot.limits.lower, robot.limits.upper - q]).ravel() - 0.05
    np.testing.assert_allclose(heights, expected)
    with pytest.raises(ModelError, match="leave no range with a margin of 9"):
        BarrierFunction.joint_limits(robot, margin=9.0)
    with pytest.raises(ModelError, match="has no finite limits of its coordinates"):
        BarrierFunction.joint_limits(two_link_arm())


def test_the_memory_of_what_is_inside_is_kept(mass: Robot) -> None:
    held = SampleAndHold(ComputedTorque(mass, Reference.at_rest(mass, [0.5, 0.0]), rate=3.0), 0.05)
    far = BarrierFunction("far", 100.0 - mass.q[0])
    alone = simulate(mass, held, [0.0, 0.0], [0.3, 0.2], 1.0, step=1e-2)
    inside = simulate(mass, CbfFilter(held, far), [0.0, 0.0], [0.3, 0.2], 1.0, step=1e-2)
    assert np.array_equal(alone.u, inside.u)
    assert len(np.unique(alone.u[:, 0])) < 25


class Failing(QpSolver):
    """Finds nothing."""

    def solve(self, program: QuadraticProgram, start: QpSolution | None = None) -> QpSolution:
        n, k = program.A.shape[1], len(program.A)
        return QpSolution(np.full(n, np.nan), np.full(n + k, np.nan))


def test_a_solver_that_fails_is_reported(mass: Robot) -> None:
    nominal = PDGravity(mass, Reference.at_rest(mass, GOAL))
    law = CbfFilter(nominal, discs(mass), solver=Failing())
    law.control(0.0, GOAL, REST)
    with pytest.raises(NotConvergedError, match="found no input for the barriers 'one_barrier', 'two_barrier'"):
        law.control(0.0, [1.3, 0.3], [1.0, 0.0])
    with pytest.raises(SimulationError) as caught:
        simulate(mass, law, [0.0, 0.0], [0.0, 0.0], 3.0, step=1e-2)
    assert caught.value.status is Status.NOT_CONVERGED


def test_what_does_not_fit_is_refused(mass: Robot) -> None:
    nominal = PDGravity(mass, Reference.at_rest(mass, GOAL))
    disc = circle((2.0, 0.0), 0.6, name="disc")
    barrier = BarrierFunction.outside(mass, mass.q, disc)
    for given in ([barrier, barrier], []):
        with pytest.raises(ModelError, match="barriers with different names"):
            CbfFilter(nominal, given)
    with pytest.raises(ModelError, match="wraps a Controller"):
        CbfFilter(mass, barrier)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="rate of 'cbf' must be greater than zero"):
        CbfFilter(nominal, barrier, rate=0.0)
    with pytest.raises(ModelError, match="no input of system changes barrier 'clock'"):
        CbfFilter(nominal, BarrierFunction("clock", 1.0 - mass.t))
    with pytest.raises(ModelError, match="must be a function of time, position"):
        CbfFilter(nominal, BarrierFunction("force", 1.0 - mass.u[0]))
    with pytest.raises(ModelError, match=r"side must be \+1 or -1"):
        BarrierFunction.outside(mass, mass.q, disc, side=2)
    with pytest.raises(ModelError, match="has 2 dimensions, the point 3"):
        BarrierFunction.outside(mass, ca.vertcat(mass.q, 0.0), disc)
