"""Random trees of bodies in the plane and in space, as numbers and as robots, and states to look at them in."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from erugin.robots import Frame, Robot, tree_system
from erugin.robots.formulations import Formulation
from erugin.robots.tree import Body, Floating, Joint, Node, Planar, Prismatic, Revolute, Tree
from erugin.symbolic import Parameters

from .references.tree_numpy import NQ, BodyData, Kind, NodeData, TreeData

Array = NDArray[np.float64]

STATES = 5
SLANTED = (0.48, -0.6, 0.64)
"""A unit vector."""
PLAIN: tuple[Kind, ...] = ("revolute", "prismatic", "planar")
SINGLE: tuple[Kind, ...] = ("revolute", "prismatic")
HINGE: tuple[Kind, ...] = ("revolute",)


@dataclass(frozen=True)
class RandomTree:
    """Recipe of a random tree.

    Attributes:
        seed: of all its numbers.
        kinds: its joints, one after the other.
        parents: of each node; each the child of the one before if not given.
        plane: all moves in the plane z = 0.
        straight: all hinges have one direction, and nothing is turned by its placement.
        absolute: nodes whose orientation is measured from the world.
        shared: nodes that also carry a body by a share of their displacement.
        massless: nodes that carry nothing themselves.
        order: places of the nodes in the order of their coordinates.
    """

    seed: int
    kinds: tuple[Kind, ...]
    parents: tuple[int, ...] | None = None
    plane: bool = False
    straight: bool = False
    absolute: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    massless: tuple[int, ...] = ()
    order: tuple[int, ...] | None = None

    @property
    def is_relative(self) -> bool:
        """True if other libraries can model it."""
        return not (self.absolute or self.shared)

    @functools.cached_property
    def data(self) -> TreeData:
        """The numbers."""
        rng = np.random.default_rng(1952 + self.seed)
        count = len(self.kinds)
        parents = self.parents or tuple(range(-1, count - 1))
        nodes: list[NodeData] = []
        for k, (kind, parent) in enumerate(zip(self.kinds, parents, strict=True)):
            axis = _axis(rng, kind) if self.plane else _direction(rng)
            turn = np.array([0.0, 0.0, rng.uniform(-3.0, 3.0)]) if self.plane else rng.uniform(-2.0, 2.0, 3)
            offset = rng.uniform(-0.6, 0.6, 3) * ([1.0, 1.0, 0.0] if self.plane else 1.0)
            bodies = [] if k in self.massless else [_body(rng) for _ in range(rng.integers(1, 3))]
            if k in self.shared:
                bodies.append(_body(rng)._replace(ratio=float(rng.uniform(0.2, 1.4))))
            # Some joints stand as their parents do.
            rotation = np.eye(3) if self.straight or rng.random() < 0.3 else Rotation.from_rotvec(turn).as_matrix()
            if self.straight and kind != "prismatic":
                axis = np.array([0.0, 0.0, 1.0] if self.plane else SLANTED)
            nodes.append(
                NodeData(f"j{k}", parent, kind, axis, rotation, offset, tuple(bodies), absolute=k in self.absolute)
            )
        gravity = rng.uniform(-9.0, 9.0, 3) * ([1.0, 1.0, 0.0] if self.plane else 1.0)
        return TreeData(tuple(nodes), gravity, self.order or tuple(range(count)))

    def robot(self, formulation: Formulation | None = None) -> Robot:
        """The robot under test; masses, centres, inertias, shares and gravity are parameters."""
        return build(self.data, formulation)


TREES = {
    "hinges": RandomTree(1, HINGE * 4),
    "parallel hinges": RandomTree(2, HINGE * 4, plane=True),
    "straight arm": RandomTree(
        18,
        (*HINGE * 2, "prismatic", *HINGE * 2, "planar"),
        (-1, 0, 1, 2, 1, 4),
        plane=True,
        straight=True,
    ),
    "straight in space": RandomTree(
        19, (*SINGLE, "revolute", "revolute", "planar"), (-1, 0, 1, 2, 1), straight=True, absolute=(2,)
    ),
    "slides": RandomTree(3, ("prismatic",) * 3),
    "hinges and slides, branched": RandomTree(4, SINGLE * 3, (-1, 0, 0, 1, 1, 2)),
    "massless between": RandomTree(5, ("prismatic", *HINGE, *HINGE, "prismatic", *HINGE), massless=(0, 1, 3)),
    "plane, all joints": RandomTree(6, (*PLAIN, "revolute", "planar"), (-1, 0, 1, 2, 0), plane=True, massless=(0,)),
    "floating base": RandomTree(7, ("floating", "revolute", "prismatic", "revolute"), (-1, 0, 0, 1)),
    "two floating bodies": RandomTree(8, ("floating", "floating")),
    "floating beyond a hinge": RandomTree(9, ("revolute", "floating", "planar"), order=(2, 1, 0)),
    "several roots": RandomTree(10, ("revolute", "planar", "prismatic", "revolute"), (-1, -1, 0, 1)),
    "absolute hinges": RandomTree(11, HINGE * 4, absolute=(0, 1, 2, 3), plane=True),
    "absolute in space": RandomTree(12, ("revolute", "prismatic", "revolute", "revolute"), absolute=(1, 3)),
    "absolute planar and floating": RandomTree(13, ("revolute", "planar", "floating"), absolute=(1, 2)),
    "telescopes in the plane": RandomTree(
        14, SINGLE * 3, (-1, 0, 1, 2, 1, 4), plane=True, absolute=(0, 2, 4), shared=(1, 3, 5), massless=(0, 2, 4)
    ),
    "shares in space": RandomTree(15, ("revolute", "prismatic", "revolute", "prismatic"), shared=(0, 1, 2, 3)),
    "absolute shares": RandomTree(16, ("revolute", "prismatic", "revolute"), absolute=(1, 2), shared=(1, 2)),
    "everything": RandomTree(
        17,
        ("planar", "revolute", "prismatic", "floating", "revolute", "prismatic"),
        (-1, 0, 1, 0, 3, 4),
        absolute=(2, 4),
        shared=(1, 2, 5),
        massless=(4,),
        order=(5, 3, 0, 1, 4, 2),
    ),
}


class State(NamedTuple):
    """Coordinates, velocities and inputs."""

    q: Array
    v: Array
    u: Array


def build(data: TreeData, formulation: Formulation | None = None) -> Robot:
    """A robot with a frame for each node, called by its name."""
    values: dict[str, float] = {f"g{i}": float(x) for i, x in enumerate(data.gravity)}
    for node in data.nodes:
        for i, body in enumerate(node.bodies):
            label = f"{node.name}.{i}"
            values |= {f"{label}.m": body.mass} | ({} if body.ratio is None else {f"{label}.r": body.ratio})
            values |= {f"{label}.c{j}": float(x) for j, x in enumerate(body.center)}
            values |= {f"{label}.I{j}{k}": float(body.inertia[j, k]) for j in range(3) for k in range(j + 1)}
    p = Parameters.declare(values)
    nodes: list[Node] = []
    for node in data.nodes:
        bodies = tuple(_symbolic(p, f"{node.name}.{i}", body) for i, body in enumerate(node.bodies))
        placement = Frame(ca.SX(ca.DM(node.rotation)), ca.SX(ca.DM(node.offset)))
        nodes.append(
            Node(
                name=node.name,
                parent=node.parent,
                placement=placement,
                joint=joint_of(node),
                bodies=bodies,
                absolute=node.absolute,
            )
        )
    order = tuple(f"{nodes[k].name}{suffix}" for k in data.order for suffix in nodes[k].joint.suffixes)
    tree = Tree(tuple(nodes), ca.vertcat(*(p[f"g{i}"] for i in range(3))), order)
    frames = {node.name: moved.frame for node, moved in zip(nodes, tree.motion.nodes, strict=True)}
    return tree_system(tree, parameters=p, frames=frames, formulation=formulation)


def joint_of(node: NodeData) -> Joint:
    """The joint of a node."""
    axis = [float(x) for x in node.axis]
    match node.kind:
        case "revolute":
            return Revolute(axis)
        case "prismatic":
            return Prismatic(axis)
        case "planar":
            return Planar(axis)
        case "floating":
            return Floating()


def states(data: TreeData, seed: int, count: int = STATES) -> Iterator[State]:
    """States all over; quaternions have length one."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        q = rng.uniform(-2.0, 2.0, data.nq)
        for node, place in zip(data.nodes, data.places(NQ), strict=True):
            if node.kind == "floating":
                quaternion = rng.normal(size=4)
                q[place.start + 3 : place.stop] = quaternion / np.linalg.norm(quaternion)
        yield State(q, rng.uniform(-2.0, 2.0, data.nv), rng.uniform(-10.0, 10.0, data.nv))


def assert_close(actual: NDArray[Any] | float, expected: NDArray[Any] | float, tolerance: float = 1e-10) -> None:
    """Assert |actual - expected| <= tolerance max|expected|; one number may come in any shape."""
    truth = np.asarray(expected, dtype=np.float64)
    value = np.asarray(actual, dtype=np.float64)
    assert value.size == truth.size
    error = float(np.max(np.abs(value.reshape(truth.shape) - truth), initial=0.0))
    size = float(np.max(np.abs(truth), initial=0.0))
    assert error <= tolerance * size, f"{error:.1e} in {size:.1e}"


def _symbolic(p: Parameters, label: str, body: BodyData) -> Body:
    moments = [[p[f"{label}.I{max(j, k)}{min(j, k)}"] for k in range(3)] for j in range(3)]
    return Body(
        name=label,
        mass=p[f"{label}.m"],
        center=ca.vertcat(*(p[f"{label}.c{j}"] for j in range(3))),
        inertia=ca.blockcat(moments),
        ratio=None if body.ratio is None else p[f"{label}.r"],
    )


def _body(rng: np.random.Generator) -> BodyData:
    """A body that can exist: its inertia is that of some spread of matter."""
    points = rng.normal(size=(3, 3)) * 0.3
    spread = points @ points.T + 0.01 * np.eye(3)
    mass = float(rng.uniform(0.5, 3.0))
    return BodyData(mass, rng.uniform(-0.4, 0.4, 3), mass * (np.trace(spread) * np.eye(3) - spread))


def _direction(rng: np.random.Generator) -> Array:
    axis = rng.normal(size=3)
    return np.asarray(axis / np.linalg.norm(axis))


def _axis(rng: np.random.Generator, kind: Kind) -> Array:
    """In the plane for a slide, else across it, either way."""
    if kind != "prismatic":
        return np.array([0.0, 0.0, rng.choice([-1.0, 1.0])])
    angle = rng.uniform(-3.0, 3.0)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def only(trees: dict[str, RandomTree], *, relative: bool) -> Sequence[str]:
    """Names of the trees that other libraries can or cannot model."""
    return [name for name, tree in trees.items() if tree.is_relative == relative]


def number(expression: ca.SX) -> Array:
    """The value of a constant."""
    return ca.Function("number", [], [ca.densify(expression)]).call([])[0].full()


def constant(x: Array) -> ca.SX:
    return ca.SX(ca.DM(x))


CENTER, INERTIA = np.array([0.2, 0.1, -0.1]), np.diag([0.1, 0.2, 0.25])


BODY = Body(name="block", mass=ca.SX(2.0), center=constant(CENTER), inertia=constant(INERTIA))


GRAVITY = constant(np.array([0.0, 0.0, -9.81]))
