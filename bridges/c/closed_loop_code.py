"""A plant and its closed loop as C steps of the classical Runge-Kutta method, for hardware in the loop."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from ...robots.robot import Robot
from ...simulation.closed_loop import SymbolicLoop
from ...simulation.labels import Labels
from ...symbolic.linear_algebra import PIVOT_TOLERANCE
from ...symbolic.runge_kutta import CLASSICAL
from .controller_code import FAST_MATH_GUARD, ControllerCode, ParameterCode
from .straight_line_code import PREAMBLE, CSource, c_source
from .syntax import comment, number

DEPENDENT_NATURAL_ROWS = 9
"""Status of a plant whose natural constraints depend on each other."""


@dataclass(frozen=True, eq=False)
class ClosedLoopCode:
    """One closed loop on its way to C.

    Attributes:
        law: the law's text.
        robot: the plant.
        loop: plant and law joined.
        values: the plant's parameters, shape (np,).
    """

    law: ControllerCode
    robot: Robot
    loop: SymbolicLoop
    values: NDArray[np.float64]

    @property
    def name(self) -> str:
        """Of the files, and prefix of all names."""
        return f"{self.law.name}_plant"

    @functools.cached_property
    def closed(self) -> CSource:
        """The rate of the closed loop, and the law's pivots."""
        s, n = self.loop.symbols, len(self.robot.parameters)
        inputs = {"t": s.t, "x": s.x, "plant": _part(s.p, 0, n), "law": _part(s.p, n, s.p.numel())}
        outputs = {"rate": self.loop.rate, "pivots": self.loop.outputs["relative_pivots"], "natural": self.natural}
        return c_source(f"{self.name}_closed", inputs, outputs)

    @property
    def natural(self) -> ca.SX:
        """Relative pivots of natural constraints that must not depend on each other, shape (k,)."""
        judged = self.robot.natural and self.robot.redundant == "refused"
        return self.robot.natural_factor.relative_pivots if judged else ca.SX(0, 1)

    @functools.cached_property
    def driven(self) -> CSource:
        """The rate of the plant under inputs, or forces if that is what the law gives."""
        c, robot = self.robot.coordinates, self.robot
        force = ca.SX.sym("R", c.nv) if self.law.controller.applies_force else robot.u
        a = robot.acceleration_under(force)[0] if self.law.controller.applies_force else robot.acceleration
        inputs = {"t": c.t, "x": ca.vertcat(c.q, c.v), "plant": robot.p, "u": force}
        outputs = {"rate": ca.vertcat(c.N @ c.v, a), "pivots": ca.SX(0, 1), "natural": self.natural}
        return c_source(f"{self.name}_driven", inputs, outputs)

    @functools.cached_property
    def parameters(self) -> ParameterCode:
        """The plant's parameters."""
        return ParameterCode(self.name, "parameters of the plant", self.robot.parameters, self.values)

    @property
    def header(self) -> str:
        """The header."""
        name, law, upper = self.name, self.law.name, self.name.upper()
        said = comment(Labels.of(self.robot).robot)
        acts = "generalized forces on the velocities" if self.law.controller.applies_force else "inputs"
        bytes_needed = 8 * (max(self.closed.work, self.driven.work) + 5 * (self.robot.q.numel() + self.robot.v.numel()))
        natural, also = "", ""
        if self.natural.numel():
            also = f", and {upper}_SINGULAR"
            natural = (
                "/* A status besides those of the law: natural constraints depend on each other where a step begins,\n"
                "   so that their reactions are not determined. */\nenum "
                f"{{ {upper}_SINGULAR = {DEPENDENT_NATURAL_ROWS} }};\n\n"
            )
        return f"""\
/* {name}: the plant {said}, for hardware in the loop with {law}.

   Written by Erugin; it is not meant to be changed by hand.

   Work: {4 * self.driven.operations} operations for a step of the plant, {4 * self.closed.operations} for one of the
   closed loop, and some for adding up. No memory is allocated or kept; {bytes_needed} bytes wait on the stack.
   A step is one of the classical Runge-Kutta method of order 4. */

#ifndef {upper}_H
#define {upper}_H

#include "{law}.h"

#ifdef __cplusplus
extern "C" {{
#endif

{self.parameters.declared}
{natural}/* Moves q[] and v[] from time t [s] by a step h [s] under {acts} u[] that are held: what a plant
   does between two ticks of a controller. q[] and v[] stay as they were unless the status is {law.upper()}_OK;
   others are {law.upper()}_NOT_FINITE_INPUT and {law.upper()}_NOT_FINITE{also}. */
int {name}_step(const {name}_parameters *plant, double t, double h, double q[], double v[], const double u[]);

/* Moves q[] and v[] likewise under the law, asked at each stage of the step: the motion that Erugin simulates. Also
   returns what a tick at the begin of the step would. Nothing cuts what the law gives to limits. */
int {name}_closed_step(const {name}_parameters *plant, const {law}_parameters *parameters, double t, double h,
{" " * len(f"int {name}_closed_step(")}double q[], double v[]);

#ifdef __cplusplus
}}
#endif

#endif
"""

    @property
    def implementation(self) -> str:
        """The C file."""
        name, law = self.name, self.law.name
        driven = f"const {name}_parameters *plant, double t, double h, double q[], double v[], const double u[]"
        closed = (
            f"const {name}_parameters *plant, const {law}_parameters *parameters, double t, double h,\n"
            f"{' ' * len(f'int {name}_closed_step(')}double q[], double v[]"
        )
        return f"""\
/* {name}: see {name}.h. */

#include "{name}.h"

{PREAMBLE}
{FAST_MATH_GUARD}
{self.parameters.defined}
{self.driven.text}
{self.closed.text}
{self._step(f"{name}_step", driven, self.driven, "u")}
{self._step(f"{name}_closed_step", closed, self.closed, "parameters->value")}"""

    def _step(self, name: str, arguments: str, kernel: CSource, last: str) -> str:
        """A step as C.

        Args:
            name: of the function.
            arguments: their declarations.
            kernel: the rate.
            last: the last input of the rate.
        """
        upper, c = self.law.name.upper(), self.robot.coordinates
        nx = c.nq + c.nv
        bad = "CONTRADICTORY" if self.law.contradictory else "SINGULAR"
        told = {
            "pivots": (kernel.outputs["pivots"], self.law.law.tolerance, f"{upper}_{bad}"),
            "natural": (kernel.outputs["natural"], PIVOT_TOLERANCE, f"{self.name.upper()}_SINGULAR"),
        }
        told = {word: rows for word, rows in told.items() if rows[0]}
        others = "".join(f"    double {word}[{count}];\n" for word, (count, _, _) in told.items())
        judged = "".join(
            f"    for (i = 0; i < {count}; ++i)\n"
            f"        if (!({word}[i] > {number(least)}))\n"
            f"            return {word}[i] == {word}[i] ? {status} : {upper}_NOT_FINITE;\n"
            for word, (count, least, status) in told.items()
        )
        stages = "".join(self._stage(kernel.name, s) for s in range(1, 4))
        return f"""\
int {name}({arguments})
{{
    double x[{nx}], stage[{nx}], k[4][{nx}], work[{kernel.work}], time = t;
{others}    const double *in[4];
    double *out[3];
    int i, finite = isfinite(t) && isfinite(h);
    for (i = 0; i < {c.nq}; ++i)
        x[i] = stage[i] = q[i];
    for (i = 0; i < {c.nv}; ++i)
        x[{c.nq} + i] = stage[{c.nq} + i] = v[i];
    for (i = 0; i < {nx}; ++i)
        finite = finite && isfinite(x[i]);
    if (!finite)
        return {upper}_NOT_FINITE_INPUT;
    in[0] = &time;
    in[1] = stage;
    in[2] = plant->value;
    in[3] = {last};
    out[0] = k[0];
    out[1] = {"pivots" if "pivots" in told else "0"};
    out[2] = {"natural" if "natural" in told else "0"};
    {kernel.name}(in, out, work);
{judged}{stages}    for (i = 0; i < {nx}; ++i)
        x[i] += ({self._slope(CLASSICAL.b)})*h;
    for (i = 0; i < {nx}; ++i)
        if (!isfinite(x[i]))
            return {upper}_NOT_FINITE;
    for (i = 0; i < {c.nq}; ++i)
        q[i] = x[i];
    for (i = 0; i < {c.nv}; ++i)
        v[i] = x[{c.nq} + i];
    return {upper}_OK;
}}
"""

    def _stage(self, rate: str, s: int) -> str:
        nx = self.robot.q.numel() + self.robot.v.numel()
        return f"""\
    for (i = 0; i < {nx}; ++i)
        stage[i] = x[i] + ({self._slope(CLASSICAL.a[s])})*h;
    time = t + {number(CLASSICAL.c[s])}*h;
    out[0] = k[{s}];
    {rate}(in, out, work);
"""

    @staticmethod
    def _slope(weights: tuple[float, ...]) -> str:
        # In the order of Tableau.step, which begins with the first even where its weight is zero.
        first, *others = enumerate(weights)
        return " + ".join(f"k[{i}][i]*{number(weight)}" for i, weight in (first, *((i, w) for i, w in others if w)))


def _part(symbols: ca.SX, first: int, after: int) -> ca.SX:
    """Some symbols of a column, as a column."""
    return ca.vertcat(ca.SX(0, 1), *(symbols[i] for i in range(first, after)))
