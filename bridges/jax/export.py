"""Controllers and robots as functions of JAX arrays, to differentiate, batch and compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike

from ...controllers.controller import Controller
from ...controllers.law import Law
from ...robots.robot import Robot
from ...symbolic.codegen import SymbolicFunction, Tape
from ...symbolic.errors import BridgeError, ParameterError, ShapeError, unknown_name
from ...symbolic.optional_dependencies import import_optional
from ...symbolic.parameters import Parameters
from ...symbolic.validation import not_negative, positive
from ..common.symbolic_law import require_symbolic_law, saturated
from .translation import translate

if TYPE_CHECKING:
    from jax import Array


class JaxFunction:
    """A function of named arguments and parameters that ``jax.grad``, ``jax.vmap`` and ``jax.jit`` accept.

    Attributes:
        arguments: size of each argument, by name; t is a number.
        parameters: parameters of the function, its last argument p.
    """

    def __init__(
        self,
        inputs: Mapping[str, ca.SX],
        parameters: Parameters,
        value: ca.SX,
        pivots: ca.SX | None = None,
        tolerance: float = 0.0,
    ) -> None:
        """Translate expressions.

        Args:
            inputs: symbols by name, without the parameters.
            parameters: parameters of the expressions.
            value: expression that is returned, shape (n,).
            pivots: relative pivots of rows that must be independent, or None.
            tolerance: lower bound of these pivots, at least zero.

        Raises:
            ModelError: for a tolerance that is negative or not finite.
            MissingPackageError: if JAX is not installed.
            BridgeError: for an operation that JAX does not have.
        """
        import jax

        self.arguments = {name: symbol.numel() for name, symbol in inputs.items()}
        self.parameters, self._tolerance = parameters, not_negative("tolerance", tolerance)
        outputs = {"value": value, "pivots": ca.SX(0, 1) if pivots is None else pivots}
        symbols = {**inputs, "p": parameters.symbols}
        function = translate(Tape.of(SymbolicFunction("jax", symbols, outputs).function()))
        self._function: Callable[..., tuple[Array, ...]] = jax.jit(function)

    @property
    def p(self) -> dict[str, float]:
        """Nominal value of each parameter that has one, by name; a new dictionary to be changed and passed as p."""
        return dict(self.parameters.nominal)

    def __call__(self, *arguments: ArrayLike | Array | Mapping[str, ArrayLike | Array] | None) -> Array:
        """Return the value at some arguments.

        Args:
            arguments: the arguments named by ``arguments`` in order, each an array of shape (n,), t a number; then
                optionally p: parameters by name, nominal where not named, or the whole vector.

        Returns:
            The value, shape (n,); NaN where rows of a law depend on each other, for which ``control`` raises.

        Raises:
            BridgeError: if JAX computes with 32 bits.
            ShapeError: for a wrong number of arguments or a wrong shape.
            ParameterError: for an unknown or missing parameter; ranges are not checked, as under ``jax.jit`` the
                numbers are not known yet.
        """
        import jax.numpy as jnp

        _require_double_precision()
        names = (*self.arguments, "p")
        if not len(self.arguments) <= len(arguments) <= len(names):
            raise ShapeError(f"expected the arguments {', '.join(names)}, got {len(arguments)}")
        given = []
        for (name, size), argument in zip(self.arguments.items(), arguments, strict=False):
            if argument is None or isinstance(argument, Mapping):
                raise ShapeError(f"{name} must be an array of shape ({size},), got {argument!r}")
            given.append(_sized(name, jnp.asarray(argument, dtype=float), size))
        p = arguments[len(self.arguments)] if len(arguments) == len(names) else None
        value, pivots = self._function(*given, self._numbers(p))
        if not pivots.size:
            return value
        return jnp.where((pivots > self._tolerance).all(), value, jnp.nan)

    def _numbers(self, p: ArrayLike | Array | Mapping[str, ArrayLike | Array] | None) -> Array:
        """Return the vector of parameters."""
        import jax.numpy as jnp

        own = self.parameters
        if p is None:
            return jnp.asarray(own.values(), dtype=float)
        if not isinstance(p, Mapping):
            return _sized("p", jnp.asarray(p, dtype=float), len(own), scalar=False)
        for name in p:
            if name not in own.names:
                raise ParameterError(unknown_name("parameter", name, own.names))
        values: dict[str, ArrayLike | Array] = {**own.nominal, **p}
        missing = [name for name in own.names if name not in values]
        if missing:
            raise ParameterError(f"no value for {', '.join(missing)}: they have no nominal value, so pass p=")
        parts = [_sized(f"parameter {name!r}", jnp.asarray(values[name], dtype=float), 1) for name in own.names]
        return jnp.concatenate(parts) if parts else jnp.zeros(0)


def _require_double_precision() -> None:
    import jax

    if jax.dtypes.canonicalize_dtype(np.float64) != np.float64:
        raise BridgeError(
            "JAX computes with 32 bits, which is not accurate enough for these equations: call "
            "jax.config.update('jax_enable_x64', True) at the start, or use 'with jax.enable_x64(True):'"
        )


def _sized(name: str, array: Array, size: int, *, scalar: bool = True) -> Array:
    """Return an array of shape (size,); a number becomes one if size is 1 and ``scalar`` allows it."""
    if array.shape == () and size == 1 and scalar:
        return array.reshape(1)
    if array.shape != (size,):
        expected = f"({size},), or be a number" if size == 1 and scalar else f"({size},)"
        raise ShapeError(f"{name} must have shape {expected}, got {array.shape}; use jax.vmap for batches")
    return array


class JaxSampledLaw(JaxFunction):
    """A law with a memory, u = f(t, q, v, z, p), z⁺ = g(t, q, v, z, p) at each sample; the caller keeps z.

    Attributes:
        initial_memory: z before the first sample, shape (k,).
        sample: (t, q, v, z, p) → z after a sample, of z before it.
    """

    def __init__(self, controller: Controller, law: Law) -> None:
        """Translate the law.

        Args:
            controller: the controller.
            law: its law as expressions.
        """
        c = controller.robot.coordinates
        symbols = {"t": c.t, "q": c.q, "v": c.v, "z": law.z}
        super().__init__(symbols, controller.parameters, law.output, law.relative_pivots, law.tolerance)
        self.initial_memory = law.initial
        self.sample = JaxFunction(symbols, controller.parameters, law.updated)

    def scan(
        self,
        t: ArrayLike | Array,
        q: ArrayLike | Array,
        v: ArrayLike | Array,
        p: Mapping[str, ArrayLike | Array] | ArrayLike | Array | None = None,
        z: ArrayLike | Array | None = None,
    ) -> tuple[Array, Array]:
        """Return the outputs at all samples of a motion, each u = f of z after the sample, by ``jax.lax.scan``.

        Args:
            t: times of the samples [s], shape (n,).
            q: coordinates, shape (n, nq), in their units.
            v: velocities, shape (n, nv), in their units.
            p: parameters, as for a call.
            z: memory before the first sample, shape (k,); the initial one if not given.

        Returns:
            The memory after the last sample, shape (k,), and the outputs, shape (n, nu).

        Raises:
            BridgeError: if JAX computes with 32 bits.
            ShapeError: for arrays of other shapes.
        """
        import jax
        import jax.numpy as jnp

        _require_double_precision()
        try:
            times, places, rates = (jnp.asarray(array, dtype=float) for array in (t, q, v))
        except (TypeError, ValueError) as error:
            raise ShapeError(f"t, q and v must be arrays of numbers: {error}") from error
        n = times.shape[0] if times.ndim else 0
        for name, array in (("q", places), ("v", rates)):
            if times.ndim != 1 or array.shape != (n, self.arguments[name]):
                raise ShapeError(
                    f"t must have shape (n,) and {name} shape (n, {self.arguments[name]}), got {times.shape} and "
                    f"{array.shape}"
                )
        numbers = self._numbers(p)

        def one(memory: Array, sample: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            after = self.sample(*sample, memory, numbers)
            return after, self(*sample, after, numbers)

        start = jnp.asarray(self.initial_memory if z is None else z, dtype=float)
        return jax.lax.scan(one, start, (times, places, rates))


def export(what: Controller | Robot, *, period: float | None = None, saturate: bool = False) -> JaxFunction:
    """Export a law as (t, q, v, p) → u, or R if it outputs forces; or a robot as (t, q, v, u, p) → a.

    The function consists of JAX's own operations: it can be differentiated with respect to any argument, batched by
    ``jax.vmap`` and be part of a larger computation under ``jax.jit``. Values are those of ``control`` up to rounding.
    Branches that are not taken cause no NaN in derivatives. Where rows of a law depend on each other, for which
    ``control`` raises, the value is NaN.

    A law with a memory becomes a :class:`JaxSampledLaw`, (t, q, v, z, p) → u. The statuses LIMITED and HELD are not
    reported.

    Args:
        what: a Controller with a symbolic law, or a Robot.
        period: time between samples of a law with a memory [s].
        saturate: True to limit the inputs of a controller to the limits of the robot's actuators.

    Raises:
        MissingPackageError: if JAX is not installed.
        BridgeError: for any other object, a controller without a symbolic law, one with a memory if no period is given,
            one whose programme of limits is compiled code, or an operation that JAX does not have.
    """
    if period is not None:
        positive("period", period)
    if saturate:
        what = saturated(what)
    if isinstance(what, Controller):
        controller = what
        law = require_symbolic_law(controller, "be exported to JAX", period=period)
        import_optional("jax", "jax")
        if law.memory is not None:
            return JaxSampledLaw(controller, law)
        c = controller.robot.coordinates
        symbols = {"t": c.t, "q": c.q, "v": c.v}
        return JaxFunction(symbols, controller.parameters, law.output, law.relative_pivots, law.tolerance)
    if isinstance(what, Robot):
        import_optional("jax", "jax")
        symbols = {"t": what.t, "q": what.q, "v": what.v, "u": what.u}
        return JaxFunction(symbols, what.parameters, what.acceleration)
    raise BridgeError(f"only a Controller or a Robot can be exported to JAX, got {type(what).__name__}")
