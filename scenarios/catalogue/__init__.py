"""Ready scenarios, one file each."""

from ..scenario import Scenario
from .two_link_arm import TwoLinkArmMovingObstacle

SCENARIOS: tuple[Scenario, ...] = (TwoLinkArmMovingObstacle(),)

__all__ = ["SCENARIOS", "TwoLinkArmMovingObstacle"]
