"""Baselines that could drive a robot but are left out of the published comparison, with the reason."""

from __future__ import annotations

from collections.abc import Mapping

REST = "it regulates to a position; its time-varying form, which follows a motion, is included"
NO_OBSTACLE = "this task has no obstacle"

LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "two-link-arm": {"Lqr": REST},
    "two-wheel-robot": {"CbfFilter": NO_OBSTACLE, "PotentialField": NO_OBSTACLE},
    "five-bar": {"Lqr": REST, "CbfFilter": NO_OBSTACLE, "PotentialField": NO_OBSTACLE},
}
"""Reason, by robot and class of the law."""
