"""The equations of motion of a robot, term by term."""

from __future__ import annotations

import casadi as ca

from ...symbolic.errors import ModelError
from ..robot import Robot
from .assemble import Assembly
from .ring import TooLargeError
from .rows import Expression, Relation, Row
from .structured import Equations
from .tree import ZERO, Node, Symbol, powers, product, symbols_of, total
from .vocabulary import Vocabulary

LIMIT = 200_000
"""Products of two terms that are made at most; they take some seconds."""


def equations_of(robot: Robot, *, simplify: bool = True) -> Equations:
    r"""M(q) v̇ + h(t, q, v) = B(q) u + Aᵀμ, term by term, with coefficients brought to normal form and factorized.

    Every coefficient is expanded with exact numbers, products of cosines and sines are reduced, so that
    cos φ₁ cos φ₂ + sin φ₁ sin φ₂ is cos(φ₁ − φ₂), and common factors are taken out. Each is then compared with the
    robot's own expression at random points; one that could not be simplified, or does not agree, is printed as it
    stands, with a mark and the reason. For two telescopic links the rows are (3)-(6) of [ChigarevBorisov2015]_.

    Args:
        robot: whose equations are written.
        simplify: False to print the expressions as they stand, with names for what occurs in several places.

    Raises:
        ModelError: if the expanded equations would be too large.
    """
    rows = robot.natural_rows
    vocabulary = Vocabulary.of(robot, rows)
    residuals = ca.vertcat(ca.SX(0, 1), *(c.residual(robot.coordinates) for c in robot.natural))
    blocks = {
        "M": robot.mass_matrix,
        "h": robot.bias,
        "B": robot.input_matrix,
        "A": robot.natural_form[0],
        "residuals": residuals,
        "N": ca.SX(0, 0) if vocabulary.holonomic else robot.coordinates.N,
    }
    try:
        assembly = Assembly(blocks, vocabulary, LIMIT if simplify else None)
        return _equations(robot, assembly, rows)
    except TooLargeError as error:
        raise ModelError(
            f"the expanded equations of {robot.name} are too large to be simplified ({error}): pass simplify=False to "
            "get them as they stand, with names for what occurs in several places"
        ) from error


def _equations(robot: Robot, assembly: Assembly, names: tuple[str, ...]) -> Equations:
    words = assembly.vocabulary
    rows = tuple(_row(assembly, i) for i in range(robot.coordinates.nv))
    constraints = tuple(
        Relation(name, assembly.entry("residuals", i, 0), Expression(ZERO), words.multipliers[i])
        for i, name in enumerate(names)
    )
    kinematics: list[Relation] = []
    for i, rate in enumerate(words.rates):
        terms = [product(assembly.entry("N", i, j).node, speed) for j, speed in enumerate(words.speeds)]
        reasons = [x for j in range(len(words.speeds)) if (x := assembly.entry("N", i, j).reason)]
        kinematics.append(Relation("", Expression(rate), Expression(total(*terms), "; ".join(dict.fromkeys(reasons)))))
    definitions = tuple(Relation("", Expression(symbol), Expression(node)) for symbol, node in assembly.definitions)
    used: set[str] = set()
    sides = [side for row in rows for side in (row.left, row.right)]
    for relation in (*constraints, *kinematics, *definitions):
        sides += [relation.left.node, relation.right.node]
    for side in sides:
        used |= {symbol.name for symbol in symbols_of(side)}
    legend = tuple(entry for name, entry in words.meanings.items() if name in used)
    return Equations(robot.name, rows, tuple(kinematics), constraints, definitions, legend)


def _row(assembly: Assembly, i: int) -> Row:
    words = assembly.vocabulary
    mass = _present({symbol: assembly.entry("M", i, j) for j, symbol in enumerate(words.accelerations)})
    inputs = _present({symbol: assembly.entry("B", i, j) for j, symbol in enumerate(words.inputs)})
    reactions = _present({symbol: assembly.entry("A", k, i) for k, symbol in enumerate(words.multipliers)})
    velocity, rest = assembly.by_velocity("h", i)
    moving = [product(x.node, *powers([words.speeds[j] for j in key])) for key, x in velocity.items()]
    return Row(
        name=words.velocities[i],
        mass={symbol.name: x for symbol, x in mass.items()},
        velocity={tuple(words.velocities[j] for j in key): x for key, x in velocity.items()},
        rest=rest,
        inputs={symbol.name: x for symbol, x in inputs.items()},
        reactions={symbol.name: x for symbol, x in reactions.items()},
        left=total(_weighted(mass), *moving, *(x.node for x in rest)),
        right=total(_weighted(inputs), _weighted(reactions)),
    )


def _present(coefficients: dict[Symbol, Expression]) -> dict[Symbol, Expression]:
    return {symbol: x for symbol, x in coefficients.items() if x.node != ZERO}


def _weighted(coefficients: dict[Symbol, Expression]) -> Node:
    return total(*(product(x.node, symbol) for symbol, x in coefficients.items()))
