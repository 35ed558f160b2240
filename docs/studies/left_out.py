"""Rivals that could drive a robot, and why they are not in the published comparison."""

from __future__ import annotations

from collections.abc import Mapping

REST = "it holds a position; along a motion it is the time-varying one"
NO_OBSTACLE = "there is no obstacle in this task"

LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "two-link-arm": {"Lqr": REST},
    "two-wheel-robot": {"CbfFilter": NO_OBSTACLE, "PotentialField": NO_OBSTACLE},
    "five-bar": {"Lqr": REST, "CbfFilter": NO_OBSTACLE, "PotentialField": NO_OBSTACLE},
}
"""By robot and class."""
