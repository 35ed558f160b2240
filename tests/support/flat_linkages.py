"""Linkages that can lie flat."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from erugin.robots import Bar, Closure, Link, Robot, mechanism, planar_linkage
from erugin.robots.examples import four_bar

from .mechanisms import bar
from .references.linkage_positions import four_bar as closed_form

Array = NDArray[np.float64]


@functools.cache
def parallelogram(redundant: str = "least-norm") -> Robot:
    """Three parallel cranks of 0.5 m under a coupler of 1.6 m, at 0, 0.7 and 1.6 m: one of six rows is redundant."""
    members = {
        "crank1": Bar(bar(0.5, 1.0), (0.0, 0.0)),
        "coupler": Bar(bar(1.6, 2.0), "crank1.end", 0.1, {"middle": (0.7, 0.0)}),
        "crank2": Bar(bar(0.5, 1.3), (0.7, 0.0)),
        "crank3": Bar(bar(0.5, 0.8), (1.6, 0.0)),
    }
    bars = planar_linkage(members, name="parallelogram")
    pins = [Closure("coupler.end", "crank3.end", "pin3"), Closure("coupler.middle", "crank2.end", "pin2")]
    return mechanism(bars, pins, redundant=redundant)  # type: ignore[arg-type]


def flat(angle: float, rate: float) -> tuple[Array, Array]:
    """Coordinates and velocities of the parallelogram."""
    return np.array([angle, 0.0, angle, angle]), np.array([rate, 0.0, rate, rate])


def upright(angle: float, rate: float) -> tuple[Array, Array]:
    """A state of the slider-crank with equal arms on the branch x = 2 cos φ."""
    return (
        np.array([angle, -angle, 2.0 * np.cos(angle)]),
        rate * np.array([1.0, -1.0, -2.0 * np.sin(angle)]),
    )


A, B, C, D = 1.0, 1.5, 1.3, 1.2
"""Crank, coupler, rocker and ground of a linkage that can lie flat, since A + B = C + D."""


def windows_state(windows: int, angle: float, rate: float) -> tuple[Array, Array]:
    q, v = np.zeros(2 * windows + 1), np.zeros(2 * windows + 1)
    cranks = [0, *range(2, 2 * windows + 1, 2)]
    q[cranks], v[cranks] = angle, rate
    return q, v


def flat_state(angle: float, rate: float) -> tuple[Array, Array]:
    """A state of that linkage on the branch whose open form turns into the crossed one at the flat position."""
    coupler, rocker = closed_form(A, B, C, D, angle)[0 if angle < 0.0 else 1]
    q = np.array([angle, coupler, rocker])
    v = np.array(
        [
            1.0,
            A / B * np.sin(rocker - angle) / np.sin(coupler - rocker),
            A / C * np.sin(angle - coupler) / np.sin(rocker - coupler),
        ]
    )
    return q, rate * v


@functools.cache
def flat_four_bar() -> Robot:
    """A linkage whose crank and coupler are as long together as its rocker and ground."""

    def link(length: float, mass: float) -> Link:
        return Link(length, mass, 0.4 * length, 0.1 * mass * length**2)

    return four_bar(link(A, 1.0), link(B, 0.8), link(C, 1.2), ground=(D, 0.0), inputs=())
