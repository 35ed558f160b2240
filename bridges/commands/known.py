"""The bridges that there are: what each needs, and what it carries."""

from __future__ import annotations

import importlib
import importlib.metadata
from dataclasses import dataclass

VERBS = ("export", "load", "drive", "simulate", "match")
"""What a bridge may do, by the same name in each."""


@dataclass(frozen=True)
class Bridge:
    """One of ``erugin.bridges``.

    Attributes:
        name: of its package.
        package: that it needs, as package indexes call it; empty if it needs none.
        extra: of Erugin that brings it; empty where every installation has it.
        carries: what goes over it, in a sentence.
    """

    name: str
    package: str
    extra: str
    carries: str

    @property
    def version(self) -> str | None:
        """Of the package that is installed; None if it is not, or none is needed."""
        if not self.package:
            return None
        try:
            return importlib.metadata.version(self.package)
        except importlib.metadata.PackageNotFoundError:
            return None

    @property
    def command(self) -> str:
        """What installs the package; that of Erugin itself where every installation has it."""
        return f"pip install 'erugin[{self.extra}]'" if self.extra else "pip install erugin"

    @property
    def verbs(self) -> tuple[str, ...]:
        """Those of ``VERBS`` that its package has."""
        module = importlib.import_module(f"..{self.name}", __package__)
        return tuple(verb for verb in VERBS if hasattr(module, verb))


BRIDGES = (
    Bridge("c", "", "", "the law, or the closed loop, as C99 without allocation"),
    Bridge("casadi", "casadi", "", "the law as a file; robot, program and law as functions for Opti"),
    Bridge("drake", "drake", "drake", "the law as a LeafSystem; robots from and to a MultibodyPlant"),
    Bridge("fmi", "fmpy", "fmi", "law, closed loop or plant as an FMU 2.0 or 3.0; FMPy runs it"),
    Bridge("gymnasium", "gymnasium", "gymnasium", "a scenario as an environment, with the law as its base policy"),
    Bridge("jax", "jax", "jax", "law and acceleration to differentiate, batch and compile"),
    Bridge("mujoco", "mujoco", "mujoco", "the law as a callback; robots from and to MJCF, closed loops too"),
    Bridge("pinocchio", "pin", "pinocchio", "robots from and to a pinocchio.Model with constraint models"),
    Bridge("pybullet", "pybullet", "pybullet", "the law in a torque-control loop; robots through URDF"),
    Bridge("python_control", "control", "", "law, robot and closed loop as systems with named signals"),
    Bridge("urdf", "lxml", "urdf", "robots from and to URDF, without their closed loops"),
)
"""In the order of their names; what each carries fits into a line of a terminal of 80 columns."""
