"""Storage of motions in files, and export as data frames and data sets."""
