"""The structure of a servo-program: its rows differentiated until inputs reach them, sampled near one state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import Parameters
from ...symbolic.sampling import sample_parameters
from ..program.program import Program

Array = NDArray[np.float64]

COUNT = 5
SPREAD = 0.1
"""Spread of the coordinates, in their units."""
MOTION = 0.5
"""Spread of velocities, contents of integrators, and time."""
SEED = 1998
ZERO = 1e-9
"""Share of its terms below which a number counts as rounding."""


@dataclass(frozen=True, eq=False)
class NearbyStates:
    """A few states around one.

    Attributes:
        robot: the model.
        q: coordinates at the centre, shape (nq,).
        v: velocities at the centre, shape (nv,).
        parameters: parameters of the expressions.
    """

    robot: Robot
    q: Array
    v: Array
    parameters: Parameters

    def at(self, expression: ca.SX) -> Array:
        """Return the value of an expression at the centre and t = 0, of its shape; NaN where it is undefined.

        Args:
            expression: expression in t, q, v and p.
        """
        c = self.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols}
        kernel = Kernel("place", inputs, {"value": ca.densify(expression)}, compiled=False)
        # The first numbers of the generator, as in :meth:`values`.
        p = sample_parameters(self.parameters, np.random.default_rng(SEED))
        return kernel(0.0, self.q, self.v, p)[0].reshape(expression.shape)

    def values(self, expressions: Mapping[str, ca.SX], extended: ca.SX) -> dict[str, Array]:
        """Return the values of all expressions, each of shape (states, rows, columns), at states where all are finite.

        Args:
            expressions: expressions in t, q, v, p and ``extended``, by name.
            extended: further symbols, which get random values.
        """
        c = self.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "x": extended, "p": self.parameters.symbols}
        kernel = Kernel("places", inputs, {key: ca.densify(e) for key, e in expressions.items()}, compiled=False)
        rng = np.random.default_rng(SEED)
        p = sample_parameters(self.parameters, rng)
        found: list[list[Array]] = []
        for _ in range(COUNT):
            q = self.q + rng.uniform(-SPREAD, SPREAD, c.nq)
            v = self.v + rng.uniform(-MOTION, MOTION, c.nv)
            numbers = kernel(rng.uniform(0.0, MOTION), q, v, rng.uniform(-MOTION, MOTION, extended.numel()), p)
            whole = [e.reshape(shape) for e, shape in zip(numbers, kernel.outputs.values(), strict=True)]
            if all(np.isfinite(e).all() for e in whole):
                found.append(whole)
        return {
            key: np.array([one[i] for one in found]).reshape(-1, *kernel.outputs[key])
            for i, key in enumerate(expressions)
        }


Extension = Literal["rows", "inputs"]

LARGEST = 400_000
"""Largest number of operations in one derivative, for C compilers and memory."""


@dataclass
class ServoRow:
    """One row and its derivatives.

    Attributes:
        name: name of the row, for messages.
        chain: y, ẏ, … up to the last derivative without inputs, in t, q, v, p and the contents of the integrators.
        structural: least order at which an input can appear by the pattern of the equations; None if it never can.
        degree: order of the first derivative that an input reaches; None if none does.
        first: order of the derivative that first became an input; None if none did.
        turn: stage after which it became one; None if none did.
        next_input: the input that its next derivative is, if it is one.
    """

    name: str
    chain: list[ca.SX]
    structural: int | None
    degree: int | None = None
    first: int | None = None
    turn: int | None = None
    next_input: ca.SX | None = None


@dataclass
class ServoStructure:
    """ẋ = f + G w, ξ̇ in it, and rows y^{(ρ)} = b + A w with independent rows A.

    If A has dependent rows it is extended, and the rows are differentiated further, by one of two methods:

    ``"rows"``, inversion [Singh1981]_: the independent rows become inputs, y_i^{(r_i)} = w_i, and those on which other
    rows depend are put behind an integrator, ξ̇_i = w_i.

    ``"inputs"``, dynamic extension [DescusseMoog1985]_: with as many columns C as are independent, A u = A_C ζ where ζ
    = u_C + γ u_K, and those ζ that act on dependent rows are put behind an integrator. No row is preferred, so that it
    works where a single row would lose its degree.

    Attributes:
        program: the program.
        places: states near which everything is evaluated.
        extension: method of extension.
        rows: rows of the program.
        state: x = (q, v, ξ).
        extended: ξ, contents of the integrators, in the order in which they were added.
        owners: for each ξ, the row that it is a derivative of; −1 if it is an input.
        starts: for each ξ, the value with which the rows obey their equations best, in x and earlier ξ.
        drift: f, shape of the state.
        reach: G, shape (state, nu).
        inputs: w, shape (nu,).
        output: u in t, x, p and w.
        matrix: A, shape (m, nu).
        offset: b, shape (m,).
        plain: A before any integrator, if all rows are reached.
        plain_rank: rank of ``plain`` almost everywhere.
        scales: typical size of each column of A, shape (nu,).
        sizes: typical |A_i|² of each row with these scales, shape (m,).
        stages: number of extensions.
        failure: why the rows cannot be controlled; empty if they can.
    """

    program: Program
    places: NearbyStates
    extension: Extension
    rows: list[ServoRow]
    state: ca.SX
    extended: ca.SX
    drift: ca.SX
    reach: ca.SX
    inputs: ca.SX
    output: ca.SX
    owners: list[int] = field(default_factory=list[int])
    starts: list[ca.SX] = field(default_factory=list[ca.SX])
    matrix: ca.SX = field(default_factory=lambda: ca.SX(0, 0))
    offset: ca.SX = field(default_factory=lambda: ca.SX(0, 1))
    plain: ca.SX | None = None
    plain_rank: int = 0
    scales: Array = field(default_factory=lambda: np.zeros(0))
    sizes: Array = field(default_factory=lambda: np.zeros(0))
    stages: int = 0
    failure: str = ""

    @property
    def integrators(self) -> tuple[int, ...]:
        """Number of integrators before the inputs that each row became, for an inversion."""
        return tuple(self.owners.count(i) for i in range(len(self.rows)))

    def differentiate(self, row: ServoRow) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """Differentiate a row until an input reaches it; return its row of A, the sizes of its terms, and its b.

        The result is None if no input reaches the row.

        Args:
            row: one of ``rows``; derivatives that no input reaches are appended to its chain.
        """
        if row.next_input is not None:
            unit = ca.jacobian(row.next_input, self.inputs)
            return unit, unit, ca.SX(0)
        direction = ca.vertcat(self.drift, 1)
        while True:
            gradient = ca.jacobian(row.chain[-1], self.state)
            A, parts = gradient @ self.reach, ca.fabs(gradient) @ ca.fabs(self.reach)
            numbers = self.without_rounding(A, parts)
            if not numbers.size:
                self.failure = f"{row.name!r} is not finite near the given state: choose another"
                return None
            variables = ca.vertcat(self.state, self.program.robot.coordinates.t)
            rate = ca.cse(ca.jtimes(row.chain[-1], variables, direction))
            if (size := ca.n_nodes(rate)) > LARGEST:
                self.failure = (
                    f"derivative {len(row.chain)} of {row.name!r} has {size} operations, more than {LARGEST}: choose "
                    "an output nearer to the inputs, coordinates in which it is simpler, or fewer bodies"
                )
                return None
            if numbers.any():
                row.degree = len(row.chain) if row.degree is None else row.degree
                return A, parts, rate
            row.chain.append(rate)
            # Beyond the order by pattern: either entries cancel, or no input can reach the row.
            if row.degree is None and len(row.chain) > (row.structural or 0) and self.rows_depend():
                return None

    def without_rounding(self, A: ca.SX, parts: ca.SX) -> Array:
        """Return a matrix at all states, with exact zeros where entries are rounding of their terms.

        Args:
            A: the matrix.
            parts: sums of the absolute values of the terms of its entries.
        """
        found = self.places.values({"A": A, "parts": parts}, self.extended)
        largest = found["parts"].max(axis=2, keepdims=True, initial=0.0)
        return np.where(np.abs(found["A"]) > ZERO * largest, found["A"], 0.0)

    def rows_depend(self) -> bool:
        """True if the rows and their derivatives so far are dependent; then no input can satisfy them."""
        chains = [ca.vertcat(*row.chain) for row in self.rows]
        slope = ca.jacobian(ca.vertcat(*chains), self.state)
        found = self.places.values({"slope": slope}, self.extended)["slope"]
        size = np.linalg.norm(found, axis=2, keepdims=True)
        found = found / np.where(size > 0.0, size, 1.0)
        count = 0
        for row in self.rows:
            count += len(row.chain)
            if int(np.linalg.matrix_rank(found[:, :count], tol=ZERO).max()) < count:
                self.failure = (
                    f"{row.name!r} or one of its derivatives depends on the other rows, or is constant, so no input "
                    "controls it: remove the row, choose another output, or a state without symmetry"
                )
                return True
        return False
