"""The rivals of the two-link arm get round the disc too: along its motion, or by a field of their own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from erugin.scenarios import Setup
from erugin.scenarios.catalogue import two_link_arm_moving_obstacle as scenario
from erugin.simulation import Trajectory

from .kernels import use_no_compiler


def ran(setup: Setup) -> Trajectory:
    """The motion of a setup without phases."""
    motion = setup.run()
    assert isinstance(motion, Trajectory)
    return motion


@pytest.fixture(scope="module")
def setup() -> Iterator[Setup]:
    """The scenario until the tip has passed the disc; compiling the laws would take longer than running them."""
    with pytest.MonkeyPatch.context() as patch:
        use_no_compiler(patch)
        yield scenario(duration=6.0, step=2e-3)


@pytest.fixture(scope="module")
def own(setup: Setup) -> Trajectory:
    """The motion under the scenario's own controller."""
    return ran(setup)


@pytest.mark.parametrize("name", ["computed torque", "operational space", "PD and gravity", "potential field"])
def test_rivals_get_round_the_disc_too(setup: Setup, own: Trajectory, name: str) -> None:
    assert setup.clearance is not None
    law = setup.rivals[name](setup)
    assert law.law is not None, "a symbolic law runs in batches"
    motion = ran(setup.driven_by(law))
    assert motion.ok
    assert motion.evaluate(setup.clearance).min() > 0.03
    if name in ("computed torque", "operational space"):
        np.testing.assert_allclose(motion.q, own.q, atol=1e-4)
    if name == "PD and gravity":
        assert 1e-4 < np.abs(motion.q - own.q).max() < 0.05
