"""Exoskeletons of 1 to 11 links, chains and trees, with all that they may have, and random states of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erugin.robots import Robot, TelescopicLink, exoskeleton
from erugin.robots.formulations import Formulation

from .references.telescopic_bodies import Rod, Structure

Array = NDArray[np.float64]

BODY = (0, 1, 2, 3, 3, 5, 3, 7, 2, 9, 10)
"""Parents of the links of a body: leg, trunk, head, two arms and a second leg of three links."""


class Case(NamedTuple):
    """A variant: parents, and its parts besides springs."""

    parents: tuple[int, ...]
    floating: bool = False
    hinges: bool = False
    damped: bool = False
    stretched: bool = False
    drives: bool = False

    @property
    def structure(self) -> Structure:
        """Random but fixed numbers."""
        rng = np.random.default_rng(2015 + len(self.parents))
        rods: list[Rod] = []
        for i in range(len(self.parents)):
            rod = Rod(
                mass=rng.uniform(0.5, 3.0),
                inertia=rng.uniform(0.02, 0.2),
                ratio=rng.uniform(0.2, 1.0),
                stiffness=rng.uniform(50.0, 400.0),
                rest=rng.uniform(0.4, 1.2),
            )
            # Not every link has them, so that a number taken from the wrong link shows.
            hinge = rng.uniform(0.1, 1.0) if self.hinges and i % 3 != 1 else 0.0
            damping = rng.uniform(1.0, 20.0) if self.damped and i % 3 != 2 else 0.0
            rods.append(rod._replace(hinge=hinge, damping=damping))
        pole = 0.7 if self.floating and self.hinges else 0.0
        return Structure(tuple(rods), self.parents, self.floating, pole, self.stretched)

    def robot(self, formulation: Formulation | None = None) -> Robot:
        """The robot under test."""
        s = self.structure
        return exoskeleton(
            [link_of(rod) for rod in s.rods],
            parents=None if s.parents == tuple(range(len(s.parents))) else s.parents,
            base="floating" if s.floating else "pinned",
            pole_mass=s.pole_mass or None,
            axial_drives=self.drives,
            inertia_law="stretched" if s.stretched else "constant",
            formulation=formulation,
        )


CASES = (
    Case((0,)),
    Case((0,), floating=True, hinges=True, damped=True, stretched=True),
    Case((0, 1), hinges=True, damped=True, drives=True),
    Case((0, 1, 2), stretched=True, hinges=True, damped=True, drives=True),
    Case((0, 1, 1), floating=True, hinges=True, damped=True),
    Case((0, 0, 1, 1, 2), floating=True, stretched=True, drives=True),
    Case(tuple(range(11)), hinges=True, damped=True),
    Case(BODY, floating=True, hinges=True, damped=True, drives=True),
)


def label(case: Case) -> str:
    """Name of a case in pytest's report."""
    words = [word for word in ("floating", "hinges", "damped", "stretched", "drives") if getattr(case, word)]
    kind = "chain" if case.parents == tuple(range(len(case.parents))) else "tree"
    return "-".join([f"{kind}{len(case.parents)}", *words])


def link_of(rod: Rod) -> TelescopicLink:
    """The same numbers, for the code under test."""
    return TelescopicLink(
        mass=rod.mass,
        inertia=rod.inertia,
        center_ratio=rod.ratio,
        stiffness=rod.stiffness,
        rest_length=rod.rest,
        hinge_mass=rod.hinge or None,
        damping=rod.damping or None,
    )


@functools.cache
def built(case: Case) -> Robot:
    """The robot of ``case``, once for all tests."""
    return case.robot()


def random_states(case: Case, seed: int, count: int) -> Iterator[tuple[Array, Array]]:
    """Coordinates and velocities all over the place, lengths from half to one and a half of the rest length."""
    rng = np.random.default_rng(seed)
    s = case.structure
    n, rest = len(s.rods), np.array([rod.rest for rod in s.rods])
    for _ in range(count):
        pole = rng.uniform(-2.0, 2.0, 2 * s.floating)
        q = np.concatenate([pole, rng.uniform(-np.pi, np.pi, n), rest * rng.uniform(0.5, 1.5, n)])
        yield q, rng.uniform(-3.0, 3.0, s.nv)
