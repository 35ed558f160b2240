"""The exoskeleton of two telescopic links of [ChigarevBorisov2015]: its equations (1)-(6), typed from the paper.

q = (phi1, phi2, l1, l2): absolute angles from the horizontal x, y up, and the lengths of the links. The centre of mass
of link i lies at n_i l_i from its first joint, I_i is about it and constant, springs k_i act on Delta l_i = l_i - l_i0
(which the paper does not define), M_i is the torque at joint i by link i - 1 on link i. (2)-(6) hold no error.

The values are a mapping with the keys m1, m2, n1, n2, I1, I2 and, where forces matter, k1, k2, l10, l20, g, M1, M2.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# The 33 coefficients of (3)-(6) as printed: left sides by what they multiply, where '' and ' are time derivatives of a
# coordinate and "" is for terms that multiply none; then the right sides.
COEFFICIENTS: tuple[dict[str, str], ...] = (
    {
        "phi1''": "I1 + l1**2*(m2 + m1*n1**2)",
        "phi2''": "l1*l2*m2*n2*cos(phi1 - phi2)",
        "phi2'*phi2'": "l1*l2*m2*n2*sin(phi1 - phi2)",
        "": "g*l1*(m2 + m1*n1)*cos(phi1)",
        "phi1'*l1'": "2*l1*(m2 + m1*n1**2)",
        "phi2'*l2'": "2*l1*m2*n2*cos(phi1 - phi2)",
        "l2''": "-l1*m2*n2*sin(phi1 - phi2)",
    },
    {
        "phi1''": "l1*l2*m2*n2*cos(phi1 - phi2)",
        "phi2''": "I2 + m2*l2**2*n2**2",
        "phi1'*phi1'": "-l1*l2*m2*n2*sin(phi1 - phi2)",
        "": "g*l2*m2*n2*cos(phi2)",
        "phi1'*l1'": "2*l2*m2*n2*cos(phi1 - phi2)",
        "phi2'*l2'": "2*l2*m2*n2**2",
        "l1''": "l2*m2*n2*sin(phi1 - phi2)",
    },
    {
        "phi2''": "l2*m2*n2*sin(phi1 - phi2)",
        "phi1'*phi1'": "-l1*(m2 + m1*n1**2)",
        "phi2'*phi2'": "-l2*m2*n2*cos(phi1 - phi2)",
        "": "g*(m2 + m1*n1)*sin(phi1)",
        "phi2'*l2'": "2*m2*n2*sin(phi1 - phi2)",
        "l1''": "m2 + m1*n1**2",
        "l2''": "m2*n2*cos(phi1 - phi2)",
    },
    {
        "phi1''": "-l1*m2*n2*sin(phi1 - phi2)",
        "phi1'*phi1'": "-l1*m2*n2*cos(phi1 - phi2)",
        "phi2'*phi2'": "-l2*m2*n2**2",
        "": "g*m2*n2*sin(phi2)",
        "phi1'*l1'": "-2*m2*n2*sin(phi1 - phi2)",
        "l1''": "m2*n2*cos(phi1 - phi2)",
        "l2''": "m2*n2**2",
    },
)
# What each factor on the right is multiplied by, the springs with Delta l_i.
RIGHT_SIDES: tuple[dict[str, str], ...] = (
    {"M1": "1", "M2": "-1"},
    {"M2": "1"},
    {"Delta_l1": "-k1"},
    {"Delta_l2": "-k2"},
)


def mass_matrix(
    phi1: float,
    phi2: float,
    l1: float,
    l2: float,
    m1: float,
    m2: float,
    n1: float,
    n2: float,
    I1: float,
    I2: float,
) -> Array:
    """M(q), shape (4, 4): what multiplies the accelerations of phi1, phi2, l1, l2 in (3)-(6)."""
    c, s = float(np.cos(phi1 - phi2)), float(np.sin(phi1 - phi2))
    return np.array(
        [
            [I1 + l1**2 * (m2 + m1 * n1**2), l1 * l2 * m2 * n2 * c, 0.0, -l1 * m2 * n2 * s],
            [l1 * l2 * m2 * n2 * c, I2 + m2 * l2**2 * n2**2, l2 * m2 * n2 * s, 0.0],
            [0.0, l2 * m2 * n2 * s, m2 + m1 * n1**2, m2 * n2 * c],
            [-l1 * m2 * n2 * s, 0.0, m2 * n2 * c, m2 * n2**2],
        ]
    )


def gravity_forces(q: Array, values: Mapping[str, float]) -> Array:
    """Terms of gravity in the left sides of (3)-(6), shape (4,); (2) has their opposite."""
    phi1, phi2, l1, l2 = q
    g, m1, m2, n1, n2 = (values[key] for key in ("g", "m1", "m2", "n1", "n2"))
    return np.array(
        [
            g * l1 * (m2 + m1 * n1) * np.cos(phi1),
            g * l2 * m2 * n2 * np.cos(phi2),
            g * (m2 + m1 * n1) * np.sin(phi1),
            g * m2 * n2 * np.sin(phi2),
        ]
    )


def velocity_forces(q: Array, v: Array, values: Mapping[str, float]) -> Array:
    """Terms of (3)-(6) that are quadratic in the velocities, shape (4,), on the left."""
    phi1, phi2, l1, l2 = q
    w1, w2, s1, s2 = v
    m1, m2, n1, n2 = (values[key] for key in ("m1", "m2", "n1", "n2"))
    c, s = np.cos(phi1 - phi2), np.sin(phi1 - phi2)
    return np.array(
        [
            l1 * l2 * m2 * n2 * s * w2**2 + 2 * l1 * (m2 + m1 * n1**2) * s1 * w1 + 2 * l1 * m2 * n2 * c * s2 * w2,
            -l1 * l2 * m2 * n2 * s * w1**2 + 2 * l2 * m2 * n2 * c * s1 * w1 + 2 * l2 * m2 * n2**2 * s2 * w2,
            -l1 * (m2 + m1 * n1**2) * w1**2 - l2 * m2 * n2 * c * w2**2 + 2 * m2 * n2 * s * s2 * w2,
            -l1 * m2 * n2 * c * w1**2 - l2 * m2 * n2**2 * w2**2 - 2 * m2 * n2 * s * s1 * w1,
        ]
    )


def spring_forces(q: Array, values: Mapping[str, float]) -> Array:
    """k_i Delta l_i in the last two equations, shape (4,), on the left; they are printed on the right of (5), (6)."""
    _, _, l1, l2 = q
    return np.array([0.0, 0.0, values["k1"] * (l1 - values["l10"]), values["k2"] * (l2 - values["l20"])])


def bias(q: Array, v: Array, values: Mapping[str, float]) -> Array:
    """h(q, v), shape (4,): the left sides without accelerations, gravity and springs among them."""
    return velocity_forces(q, v, values) + gravity_forces(q, values) + spring_forces(q, values)


def left_side(q: Array, v: Array, a: Array, values: Mapping[str, float]) -> Array:
    """Left sides of (3)-(6) minus their right sides, shape (4,); zero along a motion."""
    phi1, phi2, l1, l2 = q
    M = mass_matrix(phi1, phi2, l1, l2, *(values[key] for key in ("m1", "m2", "n1", "n2", "I1", "I2")))
    torques = np.array([values["M1"] - values["M2"], values["M2"], 0.0, 0.0])
    return np.asarray(M @ a + bias(q, v, values) - torques, dtype=np.float64)


def generalised_forces(q: Array, values: Mapping[str, float]) -> Array:
    """Q of (2), shape (4,): gravity, springs and torques together; to be used with L = T, not with L = T - P."""
    torques = np.array([values["M1"] - values["M2"], values["M2"], 0.0, 0.0])
    return torques - gravity_forces(q, values) - spring_forces(q, values)
