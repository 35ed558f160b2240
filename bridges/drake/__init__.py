"""Drake: laws as systems of a diagram, robots as multibody plants, and plants as robots.

Nothing of Drake is imported before a function of this package is called; without it they raise MissingPackageError.
"""

from ...symbolic.arguments import check_exports
from .drive import drive
from .load import load
from .match import match
from .plant import export
from .simulate import simulate

__all__ = ["drive", "export", "load", "match", "simulate"]

check_exports(globals())
