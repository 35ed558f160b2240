/* Common to all versions of FMI: the checked numbers of an instance, and quantities computed from them.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#ifndef CORE_H
#define CORE_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

#define CORE_TEXT 1024

/* Categories of messages, one bit each. Errors are logged unless turned off, all others if turned on. */
#define CORE_ERRORS 1
#define CORE_DISCARDS 2

/* REFUSED: the call is not allowed. UNDEFINED: the equations have no value at this point. */
typedef enum { CORE_OK, CORE_REFUSED, CORE_UNDEFINED } core_outcome;

typedef enum { CORE_INSTANTIATED, CORE_INITIALIZING, CORE_RUNNING, CORE_TERMINATED } core_mode;

/* Sets of modes, one bit each. */
#define BEFORE (1 << CORE_INSTANTIATED | 1 << CORE_INITIALIZING)
#define RUNNING (1 << CORE_RUNNING)
#define ANYTIME (BEFORE | RUNNING | 1 << CORE_TERMINATED)

/* All data that changes; a copy of it is the state of the FMU. */
typedef struct {
    /* by value reference: time, inputs, parameters, states, derivatives, outputs */
    double value[MODEL_VARIABLES];
    /* pivots at the start of the last step, and their largest values so far */
    double before[MODEL_PIVOTS_ROOM];
    double largest[MODEL_PIVOTS_ROOM];
    /* memory of a law after its last sample, number of samples, and time of the first */
    double memory[MODEL_MEMORY_ROOM];
    double samples;
    double origin;
    int32_t mode;
    int32_t fresh;
} core_data;

typedef struct {
    core_data data;
    double pivot[MODEL_PIVOTS_ROOM];
    double work[MODEL_WORK];
    double slope[4][MODEL_STATES_ROOM];
    double stage[MODEL_STATES_ROOM];
    double sampled[MODEL_MEMORY_ROOM]; /* memory as it will be after a sample that is due */
    char text[CORE_TEXT]; /* reason why the last call failed */
    int logged;           /* categories of messages that are turned on */
} core;

/* Sets all values to their start values. */
static void core_reset(core *c);

/* Checks that a call is allowed in the present mode; and the same for one that leads to another mode. */
static core_outcome core_require(core *c, const char *call, int modes);
static core_outcome core_change(core *c, const char *call, int modes, core_mode mode);

/* Returns CORE_REFUSED with this reason. */
static core_outcome core_refuse(core *c, const char *text);

/* Turns categories of messages on or off, all of them if `count` is zero. */
static core_outcome core_log(core *c, int on, size_t count, const char *const categories[]);

static core_outcome core_set(core *c, uint32_t reference, double number);
static core_outcome core_get(core *c, uint32_t reference, double *number);
static core_outcome core_set_time(core *c, double time);

/* The state x = (q, v) and its derivative, with `count` numbers each, which must be their full size. */
static core_outcome core_set_states(core *c, const double *states, size_t count);
static core_outcome core_get_states(core *c, double *states, size_t count);
static core_outcome core_get_derivatives(core *c, double *derivatives, size_t count);

/* Advances from `time` by `span` in equal steps of the classical Runge-Kutta method, none longer than MODEL_STEP; a law
   with a memory processes a sample every MODEL_PERIOD, between steps, with the inputs of the start.
   If a step fails, time and state stay at its start. */
static core_outcome core_advance(core *c, double time, double span);

/* Copies of the changing data in memory, which is allocated if `*state` is NULL. */
static core_outcome core_save(core *c, void **state);
static core_outcome core_restore(core *c, const void *state);
static void core_drop(void **state);

/* The same as bytes, which only an FMU with the same token accepts. */
#define CORE_BYTES (sizeof(core_data) + sizeof(MODEL_TOKEN))
static core_outcome core_write(core *c, const void *state, unsigned char *bytes, size_t count);
static core_outcome core_read(core *c, const unsigned char *bytes, size_t count, void **state);

#endif
