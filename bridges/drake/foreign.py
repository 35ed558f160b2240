"""Types of Drake, left open: its own stubs take arrays for something that no array is."""

from __future__ import annotations

from typing import Any

MultibodyPlant = Any
ModelInstanceIndex = Any
RigidBody = Any
DrakeJoint = Any
Simulator = Any
Context = Any
State = Any
BasicVector = Any
OutputPort = Any
Diagram = Any
DrakeFrame = Any
RigidTransform = Any
SpatialInertia = Any
