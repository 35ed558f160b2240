"""The same robots for Erugin and for each other library."""
