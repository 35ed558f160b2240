"""A point among drifting discs or balls: Erugin's field beside two rivals on the same seeded scenes."""
