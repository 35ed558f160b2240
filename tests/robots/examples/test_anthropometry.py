"""Body segments of [DeLeva1996]_: numbers, growth, and combination."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from erugin.robots.examples.anthropometry import STATURE, TABLE, WHOLE, Segment, Sex, segment
from erugin.symbolic import ModelError

BY_SEX = pytest.mark.parametrize("sex", ["female", "male"])
MEAN_MASS: dict[Sex, float] = {"female": 61.9, "male": 73.0}
ENDS = {
    "head": ("VERT", "CERV"),
    "trunk": ("CERV", "MIDH"),
    "upper arm": ("SJC", "EJC"),
    "forearm": ("EJC", "WJC"),
    "hand": ("WJC", "MET3"),
    "thigh": ("HJC", "KJC"),
    "shank": ("KJC", "AJC"),
    "foot": ("HEEL", "TTIP"),
}

# As the manual of Visual3D lists them: mass, centre of mass, radii of gyration. For the woman's hand it has 0.631 about
# the sagittal axis, which fits none of the table's other three rows for that hand; 0.531 does.
LISTED: dict[Sex, dict[str, tuple[float, ...]]] = {
    "female": {
        "head": (0.0668, 0.4841, 0.271, 0.295, 0.261),
        "trunk": (0.4257, 0.4964, 0.307, 0.292, 0.147),
        "upper arm": (0.0255, 0.5754, 0.278, 0.260, 0.148),
        "forearm": (0.0138, 0.4559, 0.261, 0.257, 0.094),
        "hand": (0.0056, 0.7474, 0.531, 0.454, 0.335),
        "thigh": (0.1478, 0.3612, 0.369, 0.364, 0.162),
        "shank": (0.0481, 0.4352, 0.267, 0.263, 0.092),
        "foot": (0.0129, 0.4014, 0.299, 0.279, 0.139),
    },
    "male": {
        "head": (0.0694, 0.5002, 0.303, 0.315, 0.261),
        "trunk": (0.4346, 0.5138, 0.328, 0.306, 0.169),
        "upper arm": (0.0271, 0.5772, 0.285, 0.269, 0.158),
        "forearm": (0.0162, 0.4574, 0.276, 0.265, 0.121),
        "hand": (0.0061, 0.7900, 0.628, 0.513, 0.401),
        "thigh": (0.1416, 0.4095, 0.329, 0.329, 0.149),
        "shank": (0.0433, 0.4395, 0.251, 0.246, 0.102),
        "foot": (0.0137, 0.4415, 0.257, 0.245, 0.124),
    },
}

# Means of the bodies that were measured, in Zatsiorsky's Kinetics of Human Motion (2002): mass [kg] and moments of
# inertia about the sagittal, transverse and longitudinal axis [kg cm²]. A woman's foot of 0.88 kg would be 1.42 % of
# the body, not the 1.29 % of the same table: that mass is left out, and its moments are taken per mass.
MEASURED: dict[Sex, dict[str, tuple[float | None, float, float, float]]] = {
    "female": {
        "foot": (None, 41.1 / 0.88, 35.6 / 0.88, 8.9 / 0.88),
        "shank": (3.0, 409.9, 399.7, 48.6),
        "thigh": (9.16, 1690.1, 1647.3, 324.2),
        "hand": (0.35, 6.0, 4.4, 2.4),
        "forearm": (0.86, 40.9, 39.7, 5.3),
        "upper arm": (1.58, 92.3, 80.7, 26.2),
        "head": (4.2, 183.6, 216.5, 172.7),
        "upper trunk": (9.58, 1082.8, 490.3, 1005.0),
        "middle trunk": (9.08, 717.3, 480.2, 658.7),
        "lower trunk": (7.73, 477.3, 411.0, 503.0),
    },
    "male": {
        "foot": (0.997, 44.0, 40.0, 10.3),
        "shank": (3.16, 385.0, 371.0, 64.6),
        "thigh": (10.36, 1997.8, 1999.4, 413.4),
        "hand": (0.447, 13.2, 8.76, 5.37),
        "forearm": (1.177, 64.7, 60.2, 12.6),
        "upper arm": (1.98, 127.3, 114.4, 38.95),
        "head": (5.018, 272.1, 293.9, 202.4),
        "upper trunk": (11.654, 1725.6, 705.2, 1454.5),
        "middle trunk": (11.953, 1280.8, 819.1, 1203.1),
        "lower trunk": (8.164, 656.8, 525.0, 592.4),
    },
}

# Lengths as shares of the mean body's height.
SHARES: dict[Sex, dict[tuple[str, str, str], float]] = {
    "female": {
        ("upper arm", "SJC", "EJC"): 0.1586,
        ("forearm", "EJC", "WJC"): 0.1523,
        ("thigh", "HJC", "KJC"): 0.2124,
        ("shank", "KJC", "LMAL"): 0.2492,
        ("trunk", "MIDS", "MIDH"): 0.2870,
        ("foot", "HEEL", "TTIP"): 0.1316,
    },
    "male": {
        ("upper arm", "SJC", "EJC"): 0.1618,
        ("forearm", "EJC", "WJC"): 0.1545,
        ("thigh", "HJC", "KJC"): 0.2425,
        ("shank", "KJC", "LMAL"): 0.2493,
        ("trunk", "MIDS", "MIDH"): 0.2961,
        ("foot", "HEEL", "TTIP"): 0.1482,
    },
}


@BY_SEX
def test_the_table_is_the_listed_one(sex: Sex) -> None:
    assert set(ENDS) == set(WHOLE)
    for name, numbers in LISTED[sex].items():
        assert TABLE[sex][(name, *ENDS[name])][1:] == pytest.approx([100.0 * x for x in numbers], abs=1e-9)
    for key, share in SHARES[sex].items():
        assert TABLE[sex][key][0] / 1000.0 / STATURE[sex] == pytest.approx(share, abs=5.1e-5)


@BY_SEX
def test_shares_of_mass_add_up_to_the_body(sex: Sex) -> None:
    """100 % in the men's column, 99.99 % in the women's; a body is the sum of its segments all the same."""
    printed = {name: row[1] for (name, _, _), row in TABLE[sex].items()}
    total = sum(count * printed[name] for name, count in WHOLE.items())
    assert total == pytest.approx({"female": 99.99, "male": 100.0}[sex], abs=1e-9)
    parts = [count * segment(name, body_mass=70.0, height=1.7, sex=sex).mass for name, count in WHOLE.items()]
    assert sum(parts) == pytest.approx(70.0, rel=1e-14)


@BY_SEX
def test_rows_of_one_segment_agree(sex: Sex) -> None:
    """Between whatever points a segment is described, its centre of mass and its inertia are the same, to rounding."""
    compared = 0
    for (one, first), (two, second) in itertools.combinations(TABLE[sex].items(), 2):
        if one[0] != two[0]:
            continue
        lengths = np.array([first[0], second[0]])
        shares = np.array([first[2:], second[2:]]) / 100.0
        # Half a unit of the last printed digit: of lengths 0.05 mm, of centres 0.005 %, of radii 0.05 % of the length.
        slack = 0.05 * shares.sum(axis=0) + np.array([5e-5, 5e-4, 5e-4, 5e-4]) * lengths.sum()
        assert first[1] == second[1]
        assert (np.abs(lengths @ (shares * [[1.0], [-1.0]]))[1:] <= slack[1:]).all()
        if one[1] == two[1]:
            assert abs(lengths @ (shares[:, 0] * [1.0, -1.0])) <= slack[0]
        if one[2] == two[2]:
            beyond = 1.0 - shares[:, 0]
            assert abs(lengths @ (beyond * [1.0, -1.0])) <= 0.05 * beyond.sum() + 5e-5 * lengths.sum()
        compared += 1
    # Two rows make one pair, three rows three, four rows six.
    assert compared == 15


@BY_SEX
def test_the_trunk_is_the_sum_of_its_parts(sex: Sex) -> None:
    rows = TABLE[sex]
    upper, middle, lower = (
        rows["upper trunk", "SUPR", "XYPH"],
        rows["middle trunk", "XYPH", "OMPH"],
        rows["lower trunk", "OMPH", "MIDH"],
    )
    whole = rows["trunk", "SUPR", "MIDH"]
    assert upper[0] + middle[0] + lower[0] == pytest.approx(whole[0], abs=1e-9)
    assert upper[1] + middle[1] + lower[1] == pytest.approx(whole[1], abs=1e-9)
    # From the seventh cervical spine it is as much longer as its upper part is.
    longer = rows["trunk", "CERV", "MIDH"][0] - whole[0]
    assert rows["upper trunk", "CERV", "XYPH"][0] - upper[0] == pytest.approx(longer, abs=0.11)


@BY_SEX
def test_the_mean_body_has_the_measured_masses_and_inertias(sex: Sex) -> None:
    """Within 2.5 %, for the rounding of both: which column is which axis is not left to a name."""
    for name, (mass, *moments) in MEASURED[sex].items():
        part = segment(name, body_mass=MEAN_MASS[sex], height=STATURE[sex], sex=sex)
        weight = part.mass if mass is None else mass
        assert part.mass == pytest.approx(weight, rel=0.02)
        per_mass = 1.0 if mass is None else mass
        for actual, measured in zip(part.inertias, moments, strict=True):
            assert actual / part.mass == pytest.approx(measured / per_mass * 1e-4, rel=0.025)
        assert part.inertia == part.inertias[1]


def test_a_thigh_by_hand() -> None:
    """The thigh of a man of 80 kg and 1.8 m, from the row 422.2 mm, 14.16 %, 40.95 %, 32.9, 32.9, 14.9."""
    part = segment("thigh", body_mass=80.0, height=1.8, sex="male")
    length = 0.4222 * 1.8 / 1.741
    assert part.mass == pytest.approx(80.0 * 0.1416, rel=1e-14)
    assert part.length == pytest.approx(length, rel=1e-14)
    assert part.center == pytest.approx(0.4095 * length, rel=1e-14)
    assert part.center_ratio == pytest.approx(0.4095, rel=1e-14)
    across = 11.328 * (0.329 * length) ** 2
    assert part.inertias == pytest.approx((across, across, 11.328 * (0.149 * length) ** 2), rel=1e-14)


def test_masses_and_inertias_grow_with_the_body() -> None:
    one = segment("shank", body_mass=50.0, height=1.6, sex="female")
    two = segment("shank", body_mass=100.0, height=2.0, sex="female")
    assert (two.mass, two.length, two.center) == pytest.approx((2 * one.mass, 1.25 * one.length, 1.25 * one.center))
    assert two.inertias == pytest.approx([2.0 * 1.25**2 * moment for moment in one.inertias])


def test_other_ends() -> None:
    """The trunk is longer from the seventh cervical spine, of the same mass and, to rounding, the same inertia."""
    short = segment("trunk", body_mass=70.0, height=1.75, sex="male")
    long = segment("trunk", body_mass=70.0, height=1.75, sex="male", ends=("CERV", "MIDH"))
    assert (short.mass, short.length) == pytest.approx((long.mass, long.length * 515.5 / 603.3))
    assert short.turned().center == pytest.approx(long.turned().center, rel=2e-4)
    assert short.inertia == pytest.approx(long.inertia, rel=5e-3)


def test_turned_and_extended() -> None:
    part = Segment(2.0, 0.5, 0.2, (0.1, 0.2, 0.3))
    assert part.turned() == Segment(2.0, 0.5, 0.3, (0.1, 0.2, 0.3))
    assert part.turned().turned() == part
    assert part.extended(0.25) == Segment(2.0, 0.75, 0.45, (0.1, 0.2, 0.3))
    assert part.extended(-0.125).center == pytest.approx(0.075)


def test_joined_has_the_inertia_of_both_about_any_point() -> None:
    """About the origin the inertias add: I + m c², for the joined part as for the two."""
    forearm = segment("forearm", body_mass=73.0, height=1.741, sex="male")
    hand = segment("hand", body_mass=73.0, height=1.741, sex="male")
    both = forearm.joined(hand)
    assert both.mass == pytest.approx(73.0 * 0.0223, rel=1e-13)
    assert both.length == pytest.approx(0.2689 + 0.1879, rel=1e-13)
    centers = (forearm.center, forearm.length + hand.center)
    assert both.mass * both.center == pytest.approx(forearm.mass * centers[0] + hand.mass * centers[1], rel=1e-13)
    for axis in (0, 1):
        parts = zip((forearm, hand), centers, strict=True)
        expected = sum(part.inertias[axis] + part.mass * center**2 for part, center in parts)
        assert both.inertias[axis] + both.mass * both.center**2 == pytest.approx(expected, rel=1e-13)
    assert both.inertias[2] == forearm.inertias[2] + hand.inertias[2]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "tigh"}, r"unknown segment of the body 'tigh'. Did you mean 'thigh'\?"),
        ({"name": 3}, "unknown segment of the body '3'"),
        ({"sex": "m"}, "sex must be 'female' or 'male', the columns of the table, got 'm'"),
        ({"sex": None}, "sex must be 'female' or 'male'"),
        ({"body_mass": 0.0}, r"body_mass \[kg\] must be greater than zero, got 0.0"),
        ({"body_mass": math.nan}, r"body_mass \[kg\] must be finite"),
        ({"height": -1.7}, r"height \[m\] must be greater than zero, got -1.7"),
        ({"height": "tall"}, r"height \[m\] must be a number, got 'tall'"),
        ({"ends": ("KJC", "HJC")}, r"ends of the thigh must be one of HJC-KJC, got \('KJC', 'HJC'\)"),
        ({"ends": ("HJC",)}, "ends of the thigh must be one of HJC-KJC"),
    ],
)
def test_bad_arguments(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"name": "thigh", "body_mass": 70.0, "height": 1.7, "sex": "male"} | change
    with pytest.raises(ModelError, match=message):
        segment(**arguments)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0.0, 0.5, 0.2, (0.1, 0.1, 0.1)), r"mass of a segment \[kg\] must be greater than zero"),
        ((1.0, -0.5, 0.2, (0.1, 0.1, 0.1)), r"length of a segment \[m\] must be greater than zero"),
        ((1.0, 0.5, math.inf, (0.1, 0.1, 0.1)), r"center of a segment \[m\] must be finite"),
        ((1.0, 0.5, 0.2, (0.1, -0.1, 0.1)), r"inertia of a segment \[kg m²\] must not be negative"),
    ],
)
def test_bad_segments(numbers: tuple[float, float, float, tuple[float, float, float]], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Segment(*numbers)


def test_segments_are_values() -> None:
    one, two = (segment("head", body_mass=70.0, height=1.7, sex="female") for _ in range(2))
    assert one == two
    assert np.isclose(one.center_ratio, 0.4841)
