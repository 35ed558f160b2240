"""The reader of URDF files: checked links, joints and mesh files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import unquote

from ...symbolic.errors import caller_stacklevel
from .description import Description, Mesh, UrdfJoint, UrdfLink
from .document import UrdfError, UrdfWarning, quote, read_document
from .elements import misspelling_remarks, read_joint, read_link, text
from .kinematic_tree import find_root, order_followers

_REMOTE = ("http://", "https://", "ftp://", "data:")


def missing_meshes(file: str, meshes: Iterable[Mesh]) -> str | None:
    """Return a remark on mesh files that do not exist; None if all do.

    A path is relative to the folder of the URDF file. ``package://name/rest`` and ``model://name/rest`` are searched
    in each folder above the file, in the folders of ROS_PACKAGE_PATH, which may be packages themselves, and in those of
    AMENT_PREFIX_PATH. Network addresses are not checked.

    Args:
        file: path of the URDF file.
        meshes: mesh files of the links.
    """
    first: dict[str, str] = {}
    for mesh in meshes:
        first.setdefault(mesh.filename, mesh.location)
    folders = list(Path(os.path.abspath(file)).parents)
    missing = [name for name in first if not _exists(name, folders)]
    if not missing:
        return None
    return (
        f"{first[missing[0]]}: {len(missing)} of {len(first)} mesh files cannot be found, the "
        f"first is {quote(missing[0])}; the equations of motion do not need them"
    )


def _exists(filename: str, folders: list[Path]) -> bool:
    if filename.startswith(_REMOTE):
        return True
    scheme, separator, rest = filename.partition("://")
    if separator and scheme in ("package", "model"):
        return any(os.path.isfile(path) for path in _in_package(rest, folders))
    if separator and scheme == "file":
        return os.path.isfile(unquote(rest))
    return os.path.isfile(os.path.join(folders[0], filename))


def _in_package(rest: str, folders: list[Path]) -> Iterator[str]:
    for folder in folders:
        yield os.path.join(folder, rest)
    for root in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        yield os.path.join(root, rest)
        yield os.path.join(os.path.dirname(root.rstrip(os.sep)), rest)
    for root in filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)):
        yield os.path.join(root, "share", rest)


_SHOWN = 10

_Named = TypeVar("_Named", UrdfLink, UrdfJoint)


def read_urdf(path: str | os.PathLike[str], *, check_inertia: bool = True) -> Description:
    """Read links and joints of a URDF file, with all checks that do not need dynamics.

    Each error names the file, the line and the element. Suspicious but harmless parts (a missing mesh, an axis that is
    not of unit length, a misspelt attribute) are reported by one UrdfWarning per file.

    Args:
        path: path of the file.
        check_inertia: False to only warn of a physically impossible inertia.

    Raises:
        UrdfError: for a file that does not exist or cannot be read safely as XML; a missing attribute; a malformed or
            infinite number; an unknown type of joint; an unknown, repeated or missing name; two parents, a loop,
            several roots, no links; an axis without direction; a negative mass; an impossible inertia; limits in the
            wrong order; joints that follow each other in a circle.
        MissingPackageError: if lxml is not installed.
    """
    description = read_description(path, check_inertia=check_inertia)
    warn_about(description)
    return description


def read_description(path: str | os.PathLike[str], *, check_inertia: bool) -> Description:
    """Read a URDF file like :func:`read_urdf`, without the warning."""
    root = read_document(path)
    file = root.file
    name = text(root, "name")
    remarks = misspelling_remarks(root, ("link", "joint"), ("name",))
    links = _by_name(file, "link", [read_link(e, check_inertia, remarks) for e in root.all("link")])
    joints = _by_name(file, "joint", [read_joint(e, remarks) for e in root.all("joint")])
    base = find_root(file, links, joints)
    order_followers(file, joints)
    missing = missing_meshes(file, (mesh for link in links.values() for mesh in link.meshes))
    if missing is not None:
        remarks.append(missing)
    return Description(name, file, MappingProxyType(links), MappingProxyType(joints), base, tuple(remarks))


def warn_about(description: Description) -> None:
    """Issue one UrdfWarning with the remarks on a file, if there are any."""
    remarks = description.remarks
    if remarks:
        more = f"\n… and {len(remarks) - _SHOWN} more" if len(remarks) > _SHOWN else ""
        warnings.warn("\n".join(remarks[:_SHOWN]) + more, UrdfWarning, stacklevel=caller_stacklevel())


def _by_name(file: str, kind: str, things: list[_Named]) -> dict[str, _Named]:
    found: dict[str, _Named] = {}
    for thing in things:
        first = found.setdefault(thing.name, thing)
        if first is not thing:
            raise UrdfError(
                f"{file}, line {thing.line}, <{kind} name={quote(thing.name)}>: the name is already used by the {kind} "
                f"at line {first.line}"
            )
    return found
