"""A control law as one C file and its header."""

from __future__ import annotations

import functools
import textwrap
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller, Law
from ...controllers.status import Status
from ...scenarios.labels import Labels
from .identifiers import comment, constants, string
from .operations import number
from .parameters import ParameterText
from .source import PREAMBLE, CSource, c_source
from .tables import cases, lines, number_table, places, table

NOT_FINITE_INPUT = 8
"""What Python raises as an error has a number of its own behind those of Status."""
INPUT_SENTENCE = "Time, a coordinate or a velocity that came in is not finite, such as a sample of a broken sensor."
GUARD = """\
#if defined(__FAST_MATH__)
#error "numbers that are not finite would pass unseen: compile without -ffast-math"
#endif
"""


@dataclass(frozen=True, eq=False)
class LawText:
    """One law on its way to C.

    Attributes:
        name: of the files, and prefix of all names.
        controller: with a law.
        law: its expressions.
        values: nominal parameters, shape (np,).
        contradictory: whether dependent rows contradict each other where they are told, for the method of the law
            serves those that only depend.
        saturate: whether the inputs are cut to the robot's limits.
    """

    name: str
    controller: Controller
    law: Law
    values: NDArray[np.float64]
    contradictory: bool
    saturate: bool

    @functools.cached_property
    def kernel(self) -> CSource:
        """The law as a function."""
        c = self.controller.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.controller.parameters.symbols}
        return c_source(f"{self.name}_kernel", inputs, {"u": self.law.output, "pivots": self.law.relative_pivots})

    @functools.cached_property
    def labels(self) -> Labels:
        """Names and units of the signals."""
        return Labels.of(self.controller.robot, self.controller)

    @property
    def efforts(self) -> NDArray[np.float64]:
        """Limits of the inputs, shape (nu,); empty if it has none, or the outputs are forces."""
        effort = self.controller.robot.limits.effort
        return effort if not self.controller.applies_force and np.isfinite(effort).any() else np.zeros(0)

    @functools.cached_property
    def parameters(self) -> ParameterText:
        """The parameters."""
        return ParameterText(self.name, "parameters of the law", self.controller.parameters, self.values)

    @property
    def renamed(self) -> dict[str, tuple[str, ...]]:
        """Names that C cannot have, and their constants: a coordinate and its velocity may be called the same."""
        upper, labels = self.name.upper(), self.labels
        groups = {"Q": labels.coordinates.names, "V": labels.velocities.names, "U": labels.inputs.names}
        written = {f"{upper}_{letter}_": names for letter, names in groups.items()}
        pairs = [
            (prefix, pair)
            for prefix, names in written.items()
            for pair in zip(names, constants(prefix, names), strict=True)
        ]
        pairs += [(f"{upper}_P_", pair) for pair in self.parameters.constants.items()]
        found: dict[str, tuple[str, ...]] = {}
        for prefix, (name, constant) in pairs:
            if constant != f"{prefix}{name.upper()}":
                found[name] = (*found.get(name, ()), constant)
        return found

    @property
    def work_said(self) -> str:
        """How much is done at a tick."""
        counts = dict(self.kernel.counts)
        divisions = counts.pop("/", 0)
        said = [f"{count} {function}" for function, count in counts.items()]
        among = ", ".join([*([f"{divisions} divisions"] if divisions else []), *said])
        return f"{self.kernel.operations} operations at every tick{f', among them {among}' if among else ''}"

    @property
    def statuses(self) -> dict[str, tuple[int, str]]:
        """Number and sentence of each status, by its name."""
        own = [Status.OK, Status.CONTRADICTORY if self.contradictory else Status.SINGULAR, Status.NOT_FINITE]
        if self.saturate:
            own.append(Status.LIMITED)
        told = {each.name: (int(each), each.sentence) for each in own}
        return told | {"NOT_FINITE_INPUT": (NOT_FINITE_INPUT, INPUT_SENTENCE)}

    @property
    def header(self) -> str:
        """The header."""
        name, upper, labels = self.name, self.name.upper(), self.labels
        force = self.controller.applies_force
        kind = "generalized forces R on the velocities" if force else "inputs u"
        sizes = {"NQ": len(labels.coordinates), "NV": len(labels.velocities), "NU": len(labels.inputs)}
        sizes |= {"ROWS": self.law.relative_pivots.numel(), "WORK": self.kernel.work}
        statuses = lines(f"{upper}_{word} = {value}" for word, (value, _) in self.statuses.items())
        counts = lines(f"{upper}_{key} = {size}" for key, size in sizes.items())
        limits = ""
        if self.efforts.size:
            done = "The inputs are cut to them." if self.saturate else "Nothing here cuts the inputs to them."
            limits = (
                f"/* Greatest |u| that the drives can give; INFINITY where none is known. {done} */\n"
                f"extern const double {name}_effort_limits[{upper}_NU];\n\n"
            )
        return f"""\
/* {name}: the law of {comment(labels.controller)} for {comment(labels.robot)}, from (t, q, v) to {kind}.

   Written by Erugin; it is not meant to be changed by hand.

{self._cost} */

#ifndef {upper}_H
#define {upper}_H

#ifdef __cplusplus
extern "C" {{
#endif

enum {{
{counts}
}};

/* Coordinates: places in q[]. */
{places(f"{upper}_Q_", labels.coordinates)}

/* Velocities: places in v[]. */
{places(f"{upper}_V_", labels.velocities)}

/* Outputs, {kind}: places in u[]. */
{places(f"{upper}_U_", labels.inputs)}

extern const char *const {name}_coordinate_names[{max(1, sizes["NQ"])}];
extern const char *const {name}_coordinate_units[{max(1, sizes["NQ"])}];
extern const char *const {name}_velocity_names[{max(1, sizes["NV"])}];
extern const char *const {name}_velocity_units[{max(1, sizes["NV"])}];
extern const char *const {name}_output_names[{max(1, sizes["NU"])}];
extern const char *const {name}_output_units[{max(1, sizes["NU"])}];

{limits}{self.parameters.declared}
/* What a tick says. */
enum {{
{statuses}
}};

/* The law at one tick: u[] from time t [s], q[] and v[]. u[] is written if the status is {self._written} and stays as
   it was otherwise. It must not overlap q[] or v[]. */
int {name}_tick(const {name}_parameters *parameters, double t, const double q[], const double v[], double u[]);

/* The same with room for {upper}_WORK doubles of the caller's in place of the stack; they need no values. */
int {name}_tick_in(const {name}_parameters *parameters, double t, const double q[], const double v[], double u[],
{" " * len(f"int {name}_tick_in(")}double work[]);

/* A sentence on a status, and what to try. */
const char *{name}_status_text(int status);

#ifdef __cplusplus
}}
#endif

#endif
"""

    @property
    def implementation(self) -> str:
        """The C file."""
        name, labels = self.name, self.labels
        groups = {"coordinate": labels.coordinates, "velocity": labels.velocities, "output": labels.inputs}
        tables = "".join(
            f"{table(f'{name}_{group}_names', columns.names)}{table(f'{name}_{group}_units', columns.units)}"
            for group, columns in groups.items()
        )
        if self.efforts.size:
            tables += number_table(f"{name}_effort_limits", self.efforts.tolist())
        sentences = cases({value: string(text) for value, text in self.statuses.values()})
        return f"""\
/* {name}: see {name}.h. */

#include "{name}.h"

{PREAMBLE}
{GUARD}
{tables}
{self.parameters.defined}
{self.kernel.text}
{self._tick}
const char *{name}_status_text(int status)
{{
    switch (status) {{
{sentences}    default:
        return "There is no such status.";
    }}
}}
"""

    @property
    def _cost(self) -> str:
        said = (
            f"Work: {self.work_said}; no loop of unknown length, no recursion, no branch but in comparisons.",
            "Memory: none is allocated and none is kept. The parameters are the caller's; "
            f"{8 * self.kernel.work} bytes wait on the stack for intermediate results, beside what a compiler puts "
            "there, or where the caller wants them.",
            "Threads: whatever is written belongs to the caller, so any number of ticks may run side by side.",
            "Units are SI units and radians.",
        )
        return "\n".join(textwrap.fill(line, 117, initial_indent="   ", subsequent_indent="   ") for line in said)

    @property
    def _written(self) -> str:
        upper = self.name.upper()
        return f"{upper}_OK or {upper}_LIMITED" if self.saturate else f"{upper}_OK"

    @property
    def _tick(self) -> str:
        name, upper, nu, rows = self.name, self.name.upper(), self.law.output.numel(), self.law.relative_pivots.numel()
        bad = f"{upper}_CONTRADICTORY" if self.contradictory else f"{upper}_SINGULAR"
        judged = f"""\
    for (i = 0; i < {upper}_ROWS; ++i)
        if (!(pivots[i] > {number(self.law.tolerance)}))
            return pivots[i] == pivots[i] ? {bad} : {upper}_NOT_FINITE;
"""
        cut = f"""\
    for (i = 0; i < {upper}_NU; ++i)
        if (fabs(output[i]) > {name}_effort_limits[i]) {{
            output[i] = copysign({name}_effort_limits[i], output[i]);
            status = {upper}_LIMITED;
        }}
"""
        limited, copied = self.saturate, "".join(f"    u[{i}] = output[{i}];\n" for i in range(nu))
        return f"""\
int {name}_tick_in(const {name}_parameters *parameters, double t, const double q[], const double v[], double u[],
{" " * len(f"int {name}_tick_in(")}double work[])
{{
    const double *in[4];
    double *out[2];
    double output[{max(1, nu)}], pivots[{max(1, rows)}];
    int i, finite = isfinite(t) != 0{f", status = {upper}_OK" * limited};
    for (i = 0; i < {upper}_NQ; ++i)
        finite = finite && isfinite(q[i]);
    for (i = 0; i < {upper}_NV; ++i)
        finite = finite && isfinite(v[i]);
    if (!finite)
        return {upper}_NOT_FINITE_INPUT;
    in[0] = &t;
    in[1] = q;
    in[2] = v;
    in[3] = parameters->value;
    out[0] = output;
    out[1] = pivots;
    {name}_kernel(in, out, work);
{judged * bool(rows)}    for (i = 0; i < {upper}_NU; ++i)
        if (!isfinite(output[i]))
            return {upper}_NOT_FINITE;
{cut * limited}{copied}    return {"status" if limited else f"{upper}_OK"};
}}

int {name}_tick(const {name}_parameters *parameters, double t, const double q[], const double v[], double u[])
{{
    double work[{upper}_WORK];
    return {name}_tick_in(parameters, t, q, v, u, work);
}}
"""
