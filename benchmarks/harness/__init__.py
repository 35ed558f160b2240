"""Shared parts of all benchmarks: rounds, the machine, tables, pictures, and targets."""
