"""Closed loops as compiled C99."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...symbolic.compiler import find_compiler
from ...symbolic.errors import BridgeError
from .export import export

if TYPE_CHECKING:
    from ..common.cross_check_case import CrossCheckCase, Motion

Array = NDArray[np.float64]


def run_case(case: CrossCheckCase, step: float) -> Motion:
    """Run the closed loop as compiled C99, step by step."""
    setup, law = case.setup, case.controller
    compiler = find_compiler()
    if isinstance(compiler, str):
        raise BridgeError(f"the C sources cannot be compiled: {compiler}")
    with tempfile.TemporaryDirectory(prefix="erugin-c-") as folder:
        written = export(
            law, Path(folder) / "law", with_plant=setup.robot, p=setup.controller_p or None, plant_p=setup.p or None
        )
        sources = sorted(written.folder.glob("law*.c"))
        library = Path(folder) / "law.so"
        compiler.compile("\n".join(f'#include "{source}"' for source in sources), library)
        loop = ctypes.CDLL(str(library))
        plant, own = (_numbers(len(parameters)) for parameters in (setup.robot.parameters, law.parameters))
        loop.law_plant_parameters_nominal(plant)
        loop.law_parameters_nominal(own)
        number = ctypes.c_double
        nq, nv = setup.robot.coordinates.nq, setup.robot.coordinates.nv
        start = [np.asarray(each, dtype=np.float64) for each in (setup.q0, setup.v0)]
        q, v = (number * nq)(*start[0].tolist()), (number * nv)(*start[1].tolist())

        def follow(t: float, state: Array, h: float) -> Array:
            status = loop.law_plant_closed_step(plant, own, number(t), number(h), q, v)
            if status:
                loop.law_status_text.restype = ctypes.c_char_p
                raise BridgeError(f"at t = {t:g} s: {loop.law_status_text(status).decode()}")
            return np.array([*q, *v])

        return case.run_steps(step, follow, np.concatenate(start), lambda state: state[:nq])


def _numbers(count: int) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * max(1, count))()
