"""Circuits that are none, or whose motion nothing determines, are refused and the branch is named."""

from __future__ import annotations

import numpy as np
import pytest

from erugin.robots.examples import GROUND, Branch, butterworth_ladder, electric_circuit
from erugin.symbolic import ModelError

COIL = Branch(GROUND, "a", inductance=1.0, source=True)


def test_bad_branches() -> None:
    with pytest.raises(ModelError, match="no element of the branch from 'a' to 'b'"):
        Branch("a", "b")
    with pytest.raises(ModelError, match=r"capacitance \[F\] of the branch from 'a' to 'b' must be greater than zero"):
        Branch("a", "b", capacitance=0.0)
    with pytest.raises(ModelError, match=r"inductance .* must be finite, got nan"):
        Branch("a", "b", inductance=np.nan)
    with pytest.raises(ModelError, match="at least one branch"):
        electric_circuit({})


def test_a_loop_without_inductance_is_named() -> None:
    """Resistor and capacitor side by side: their common current has no second derivative to determine."""
    parts = {"coil": COIL, "C": Branch("a", GROUND, capacitance=1.0), "R": Branch("a", GROUND, resistance=1.0)}
    with pytest.raises(ModelError, match="current through 'C', 'R' changes: it meets no inductance"):
        electric_circuit(parts)
    parts["R"] = Branch("a", GROUND, resistance=1.0, inductance=1e-3)
    assert electric_circuit(parts).coordinates.nq == 3
    with pytest.raises(ModelError, match="current through 'alone'"):
        electric_circuit({"coil": COIL, "back": Branch("a", GROUND, resistance=1.0)} | {"alone": loop_of_a_resistor()})


def loop_of_a_resistor() -> Branch:
    return Branch(GROUND, GROUND, resistance=1.0)


def test_small_inductances_and_many_turns_are_no_loop_without_inductance() -> None:
    tiny = {"coil": Branch(GROUND, "a", inductance=1e-9), "C": Branch("a", GROUND, capacitance=1e-12)}
    assert electric_circuit(tiny).coordinates.nq == 2
    mixed = tiny | {"choke": Branch("a", GROUND, inductance=100.0)}
    assert electric_circuit(mixed).coordinates.nq == 3
    windings = {"coil": 1.0, "C": 1e5}
    assert electric_circuit(tiny, transformers={"core": windings}).coordinates.nq == 2


def test_a_part_without_ground_is_named() -> None:
    parts = {"coil": COIL, "back": Branch("a", GROUND, resistance=1.0), "far": Branch("b", "c", inductance=1.0)}
    with pytest.raises(ModelError, match="no way from 'b', 'c' to 'ground'"):
        electric_circuit(parts)


def test_mutual_inductances_of_no_coils() -> None:
    pair = {name: Branch(GROUND, GROUND, inductance=1.0, capacitance=1.0) for name in ("one", "two")}
    with pytest.raises(ModelError, match="no coils have these mutual inductances"):
        electric_circuit(pair, mutual={("one", "two"): 1.1})
    traces = {name: Branch(GROUND, GROUND, inductance=1e-12, capacitance=1e-12) for name in ("one", "two")}
    with pytest.raises(ModelError, match="no coils have these mutual inductances"):
        electric_circuit(traces, mutual={("one", "two"): 1.1e-12})
    with pytest.raises(ModelError, match=r"unknown branch 'tow'\. Did you mean 'two'"):
        electric_circuit(pair, mutual={("one", "tow"): 0.1})
    for mutual in ({("one", "one"): 0.1}, {("one", "two"): 0.1, ("two", "one"): 0.1}):
        with pytest.raises(ModelError, match="belongs to two branches and is given once"):
            electric_circuit(pair, mutual=mutual)
    pair["two"] = Branch(GROUND, GROUND, capacitance=1.0)
    with pytest.raises(ModelError, match="'two' has no inductance"):
        electric_circuit(pair, mutual={("one", "two"): 0.1})
    with pytest.raises(ModelError, match="unknown branch 'three'"):
        electric_circuit(pair, transformers={"core": {"one": 1.0, "three": 2.0}})


def test_bad_transformers() -> None:
    pair = {name: Branch(GROUND, "a", inductance=1.0) for name in ("one", "two")}
    for name, windings in (("core", {"one": 1.0}), ("core", {"one": 1.0, "two": 0.0}), ("a", {"one": 1.0, "two": 2.0})):
        with pytest.raises(ModelError, match=f"transformer '{name}' needs a name that no node has and at least two"):
            electric_circuit(pair, transformers={name: windings})


def test_a_transformer_that_says_nothing_new_is_refused() -> None:
    """Two branches in series carry the same current anyway: no voltage between the windings is determined."""
    series = {"there": COIL, "back": Branch("a", GROUND, inductance=1.0)}
    with pytest.raises(ModelError, match="already held by Kirchhoff's law"):
        electric_circuit(series, transformers={"core": {"there": 1.0, "back": -1.0}})


def test_perfectly_coupled_coils_alone_determine_one_current_only() -> None:
    """k = 1 is allowed where something else holds the difference, and refused where nothing does."""
    pair = {name: Branch(GROUND, GROUND, inductance=1.0, capacitance=1.0) for name in ("one", "two")}
    with pytest.raises(ModelError, match="current through 'one', 'two' changes"):
        electric_circuit(pair, mutual={("one", "two"): 1.0})


@pytest.mark.parametrize("order", [1, 2, 4, 0, -3])
def test_ladders_of_even_order_are_refused(order: int) -> None:
    with pytest.raises(ModelError, match="order must be 3, 5, 7"):
        butterworth_ladder(order, resistance=1.0, cutoff=1.0)
