"""Looking for the mesh files that a URDF file names; they are never opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from .document import quote
from .elements import Mesh

_REMOTE = ("http://", "https://", "ftp://", "data:")


def missing_meshes(file: str, meshes: Iterable[Mesh]) -> str | None:
    """A remark on the mesh files that do not exist; None if all do.

    A path is relative to the folder of the URDF file. ``package://name/rest`` and ``model://name/rest`` are looked for
    in each folder above the file, in the folders of ROS_PACKAGE_PATH, which may be packages themselves, and in those of
    AMENT_PREFIX_PATH. Addresses on a network are not looked for.

    Args:
        file: path of the URDF file.
        meshes: what its links name.
    """
    first: dict[str, str] = {}
    for mesh in meshes:
        first.setdefault(mesh.filename, mesh.where)
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
