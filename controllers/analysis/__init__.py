"""Analysis of a program at one state: ranks, solvability, uniqueness and actuation."""
