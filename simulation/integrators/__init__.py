"""Integrators of the closed loop, one file each."""
