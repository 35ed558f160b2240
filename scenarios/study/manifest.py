"""The manifest of a study: its definition, versions of packages, and the machine."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...controllers.controller import Controller
from ...symbolic.compiler import find_compiler, processor_features
from ..comparison.quantities import Quantity
from ..sampling.distributions import Distribution
from .factors import Factors
from .identity import code_hash
from .job import Job, Source
from .result_folder import FORMAT

PACKAGES = ("erugin", "casadi", "numpy", "scipy", "pyarrow")


def manifest_of(
    job: Job,
    name: str,
    given: Mapping[str, Source],
    quantities: Mapping[str, Quantity],
    left_out: Mapping[str, Mapping[str, str]],
    randomization: Mapping[str, Distribution],
    source: tuple[Path, str] | None,
) -> dict[str, Any]:
    """Build the manifest of a study.

    Args:
        job: the study, divided into tasks.
        name: name of the study.
        given: controllers, by name.
        quantities: metrics, by name.
        left_out: reasons why metrics are missing, by controller and name.
        randomization: distributions of what seeds vary in the first group, by name.
        source: path and text of the user's file, if there is one.
    """
    work, plan = job.work, job.plan
    return {
        "format": FORMAT,
        "name": name,
        "hash": job.identity,
        "scenario": {
            "name": work.scenario.name,
            "summary": work.scenario.summary,
            "description": work.scenario.description,
            "module": work.scenario.function.__module__,
        },
        "factors": _factors(work.factors),
        "sampler": None if work.factors.sampler is None else repr(work.factors.sampler),
        "varied": {key: repr(each) for key, each in randomization.items()},
        "seeds": _seeds(work.seeds),
        "controllers": {key: _controller(each) for key, each in given.items()},
        "metrics": {
            key: {"unit": each.unit, "meaning": each.meaning, "better": each.better, "own": each.own}
            for key, each in quantities.items()
        },
        "left_out": {key: dict(each) for key, each in left_out.items()},
        "runs": plan.runs,
        "tasks": plan.tasks,
        "points": plan.groups * plan.points,
        "runs_per_task": list(plan.sizes),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **environment(),
        "file": None if source is None else str(source[0]),
        "source": None if source is None else source[1],
        "code": None if source is None else code_hash(source[0]),
    }


def environment() -> dict[str, Any]:
    """Return versions of packages and properties of the machine, by name."""
    compiler = find_compiler()
    return {
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in PACKAGES}},
        "machine": {
            "system": platform.platform(),
            "processor": _processor(),
            "cores": os.cpu_count(),
            "compiler": compiler if isinstance(compiler, str) else compiler.version,
        },
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Describe the versions and machines in which two environments differ; empty if they do not.

    Args:
        before: environment of the manifest.
        now: environment of this process.
    """
    pairs = [
        (key, before.get(part, {}).get(key), value)
        for part in ("versions", "machine")
        for key, value in now[part].items()
        if key not in ("cores", "system")
    ]
    return ", ".join(f"{key} {was} is now {is_now}" for key, was, is_now in pairs if was != is_now)


def _factors(factors: Factors) -> dict[str, Any]:
    kinds: dict[str, Any] = {
        key: {"kind": "setting", "levels": list(values)} for key, values in factors.settings.items()
    }
    kinds |= {key: {"kind": "levels", "levels": values.tolist()} for key, values in factors.levels.items()}
    return kinds | {key: {"kind": "sampled", "distribution": repr(each)} for key, each in factors.sampled.items()}


def _seeds(seeds: range | tuple[int, ...]) -> dict[str, Any]:
    if isinstance(seeds, range):
        return {"count": len(seeds), "first": seeds.start}
    return {"count": len(seeds), "numbers": list(seeds)}


def _controller(source: Source) -> dict[str, str | None]:
    if source is None:
        return {"kind": "own", "name": None, "text": "the scenario's own"}
    if isinstance(source, str):
        return {"kind": "rival", "name": source, "text": f"the scenario's {source!r}"}
    name = type(source).__name__ if isinstance(source, Controller) else getattr(source, "__qualname__", None)
    if isinstance(source, Controller):
        return {"kind": "instance", "name": name, "text": f"an instance of {name}"}
    name = name or type(source).__qualname__
    return {"kind": "factory", "name": name, "text": f"built by {name}"}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Return the name of the processor, or its features if the name is unknown."""
    if sys.platform == "linux":
        try:
            text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
            named = next((line for line in text.splitlines() if line.startswith("model name")), "")
            return named.partition(":")[2].strip() or processor_features()
        except OSError:
            pass
    return processor_features()
