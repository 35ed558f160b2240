"""Mesh files are looked for, not read; that some are missing is a warning."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from erugin.robots import load_urdf
from erugin.robots.urdf import UrdfWarning

from .urdf import ARM, real_robots, write


def with_meshes(*names: str) -> str:
    shapes = "".join(f'<visual><geometry><mesh filename="{name}"/></geometry></visual>' for name in names)
    return ARM.replace('<link name="tool"/>', f'<link name="tool">\n{shapes}</link>')


@pytest.mark.parametrize(
    "name",
    [
        "there.stl",
        "meshes/../there.stl",
        "package://pack/robots/there.stl",
        "model://pack/robots/there.stl",
        "package://robots/there.stl",
        "package://beside/there.stl",
        "package://ros/there.stl",
        "package://single/there.stl",
        "package://ament/there.stl",
        "https://example.org/not/asked/for.stl",
    ],
)
def test_a_mesh_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "pack" / "robots"
    for place in (
        folder,
        folder / "meshes",
        tmp_path / "beside",
        tmp_path / "a" / "ros",
        tmp_path / "c" / "single",
        tmp_path / "b" / "share" / "ament",
    ):
        place.mkdir(parents=True, exist_ok=True)
        (place / "there.stl").touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join((str(tmp_path / "a"), str(tmp_path / "c" / "single"))))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "b"))
    load_urdf(write(folder, with_meshes(name)))
    load_urdf(write(folder, with_meshes((tmp_path / "beside" / "there.stl").as_uri())))


@pytest.mark.parametrize(
    "name",
    ["none.stl", "package://nowhere/there.stl", "package://", "/none/there.stl", "file:///none.stl", "..", "a" * 5000],
)
def test_a_mesh_that_is_not_there(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.stl").touch()
    path = write(tmp_path, with_meshes("there.stl", name, name))
    with pytest.warns(UrdfWarning, match="1 of 2 mesh files cannot be found, the first is ") as caught:
        robot = load_urdf(path)
    assert len(caught) == 1
    assert "robot.urdf, line 18, <link name='tool'>, <mesh>: " in str(caught[0].message)
    assert "the equations of motion do not need them" in str(caught[0].message)
    assert robot.coordinates.nv == 2


def test_the_meshes_of_real_robots_are_found() -> None:
    for name in ("ur5_robot", "solo12", "go2", "talos_reduced"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            load_urdf(real_robots()[name])
