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
"""Of coordinates, in their own units."""
MOTION = 0.5
"""Of velocities, of what integrators hold, and of time."""
SEED = 1998
ZERO = 1e-9
"""Share of what a number is the sum of, below which it counts as rounding."""


@dataclass(frozen=True, eq=False)
class NearbyStates:
    """A few states around one.

    Attributes:
        robot: whose states they are.
        q: coordinates in the middle, shape (nq,).
        v: velocities in the middle, shape (nv,).
        parameters: of what is looked at.
    """

    robot: Robot
    q: Array
    v: Array
    parameters: Parameters

    def at(self, expression: ca.SX) -> Array:
        """Value of an expression at the middle and t = 0, of its shape; NaN where it is not defined.

        Args:
            expression: in t, q, v and p.
        """
        c = self.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.parameters.symbols}
        kernel = Kernel("place", inputs, {"value": ca.densify(expression)}, compiled=False)
        # The first numbers of the generator, as in :meth:`values`.
        p = sample_parameters(self.parameters, np.random.default_rng(SEED))
        return kernel(0.0, self.q, self.v, p)[0].reshape(expression.shape)

    def values(self, expressions: Mapping[str, ca.SX], extended: ca.SX) -> dict[str, Array]:
        """Values of all expressions, each of shape (places, rows, columns), at places where all are finite.

        Args:
            expressions: in t, q, v, p and ``extended``, by name.
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
            told = kernel(rng.uniform(0.0, MOTION), q, v, rng.uniform(-MOTION, MOTION, extended.numel()), p)
            whole = [e.reshape(shape) for e, shape in zip(told, kernel.outputs.values(), strict=True)]
            if all(np.isfinite(e).all() for e in whole):
                found.append(whole)
        return {
            key: np.array([one[i] for one in found]).reshape(-1, *kernel.outputs[key])
            for i, key in enumerate(expressions)
        }


Extension = Literal["rows", "inputs"]

LARGEST = 400_000
"""Operations in one derivative; beyond that C compilers and memory give up before the mathematics does."""


@dataclass
class ServoRow:
    """One row, and what is known of its derivatives.

    Attributes:
        name: for messages.
        chain: y, ẏ, … as far as the inputs do not reach, in t, q, v, p and what the integrators hold.
        structural: least order at which the pattern of the equations lets an input in; None if it never does.
        degree: order of the first derivative that an input reaches; None if none does.
        first: order of the derivative that was made an input of its own first; None if it never was.
        turn: after which stage that was; None likewise.
        asked: the input that its next derivative is, if it is one.
    """

    name: str
    chain: list[ca.SX]
    structural: int | None
    degree: int | None = None
    first: int | None = None
    turn: int | None = None
    asked: ca.SX | None = None


@dataclass
class ServoStructure:
    """ẋ = f + G w, ξ̇ in it, and rows y^{(ρ)} = b + A w with independent rows A.

    Where A has dependent rows it is extended, and the rows are differentiated on, in one of two ways:

    ``"rows"``, inversion [Singh1981]_: as many rows as are independent become inputs themselves, y_i^{(r_i)} = w_i,
    and those among them on which other rows depend are put behind an integrator, ξ̇_i = w_i.

    ``"inputs"``, dynamic extension [DescusseMoog1985]_: with as many columns C as are independent, A u = A_C ζ where ζ
    = u_C + γ u_K, and those ζ that act on dependent rows are put behind an integrator. No row is preferred, so that it
    works where a row alone would lose its degree.

    Attributes:
        program: whose rows they are.
        places: near which everything is judged.
        extension: which of the two ways.
        rows: as many as the program has.
        state: x = (q, v, ξ).
        extended: ξ, what integrators hold, in the order in which they were put there.
        owners: for each ξ, the row that it is a derivative of; −1 where it is an input.
        starts: for each ξ, what it is where the rows obey their equations best, in x and the ξ before it.
        drift: f, shape of the state.
        reach: G, shape (state, nu).
        inputs: w, shape (nu,).
        output: u in t, x, p and w.
        matrix: A, shape (m, nu).
        offset: b, shape (m,).
        plain: A before any integrator, where all rows were reached.
        plain_rank: its rank almost everywhere.
        scales: typical size of each column of A, shape (nu,).
        sizes: typical |A_i|² of each row with these scales, shape (m,).
        stages: how often rows became inputs.
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
        """How many integrators stand before the inputs that each row became; of an inversion."""
        return tuple(self.owners.count(i) for i in range(len(self.rows)))

    def differentiate(self, row: ServoRow) -> tuple[ca.SX, ca.SX, ca.SX] | None:
        """The row of A, what its entries are the sums of, and the entry of b, where an input reaches; None if none.

        Args:
            row: one of ``rows``, to whose chain derivatives are added that no input reaches.
        """
        if row.asked is not None:
            unit = ca.jacobian(row.asked, self.inputs)
            return unit, unit, ca.SX(0)
        direction = ca.vertcat(self.drift, 1)
        while True:
            gradient = ca.jacobian(row.chain[-1], self.state)
            A, parts = gradient @ self.reach, ca.fabs(gradient) @ ca.fabs(self.reach)
            numbers = self.without_rounding(A, parts)
            if not numbers.size:
                self.failure = f"{row.name!r} is not finite near the given place: choose another"
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
            # Later than the pattern says: either entries cancel here, or there is nothing that could be reached.
            if row.degree is None and len(row.chain) > (row.structural or 0) and self.rows_depend():
                return None

    def without_rounding(self, A: ca.SX, parts: ca.SX) -> Array:
        """Values of a matrix at all places, with exact zeros where entries are rounding of what they are sums of.

        Args:
            A: the matrix.
            parts: the sums of the sizes of what its entries are sums of.
        """
        found = self.places.values({"A": A, "parts": parts}, self.extended)
        largest = found["parts"].max(axis=2, keepdims=True, initial=0.0)
        return np.where(np.abs(found["A"]) > ZERO * largest, found["A"], 0.0)

    def rows_depend(self) -> bool:
        """Whether rows and their derivatives so far say less than they are many; then no input can make them obey."""
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
                    f"something that {row.name!r} or its derivatives say is known from the other rows, or never "
                    "changes, and no input reaches it: take the row away, choose another output, or a place that is "
                    "not one of symmetry"
                )
                return True
        return False
