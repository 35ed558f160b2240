"""The linear-quadratic regulator about an equilibrium, weights by Bryson, and the region of attraction."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.runge_kutta import rk4_step
from ...symbolic.validation import positive, require_memory, step_count, vector, whole
from ..controller import SymbolicController
from ..law import Law
from ..linearization.equilibrium import equilibrium
from ..linearization.linearizer import Linearization, LinearizedMotion, Linearizer
from ..traits import Trait

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BrysonWeights:
    """Q = diag(1/e²) and R = diag(1/f²), so that each allowed deviation has the same cost, [BrysonHo1975]_.

    Attributes:
        errors: allowed deviation of coordinates and velocities by name [their units]; ``otherwise`` for others.
        efforts: allowed change of inputs by name [their units]; ``effort`` for others.
        otherwise: allowed deviation of states that are not named.
        effort: allowed change of inputs that are not named.

    Raises:
        ModelError: for an allowance that is not greater than zero.
    """

    errors: Mapping[str, float] = field(default_factory=dict[str, float])
    efforts: Mapping[str, float] = field(default_factory=dict[str, float])
    otherwise: float = 1.0
    effort: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers and freeze the mappings."""
        for name in ("errors", "efforts"):
            if not isinstance(getattr(self, name), Mapping):
                raise ModelError(
                    f"{name} must be allowed values by name, such as {{'q1': 0.1}}, got {getattr(self, name)!r}; use "
                    "otherwise= or effort= for one number for all"
                )
            values = {key: positive(f"allowance of {key!r}", value) for key, value in getattr(self, name).items()}
            object.__setattr__(self, name, MappingProxyType(values))
        object.__setattr__(self, "otherwise", positive("otherwise", self.otherwise))
        object.__setattr__(self, "effort", positive("effort", self.effort))

    @staticmethod
    def require(weights: object) -> BrysonWeights:
        """Return the argument if it is BrysonWeights.

        Args:
            weights: the argument to check.

        Raises:
            ModelError: for another type.
        """
        if not isinstance(weights, BrysonWeights):
            raise ModelError(f"weights must be BrysonWeights, got {weights!r}")
        return weights

    def of(self, line: Linearization | LinearizedMotion) -> tuple[Array, Array]:
        """Return Q, shape (n, n), for the states of a linearization and R, shape (nu, nu).

        Dependent coordinates do not count: name the independent ones.

        Args:
            line: linearization with the names of its states and inputs.

        Raises:
            ModelError: for a name that is not one of them.
        """
        return (
            _diagonal("state", self.errors, self.otherwise, line.states),
            _diagonal("input", self.efforts, self.effort, line.inputs),
        )


def _diagonal(kind: str, given: Mapping[str, float], otherwise: float, names: tuple[str, ...]) -> Array:
    for name in given:
        if name not in names:
            raise ModelError(unknown_name(kind, name, names))
    return np.diag([given.get(name, otherwise) ** -2.0 for name in names])


class Lqr(SymbolicController):
    """u = u₀ − K ξ, which makes ∫ (ξᵀQξ + δuᵀRδu) dt least for the linearized robot, [AndersonMoore1990]_.

    ξ are the deviations of as many coordinates and velocities as the natural constraints leave free. K = R⁻¹BᵀP with
    AᵀP + PA − PBR⁻¹BᵀP + Q = 0 comes from ``control.lqr``; its entries are parameters of the law. The weights follow
    from allowed deviations by Bryson's rule. The law is linear: use
    :class:`~erugin.controllers.wrappers.Saturation` for limits.

    Attributes:
        linearization: A, B and the states ξ at the equilibrium.
        weights: allowed deviations that define Q and R.
        gain: K at the nominal parameters, shape (nu, n).
        cost: P, shape (n, n): ξᵀPξ is the least cost from ξ on.
        poles: poles of the closed loop, A − B K [1/s], n of them.
    """

    supports = frozenset({Trait.CLOSED_LOOPS, Trait.UNDERACTUATED, Trait.OVERACTUATED, Trait.SINGULAR_INERTIA})

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike,
        u: ArrayLike | None = None,
        *,
        weights: BrysonWeights,
        turns: Sequence[str] = (),
        p: Mapping[str, float] | ArrayLike | None = None,
        name: str = "lqr",
    ) -> None:
        """Linearize and solve the Riccati equation.

        Args:
            robot: the model.
            q: coordinates of an equilibrium, shape (nq,).
            u: inputs that hold it, shape (nu,); found if not given.
            weights: allowed deviations of states and inputs, in their units.
            turns: names of angles that are compared modulo a whole turn.
            p: the robot's parameters at which the gains are computed: nominal, overridden by name, or the whole vector.
            name: prefix of the gains' names.

        Raises:
            NoEquilibriumError: if the inputs cannot hold q; the message gives the missing forces.
            ModelError: for a robot that the law does not support, inputs beyond ``robot.limits``, unknown angles, or a
                robot that no feedback stabilizes; the message gives the uncontrollable eigenvalues.
        """
        self.check_supported(robot)
        self.robot = robot
        place = vector("q", q, robot.coordinates.nq)
        still = equilibrium(robot, place, u, fixed=robot.coordinates.names, p=p)
        self.weights = BrysonWeights.require(weights)
        require_within_effort(robot, still.u, "hold this position")
        self._turns = wrapping_angles(robot, turns)
        rest = np.zeros(robot.coordinates.nv)
        self.linearization = Linearizer(robot).at(0.0, place, rest, still.u, p=p)
        self.gain, self.cost, self.poles = solve_lqr(self.linearization, weights.of(self.linearization), robot.name)
        rows, columns = self.gain.shape
        gains = {f"K[{i},{j}]": float(self.gain[i, j]) for i in range(rows) for j in range(columns)}
        self._gains = Parameters.declare(gains, name)
        self.parameters = Parameters.collect([robot.parameters, self._gains])
        self.reset()

    @property
    def deviations(self) -> ca.SX:
        """ξ as expressions in q and v, shape (n,); angles in ``turns`` are within half a turn."""
        line, c = self.linearization, self.robot.coordinates
        at: list[float] = [*line.q.tolist(), *line.v.tolist()]
        x, names = ca.vertcat(c.q, c.v), (*c.names, *("" for _ in range(c.nv)))
        found: list[ca.SX] = [x[i] - at[i] for i in line.independent]
        for k, i in enumerate(line.independent):
            if names[i] in self._turns:
                found[k] = ca.atan2(ca.sin(x[i] - at[i]), ca.cos(x[i] - at[i]))
        return ca.vertcat(ca.SX(0, 1), *found)

    @property
    def cost_to_go(self) -> ca.SX:
        """ξᵀPξ as an expression in q and v: the cost from this state on, for the linearized robot."""
        xi = self.deviations
        return xi.T @ ca.SX(ca.DM(self.cost)) @ xi

    def build_law(self) -> Law:
        """Build u = u₀ − K ξ."""
        rows, columns = self.gain.shape
        K = ca.reshape(self._gains.symbols, columns, rows).T
        xi = self.deviations
        u = ca.SX(ca.DM(self.linearization.u)) - K @ xi
        return Law.of_errors(u, xi, self.linearization.states)


def wrapping_angles(robot: Robot, angles: Sequence[str]) -> tuple[str, ...]:
    """Check the names of angles that are compared modulo a whole turn, and return them.

    Args:
        robot: the model.
        angles: names of coordinates.

    Raises:
        ModelError: for an unknown name.
    """
    names = (angles,) if isinstance(angles, str) else tuple(angles)
    for name in names:
        if name not in robot.coordinates.names:
            raise ModelError(f"{robot.name}: {unknown_name('angle', name, robot.coordinates.names)}")
    return names


def require_within_effort(robot: Robot, needed: Array, purpose: str) -> None:
    """Raise ModelError unless the robot's limits admit some inputs.

    Args:
        robot: the model.
        needed: inputs, shape (nu,).
        purpose: purpose of the inputs, for the message.
    """
    for name, bound, value in zip(robot.input_names, robot.limits.effort, needed, strict=True):
        if abs(value) > bound * (1.0 + 1e-9):
            raise ModelError(
                f"{robot.name}: {name} must be {value:.4g} to {purpose}, beyond the {bound:g} that its limits allow: "
                "use a less demanding goal, or give the robot other limits by erugin.robots.with_limits"
            )


def solve_lqr(
    line: Linearization, weights: tuple[Array, Array], owner: str
) -> tuple[Array, Array, NDArray[np.complex128]]:
    """Return K, P and the closed loop's poles from ``control.lqr``.

    Args:
        line: linearization with A and B.
        weights: Q, shape (n, n), and R, shape (nu, nu).
        owner: name of the robot, for messages.

    Raises:
        ModelError: if no feedback stabilizes A, B; the message gives the uncontrollable eigenvalues.
    """
    # The package has no type annotations.
    solve: Any = importlib.import_module("control").lqr
    if out := unstabilizable_eigenvalues(line.A, line.B):
        raise ModelError(
            f"no feedback of its inputs stabilizes {owner} at this equilibrium: they do not reach the modes with the "
            f"eigenvalues {', '.join(f'{value:.4g}' for value in out)} 1/s. Add a drive or damping, or use another "
            "position"
        )
    try:
        gain, cost, poles = solve(line.A, line.B, *weights)
    except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
        raise ModelError(f"the Riccati equation of {owner} has no stabilizing solution: {error}") from error
    return (
        np.array(gain, dtype=np.float64),
        np.array(cost, dtype=np.float64),
        np.array(poles, dtype=np.complex128),
    )


def unstabilizable_eigenvalues(A: Array, B: Array) -> list[complex]:
    """Return eigenvalues of A that do not decay and that B does not reach, by the Popov–Belevitch–Hautus test.

    Args:
        A: state matrix, shape (n, n).
        B: input matrix, shape (n, nu).
    """
    found: list[complex] = []
    size = max(1.0, float(np.abs(A).max(initial=0.0)))
    scale = float(np.abs(B).max(initial=0.0)) or 1.0
    for value in np.linalg.eigvals(A).astype(np.complex128):
        if value.real < -1e-9 * size:
            continue
        pencil = np.hstack([(A - value * np.eye(len(A))) / size, B / scale])
        if np.linalg.svd(pencil, compute_uv=False)[-1] < 1e-8:
            found.append(complex(value))
    return found


BACK = 1e-2
"""Share of the level below which V must fall for a state to count as attracted."""


def attraction_level(
    lqr: Lqr, *, duration: float = 3.0, step: float = 2e-3, samples: int = 100, seed: int = 0, largest: float = 1e3
) -> float:
    """Find the level ρ at which all sampled states with V = ξᵀPξ = ρ return, with u limited to ``robot.limits.effort``.

    States are drawn at random on the level and simulated with the nonlinear closed loop; the level is found by
    bisection to a twentieth. States between the samples are not checked, so this is an estimate of the region of
    attraction and not a proof: use a share of it.

    Args:
        lqr: regulator of a robot without natural constraints and in velocities v = q̇.
        duration: time in which V must fall to a hundredth [s].
        step: step of the Runge–Kutta method [s].
        samples: number of states on each level.
        seed: seed of their directions.
        largest: largest level tried.

    Raises:
        ModelError: for a robot with natural constraints, numbers out of range, or if no level is attracted.
    """
    robot = lqr.robot
    if robot.natural:
        raise ModelError(f"attraction_level requires a robot without natural constraints, which {robot.name} has")
    span, h, top = positive("duration", duration), positive("step", step), positive("largest", largest)
    if samples < 1:
        raise ModelError(f"at least one sample is required, got {samples}")
    line, fall = lqr.linearization, _fall(lqr, h, step_count(span, h))
    with require_memory(3.0 * samples * len(line.states), f"{samples:,} states on a level", "use fewer samples"):
        directions = np.random.default_rng(whole("seed", seed, 0)).normal(size=(samples, len(line.states)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # On V = ρ: ξ = √ρ L⁻ᵀ w with P = L Lᵀ and |w| = 1.
    lower = np.asarray(np.linalg.cholesky(lqr.cost), dtype=np.float64)
    outwards = np.asarray(np.linalg.solve(lower.T, directions.T).T, dtype=np.float64)
    center = np.concatenate([line.q, line.v])

    def holds(level: float) -> bool:
        return all(fall(center + np.sqrt(level) * w) < BACK * level for w in outwards)

    if holds(top):
        return top
    low = 1e-6 * top
    if not holds(low):
        raise ModelError(f"under the regulator of {robot.name} not even states with V = {low:.3g} return")
    high = top
    while high / low > 1.05:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _fall(lqr: Lqr, step: float, steps: int) -> Callable[[Array], float]:
    """Return the function from a state to V after some steps; infinite where the motion diverges."""
    robot, c = lqr.robot, lqr.robot.coordinates
    x, p = ca.vertcat(c.q, c.v), lqr.parameters.symbols
    effort = ca.SX(ca.DM(robot.limits.effort))
    assert lqr.law is not None
    u = ca.fmax(ca.fmin(lqr.law.output, effort), -effort)
    a = robot.unforced_acceleration[0] + robot.mobility(robot.input_matrix @ u)[0]
    f = ca.Function("f", [c.t, x, p], [ca.vertcat(c.N @ c.v, a)], {"cse": True})
    after = rk4_step(lambda t, y: f.call([t, y, p])[0], ca.SX(0), x, step)
    V = ca.substitute(lqr.cost_to_go, x, after)
    kernel = Kernel("regulated_step", {"x": x, "p": p}, {"after": after, "V": V})
    numbers = np.asfortranarray(np.tile(lqr.parameters.values()[:, None], steps))
    start, states, values = (
        np.zeros(x.numel()),
        np.zeros((x.numel(), steps), order="F"),
        np.zeros((1, steps), order="F"),
    )
    run = kernel.loop(steps, 1, [start, numbers], [states, values])

    def fall(state: Array) -> float:
        start[:] = state
        run()
        last = float(values[0, -1])
        return last if np.isfinite(last) else np.inf

    return fall
