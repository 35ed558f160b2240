"""Features that another program cannot represent: an error that names them, or omission on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...symbolic.errors import BridgeError


def check_unsupported(
    program: str, owner: str, unsupported: Mapping[str, str], ignore: Sequence[str], *, hint: str = ""
) -> tuple[str, ...]:
    """Return the names to be ignored, after a check that no other feature is unsupported.

    Args:
        program: name of the program or format.
        owner: name of the exported or loaded model.
        unsupported: name of each unsupported feature → sentence on it.
        ignore: names of features to be omitted.
        hint: further remedy, for the message.

    Raises:
        BridgeError: for unsupported features that are not ignored, or ignored names that are not unsupported features;
            the message lists all of them.
    """
    names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    unknown = [name for name in names if name not in unsupported]
    if unknown:
        raise BridgeError(
            f"ignore= names {', '.join(map(repr, unknown))}, but the features of {owner} that {program} cannot "
            f"represent are: {', '.join(map(repr, unsupported)) or 'none'}"
        )
    rest = {name: why for name, why in unsupported.items() if name not in names}
    if rest:
        raise BridgeError(
            f"{program} cannot represent all of {owner}: {'; '.join(rest.values())}. Leave these out by "
            f"ignore=[{', '.join(map(repr, rest))}], which changes the robot{', ' * bool(hint)}{hint}"
        )
    return names
