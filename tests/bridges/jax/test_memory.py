"""Laws with a memory in JAX: the samples of Python, by a scan, with derivatives and in batches."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from erugin.bridges.jax import JaxSampledLaw, export
from erugin.symbolic import BridgeError, ShapeError

from ...support.sampled_laws import BASES, STEP, WRAPPERS, in_python, samples

CASES = [
    *(("integral", name) for name in ("none", "saturation", "both delays")),
    *(("adaptive", "observer"), ("program", "lag"), ("implicit", "none"), ("program", "hold")),
]


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    """For one test only: it is no one else's setting."""
    with jax.enable_x64(True):
        yield


def scanned(base: str, wrapper: str) -> JaxSampledLaw:
    law = export(WRAPPERS[wrapper](BASES[base]()), period=STEP)
    assert isinstance(law, JaxSampledLaw)
    return law


@pytest.mark.slow
@pytest.mark.parametrize(("base", "wrapper"), CASES)
def test_a_scan_gives_what_python_gives_at_each_sample(base: str, wrapper: str) -> None:
    times, q, v = samples(40)
    expected, _ = in_python(WRAPPERS[wrapper](BASES[base]()), times, q, v)
    law = scanned(base, wrapper)
    z, found = law.scan(times, q, v)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    again, rest = law.scan(times[20:], q[20:], v[20:], z=law.scan(times[:20], q[:20], v[:20])[0])
    np.testing.assert_allclose(again, z, rtol=1e-12)
    np.testing.assert_allclose(rest, expected[20:], rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def test_the_outputs_of_a_motion_have_derivatives_and_batches() -> None:
    times, q, v = samples(20)
    law = scanned("integral", "none")

    def effort(shift: jax.Array) -> jax.Array:
        return jnp.sum(law.scan(times, jnp.asarray(q) + shift, v)[1] ** 2)

    slope, width = float(jax.grad(effort)(jnp.array(0.0))), 1e-6
    assert slope == pytest.approx(float(effort(jnp.array(width)) - effort(jnp.array(-width))) / (2 * width), rel=1e-6)
    several = jax.vmap(effort)(jnp.array([0.0, 0.1]))
    np.testing.assert_allclose(several, [effort(jnp.array(0.0)), effort(jnp.array(0.1))], rtol=1e-12)


@pytest.mark.compiled
def test_what_jax_cannot_represent_is_named() -> None:
    with pytest.raises(BridgeError, match=r"JAX cannot represent the programme of limits.*realization='actuated'"):
        export(BASES["limits"](), period=STEP)
    with pytest.raises(BridgeError, match=r"memory from sample to sample, which requires period="):
        export(BASES["integral"]())
    times, q, v = samples(5)
    with pytest.raises(ShapeError, match=r"v shape \(n, 2\)"):
        scanned("integral", "none").scan(times, q, v[:, :1])
