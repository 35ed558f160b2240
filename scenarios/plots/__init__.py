"""Pictures of motions; matplotlib is imported here only."""
