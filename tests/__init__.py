"""Tests of Erugin; a package, so that tests can import ``.references`` without the root being on ``sys.path``."""
