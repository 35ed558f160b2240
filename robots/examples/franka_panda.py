"""Franka Emika's Panda: an arm of seven joints, from the URDF file of a package."""

from __future__ import annotations

import importlib.metadata
import warnings
from pathlib import Path

from ...symbolic.errors import ModelError
from ..robot import Robot
from ..urdf import UrdfWarning, load_urdf

PACKAGE = "example-robot-data"
UNKNOWN = "D, K, mu_coulomb, mu_viscous"


def franka_panda() -> Robot:
    """The Panda of the package ``example-robot-data`` with its fingers closed: seven joints, seven drives.

    The point of the hand between its fingers is the frame ``panda_hand_tcp``. Masses, inertias and limits are those of
    the file; what it says of damping and stiffness by attributes that URDF does not know is left out.

    Raises:
        ModelError: if the package, or lxml, is not installed.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", rf"(?s).*'{UNKNOWN}'", UrdfWarning)
        return load_urdf(example_file("panda.urdf"), locked={"panda_finger_joint1": 0.0})


def example_file(name: str) -> Path:
    """Where a file of ``example-robot-data`` lies.

    Args:
        name: of the file.

    Raises:
        ModelError: if the package is not installed, or has no such file.
    """
    try:
        files = importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise ModelError(f"{name} comes with the package {PACKAGE}: pip install 'erugin[models]'") from error
    for file in files:
        if file.name == name:
            return Path(str(file.locate())).resolve()
    raise ModelError(f"the package {PACKAGE} {importlib.metadata.version(PACKAGE)} has no file {name}")
