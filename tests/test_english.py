"""Docstrings, messages, comments and documents keep clear of words that this project once used in a private sense."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from .support.project import ROOMS, ROOT

WORDS = {
    r"\b[Tt]old\b": "given, reported, or the value's name",
    r"\b[Aa]new\b": "again",
    r"\b[Rr]eckon": "compute",
    r"(?<!there )\b(?:is|are|was|were) none\b": "'is not a …', or 'there is no …'",
    r"\bcomes? to hold\b": "becomes true",
    r"\bno counterpart\b": "'X cannot represent …'",
    r"\bis asked\b": "'must be given', or 'is called'",
    r"\bto be had\b": "available",
    r"\bblows?\b": "impact",
    r"\bled around\b": "guided around",
}
"""What is not to be written, and what to write instead."""
OPENINGS = ("What", "Whether", "How", "Where", "Which", "That", "Who")
"""First words that make a docstring a question: a value is a noun phrase, a function an imperative."""


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Sentences and comments of a module, with their first lines; a string without a blank is an identifier."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def sources() -> Iterator[tuple[Path, str]]:
    """The modules of the product, of its tests and benchmarks, and the scripts of its documents."""
    for folder in (*ROOMS, "tests", "benchmarks", "docs"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != Path(__file__).resolve():
                yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def uses(place: str, line: int, text: str) -> list[str]:
    """Uses of the words in a text, with their lines."""
    return [
        f"{place}:{line + text[: match.start()].count(chr(10))}: {match[0]!r}: write {instead}"
        for word, instead in WORDS.items()
        for match in re.finditer(word, text)
    ]


def test_words() -> None:
    found = [use for path, source in sources() for line, text in texts(source) for use in uses(str(path), line, text)]
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        found += uses(str(page.relative_to(ROOT)), 1, page.read_text(encoding="utf-8"))
    assert not found, "\n".join(found)


def test_first_words_of_docstrings() -> None:
    found = [
        f"{path}:{getattr(node, 'lineno', 1)}: {doc.partition(chr(10))[0]!r}"
        for path, source in sources()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and (doc := ast.get_docstring(node))
        if doc.partition(" ")[0] in OPENINGS
    ]
    assert not found, "\n".join(found)


def test_what_is_found() -> None:
    assert uses("a.py", 3, "one\nis told anew") == [
        "a.py:4: 'told': write given, reported, or the value's name",
        "a.py:4: 'anew': write again",
    ]
