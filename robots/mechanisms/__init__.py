"""Closed chains: planar linkages, loop closures, and the assembly of their positions and velocities."""
