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
from .straight_line_code import PREAMBLE, CSource, c_source, definitions
from .syntax import cases, comment, constants, index_macros, lines, number, number_table, string, table

CONDITIONS = {
    Range.ANY: "isfinite(x)",
    Range.POSITIVE: "isfinite(x) && x > 0.0",
    Range.NOT_NEGATIVE: "isfinite(x) && x >= 0.0",
    Range.SIGN: "x == 1.0 || x == -1.0",
    Range.SIGN_OR_ZERO: "x == 1.0 || x == -1.0 || x == 0.0",
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
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.controller.parameters.symbols, "z": self.law.z}
        outputs = {"u": self.law.output, "pivots": self.law.relative_pivots, "status": self.law.status}
        return c_source(f"{self.name}_kernel", inputs, outputs)

    @functools.cached_property
    def update(self) -> CSource:
        """C function of the memory after a sample."""
        c = self.controller.robot.coordinates
        inputs = {"t": c.t, "q": c.q, "v": c.v, "p": self.controller.parameters.symbols, "z": self.law.z}
        return c_source(f"{self.name}_update", inputs, {"z": self.law.updated})

    @property
    def remembers(self) -> bool:
        """True if the law has a memory."""
        return self.law.z.numel() > 0

    @property
    def has_status(self) -> bool:
        """True if the law has a status, LIMITED or HELD at times."""
        return self.law.status.numel() > 0

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
        if self.has_status:
            own += [Status.LIMITED, Status.HELD, Status.NOT_CONVERGED]
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
        if self.remembers:
            sizes["NZ"] = self.law.z.numel()
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
{self._memory_declared}/* Statuses of a tick. */
enum {{
{statuses}
}};

/* One tick of the law: u[] from time t [s], q[] and v[]. u[] is written if the status is {self._written} and is
   unchanged otherwise. It must not overlap q[] or v[]. */
int {name}_tick({self._arguments});

/* The same with {upper}_WORK doubles of workspace from the caller in place of the stack; no initial values needed. */
int {name}_tick_in({self._arguments},
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
{definitions(self.kernel, *([self.update] if self.remembers else []))}{self.kernel.text}
{self._memory_defined}{self._tick}
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
            f"Work: {self.work_summary}; {self._loops}.",
            f"Memory: none is allocated or retained. The parameters{' and the memory of the law' * self.remembers} "
            "belong to the caller; intermediate results use "
            f"{8 * self.kernel.work} bytes of stack, or of workspace from the caller{self._stack}, besides the "
            "compiler's own use.",
            "Threads: all memory that is written belongs to the caller, so any number of ticks may run concurrently.",
            "Units are SI units and radians.",
        )
        return "\n".join(textwrap.fill(text, 117, initial_indent="   ", subsequent_indent="   ") for text in paragraphs)

    @property
    def _loops(self) -> str:
        """Loops and branches of a tick, in words."""
        found = [sum(block.steps for block in source.blocks) for source in (self.kernel, self.update)]
        if not any(found):
            return "no loop of unknown length, no recursion, branches in comparisons only"
        return (
            f"besides, at most {found[0]} steps of the active-set method for limits, and {found[1]} per sample; no "
            "recursion, other branches in comparisons only"
        )

    @property
    def _stack(self) -> str:
        """Stack of algorithms with loops, in words; empty without them."""
        stack = max((block.stack for block in (*self.kernel.blocks, *self.update.blocks)), default=0)
        return f", and the method for limits about {stack} bytes of stack more" if stack else ""

    @property
    def applied(self) -> tuple[str, ...]:
        """Constants of the statuses with which an output is written."""
        words = [Status.OK.name, *([Status.LIMITED.name, Status.HELD.name] if self.has_status else [])]
        return tuple(f"{self.name.upper()}_{word}" for word in words)

    @property
    def _written(self) -> str:
        return " or ".join(filter(None, [", ".join(self.applied[:-1]), self.applied[-1]]))

    @property
    def _arguments(self) -> str:
        """Arguments of a tick."""
        memory = f"const {self.name}_memory *memory, " if self.remembers else ""
        state = "double t, const double q[], const double v[], double u[]"
        return f"const {self.name}_parameters *parameters, {memory}{state}"

    @property
    def _memory_declared(self) -> str:
        """Declarations of the memory; empty for a law without one."""
        name, upper = self.name, self.name.upper()
        if not self.remembers:
            return ""
        return f"""\
/* What the law remembers from sample to sample: copy it to save the state of the law, but do not look inside. */
typedef struct {name}_memory {{
    double value[{upper}_NZ];
}} {name}_memory;

/* Forgets all samples: call it before the first one. */
void {name}_memory_initial({name}_memory *memory);

/* Processes one sample, before the tick of the same instant: once per period, in the order of time. The status is
   {upper}_OK, or {upper}_NOT_FINITE_INPUT with the memory unchanged. */
int {name}_sample(const {name}_parameters *parameters, double t, const double q[], const double v[],
{" " * len(f"int {name}_sample(")}{name}_memory *memory);

"""

    @property
    def _memory_defined(self) -> str:
        """Definitions of the memory; empty for a law without one."""
        name, upper = self.name, self.name.upper()
        if not self.remembers:
            return ""
        numbers = self.law.initial.tolist()
        # One by one: a copied table might become a call of memcpy, which a bare-metal target may lack.
        initial = "".join(f"    memory->value[{i}] = {number(value)};\n" for i, value in enumerate(numbers))
        return f"""\
{self.update.text}
void {name}_memory_initial({name}_memory *memory)
{{
{initial}}}

int {name}_sample(const {name}_parameters *parameters, double t, const double q[], const double v[],
{" " * len(f"int {name}_sample(")}{name}_memory *memory)
{{
    const double *in[5];
    double *out[1];
    double next[{upper}_NZ], work[{self.update.work}];
{self._finite_check}    in[0] = &t;
    in[1] = q;
    in[2] = v;
    in[3] = parameters->value;
    in[4] = memory->value;
    out[0] = next;
    {name}_update(in, out, work);
    for (i = 0; i < {upper}_NZ; ++i)
        memory->value[i] = next[i];
    return {upper}_OK;
}}

"""

    @property
    def _finite_check(self) -> str:
        """Statements that reject input that is not finite; a wrapper deals with a state that is not."""
        upper = self.name.upper()
        if self.controller.accepts_any_number:
            return f"    int i;\n    if (!isfinite(t))\n        return {upper}_NOT_FINITE_INPUT;\n"
        return f"""\
    int i, finite = isfinite(t) != 0;
    for (i = 0; i < {upper}_NQ; ++i)
        finite = finite && isfinite(q[i]);
    for (i = 0; i < {upper}_NV; ++i)
        finite = finite && isfinite(v[i]);
    if (!finite)
        return {upper}_NOT_FINITE_INPUT;
"""

    @property
    def _tick(self) -> str:
        name, upper, nu, rows = self.name, self.name.upper(), self.law.output.numel(), self.law.relative_pivots.numel()
        bad = f"{upper}_CONTRADICTORY" if self.contradictory else f"{upper}_SINGULAR"
        checked = f"""\
    for (i = 0; i < {upper}_ROWS; ++i)
        if (!(pivots[i] > {number(self.law.tolerance)}))
            return pivots[i] == pivots[i] ? {bad} : {upper}_NOT_FINITE;
"""
        checked *= bool(rows)
        if self.has_status:
            # Compared as it is: NaN is no integer.
            failed = f"{upper}_{Status.NOT_CONVERGED.name}"
            checked += f"    if (reported == (double){failed})\n        return {failed};\n"
        copied = "".join(f"    u[{i}] = output[{i}];\n" for i in range(nu))
        known = "(int)reported" if self.has_status else f"{upper}_OK"
        copied = "".join(f"    u[{i}] = output[{i}];\n" for i in range(nu))
        known = "(int)reported" if self.has_status else f"{upper}_OK"
        if self.has_status:
            failed = f"{upper}_{Status.NOT_CONVERGED.name}"
            checked = f"    if ((int)reported == {failed})\n        return {failed};\n{checked}"
        return f"""\
int {name}_tick_in({self._arguments},
{" " * len(f"int {name}_tick_in(")}double work[])
{{
    const double *in[5];
    double *out[3];
    double output[{max(1, nu)}], pivots[{max(1, rows)}]{", reported" * self.has_status};
{self._finite_check}    in[0] = &t;
    in[1] = q;
    in[2] = v;
    in[3] = parameters->value;
    in[4] = {"memory->value" if self.remembers else "0"};
    out[0] = output;
    out[1] = pivots;
    out[2] = {"&reported" if self.has_status else "0"};
    {name}_kernel(in, out, work);
{checked}    for (i = 0; i < {upper}_NU; ++i)
        if (!isfinite(output[i]))
            return {upper}_NOT_FINITE;
{copied}    return {known};
}}

int {name}_tick({self._arguments})
{{
    double work[{upper}_WORK];
    return {name}_tick_in(parameters, {"memory, " * self.remembers}t, q, v, u, work);
}}
"""
