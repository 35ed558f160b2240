"""Random scenes of the first scenario: the tip never enters a disc, and nearly always reaches the end of the path."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from erugin.constraints import EruginField, FirstOrder, choose_side, circle, follow
from erugin.controllers import Program, ProgramController, start_on
from erugin.scenarios.catalogue.two_link_arm import PATH
from erugin.simulation import SimulationError, Simulator

from .arms import ELBOW, two_link_arm

SPEED, MARGIN = 0.18, 0.05


def random_scenes(discs: int, count: int, seed: int) -> list[dict[str, float]]:
    """Places within 0.35 m of the path, radii of 5 to 15 cm, drift up to 0.4 of the cruise speed, the start free."""
    rng = np.random.default_rng(seed)
    path = PATH
    scenes: list[dict[str, float]] = []
    while len(scenes) < count:
        scene: dict[str, float] = {}
        for j in range(discs):
            radius, place = rng.uniform(0.05, 0.15), path.at(rng.uniform(0.0, 1.0) * path.length)
            x, y = place + rng.uniform(-0.35, 0.35, 2)
            speed, course = rng.uniform(0.0, 0.4) * SPEED, rng.uniform(0.0, 2.0 * np.pi)
            values = {"x": x, "y": y, "radius": radius, "vx": speed * np.cos(course), "vy": speed * np.sin(course)}
            scene |= {f"disc{j}.{key}": float(value) for key, value in values.items()}
        start = path.at(0.0)
        gaps = [
            np.hypot(scene[f"disc{j}.x"] - start[0], scene[f"disc{j}.y"] - start[1]) - scene[f"disc{j}.radius"]
            for j in range(discs)
        ]
        if min(gaps) > 0.01:
            scenes.append(scene)
    return scenes


@pytest.mark.slow
@pytest.mark.parametrize(("discs", "count", "expected"), [(1, 200, 195), (3, 60, 50)])
def test_the_tip_never_enters_a_disc(
    discs: int, count: int, expected: int, record_property: Callable[[str, object], None]
) -> None:
    robot, path = two_link_arm(), PATH
    tip = robot.points["tip"]
    shapes = [circle((9.0, 9.0), 0.1, velocity=(0.0, 0.0), name=f"disc{j}") for j in range(discs)]
    field = EruginField(path, shapes, speed=SPEED, margin=MARGIN, rounding=0.03)
    program = Program(robot, follow(field, tip, perturbation=FirstOrder(8.0)))
    controller = ProgramController(program, realization="actuated")
    simulator = Simulator(robot, controller, stop=path.progress(tip) - path.length)
    q0, _ = start_on(program, ELBOW, at=[(tip, path.at(0.0))])
    reached, least, nearest = 0, np.inf, 0
    for scene in random_scenes(discs, count, seed=discs):
        scene["field.side"] = choose_side(field, path.at(0.0), 14.0, step=0.02, p=scene)
        try:
            trajectory = simulator.run(q0, np.zeros(2), 20.0, step=1e-3, controller_p=scene)
            end = trajectory.evaluate(tip)[-1]
            reached += bool(np.linalg.norm(end - path.at(path.length)) < 0.12) and trajectory.t[-1] < 19.9
        except SimulationError as error:
            trajectory = error.trajectory
        # The clearance by plain geometry, not by the functions that the field was built from.
        point = trajectory.evaluate(tip)
        for j in range(discs):
            place = np.array([scene[f"disc{j}.x"], scene[f"disc{j}.y"]])
            drift = np.array([scene[f"disc{j}.vx"], scene[f"disc{j}.vy"]])
            gap = np.linalg.norm(point - place - trajectory.t[:, None] * drift, axis=1) - scene[f"disc{j}.radius"]
            least = min(least, float(gap.min()))
            nearest += gap.min() < MARGIN + 0.05
    record_property("reached", int(reached))
    print(f"{discs} discs: {reached} of {count} scenes reach the end of the path, least clearance {1e3 * least:.2f} mm")
    assert least > 0.0
    assert nearest > count / 4, "the scenes would prove nothing if the discs were never near"
    assert reached >= expected
