"""MJCF → Robot."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...robots.dynamics import Dynamics
from ...robots.formulations import Formulation
from ...robots.limits import Limits
from ...robots.mechanism import mechanism
from ...robots.robot import Robot
from ...robots.tree_system import tree_system
from ...symbolic.coordinates import Coordinates
from ...symbolic.errors import BridgeError, BridgeWarning, caller_level
from ..refused import refuse
from .model_closures import closures
from .model_foreign import foreign, require_no_balls
from .model_inputs import inputs
from .model_passive import declared, passive
from .model_read import Named, compiled
from .model_tree import grow

if TYPE_CHECKING:
    from mujoco import MjModel

UNBOUNDED = 1e10
"""A bound of this size stands for none on that side."""


def load(
    source: MjModel | str | os.PathLike[str],
    *,
    name: str | None = None,
    ignore: Sequence[str] = (),
    formulation: Formulation | None = None,
) -> Robot:
    """Robot of an MJCF model: M(q) a + h(q, v) = B u + Aᵀ μ, its bodies as MuJoCo's compiler understands them.

    *Joints.* Hinges and slides have one coordinate each, equal to MuJoCo's; free joints are floating ones, written as
    here: (x, y, z, qx, qy, qz, qw) and velocities in the body's axes. Bodies without joints are part of what carries
    them. A joint without a name is called like its body.

    *Inputs.* Each motor on a joint, a fixed tendon or a site, with its gear; the input is its control. Groups of
    actuators that are disabled are left out.

    *Closed loops.* ``connect``, ``weld``, ``joint`` and ``tendon`` (fixed ones) become natural constraints, rigid here;
    rows that depend on others, as those of a loop in a plane do, get reactions of least norm.

    *Forces in h.* Damping, dry friction f sign(v) and linear springs of joints, the same of fixed tendons, gravity.
    Armature is part of M. Bounds of joints and controls become ``limits``, which are data here.

    *Parameters.* ``gravity.x`` … where not zero; ``<body>.mass``, ``.cx``, ``.cy``, ``.cz`` in the body's frame and the
    principal moments ``.I1``, ``.I2``, ``.I3``; ``<joint>.damping``, ``.friction``, ``.stiffness``, ``.rest``,
    ``.armature`` where the model has them.

    Args:
        source: a ``mujoco.MjModel``, MJCF text, or the path of a file.
        name: of the robot; the model's if not given.
        ignore: names of features without a counterpart that are left out, as the error lists them, such as
            ``"contacts"``; a warning tells them.
        formulation: how the equations are derived; ``Articulated()`` if not given.

    Raises:
        BridgeError: for what MuJoCo itself refuses, a model in which nothing moves, ball joints, features without a
            counterpart that are not ignored, or names in ``ignore`` that the model has not.
        MissingPackageError: without MuJoCo.
    """
    model = compiled(source)
    names = Named(model)
    label = name or model.names[: model.names.index(b"\0")].decode() or "MuJoCo model"
    if not model.njnt:
        raise BridgeError(f"{label}: nothing in this model moves")
    require_no_balls(names)
    drives = inputs(names)
    lost = {**foreign(names), **drives.lost}
    hint = (
        "or write <motor> in place of actuators that are none"
        if any(": it is no motor" in x for x in lost.values())
        else ""
    )
    ignored = refuse("a Robot", label, lost, ignore, hint=hint)
    if ignored:
        told = "; ".join(lost[word] for word in ignored)
        warnings.warn(f"{label}: left out of the model: {told}", BridgeWarning, stacklevel=caller_level())
    p = declared(names)
    growth = grow(names, p)
    tree = growth.tree
    c = tree.coordinates
    poses = growth.poses()
    acting = passive(names, p, tree)
    robot = tree_system(
        tree,
        parameters=p,
        u=drives.u,
        B=drives.matrix(growth),
        V=acting.energy,
        resistance=acting.resistance,
        points={key: frame.position for key, frame in poses.items()},
        frames=poses,
        input_units=drives.units,
        limits=_limits(names, c, drives.efforts),
        formulation=formulation,
        name=label,
    )
    if not acting.armature.is_zero():
        robot = dataclasses.replace(robot, dynamics=_geared(robot, acting.armature))
    pins, couplings = closures(names, tree, poses, ignored)
    robot = dataclasses.replace(robot, natural=tuple(couplings))
    return mechanism(robot, pins, name=label, redundant="least-norm") if pins else robot


def _geared(robot: Robot, armature: ca.SX) -> Dynamics:
    """The same with rotors that count for their own rotation alone."""
    plain, v = robot.dynamics, robot.v
    return Dynamics(
        mass_matrix=lambda: plain.mass_matrix + armature,
        bias=lambda: plain.bias,
        kinetic_energy=lambda: plain.kinetic_energy + ca.dot(v, armature @ v) / 2,
        potential_energy=lambda: plain.potential_energy,
    )


def _limits(names: Named, c: Coordinates, efforts: Sequence[float]) -> Limits:
    model = names.model
    lower, upper = np.full(c.nq, -np.inf), np.full(c.nq, np.inf)
    speed = np.full(c.nv, np.inf)
    for j, name in enumerate(names.joints):
        if model.jnt_limited[j] and name in c.names:
            at = c.names.index(name)
            lower[at], upper[at] = model.jnt_range[j]
    bounds = {f"speed limit of {c.v[i].name().removeprefix('v_')}": i for i in range(c.nv)}
    for k in range(model.nnumeric):
        # Where an exported model keeps what MuJoCo does not know.
        if (place := bounds.get(model.numeric(k).name)) is not None:
            speed[place] = model.numeric_data[model.numeric_adr[k]]
    lower[lower <= -UNBOUNDED], upper[upper >= UNBOUNDED] = -np.inf, np.inf
    return Limits(lower, upper, speed, np.array(efforts, dtype=np.float64))
