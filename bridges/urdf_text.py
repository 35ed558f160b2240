"""What the text of a URDF holds that some programs do not take over."""

from __future__ import annotations

import xml.etree.ElementTree as ET


def rubbing_joints(text: str) -> list[str]:
    """Names of the joints that have dry friction.

    Args:
        text: URDF.
    """
    return [
        joint.get("name", "")
        for joint in ET.fromstring(text).findall("joint")
        if any(float(dynamics.get("friction", "0")) != 0.0 for dynamics in joint.findall("dynamics"))
    ]


def following_joints(text: str) -> list[str]:
    """Names of the joints that follow others.

    Args:
        text: URDF.
    """
    return [joint.get("name", "") for joint in ET.fromstring(text).findall("joint") if joint.find("mimic") is not None]
