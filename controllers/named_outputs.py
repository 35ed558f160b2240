"""Outputs that a user names: expressions in a robot's symbols as one column."""

from __future__ import annotations

from collections.abc import Mapping

import casadi as ca

from ..robots.robot import Robot
from ..symbolic.errors import ModelError


def named_outputs(
    robot: Robot, outputs: Mapping[str, ca.SX], *, with_inputs: bool = True
) -> tuple[tuple[str, ...], ca.SX]:
    """A name for each entry, ``tip[0]`` and ``tip[1]`` for a column ``tip``, and all entries as one column.

    Args:
        robot: whose symbols they are in.
        outputs: scalars or columns in t, q, v, u and p by name.
        with_inputs: whether they may use u.

    Raises:
        ModelError: for other shapes, foreign symbols, accelerations, or inputs where there are none.
    """
    if not isinstance(outputs, Mapping):
        raise ModelError(f"outputs are expressions by name, such as {{'tip': robot.points['tip']}}, got {outputs!r}")
    names: list[str] = []
    for name, expression in outputs.items():
        if not isinstance(expression, ca.SX) or expression.size2() != 1:
            shape = f"shape {expression.shape}" if isinstance(expression, ca.SX) else repr(expression)
            raise ModelError(f"output {name!r} must be a scalar or a column of SX, got {shape}")
        robot.require_own_symbols(f"output {name!r}", expression)
        if ca.depends_on(expression, robot.coordinates.a):
            raise ModelError(f"output {name!r} uses accelerations, which are no inputs: write robot.acceleration")
        if not with_inputs and ca.depends_on(expression, robot.u):
            raise ModelError(f"output {name!r} uses u, which is no input here: give an expression in t, q, v and p")
        n = expression.numel()
        names += [name] if n == 1 else [f"{name}[{i}]" for i in range(n)]
    return tuple(names), ca.vertcat(ca.SX(0, 1), *outputs.values())
