/* What every version of FMI needs: the numbers of an instance, checked, and what is computed from them.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#ifndef CORE_H
#define CORE_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

#define CORE_TEXT 1024

/* Categories of messages, one bit each. Errors are told unless they are turned off, all else if it is turned on. */
#define CORE_ERRORS 1
#define CORE_DISCARDS 2

/* REFUSED: what was asked for is not allowed. UNDEFINED: the equations have no value here. */
typedef enum { CORE_OK, CORE_REFUSED, CORE_UNDEFINED } core_outcome;

typedef enum { CORE_INSTANTIATED, CORE_INITIALIZING, CORE_RUNNING, CORE_TERMINATED } core_mode;

/* Sets of modes, one bit each. */
#define BEFORE (1 << CORE_INSTANTIATED | 1 << CORE_INITIALIZING)
#define RUNNING (1 << CORE_RUNNING)
#define ANYTIME (BEFORE | RUNNING | 1 << CORE_TERMINATED)

/* Everything that changes; a copy of it is the state of the FMU. */
typedef struct {
    /* by value reference: time, inputs, parameters, states, derivatives, outputs */
    double value[MODEL_VARIABLES];
    /* of the pivots at the start of the last step: themselves, and the largest so far */
    double before[MODEL_PIVOTS_ROOM];
    double largest[MODEL_PIVOTS_ROOM];
    int32_t mode;
    int32_t fresh;
} core_data;

typedef struct {
    core_data data;
    double pivot[MODEL_PIVOTS_ROOM];
    double work[MODEL_WORK];
    double slope[4][MODEL_STATES_ROOM];
    double stage[MODEL_STATES_ROOM];
    char text[CORE_TEXT]; /* why the last call failed */
    int logged;           /* categories of messages that are wanted */
} core;

/* All values as they are at the start. */
static void core_reset(core *c);

/* Whether a call is allowed now, in one of these modes; and the same for one that leads to another mode. */
static core_outcome core_require(core *c, const char *call, int modes);
static core_outcome core_change(core *c, const char *call, int modes, core_mode mode);

/* CORE_REFUSED, for this reason. */
static core_outcome core_refuse(core *c, const char *text);

/* Turns categories of messages on or off, all of them if `count` is zero. */
static core_outcome core_log(core *c, int on, size_t count, const char *const categories[]);

static core_outcome core_set(core *c, uint32_t reference, double number);
static core_outcome core_get(core *c, uint32_t reference, double *number);
static core_outcome core_set_time(core *c, double time);

/* The state x = (q, v) and its derivative, `count` numbers each, which must be all of them. */
static core_outcome core_set_states(core *c, const double *states, size_t count);
static core_outcome core_get_states(core *c, double *states, size_t count);
static core_outcome core_get_derivatives(core *c, double *derivatives, size_t count);

/* From `time` on by `span`, in equal steps of the classical Runge-Kutta method none of which is longer than
   MODEL_STEP. Where a step fails, time and state stay at its start. */
static core_outcome core_advance(core *c, double time, double span);

/* All that changes, kept in memory; it is taken from the system where `*state` is NULL. */
static core_outcome core_save(core *c, void **state);
static core_outcome core_restore(core *c, const void *state);
static void core_drop(void **state);

/* The same as bytes, which only an FMU with the same token takes. */
#define CORE_BYTES (sizeof(core_data) + sizeof(MODEL_TOKEN))
static core_outcome core_write(core *c, const void *state, unsigned char *bytes, size_t count);
static core_outcome core_read(core *c, const unsigned char *bytes, size_t count, void **state);

#endif
