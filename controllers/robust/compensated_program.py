"""Program controllers that compensate for what their model lacks, with the force or the rows that they estimate."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import casadi as ca
import numpy as np

from ...symbolic.errors import ModelError
from ...symbolic.parameters import Parameters, Range
from ...symbolic.sampling import sample_values
from ...symbolic.validation import positive
from ..program.program import Program
from .adaptive import AdaptiveProgramController
from .compensation import Compensation, ControllerT
from .disturbance_estimator import DisturbanceEstimator, Momentum, ObservedMotion, RowMotion


def compensate(
    program: Program,
    kind: Literal["observer", "integral"],
    rate: float | None,
    build: Callable[[Program], ControllerT],
) -> tuple[Compensation[ControllerT], Parameters, tuple[tuple[str, ca.SX], ...]]:
    """Build the compensation of a program controller.

    Args:
        program: the program.
        kind: ``"observer"``: the estimate is a generalized force, part of the model; ``"integral"``: it is an
            acceleration of each row, which is subtracted from β.
        rate: L [1/s]; half the least decay rate of the perturbation equations if not given.
        build: builds the controller of another program.

    Returns:
        The compensation, the parameters of the law, and the state matrices of its equations, by name.

    Raises:
        ModelError: for a rate that is not positive, or none where no perturbation equation suggests one; for rows that
            are nonlinear in the accelerations, with ``"integral"``.
    """
    value = decay_rate(program) / 2.0 if rate is None else positive("rate", rate)
    own = Parameters.declare({"rate": value}, kind, ranges={"rate": Range.POSITIVE})
    parameters, robot = Parameters.collect([program.parameters, own]), program.robot
    observed: ObservedMotion
    if kind == "observer":
        missing = Parameters.declare({f"missing.{name}": 0.0 for name in robot.coordinates.velocity_names})
        model = dataclasses.replace(
            robot,
            dynamics=robot.dynamics.with_force(missing.symbols),
            parameters=Parameters.collect([robot.parameters, missing]),
        )
        inside, observed = program.on(model), Momentum(robot)
    else:
        if not program.is_affine:
            names = ", ".join(repr(row) for row, ok in zip(program.rows, program.affine, strict=True) if not ok)
            raise ModelError(
                f"robust='integral' requires rows affine in the accelerations, which {names} is not: use "
                "robust='observer'"
            )
        missing = Parameters.declare({f"{row}.missing": 0.0 for row in program.rows})
        inside, observed = program.shifted(-missing.symbols), RowMotion(program)
        inside.parameters = Parameters.collect([program.parameters, missing])
    inner, gain = build(inside), own[f"{kind}.rate"]
    estimator = DisturbanceEstimator(robot, observed, gain, parameters, applies_force=inner.applies_force)
    linearizations = (*program.linearizations, (kind, -gain))
    return Compensation(inner, missing.symbols, estimator), parameters, linearizations


def adaptive_law(program: Program, tolerance: float) -> AdaptiveProgramController:
    """Build the adaptive law of a program, for masses between half and twice those of the model.

    Args:
        program: the program.
        tolerance: relative pivot up to which a row is dependent.

    Raises:
        ModelError: for a robot without bodies of known masses, or one that adaptation does not support.
    """
    robot = program.robot
    bodies = () if robot.tree is None else (body for node in robot.tree.nodes for body in node.bodies)
    masses = {name for body in bodies for name, symbol in robot.parameters if ca.is_equal(body.mass, symbol)}
    unknown = {name: (0.5 * m, 2.0 * m) for name, m in robot.nominal.items() if name in masses and m > 0.0}
    if not unknown:
        raise ModelError(
            f"robust='adaptive' adapts the masses of bodies, of which {robot.name} declares none: name the unknown "
            "parameters in AdaptiveProgramController(program, unknown)"
        )
    return AdaptiveProgramController(program, unknown, rate=decay_rate(program), tolerance=tolerance)


def decay_rate(program: Program) -> float:
    """Return the least decay rate of the perturbation equations [1/s].

    Args:
        program: the program.

    Raises:
        ModelError: if no equation has a decay rate.
    """
    matrices = {name: ca.densify(matrix) for name, matrix in program.linearizations if matrix.numel()}
    values = next(sample_values(matrices, {"t": program.robot.t}, program.parameters)) if matrices else []
    rates = [-float(np.linalg.eigvals(A).real.max()) for A in values if np.isfinite(A).all()]
    rates = [rate for rate in rates if 0.0 < rate < np.inf]
    if not rates:
        raise ModelError(
            "rate= is required, for no perturbation equation of the program has a decay rate: give the rate at which "
            "the estimate is to converge [1/s], below that of the motion; an adaptive law is built by "
            "AdaptiveProgramController"
        )
    return min(rates)
