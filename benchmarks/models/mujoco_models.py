"""The same robots in MuJoCo, without contacts."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .sizes import CHAIN, GRAVITY, GROUND, LINKAGE, LinkSizes, State

mujoco: Any = importlib.import_module("mujoco")  # Its stubs are not strict.

Array = NDArray[np.float64]
UNUSED = ("contact", "spring", "damper")
"""What is switched off, as no robot has it."""
Foreign = Any
"""An object of MuJoCo's."""


def chain_model(n: int, step: float) -> Foreign:
    """The planar chain with RK4, and nothing that it does not need: a tenth faster than as it comes."""
    bodies = ""
    for i in reversed(range(n)):
        bodies = _body(f"link{i}", CHAIN.length if i else 0.0, CHAIN, bodies)
    return _model(bodies, step, "RK4", "", *UNUSED, "constraint")


def four_bar_model(step: float, integrator: str, solref: Sequence[float] = (), solimp: Sequence[float] = ()) -> Foreign:
    """Crank and coupler in a chain, the rocker from its own pivot, closed by ``connect``.

    Args:
        step: [s].
        integrator: ``"Euler"``, ``"RK4"`` or ``"implicitfast"``.
        solref: time constant and damping ratio, or −stiffness and −damping, of the constraint; MuJoCo's if empty.
        solimp: its impedance; MuJoCo's if empty.
    """
    crank, coupler, rocker = LINKAGE
    chain = _body("crank", 0.0, crank, _body("coupler", crank.length, coupler, _end("coupler", coupler)))
    bodies = chain + _body("rocker", GROUND, rocker, _end("rocker", rocker))
    hardness = "".join(f' {key}="{_words(x)}"' for key, x in (("solref", solref), ("solimp", solimp)) if x)
    pin = f'<equality><connect site1="coupler" site2="rocker"{hardness}/></equality>'
    return _model(bodies, step, integrator, pin, *UNUSED)


def stepping(model: Foreign, start: State) -> Callable[[], None]:
    """One ``mj_step`` from Python; the motion continues from call to call."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start
    step = mujoco.mj_step
    return lambda: step(model, data)


class Rollouts:
    """``mujoco.rollout`` from many starts, states at every step written into one array.

    Args:
        model: of a robot.
        starts: q, shape (batch, nq), and v, shape (batch, nv).
        steps: how many.
        threads: 0 for the calling thread alone.
    """

    def __init__(self, model: Foreign, starts: State, steps: int, threads: int = 0) -> None:
        whole = mujoco.mjtState.mjSTATE_FULLPHYSICS
        size, batch = int(mujoco.mj_stateSize(model, whole)), len(starts.q)
        self._model, self._steps = model, steps
        self._datas = [mujoco.MjData(model) for _ in range(max(threads, 1))]
        # time, q, v
        self._starts = np.zeros((batch, size))
        self._starts[:, 1:] = np.hstack([starts.q, starts.v])
        self._states, self._sensors = np.empty((batch, steps, size)), np.empty((batch, steps, model.nsensordata))
        self._threads: Any = importlib.import_module("mujoco.rollout").Rollout(nthread=threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.close()

    def __call__(self) -> Array:
        """States (t, q, v) after each step, shape (batch, steps, 1 + nq + nv)."""
        self._threads.rollout(
            self._model, self._datas, self._starts, nstep=self._steps, state=self._states, sensordata=self._sensors
        )
        return self._states


def _model(bodies: str, step: float, integrator: str, rest: str, *without: str) -> Foreign:
    option = f'<option timestep="{step!r}" gravity="0 {-GRAVITY} 0" integrator="{integrator}">'
    flags = "".join(f' {name}="disable"' for name in without)
    world = f"<worldbody>{bodies}</worldbody>{rest}"
    return mujoco.MjModel.from_xml_string(f"<mujoco>{option}<flag{flags}/></option>{world}</mujoco>")


def _body(name: str, x: float, link: LinkSizes, inside: str) -> str:
    inertia = _words([link.inertia] * 3)
    return (
        f'<body name="{name}" pos="{x!r} 0 0"><joint type="hinge" axis="0 0 1"/>'
        f'<inertial pos="{link.center!r} 0 0" mass="{link.mass!r}" diaginertia="{inertia}"/>{inside}</body>'
    )


def _end(name: str, link: LinkSizes) -> str:
    return f'<site name="{name}" pos="{link.length!r} 0 0"/>'


def _words(numbers: Sequence[float]) -> str:
    return " ".join(repr(float(x)) for x in numbers)
