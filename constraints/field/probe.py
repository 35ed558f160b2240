"""Values of a velocity field, of its curves and of their derivatives at many positions at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...symbolic.kernel import Kernel, WorkspacePool
from ...symbolic.parameters import Parameters
from ..curves.curve import Curve
from .erugin_field import EruginField


class VelocityField(Protocol):
    """A velocity field with functions that vanish on its curves, such as :class:`~erugin.constraints.EruginField`."""

    @property
    def name(self) -> str:
        """Name in messages."""
        ...

    @property
    def dimension(self) -> int:
        """Dimension n of the space."""
        ...

    @property
    def parameters(self) -> Parameters:
        """Its positions, sizes and speeds, as symbols with nominal values."""
        ...

    @property
    def path(self) -> Curve:
        """Curve that is followed."""
        ...

    @property
    def obstacles(self) -> tuple[Curve, ...]:
        """Boundaries to stay outside of."""
        ...

    @property
    def inside(self) -> tuple[Curve, ...]:
        """Boundaries of regions to stay inside of."""
        ...

    def velocity(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The field w at position ``x`` and time ``t``, shape (n,) [m/s]."""
        ...

    def functions(self, x: ca.SX, t: ca.SX) -> ca.SX:
        """The f_i at position ``x`` and time ``t``: the program curve's, then one per barrier [m]."""
        ...

    def structure(self, x: ca.SX, t: ca.SX) -> tuple[ca.SX, ca.SX, ca.SX]:
        """P, shape (n,), S, shape (n, n), and f = ∏ f_i of the literal structure at position ``x`` and time ``t``."""
        ...


Array = NDArray[np.float64]
BLOCK = 32


@dataclass(frozen=True, eq=False)
class Probe:
    """Named expressions of position and time, evaluated at many positions without a Python loop over them.

    Attributes:
        kernel: kernel with the inputs ``x``, ``t`` and ``p``.
        p: values of the parameters, shape (np,).
    """

    kernel: Kernel
    p: Array

    @classmethod
    def of(cls, name: str, x: ca.SX, t: ca.SX, symbols: ca.SX, outputs: Mapping[str, ca.SX], p: Array) -> Probe:
        """Build the kernel.

        Args:
            name: a C identifier.
            x: symbols of the position, shape (n,).
            t: symbol of the time.
            symbols: symbols of the parameters, shape (np,).
            outputs: expressions by name.
            p: values of the parameters, shape (np,).
        """
        return cls(Kernel(name, {"x": x, "t": t, "p": symbols}, outputs, compiled=False), p)

    def at(self, positions: Array, times: Array) -> dict[str, Array]:
        """Evaluate at N positions; return values by name, (N, r) for columns, (N, r, c) for matrices.

        Args:
            positions: positions, shape (N, n) [m].
            times: shape (N,) [s].
        """
        count = len(positions)
        spare = self._spares.acquire()
        x, t, evaluate, blocks = spare
        parts: list[list[Array]] = [[] for _ in blocks]
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            # The unused columns are evaluated too, and dropped.
            x[:, : last - first], t[:, : last - first] = positions[first:last].T, times[first:last]
            evaluate()
            for part, block in zip(parts, blocks, strict=True):
                part.append(block[:, : last - first].copy())
        self._spares.release(spare)
        values: dict[str, Array] = {}
        for (key, (rows, columns)), part in zip(self.kernel.outputs.items(), parts, strict=True):
            shape = (count, rows) if columns == 1 else (count, rows, columns)
            flat = np.hstack([np.zeros((rows * columns, 0)), *part])
            # Columns of the result hold each matrix column by column.
            values[key] = np.ascontiguousarray(flat.T.reshape(count, columns, rows).transpose(0, 2, 1)).reshape(shape)
        return values

    @functools.cached_property
    def _spares(self) -> WorkspacePool[tuple[Array, Array, Callable[[], None], list[Array]]]:
        return WorkspacePool(self._block)

    def _block(self) -> tuple[Array, Array, Callable[[], None], list[Array]]:
        """Positions and times that are read, the call, and the results that it writes, for a block of positions."""
        x, t = (np.zeros((self.kernel.inputs[key][0], BLOCK), order="F") for key in ("x", "t"))
        results = [np.zeros((rows * columns, BLOCK), order="F") for rows, columns in self.kernel.outputs.values()]
        p = np.asfortranarray(np.tile(self.p[:, None], (1, BLOCK)))
        return x, t, self.kernel.loop(BLOCK, 0, [x, t, p], results), results


@dataclass(frozen=True, eq=False)
class FieldProbe:
    """Probes of a field, of its functions and of their derivatives.

    Attributes:
        field: the field.
        motion: ``w`` (N, n), its Jacobian ``w_x`` (N, n, n) and its rate ``w_t`` (N, n).
        rows: the functions ``f`` (N, k), ``f_x`` (N, k, n) and ``f_t`` (N, k).
        product: f = ∏ f_i with ``f`` (N, 1), ``f_x`` (N, n), ``f_xx`` (N, n, n), ``f_t`` (N, 1), and ``P`` (N, n).
        curvature: Hessians of all functions, ``f_xx`` (N, k n, n), one below the other.
        flow: ``w`` (N, n) alone, the barriers' functions ``O`` (N, number of barriers), and ``pressing`` (N, 1), the
            largest speed that a barrier takes from the motion along the program curve.
    """

    field: VelocityField
    motion: Probe
    rows: Probe
    product: Probe
    curvature: Probe
    flow: Probe

    @classmethod
    def of(cls, field: VelocityField, p: Array) -> FieldProbe:
        """Build the probes of a field.

        Args:
            field: the field.
            p: values of its parameters, shape (np,).
        """
        n = field.dimension
        x, t, symbols = ca.SX.sym("x", n), ca.SX.sym("t"), field.parameters.symbols

        def probe(name: str, outputs: Mapping[str, ca.SX]) -> Probe:
            return Probe.of(f"{name}_probe", x, t, symbols, outputs, p)

        w, f, barriers = field.velocity(x, t), field.functions(x, t), len(field.obstacles) + len(field.inside)
        taken = field.pressing(x, t) if isinstance(field, EruginField) else ca.SX(0, 1)
        pressing = functools.reduce(ca.fmax, ca.vertsplit(taken), ca.SX(0))
        P, _, product = field.structure(x, t)
        hessian, slope = ca.hessian(product, x)
        return cls(
            field,
            probe("motion", {"w": w, "w_x": ca.jacobian(w, x), "w_t": ca.jacobian(w, t)}),
            probe("rows", {"f": f, "f_x": ca.jacobian(f, x), "f_t": ca.jacobian(f, t)}),
            probe("product", {"f": product, "f_x": slope, "f_xx": hessian, "f_t": ca.jacobian(product, t), "P": P}),
            probe("curvature", {"f_xx": ca.vertcat(*(ca.hessian(row, x)[0] for row in ca.vertsplit(f)))}),
            probe(
                "flow",
                {
                    "w": w,
                    "O": ca.vertcat(ca.SX(0, 1), *ca.vertsplit(f)[f.numel() - barriers :]),
                    "pressing": ca.densify(pressing),
                },
            ),
        )
