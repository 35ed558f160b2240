/* The functions of FMI 3.0 for co-simulation and model exchange.

   Copyright (c) 2026, the Erugin developers. SPDX-License-Identifier: BSD-3-Clause */
#include "fmi3_api.h"

#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "model.c"
#include "core.c"

typedef struct {
    core core; /* first: an instance is its core */
    fmi3LogMessageCallback log;
    fmi3InstanceEnvironment environment;
    bool exchanged; /* true for model exchange */
} instance;

static void tell(fmi3LogMessageCallback log, fmi3InstanceEnvironment environment, fmi3Status status, const char *text)
{
    if (log) {
        log(environment, status, status == fmi3Discard ? "logStatusDiscard" : "logStatusError", text);
    }
}

static fmi3Status fail(instance *c, fmi3Status status)
{
    if (c->core.logged & (status == fmi3Discard ? CORE_DISCARDS : CORE_ERRORS)) {
        tell(c->log, c->environment, status, c->core.text);
    }
    return status;
}

static fmi3Status finish(instance *c, core_outcome outcome)
{
    if (outcome == CORE_OK) {
        return fmi3OK;
    }
    /* In co-simulation the importer cannot try a smaller step after a getter. */
    return fail(c, outcome == CORE_UNDEFINED && c->exchanged ? fmi3Discard : fmi3Error);
}

static fmi3Status refuse(instance *c, const char *text)
{
    return finish(c, core_refuse(&c->core, text));
}

static fmi3Status require(instance *c, const char *call, int modes)
{
    return finish(c, core_require(&c->core, call, modes));
}

static fmi3Status change(instance *c, const char *call, int modes, core_mode mode)
{
    return finish(c, core_change(&c->core, call, modes, mode));
}

static fmi3Instance make(fmi3String token, bool exchanged, fmi3Boolean logging, fmi3InstanceEnvironment environment,
                         fmi3LogMessageCallback log)
{
    instance *c;
    if (!token || strcmp(token, MODEL_TOKEN) != 0) {
        tell(log, environment, fmi3Error, "the instantiation token does not match that of this binary, " MODEL_TOKEN);
        return NULL;
    }
    if (exchanged && !MODEL_EXCHANGE) {
        tell(log, environment, fmi3Error, "this FMU is for co-simulation only");
        return NULL;
    }
    c = calloc(1, sizeof *c);
    if (!c) {
        tell(log, environment, fmi3Error, "out of memory for another instance");
        return NULL;
    }
    c->log = log;
    c->environment = environment;
    c->exchanged = exchanged;
    c->core.logged = logging ? CORE_ERRORS | CORE_DISCARDS : CORE_ERRORS;
    core_reset(&c->core);
    return c;
}

EXPORTED const char *NAMED(fmi3GetVersion)(void) { return "3.0"; }

EXPORTED fmi3Status NAMED(fmi3SetDebugLogging)(fmi3Instance c, fmi3Boolean on, size_t count,
                                               const fmi3String categories[])
{
    instance *const it = c;
    const fmi3Status status = require(it, "fmi3SetDebugLogging", ANYTIME);
    return status == fmi3OK ? finish(it, core_log(&it->core, on, count, categories)) : status;
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateModelExchange)(fmi3String name, fmi3String token, fmi3String resources,
                                                          fmi3Boolean visible, fmi3Boolean logging,
                                                          fmi3InstanceEnvironment environment,
                                                          fmi3LogMessageCallback log)
{
    (void)name, (void)resources, (void)visible;
    return make(token, true, logging, environment, log);
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean events, fmi3Boolean early_return, const fmi3ValueReference intermediate[], size_t intermediate_count,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update)
{
    (void)name, (void)resources, (void)visible, (void)early_return, (void)intermediate, (void)update;
    if (events || intermediate_count) {
        tell(log, environment, fmi3Error, "this FMU has neither event mode nor intermediate updates");
        return NULL;
    }
    return make(token, false, logging, environment, log);
}

EXPORTED fmi3Instance NAMED(fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback update,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)update, (void)lock, (void)unlock;
    tell(log, environment, fmi3Error, "this FMU is not for scheduled execution");
    return NULL;
}

EXPORTED void NAMED(fmi3FreeInstance)(fmi3Instance c) { free(c); }

EXPORTED fmi3Status NAMED(fmi3EnterInitializationMode)(fmi3Instance c, fmi3Boolean tolerance_defined,
                                                       fmi3Float64 tolerance, fmi3Float64 start,
                                                       fmi3Boolean stop_defined, fmi3Float64 stop)
{
    instance *const it = c;
    const fmi3Status status =
        change(it, "fmi3EnterInitializationMode", 1 << CORE_INSTANTIATED, CORE_INITIALIZING);
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    return status == fmi3OK ? finish(it, core_set_time(&it->core, start)) : status;
}

EXPORTED fmi3Status NAMED(fmi3ExitInitializationMode)(fmi3Instance c)
{
    return change(c, "fmi3ExitInitializationMode", 1 << CORE_INITIALIZING, CORE_RUNNING);
}

EXPORTED fmi3Status NAMED(fmi3EnterEventMode)(fmi3Instance c) { return require(c, "fmi3EnterEventMode", RUNNING); }

EXPORTED fmi3Status NAMED(fmi3Terminate)(fmi3Instance c)
{
    return change(c, "fmi3Terminate", RUNNING, CORE_TERMINATED);
}

EXPORTED fmi3Status NAMED(fmi3Reset)(fmi3Instance c)
{
    core_reset(&((instance *)c)->core);
    return fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3GetFloat64)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                          fmi3Float64 values[], size_t value_count)
{
    instance *const it = c;
    if (value_count != count) {
        return refuse(it, "all variables are scalars: there must be as many values as value references");
    }
    for (size_t i = 0; i < count; ++i) {
        const core_outcome outcome = core_get(&it->core, references[i], &values[i]);
        if (outcome != CORE_OK) {
            return finish(it, outcome);
        }
    }
    return fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SetFloat64)(fmi3Instance c, const fmi3ValueReference references[], size_t count,
                                          const fmi3Float64 values[], size_t value_count)
{
    instance *const it = c;
    fmi3Status status = require(it, "fmi3SetFloat64", BEFORE | RUNNING);
    if (value_count != count) {
        return refuse(it, "all variables are scalars: there must be as many values as value references");
    }
    for (size_t i = 0; i < count && status == fmi3OK; ++i) {
        status = finish(it, core_set(&it->core, references[i], values[i]));
    }
    return status;
}

EXPORTED fmi3Status NAMED(fmi3GetFMUState)(fmi3Instance c, fmi3FMUState *state)
{
    instance *const it = c;
    return finish(it, core_save(&it->core, state));
}

EXPORTED fmi3Status NAMED(fmi3SetFMUState)(fmi3Instance c, fmi3FMUState state)
{
    instance *const it = c;
    return finish(it, core_restore(&it->core, state));
}

EXPORTED fmi3Status NAMED(fmi3FreeFMUState)(fmi3Instance c, fmi3FMUState *state)
{
    (void)c;
    core_drop(state);
    return fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SerializedFMUStateSize)(fmi3Instance c, fmi3FMUState state, size_t *size)
{
    (void)c, (void)state;
    *size = CORE_BYTES;
    return fmi3OK;
}

EXPORTED fmi3Status NAMED(fmi3SerializeFMUState)(fmi3Instance c, fmi3FMUState state, fmi3Byte bytes[], size_t size)
{
    instance *const it = c;
    return finish(it, core_write(&it->core, state, bytes, size));
}

EXPORTED fmi3Status NAMED(fmi3DeserializeFMUState)(fmi3Instance c, const fmi3Byte bytes[], size_t size,
                                                   fmi3FMUState *state)
{
    instance *const it = c;
    return finish(it, core_read(&it->core, bytes, size, state));
}

#include "fmi3_run.h"
#include "fmi3_none.h"
