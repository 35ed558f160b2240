/* The checked numbers of an instance, and quantities computed from them.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge.c"
#include "state.c"

#define FRESH_DERIVATIVES 1
#define FRESH_OUTPUTS 2

#define FIRST_INPUT 1
#define FIRST_PARAMETER (FIRST_INPUT + MODEL_INPUTS)
#define FIRST_STATE (FIRST_PARAMETER + MODEL_PARAMETERS)
#define FIRST_DERIVATIVE (FIRST_STATE + MODEL_STATES)
#define FIRST_OUTPUT (FIRST_DERIVATIVE + MODEL_STATES)

static void core_reset(core *c)
{
    memset(&c->data, 0, sizeof c->data);
    memcpy(c->data.value, model_start, sizeof c->data.value);
    memcpy(c->data.memory, model_memory, sizeof c->data.memory);
    c->data.mode = CORE_INSTANTIATED;
    c->text[0] = '\0';
}

static core_outcome core_require(core *c, const char *call, int modes)
{
    static const char *const words[] = {
        "before initialization", "during initialization", "after initialization", "after termination"};
    if (modes & (1 << c->data.mode)) {
        return CORE_OK;
    }
    snprintf(c->text, sizeof c->text, "%s is not allowed %s", call, words[c->data.mode]);
    return CORE_REFUSED;
}

static core_outcome core_change(core *c, const char *call, int modes, core_mode mode)
{
    const core_outcome outcome = core_require(c, call, modes);
    if (outcome == CORE_OK) {
        c->data.mode = (int32_t)mode;
    }
    return outcome;
}

static core_outcome core_refuse(core *c, const char *text)
{
    snprintf(c->text, sizeof c->text, "%s", text);
    return CORE_REFUSED;
}

static core_outcome core_log(core *c, int on, size_t count, const char *const categories[])
{
    int which = count ? 0 : CORE_ERRORS | CORE_DISCARDS;
    for (size_t i = 0; i < count; ++i) {
        if (strcmp(categories[i], "logStatusError") == 0) {
            which |= CORE_ERRORS;
        } else if (strcmp(categories[i], "logStatusDiscard") == 0) {
            which |= CORE_DISCARDS;
        } else {
            snprintf(c->text, sizeof c->text, "unknown log category %s: use logStatusError or logStatusDiscard",
                     categories[i]);
            return CORE_REFUSED;
        }
    }
    c->logged = on ? c->logged | which : c->logged & ~which;
    return CORE_OK;
}

/* True if a parameter may have a value; model_limit has one letter per parameter. */
static int allowed(char limit, double number, const char **what)
{
    switch (limit) {
    case 'p':
        *what = "greater than zero";
        return number > 0.0;
    case 'n':
        *what = "at least zero";
        return number >= 0.0;
    case 's':
        *what = "+1 or -1";
        return number == 1.0 || number == -1.0;
    case 'z':
        *what = "+1, -1 or 0";
        return number == 1.0 || number == -1.0 || number == 0.0;
    default:
        *what = "finite";
        return 1;
    }
}

static core_outcome core_set(core *c, uint32_t reference, double number)
{
    const char *what = "finite";
    if (reference >= MODEL_VARIABLES) {
        snprintf(c->text, sizeof c->text, "unknown value reference %lu: the last one is %lu",
                 (unsigned long)reference, (unsigned long)(MODEL_VARIABLES - 1));
        return CORE_REFUSED;
    }
    if (reference < FIRST_INPUT || reference >= FIRST_DERIVATIVE) {
        snprintf(c->text, sizeof c->text, "%s cannot be set: it is %s", model_name[reference],
                 reference < FIRST_INPUT ? "the independent variable" : "calculated");
        return CORE_REFUSED;
    }
    if (reference >= FIRST_STATE && c->data.mode == CORE_RUNNING) {
        snprintf(c->text, sizeof c->text,
                 "%s is a state, which cannot be set as a variable after initialization",
                 model_name[reference]);
        return CORE_REFUSED;
    }
    if (!isfinite(number) || !allowed(model_limit[reference], number, &what)) {
        snprintf(c->text, sizeof c->text, "%s must be %s, got %.17g", model_name[reference], what, number);
        return CORE_REFUSED;
    }
    c->data.value[reference] = number;
    c->data.fresh = 0;
    return CORE_OK;
}

/* True if a law with a memory has a sample to process. */
static int is_due(const core *c, double time)
{
    return MODEL_MEMORY > 0 &&
           (c->data.samples < 1.0 || time >= c->data.origin + (c->data.samples - 1e-9) * MODEL_PERIOD);
}

/* The memory at a time: after the sample, if one is due. */
static const double *memory_at(core *c, double time)
{
    double *const value = c->data.value;
    if (!is_due(c, time)) {
        return c->data.memory;
    }
    {
        const double *const in[] = {&time, value + FIRST_INPUT, value + FIRST_PARAMETER, value + FIRST_STATE,
                                    c->data.memory};
        double *const out[] = {c->sampled};
        model_update(in, out, c->work);
    }
    return c->sampled;
}

/* Processes the sample that is due, if there is one. */
static void process_sample(core *c, double time)
{
    if (is_due(c, time)) {
        memcpy(c->data.memory, memory_at(c, time), sizeof c->data.memory);
        if (c->data.samples < 1.0) {
            c->data.origin = time;
        }
        c->data.samples += 1.0;
    }
}

static core_outcome rate(core *c, double time, const double *states, const double *memory, double *derivatives)
{
    double *const value = c->data.value;
    const double *const in[] = {&time, value + FIRST_INPUT, value + FIRST_PARAMETER, states, memory};
    double *const out[] = {derivatives, c->pivot};
    model_rate(in, out, c->work);
    if (judge_pivots(c, time) != CORE_OK) {
        return CORE_UNDEFINED;
    }
    return all_finite(c, time, derivatives, MODEL_STATES, FIRST_DERIVATIVE);
}

static core_outcome refresh(core *c, int what)
{
    double *const value = c->data.value;
    if (c->data.fresh & what) {
        return CORE_OK;
    }
    if (what == FRESH_DERIVATIVES) {
        if (rate(c, value[0], value + FIRST_STATE, memory_at(c, value[0]), value + FIRST_DERIVATIVE) != CORE_OK) {
            return CORE_UNDEFINED;
        }
    } else {
        const double *const in[] = {value, value + FIRST_INPUT, value + FIRST_PARAMETER, value + FIRST_STATE,
                                    memory_at(c, value[0])};
        double *const out[] = {value + FIRST_OUTPUT, c->pivot};
        model_outputs(in, out, c->work);
        if (judge_pivots(c, value[0]) != CORE_OK ||
            all_finite(c, value[0], value + FIRST_OUTPUT, MODEL_OUTPUTS, FIRST_OUTPUT) != CORE_OK) {
            return CORE_UNDEFINED;
        }
    }
    c->data.fresh |= what;
    return CORE_OK;
}

static core_outcome core_get(core *c, uint32_t reference, double *number)
{
    core_outcome outcome = CORE_OK;
    if (reference >= MODEL_VARIABLES) {
        snprintf(c->text, sizeof c->text, "unknown value reference %lu: the last one is %lu",
                 (unsigned long)reference, (unsigned long)(MODEL_VARIABLES - 1));
        return CORE_REFUSED;
    }
    if (reference >= FIRST_OUTPUT) {
        outcome = refresh(c, FRESH_OUTPUTS);
    } else if (reference >= FIRST_DERIVATIVE) {
        outcome = refresh(c, FRESH_DERIVATIVES);
    }
    *number = c->data.value[reference];
    return outcome;
}

static core_outcome core_set_time(core *c, double time)
{
    if (!isfinite(time)) {
        snprintf(c->text, sizeof c->text, "time must be finite, got %g", time);
        return CORE_REFUSED;
    }
    c->data.value[0] = time;
    c->data.fresh = 0;
    return CORE_OK;
}

static core_outcome all_states(core *c, size_t count)
{
    if (count == MODEL_STATES) {
        return CORE_OK;
    }
    snprintf(c->text, sizeof c->text, "the number of continuous states is %lu, got %lu", (unsigned long)MODEL_STATES,
             (unsigned long)count);
    return CORE_REFUSED;
}

static core_outcome core_set_states(core *c, const double *states, size_t count)
{
    if (all_states(c, count) != CORE_OK || all_finite(c, c->data.value[0], states, count, FIRST_STATE) != CORE_OK) {
        return CORE_REFUSED;
    }
    memcpy(c->data.value + FIRST_STATE, states, count * sizeof *states);
    c->data.fresh = 0;
    return CORE_OK;
}

static core_outcome core_get_states(core *c, double *states, size_t count)
{
    if (all_states(c, count) != CORE_OK) {
        return CORE_REFUSED;
    }
    memcpy(states, c->data.value + FIRST_STATE, count * sizeof *states);
    return CORE_OK;
}

static core_outcome core_get_derivatives(core *c, double *derivatives, size_t count)
{
    core_outcome outcome = all_states(c, count);
    if (outcome == CORE_OK) {
        outcome = refresh(c, FRESH_DERIVATIVES);
    }
    if (outcome == CORE_OK) {
        memcpy(derivatives, c->data.value + FIRST_DERIVATIVE, count * sizeof *derivatives);
    }
    return outcome;
}

static core_outcome step(core *c, double time, double h)
{
    static const double times[] = {0.0, 0.5, 0.5, 1.0};
    double *const x = c->data.value + FIRST_STATE;
    for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < MODEL_STATES; ++i) {
            c->stage[i] = k ? x[i] + c->slope[k - 1][i] * times[k] * h : x[i];
        }
        if (rate(c, time + times[k] * h, c->stage, c->data.memory, c->slope[k]) != CORE_OK) {
            return CORE_UNDEFINED;
        }
        if (k == 0 && watch_pivots(c, time) != CORE_OK) {
            return CORE_UNDEFINED;
        }
    }
    for (int i = 0; i < MODEL_STATES; ++i) {
        c->stage[i] = x[i] + (c->slope[0][i] * (1.0 / 6.0) + c->slope[1][i] * (1.0 / 3.0) +
                              c->slope[2][i] * (1.0 / 3.0) + c->slope[3][i] * (1.0 / 6.0)) * h;
    }
    if (all_finite(c, time + h, c->stage, MODEL_STATES, FIRST_STATE) != CORE_OK) {
        return CORE_UNDEFINED;
    }
    memcpy(x, c->stage, MODEL_STATES * sizeof *x);
    return CORE_OK;
}

/* Advances the states in equal steps; the time only if a step fails. */
static core_outcome integrate(core *c, double time, double span)
{
    if (MODEL_STATES > 0 && span > 0.0) {
        const double count = fmax(1.0, ceil(span / MODEL_STEP - 1e-9));
        const double h = span / count;
        if (count > 1e9) {
            snprintf(c->text, sizeof c->text, "a step of %g s requires %g internal steps of %g s, but at most 1e9 are allowed",
                     span, count, MODEL_STEP);
            return CORE_REFUSED;
        }
        for (double k = 0.0; k < count; k += 1.0) {
            if (step(c, time + k * h, h) != CORE_OK) {
                c->data.value[0] = time + k * h;
                return CORE_UNDEFINED;
            }
        }
    }
    return CORE_OK;
}

static core_outcome core_advance(core *c, double time, double span)
{
    const double now = c->data.value[0];
    if (!isfinite(time) || !isfinite(span) || span < 0.0) {
        snprintf(c->text, sizeof c->text, "a step must start at a finite time and not be negative, got %g s and %g s", time,
                 span);
        return CORE_REFUSED;
    }
    if (fabs(time - now) > 1e-9 * (span + fabs(now))) {
        snprintf(c->text, sizeof c->text, "a step must start where the last one ended, at t = %.17g s, got %.17g s", now,
                 time);
        return CORE_REFUSED;
    }
    c->data.fresh = 0;
    if (MODEL_MEMORY > 0 && span / MODEL_PERIOD > 1e9) {
        snprintf(c->text, sizeof c->text, "a step of %g s requires %g samples, but at most 1e9 are allowed", span,
                 span / MODEL_PERIOD);
        return CORE_REFUSED;
    }
    for (double at = time, end = time + span; at < end;) {
        double next = end;
        core_outcome outcome;
        process_sample(c, at);
        if (MODEL_MEMORY > 0) {
            next = c->data.origin + c->data.samples * MODEL_PERIOD;
            /* A sample at the end of the step waits for the inputs there. */
            next = next < end - 1e-9 * MODEL_PERIOD ? next : end;
        }
        outcome = integrate(c, at, next - at);
        if (outcome != CORE_OK) {
            return outcome;
        }
        at = next;
    }
    c->data.value[0] = time + span;
    return CORE_OK;
}
