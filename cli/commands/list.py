"""``erugin list``: list the scenarios, or describe one of them."""

from __future__ import annotations

import argparse
import re

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...scenarios.lookup import choose_scenario, locate_errors
from ..command import OK
from ..motion_output import expected_text

SUMMARY = "list the scenarios, or the settings, parameters and measures of one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments.

    Args:
        parser: parser of the words after the command's name.
    """
    parser.add_argument("name", nargs="?", help="a scenario, or your own Python file")
    parser.add_argument("--scenario", metavar="NAME", help="which scenario of the file, if it has several")


def run(console: Console, errors: Console, chosen: argparse.Namespace) -> int:
    """List the scenarios, or describe one.

    Args:
        console: console for the tables.
        errors: console for errors.
        chosen: words of the command line.

    Returns:
        0.

    Raises:
        EruginError: for an unknown name, or a file with errors.
    """
    if chosen.name is None:
        from ...scenarios.catalogue import SCENARIOS  # late, for its pictures bring matplotlib

        table = Table("scenario", "what it shows", box=None, pad_edge=False)
        for scenario in SCENARIOS:
            table.add_row(Text(scenario.name), Text(scenario.summary))
        console.print(table)
        return OK
    found = choose_scenario(chosen.name, chosen.scenario)
    scenario = found.scenario
    with locate_errors(found.file):
        setup = scenario()
    console.print(_paragraphs(scenario.description), markup=False)
    table = Table("setting", "default", "meaning", box=None, pad_edge=False)
    for key, setting in scenario.settings.items():
        choices = f" ({', '.join(setting.choices)})" if setting.choices else ""
        table.add_row(Text(key), Text(setting.text), Text(setting.meaning + choices))
    _show(console, table)
    table = Table("parameter", "nominal", box=None, pad_edge=False)
    for key, value in setup.nominal.items():
        table.add_row(Text(key), f"{value:g}")
    _show(console, table)
    table = Table("measure", "unit", "expected", box=None, pad_edge=False)
    for key, measure in setup.measures.items():
        table.add_row(Text(key), Text(measure.unit), Text(expected_text(measure.expected)))
    _show(console, table)
    return OK


def _paragraphs(text: str) -> str:
    """Join the lines of each paragraph, which the console wraps, and remove the code marks."""
    return re.sub(r"(?<!\n)\n(?![\n ])", " ", text.replace("``", ""))


def _show(console: Console, table: Table) -> None:
    if table.row_count:
        console.print()
        console.print(table)
