"""Linearization of a robot, alone or under a controller, on the manifold of its natural constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...robots.manifold.manifold import Manifold
from ...robots.natural_constraints import dependent_rows
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotFiniteError, SingularProgramError
from ...symbolic.kernel import Kernel
from ...symbolic.parameters import NO_PARAMETERS, Parameters
from ...symbolic.validation import finite, vector
from ..controller import Controller
from .nominal_motion import NominalMotion
from .tangent_space import TangentBasis, accessible_directions, named_indices, tangent_basis

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Linearization:
    """ξ̇ = A ξ + B δu and δy = C ξ + D δu about a state, with δx = (δq, δv) = T ξ.

    ξ are entries of (δq, δv), as many as natural constraints leave free; all of them without constraints.

    Attributes:
        A: state matrix, shape (n, n).
        B: input matrix, shape (n, nu).
        C: output matrix, shape (ny, n).
        D: feedthrough matrix, shape (ny, nu).
        T: basis of the variations, shape (nq + nv, n).
        independent: indices of ξ in (q, v), n of them.
        t: time of the state [s].
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        u: inputs, shape (nu,); added to those of the controller, if any.
        rate: (q̇, v̇) at the state, shape (nq + nv,): zero at an equilibrium.
        states: name of each entry of ξ.
        inputs: name of each input.
        outputs: name of each output.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    T: Array
    independent: tuple[int, ...]
    t: float
    q: Array
    v: Array
    u: Array
    rate: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.A, self.B, self.C, self.D, self.T, self.q, self.v, self.u, self.rate):
            array.setflags(write=False)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Eigenvalues of A [1/s], in the order of decreasing real part."""
        values = np.linalg.eigvals(self.A).astype(np.complex128)
        return values[np.lexsort((-values.imag, -values.real))]


@dataclass(frozen=True, eq=False)
class LinearizedMotion:
    """ξ̇ = A(t) ξ + B(t) δu along a motion, sample by sample.

    Attributes:
        t: times, shape (N,) [s].
        A: state matrices, shape (N, n, n).
        B: input matrices, shape (N, n, nu).
        T: bases of the variations, shape (N, nq + nv, n).
        independent: indices of ξ in (q, v), the same for all samples.
        states: name of each entry of ξ.
        inputs: name of each input.
    """

    t: Array
    A: Array
    B: Array
    T: Array
    independent: tuple[int, ...]
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for array in (self.t, self.A, self.B, self.T):
            array.setflags(write=False)


def named_outputs(
    robot: Robot, outputs: Mapping[str, ca.SX], *, with_inputs: bool = True
) -> tuple[tuple[str, ...], ca.SX]:
    """Return a name for each entry, such as ``tip[0]`` for a column ``tip``, and all entries as one column.

    Args:
        robot: the robot with the symbols of the outputs.
        outputs: scalars or columns in t, q, v, u and p by name.
        with_inputs: True if outputs may depend on u.

    Raises:
        ModelError: for other shapes, foreign symbols, accelerations, or inputs where they are not allowed.
    """
    if not isinstance(outputs, Mapping):
        raise ModelError(
            f"outputs must be expressions by name, such as {{'tip': robot.points['tip']}}, got {outputs!r}"
        )
    names: list[str] = []
    for name, expression in outputs.items():
        if not isinstance(expression, ca.SX) or expression.size2() != 1:
            shape = f"shape {expression.shape}" if isinstance(expression, ca.SX) else repr(expression)
            raise ModelError(f"output {name!r} must be a scalar or a column of SX, got {shape}")
        robot.require_own_symbols(f"output {name!r}", expression)
        if ca.depends_on(expression, robot.coordinates.a):
            raise ModelError(f"output {name!r} must not use acceleration symbols: use robot.acceleration instead")
        if not with_inputs and ca.depends_on(expression, robot.u):
            raise ModelError(f"output {name!r} must not depend on u: give an expression in t, q, v and p")
        n = expression.numel()
        names += [name] if n == 1 else [f"{name}[{i}]" for i in range(n)]
    return tuple(names), ca.vertcat(ca.SX(0, 1), *outputs.values())


Values = Mapping[str, float] | ArrayLike | None

MISS = 1e-6
"""Error of the natural constraints allowed at a state, in their units."""


class Linearizer:
    """The derivatives of one robot's motion, built once and evaluated at many states.

    With x = (q, v) and ẋ = f(t, x, u) on the manifold φ = 0, ρ = 0 of the natural constraints, variations δx = T ξ obey
    ξ̇ = S f_x T ξ + S f_u δu, S picking the independent entries. S T is the identity at every state, so this holds along
    motions as well as about equilibria.
    """

    def __init__(
        self,
        robot: Robot,
        controller: Controller | None = None,
        *,
        outputs: Mapping[str, ca.SX] | None = None,
        independent: Sequence[str] | None = None,
    ) -> None:
        """Differentiate the equations of motion.

        Args:
            robot: the plant, with natural constraints of orders 0 and 1.
            controller: controller with a symbolic law, which closes the loop; None for the robot alone.
            outputs: scalars or columns in t, q, v, u and p by name; the states ξ if not given.
            independent: names of the coordinates and velocities that are to be ξ; the best conditioned at the first
                state if not given, and kept from then on.

        Raises:
            ModelError: for a controller without a symbolic law or for another robot, outputs in foreign symbols, an
                unknown name, or natural constraints of order 2.
        """
        if not isinstance(robot, Robot):
            raise ModelError(f"Linearizer requires a Robot, alone or with controller=, got {robot!r}")
        self.robot, self.controller = robot, controller
        c = robot.coordinates
        velocities = tuple(c.v[i].name() for i in range(c.nv))
        self.names = (*c.names, *velocities)
        """Name of each entry of (q, v)."""
        # The first entry counts: if several threads evaluate their first states at once, one chooses for all.
        self._chosen = [] if independent is None else [named_indices(independent, self.names)]
        force, self._controller_parameters, controller_p = _force(robot, controller)
        a = robot.unforced_acceleration[0] + robot.mobility(force)[0]
        labels, y = named_outputs(robot, {} if outputs is None else outputs)
        self._outputs = None if outputs is None else labels
        manifold = Manifold.of(robot)
        f, x = ca.vertcat(c.N @ c.v, a), ca.vertcat(c.q, c.v)
        inputs = {"t": c.t, "q": c.q, "v": c.v, "u": robot.u, "p": robot.p, "controller_p": controller_p}
        expressions = {
            "rate": f,
            "f_x": ca.jacobian(f, x),
            "f_u": ca.jacobian(f, robot.u),
            "y_x": ca.jacobian(y, x),
            "y_u": ca.jacobian(y, robot.u),
            "motions": accessible_directions(c.N, c.q),
            "miss": ca.vertcat(manifold.position_residual, manifold.velocity_residual),
            "place": manifold.slope,
            "by_place": ca.jacobian(manifold.velocity_residual, c.q),
            "by_velocity": manifold.A,
        }
        self._manifold_rows = manifold.rows
        holonomic = manifold.rows[: manifold.position_residual.numel()]
        self._rows = (*(f"the position level of {name}" for name in holonomic), *manifold.rows)
        self._shapes = [e.shape for e in expressions.values()]
        # As one column each, since kernels return (1, 1) and empty outputs in another shape.
        self._kernel = Kernel("linearization", inputs, {k: ca.vec(e) for k, e in expressions.items()}, compiled=False)

    def at(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        u: ArrayLike | None = None,
        *,
        p: Values = None,
        controller_p: Values = None,
    ) -> Linearization:
        """Linearize about one state.

        Args:
            t: time [s].
            q: coordinates, shape (nq,).
            v: velocities, shape (nv,).
            u: inputs, shape (nu,); zero if not given. With a controller they are added to its output.
            p: parameters of the robot: nominal, overridden by name, or the whole vector.
            controller_p: parameters of the controller: nominal, overridden by name, or the whole vector.

        Raises:
            ShapeError, ParameterError: for bad numbers.
            ModelError: for a state that violates the natural constraints.
            SingularProgramError: if the constraints are singular at this state.
            NotFiniteError: if a derivative is not finite at this state.
        """
        c, nu = self.robot.coordinates, self.robot.u.numel()
        numbers = self.robot.parameters.values(p), self._controller_parameters.values(controller_p)
        inputs = np.zeros(nu) if u is None else vector("u", u, nu)
        return self._look(finite("t", t), vector("q", q, c.nq), vector("v", v, c.nv), inputs, *numbers)[0]

    def along(self, motion: NominalMotion, *, p: Values = None, controller_p: Values = None) -> LinearizedMotion:
        """Linearize about each sample of a motion, with the same independent entries.

        Args:
            motion: motion of this robot.
            p: parameters of the robot: nominal, overridden by name, or the whole vector.
            controller_p: parameters of the controller: nominal, overridden by name, or the whole vector.

        Raises:
            ModelError: for a motion of another robot, one that violates the natural constraints, or one along which the
                independent entries become dependent.
            SingularProgramError: if the constraints are singular at a sample.
            NotFiniteError: if a derivative is not finite at a sample.
        """
        motion.require_of(self.robot)
        numbers = self.robot.parameters.values(p), self._controller_parameters.values(controller_p)
        samples = zip(motion.t, motion.q, motion.v, motion.u, strict=True)
        found = [self._look(float(t), q, v, u, *numbers) for t, q, v, u in samples]
        lines, tangents = [line for line, _ in found], [tangent for _, tangent in found]
        A, B, T = (np.array(x) for x in ([i.A for i in lines], [i.B for i in lines], [i.T for i in lines]))
        return LinearizedMotion(motion.t, A, B, T, tangents[0].independent, lines[0].states, lines[0].inputs)

    def _look(
        self, t: float, q: Array, v: Array, u: Array, p: Array, controller_p: Array
    ) -> tuple[Linearization, TangentBasis]:
        columns = map(np.atleast_1d, self._kernel(t, q, v, u, p, controller_p))
        values = [column.reshape(shape, order="F") for column, shape in zip(columns, self._shapes, strict=True)]
        rate, f_x, f_u, y_x, y_u, motions, miss, place, by_place, by_velocity = values
        owner = self.robot.name
        if not np.isfinite(rate).all() and np.isfinite(by_velocity).all() and (rows := dependent_rows(by_velocity)):
            raise SingularProgramError(
                f"{owner}: the natural constraints are singular here: row {self._manifold_rows[rows[0]]!r} depends on "
                "others. Use a state away from there, or remove a redundant row by without_rows"
            )
        if not all(np.isfinite(value).all() for value in values):
            raise NotFiniteError(f"{owner}: the equations of motion, or their derivatives, are not finite at t = {t:g}")
        missed = np.abs(miss[:, 0])
        if missed.size and missed.max() > MISS * max(1.0, float(np.abs(np.concatenate([q, v])).max())):
            worst = int(np.argmax(missed))
            raise ModelError(
                f"{owner}: the state misses {self._rows[worst]} by {missed[worst]:.3g}: linearize about a state "
                "that satisfies the natural constraints, from assemble and assemble_velocities"
            )
        chosen = self._chosen[0] if self._chosen else None
        tangent = tangent_basis(motions, place, by_place, by_velocity, chosen, owner)
        if chosen is None:
            self._chosen.append(list(tangent.independent))
            if self._chosen[0] != list(tangent.independent):
                tangent = tangent_basis(motions, place, by_place, by_velocity, self._chosen[0], owner)
        T, S = tangent.basis, list(tangent.independent)
        states = tuple(self.names[i] for i in S)
        stateful = self._outputs is None
        line = Linearization(
            A=f_x[S] @ T,
            B=f_u[S],
            C=np.eye(len(S)) if stateful else y_x @ T,
            D=np.zeros((len(S), len(u))) if stateful else y_u,
            T=T,
            independent=tangent.independent,
            t=t,
            q=q,
            v=v,
            u=u,
            rate=rate[:, 0],
            states=states,
            inputs=self.robot.input_names,
            outputs=states if self._outputs is None else self._outputs,
        )
        return line, tangent


def linearize(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike | None = None,
    u: ArrayLike | None = None,
    *,
    controller: Controller | None = None,
    t: float = 0.0,
    p: Values = None,
    controller_p: Values = None,
    outputs: Mapping[str, ca.SX] | None = None,
    independent: Sequence[str] | None = None,
) -> Linearization:
    """Linearize a robot, or a closed loop, about one state; use :class:`Linearizer` for many states.

    Args:
        robot: the plant.
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,); zero if not given.
        u: inputs, shape (nu,); zero if not given. With a controller they are added to its output.
        controller: controller whose symbolic law closes the loop; None for the robot alone.
        t: time [s].
        p: parameters of the robot: nominal, overridden by name, or the whole vector.
        controller_p: parameters of the controller: nominal, overridden by name, or the whole vector.
        outputs: scalars or columns in t, q, v, u and p by name; the states if not given.
        independent: names of the coordinates and velocities to be the states; the best conditioned if not given.

    Raises:
        ModelError, ShapeError, ParameterError, SingularProgramError, NotFiniteError: as for :class:`Linearizer`.
    """
    linearizer = Linearizer(robot, controller, outputs=outputs, independent=independent)
    rates = np.zeros(robot.coordinates.nv) if v is None else v
    return linearizer.at(t, q, rates, u, p=p, controller_p=controller_p)


def _force(robot: Robot, controller: Controller | None) -> tuple[ca.SX, Parameters, ca.SX]:
    """Return the generalized force of inputs and law, the law's parameters, and symbols for them."""
    if controller is None:
        return robot.input_matrix @ robot.u, NO_PARAMETERS, ca.SX(0, 1)
    if not isinstance(controller, Controller):
        raise ModelError(f"controller must be a Controller, got {controller!r}")
    law, model, c = controller.law, controller.robot.coordinates, robot.coordinates
    if law is None:
        raise ModelError(
            f"{type(controller).__name__} has no symbolic law to differentiate: linearize the robot alone, or use a "
            "controller without memory and iterations"
        )
    if (model.nq, model.nv, controller.robot.u.numel()) != (c.nq, c.nv, robot.u.numel()):
        raise ModelError(
            f"the controller is built for {controller.robot.name}, whose numbers of coordinates, velocities or inputs "
            f"differ from those of {robot.name}"
        )
    parameters = controller.parameters
    symbols = ca.vertcat(ca.SX(0, 1), *(ca.SX.sym(f"law_{name}") for name in parameters.names))
    old = ca.vertcat(model.t, model.q, model.v, parameters.symbols)
    output = ca.substitute(law.output, old, ca.vertcat(c.t, c.q, c.v, symbols))
    if controller.applies_force:
        return output + robot.input_matrix @ robot.u, parameters, symbols
    return robot.input_matrix @ (output + robot.u), parameters, symbols
