"""Machine code of an FMU, for any processor of this kind."""

from __future__ import annotations

import platform
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...symbolic.errors import BridgeError
from ...symbolic.toolchain import TIME_LIMIT, find_toolchain

FLAGS = ("-O1", "-std=c99", "-ffp-contract=off", "-fPIC", "-shared", "-fvisibility=hidden", "-s")
"""No word of this machine's processor: the FMU is made to be taken elsewhere. Straight-line code gains little by -O2,
which takes twice as long to compile."""

PLATFORMS: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("Linux", "x86_64"): {"2.0": "linux64", "3.0": "x86_64-linux"},
    ("Linux", "aarch64"): {"3.0": "aarch64-linux"},
    ("Darwin", "x86_64"): {"2.0": "darwin64", "3.0": "x86_64-darwin"},
    ("Darwin", "arm64"): {"3.0": "aarch64-darwin"},
}
"""Name of the folder of machine code, by system and processor, and by version of FMI."""


def override(version: str) -> str:
    """Name of the macro with which names of functions do not begin with the model's.

    Args:
        version: of FMI.
    """
    return f"FMI{version[0]}_OVERRIDE_FUNCTION_PREFIX"


@dataclass(frozen=True)
class Binary:
    """Machine code and its place in the FMU.

    Attributes:
        path: in the FMU.
        content: of the file.
    """

    path: str
    content: bytes


def compile_sources(sources: Mapping[str, str], unit: str, name: str, version: str) -> Binary:
    """Compile.

    Args:
        sources: C files by name.
        unit: the one that includes the others.
        name: C identifier of the model.
        version: of FMI.

    Raises:
        BridgeError: if this machine has no name in FMI, or no compiler, or that fails.
    """
    machine = platform.system(), platform.machine()
    folder = PLATFORMS.get(machine, {}).get(version)
    otherwise = "pass binary=False for an FMU of sources alone, which is compiled where it is used"
    if folder is None:
        raise BridgeError(f"FMI {version} has no name for machine code of {' '.join(machine)}: {otherwise}")
    toolchain = find_toolchain()
    if isinstance(toolchain, str):
        raise BridgeError(f"an FMU holds machine code, but {toolchain}; or {otherwise}")
    with tempfile.TemporaryDirectory(prefix="erugin-fmu-") as temporary:
        place = Path(temporary)
        for file, text in sources.items():
            (place / file).write_text(text, encoding="utf-8")
        library = f"{name}.{'dylib' if machine[0] == 'Darwin' else 'so'}"
        # By names, not places: what the compiler writes down of them is then the same every time.
        command = [*toolchain.command, *FLAGS, f"-D{override(version)}", unit, "-o", library, "-lm"]
        try:
            subprocess.run(
                command,
                cwd=place,
                check=True,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=TIME_LIMIT,
            )
        except (OSError, subprocess.SubprocessError) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()[:5]
            raise BridgeError(f"the FMU cannot be compiled: {' '.join(said)}; {otherwise}") from error
        return Binary(f"binaries/{folder}/{library}", (place / library).read_bytes())
