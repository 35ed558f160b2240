"""10 s of the two-link closed loop at 1 kHz, beside what one would write with CasADi or Pinocchio alone.

All run the same plant, the same program and classical RK4 with the controller in every stage, in one process, in
interleaved rounds; the table gives medians. The slow ones simulate 1 s and are scaled to 10 s.

    python benchmarks/bench_closed_loop.py [rounds]
"""

from __future__ import annotations

import importlib
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from harness.machine import machine, versions
from harness.rounds import repeated
from numpy.typing import NDArray

from erugin.constraints import EruginField, FirstOrder, circle, follow, line
from erugin.controllers import Program, ProgramController, start_on
from erugin.robots import Link, planar_manipulator
from erugin.simulation import Simulator
from erugin.symbolic import Kernel

pin: Any = importlib.import_module("pinocchio")  # It has no type information.

Array = NDArray[np.float64]
STEP, SPAN, SHORT, RATE = 1e-3, 10.0, 1.0, 8.0
LENGTHS, MASSES = (0.6, 0.5), (2.5, 1.8)

ROBOT = planar_manipulator([Link.point_mass(length, mass) for length, mass in zip(LENGTHS, MASSES, strict=True)])
DISC = circle((0.95, 0.10), 0.10, velocity=(-0.06, 0.02), name="disc")
FIELD = EruginField(line((0.75, -0.55), (0.45, 0.75)), [DISC], speed=0.13, margin=0.05)
PROGRAM = Program(ROBOT, follow(FIELD, ROBOT.points["tip"], perturbation=FirstOrder(RATE)))
CONTROLLER = ProgramController(PROGRAM, realization="actuated")
Q0, V0 = start_on(PROGRAM, [-1.3, 1.4], at=[(ROBOT.points["tip"], (0.75, -0.55))])


def erugin_loop() -> Callable[[float], Array]:
    """As a user runs it: one kernel per step, compiled if there is a compiler."""
    simulator = Simulator(ROBOT, CONTROLLER)
    return lambda span: simulator.run(Q0, V0, span, step=STEP).q[-1]


def plain_casadi() -> Callable[[float], Array]:
    """The same expressions as a CasADi function, called from a Python loop."""
    law = CONTROLLER.law
    assert law is not None
    a = ca.substitute(ROBOT.acceleration, ROBOT.u, law.output)
    f = ca.Function("f", [ROBOT.t, ca.vertcat(ROBOT.q, ROBOT.v), PROGRAM.p], [ca.vertcat(ROBOT.v, a)])
    p = PROGRAM.parameters.values()
    return lambda span: rk4(lambda t, x: np.asarray(f.call([t, x, p])[0].full())[:, 0], span)


def pinocchio_loop() -> Callable[[float], Array]:
    """As below, in a Python loop."""
    torque = pinocchio_torque()

    def rate(t: float, x: Array) -> Array:
        return np.concatenate([x[2:], torque(t, x)[1]])

    return lambda span: rk4(rate, span)


def pinocchio_torque() -> Callable[[float, Array], tuple[Array, Array]]:
    """M, h and the tip's kinematics by Pinocchio, the multipliers by NumPy, the field by a compiled kernel of ours."""
    model = pin.Model()
    joint = 0
    for i, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        shift = np.array([0.0 if i == 0 else LENGTHS[i - 1], 0.0, 0.0])
        joint = model.addJoint(joint, pin.JointModelRZ(), pin.SE3(np.eye(3), shift), f"joint{i}")
        inertia = pin.Inertia(mass, np.array([length, 0.0, 0.0]), np.zeros((3, 3)))
        model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
    tip = model.addFrame(
        pin.Frame("tip", joint, 0, pin.SE3(np.eye(3), np.array([LENGTHS[-1], 0.0, 0.0])), pin.OP_FRAME)
    )
    model.gravity.linear = np.array([0.0, -9.81, 0.0])
    data = model.createData()
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    w = FIELD.velocity(x, t)
    outputs = {"w": w, "by_x": ca.jacobian(w, x), "by_t": ca.jacobian(w, t)}
    field = Kernel("field", {"x": x, "t": t, "p": FIELD.parameters.symbols}, outputs)
    p = FIELD.parameters.values()
    world = pin.LOCAL_WORLD_ALIGNED

    def torque(time_: float, state: Array) -> tuple[Array, Array]:
        q, v = state[:2], state[2:]
        pin.computeAllTerms(model, data, q, v)
        pin.updateFramePlacements(model, data)
        J: Array = pin.getFrameJacobian(model, data, tip, world)[:2]
        pin.forwardKinematics(model, data, q, v, np.zeros(2))
        bias: Array = pin.getFrameClassicalAcceleration(model, data, tip, world).linear[:2]
        velocity = J @ v
        speed, by_x, by_t = field(data.oMf[tip].translation[:2], time_, p)
        beta = by_x @ velocity + by_t - RATE * (velocity - speed) - bias
        mass: Array = data.M
        h: Array = data.nle
        free = np.linalg.solve(mass, -h)
        reach = np.linalg.solve(mass, J.T)
        force: Array = J.T @ np.linalg.solve(J @ reach, beta - J @ free)
        return force, np.asarray(np.linalg.solve(mass, force - h), dtype=np.float64)

    return torque


def rk4(f: Callable[[float, Array], Array], span: float) -> Array:
    x, h = np.concatenate([Q0, V0]), STEP
    for k in range(round(span / h)):
        t = k * h
        k1 = f(t, x)
        k2 = f(t + h / 2, x + h / 2 * k1)
        k3 = f(t + h / 2, x + h / 2 * k2)
        k4 = f(t + h, x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[:2]


def without_compiler(rounds: int) -> list[float]:
    """Seconds per run of Erugin in a process that finds no compiler."""
    command = [sys.executable, "-W", "ignore", __file__, "--virtual-machine", str(rounds)]
    answer = subprocess.run(
        command, env={**os.environ, "ERUGIN_CC": "none"}, capture_output=True, text=True, check=True
    )
    return [float(word) for word in answer.stdout.split()]


def main() -> None:
    if sys.argv[1:2] == ["--virtual-machine"]:
        run = erugin_loop()
        print(*(timed(run, SPAN) for _ in range(int(sys.argv[2]))))
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rivals = {
        "Erugin, compiled": (erugin_loop(), SPAN),
        "CasADi's Function called from Python": (plain_casadi(), SHORT),
        "Pinocchio and NumPy": (pinocchio_loop(), SHORT),
    }
    ends = [run(SHORT) for run, _ in rivals.values()]
    worst = max(float(np.abs(end - ends[0]).max()) for end in ends)
    rng = np.random.default_rng(0)
    states = [rng.uniform(0.2, 1.0, 4) for _ in range(100)]
    ours, theirs = CONTROLLER.control, pinocchio_torque()
    apart = max(float(np.abs(ours(0.5, x[:2], x[2:]) - theirs(0.5, x)[0]).max()) for x in states)
    seconds: dict[str, list[float]] = {name: [] for name in rivals}
    machine_alone: list[float] = []
    for _ in range(rounds):
        for name, (run, span) in rivals.items():
            seconds[name].append(timed(run, span) * SPAN / span)
        machine_alone += without_compiler(1)
    seconds["Erugin, virtual machine"] = machine_alone
    base = statistics.median(seconds["Erugin, compiled"])
    print(machine())
    print(versions())
    print(f"{SPAN:g} s at {STEP * 1e3:g} ms, RK4, two links, two rows, one disc; {rounds} interleaved rounds")
    print(f"torques equal within {apart:.1e} N m at 100 random states, ends within {worst:.1e} rad after {SHORT:g} s")
    print(f"{'':38}{'median [s]':>11}{'min [s]':>9}{'max [s]':>9}{'ratio':>8}")
    for name, values in sorted(seconds.items(), key=lambda item: statistics.median(item[1])):
        middle = statistics.median(values)
        print(f"{name:38}{middle:11.4f}{min(values):9.4f}{max(values):9.4f}{middle / base:8.1f}")


def timed(run: Callable[[float], Array], span: float) -> float:
    return repeated(lambda: run(span), 1)


if __name__ == "__main__":
    main()
