"""Words of the form key=value."""

from __future__ import annotations

from collections.abc import Sequence

from ...symbolic.errors import ModelError


def pairs_of(option: str, words: Sequence[str]) -> dict[str, str]:
    """Values by key.

    Args:
        option: that takes the words, for messages.
        words: as the command line has them.

    Raises:
        ModelError: for a word of another form, or a key given twice.
    """
    given: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key or not value:
            raise ModelError(f"{option} takes key=value, got {word!r}")
        if key in given:
            raise ModelError(f"{option} gives {key} more than once")
        given[key] = value
    return given
