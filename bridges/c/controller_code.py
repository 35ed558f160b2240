"""C source file and header of a controller and its parameters."""

from __future__ import annotations

import functools
import textwrap
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...controllers.controller import Controller
from ...controllers.law import Law
from ...controllers.status import Status
from ...simulation.labels import Labels
from ...symbolic.parameters import Parameters, Range
from .straight_line_code import PREAMBLE, CSource, c_source
from .syntax import cases, comment, constants, index_macros, lines, number, number_table, string, table

CONDITIONS = {
    Range.ANY: "isfinite(x)",
    Range.POSITIVE: "isfinite(x) && x > 0.0",
    Range.NOT_NEGATIVE: "isfinite(x) && x >= 0.0",
    Range.SIGN: "x == 1.0 || x == -1.0",
}


@dataclass(frozen=True, eq=False)
class ParameterCode:
    """C code of the parameters of a law or a plant.

    Attributes:
        prefix: prefix of all names.
        owner: description for comments, such as "parameters of the law".
        parameters: names and ranges.
        values: nominal values, shape (n,).
    """

    prefix: str
    owner: str
    parameters: Parameters
    values: NDArray[np.float64]

    @property
    def constants(self) -> dict[str, str]:
        """Name of each parameter → C constant for its index."""
        names = self.parameters.names
        return dict(zip(names, constants(f"{self.prefix.upper()}_P_", names), strict=True))

    @property
    def declared(self) -> str:
        """Declarations for the header."""
        prefix, upper, names = self.prefix, self.prefix.upper(), self.parameters.names
        rows = [
            f"    {constant} = {i}{',' * (i + 1 < len(names))} "
            f"/* {comment(name)} = {value!r}; {self._range(name).value} */"
            for i, (constant, name, value) in enumerate(
                zip(self.constants.values(), names, self.values.tolist(), strict=True)
            )
        ]
        indices = "\n".join(["enum {", *rows, "};"]) if rows else "/* None. */"
        size = f"{upper}_NP"
        return f"""\
/* {comment(self.owner).capitalize()}: indices in {prefix}_parameters.value, nominal values and ranges, in SI units. */
enum {{ {size} = {len(names)} }};
{indices}

typedef struct {prefix}_parameters {{
    double value[{max(1, len(names))}];
}} {prefix}_parameters;

extern const char *const {prefix}_parameter_names[{max(1, len(names))}];

/* Writes the nominal values. */
void {prefix}_parameters_nominal({prefix}_parameters *parameters);

/* The index of the first parameter that is not finite or is out of its range, or -1. A tick does not
   check: call this whenever parameters have changed. */
int {prefix}_check_parameters(const {prefix}_parameters *parameters);

/* The range of a parameter, as the end of a sentence: "must be ...". */
const char *{prefix}_parameter_range(int place);
"""

    @property
    def defined(self) -> str:
        """Definitions for the C file."""
        prefix, names = self.prefix, self.parameters.names
        values = self.values.tolist()
        # One by one: a copied table might become a call of memcpy, which a bare-metal target may lack.
        each = "".join(f"    parameters->value[{i}] = {number(value)};\n" for i, value in enumerate(values or [0.0]))
        return f"""\
{table(f"{prefix}_parameter_names", names)}
void {prefix}_parameters_nominal({prefix}_parameters *parameters)
{{
{each}}}

{self._checked if names else self._unchecked}"""

    @property
    def _checked(self) -> str:
        prefix, size = self.prefix, f"{self.prefix.upper()}_NP"
        kinds = ", ".join(str(list(Range).index(self._range(name))) for name in self.parameters.names)
        conditions = cases({i: CONDITIONS[each] for i, each in enumerate(Range)})
        texts = cases({i: string(each.value) for i, each in enumerate(Range)})
        return f"""\
static const unsigned char {prefix}_ranges[{size}] = {{{kinds}}};

static int {prefix}_allows(int range, double x)
{{
    switch (range) {{
{conditions}    default:
        return 0;
    }}
}}

int {prefix}_check_parameters(const {prefix}_parameters *parameters)
{{
    int i;
    for (i = 0; i < {size}; ++i)
        if (!{prefix}_allows({prefix}_ranges[i], parameters->value[i]))
            return i;
    return -1;
}}

const char *{prefix}_parameter_range(int place)
{{
    if (place < 0 || place >= {size})
        return "";
    switch ({prefix}_ranges[place]) {{
{texts}    default:
        return "";
    }}
}}
"""

    @property
    def _unchecked(self) -> str:
        """Definitions without parameters; compilers would warn of a comparison that is always false."""
        prefix = self.prefix
        return f"""\
int {prefix}_check_parameters(const {prefix}_parameters *parameters)
{{
    (void)parameters;
    return -1;
}}

const char *{prefix}_parameter_range(int place)
{{
    (void)place;
    return "";
}}
"""

    def _range(self, name: str) -> Range:
        return self.parameters.ranges.get(name, Range.ANY)


NOT_FINITE_INPUT = 8
"""Number after those of Status, for input that Python rejects with an exception."""
INPUT_MESSAGE = "Time, a coordinate or a velocity in the input is not finite; check the sensors."
FAST_MATH_GUARD = """\
#if defined(__FAST_MATH__)
#error "numbers that are not finite would not be detected: compile without -ffast-math"
#endif
"""


@dataclass(frozen=True, eq=False)
class ControllerCode:
    """C code of a law.

    Attributes:
        name: name of the files, and prefix of all names.
        controller: the controller.
        law: its law as expressions.
        values: nominal parameters, shape (np,).
        contradictory: True if the status for dependent rows means a contradiction, as the law's method solves
            dependent rows otherwise.
        saturate: True if the inputs are limited to the robot's limits.
    """

    name: str
    controller: Controller
    law: Law
    values: NDArray[np.float64]
    contradictory: bool
    saturate: bool

    @functools.cached_property
    def kernel(self) -> CSource:
        """C function of the law."""
        c = self.controller.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.controller.parameters.symbols}
        return c_source(f"{self.name}_kernel", inputs, {"u": self.law.output, "pivots": self.law.relative_pivots})

    @functools.cached_property
    def labels(self) -> Labels:
        """Names and units of the signals."""
        return Labels.of(self.controller.robot, self.controller)

    @property
    def efforts(self) -> NDArray[np.float64]:
        """Limits of the inputs, shape (nu,); empty if the robot has none, or the outputs are forces."""
        effort = self.controller.robot.limits.effort
        return effort if not self.controller.applies_force and np.isfinite(effort).any() else np.zeros(0)

    @functools.cached_property
    def parameters(self) -> ParameterCode:
        """C code of the parameters."""
        return ParameterCode(self.name, "parameters of the law", self.controller.parameters, self.values)

    @property
    def renamed(self) -> dict[str, tuple[str, ...]]:
        """Names that are not C identifiers → their constants; a coordinate and its velocity may have the same name."""
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
    def work_summary(self) -> str:
        """Number of operations of a tick, in words."""
        counts = dict(self.kernel.counts)
        divisions = counts.pop("/", 0)
        calls = [f"{count} {function}" for function, count in counts.items()]
        costly = ", ".join([*([f"{divisions} divisions"] if divisions else []), *calls])
        return f"{self.kernel.operations} operations per tick{f', including {costly}' if costly else ''}"

    @property
    def statuses(self) -> dict[str, tuple[int, str]]:
        """Name of each status → its number and sentence."""
        own = [Status.OK, Status.CONTRADICTORY if self.contradictory else Status.SINGULAR, Status.NOT_FINITE]
        if self.saturate:
            own.append(Status.LIMITED)
        found = {each.name: (int(each), each.sentence) for each in own}
        return found | {"NOT_FINITE_INPUT": (NOT_FINITE_INPUT, INPUT_MESSAGE)}

    @property
    def header(self) -> str:
        """Text of the header file."""
        name, upper, labels = self.name, self.name.upper(), self.labels
        force = self.controller.applies_force
        kind = "generalized forces R on the velocities" if force else "inputs u"
        sizes = {"NQ": len(labels.coordinates), "NV": len(labels.velocities), "NU": len(labels.inputs)}
        sizes |= {"ROWS": self.law.relative_pivots.numel(), "WORK": self.kernel.work}
        statuses = lines(f"{upper}_{word} = {value}" for word, (value, _) in self.statuses.items())
        counts = lines(f"{upper}_{key} = {size}" for key, size in sizes.items())
        limits = ""
        if self.efforts.size:
            done = "A tick applies them to the inputs." if self.saturate else "A tick does not apply them."
            limits = (
                f"/* Largest |u| of the actuators; INFINITY if it is not known. {done} */\n"
                f"extern const double {name}_effort_limits[{upper}_NU];\n\n"
            )
        return f"""\
/* {name}: the law of {comment(labels.controller)} for {comment(labels.robot)}, from (t, q, v) to {kind}.

   Generated by Erugin; do not edit.

{self._cost} */

#ifndef {upper}_H
#define {upper}_H

#ifdef __cplusplus
extern "C" {{
#endif

enum {{
{counts}
}};

/* Coordinates: indices in q[]. */
{index_macros(f"{upper}_Q_", labels.coordinates)}

/* Velocities: indices in v[]. */
{index_macros(f"{upper}_V_", labels.velocities)}

/* Outputs, {kind}: indices in u[]. */
{index_macros(f"{upper}_U_", labels.inputs)}

extern const char *const {name}_coordinate_names[{max(1, sizes["NQ"])}];
extern const char *const {name}_coordinate_units[{max(1, sizes["NQ"])}];
extern const char *const {name}_velocity_names[{max(1, sizes["NV"])}];
extern const char *const {name}_velocity_units[{max(1, sizes["NV"])}];
extern const char *const {name}_output_names[{max(1, sizes["NU"])}];
extern const char *const {name}_output_units[{max(1, sizes["NU"])}];

{limits}{self.parameters.declared}
/* Statuses of a tick. */
enum {{
{statuses}
}};

/* One tick of the law: u[] from time t [s], q[] and v[]. u[] is written if the status is {self._written} and is
   unchanged otherwise. It must not overlap q[] or v[]. */
int {name}_tick(const {name}_parameters *parameters, double t, const double q[], const double v[], double u[]);

/* The same with {upper}_WORK doubles of workspace from the caller in place of the stack; no initial values needed. */
int {name}_tick_in(const {name}_parameters *parameters, double t, const double q[], const double v[], double u[],
{" " * len(f"int {name}_tick_in(")}double work[]);

/* A sentence on a status, with a remedy. */
const char *{name}_status_text(int status);

#ifdef __cplusplus
}}
#endif

#endif
"""

    @property
    def implementation(self) -> str:
        """Text of the C file."""
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
{FAST_MATH_GUARD}
{tables}
{self.parameters.defined}
{self.kernel.text}
{self._tick}
const char *{name}_status_text(int status)
{{
    switch (status) {{
{sentences}    default:
        return "Unknown status.";
    }}
}}
"""

    @property
    def _cost(self) -> str:
        paragraphs = (
            f"Work: {self.work_summary}; no loop of unknown length, no recursion, branches in comparisons only.",
            "Memory: none is allocated or retained. The parameters belong to the caller; intermediate results use "
            f"{8 * self.kernel.work} bytes of stack, or of workspace from the caller, besides the compiler's own use.",
            "Threads: all memory that is written belongs to the caller, so any number of ticks may run concurrently.",
            "Units are SI units and radians.",
        )
        return "\n".join(textwrap.fill(text, 117, initial_indent="   ", subsequent_indent="   ") for text in paragraphs)

    @property
    def _written(self) -> str:
        upper = self.name.upper()
        return f"{upper}_OK or {upper}_LIMITED" if self.saturate else f"{upper}_OK"

    @property
    def _tick(self) -> str:
        name, upper, nu, rows = self.name, self.name.upper(), self.law.output.numel(), self.law.relative_pivots.numel()
        bad = f"{upper}_CONTRADICTORY" if self.contradictory else f"{upper}_SINGULAR"
        checked = f"""\
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
{checked * bool(rows)}    for (i = 0; i < {upper}_NU; ++i)
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
