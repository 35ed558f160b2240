"""A proof that a scene has no way through it."""

from __future__ import annotations

import numpy as np

from .grid import Grid, free_places, shifted
from .scenes import BOUND, SPAN, Scenes


def enclosed(scene: Scenes, grid: Grid) -> bool:
    """True if it is proven that no path exists.

    Every way is, at the grid's times, within e = √n/2 of a spacing of places of the grid that lie outside of obstacles
    shrunk by e, and from one to the next within 2 e plus what the speed allows. If none of the places that are reached
    so is near the end or near another edge of the box, there is no way within ``SPAN``.

    Args:
        scene: one scene.
        grid: its resolution.
    """
    n = scene.centers.shape[2]
    error = grid.spacing * float(np.sqrt(n)) / 2
    places, moves = grid.places(n), grid.moves(n, BOUND * grid.layer + 2 * error)
    reached = np.zeros(places.shape[:-1], dtype=bool)
    reached[grid.start(n)] = True
    # As wide as the longest move, so that nothing leaves the box unseen.
    rim = max(max(move) for move in moves)
    inside = np.zeros_like(reached)
    inside[(slice(rim, -rim),) * n] = True
    for k in range(1, round(SPAN / grid.layer) + 1):
        spread = np.zeros_like(reached)
        for move in moves:
            target, source = shifted(move)
            spread[target] |= reached[source]
        before, reached = reached, spread & free_places(scene, places, k * grid.layer, scene.radii[0] - error)
        if (reached & ~inside).any():
            return False
        if not reached.any() or (not scene.velocities.any() and (reached == before).all()):
            return True
    return True
