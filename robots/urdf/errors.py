"""What can go wrong with a URDF file."""

from __future__ import annotations

from ...symbolic.errors import EruginError, ModelError


class UrdfError(ModelError):
    """A URDF file cannot be read as a robot; the message begins with the file, the line and the element."""


class UrdfLibraryError(EruginError, ImportError):
    """The library that reads URDF files is not installed."""


class UrdfWarning(UserWarning):
    """A URDF file was read, but holds something that its author can hardly have meant."""
