"""Types of what is used of Pinocchio, which comes without; what its objects hold is not told."""

from typing import Any

class Model:
    def __getattr__(self, name: str) -> Any: ...

class Data:
    def __getattr__(self, name: str) -> Any: ...

class RigidConstraintModel:
    name: str
    def __getattr__(self, name: str) -> Any: ...
