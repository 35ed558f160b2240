"""What an exported folder says of itself."""

from __future__ import annotations

import re
import textwrap

from .law_text import LawText
from .ros2_text import ros2_said, ros2_text


def readme_text(law: LawText, *, with_plant: bool) -> str:
    """What the folder is, and how to use it.

    Args:
        law: the law.
        with_plant: whether a plant is there.
    """
    name, upper, labels = law.name, law.name.upper(), law.labels
    plant = (
        f"`{name}_plant.h` has a plant: `{name}_plant_step` moves it between two ticks under inputs that are held, for "
        f"a controller that runs on its own hardware; `{name}_plant_closed_step` moves plant and law together."
    )
    pairs = [(given, constant) for given, found in law.renamed.items() for constant in found]
    spelled = [pair for pair in pairs if not pair[1].endswith(f"_{_underscored(pair[0])}")]
    renamed = ", ".join(f"`{given}` is `{constant}`" for given, constant in spelled)
    told = (
        "What a C name cannot have is an underscore in the names of places; the tables of names have all as they are."
    )
    told += f" Otherwise, {renamed}." if spelled else ""
    efforts = ""
    if law.efforts.size:
        done = (
            f"the inputs are cut to them, and the status is then `{upper}_LIMITED`"
            if law.saturate
            else "nothing here cuts the inputs to them; export with `saturate=True`, or do it in the drives"
        )
        efforts = f"`{name}_effort_limits` are the limits of the drives: {done}."
    parts = (efforts, plant * with_plant, told if law.renamed else "")
    more = "".join(f"\n{_wrapped(part)}\n" for part in parts if part)
    about = (
        f"The law of {labels.controller} for {labels.robot} as C99: {law.work_said}, {8 * law.kernel.work} bytes of "
        "the stack for intermediate results. No memory is allocated, no library is needed but `math.h`, nothing is "
        "kept between ticks."
    )
    return f"""\
# {name}

{_wrapped(about)}

```c
{name}_parameters parameters;
{name}_parameters_nominal(&parameters);
status = {name}_tick(&parameters, t, q, v, u);
```

`u` is written only if there is an output that may be applied; `{name}_status_text(status)` says what happened
otherwise. Set `parameters.value[{upper}_P_...]` at any time between two ticks and ask `{name}_check_parameters`.
{more}
`cmake -S . -B build && cmake --build build` makes the library and `{name}_example`. Compile without `-ffast-math`, and
with `-ffp-contract=off`, as `CMakeLists.txt` does: the numbers are then those of Python to rounding, as far as
`math.h` is the same.

## In ros2_control

{_wrapped(ros2_said(law))}

```cpp
{ros2_text(law)}```
"""


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def _underscored(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", name).rstrip("_").upper()
