"""Electric circuits with the charges of their branches as coordinates, and the Butterworth filter as a ladder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from ...constraints.relations.expression import nonholonomic
from ...symbolic.errors import ModelError, unknown_name
from ...symbolic.parameters import Parameters, Range
from ...symbolic.validation import finite, positive
from ..families.lagrangian_system import lagrangian_system
from ..robot import Robot

GROUND = "ground"
"""Reference node of the potentials."""

ELEMENTS = {"L": "inductance [H]", "R": "resistance [Ω]", "C": "capacitance [F]"}
"""Symbols of passive elements and their quantities."""


@dataclass(frozen=True)
class Branch:
    """Elements in series between two nodes; None for a missing element.

    Attributes:
        start: node from which a positive current flows.
        end: node to which a positive current flows.
        inductance: L [H], greater than zero.
        resistance: R [Ω], greater than zero.
        capacitance: C [F], greater than zero.
        source: True if the branch has a voltage source, an input of the circuit.

    Raises:
        ModelError: for a value out of its range, or a branch without any element.
    """

    start: str
    end: str
    inductance: float | None = None
    resistance: float | None = None
    capacitance: float | None = None
    source: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        branch = f"the branch from {self.start!r} to {self.end!r}"
        if not (self.elements or self.source):
            raise ModelError(f"{branch} has no element: pass inductance=, resistance=, capacitance= or source=True")
        for symbol, value in self.elements.items():
            positive(f"{ELEMENTS[symbol]} of {branch}", value)

    @property
    def elements(self) -> dict[str, float]:
        """Value of each passive element by its symbol L, R or C."""
        values = zip(ELEMENTS, (self.inductance, self.resistance, self.capacitance), strict=True)
        return {symbol: value for symbol, value in values if value is not None}


def electric_circuit(
    branches: Mapping[str, Branch],
    *,
    mutual: Mapping[tuple[str, str], float] | None = None,
    transformers: Mapping[str, Mapping[str, float]] | None = None,
) -> Robot:
    """Build a circuit with the charge q_k through branch k as a coordinate and its current v_k = q̇_k.

    T = ½ q̇ᵀ L q̇, V = ½ Σ q_k²/C_k, D = ½ Σ R_k q̇_k², and the voltages of sources as generalized forces. Kirchhoff's
    current law at every node except ``"ground"`` is a natural constraint, and its multiplier is the potential of that
    node [V]: L q̈ + R q̇ + q/C = u + Aᵀ μ is the voltage law. An ideal transformer is the natural constraint
    Σ N_k q̇_k = 0 on its windings; its multiplier is minus the voltage per turn. Branches without inductance make M
    singular; the motion is determined if every loop has inductance [Deressa2015]_ section 1.2.

    Coordinates are ``q_{branch}``, inputs ``u_{branch}``; parameters are ``{branch}.L``, ``.R``, ``.C``,
    ``{first}.{second}.M`` and ``{transformer}.{branch}.turns``. Natural constraints are the nodes in the order of their
    first branch, then the transformers.

    Args:
        branches: branches by name; at least one.
        mutual: mutual inductance of pairs of branches [H]; positive if the currents support each other.
        transformers: ideal transformers by name: number of turns of each winding, by name of its branch; negative if
            wound in the opposite direction.

    Raises:
        ModelError: for no branches, an unknown branch, a node without a path to ground, impossible mutual inductances,
            a loop without inductance, or a transformer whose condition is not independent.
    """
    if not branches:
        raise ModelError("a circuit needs at least one branch, got none")
    values = {f"{name}.{symbol}": x for name, branch in branches.items() for symbol, x in branch.elements.items()}
    ranges = dict.fromkeys(values, Range.POSITIVE)
    for pair, inductance in (mutual or {}).items():
        for name in pair:
            _require(name, branches, "L")
        if len(pair) != 2 or pair[0] == pair[1] or f"{pair[1]}.{pair[0]}.M" in values:
            raise ModelError(f"a mutual inductance requires two different branches, each pair once, got {pair!r}")
        values[f"{pair[0]}.{pair[1]}.M"] = finite(f"mutual inductance of {pair} [H]", inductance)
    nodes = dict.fromkeys(node for branch in branches.values() for node in (branch.start, branch.end))
    _require_ground(list(nodes), branches)
    for transformer, windings in (transformers or {}).items():
        if transformer in nodes or len(windings) < 2 or not all(windings.values()):
            raise ModelError(
                f"transformer {transformer!r} requires a name other than those of the nodes and at least two windings "
                f"with nonzero turns, got {dict(windings)}"
            )
        for name, turns in windings.items():
            _require(name, branches, "")
            values[f"{transformer}.{name}.turns"] = finite(f"turns of {name!r} in {transformer!r}", turns)
    p = Parameters.declare(values, ranges=ranges)

    names = list(branches)
    q = ca.vertcat(*(ca.SX.sym(f"q_{name}") for name in names))
    v = ca.vertcat(*(ca.SX.sym(f"i_{name}") for name in names))
    driven = [name for name in names if branches[name].source]
    u = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"u_{name}") for name in driven))
    magnetic, electric, dissipation, forces = ca.SX(0), ca.SX(0), ca.SX(0), ca.SX.zeros(len(names))
    for k, (name, branch) in enumerate(branches.items()):
        magnetic += p[f"{name}.L"] * v[k] ** 2 / 2 if branch.inductance is not None else 0
        electric += q[k] ** 2 / p[f"{name}.C"] / 2 if branch.capacitance is not None else 0
        dissipation += p[f"{name}.R"] * v[k] ** 2 / 2 if branch.resistance is not None else 0
        forces[k] = u[driven.index(name)] if branch.source else 0
    for first, second in mutual or {}:
        magnetic += p[f"{first}.{second}.M"] * v[names.index(first)] * v[names.index(second)]

    laws = {node: ca.SX(0) for node in nodes if node != GROUND}
    for k, branch in enumerate(branches.values()):
        for node, sign in ((branch.start, 1), (branch.end, -1)):
            if node != GROUND and branch.start != branch.end:
                laws[node] += sign * v[k]
    for transformer, windings in (transformers or {}).items():
        laws[transformer] = ca.SX(0)
        for name in windings:
            laws[transformer] += p[f"{transformer}.{name}.turns"] * v[names.index(name)]
    circuit = lagrangian_system(
        q=q,
        v=v,
        p=p,
        T=magnetic,
        V=electric,
        D=dissipation,
        Q=forces,
        u=u,
        natural=[nonholonomic(law, name=name) for name, law in laws.items()],
        units=("C",) * len(names),
        input_units=("V",) * len(driven),
        name="electric circuit",
    )
    _require_inductance(circuit, names)
    return circuit


def _require(name: str, branches: Mapping[str, Branch], element: str) -> None:
    if name not in branches:
        raise ModelError(unknown_name("branch", name, branches))
    if element and element not in branches[name].elements:
        raise ModelError(f"branch {name!r} has no inductance, which a mutual inductance requires")


def _require_ground(nodes: Sequence[str], branches: Mapping[str, Branch]) -> None:
    reached = {GROUND}
    for _ in nodes:
        reached |= {n for b in branches.values() if {b.start, b.end} & reached for n in (b.start, b.end)}
    floating = [node for node in nodes if node not in reached]
    if floating:
        raise ModelError(
            f"there is no path from {', '.join(map(repr, floating))} to {GROUND!r}, so their potentials are undefined: "
            "ground one node of each part of the circuit"
        )


def _require_inductance(circuit: Robot, names: Sequence[str]) -> None:
    """Raise ModelError if some current has negative energy, or [L; A] does not have full column rank."""
    n = len(names)
    L = circuit.evaluate(circuit.mass_matrix).reshape(n, n)
    roots = np.sqrt(np.where(np.diag(L) > 0.0, np.diag(L), 1.0))
    if np.linalg.eigvalsh(L / np.outer(roots, roots))[0] < -1e-12:
        raise ModelError(
            "the mutual inductances are too large: some currents would have negative energy, as for |M| > √(L₁L₂)"
        )
    # Rows of L and A have different units: scale each by its largest entry, which preserves the null space.
    A = circuit.evaluate(circuit.natural_form[0]).reshape(-1, n)
    if np.linalg.matrix_rank(A) < len(A):
        raise ModelError(
            "the currents of a transformer are already constrained by Kirchhoff's law or by another transformer, so "
            "its voltage is not determined: remove it"
        )
    rows = np.vstack([L, A])
    largest = np.abs(rows).max(axis=1, keepdims=True)
    _, sizes, directions = np.linalg.svd(rows / np.where(largest > 0.0, largest, 1.0))
    if sizes[n - 1] <= 1e-9 * sizes[0]:
        parts = np.abs(directions[n - 1])
        loop = [name for name, part in zip(names, parts, strict=True) if part > 1e-6 * parts.max()]
        raise ModelError(
            f"the rate of the current through {', '.join(map(repr, loop))} is not determined, because the loop has no "
            "inductance. Add an inductance to one of these branches, or remove a redundant element"
        )


def butterworth_ladder(order: int, *, resistance: float, cutoff: float) -> Robot:
    """Build a doubly terminated low-pass LC ladder with maximally flat response |2 v_load/u|² = 1/(1 + (ω/ω_c)^{2n}).

    u — R — L₁ — node — L₃ — … — L_n — R — ground, with C₂, C₄, … from the nodes to ground; L_k = g_k R/ω_c and C_k =
    g_k/(R ω_c), where g_k = 2 sin((2k − 1)π/2n) [MatthaeiYoungJones1964]_ section 4.05. Branches are ``b1`` … ``b{n}``,
    nodes ``n1`` …; the load is the resistance of the last branch.

    Args:
        order: n, odd, at least 3; for even order the load would be parallel to a capacitor, a loop without inductance.
        resistance: R of source and load [Ω].
        cutoff: ω_c [rad/s].

    Raises:
        ModelError: for another order, or a value that is not positive.
    """
    if order < 3 or order % 2 == 0:
        raise ModelError(f"order must be 3, 5, 7, …, got {order!r}")
    R, w = positive("resistance [Ω]", resistance), positive("cutoff [rad/s]", cutoff)
    branches: dict[str, Branch] = {}
    for k in range(1, order + 1):
        g = 2 * math.sin((2 * k - 1) * math.pi / (2 * order))
        if k % 2 == 0:
            branches[f"b{k}"] = Branch(f"n{k // 2}", GROUND, capacitance=g / (R * w))
            continue
        start = GROUND if k == 1 else f"n{k // 2}"
        end = GROUND if k == order else f"n{k // 2 + 1}"
        ends = R if k in (1, order) else None
        branches[f"b{k}"] = Branch(start, end, inductance=g * R / w, resistance=ends, source=k == 1)
    return electric_circuit(branches)
