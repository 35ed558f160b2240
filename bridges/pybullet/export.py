"""A robot → a URDF that PyBullet reads whole, and a body in one of its worlds."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike

from ...robots.robot import Robot
from ...scenarios.whole_file import write_whole
from ...symbolic.errors import BridgeError, BridgeWarning, caller_level
from ..solids import own_tree
from ..urdf_text import rubbing_joints
from .package import bullet, quiet
from .text import for_bullet

Values = Mapping[str, float] | ArrayLike | None


def export(robot: Robot, path: str | os.PathLike[str] | None = None, *, p: Values = None, limits: bool = True) -> str:
    """URDF of a robot, with inertias in principal axes, to be loaded with ``flags=URDF_USE_INERTIA_FROM_FILE``.

    Load a robot with a fixed base by ``useFixedBase=True``; :func:`spawn` does all of it. PyBullet's own damping
    (0.04), its motors on every joint and its greatest speed (100 rad/s) are no matter of the file: :func:`drive` turns
    them off.

    Args:
        robot: made of a tree of bodies, without natural constraints.
        path: of a file to be written; none if not given.
        p: parameters: nominal, overridden by name, or the whole vector.
        limits: whether limits of joints are written, which stop a joint in PyBullet and do nothing here.

    Raises:
        BridgeError: for what URDF or PyBullet do not have.

    Warns:
        BridgeWarning: of dry friction, which PyBullet has only as the force of its own motors.
    """
    return _written(robot, path, p, limits)[0]


def spawn(robot: Robot, *, client: int = 0, p: Values = None, limits: bool = False) -> int:
    """Put a robot into a world, with its gravity; its body's number.

    Args:
        robot: as for :func:`export`.
        client: number of the world.
        p: parameters: nominal, overridden by name, or the whole vector.
        limits: whether limits of joints act, which they do not here.

    Raises:
        BridgeError: as for :func:`export`, or if PyBullet refuses the model.
        MissingPackageError: if PyBullet is not installed.
    """
    pybullet = bullet()
    text, floating = _written(robot, None, p, limits)
    with tempfile.TemporaryDirectory(prefix="erugin-") as folder:
        file = Path(folder) / "robot.urdf"
        file.write_text(text, encoding="utf-8")
        try:
            with quiet():
                body = pybullet.loadURDF(
                    str(file),
                    useFixedBase=floating is None,
                    flags=pybullet.URDF_USE_INERTIA_FROM_FILE,
                    physicsClientId=client,
                )
        except pybullet.error as error:
            raise BridgeError(f"PyBullet does not load {robot.name} into world {client}: {error}") from error
    pybullet.setGravity(*robot.evaluate(own_tree(robot).gravity, p=p).tolist(), physicsClientId=client)
    return int(body)


def _written(robot: Robot, path: str | os.PathLike[str] | None, p: Values, limits: bool) -> tuple[str, str | None]:
    from ..urdf import export as urdf

    own_tree(robot)
    if robot.natural:
        names = ", ".join(constraint.name for constraint in robot.natural)
        raise BridgeError(
            f"{robot.name} has natural constraints ({names}), which URDF does not have: export the open tree, and "
            "close it in PyBullet by createConstraint; or use erugin.scenarios, or MuJoCo"
        )
    plain = urdf(robot, p=p)
    text, floating = for_bullet(plain, robot.name, limits=limits)
    if rubbing := rubbing_joints(plain):
        warnings.warn(
            f"{robot.name}: PyBullet leaves out the dry friction of {', '.join(rubbing)}",
            BridgeWarning,
            stacklevel=caller_level(),
        )
    if path is not None:
        write_whole(Path(path), lambda file: _write(file, text))
    return text, floating


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
