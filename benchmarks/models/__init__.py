"""The same robots for Erugin and for each rival."""
