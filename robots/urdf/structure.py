"""Whether links and joints form one tree."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from .document import quote
from .elements import Joint, Link
from .errors import UrdfError

_NAMED = 5
_PATH = 20


def find_root(file: str, links: Mapping[str, Link], joints: Mapping[str, Joint]) -> str:
    """Name of the link that all others hang on.

    Args:
        file: for messages.
        links: by name.
        joints: by name.

    Raises:
        UrdfError: if there is no link, a joint names a link that is not there or joins one to itself, a link has two
            parents, links form a loop, or there are several roots.
    """
    if not links:
        raise UrdfError(f"{file}: the robot has no links")
    above: dict[str, Joint] = {}
    for joint in joints.values():
        where = _where(file, joint)
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise UrdfError(f"{where}: there is no link {quote(name)}, its {role}.{_nearest(name, links)}")
        if joint.parent == joint.child:
            raise UrdfError(f"{where}: the link {quote(joint.child)} is its own parent")
        other = above.setdefault(joint.child, joint)
        if other is not joint:
            raise UrdfError(
                f"{where}: the link {quote(joint.child)} has two parents, {quote(other.parent)} by the joint "
                f"{quote(other.name)} (line {other.line}) and {quote(joint.parent)}. URDF describes a tree: leave one "
                "joint out and close the loop with erugin.robots.mechanism"
            )
    _refuse_loops(file, above)
    roots = [link for link in links.values() if link.name not in above]
    if len(roots) > 1:
        listing = ", ".join(f"{quote(link.name)} (line {link.line})" for link in roots[:_NAMED])
        more = f" and {len(roots) - _NAMED} more" if len(roots) > _NAMED else ""
        raise UrdfError(
            f"{file}: the links must form one tree, but {len(roots)} of them have no parent: {listing}{more}; join them"
        )
    return roots[0].name


def order_followers(file: str, joints: Mapping[str, Joint]) -> list[Joint]:
    """All joints, each after the one that it follows.

    Args:
        file: for messages.
        joints: by name.

    Raises:
        UrdfError: if a joint follows one that is not there, has several coordinates, or follows it in turn.
    """
    order: dict[str, Joint] = {}
    for joint in joints.values():
        path: dict[str, Joint] = {}
        following = joint
        while following.name not in order:
            if following.name in path:
                names = list(path)
                loop = _path([*names[names.index(following.name) :], following.name])
                raise UrdfError(f"{_where_mimic(file, following)}: joints follow each other in a circle: {loop}")
            path[following.name] = following
            if following.mimic is None:
                break
            name = following.mimic.joint
            if name not in joints:
                raise UrdfError(
                    f"{_where_mimic(file, following)}: there is no joint {quote(name)}.{_nearest(name, joints)}"
                )
            if joints[name].type in ("planar", "floating"):
                raise UrdfError(
                    f"{_where_mimic(file, following)}: the joint {quote(name)} is {joints[name].type} and has no "
                    "single coordinate to follow"
                )
            following = joints[name]
        order |= reversed(path.items())
    return list(order.values())


def _refuse_loops(file: str, above: Mapping[str, Joint]) -> None:
    grounded: set[str] = set()
    for start in above:
        path: dict[str, None] = {}
        name = start
        while name in above and name not in grounded:
            if name in path:
                names = list(path)
                loop = [name, *reversed(names[names.index(name) :])]
                joints = _path([above[step].name for step in loop[1:]])
                raise UrdfError(
                    f"{_where(file, above[loop[1]])}: the links form a loop: {_path(loop)}, by the joints {joints}. "
                    "URDF describes a tree: leave one joint out and close the loop with erugin.robots.mechanism"
                )
            path[name] = None
            name = above[name].parent
        grounded |= path.keys()


def _path(names: list[str]) -> str:
    shown = names if len(names) <= _PATH else [*names[: _PATH // 2], "…", *names[-_PATH // 2 :]]
    return " → ".join(quote(name) for name in shown)


def _where_mimic(file: str, joint: Joint) -> str:
    line = joint.line if joint.mimic is None else joint.mimic.line
    return f"{file}, line {line}, <joint name={quote(joint.name)}>, <mimic>"


def _where(file: str, joint: Joint) -> str:
    return f"{file}, line {joint.line}, <joint name={quote(joint.name)}>"


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:80], list(known)[:1000], n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(map(quote, near))}?" if near else ""
