"""Scenarios ready to run, comparisons of controllers, studies, and their reports."""

from ..simulation.simulate import simulate
from ..symbolic.runtime_type_checks import check_exports
from .comparison.compare import compare
from .comparison.comparison import Comparison
from .comparison.trial import Trial
from .motion_tracking import MotionTracking, point_along
from .sampling.distributions import (
    Choice,
    Distribution,
    LogNormal,
    Normal,
    Scaled,
    Shifted,
    Uniform,
    disturbance_distributions,
)
from .sampling.seeded_values import sample
from .scenario import Scenario, scenario
from .setup import Measure, MeasuredValue, Setup
from .study.results import Results
from .study.study import Study, StudyInterrupted

__all__ = [
    "simulate",
    "compare",
    "Study",
    "Setup",
    "Measure",
    "MeasuredValue",
    "Scenario",
    "scenario",
    "Distribution",
    "Uniform",
    "Normal",
    "LogNormal",
    "Choice",
    "Scaled",
    "Shifted",
    "sample",
    "disturbance_distributions",
    "MotionTracking",
    "point_along",
    "Comparison",
    "Trial",
    "Results",
    "StudyInterrupted",
]

check_exports(globals())
