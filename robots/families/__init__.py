"""Families of robots: manipulators, exoskeletons, mobile robots, and robots from a Lagrangian or a tree."""
