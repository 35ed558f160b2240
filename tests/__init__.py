"""Tests of Erugin, a folder for each room; a package, so that tests can import ``.support``."""

import pytest

# The assertions of helpers, too, show their values when they fail.
pytest.register_assert_rewrite(f"{__name__}.support")
