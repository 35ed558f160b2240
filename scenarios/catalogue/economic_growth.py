"""An economy that follows a growth programme, and the subsidies that this requires."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import casadi as ca
import numpy as np

from ...constraints import FirstOrder, nonholonomic
from ...controllers import Controller, Program, ProgramController, Reference
from ...controllers.baselines import ComputedTorque, PDGravity
from ...robots.examples import cobb_douglas_economy
from ...simulation.trajectory import Trajectory
from ..sampling.distributions import Distribution, Scaled, Uniform
from ..scenario import scenario
from ..setup import Draw, Measure, Setup

YEARS = 23.0
RATES = np.log([4.31, 1.61]) / YEARS
"""Growth rates of capital and labour in American manufacturing from 1899 to 1922 [CobbDouglas1928]_ [1/year]."""
RATE = 5.0
"""Decay rate of deviations from the programme [1/year]."""
RANDOMIZATION: Mapping[str, Distribution] = {
    name: Scaled(Uniform(0.95, 1.05)) for name in ("plant.A", "plant.c", "plant.d", "q0.K", "q0.N", "v0.K", "v0.N")
}


def programme_reference(setup: Setup) -> Reference:
    """Return the programme's motion, which starts at 100 and 100."""
    return Reference.of(setup.robot, 100.0 * ca.exp(ca.DM(RATES) * setup.robot.t))


def computed_torque(setup: Setup) -> Controller:
    """Return computed torque on the programme's motion."""
    return ComputedTorque(setup.robot, programme_reference(setup), rate=RATE)


def pd_gravity(setup: Setup) -> Controller:
    """Return a PD law on the programme's motion that compensates marginal profits."""
    return PDGravity(setup.robot, programme_reference(setup), rate=RATE)


def growth_pictures(indices: Mapping[str, ca.SX], first_year: float) -> dict[str, Draw]:
    """Build the picture of indices and subsidies over years.

    Args:
        indices: scalar expressions in the plant's symbols, by name.
        first_year: year at t = 0.
    """

    def draw(motion: Trajectory, target: Path) -> None:
        from ...views.growth import draw_growth
        from ...views.style import save_figure

        save_figure(draw_growth(motion, indices, first_year=first_year), target)

    return {"growth.png": draw}


@scenario("economic-growth")
def economic_growth(*, duration: float = YEARS, step: float = 0.01) -> Setup:
    """Capital and labour of an economy follow a growth programme, and the constraint forces are subsidies.

    Firms move towards profit as bodies move downhill; K̇ = γ K and Ṅ = ν N are program constraints, with the rates of
    Cobb and Douglas's American manufacturing, 1899 to 1922, both 100 at the start. Expect 431 and 161 at the end, and
    the product 208 of their formula. Capital, whose marginal product falls by half, requires growing subsidies, a
    quarter of a unit a year at the end; labour, whose marginal product rises, has to be taxed.

    Args:
        duration: duration of the motion [years].
        step: step of the integration and of the samples [years].
    """
    robot = cobb_douglas_economy()
    growth = nonholonomic(robot.v - ca.DM(RATES) * robot.q, perturbation=FirstOrder(RATE), name="growth")
    law = ProgramController(Program(robot, growth), realization="actuated")
    p, q0 = robot.parameters, np.array([100.0, 100.0])
    product = p["A"] * robot.q[0] ** p["alpha"] * robot.q[1] ** p["beta"]
    inertia, friction = ca.vertcat(p["a"], p["b"]), ca.vertcat(p["c"], p["d"])
    by_hand = (inertia * ca.DM(RATES**2) + friction * ca.DM(RATES)) * robot.q
    by_hand += ca.gradient(robot.potential_energy, robot.q)

    def subsidy_error(motion: Trajectory) -> float:
        return float(np.abs(motion.u - motion.evaluate(by_hand)).max())

    measures = {
        "capital in 1922": Measure(lambda motion: motion.q[-1, 0], "", (430.9999, 431.0001)),
        "labour in 1922": Measure(lambda motion: motion.q[-1, 1], "", (160.9999, 161.0001)),
        "product in 1922": Measure(lambda motion: motion.evaluate(product)[-1], "", (207.5, 208.5)),
        "subsidies, error against the closed form": Measure(subsidy_error, "", (0.0, 1e-9)),
        "deviation from the programme": Measure(lambda motion: np.abs(motion.deviation).max(), "1/year", (0.0, 1e-9)),
        "last subsidy of a unit of capital": Measure(lambda motion: motion.u[-1, 0], "1/year", (0.250, 0.252)),
        "last subsidy of a worker": Measure(lambda motion: motion.u[-1, 1], "goods/(worker year)", (-0.252, -0.250)),
    }
    return Setup(
        *(robot, law, q0, RATES * q0, duration, step),
        measures=measures,
        pictures=growth_pictures({"capital": robot.q[0], "labour": robot.q[1], "product": product}, 1899.0),
        error=ca.norm_2(robot.v / robot.q - ca.DM(RATES)),
        unit="1/year",
        randomization=RANDOMIZATION,
        baselines={"computed torque": computed_torque, "PD and gravity": pd_gravity},
    )
