"""Constrained ticks of Erugin: multipliers, forces and accelerations as one kernel."""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import casadi as ca
import numpy as np
from harness.operations import operations
from numpy.typing import NDArray

from erugin.constraints import Baumgarte, Constraint, holonomic
from erugin.controllers import Controller, Program, ProgramController
from erugin.controllers.multipliers import default_method
from erugin.controllers.realization import IdealRealization
from erugin.robots import Closure, Link, Robot, TelescopicLink, exoskeleton, load_urdf, mechanism, planar_manipulator
from erugin.symbolic import Kernel

from .sizes import ALPHA, BETA, CHAIN, GRAVITY, ROD, TOOL, State, arm_text

Array = NDArray[np.float64]
Values = dict[str, ca.SX]


@dataclass(frozen=True, eq=False)
class Tick:
    """Expressions of λ, R and a.

    Attributes:
        name: a C identifier.
        inputs: t, q, v, p.
        outputs: λ, shape (m,), R, shape (nv,), a, shape (nv,).
        p: parameter values.
        seconds: to derive all this.
    """

    name: str
    inputs: Values
    outputs: Values
    p: Array
    seconds: float

    @property
    def function(self) -> ca.Function:
        """As CasADi's virtual machine has it, without common subexpressions."""
        return ca.Function(self.name, [*self.inputs.values()], [*self.outputs.values()], {"cse": True})

    @property
    def operations(self) -> int:
        """Number of operations of one evaluation."""
        return sum(operations(self.function).values())

    def kernel(self, *, compiled: bool | None = None) -> Kernel:
        """The tick as a kernel."""
        return Kernel(self.name, self.inputs, self.outputs, compiled=compiled)

    def bound(self, state: State, kernel: Kernel | None = None) -> tuple[Callable[[], None], list[Array]]:
        """A call through buffers, which are the arrays of the state, and where it leaves λ, R and a."""
        arguments = [np.zeros(1), state.q, state.v, self.p.copy()]
        results = [np.zeros(x.numel()) for x in self.outputs.values()]
        return (kernel or self.kernel()).bind(arguments, results), results


def chain(n: int) -> Robot:
    """The planar chain with n links."""
    return planar_manipulator([Link(*CHAIN)] * n, gravity=GRAVITY)


def held(place: ca.SX, at: Sequence[float], name: str) -> Constraint:
    """A place that is to stay at a point."""
    return holonomic(place - ca.DM(at), name=name, perturbation=Baumgarte(ALPHA, BETA))


def chain_tick(n: int, held_links: Sequence[int] | None = None) -> Tick:
    """The chain with the ends of some links held where they are at q = 0; the tip if none are named."""
    began = time.perf_counter()
    robot = chain(n)
    places = [robot.points["tip" if i == n else f"joint{i + 1}"] for i in (held_links or [n])]
    at = [(i * CHAIN.length, 0.0) for i in (held_links or [n])]
    rows = [held(place, x, f"end{k}") for k, (place, x) in enumerate(zip(places, at, strict=True))]
    return _of_program(f"chain{n}", Program(robot, rows), began)


def chain_law(n: int) -> Controller:
    """The law of :func:`chain_tick`, whose output is R."""
    robot = chain(n)
    return ProgramController(Program(robot, held(robot.points["tip"], (n * CHAIN.length, 0.0), "end0")))


def arm_tick() -> Tick:
    """The seven-joint arm with its tool held at a point of space."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        # Its file gives the tool no inertia.
        warnings.simplefilter("ignore")
        path = Path(folder) / "arm.urdf"
        path.write_text(arm_text(), encoding="utf-8")
        began = time.perf_counter()
        robot = load_urdf(path, check_inertia=False)
    return _of_program("arm", Program(robot, held(robot.points[TOOL], (0.4, 0.1, 0.5), "tool")), began)


def rods_tick(n: int) -> Tick:
    """The exoskeleton with n telescopic links, its foot closed on the ground; R is Aᵀμ."""
    began = time.perf_counter()
    rod = TelescopicLink(ROD.mass, ROD.inertia, center_ratio=1.0, stiffness=ROD.stiffness, rest_length=ROD.rest)
    foot = Closure("tip", (1.0, 0.0), "foot")
    robot = mechanism(exoskeleton([rod] * n, gravity=GRAVITY), [foot], perturbation=Baumgarte(ALPHA, BETA))
    acceleration, reactions = robot.unforced_acceleration
    A, _ = robot.natural_form
    outputs = {"multipliers": reactions, "force": A.T @ reactions, "acceleration": acceleration}
    return _tick(f"rods{n}", robot.t, robot, robot.p, outputs, np.array([*robot.nominal.values()]), began)


def _of_program(name: str, program: Program, began: float) -> Tick:
    found = IdealRealization().build(program, default_method(program))
    outputs = {"multipliers": found.multipliers, "force": found.force, "acceleration": found.acceleration}
    robot, parameters = program.robot, program.parameters
    return _tick(name, robot.t, robot, parameters.symbols, outputs, parameters.values(), began)


def _tick(name: str, t: ca.SX, robot: Robot, p: ca.SX, outputs: Values, values: Array, began: float) -> Tick:
    dense = {key: ca.densify(expression) for key, expression in outputs.items()}
    inputs = {"t": t, "q": robot.q, "v": robot.v, "p": p}
    return Tick(name, inputs, dense, values, time.perf_counter() - began)
