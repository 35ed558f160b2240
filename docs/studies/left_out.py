"""Baselines that could drive a robot but are left out of the published comparison, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

REST = "it regulates to a position; its time-varying form, which follows a motion, is included"
NO_OBSTACLE = "this task has no obstacle"
FEW = "this task compares defaults, with three laws that newcomers know"
TOO_SLOW = "a plan for seven joints takes longer than its control interval"

LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "two-link-arm": {"Lqr": REST},
    "two-wheel-robot": {"CbfFilter": NO_OBSTACLE, "PotentialField": NO_OBSTACLE},
    "five-bar": {"Lqr": REST, "CbfFilter": NO_OBSTACLE, "PotentialField": NO_OBSTACLE},
    "seven-joint-arm": {"Lqr": REST, "NonlinearMPC": TOO_SLOW},
    "three-joint-arm": {
        "Lqr": REST,
        **dict.fromkeys(
            ("PDGravity", "PotentialField", "SlidingMode", "SlotineLi", "TimeVaryingLqr", "NonlinearMPC"), FEW
        ),
    },
}
"""Reason, by robot and class of the law."""
