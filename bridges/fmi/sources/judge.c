/* Checks that numbers are finite and rows are independent of each other. Part of core.c.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <math.h>
#include <stdio.h>

static core_outcome all_finite(core *c, double time, const double *numbers, size_t count, size_t first)
{
    for (size_t i = 0; i < count; ++i) {
        if (!isfinite(numbers[i])) {
            snprintf(c->text, sizeof c->text, "at t = %g s: %s is %g. " MODEL_NOT_FINITE, time,
                     model_name[first + i], numbers[i]);
            return CORE_UNDEFINED;
        }
    }
    return CORE_OK;
}

/* After a row that vanishes, a factorization continues with 0/0: the first bad pivot decides. */
static core_outcome judge_pivots(core *c, double time)
{
    for (int i = 0; i < MODEL_PIVOTS; ++i) {
        const double pivot = c->pivot[i];
        if (pivot > model_tolerance[i]) {
            continue;
        }
        if (isnan(pivot)) {
            snprintf(c->text, sizeof c->text, "at t = %g s: the pivot of row %s is not a number. " MODEL_NOT_FINITE,
                     time, model_row[i]);
        } else if (MODEL_CONTRADICTORY) {
            snprintf(c->text, sizeof c->text,
                     "at t = %g s: row %s contradicts rows before it%s. " MODEL_SINGULAR, time, model_row[i],
                     pivot < 0.0 ? ", or is too near to them to be met" : "");
        } else {
            snprintf(c->text, sizeof c->text,
                     "at t = %g s: row %s vanishes or depends on rows before it: what is left of it is %.3g of the largest "
                     "row of its constraint. " MODEL_SINGULAR,
                     time, model_row[i], sqrt(pivot > 0.0 ? pivot : 0.0));
        }
        return CORE_UNDEFINED;
    }
    return CORE_OK;
}

/* A fixed step can jump across a singular position. A small and falling pivot is therefore extrapolated by one step;
   for a natural row its square root falls linearly, or at the end of a mechanism's reach the pivot itself. */
static core_outcome watch_pivots(core *c, double time)
{
    for (int i = 0; i < MODEL_PIVOTS; ++i) {
        const double now = c->pivot[i], before = c->data.before[i], largest = c->data.largest[i];
        const int small = now < before && now < 0.1 * largest;
        const int falls = 2.0 * now - before <= model_tolerance[i] ||
                          (model_kind[i] == 'n' && 2.0 * sqrt(now) - sqrt(before) <= 0.0);
        if (MODEL_WATCHED && small && falls) {
            snprintf(c->text, sizeof c->text,
                     "at t = %g s, or in the step after it: row %s vanishes or depends on rows before it: its pivot has "
                     "fallen to %.3g of the largest that it has had, and falls below zero if it continues as in the last step. " MODEL_SINGULAR,
                     time, model_row[i], now / largest);
            return CORE_UNDEFINED;
        }
        c->data.before[i] = now;
        c->data.largest[i] = fmax(largest, now);
    }
    return CORE_OK;
}
