"""Exoskeletons that are about to touch the ground."""

from __future__ import annotations

from erugin.robots import Robot, exoskeleton

from .exoskeletons import Case, link_of


def exoskeleton_of(case: Case, rigid: tuple[int, ...] = ()) -> Robot:
    """The robot of ``case`` with some links, from 1, of fixed length and no contact on."""
    s = case.structure
    return exoskeleton(
        [link_of(rod) for rod in s.rods],
        parents=s.parents,
        base="floating" if s.floating else "pinned",
        pole_mass=s.pole_mass or None,
        axial_drives=case.drives,
        inertia_law="stretched" if s.stretched else "constant",
        rigid=rigid,
    )
