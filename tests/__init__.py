"""Tests of Erugin, a folder for each room; a package, so that tests can import ``.support``."""
