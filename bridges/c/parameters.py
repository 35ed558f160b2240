"""Parameters as C: a struct of the caller's, its nominal values, and a check of ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...symbolic.parameters import Parameters, Range
from .identifiers import comment, constants, string
from .operations import number
from .tables import cases, table

CONDITIONS = {
    Range.ANY: "isfinite(x)",
    Range.POSITIVE: "isfinite(x) && x > 0.0",
    Range.NOT_NEGATIVE: "isfinite(x) && x >= 0.0",
    Range.SIGN: "x == 1.0 || x == -1.0",
}


@dataclass(frozen=True, eq=False)
class ParameterText:
    """Parameters of one owner.

    Attributes:
        prefix: of all names.
        owner: in words.
        parameters: names and ranges.
        values: nominal values, shape (n,).
    """

    prefix: str
    owner: str
    parameters: Parameters
    values: NDArray[np.float64]

    @property
    def constants(self) -> dict[str, str]:
        """The constant of each parameter's place, by its name."""
        names = self.parameters.names
        return dict(zip(names, constants(f"{self.prefix.upper()}_P_", names), strict=True))

    @property
    def declared(self) -> str:
        """What the header says of them."""
        prefix, upper, names = self.prefix, self.prefix.upper(), self.parameters.names
        rows = [
            f"    {constant} = {i}{',' * (i + 1 < len(names))} "
            f"/* {comment(name)} = {value!r}; {self._range(name).value} */"
            for i, (constant, name, value) in enumerate(
                zip(self.constants.values(), names, self.values.tolist(), strict=True)
            )
        ]
        places = "\n".join(["enum {", *rows, "};"]) if rows else "/* There are none. */"
        size = f"{upper}_NP"
        return f"""\
/* {comment(self.owner).capitalize()}: places in {prefix}_parameters.value, nominal values and what each may be,
   in SI units. */
enum {{ {size} = {len(names)} }};
{places}

typedef struct {prefix}_parameters {{
    double value[{max(1, len(names))}];
}} {prefix}_parameters;

extern const char *const {prefix}_parameter_names[{max(1, len(names))}];

/* Writes the nominal values. */
void {prefix}_parameters_nominal({prefix}_parameters *parameters);

/* The place of the first parameter that is not finite or out of its range; -1 if there is none. A tick does not ask:
   do so whenever they have been changed. */
int {prefix}_check_parameters(const {prefix}_parameters *parameters);

/* What a parameter may be, as the end of a sentence: "must be ...". */
const char *{prefix}_parameter_range(int place);
"""

    @property
    def defined(self) -> str:
        """What the C file says of them."""
        prefix, names = self.prefix, self.parameters.names
        values = self.values.tolist()
        # One by one: a copy of a table might become a call of memcpy, which a bare machine need not have.
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
        """Where there are none; a comparison with no place at all is one that compilers warn of."""
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
