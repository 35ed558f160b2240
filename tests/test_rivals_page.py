"""The table of what each law is made for says what the classes say."""

from __future__ import annotations

import re
from pathlib import Path

from erugin.controllers import Trait
from erugin.controllers import baselines as rivals
from erugin.controllers.wrappers import Wrapper

from .controller_cases import BUILDERS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "controllers.md"
COLUMNS = (
    Trait.CLOSED_LOOPS,
    Trait.NONHOLONOMIC,
    Trait.UNDERACTUATED,
    Trait.OVERACTUATED,
    Trait.QUASI_VELOCITIES,
    Trait.SINGULAR_INERTIA,
)


def test_the_table_of_laws_and_robots_is_that_of_the_code() -> None:
    classes = {cls.__name__: cls for cls in BUILDERS}
    rows = re.findall(r"^\| `(\w+)` ((?:\| (?:yes|–) ){6})\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {"ProgramController", "ComputedTorque", "CbfFilter"} <= {name for name, _ in rows}
    for name, cells in rows:
        said = [cell == "yes" for cell in re.findall(r"yes|–", cells)]
        assert said == [trait in classes[name].handles for trait in COLUMNS], name
    # Wrappers share a row, but for the filter.
    assert {name for name, cls in classes.items() if not issubclass(cls, Wrapper)} <= {name for name, _ in rows}


def test_every_rival_has_its_line() -> None:
    page = PAGE.read_text(encoding="utf-8")
    told = page[page.index("## Rivals") : page.index("**The rule**")]
    for cls in BUILDERS:
        if cls.__module__.startswith(rivals.__name__):
            assert f"`{cls.__name__}`" in told, cls
