"""A point among drifting discs or balls: Erugin's field beside two baselines on the same seeded scenes."""
