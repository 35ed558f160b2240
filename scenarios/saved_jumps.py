"""What files hold of the instants between the phases of a motion."""

from __future__ import annotations

from ..controllers.consistent_velocity import ConsistentVelocity
from ..robots.impact import Impact
from .saved_content import Content, Pieces


def jump_parts(jump: ConsistentVelocity, pieces: Pieces) -> dict[str, object]:
    """Header of velocities that were made consistent.

    Args:
        jump: that is saved.
        pieces: to which its arrays are added.
    """
    for name in ("velocity", "change", "impulses", "reactions", "energy_before", "energy_after", "residual"):
        pieces.add(name, getattr(jump, name))
    return {"rank": jump.rank, "message": jump.message}


def read_jump(content: Content) -> ConsistentVelocity:
    """Velocities that were made consistent.

    Args:
        content: that :func:`jump_parts` made.
    """
    velocity = content.array("velocity", (None,))
    return ConsistentVelocity(
        velocity=velocity,
        change=content.array("change", velocity.shape),
        impulses=content.array("impulses", (None,)),
        reactions=content.array("reactions", (None,)),
        energy_before=content.number("energy_before"),
        energy_after=content.number("energy_after"),
        residual=content.number("residual"),
        rank=content.whole("rank"),
        message=content.text("message"),
    )


def impact_parts(impact: Impact, pieces: Pieces) -> dict[str, object]:
    """Header of an impact.

    Args:
        impact: that is saved.
        pieces: to which its arrays are added.
    """
    for name in ("velocity", "impulses", "energy_before", "energy_after"):
        pieces.add(name, getattr(impact, name))
    pieces.add("friction", list(impact.friction.values()))
    for i, impulses in enumerate(impact.by_constraint.values()):
        pieces.add(f"by_constraint/{i}", impulses)
    return {"rank": impact.rank, "friction": list(impact.friction), "by_constraint": list(impact.by_constraint)}


def read_impact(content: Content) -> Impact:
    """An impact.

    Args:
        content: that :func:`impact_parts` made.
    """
    friction, constraints = content.texts("friction"), content.texts("by_constraint")
    return Impact(
        velocity=content.array("velocity", (None,)),
        impulses=content.array("impulses", (None,)),
        by_constraint={name: content.array(f"by_constraint/{i}", (None,)) for i, name in enumerate(constraints)},
        energy_before=content.number("energy_before"),
        energy_after=content.number("energy_after"),
        friction=dict(zip(friction, content.array("friction", (len(friction),)).tolist(), strict=True)),
        rank=content.whole("rank"),
    )
