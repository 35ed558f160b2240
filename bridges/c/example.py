"""A program that calls an exported law, and how all is built."""

from __future__ import annotations

from .law_text import LawText
from .operations import number

STEPS = 1000


def main_text(law: LawText, q0: list[float], v0: list[float], *, step: float, with_plant: bool) -> str:
    """An example: one tick, and with a plant a thousand steps of the closed loop.

    Args:
        law: the law.
        q0: coordinates, nq of them.
        v0: velocities, nv of them.
        step: of the closed loop [s].
        with_plant: whether there is one.
    """
    name, upper = law.name, law.name.upper()
    plant = f"""
    {name}_plant_parameters plant;
    const double h = {number(step)};
    int step;
    {name}_plant_parameters_nominal(&plant);
    for (step = 0; step < {STEPS} && status == {upper}_OK; ++step)
        status = {name}_plant_closed_step(&plant, &parameters, step*h, h, q, v);
    printf("after %d steps of the closed loop: %s\\n", step, {name}_status_text(status));
    for (i = 0; i < {upper}_NQ; ++i)
        printf("%s = %.17g %s\\n", {name}_coordinate_names[i], q[i], {name}_coordinate_units[i]);
    if (status != {upper}_OK)
        return 1;
"""
    return f"""\
/* How to call {name}: build it by CMake, or by cc -std=c99 main.c {name}.c{f" {name}_plant.c" * with_plant} -lm */

#include <stdio.h>

#include "{name}{"_plant" * with_plant}.h"

int main(void)
{{
    {name}_parameters parameters;
    double q[] = {{{_numbers(q0)}}};
    double v[] = {{{_numbers(v0)}}};
    double u[{max(1, law.law.output.numel())}] = {{0.0}};
    int i, bad, status;

    {name}_parameters_nominal(&parameters);
    bad = {name}_check_parameters(&parameters);
    if (bad >= 0) {{
        printf("%s must be %s\\n", {name}_parameter_names[bad], {name}_parameter_range(bad));
        return 1;
    }}
    status = {name}_tick(&parameters, 0.0, q, v, u);
    if (status != {upper}_OK{f" && status != {upper}_LIMITED" * law.saturate}) {{
        printf("no output at this state: %s\\n", {name}_status_text(status));
        return 1;
    }}
    for (i = 0; i < {upper}_NU; ++i)
        printf("%s = %.17g %s\\n", {name}_output_names[i], u[i], {name}_output_units[i]);
{_block(plant) if with_plant else ""}    return 0;
}}
"""


def cmake_text(law: LawText, *, with_plant: bool) -> str:
    """A file for CMake.

    Args:
        law: the law.
        with_plant: whether there is one.
    """
    name = law.name
    return f"""\
cmake_minimum_required(VERSION 3.10)
project({name}_controller LANGUAGES C)

add_library({name}_controller STATIC {name}.c{f" {name}_plant.c" * with_plant})
target_include_directories({name}_controller PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
# C without extensions: GCC then rounds every product, as the law is written.
set_target_properties({name}_controller PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
                      POSITION_INDEPENDENT_CODE ON)
if(NOT MSVC)
  target_compile_options({name}_controller PRIVATE -Wall -Wextra -pedantic -ffp-contract=off)
endif()
if(UNIX)
  target_link_libraries({name}_controller PUBLIC m)
endif()

add_executable({name}_example main.c)
set_target_properties({name}_example PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF)
target_link_libraries({name}_example PRIVATE {name}_controller)
"""


def _numbers(values: list[float]) -> str:
    return ", ".join(map(number, values)) or "0.0"


def _block(text: str) -> str:
    """Statements with declarations before them, in a block of their own."""
    inner = "".join(f"    {line}\n" if line else "" for line in text.strip("\n").split("\n"))
    return f"    {{\n{inner}    }}\n"
