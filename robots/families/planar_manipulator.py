"""The planar manipulator with n rigid links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import casadi as ca

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, not_negative, positive
from ..formulations.formulation import Formulation
from ..frame import Frame
from ..robot import Robot
from ..tree.body import Body
from ..tree.joints import Node, Revolute
from ..tree.tree import Tree
from .tree_system import tree_system

ANGLES = ("relative", "absolute")
ZEROS = ("horizontal", "down")


@dataclass(frozen=True)
class Link:
    """A rigid link.

    Attributes:
        length: from its joint to the next [m], greater than zero.
        mass: [kg], greater than zero.
        center: distance of the centre of mass from the joint to the previous link, along the link [m].
        inertia: about the centre of mass [kg m²], not negative; zero for a point mass.

    Raises:
        ModelError: for a number out of its range.
    """

    length: float
    mass: float
    center: float
    inertia: float

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "length", positive("length of a link [m]", self.length))
        object.__setattr__(self, "mass", positive("mass of a link [kg]", self.mass))
        object.__setattr__(self, "center", finite("center of a link [m]", self.center))
        object.__setattr__(self, "inertia", not_negative("inertia of a link [kg m²]", self.inertia))

    @classmethod
    def point_mass(cls, length: float, mass: float) -> Link:
        """Build a massless rod of this length [m] with a point mass [kg] at its end, as in Matukhina."""
        return cls(length, mass, length, 0.0)

    def values(self, i: int) -> tuple[dict[str, float], dict[str, Range]]:
        """Return nominal values and ranges of the parameters of link i, ``l1``, ``m1``, ``c1``, ``I1`` for the first.

        Args:
            i: number of the link, from 1.
        """
        values = {f"l{i}": self.length, f"m{i}": self.mass, f"c{i}": self.center, f"I{i}": self.inertia}
        return values, {f"l{i}": Range.POSITIVE, f"m{i}": Range.POSITIVE, f"I{i}": Range.NOT_NEGATIVE}


def link_chain(links: Sequence[Link], gravity: float, chain: str) -> tuple[tuple[Link, ...], Parameters]:
    """Return the links as a tuple, and the parameters of their chain.

    Args:
        links: from the base to the tip, at least one.
        gravity: g [m/s²].
        chain: name of the chain in messages.

    Raises:
        ModelError: for no links, or anything that is not a Link.
    """
    found = tuple(links) if isinstance(links, Iterable) else (links,)
    for link in found:
        if not isinstance(link, Link):
            raise ModelError(f"the links of a {chain} must be Link objects, got {link!r}")
    if not found:
        raise ModelError(f"a {chain} needs at least one link, got none")
    values: dict[str, float] = {}
    ranges: dict[str, Range] = {}
    for i, link in enumerate(found, 1):
        own, limits = link.values(i)
        values, ranges = values | own, ranges | limits
    return found, Parameters.declare(values | {"g": finite("gravity", gravity)}, ranges=ranges)


def planar_manipulator(
    links: Sequence[Link],
    *,
    angles: Literal["relative", "absolute"] = "relative",
    zero: Literal["horizontal", "down"] = "horizontal",
    gravity: float = 9.81,
    formulation: Formulation | None = None,
) -> Robot:
    """Build a manipulator of n links in a vertical plane, x to the right and y up, its base joint at the origin.

    T = ½ Σ (m_i |ċ_i|² + I_i φ̇_i²) and V = g Σ m_i y_i, c_i the centres of mass and φ_i the absolute angles. For two
    point masses it is Matukhina's example, with the erratum in β; in absolute angles from ``"down"`` it is the arm of
    [DunskayaPyatnitsky1996]_ (3.5)-(3.7), whose x axis points along gravity.

    The inputs are the joint torques u_i = M_i, by link i − 1 on link i: in relative angles Q_i = M_i, in absolute
    angles Q_i = M_i − M_{i+1}. Points are ``joint1`` (the base) to ``joint{n}``, ``center1`` to ``center{n}``, and
    ``tip``, frames the same. Parameters are ``l1``, ``m1``, ``c1``, ``I1``, … and ``g``.

    Args:
        links: from the base to the tip, at least one.
        angles: ``"relative"``, q_i from the previous link; ``"absolute"``, all from the same direction.
        zero: direction of a link at angle zero: ``"horizontal"`` along x or ``"down"`` along −y; counter-clockwise.
        gravity: g along −y [m/s²].
        formulation: method of deriving the equations, all equivalent; ``Articulated()`` if not given.

    Raises:
        ModelError: for no links, or an unknown option.
    """
    links, p = link_chain(links, gravity, "manipulator")
    if angles not in ANGLES:
        raise ModelError(f"angles must be one of {', '.join(map(repr, ANGLES))}, got {angles!r}")
    if zero not in ZEROS:
        raise ModelError(f"zero must be one of {', '.join(map(repr, ZEROS))}, got {zero!r}")
    n = len(links)
    numbers = range(1, n + 1)
    turn = (
        Frame.at().rotation
        if zero == "horizontal"
        else ca.SX(ca.DM([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    )
    absolute = angles == "absolute"
    nodes: list[Node] = []
    for i in numbers:
        body = Body.planar(f"link {i}", p[f"m{i}"], p[f"c{i}"], p[f"I{i}"])
        position = Frame.at(p[f"l{i - 1}"]).position if i > 1 else Frame.at().position
        start = turn if i == 1 or absolute else Frame.at().rotation
        nodes.append(
            Node(
                name=f"q{i}",
                parent=i - 2,
                placement=Frame(start, position),
                joint=Revolute(),
                bodies=(body,),
                absolute=absolute,
            )
        )
    tree = Tree(tuple(nodes), ca.vertcat(0, -p["g"], 0))

    frames: dict[str, Frame] = {}
    for i, node in zip(numbers, tree.motion.nodes, strict=True):
        frames[f"joint{i}"] = node.frame
        frames[f"center{i}"] = tree.points.attach(i - 1, Frame.at(p[f"c{i}"]))
    frames["tip"] = tree.points.attach(n - 1, Frame.at(p[f"l{n}"]))

    # M_i does work on the angle between its two links: δφ_i − δφ_{i−1}.
    B = ca.DM.eye(n)
    if absolute:
        for i in range(1, n):
            B[i - 1, i] = -1.0
    return tree_system(
        tree,
        parameters=p,
        u=ca.vertcat(*(ca.SX.sym(f"M{i}") for i in numbers)),
        B=ca.SX(B),
        points={label: frame.position[:2] for label, frame in frames.items()},
        frames=frames,
        input_units=("N m",) * n,
        chain=(*(f"joint{i}" for i in numbers), "tip"),
        formulation=formulation,
        name=f"planar manipulator with {n} link{'s' * (n > 1)}",
    )
