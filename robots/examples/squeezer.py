"""Andrews' squeezing mechanism, the benchmark of seven bodies."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...symbolic.arrays import vector
from ..mechanism import Closure, mechanism, with_inputs
from ..planar_linkage import Bar, Spring, planar_linkage
from ..planar_manipulator import Link
from ..robot import Robot


def andrews_squeezer() -> Robot:
    """Andrews' squeezing mechanism with the numbers of Hairer and Wanner [HairerWanner1996]_, section VII.7.

    Seven bars, three loops that meet in one pin, a spring, no gravity; the benchmark drives the crank K1 with 0.033 N m
    from rest and asks for the place after 0.03 s, when the crank has made two and a half turns. One degree of freedom.

    The book's coordinates are found from the absolute angles here as β = K1, Θ = K2 − K1 − π, γ = K3 + π/2, δ = K5,
    Φ = K4 − K5 + π/2, ε = K7 + π/2, Ω = K6 − K7 − π/2. Its equations are M w = f − Gᵀλ, so that the reactions of
    ``pin K3``, ``pin K4`` and ``pin K6``, in this order, are −λ.
    """
    members = {
        "K1": Bar(Link(0.007, 0.04325, 0.00092, 2.194e-6), (0.0, 0.0)),
        "K2": Bar(Link(0.028, 0.00365, 0.0115, 4.410e-7), "K1.end"),
        "K3": Bar(Link(0.035, 0.02373, 0.01874, 5.255e-6), (-0.03635, 0.03273), 0.01043, {"spring": (0.018, 0.02)}),
        "K5": Bar(Link(0.04, 0.07050, 0.02308, 1.169e-5), (-0.06934, -0.00227), 0.00916),
        "K4": Bar(Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7), "K5.end"),
        "K7": Bar(Link(0.04, 0.05498, 0.01228, 1.912e-5), (-0.06934, -0.00227), 0.00449),
        "K6": Bar(Link(0.02, 0.00706, 0.02 - 0.01421, 5.667e-7), "K7.end"),
    }
    springs = {"spring": Spring("K3.spring", (0.014, 0.072), stiffness=4530.0, rest_length=0.07785)}
    chain = ["K1.base", "K1.end", "K2.end", "K3.base", "K3.spring", "K3.base"]
    chain += ["K2.end", "K4.base", "K5.base", "K7.end", "K2.end"]
    bars = planar_linkage(members, springs=springs, gravity=0.0, chain=chain, name="Andrews' squeezer")
    pins = [Closure("K2.end", f"{bar}.end", f"pin {bar}") for bar in ("K3", "K4", "K6")]
    return with_inputs(mechanism(bars, pins, name=bars.name), ("K1",))


def in_the_book(q: ArrayLike) -> NDArray[np.float64]:
    """β, Θ, γ, Φ, δ, Ω, ε of the book from the absolute angles of :func:`andrews_squeezer`, shape (7,) [rad].

    Args:
        q: coordinates, shape (7,) [rad].

    Raises:
        ShapeError: for a wrong shape, or a number that is not finite.
    """
    k1, k2, k3, k5, k4, k7, k6 = vector("q", q, 7)
    quarter = math.pi / 2
    return np.array([k1, k2 - k1 - math.pi, k3 + quarter, k4 - k5 + quarter, k5, k6 - k7 - quarter, k7 + quarter])
