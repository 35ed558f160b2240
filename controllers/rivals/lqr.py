"""The linear-quadratic regulator about an equilibrium on the constraint manifold."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.robot import Robot
from ...symbolic.arrays import vector
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters
from ..controller import Law
from ..linearization import Linearization
from ..linearization_derivatives import Linearizer
from ..linearization_equilibrium import equilibrium
from ..symbolic_controller import SymbolicController
from ..traits import Trait
from .bryson import Weights

Array = NDArray[np.float64]


class Lqr(SymbolicController):
    """u = u₀ − K ξ, which makes ∫ (ξᵀQξ + δuᵀRδu) dt least for the linearized robot, [AndersonMoore1990]_.

    ξ are the deviations of as many coordinates and velocities as the natural constraints leave free. K = R⁻¹BᵀP with
    AᵀP + PA − PBR⁻¹BᵀP + Q = 0 comes from ``control.lqr``; its entries are parameters of the law. The weights follow
    from what may be, by Bryson's rule. The law is linear: limits are kept by
    :class:`~erugin.controllers.wrappers.Saturation`.

    Attributes:
        linearization: A, B and the states ξ at the equilibrium.
        weights: what Q and R were made of.
        gain: K at the nominal parameters, shape (nu, n).
        cost: P, shape (n, n): ξᵀPξ is the least cost from ξ on.
        poles: of the closed loop, A − B K [1/s], n of them.
    """

    handles = frozenset({Trait.CLOSED_LOOPS, Trait.UNDERACTUATED, Trait.OVERACTUATED, Trait.SINGULAR_INERTIA})

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike,
        u: ArrayLike | None = None,
        *,
        weights: Weights,
        turns: Sequence[str] = (),
        p: Mapping[str, float] | ArrayLike | None = None,
        name: str = "lqr",
    ) -> None:
        """Linearize and solve the Riccati equation.

        Args:
            robot: the model.
            q: coordinates of an equilibrium, shape (nq,).
            u: inputs that hold it, shape (nu,); found if not given.
            weights: what deviations and inputs are allowed, in their own units.
            turns: names of angles of which whole turns do not count.
            p: the robot's parameters at which the gains are computed: nominal, overridden by name, or the whole vector.
            name: prefix of the gains' names.

        Raises:
            NoEquilibriumError: if the inputs cannot hold q; it says which joint lacks how much.
            ModelError: for a robot that the law is not made for, inputs beyond ``robot.limits``, unknown angles, or a
                robot that no feedback stabilizes; it says which mode is out of reach.
        """
        self.require_served(robot)
        self.robot = robot
        place = vector("q", q, robot.coordinates.nq)
        still = equilibrium(robot, place, u, fixed=robot.coordinates.names, p=p)
        self.weights = Weights.require(weights)
        require_within_effort(robot, still.u, "hold this position")
        self._turns = turning(robot, turns)
        rest = np.zeros(robot.coordinates.nv)
        self.linearization = Linearizer(robot).at(0.0, place, rest, still.u, p=p)
        self.gain, self.cost, self.poles = riccati(self.linearization, weights.of(self.linearization), robot.name)
        rows, columns = self.gain.shape
        gains = {f"K[{i},{j}]": float(self.gain[i, j]) for i in range(rows) for j in range(columns)}
        self._gains = Parameters.declare(gains, name)
        self.parameters = Parameters.collect([robot.parameters, self._gains])
        self.reset()

    @property
    def deviations(self) -> ca.SX:
        """ξ as expressions in q and v, shape (n,); angles within half a turn where whole turns do not count."""
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
        """ξᵀPξ as an expression in q and v: the cost from there on, as far as the linearization goes."""
        xi = self.deviations
        return xi.T @ ca.SX(ca.DM(self.cost)) @ xi

    def build_law(self) -> Law:
        """u = u₀ − K ξ."""
        rows, columns = self.gain.shape
        K = ca.reshape(self._gains.symbols, columns, rows).T
        xi = self.deviations
        u = ca.SX(ca.DM(self.linearization.u)) - K @ xi
        return Law.of_errors(u, xi, self.linearization.states)


def turning(robot: Robot, angles: Sequence[str]) -> tuple[str, ...]:
    """Names of angles of which whole turns do not count, checked.

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
        purpose: what they are needed for, for the message.
    """
    for name, bound, value in zip(robot.input_names, robot.limits.effort, needed, strict=True):
        if abs(value) > bound * (1.0 + 1e-9):
            raise ModelError(
                f"{robot.name}: {name} must be {value:.4g} to {purpose}, beyond the {bound:g} that its limits allow: "
                "ask for less, or give the robot other limits"
            )


def riccati(
    line: Linearization, weights: tuple[Array, Array], owner: str
) -> tuple[Array, Array, NDArray[np.complex128]]:
    """K, P and the closed loop's poles from ``control.lqr``.

    Args:
        line: A and B.
        weights: Q, shape (n, n), and R, shape (nu, nu).
        owner: name of the robot, for messages.

    Raises:
        ModelError: if no feedback stabilizes A, B; it says which mode the inputs do not reach.
    """
    # It has no types.
    solve: Any = importlib.import_module("control").lqr
    if out := unreachable(line.A, line.B):
        raise ModelError(
            f"no feedback of its inputs stabilizes {owner} at this equilibrium: they do not reach the modes with the "
            f"eigenvalues {', '.join(f'{value:.4g}' for value in out)} 1/s. Add a drive or damping, or take another "
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


def unreachable(A: Array, B: Array) -> list[complex]:
    """Eigenvalues of A that do not decay and that B does not reach, by the test of Popov, Belevitch and Hautus.

    Args:
        A: shape (n, n).
        B: shape (n, nu).
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
