/* Saved states: in memory, and as bytes. Part of core.c.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static core_outcome keep(core *c, const core_data *data, void **state)
{
    if (!*state) {
        *state = malloc(sizeof *data);
    }
    if (!*state) {
        return core_refuse(c, "out of memory for a state of the FMU");
    }
    memcpy(*state, data, sizeof *data);
    return CORE_OK;
}

static core_outcome core_save(core *c, void **state) { return keep(c, &c->data, state); }

static core_outcome core_restore(core *c, const void *state)
{
    if (!state) {
        return core_refuse(c, "no state of the FMU was given");
    }
    memcpy(&c->data, state, sizeof c->data);
    return CORE_OK;
}

static void core_drop(void **state)
{
    if (state) {
        free(*state);
        *state = NULL;
    }
}

static core_outcome core_write(core *c, const void *state, unsigned char *bytes, size_t count)
{
    if (!state || count < CORE_BYTES) {
        snprintf(c->text, sizeof c->text, "writing a state of the FMU requires a state and a buffer of %lu bytes, got %lu bytes",
                 (unsigned long)CORE_BYTES, (unsigned long)count);
        return CORE_REFUSED;
    }
    memcpy(bytes, MODEL_TOKEN, sizeof(MODEL_TOKEN));
    memcpy(bytes + sizeof(MODEL_TOKEN), state, sizeof(core_data));
    return CORE_OK;
}

static core_outcome core_read(core *c, const unsigned char *bytes, size_t count, void **state)
{
    core_data data;
    if (count != CORE_BYTES || memcmp(bytes, MODEL_TOKEN, sizeof(MODEL_TOKEN)) != 0) {
        snprintf(c->text, sizeof c->text, "these %lu bytes are not a state of this FMU, which has %lu",
                 (unsigned long)count, (unsigned long)CORE_BYTES);
        return CORE_REFUSED;
    }
    memcpy(&data, bytes + sizeof(MODEL_TOKEN), sizeof data);
    /* The mode is the only datum that is an index of a table. */
    if (data.mode < CORE_INSTANTIATED || data.mode > CORE_TERMINATED) {
        return core_refuse(c, "these bytes are a corrupted state of this FMU");
    }
    return keep(c, &data, state);
}
