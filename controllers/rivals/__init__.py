"""Control laws of others, to compare with: one file each, under the same base, with its source."""
