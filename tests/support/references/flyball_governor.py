"""The stiff flyball governor of IFToMM's benchmark A05, with its springs as forces or as coordinates of their own."""

from __future__ import annotations

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from erugin.constraints import holonomic
from erugin.robots import Robot, lagrangian_system
from erugin.symbolic import Parameters

Array = NDArray[np.float64]
G, STIFFNESS, DAMPING, REST = 9.81, 8e5, 4e4, 0.5
SLIDER, ROD, BALL = 3.0, 0.3, 5.0
AXLE = 0.05
"""Distance of the rods' hinges, and of the springs' ends on the slider, from the shaft's axis."""
COUPLER = ROD * (1.0 + 1e-4) / 12, ROD * 2e-4 / 12
"""Inertia of a rod of 1 m × 0.01 m × 0.01 m across and along it."""
END = np.array([55.93540991, 0.61962292, 0.39007370, 0.39007370])
"""Shaft, slider and rods after 10 s by SciPy's Radau at 1e-12; at 1e-11 the same digits."""
PUBLISHED = {0.5: 0.743, 1.0: 0.501, 1.5: 0.741, 2.0: 0.506, 5.6: 0.741, 8.2: 0.500, 10.0: 0.62}
"""Height s of the slider [m] by time, read off the published curve [Gonzalez2006]_, to some 0.003 m."""


def governor(*, springs_as_coordinates: bool = False) -> Robot:
    """q = (shaft, slider, rod, rod), and the lengths of the springs, which have no mass, behind loops that close.

    Two rods of 1 m hang on hinges of the shaft, at angles α below the horizontal, with a ball at the end of each;
    springs with dampers go from their middles to the slider on the shaft.
    """
    names = ["shaft", "slider", "alpha1", "alpha2", *(["d1", "d2"] if springs_as_coordinates else [])]
    q = ca.vertcat(*(ca.SX.sym(name) for name in names))
    v = ca.vertcat(*(ca.SX.sym(f"d{name}") for name in names))
    p = Parameters.declare({"K": STIFFNESS, "C": DAMPING})
    spin, height = v[0], q[1]
    T = SLIDER * v[1] ** 2 / 2 + (SLIDER * 0.02 / 12 + ROD * 2e-4 / 12) * spin**2 / 2
    V, D = SLIDER * G * height, ca.SX(0)
    loops = []
    across, along = COUPLER
    for i in (0, 1):
        alpha, rate = q[2 + i], v[2 + i]
        for mass, x in ((ROD, 0.5), (BALL, 1.0)):
            T += mass * ((x * rate) ** 2 + ((AXLE + x * ca.cos(alpha)) * spin) ** 2) / 2
            V -= mass * G * x * ca.sin(alpha)
        T += (across * rate**2 + (across * ca.cos(alpha) ** 2 + along * ca.sin(alpha) ** 2) * spin**2) / 2
        square = (0.5 * ca.cos(alpha)) ** 2 + (1.0 - 0.5 * ca.sin(alpha) - height) ** 2
        if springs_as_coordinates:
            length, speed = q[4 + i], v[4 + i]
            loops.append(holonomic((square - length**2) / (2 * REST), name=f"spring {i + 1}"))
        else:
            length = ca.sqrt(square)
            speed = ca.jtimes(length, q, v)
        V += p["K"] * (length - REST) ** 2 / 2
        D += p["C"] * speed**2 / 2
    return lagrangian_system(q=q, v=v, p=p, T=T, V=V, D=D, natural=loops, name="flyball governor")


def start(*, springs_as_coordinates: bool = False) -> tuple[Array, Array]:
    """The slider at 0.5 m, the rods at 30°, the springs at rest, all turning at one revolution per second."""
    q, v = [0.0, 0.5, np.pi / 6, np.pi / 6], [2.0 * np.pi, 0.0, 0.0, 0.0]
    if springs_as_coordinates:
        q, v = [*q, REST, REST], [*v, 0.0, 0.0]
    return np.array(q), np.array(v)
