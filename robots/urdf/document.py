"""Safe reading of a URDF file as a tree of XML elements, and the errors of URDF files."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...symbolic.errors import ModelError
from ...symbolic.optional_dependencies import import_optional


class UrdfError(ModelError):
    """A URDF file cannot be read as a robot; the message starts with the file, the line and the element."""


class UrdfWarning(UserWarning):
    """A URDF file was read, but has suspicious parts that are probably mistakes."""


MAX_BYTES = 16 * 2**20
"""Largest accepted file size; files of real robots have at most a few hundred kilobytes."""
MAX_ELEMENTS = 100_000
"""Largest number of elements; files of real robots have a few thousand."""
MAX_ATTRIBUTES = 100
"""Largest number of attributes of an element; the search for misspellings is quadratic in it."""
MAX_DEPTH = 64
"""Greatest depth of nested elements; URDF needs six."""
ENCODINGS = {
    "utf-8": "utf-8-sig",
    "utf8": "utf-8-sig",
    "us-ascii": "ascii",
    "ascii": "ascii",
    "iso-8859-1": "latin-1",
    "latin1": "latin-1",
    "windows-1252": "cp1252",
}
"""Encodings that the XML declaration may name, and Python's names of them."""

PARSER_OPTIONS: Mapping[str, str | bool] = MappingProxyType(
    {
        "encoding": "utf-8",
        "resolve_entities": False,
        "load_dtd": False,
        "dtd_validation": False,
        "attribute_defaults": False,
        "no_network": True,
        "huge_tree": False,
        "recover": False,
        "remove_comments": True,
        "remove_pis": True,
    }
)
"""Arguments of lxml's parsers: no unbounded expansion, no access to other files, no error recovery."""

_CHUNK = 2**16
_SHOWN = 80
_DECLARED = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']""")
_PROLOG = re.compile(r"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*", re.DOTALL)


@dataclass(frozen=True)
class XmlElement:
    """An element of the file.

    Attributes:
        tag: its name, ``{namespace}name`` if it has a prefix; a default namespace is ignored.
        attributes: text of each attribute by name.
        children: child elements, in the order of the file.
        file: path of the file as passed by the caller.
        line: line of its start tag, from 1.
        owner: start tag of the nearest named ancestor; may be empty.
    """

    tag: str
    attributes: Mapping[str, str]
    children: tuple[XmlElement, ...]
    file: str
    line: int
    owner: str

    def all(self, tag: str) -> Iterator[XmlElement]:
        """Return the children with this tag, in the order of the file."""
        return (child for child in self.children if child.tag == tag)

    @property
    def name(self) -> str | None:
        """Value of the attribute ``name``."""
        return self.attributes.get("name")

    @property
    def location(self) -> str:
        """File, line and element, for the start of messages."""
        owner = f"{self.owner}, " if self.owner else ""
        return f"{self.file}, line {self.line}, {owner}{_label(self.tag, self.attributes)}"

    def error(self, message: str) -> UrdfError:
        """Return an error at this element."""
        return UrdfError(f"{self.location}: {message}")


def quote(text: str) -> str:
    """Return ``text`` for a message: quoted, without control characters, and truncated if long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def read_document(path: str | os.PathLike[str]) -> XmlElement:
    """Read the root element of a URDF file.

    The file is not trusted. A document type is rejected, so that there are no internal or external entities; no other
    file or network address is opened; size, depth and number of elements are bounded.

    Args:
        path: path of the file.

    Raises:
        UrdfError: if there is no such file, it is not a regular file, cannot be read, is empty, too large, binary, in
            an unknown encoding, not well-formed XML, too deep, has too many elements or a document type, is a xacro
            file, or its root is not ``<robot>``.
        MissingPackageError: if lxml is not installed.
    """
    file, data = _read(path)
    text = _decode(file, data)
    after_prolog = _PROLOG.match(text)
    if after_prolog is not None and text.startswith("<!DOCTYPE", after_prolog.end()):
        line = text.count("\n", 0, after_prolog.end()) + 1
        raise UrdfError(
            f"{file}, line {line}: a document type (<!DOCTYPE …>) is not accepted, because it can declare entities, "
            "which URDF does not need: remove it"
        )
    root = _parse(file, text.encode("utf-8"))
    if root.tag != "robot":
        hint = {"sdf": " SDF is another format.", "mujoco": " MJCF is another format."}.get(root.tag, "")
        raise root.error(f"the root of a URDF file is <robot>, not {quote(root.tag)}.{hint}")
    return root


def _read(path: str | os.PathLike[str]) -> tuple[str, bytes]:
    try:
        file = os.fspath(path)
    except TypeError:
        raise UrdfError(f"the path of a URDF file must be a string or a Path, got {path!r}") from None
    if not isinstance(file, str):
        raise UrdfError(f"the path of a URDF file must be a string or a Path, got {path!r}")
    if file.lstrip().startswith("<"):
        raise UrdfError(f"load_urdf requires the path of a file, got XML text: {quote(file)}. Write it to a file first")
    try:
        mode = os.stat(file).st_mode
        if stat.S_ISDIR(mode):
            raise UrdfError(f"{file}: this is a directory; give the path of the .urdf file in it")
        if not stat.S_ISREG(mode):
            raise UrdfError(f"{file}: this is not a regular file")
        with open(file, "rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise UrdfError(f"{file}: there is no such file") from error
    except (OSError, ValueError) as error:
        if isinstance(error, UrdfError):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise UrdfError(f"{quote(file)}: the file cannot be read: {reason}") from error
    if len(data) > MAX_BYTES:
        raise UrdfError(
            f"{file}: the file is larger than {MAX_BYTES // 2**20} MiB; files of real robots are far smaller"
        )
    if not data.strip():
        raise UrdfError(f"{file}: the file is empty")
    return file, data


def _decode(file: str, data: bytes) -> str:
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise UrdfError(f"{file}, line {line}: the file is binary or not in UTF-8; a URDF file is XML text in UTF-8")
    declared = _DECLARED.match(data.removeprefix(b"\xef\xbb\xbf"))
    encoding = declared.group(1).decode("ascii").lower() if declared else "utf-8"
    if encoding not in ENCODINGS:
        raise UrdfError(
            f"{file}, line 1: the encoding {quote(encoding)} is not known; known: {', '.join(ENCODINGS)}. "
            "Save the file in UTF-8"
        )
    try:
        return data.decode(ENCODINGS[encoding])
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UrdfError(
            f"{file}, line {line}: byte 0x{data[error.start]:02x} is not {encoding} text; save the file in UTF-8"
        ) from error


def _parse(file: str, data: bytes) -> XmlElement:
    etree: Any = import_optional("lxml.etree", "urdf")  # has no type information
    parser = etree.XMLPullParser(events=("start", "end"), **PARSER_OPTIONS)
    builder = _Builder(file)
    try:
        for start in range(0, len(data), _CHUNK):
            parser.feed(data[start : start + _CHUNK])
            for event, node in parser.read_events():
                if event == "end":
                    builder.end()
                elif builder.is_empty and node.getroottree().docinfo.doctype:
                    raise UrdfError(f"{file}: a document type (<!DOCTYPE …>) is not accepted; remove it")
                elif len(node.attrib) > MAX_ATTRIBUTES:
                    raise UrdfError(
                        f"{file}, line {node.sourceline}: an element has more than {MAX_ATTRIBUTES} attributes"
                    )
                else:
                    attributes = {str(key): str(value) for key, value in node.attrib.items()}
                    builder.start(str(node.tag), node.prefix, attributes, int(node.sourceline))
        parser.close()
    except etree.XMLSyntaxError as error:
        # The error may be raised only at the end of the file; the log has its line.
        line, reason = next(((e.line, e.message) for e in parser.feed_error_log), (error.position[0], error.msg))
        if "depth" in str(reason):
            raise UrdfError(f"{file}, line {line}: elements are nested more than {MAX_DEPTH} deep") from error
        raise UrdfError(
            f"{file}, line {line}: this is not well-formed XML, or the file is cut off: {quote(str(reason))}"
        ) from error
    return builder.root()


class _Builder:
    """Builder of elements from the events of a parser, without recursion."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._count = 0
        self._open: list[tuple[str, Mapping[str, str], int, str]] = []
        self._children: list[list[XmlElement]] = [[]]

    def start(self, tag: str, prefix: str | None, attributes: dict[str, str], line: int) -> None:
        namespace, _, local = tag.rpartition("}")
        if prefix == "xacro" or namespace.endswith("/xacro"):
            raise UrdfError(
                f"{self._file}, line {line}, <xacro:{local}>: this is a xacro file; convert it to URDF with "
                "`xacro robot.urdf.xacro > robot.urdf`"
            )
        self._count += 1
        if self._count > MAX_ELEMENTS:
            raise UrdfError(f"{self._file}, line {line}: the file has more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_DEPTH:
            raise UrdfError(f"{self._file}, line {line}: elements are nested more than {MAX_DEPTH} deep")
        owner = ""
        if self._open:
            # The name of the robot adds nothing to the name of the file.
            outer_tag, outer, _, outer_owner = self._open[-1]
            owner = _label(outer_tag, outer) if "name" in outer and len(self._open) > 1 else outer_owner
        self._open.append((local if prefix is None else tag, MappingProxyType(attributes), line, owner))
        self._children.append([])

    def end(self) -> None:
        tag, attributes, line, owner = self._open.pop()
        children = tuple(self._children.pop())
        self._children[-1].append(XmlElement(tag, attributes, children, self._file, line, owner))

    @property
    def is_empty(self) -> bool:
        return self._count == 0

    def root(self) -> XmlElement:
        return self._children[0][0]


def _label(tag: str, attributes: Mapping[str, str]) -> str:
    name = f" name={quote(attributes['name'])}" if "name" in attributes else ""
    return f"<{tag if len(tag) <= _SHOWN else tag[:_SHOWN]}{name}>"
