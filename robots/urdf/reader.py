"""A URDF file → checked links and joints."""

from __future__ import annotations

import os
import warnings
from types import MappingProxyType
from typing import TypeVar

from ...symbolic.errors import caller_level
from .attributes import lookalikes, text
from .document import quote, read_document
from .elements import Description, Joint, Link
from .errors import UrdfError, UrdfWarning
from .joints import read_joint
from .links import read_link
from .meshes import missing_meshes
from .structure import find_root, order_followers

_SHOWN = 10

_Named = TypeVar("_Named", Link, Joint)


def read_urdf(path: str | os.PathLike[str], *, check_inertia: bool = True) -> Description:
    """Links and joints of a URDF file, with all checks that need no dynamics.

    Each error names the file, the line and the element. What is odd but does not stand in the way (a mesh that is
    missing, an axis that is not of unit length, a misspelt attribute) is reported by one UrdfWarning per file.

    Args:
        path: of the file.
        check_inertia: False to only warn of an inertia that no body has.

    Raises:
        UrdfError: for a file that is not there or cannot be read safely as XML; a missing attribute; a number that is
            none or not finite; an unknown type of joint; an unknown, doubled or missing name; two parents, a loop,
            several roots, no links; an axis without direction; a negative mass; an inertia that no body has; limits in
            the wrong order; joints that follow each other in a circle.
        MissingPackageError: if lxml is not installed.
    """
    description = read_description(path, check_inertia=check_inertia)
    warn_of(description)
    return description


def read_description(path: str | os.PathLike[str], *, check_inertia: bool) -> Description:
    """As :func:`read_urdf`, without the warning."""
    root = read_document(path)
    file = root.file
    name = text(root, "name")
    remarks = lookalikes(root, ("link", "joint"), ("name",))
    links = _by_name(file, "link", [read_link(e, check_inertia, remarks) for e in root.all("link")])
    joints = _by_name(file, "joint", [read_joint(e, remarks) for e in root.all("joint")])
    base = find_root(file, links, joints)
    order_followers(file, joints)
    missing = missing_meshes(file, (mesh for link in links.values() for mesh in link.meshes))
    if missing is not None:
        remarks.append(missing)
    return Description(name, file, MappingProxyType(links), MappingProxyType(joints), base, tuple(remarks))


def warn_of(description: Description) -> None:
    """One UrdfWarning with the remarks on a file, if there are any."""
    remarks = description.remarks
    if remarks:
        more = f"\n… and {len(remarks) - _SHOWN} more" if len(remarks) > _SHOWN else ""
        warnings.warn("\n".join(remarks[:_SHOWN]) + more, UrdfWarning, stacklevel=caller_level())


def _by_name(file: str, kind: str, things: list[_Named]) -> dict[str, _Named]:
    found: dict[str, _Named] = {}
    for thing in things:
        first = found.setdefault(thing.name, thing)
        if first is not thing:
            raise UrdfError(
                f"{file}, line {thing.line}, <{kind} name={quote(thing.name)}>: the name is taken by the {kind} at "
                f"line {first.line}"
            )
    return found
