"""Links of a URDF file."""

from __future__ import annotations

from .attributes import lookalikes, not_negative, number, only, pose, required, text
from .document import Element
from .elements import MOMENTS, Inertial, Link, Mesh
from .inertia import impossible_inertia


def read_link(element: Element, check_inertia: bool, remarks: list[str]) -> Link:
    """The link of an element ``<link>``.

    Args:
        element: with the link.
        check_inertia: False to remark on an inertia that no body has, instead of raising.
        remarks: to which what is odd is appended.

    Raises:
        UrdfError: if the name, the mass or a moment is missing, a number is malformed or not finite, the mass is
            negative, or no body has the inertia.
    """
    name = text(element, "name")
    remarks += lookalikes(element, ("inertial", "visual", "collision"), ("name",))
    inertial = only(element, "inertial")
    return Link(
        name,
        None if inertial is None else _read_inertial(inertial, check_inertia, remarks),
        tuple(_find_meshes(element)),
        element.line,
    )


def _read_inertial(element: Element, check: bool, remarks: list[str]) -> Inertial:
    remarks += lookalikes(element, ("origin", "mass", "inertia"), ())
    moments = required(element, "inertia")
    xx, xy, xz, yy, yz, zz = (number(moments, moment) for moment in MOMENTS)
    inertial = Inertial(
        mass=not_negative(required(element, "mass"), "value"),
        origin=pose(only(element, "origin")),
        inertia=(xx, xy, xz, yy, yz, zz),
        line=moments.line,
    )
    reason = impossible_inertia(inertial)
    if reason is not None and check:
        raise moments.error(f"{reason}. Correct the file, or read it as it is with check_inertia=False")
    if reason is not None:
        remarks.append(f"{moments.where}: {reason}")
    return inertial


def _find_meshes(element: Element) -> list[Mesh]:
    return [
        Mesh(mesh.attributes["filename"], mesh.line, mesh.where)
        for tag in ("visual", "collision")
        for shape in element.all(tag)
        for geometry in shape.all("geometry")
        for mesh in geometry.all("mesh")
        if "filename" in mesh.attributes
    ]
