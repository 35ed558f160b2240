"""Python of documents, and Python in a process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def run_python(code: str, *arguments: str) -> str:
    """Standard output of some code in a fresh interpreter, away from the repository's folders."""
    command = [sys.executable, "-P", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120.0).stdout


def snippets(page: Path) -> list[str]:
    """Python blocks of a page, in order."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
