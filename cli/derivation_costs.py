"""Cost of deriving equations of motion, by formulation: the tables of the papers, measured again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import casadi as ca

from ..robots.families.exoskeleton import exoskeleton
from ..robots.families.planar_manipulator import Link, planar_manipulator
from ..robots.families.spatial_exoskeleton import spatial_exoskeleton
from ..robots.families.telescopic_links import TelescopicLink
from ..robots.formulations import FORMULATIONS, Formulation
from ..robots.hamiltonian import OperationCount
from ..robots.robot import Robot
from ..symbolic.errors import ModelError, unknown_name

# The numbers are parameters of the result; the cost of the derivation does not depend on them.
RIGID = Link(length=0.5, mass=1.0, center=0.25, inertia=0.02)
_TELESCOPIC = TelescopicLink(mass=1.0, inertia=0.02, center_ratio=0.5, stiffness=1e4, rest_length=0.5)

FAMILIES: Mapping[str, Callable[[int, Formulation], Robot]] = MappingProxyType(
    {
        "exoskeleton": lambda n, f: exoskeleton([_TELESCOPIC] * n, formulation=f),
        "manipulator": lambda n, f: planar_manipulator([RIGID] * n, angles="absolute", formulation=f),
        "spatial-exoskeleton": lambda n, f: spatial_exoskeleton([_TELESCOPIC] * n, formulation=f),
    }
)
"""Robots of n links by name."""

PAPER_SECONDS: Mapping[str, float] = MappingProxyType(
    {"general theorems": 1.642, "Lagrange, second kind": 12.125, "local frames": 1.209, "recurrent method": 0.141}
)
"""Table 2 of [ChigarevBorisov2015]_: three links, Mathematica, 2015 [s]."""


@dataclass(frozen=True)
class Cost:
    """Cost of one formulation for one number of links.

    Attributes:
        formulation: name of the formulation.
        links: n.
        seconds: median time to derive M and h and make them ready to evaluate, without a compiler [s].
        evaluation: operations of one evaluation of M and h.
        motion: arithmetic operations of all kinds in one evaluation of the acceleration.
    """

    formulation: str
    links: int
    seconds: float
    evaluation: OperationCount
    motion: int

    @property
    def operations(self) -> int:
        """Arithmetic operations of all kinds in one evaluation of M and h."""
        return self.evaluation.total


def derivation_costs(
    family: str,
    links: Sequence[int],
    *,
    rounds: int = 3,
    progress: Callable[[float], None] | None = None,
) -> list[Cost]:
    """Derive a robot of each number of links by each formulation.

    Args:
        family: key of ``FAMILIES``.
        links: numbers of links.
        rounds: number of timings of each formulation, in alternation.
        progress: called with the fraction that is done, in [0, 1].

    Raises:
        ModelError: for an unknown family, or a number below one.
    """
    if family not in FAMILIES:
        raise ModelError(unknown_name("robot", family, FAMILIES))
    for n in (*links, rounds):
        if n < 1:
            raise ModelError(f"numbers of links and rounds must be at least 1, got {n}")
    build = FAMILIES[family]
    # Some formulations need time proportional to n³, so that the progress is weighted by n³.
    work, done = sum(n**3 for n in links) * rounds * len(FORMULATIONS), 0
    costs: list[Cost] = []
    for n in links:
        times: dict[str, list[float]] = {formulation.name: [] for formulation in FORMULATIONS}
        counted: dict[str, tuple[ca.Function, ca.Function]] = {}
        for _ in range(rounds):
            for formulation in FORMULATIONS:
                began = time.perf_counter()
                robot = build(n, formulation)
                known = [robot.q, robot.v, robot.u, robot.p]
                function = ca.Function("equations", known, [robot.mass_matrix, robot.bias], {"cse": True})
                times[formulation.name].append(time.perf_counter() - began)
                if formulation.name not in counted:
                    motion = ca.Function("motion", known, [robot.acceleration], {"cse": True})
                    counted[formulation.name] = function, motion
                done += n**3
                if progress is not None:
                    progress(done / work)
        for name, (function, motion) in counted.items():
            evaluation, acceleration = OperationCount.of_function(function), OperationCount.of_function(motion)
            costs.append(Cost(name, n, statistics.median(times[name]), evaluation, acceleration.total))
    return costs
