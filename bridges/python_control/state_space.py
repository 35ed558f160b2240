"""Linearizations and perturbation equations as state spaces of python-control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...controllers.linearization.linearizer import Linearization
from ...controllers.program.program import Program
from ...symbolic.errors import BridgeError, ModelError
from ...symbolic.kernel import Kernel
from .io_system import input_signals, signal_names

if TYPE_CHECKING:
    import control


Array = NDArray[np.float64]


def export_linearization(line: Linearization, *, name: str | None = None) -> control.StateSpace:
    """Build a state space of deviations with named states, inputs and outputs from a linearization.

    Args:
        line: result of :func:`~erugin.controllers.linearize`.
        name: name of the system; chosen by python-control if not given.
    """
    states = signal_names(line.states)
    signals = {
        "states": states,
        "inputs": input_signals(line.inputs, (*states, *signal_names(line.outputs))),
        "outputs": signal_names(line.outputs),
    }
    return _state_space(line.A, line.B, line.C, line.D, name=name, **signals)


def export_perturbations(
    program: Program, *, p: Mapping[str, float] | None = None, name: str | None = None
) -> control.StateSpace:
    """Build the linearized perturbation equations ÿ = g(y, ẏ) + d of order 0 and ẏ′ = h(y′) + d of order 1.

    Each row has a state for its deviation, one for its rate if it is of order 0, an input d, which a disturbance or a
    model error adds to the highest derivative, and an output, the deviation. Rows of order 2 have no dynamics;
    time-varying gains are replaced by their final, largest values.

    Args:
        program: program with at least one row of order 0 or 1.
        p: the program's parameters, the gains among them: nominal, overridden by name.
        name: name of the system; chosen by python-control if not given.

    Raises:
        ModelError: if all rows are of order 2.
        ParameterError: for an unknown parameter, or one out of its range.
    """
    if not isinstance(program, Program):
        raise ModelError(f"program must be a Program, got {program!r}; of a controller pass its .program")
    numbers = program.parameters.values(p)
    matrices = Kernel(
        "perturbations",
        {"p": program.parameters.symbols},
        {f"A{i}": ca.vec(matrix) for i, (_, matrix) in enumerate(program.linearizations)},
        compiled=False,
    )(numbers)
    blocks: list[Array] = []
    states: list[str] = []
    rows: list[str] = []
    gains: list[Array] = []
    first = 0
    for constraint, flat in zip(program.constraints, map(np.atleast_1d, matrices), strict=True):
        m, order = len(program.blocks[first]), constraint.order
        names, first = program.rows[first : first + m], first + m
        if order == 2:
            continue
        size = round(np.sqrt(flat.size))
        A = flat.reshape(size, size, order="F")
        depth = 2 - order
        # A constraint whose rows are decoupled and equal has the matrix of one row.
        blocks.append(A if size == depth * m else np.asarray(np.kron(A, np.eye(m)), dtype=np.float64))
        states += [*names, *(f"{row}.rate" for row in names)] if order == 0 else names
        rows += names
        gains.append(np.vstack([np.zeros((m, m)), np.eye(m)]) if order == 0 else np.eye(m))
    if not blocks:
        raise ModelError("all rows of the program are of order 2 and hold at once: they have no perturbation dynamics")
    A, B = _diagonal(blocks), _diagonal(gains)
    C = np.array([[float(state == row) for state in states] for row in rows])
    signals = {
        "states": signal_names(states),
        "inputs": signal_names(f"d_{row}" for row in rows),
        "outputs": signal_names(rows),
    }
    return _state_space(A, B, C, np.zeros((len(rows), len(rows))), name=name, **signals)


def _diagonal(blocks: list[Array]) -> Array:
    whole = np.zeros((sum(len(b) for b in blocks), sum(b.shape[1] for b in blocks)))
    row = column = 0
    for block in blocks:
        whole[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return whole


def _state_space(*matrices: Array, name: str | None, **signals: Sequence[str]) -> control.StateSpace:
    import control

    try:
        return control.StateSpace(*matrices, name=name, **signals)
    except ValueError as error:
        raise BridgeError(f"python-control does not accept the name {name!r}: {error}") from error
