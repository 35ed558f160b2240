"""What studies need beyond what Erugin always has."""

from __future__ import annotations

import importlib

from ...symbolic.errors import StudyError


def require(extra: str, *modules: str) -> None:
    """Find out whether an extra is installed.

    Args:
        extra: its name.
        modules: that it brings.

    Raises:
        StudyError: if one of them is missing.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise StudyError(f"{module} is needed here and not installed: pip install 'erugin[{extra}]'") from error
