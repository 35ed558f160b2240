"""Mass matrix and bias of a robot at rest, with the contributions of moments of inertia and of gravity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.formulations import Articulated
from ...robots.robot import Robot
from ...robots.tree.tree import Tree
from ...symbolic.kernel import Kernel

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StaticModel:
    """Statics of a robot at one configuration.

    Attributes:
        q: coordinates, shape (nq,).
        M: mass matrix, shape (n, n).
        rotational: J, the part of M that comes from moments of inertia, shape (n, n); zero if no bodies are known.
        h: bias at zero velocity, shape (n,).
        gravity: the part of h that comes from gravity, shape (n,); zero if no bodies are known.
        units: for each velocity the unit of the coordinate of which it is the rate, n of them: "m", "rad", or others.
    """

    q: Array
    M: Array
    rotational: Array
    h: Array
    gravity: Array
    units: tuple[str, ...]

    @classmethod
    def of(
        cls, robot: Robot, p: Array, configurations: Sequence[Array], rates: Callable[[Array], Array] | None = None
    ) -> list[StaticModel]:
        """Evaluate the statics of a robot at several configurations.

        Args:
            robot: the robot.
            p: its parameters, shape (np,).
            configurations: coordinates, shape (nq,) each.
            rates: function q → T of v = T w, shape (nv, n), for other velocities w; the robot's own v if not given.
        """
        c, tree = robot.coordinates, _own_tree(robot)
        rotational, gravity = ca.SX(c.nv, c.nv), ca.SX(c.nv, 1)
        if tree is not None:
            # The tree contains bodies only, no springs or dampers.
            rotational, gravity = _rotational_inertia(tree), Articulated().bias(tree)
        kernel = Kernel(
            "at_rest",
            {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
            {"M": robot.mass_matrix, "J": ca.densify(rotational), "h": robot.bias, "pull": ca.densify(gravity)},
            compiled=False,
        )
        units, found = velocity_units(robot), list[StaticModel]()
        for q in configurations:
            M, J, h, pull = (np.atleast_1d(part) for part in kernel(0.0, q, np.zeros(c.nv), p))
            T = np.eye(c.nv) if rates is None else rates(q)
            M, J = (T.T @ part.reshape(c.nv, c.nv) @ T for part in (M, J))
            # Each w combines velocities of one kind.
            own = tuple(units[int(np.argmax(column))] for column in np.abs(T).T)
            found.append(cls(np.array(q, dtype=np.float64), M, J, T.T @ h, T.T @ pull, own))
        return found


def velocity_units(robot: Robot) -> list[str]:
    """Unit of the coordinate of which each velocity is the rate, nv of them; empty if it is not known.

    Args:
        robot: the robot.
    """
    c, tree = robot.coordinates, _own_tree(robot)
    if tree is None:
        return list(c.units) if c.are_rates else [""] * c.nv
    found = [""] * c.nv
    for node, places in zip(tree.nodes, tree.places, strict=True):
        for place, unit in zip(places, node.joint.velocity_units, strict=True):
            found[place] = unit
    return found


def _own_tree(robot: Robot) -> Tree | None:
    """The robot's tree if both have the same coordinates; otherwise None."""
    c, tree = robot.coordinates, robot.tree
    if tree is None or tree.coordinates.names != c.names:
        return None
    same = ca.is_equal(tree.coordinates.q, c.q) and ca.is_equal(tree.coordinates.v, c.v)
    return tree if same else None


def _rotational_inertia(tree: Tree) -> ca.SX:
    """Σ Jᵀ I J over all bodies, with ω = J v."""
    c, motion = tree.coordinates, tree.motion
    found = ca.SX(c.nv, c.nv)
    for k, bodies in enumerate(motion.bodies):
        for body, mover in bodies:
            R, J = mover.frame.rotation, ca.jacobian(motion.velocity(k, mover).angular, c.v)
            found += J.T @ R @ body.inertia @ R.T @ J
    return found
