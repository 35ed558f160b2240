"""Motions in files, as data frames and as data sets."""
