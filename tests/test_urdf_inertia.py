"""Inertias that some body has, and those that none has."""

from __future__ import annotations

import warnings
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from erugin.robots import load_urdf
from erugin.robots.urdf import UrdfError, UrdfWarning, read_urdf
from erugin.robots.urdf.description import Inertial, Pose
from erugin.robots.urdf.elements import impossible_inertia

from .urdf import ARM, line_of, real_robots, write


def inertial_of(mass: float, matrix: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Inertial:
    xx, xy, xz, yy, yz, zz = (float(matrix[i, j]) for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)))
    return Inertial(mass, Pose(), (xx, xy, xz, yy, yz, zz), 1)


@pytest.mark.parametrize("flat", [1, 2, 3, 4, 50])
@pytest.mark.parametrize("digits", [4, 17])
def test_clouds_of_masses_are_bodies(flat: int, digits: int) -> None:
    """One point, a rod, a plate, a solid; exact, and rounded to four digits as files are."""
    rng = np.random.default_rng(flat)
    for size in (1e-5, 1.0, 1e3):
        points = size * rng.normal(size=(flat, 3))
        masses = rng.uniform(0.1, 1.0, flat)
        points -= masses @ points / masses.sum()
        matrix = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points, strict=True))
        rounded = np.vectorize(lambda x: float(f"{x:.{digits}g}"))(matrix)
        assert impossible_inertia(inertial_of(masses.sum(), rounded)) is None


@pytest.mark.parametrize("excess", [0.002, 0.1, 1.0, 5.0])
def test_no_body_breaks_the_triangle_inequality(excess: float) -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    for low, middle in ((1.0, 1.0), (0.2, 1.5), (0.0, 2.0)):
        high = (low + middle) * (1.0 + excess)
        matrix = turn @ np.diag([low, middle, high]) @ turn.T
        said = impossible_inertia(inertial_of(1.0, matrix))
        assert said is not None
        assert "greater than the sum of the other two" in said
        assert impossible_inertia(inertial_of(1.0, turn @ np.diag([low, middle, low + middle]) @ turn.T)) is None


def test_no_body_has_a_negative_moment() -> None:
    assert "negative" in (impossible_inertia(inertial_of(1.0, np.diag([-0.1, 1.0, 1.0]))) or "")
    assert "negative" in (impossible_inertia(inertial_of(1.0, -np.eye(3))) or "")


def test_no_body_has_inertia_without_mass() -> None:
    assert impossible_inertia(inertial_of(0.0, np.zeros((3, 3)))) is None
    assert "no mass" in (impossible_inertia(inertial_of(0.0, 1e-9 * np.eye(3))) or "")


def test_an_exporter_that_writes_rounding_errors_means_zero() -> None:
    assert impossible_inertia(inertial_of(0.5, 1e-20 * np.diag([-1.0, 3.0, 1.0]))) is None


def test_reading_it_all_the_same(tmp_path: Path) -> None:
    text = ARM.replace('ixx="0.03"', 'ixx="0.003"')
    path = write(tmp_path, text)
    with pytest.raises(UrdfError, match=r"read it as it is with check_inertia=False"):
        load_urdf(path)
    with pytest.warns(UrdfWarning, match="greater than the sum of the other two") as caught:
        robot = load_urdf(path, check_inertia=False)
    assert [warning.filename for warning in caught] == [__file__]
    assert f"line {line_of(text, '<inertia ixx')}, <link name='upper'>, <inertia>" in str(caught[0].message)
    assert robot.nominal["upper.ixx"] == 0.003


def has_impossible_link(path: Path) -> bool:
    """The same question asked of the file by another parser: is the pseudo-inertia of a link not semidefinite?"""
    for element in ElementTree.parse(path).iter("inertial"):
        mass, moments = element.find("mass"), element.find("inertia")
        assert mass is not None
        assert moments is not None
        m = float(mass.attrib["value"])
        xx, xy, xz, yy, yz, zz = (float(moments.attrib[key]) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        second_moments = np.trace(matrix) / 2.0 * np.eye(3) - matrix
        if (m == 0.0 and matrix.any()) or np.linalg.eigvalsh(second_moments)[0] < -6e-4 * abs(matrix).max() - 1e-12 * m:
            return True
    return False


def test_which_real_robots_have_one() -> None:
    """Placeholders, cameras, and true links: about a quarter of the files have an inertia that no body has."""
    refused: set[str] = set()
    for name, path in real_robots().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read_urdf(path)
            except UrdfError as error:
                if "check_inertia=False" in str(error):
                    refused.add(name)
    assert refused == {name for name, path in real_robots().items() if has_impossible_link(path)}
    assert 5 < len(refused) < len(real_robots()) / 2
