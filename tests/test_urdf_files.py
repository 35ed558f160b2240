"""Files that are no URDF files, or none that can be read."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from erugin.robots import load_urdf
from erugin.robots.urdf import UrdfError, read_urdf
from erugin.symbolic import EruginError, MissingPackageError

from .urdf import ARM, write


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
    assert "reads a file, but was given XML text" in error_of(ARM)


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
    ("content", "said"),
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
def test_what_is_no_xml(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_bytes(content)
    message = error_of(path)
    assert message.startswith(str(path))
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<sdf version='1.9'/>", "the root of a URDF file is <robot>, not 'sdf'. SDF is another format"),
        ("<mujoco/>", "not 'mujoco'. MJCF is another format"),
        ("\n<html/>", "line 2, <html>: the root of a URDF file is <robot>"),
        ("<a:robot xmlns:a='urn:a' name='r'/>", "the root of a URDF file is <robot>, not '{urn:a}robot'"),
    ],
)
def test_other_formats(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    assert said in error_of(path)


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
