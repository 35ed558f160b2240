"""Jumps of coordinates and velocities at an event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.contact.contact import Contact, contact_positions, contact_rows, contact_tuple
from ...robots.contact.impact import Impact, impact
from ...robots.robot import Robot
from ...symbolic.errors import ModelError, NotFiniteError, require_name

Array = NDArray[np.float64]
PreparedJump = Callable[[float, Array, Array, Array], "JumpResult"]
"""Function that maps t [s], q and v before, shapes (nq,) and (nv,), and the plant's p, shape (np,), to the result."""


@dataclass(frozen=True, eq=False)
class JumpResult:
    """State after a jump.

    Attributes:
        q: coordinates, shape (nq,).
        v: velocities, shape (nv,).
        impact: the impact, or None if the jump was not an impact.
    """

    q: Array
    v: Array
    impact: Impact | None = None


class Jump(ABC):
    """An instantaneous map of the state."""

    @abstractmethod
    def prepare(self, robot: Robot) -> PreparedJump:
        """Build the map for a plant, once for all its events; it raises an EruginError where no state exists after.

        Args:
            robot: the plant of the mode that ends.

        Raises:
            ModelError: if the jump does not fit the plant.
        """


@dataclass(frozen=True, eq=False)
class Rebound(Jump):
    """Frictionless impact at a closing gap: Newton's law φ̇⁺ = −e φ̇⁻ by an impulse along the gap's gradient.

    M (v⁺ − v⁻) = n Λ + Aᵀ Λ_A with n = (∂φ/∂q N)ᵀ and A v⁺ = A v⁻, so that natural constraints stay satisfied; the
    energy lost at a wall at rest is (1 − e²)(φ̇⁻)² / (2 nᵀ M̂ n), with M̂ the mobility. A gap that opens or stays
    constant has no impact.

    Attributes:
        gap: φ, a scalar in the plant's t, q and p that closes at zero.
        restitution: e in [0, 1], a number, or an expression in the plant's parameters.
        name: name of the impulse.

    Raises:
        ModelError: for a gap that is not a scalar, an empty name, or a restitution outside [0, 1].
    """

    gap: ca.SX
    restitution: float | ca.SX = 0.0
    name: str = "rebound"

    def __post_init__(self) -> None:
        """Check the shapes."""
        require_name("a Rebound", self.name)
        if not isinstance(self.gap, ca.SX) or self.gap.shape != (1, 1):
            raise ModelError(f"gap of {self.name!r} must be a scalar expression, got {self.gap!r}")
        if not isinstance(self.restitution, ca.SX):
            _require_share(self.restitution, f"restitution of {self.name!r}")
        elif self.restitution.shape != (1, 1):
            raise ModelError(f"restitution of {self.name!r} must be a number or a scalar, got {self.restitution!r}")

    def prepare(self, robot: Robot) -> PreparedJump:
        """Build the impact for a plant."""
        c, e = robot.coordinates, ca.SX(self.restitution)
        robot.require_own_symbols(f"the gap of {self.name!r}", self.gap)
        robot.require_own_symbols(f"restitution of {self.name!r}", e)
        if ca.depends_on(self.gap, ca.vertcat(c.v, c.a, robot.u)) or not ca.depends_on(self.gap, c.q):
            raise ModelError(f"the gap of {self.name!r} must be an expression in coordinates, time and parameters")
        if ca.depends_on(e, ca.vertcat(c.t, c.q, c.v, c.a, robot.u)):
            raise ModelError(f"restitution of {self.name!r} must be a number or an expression in parameters")
        along = (ca.jacobian(self.gap, c.q) @ c.N).T
        response = robot.mobility(along)[0]
        expressions = ca.vertcat(c.rate(self.gap), ca.dot(along, response), e, robot.kinetic_energy, response)

        def apply(t: float, q: Array, v: Array, p: Array) -> JumpResult:
            found = np.atleast_1d(robot.evaluate(expressions, t=t, q=q, v=v, p=p))
            speed, mobility, share, before = (float(x) for x in found[:4])
            if not np.isfinite(found).all() or not mobility > 0.0:
                raise NotFiniteError(
                    f"at t = {t:g}: no impulse along {self.name!r} changes the rate of its gap: an impulse of 1 N s "
                    f"changes it by {mobility:g}"
                )
            _require_share(share, f"restitution of {self.name!r}")
            impulse = (1.0 + share) * max(-speed, 0.0) / mobility
            after = v + found[4:] * impulse
            energy = float(robot.evaluate(robot.kinetic_energy, t=t, q=q, v=after, p=p))
            size = np.array([impulse])
            return JumpResult(q, after, Impact(after, size, {self.name: size.copy()}, before, energy, {}, 1))

        return apply


@dataclass(frozen=True, eq=False)
class Strike(Jump):
    """Impact of feet without sliding, with restitution of their normal impulses: :func:`~erugin.robots.impact`.

    Attributes:
        robot: the plant with these contacts on, as :func:`~erugin.robots.with_contacts` returns it.
        contacts: the contacts that strike, at least one.
        restitution: Poisson's ratio, in [0, 1].

    Raises:
        ModelError: for an argument that is not a Robot, a contact that is not on, or a restitution outside [0, 1].
    """

    robot: Robot
    contacts: Sequence[Contact]
    restitution: float = 0.0

    def __post_init__(self) -> None:
        """Check the contacts."""
        if not isinstance(self.robot, Robot):
            raise ModelError(
                f"robot of a Strike must be a Robot with its contacts on, as built by standing(...), got {self.robot!r}"
            )
        object.__setattr__(self, "contacts", contact_tuple(self.contacts))
        if not self.contacts:
            raise ModelError("a Strike must have at least one contact, got none")
        for contact in self.contacts:
            contact_rows(self.robot, contact)
        _require_share(self.restitution, "restitution of a Strike")

    def prepare(self, robot: Robot) -> PreparedJump:
        """Build the impact for a plant."""
        if self.robot.coordinates is not robot.coordinates:
            raise ModelError(f"robot of a Strike must be {robot.name} with contacts on; build it by standing(...)")

        def apply(t: float, q: Array, v: Array, p: Array) -> JumpResult:
            known = dict(zip(robot.parameters.names, p.tolist(), strict=True))
            own = {name: known[name] for name in self.robot.parameters.names if name in known}
            own |= contact_positions(self.robot, self.contacts, q, t=t, p=own)
            result = impact(self.robot, q, v, self.contacts, restitution=self.restitution, t=t, p=own)
            return JumpResult(q, result.velocity.copy(), result)

        return apply


@dataclass(frozen=True, eq=False)
class StateMap(Jump):
    """A user-defined map: q⁺ and v⁺ as expressions in t, q⁻, v⁻ and parameters.

    Attributes:
        q: coordinates after, shape (nq,); unchanged by default.
        v: velocities after, shape (nv,); unchanged by default.

    Raises:
        ModelError: if neither is given.
    """

    q: ca.SX | None = None
    v: ca.SX | None = None

    def __post_init__(self) -> None:
        """Check that one of them is given."""
        if self.q is None and self.v is None:
            raise ModelError("a StateMap requires q=, v= or both")

    def prepare(self, robot: Robot) -> PreparedJump:
        """Build the map for a plant."""
        c = robot.coordinates
        for word, given, size in (("q", self.q, c.nq), ("v", self.v, c.nv)):
            if given is None:
                continue
            if not isinstance(given, ca.SX) or given.shape != (size, 1):
                raise ModelError(f"{word} of a StateMap of {robot.name} must be SX of shape ({size},), got {given!r}")
            robot.require_own_symbols(f"{word} of a StateMap", given)
            if ca.depends_on(given, ca.vertcat(c.a, robot.u)):
                raise ModelError(
                    f"a StateMap may use time, coordinates, velocities and parameters, got {word} = {given}"
                )

        def apply(t: float, q: Array, v: Array, p: Array) -> JumpResult:
            states = [q, v]
            for i, (word, given) in enumerate((("q", self.q), ("v", self.v))):
                if given is None:
                    continue
                states[i] = np.atleast_1d(robot.evaluate(given, t=t, q=q, v=v, p=p))
                if not np.isfinite(states[i]).all():
                    raise NotFiniteError(f"at t = {t:g}: the StateMap returns {word} = {states[i]}")
            return JumpResult(states[0], states[1])

        return apply


def _require_share(value: float, argument: str) -> None:
    """Raise ModelError for a value that is not a number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= float(value) <= 1.0:
        raise ModelError(f"{argument} must be a number between 0 and 1, got {value!r}")
