"""Optional packages, imported when they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from .errors import MissingPackageError


def import_optional(module: str, extra: str) -> ModuleType:
    """Import a module that comes with an extra of Erugin.

    Args:
        module: name of the module, such as ``"pydrake.all"``.
        extra: extra that installs it.

    Raises:
        MissingPackageError: if it is not installed, or cannot be loaded; the message has the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        top = module.partition(".")[0]
        # A package that is installed and fails to load has another reason.
        why = "is not installed" if error.name in (top, module) else f"cannot be loaded ({error})"
        raise MissingPackageError(f"{top} is required but {why}: pip install 'erugin[{extra}]'") from error
