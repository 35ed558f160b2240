"""Scenarios read their settings from a function, and can be sent to another process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import casadi as ca
import pytest

from erugin.robots import Robot, lagrangian_system
from erugin.scenarios import Scenario, Setup, scenario
from erugin.scenarios.catalogue import SCENARIOS
from erugin.scenarios.scenario import Setting, find, number
from erugin.symbolic import ModelError, ParameterError

FILE = '''
from __future__ import annotations

from typing import Literal

import cloudpickle

from erugin.robots import Link, planar_manipulator
from erugin.scenarios import Setup, scenario


@scenario("swing")
def swing(*, duration: float = 0.1, way: Literal["up", "down"] = "up") -> Setup:
    """A swing.

    Args:
        duration: of the motion [s].
        way: where it starts.
    """
    arm = planar_manipulator([Link(0.5, 1.0, 0.25, 0.01)])
    return Setup(arm, None, [1.5 if way == "up" else -1.5], [0.0], duration, 1e-3)


if __name__ == "__main__":
    print(cloudpickle.dumps(swing).hex())
'''


@pytest.mark.foreign
@pytest.mark.parametrize("annotations", ["from __future__ import annotations", ""])
def test_settings_are_sent_with_the_function(tmp_path: Path, annotations: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(FILE.replace("from __future__ import annotations", annotations), encoding="utf-8")
    output = subprocess.run(
        [sys.executable, "-P", str(file)], capture_output=True, text=True, timeout=120.0, check=True
    )
    found = pickle.loads(bytes.fromhex(output.stdout))
    assert found.name == "swing"
    assert found.settings["way"].choices == ("up", "down")
    assert found.settings["duration"].meaning == "of the motion [s]."
    assert found.prepare({"way": "down", "duration": "0.2"}).q0 == [-1.5]
    assert found(duration=0.2).duration == 0.2
    assert found.summary == "A swing."


def pendulum() -> Robot:
    q, v, g = ca.SX.sym("q"), ca.SX.sym("v"), ca.SX.sym("g")
    return lagrangian_system(q=q, v=v, p=g, nominal={"g": 9.81}, T=v**2 / 2, V=-g * ca.cos(q))


@scenario("swing")
def swing(
    *, angle: float = 0.1, turns: int = 2, free: bool = True, way: Literal["left", "right"] = "left", label: str = "a"
) -> Setup:
    """A pendulum swings.

    Expect it to swing.

    Args:
        angle: at the start [rad], and a text that
            continues.
        turns: how often.
        free: whether it is.
        way: to which side.
        label: any word.

    Returns:
        Never printed.
    """
    sign = 1.0 if way == "right" else -1.0
    return Setup(pendulum(), None, [sign * angle], [float(turns)], 1.0 if free else 2.0, 0.1)


def test_settings_are_read_from_the_arguments() -> None:
    assert dict(swing.settings) == {
        "angle": Setting(0.1, "at the start [rad], and a text that continues."),
        "turns": Setting(2, "how often."),
        "free": Setting(True, "whether it is."),
        "way": Setting("left", "to which side.", ("left", "right")),
        "label": Setting("a", "any word."),
    }
    assert swing.summary == "A pendulum swings."
    assert swing.description == "A pendulum swings.\n\nExpect it to swing."
    assert [setting.text for setting in swing.settings.values()] == ["0.1", "2", "yes", "left", "a"]


def test_texts_and_values_give_the_same() -> None:
    one = swing.prepare({"angle": "0.3", "turns": "3", "free": "no", "way": "right", "label": "b", "g": "1.62"})
    two = swing(angle=0.3, turns=3, free=False, way="right", label="b", parameters={"g": 1.62})
    for setup in (one, two):
        assert (setup.q0, setup.v0, setup.duration, setup.nominal) == ([0.3], [3.0], 2.0, {"g": 1.62})
    assert swing(angle=1).q0 == [-1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"angle": "wide"}, "angle must be a number, got 'wide'"),
        ({"angle": True}, "angle must be a number, got True"),
        ({"turns": 2.5}, r"turns must be a whole number, got 2\.5"),
        ({"turns": False}, "turns must be a number, got False"),
        ({"free": 1}, "free must be True or False, got 1"),
        ({"way": "up"}, "way must be one of left, right, got 'up'"),
        ({"way": 1}, "way must be a word, got 1"),
        ({"agle": 1.0}, "unknown setting of swing 'agle'. Did you mean 'angle'"),
        ({"parameters": {"G": 1.0}}, "unknown parameter 'G'"),
    ],
)
def test_values_that_do_not_fit(given: Mapping[str, object], message: str) -> None:
    call: Any = swing
    with pytest.raises(ParameterError, match=message):
        call(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"turns": "2.0"}, r"turns must be a whole number, got '2\.0'"),
        ({"free": "true"}, "free must be yes or no, got 'true'"),
        ({"way": "up"}, "way must be one of left, right, got 'up'"),
        ({"g": "much"}, "g must be a number, got 'much'"),
        ({"G": "1"}, "unknown setting or parameter of swing 'G'"),
    ],
)
def test_texts_that_do_not_fit(given: Mapping[str, str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        swing.prepare(given)
    with pytest.raises(ParameterError, match="x must be a number, got 'one'"):
        number("x", "one")


def no_default(*, angle: float) -> Setup:
    """One.

    Args:
        angle: some.
    """
    return swing(angle=angle)


def of_no_type(*, angle: object = None) -> Setup:
    """One.

    Args:
        angle: some.
    """
    return swing()


def not_described(*, angle: float = 1.0) -> Setup:
    """One."""
    return swing(angle=angle)


def by_place(angle: float = 1.0, /) -> Setup:
    """One.

    Args:
        angle: some.
    """
    return swing(angle=angle)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_default, "argument 'angle' of scenario 'x' must have a default"),
        (of_no_type, "argument 'angle' of scenario 'x' must have a default"),
        (not_described, "argument 'angle' of scenario 'x' is not described"),
        (by_place, "remove the / after it"),
    ],
)
def test_functions_that_are_no_scenarios(function: Callable[..., Setup], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        scenario("x")(function)


def test_a_scenario_needs_a_name_and_a_setup() -> None:
    make: Any = scenario
    for name in ("", 3, swing.function):
        with pytest.raises(ModelError, match=r'write @scenario\("name"\)'):
            make(name)

    def nothing() -> None:
        """None."""

    empty: Callable[..., Setup] = nothing  # type: ignore[assignment]  # that is what is looked at
    with pytest.raises(ModelError, match=r"'empty' \(test_scenario.py, line \d+\) must return a Setup"):
        Scenario.of("empty", empty)()


def test_a_catalogue_scenario_is_pickled_by_where_it_is_and_found_by_its_name() -> None:
    for each in SCENARIOS:
        assert pickle.loads(pickle.dumps(each)) is each
        assert find(each.name, SCENARIOS) is each
    with pytest.raises(ModelError, match=r"unknown scenario 'swin'. Did you mean 'swing'"):
        find("swin", [swing])
