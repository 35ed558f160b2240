"""Features without a counterpart in another program: an error that names them, or left out on request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...symbolic.errors import BridgeError


def check_unsupported(
    program: str, owner: str, lost: Mapping[str, str], ignore: Sequence[str], *, hint: str = ""
) -> tuple[str, ...]:
    """What is to be ignored, after a look at what is lost.

    Args:
        program: or format, that lacks the counterpart.
        owner: name of what is handed over.
        lost: a sentence for each thing, by name.
        ignore: names.
        hint: what else can be done.

    Raises:
        BridgeError: for what is lost and not ignored, or names to be ignored that nothing has; names everything.
    """
    names = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    unknown = [name for name in names if name not in lost]
    if unknown:
        raise BridgeError(
            f"ignore= names {', '.join(map(repr, unknown))}, but of {owner} only these have no counterpart in "
            f"{program}: {', '.join(map(repr, lost)) or 'none'}"
        )
    rest = {name: why for name, why in lost.items() if name not in names}
    if rest:
        raise BridgeError(
            f"{owner} has what {program} has no counterpart for: {'; '.join(rest.values())}. Leave it out by "
            f"ignore=[{', '.join(map(repr, rest))}], which makes it another robot{', ' * bool(hint)}{hint}"
        )
    return names
