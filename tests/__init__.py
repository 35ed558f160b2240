"""Tests of Erugin; a package, so that tests can import ``.references`` without the root being on ``sys.path``."""

import pkgutil

import pytest

# The assertions of helpers, too, show their values when they fail.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)))
