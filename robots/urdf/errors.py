"""What can go wrong with a URDF file."""

from __future__ import annotations

from ...symbolic.errors import ModelError


class UrdfError(ModelError):
    """A URDF file cannot be read as a robot; the message begins with the file, the line and the element."""


class UrdfWarning(UserWarning):
    """A URDF file was read, but holds something that its author can hardly have meant."""
