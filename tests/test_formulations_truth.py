"""Equations of motion of random trees against other hands: Pinocchio, and Christoffel symbols in NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray

from .probes import Probe
from .references import tree_numpy
from .references.tree_pinocchio import PinocchioTree
from .trees import TREES, assert_close, only, states

Array = NDArray[np.float64]


@functools.cache
def probe_of(tree: str) -> Probe:
    return Probe(TREES[tree].robot())


def test_the_trees_cover_every_joint_in_every_role() -> None:
    """Each kind of joint at the root, inside and as a leaf, and measured from the world."""
    roles: set[tuple[str, str, str]] = set()
    for tree in TREES.values():
        parents = {node.parent for node in tree.data.nodes}
        for k, node in enumerate(tree.data.nodes):
            place = "root" if node.parent < 0 else "inside" if k in parents else "leaf"
            roles.add(("absolute" if node.absolute else "relative", node.kind, place))
    for kind in tree_numpy.NQ:
        assert {("relative", kind, place) for place in ("root", "inside", "leaf")} <= roles, kind
        assert any(role[:2] == ("absolute", kind) for role in roles), kind
    assert len(only(TREES, relative=True)) >= 10
    assert len(only(TREES, relative=False)) >= 5


@pytest.mark.parametrize("name", TREES)
def test_equations_of_motion_follow_from_the_positions(name: str) -> None:
    data, probe = TREES[name].data, probe_of(name)
    for state in states(data, seed=1):
        q, v, u = state
        found = probe(state)
        M, h = tree_numpy.mass_matrix(data, q), tree_numpy.bias(data, q, v)
        assert_close(found["M"], M)
        assert_close(found["h"], h)
        assert_close(found["a"], np.linalg.solve(M, u - h))
        T, V = tree_numpy.energies(data, q, v)
        assert_close(found["kinetic"], T, 1e-13)
        assert_close(found["potential"], V, 1e-12)
        assert_close(found["N"], tree_numpy.kinematics(data, q), 1e-15)


@pytest.mark.foreign
@pytest.mark.parametrize("name", only(TREES, relative=True))
def test_equations_of_motion_are_pinocchios(name: str) -> None:
    probe, pinocchio = probe_of(name), PinocchioTree(TREES[name].data)
    for state in states(TREES[name].data, seed=4):
        q, v, u = state
        found = probe(state)
        assert_close(found["M"], pinocchio.mass_matrix(q))
        assert_close(found["h"], pinocchio.bias(q, v))
        assert_close(found["a"], pinocchio.acceleration(q, v, u))
        T, V = pinocchio.energies(q, v)
        assert_close(found["kinetic"], T)
        assert_close(found["potential"], V)


@pytest.mark.foreign
@pytest.mark.parametrize("name", only(TREES, relative=True))
def test_the_two_references_agree(name: str) -> None:
    """So that the one that models everything is right where the other cannot say."""
    data = TREES[name].data
    pinocchio = PinocchioTree(data)
    for q, v, _ in states(data, seed=5, count=2):
        assert_close(tree_numpy.mass_matrix(data, q), pinocchio.mass_matrix(q), 1e-13)
        assert_close(tree_numpy.bias(data, q, v), pinocchio.bias(q, v), 1e-11)


def test_a_quaternion_of_another_length_changes_nothing() -> None:
    """The rotation is that of the direction of (qx, qy, qz, qw)."""
    data, probe = TREES["floating base"].data, probe_of("floating base")
    place = data.places(tree_numpy.NQ)[0]
    for state in states(data, seed=6):
        longer = state.q.copy()
        longer[place.start + 3 : place.stop] *= 1.7
        found, expected = probe(state._replace(q=longer)), probe(state)
        for quantity in ("M", "h", "a", "kinetic", "potential"):
            assert_close(found[quantity], expected[quantity], 1e-13)
