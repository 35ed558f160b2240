"""Nonlinear model predictive control by multiple shooting."""
