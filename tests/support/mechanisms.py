"""The linkages that several tests share, with numbers at random, and comparisons of angles."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from erugin.robots import Link, Robot
from erugin.robots.examples import five_bar, four_bar, six_bar, slider_crank

Array = NDArray[np.float64]

CRANK, COUPLER, ROCKER, GROUND = 0.4, 1.2, 0.9, 1.1
ROD, SLIDER_MASS, OFFSET = 1.3, 0.7, 0.15
KNEE, OUTPUT_GROUND, OUTPUT, CONNECTOR = (0.7, 0.5), (-0.3, 1.3), 1.1, 1.4


def bar(length: float, mass: float) -> Link:
    """A bar whose centre of mass is not in the middle."""
    return Link(length, mass, 0.4 * length, 0.11 * mass * length**2)


@functools.cache
def crank_rocker() -> Robot:
    """A four-bar whose crank turns fully: 0.4 + 1.2 < 0.9 + 1.1."""
    links = bar(CRANK, 1.0), bar(COUPLER, 2.0), bar(ROCKER, 1.5)
    return four_bar(*links, ground=(GROUND, 0.0), coupler_offset=0.2, inputs=("crank", "coupler", "rocker"))


@functools.cache
def engine() -> Robot:
    """A slider-crank with an offset guide and a force on the slider."""
    return slider_crank(bar(CRANK, 1.0), bar(ROD, 2.0), SLIDER_MASS, offset=OFFSET, inputs=("crank", "slider"))


@functools.cache
def parallel_robot() -> Robot:
    """A five-bar that is not symmetric."""
    return five_bar(bar(0.5, 1.0), bar(0.9, 0.8), bar(0.45, 1.1), bar(0.95, 0.7), ground=(0.6, 0.1))


@functools.cache
def stephenson() -> Robot:
    """A six-bar on the four-bar above, with its offset centres of mass."""
    return six_bar(
        bar(CRANK, 1.0),
        bar(COUPLER, 2.0),
        bar(ROCKER, 1.5),
        bar(CONNECTOR, 0.9),
        bar(OUTPUT, 1.2),
        ground=(GROUND, 0.0),
        output_ground=OUTPUT_GROUND,
        coupler_point=KNEE,
        coupler_offset=0.2,
        connector_offset=-0.1,
        connector_point=(0.3, 0.3),
    )


def turned(difference: Array | float) -> Array:
    """Differences of angles, between −π and π."""
    return np.asarray((np.asarray(difference) + np.pi) % (2 * np.pi) - np.pi)


def unit(angle: float) -> Array:
    """Direction of an angle, shape (2,)."""
    return np.array([np.cos(angle), np.sin(angle)])


def left(e: Array) -> Array:
    """A plane vector turned by +90°."""
    return np.array([-e[1], e[0]])
