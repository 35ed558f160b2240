"""Files that are not URDF, and files that try to read others or exhaust memory."""

from __future__ import annotations

import importlib
import os
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from erugin.robots import load_urdf
from erugin.robots.urdf import UrdfError, document, read_urdf
from erugin.symbolic import EruginError, MissingPackageError

from ...support.urdf import ARM, body, joint, write


def error_of(path: Any) -> str:  # noqa: ANN401 - bad on purpose
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    return str(caught.value)


def test_nothing_there(tmp_path: Path) -> None:
    path = tmp_path / "none.urdf"
    assert error_of(path) == f"{path}: there is no such file"


def test_a_folder(tmp_path: Path) -> None:
    assert error_of(tmp_path).startswith(f"{tmp_path}: this is a directory")


@pytest.mark.parametrize("content", [b"", b" \n\t\n", b"\xef\xbb\xbf"])
def test_an_empty_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "empty.urdf"
    path.write_bytes(content)
    message = error_of(path)
    assert message.startswith(str(path))
    assert "the file is empty" in message or "not well-formed XML" in message


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    path = tmp_path / "pipe.urdf"
    os.mkfifo(path)
    assert "not a regular file" in error_of(path)


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, ARM)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refuse)
    assert "the file cannot be read: Permission denied" in error_of(path)


@pytest.mark.parametrize("path", [None, 3, b"robot.urdf", ["robot.urdf"]])
def test_what_is_no_path(path: Any) -> None:  # noqa: ANN401 - bad on purpose
    assert error_of(path).startswith("the path of a URDF file must be a string or a Path, got")


def test_text_in_place_of_a_path() -> None:
    assert "requires the path of a file, got XML text" in error_of(ARM)


def test_a_path_that_no_system_has() -> None:
    assert "cannot be read" in error_of("robot\0.urdf")
    assert "cannot be read" in error_of("a" * 5000)


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.85, 0.99])
def test_a_truncated_file(tmp_path: Path, share: float) -> None:
    path = write(tmp_path, ARM[: int(share * len(ARM))])
    message = error_of(path)
    assert message.startswith(f"{path}, line ")
    assert "this is not well-formed XML, or the file is cut off" in message


@pytest.mark.parametrize(
    ("content", "expected_message"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "line 3: the file is binary or not in UTF-8"),
        (ARM.encode("utf-16"), "line 1: the file is binary or not in UTF-8"),
        (ARM.replace("tool", "outil\xe9").encode("latin-1"), "line 17: byte 0xe9 is not utf-8 text"),
        (b"just words", "line 1: this is not well-formed XML"),
        (b'{"robot": 1}', "line 1: this is not well-formed XML"),
        (ARM.replace('version="1.0"', 'version="1.0" encoding="utf-7"').encode(), "the encoding 'utf-7' is not known"),
        (ARM.replace("</robot>", "</robot><robot/>").encode(), "this is not well-formed XML"),
        (ARM.replace("<link name", '<link name="x" name', 1).encode(), "line 3: this is not well-formed XML"),
        (b"<robot name='r'><link name='a'/>&who;</robot>", "line 1: this is not well-formed XML"),
    ],
)
def test_what_is_no_xml(tmp_path: Path, content: bytes, expected_message: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_bytes(content)
    message = error_of(path)
    assert message.startswith(str(path))
    assert expected_message in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<sdf version='1.9'/>", "the root of a URDF file is <robot>, not 'sdf'. SDF is another format"),
        ("<mujoco/>", "not 'mujoco'. MJCF is another format"),
        ("\n<html/>", "line 2, <html>: the root of a URDF file is <robot>"),
        ("<a:robot xmlns:a='urn:a' name='r'/>", "the root of a URDF file is <robot>, not '{urn:a}robot'"),
    ],
)
def test_other_formats(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    assert message in error_of(path)


@pytest.mark.parametrize(
    "element",
    [
        "<xacro:macro xmlns:xacro='http://www.ros.org/wiki/xacro' name='m'/>",
        "<xacro:if xmlns:xacro='urn:any'/>",
        "<x:property xmlns:x='http://wiki.ros.org/xacro' name='m'/>",
    ],
)
def test_a_xacro_file(tmp_path: Path, element: str) -> None:
    message = error_of(write(tmp_path, '<link name="a"/>', element))
    assert "line 3, <xacro:" in message
    assert "xacro robot.urdf.xacro > robot.urdf" in message


def test_without_lxml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, ARM)
    monkeypatch.setitem(sys.modules, "lxml.etree", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'erugin\[urdf\]'") as caught:
        load_urdf(path)
    assert isinstance(caught.value, EruginError)
    assert isinstance(caught.value, ImportError)


def test_lxml_is_imported_when_a_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = importlib.import_module

    def watched(name: str, package: str | None = None) -> object:
        asked.append(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", watched)
    read_urdf(write(tmp_path, ARM))
    assert "lxml.etree" in asked


LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))
SECRET = "0.12345"

DOCTYPES = {
    "entity bomb": (f'<!DOCTYPE robot [<!ENTITY l0 "lol">{LAUGHS}]>', "&l9;"),
    "quadratic expansion": (f'<!DOCTYPE robot [<!ENTITY a "{"9" * 100_000}">]>', "&a;" * 10_000),
    "external entity": ('<!DOCTYPE robot [<!ENTITY x SYSTEM "file://SECRET">]>', "&x;"),
    "entity of the network": ('<!DOCTYPE robot [<!ENTITY x SYSTEM "http://127.0.0.1:9/x">]>', "&x;"),
    "parameter entity": ('<!DOCTYPE robot [<!ENTITY % x SYSTEM "file://SECRET"> %x;]>', ""),
    "external document type": ('<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/robot.dtd">', ""),
    "public document type": ('<!DOCTYPE robot PUBLIC "-//x" "file://SECRET.dtd">', ""),
    "harmless document type": ("<!DOCTYPE robot>", ""),
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """Fail on any connection."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("kind", DOCTYPES)
def test_document_types_are_refused(tmp_path: Path, kind: str) -> None:
    doctype, use = DOCTYPES[kind]
    secret = tmp_path / "secret"
    secret.write_text(SECRET, encoding="utf-8")
    text = ARM.replace("<robot", doctype.replace("SECRET", str(secret)) + "\n<robot", 1).replace("2.5", use or "2.5")
    with pytest.raises(UrdfError, match=r"line 2: a document type .* URDF does not need") as caught:
        read_urdf(write(tmp_path, text))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("kind", DOCTYPES)
def test_a_document_type_that_was_not_seen_is_refused_by_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    doctype, use = DOCTYPES[kind]
    text = ARM.replace("<robot", f"{doctype}\n<robot", 1).replace("2.5", use or "2.5")
    monkeypatch.setattr(document, "_PROLOG", re.compile("$^"))
    with pytest.raises(UrdfError, match=r"a document type .* is not accepted|not well-formed"):
        read_urdf(write(tmp_path, text))


@pytest.mark.parametrize("kind", DOCTYPES)
def test_the_options_of_the_parser_alone_are_safe(tmp_path: Path, kind: str) -> None:
    """Without any check of ours nothing is opened and nothing grows."""
    doctype, use = DOCTYPES[kind]
    secret = tmp_path / "secret"
    secret.write_text(SECRET, encoding="utf-8")
    secret.with_suffix(".dtd").write_text(f'<!ENTITY s "{SECRET}">', encoding="utf-8")
    text = f"{doctype.replace('SECRET', str(secret))}<robot a='{use if 'external' not in kind else ''}'>{use}</robot>"
    etree: Any = importlib.import_module("lxml.etree")
    try:
        root: Any = etree.fromstring(text.encode(), etree.XMLParser(**document.PARSER_OPTIONS))
    except etree.XMLSyntaxError:
        return
    assert len("".join(root.itertext())) + len(root.get("a")) < 20_000_000
    assert SECRET not in "".join(root.itertext())
    assert root.getroottree().docinfo.externalDTD is None


@pytest.mark.parametrize("count", [1, 20_000])
def test_a_document_type_hides_behind_nothing(tmp_path: Path, count: int) -> None:
    text = "<?xml version='1.0'?>" + "<!-- x -->\n<?p d?>" * count + "<!DOCTYPE robot><robot name='r'/>"
    with pytest.raises(UrdfError, match=f"line {count + 1}: a document type"):
        read_urdf(write(tmp_path, text))


def test_too_large_a_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with path.open("wb") as stream:
        stream.write(b"<robot name='r'>")
        stream.truncate(1 << 40)  # A hole: no place is taken on the disk.
    with pytest.raises(UrdfError, match="larger than 16 MiB"):
        read_urdf(path)


@pytest.mark.slow
def test_too_many_elements(tmp_path: Path) -> None:
    with pytest.raises(UrdfError, match="line 1: the file has more than 100000 elements"):
        read_urdf(write(tmp_path, f"<robot name='r'>{'<a/>' * 2_000_000}</robot>"))


@pytest.mark.parametrize("depth", [100, 300, 100_000])
def test_too_deep(tmp_path: Path, depth: int) -> None:
    with pytest.raises(UrdfError, match="nested more than 64 deep"):
        read_urdf(write(tmp_path, f"<robot name='r'>{'<a>' * depth}{'</a>' * depth}</robot>"))


@pytest.mark.parametrize(
    "text",
    [
        "<robot " + " ".join(f"a{i}='1'" for i in range(200_000)) + "/>",
        f"<robot name='{'n' * 12_000_000}'/>",
        f"<{'robot' * 1_000_000}/>",
        "<robot" + " " * 8_000_000,
        "<!--" * 2_000_000,
        "<?" * 4_000_000,
        "&#x" * 4_000_000,
        "\n" * 8_000_000 + "<",
    ],
    ids=["attributes", "name", "tag", "spaces", "comments", "instructions", "references", "lines"],
)
def test_long_nonsense_ends_soon(tmp_path: Path, text: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UrdfError) as caught:
        read_urdf(path)
    assert len(str(caught.value)) < 2000


def test_messages_show_little_of_what_is_long(tmp_path: Path) -> None:
    long = "x" * 100_000
    for text in (
        ARM.replace('"revolute"', f'"{long}"'),
        ARM.replace('value="2.5"', f'value="{long}"'),
        ARM.replace('link="base"', f'link="{long}"'),
        ARM.replace('name="shoulder"', f'name="{long}"').replace('"0 1 0"', '"0 0 0"'),
    ):
        with pytest.raises(UrdfError) as caught:
            read_urdf(write(tmp_path, text))
        assert len(str(caught.value)) < 1000


@pytest.mark.slow
def test_a_loop_of_many_links(tmp_path: Path) -> None:
    n = 10_000
    links = [f'<link name="l{i}"/>' for i in range(n)]
    joints = [joint(f"j{i}", "fixed", f"l{i}", f"l{(i + 1) % n}") for i in range(n)]
    with pytest.raises(UrdfError, match="form a loop") as caught:
        read_urdf(write(tmp_path, *links, *joints))
    assert len(str(caught.value)) < 2000


def test_a_long_row_of_joints_that_follow(tmp_path: Path) -> None:
    n = 5_000
    links = [f'<link name="l{i}"/>' for i in range(n + 1)]
    joints = [joint(f"j{i}", "continuous", f"l{i}", f"l{i + 1}", f'<mimic joint="j{(i + 1) % n}"/>') for i in range(n)]
    with pytest.raises(UrdfError, match="follow each other in a circle"):
        read_urdf(write(tmp_path, *links, *joints))


def test_a_robot_with_too_many_joints_is_not_built(tmp_path: Path) -> None:
    parts = [body("l0")]
    for i in range(1001):
        parts += [body(f"l{i + 1}"), joint(f"j{i}", "continuous", f"l{i}", f"l{i + 1}")]
    with pytest.raises(UrdfError, match="the robot has 1001 velocities, more than 1000"):
        load_urdf(write(tmp_path, *parts))
