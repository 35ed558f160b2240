"""Mass matrix and bias of a robot at rest, with the shares of the moments of inertia and of gravity."""

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
    """Of a robot in one place.

    Attributes:
        q: coordinates, shape (nq,).
        M: mass matrix, shape (n, n).
        turned: J, the part of M that moments of inertia make, shape (n, n); zero where no bodies are known.
        h: bias without velocities, shape (n,).
        pull: the part of h that gravity makes, shape (n,); zero where no bodies are known.
        units: of what each velocity is the rate of, n of them: "m", "rad", or others.
    """

    q: Array
    M: Array
    turned: Array
    h: Array
    pull: Array
    units: tuple[str, ...]

    @classmethod
    def of(
        cls, robot: Robot, p: Array, places: Sequence[Array], rates: Callable[[Array], Array] | None = None
    ) -> list[StaticModel]:
        """A robot in several places.

        Args:
            robot: any.
            p: its parameters, shape (np,).
            places: coordinates, shape (nq,) each.
            rates: T of v = T w, shape (nv, n), to have all for other velocities w; none if not given.
        """
        c, tree = robot.coordinates, _own_tree(robot)
        turned, pull = ca.SX(c.nv, c.nv), ca.SX(c.nv, 1)
        if tree is not None:
            # Of bodies alone: springs and the like are no part of a tree.
            turned, pull = _rotational_inertia(tree), Articulated().bias(tree)
        kernel = Kernel(
            "at_rest",
            {"t": c.t, "q": c.q, "v": c.v, "p": robot.p},
            {"M": robot.mass_matrix, "J": ca.densify(turned), "h": robot.bias, "pull": ca.densify(pull)},
            compiled=False,
        )
        units, found = velocity_units(robot), list[StaticModel]()
        for q in places:
            M, J, h, pull_here = (np.atleast_1d(part) for part in kernel(0.0, q, np.zeros(c.nv), p))
            T = np.eye(c.nv) if rates is None else rates(q)
            M, J = (T.T @ part.reshape(c.nv, c.nv) @ T for part in (M, J))
            # A rate there is made of rates here of its own kind.
            own = tuple(units[int(np.argmax(column))] for column in np.abs(T).T)
            found.append(cls(np.array(q, dtype=np.float64), M, J, T.T @ h, T.T @ pull_here, own))
        return found


def velocity_units(robot: Robot) -> list[str]:
    """Unit of what each velocity is the rate of, nv of them; empty where it is not known.

    Args:
        robot: any.
    """
    c, tree = robot.coordinates, _own_tree(robot)
    if tree is None:
        return list(c.units) if c.are_rates else [""] * c.nv
    found = [""] * c.nv
    for node, places in zip(tree.nodes, tree.velocity_indices, strict=True):
        for place, unit in zip(places, node.joint.velocity_units, strict=True):
            found[place] = unit
    return found


def _own_tree(robot: Robot) -> Tree | None:
    """The tree, if the robot is in its coordinates."""
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
